package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Limits of what one revision uses, so that a check of a large server ends.
const (
	maxPages = 50
	maxUses  = 100
)

// offers is what a server lists.
type offers struct {
	tools, prompts, resources, templates []json.RawMessage
	lists                                map[string]*listing // by method
}

// listing is the pages of one list.
type listing struct {
	pages []*message
	items []json.RawMessage
	loop  string   // a cursor that came twice
	err   *message // the response that is an error, or nil
	none  bool     // a page got no response
}

// lists are the methods that list something: the capability and the member of the result.
var lists = []struct{ method, capability, member string }{
	{"tools/list", "tools", "tools"},
	{"prompts/list", "prompts", "prompts"},
	{"resources/list", "resources", "resources"},
	{"resources/templates/list", "resources", "resourceTemplates"},
}

// listAll reads all lists.
func (s *stage) listAll() {
	s.offers.lists = map[string]*listing{}
	for _, l := range lists {
		s.offers.lists[l.method] = s.list(l.method, l.member)
	}
	s.offers.tools = s.offers.lists["tools/list"].items
	s.offers.prompts = s.offers.lists["prompts/list"].items
	s.offers.resources = s.offers.lists["resources/list"].items
	s.offers.templates = s.offers.lists["resources/templates/list"].items
	s.storeParamHeaders()
}

// use uses everything that the server lists. Validation of the messages finds faults.
func (s *stage) use() {
	for _, r := range s.offers.resources[:min(maxUses, len(s.offers.resources))] {
		s.callMain("resources/read", map[string]any{"uri": text(object(r)["uri"])})
	}
	for _, p := range s.offers.prompts[:min(maxUses, len(s.offers.prompts))] {
		s.usePrompt(p)
	}
	s.complete()
	s.useHandshakeMethods()
	s.callTools()
}

// callMain calls a method on the main connection.
func (s *stage) callMain(method string, params map[string]any) *message {
	c := s.connection()
	if c == nil {
		return nil
	}
	return c.call(method, params)
}

// list reads all pages of a list.
func (s *stage) list(method, member string) *listing {
	l := &listing{}
	var cursor *string
	seen := map[string]bool{}
	for range maxPages {
		params := map[string]any{}
		if cursor != nil {
			params["cursor"] = *cursor
		}
		m := s.callMain(method, params)
		if !m.ok() {
			l.err, l.none = m, m == nil
			return l
		}
		l.pages = append(l.pages, m)
		l.items = append(l.items, array(at(m.result, member))...)
		next := at(m.result, "nextCursor")
		if next == nil || string(next) == "null" {
			return l
		}
		if value := text(next); seen[value] {
			l.loop = value
			return l
		}
		value := text(next)
		cursor, seen[value] = &value, true
	}
	return l
}

// storeParamHeaders stores which arguments of tools headers repeat.
func (s *stage) storeParamHeaders() {
	c := s.connection()
	if c == nil {
		return
	}
	if l, ok := c.link.(*httpLink); ok && !s.handshake {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, t := range s.offers.tools {
			l.params[text(at(t, "name"))], _ = paramHeaders(at(t, "inputSchema"))
		}
	}
}

// promptArguments returns values for a prompt's arguments.
func promptArguments(prompt json.RawMessage, all bool) map[string]any {
	arguments := map[string]any{}
	for _, a := range array(at(prompt, "arguments")) {
		if all || string(at(a, "required")) == "true" {
			arguments[text(at(a, "name"))] = "test"
		}
	}
	return arguments
}

// usePrompt gets a prompt with its required arguments, and with all.
func (s *stage) usePrompt(p json.RawMessage) {
	required, all := promptArguments(p, false), promptArguments(p, true)
	s.callMain("prompts/get", map[string]any{"name": text(at(p, "name")), "arguments": required})
	if !reflect.DeepEqual(required, all) {
		s.callMain("prompts/get", map[string]any{"name": text(at(p, "name")), "arguments": all})
	}
}

// complete asks for completions of each argument of prompts and templates.
func (s *stage) complete() {
	if s.capability("completions") == nil {
		return
	}
	for _, p := range s.offers.prompts[:min(maxUses, len(s.offers.prompts))] {
		for _, a := range array(at(p, "arguments")) {
			s.completeArgument(map[string]any{"type": "ref/prompt", "name": text(at(p, "name"))}, text(at(a, "name")))
		}
	}
	for _, t := range s.offers.templates[:min(maxUses, len(s.offers.templates))] {
		uri := text(at(t, "uriTemplate"))
		for _, name := range variables(uri) {
			s.completeArgument(map[string]any{"type": "ref/resource", "uri": uri}, name)
		}
	}
}

func (s *stage) completeArgument(ref map[string]any, name string) {
	m := s.callMain("completion/complete", map[string]any{"ref": ref, "argument": map[string]any{"name": name, "value": ""}})
	if m.ok() {
		if n := len(array(at(m.result, "completion", "values"))); n > 100 {
			s.find("completion-limit", m.raw, "/result/completion/values", "the result has %d values, more than 100", n)
		}
	}
}

// variables returns the names in a URI template.
func variables(template string) (names []string) {
	for {
		_, rest, found := strings.Cut(template, "{")
		expression, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			return names
		}
		for name := range strings.SplitSeq(strings.TrimLeft(expression, "+#./;?&"), ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			names = append(names, name)
		}
		template = after
	}
}

// useHandshakeMethods calls methods that only revisions with a handshake have.
func (s *stage) useHandshakeMethods() {
	if !s.handshake {
		return
	}
	if s.capability("logging") != nil {
		s.callMain("logging/setLevel", map[string]any{"level": "debug"})
	}
	if string(s.capability("resources", "subscribe")) == "true" && len(s.offers.resources) > 0 {
		uri := map[string]any{"uri": text(at(s.offers.resources[0], "uri"))}
		s.callMain("resources/subscribe", uri)
		s.callMain("resources/unsubscribe", uri)
	}
}

// callTools calls the tools that may be called, with generated arguments.
func (s *stage) callTools() {
	var starts []func() (finish func())
	for _, t := range s.offers.tools[:min(maxUses, len(s.offers.tools))] {
		if !s.mayCall(t) {
			continue
		}
		for i, arguments := range generate(at(t, "inputSchema")) {
			starts = append(starts, func() func() { return s.startTool(t, arguments, i) })
		}
	}
	s.overlap(starts)
}

// maxOverlap limits the calls of tools that are in flight on one connection.
const maxOverlap = 8

// overlap starts calls of tools in order, and finishes them in order. Several are in
// flight at once, unless the calls may change something.
func (s *stage) overlap(starts []func() (finish func())) {
	limit := maxOverlap
	if s.opts.Call {
		limit = 1
	}
	var finish []func()
	for i, start := range starts {
		if i >= limit {
			finish[i-limit]()
		}
		finish = append(finish, start())
	}
	for _, f := range finish[max(0, len(finish)-limit):] {
		f()
	}
}

// mayCall reports whether a tool may be called: it is annotated as read-only, or the user
// allows all calls.
func (s *stage) mayCall(tool json.RawMessage) bool {
	if text(at(tool, "execution", "taskSupport")) == "required" {
		return false
	}
	return s.opts.Call || string(at(tool, "annotations", "readOnlyHint")) == "true"
}

// maxRounds limits how often a call is repeated with answers to questions.
const maxRounds = 5

// startTool calls a tool. The returned function waits for the result and checks it. In a
// stateless revision it answers questions.
func (s *stage) startTool(tool json.RawMessage, arguments map[string]any, n int) (finish func()) {
	c := s.connection()
	if c == nil {
		return func() {}
	}
	params := map[string]any{"name": text(at(tool, "name")), "arguments": arguments}
	round := func() (wait func() *message) {
		id := c.id()
		token := fmt.Sprintf("progress-%d-%d", n, id)
		params["_meta"] = map[string]any{"progressToken": token}
		c.track(id, token)
		return c.start(id, "tools/call", params)
	}
	wait := round()
	return func() {
		m := wait()
		for range maxRounds - 1 {
			if !m.ok() || text(at(m.result, "resultType")) != "input_required" {
				break
			}
			answerQuestions(c, m, params)
			m = round()()
		}
		if m.ok() {
			s.checkToolResult(tool, m)
		}
	}
}

// answerQuestions adds answers to the questions of a result to the params of the next
// round.
func answerQuestions(c *conn, m *message, params map[string]any) {
	answers := map[string]any{}
	for name, q := range object(at(m.result, "inputRequests")) {
		if result := c.resultFor(text(at(q, "method")), at(q, "params")); result != nil {
			answers[name] = result
		}
	}
	params["inputResponses"] = answers
	if state := at(m.result, "requestState"); state != nil {
		params["requestState"] = state
	}
}

// checkToolResult compares a result with the tool's output schema.
func (s *stage) checkToolResult(tool json.RawMessage, m *message) {
	if kind := text(at(m.result, "resultType")); kind != "" && kind != "complete" {
		return
	}
	content, schema := at(m.result, "structuredContent"), at(tool, "outputSchema")
	name := text(at(tool, "name"))
	if string(at(m.result, "isError")) == "true" {
		return
	}
	if schema != nil {
		if content == nil {
			s.find("structured-content", m.raw, "/result", "the tool %q has an output schema, but its result has no structured content", name)
		} else if problem, pointer := validateBy(schema, content); problem != "" {
			s.find("structured-content", m.raw, "/result/structuredContent"+pointer, "the result of the tool %q does not match the tool's output schema: %s", name, problem)
		}
	}
	if content != nil && !hasText(at(m.result, "content"), content) {
		s.find("structured-text", m.raw, "/result/content", "the result of the tool %q has structured content, but no text block with the same JSON", name)
	}
}

// hasText reports whether a text block contains the JSON of a value.
func hasText(content, value json.RawMessage) bool {
	var want any
	if json.Unmarshal(value, &want) != nil {
		return false
	}
	return slices.ContainsFunc(array(content), func(block json.RawMessage) bool {
		var got any
		return json.Unmarshal([]byte(text(at(block, "text"))), &got) == nil && reflect.DeepEqual(got, want)
	})
}
