package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// toolCases are about tools and their results.
func toolCases() []*Case {
	return []*Case{
		{ID: "tool-name", Title: "names of tools have 1 to 128 letters, digits, and the characters _ - .", Needs: "tools",
			Advice: "Rename the tool.", Rules: since(r2025Nov, Warning, "server/tools#tool-names"), run: checkToolNames},
		{ID: "tool-name-unique", Title: "names of tools are unique", Needs: "tools",
			Advice: "Rename one of the tools.", Rules: since(r2025Nov, Warning, "server/tools#tool-names"), run: checkToolNamesUnique},
		{ID: "tool-schema", Title: "schemas of tools are valid JSON Schema", Needs: "tools",
			Advice: "Correct the schema. Its dialect is $schema, or 2020-12 without it.",
			Rules: []Rule{{Since: r2025Nov, Until: r2025Nov, Severity: Error, Section: "basic#schema-validation"},
				{Since: r2026, Until: r2026, Severity: Error, Section: "basic#schema-validation"}}, run: checkToolSchemas},
		{ID: "tool-header", Title: "x-mcp-header is used as the specification allows", Needs: "tools",
			Advice: "Give each annotated parameter a unique header name and a primitive type, or remove x-mcp-header. HTTP clients ignore the tool otherwise.",
			Rules:  stateless(Error, "server/tools#x-mcp-header"), run: checkToolHeaders},
		{ID: "tool-order", Title: "two requests list the tools in the same order", Needs: "tools",
			Advice: "Sort the tools, for example by name.",
			Rules:  stateless(Warning, "server/tools#capabilities"), run: checkToolOrder},
		{ID: "structured-content", Title: "results match the tool's output schema", Needs: "tools",
			Advice: "Return structuredContent that matches outputSchema, or correct the schema.",
			Rules:  since(r2025June, Error, "server/tools#output-schema")},
		{ID: "structured-text", Title: "a result with structured content also has its JSON as text", Needs: "tools",
			Advice: "Add a text block with the JSON of structuredContent, for clients that do not read it.",
			Rules:  since(r2025June, Warning, "server/tools#structured-content")},
		{ID: "tool-input", Title: "calls without a required argument fail", Needs: "tools",
			Advice: "Validate arguments by the tool's inputSchema before the tool runs.",
			Rules:  always(Error, "server/tools#security-considerations"), apart: true, run: checkToolInput},
		{ID: "unknown-tool", Title: "a call of an unknown tool fails", Needs: "tools",
			Advice: "Respond with an error to calls of unknown tools.",
			Rules:  always(Warning, "server/tools#error-handling"), run: checkUnknownTool},
		{ID: "unknown-tool-error", Title: "a call of an unknown tool gets an error response, not a result", Needs: "tools",
			Advice: "Respond with error -32602 to calls of unknown tools, rather than with a result that has isError.",
			Rules:  always(Note, "server/tools#error-handling"), run: checkUnknownToolError},
	}
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func checkToolNames(t *trial) {
	for _, tool := range t.offers.tools {
		if name := text(at(tool, "name")); !toolName.MatchString(name) {
			t.find(tool, "/name", "the name %q has other characters, or more than 128", name)
		}
	}
}

func checkToolNamesUnique(t *trial) {
	seen := map[string]bool{}
	for _, tool := range t.offers.tools {
		name := text(at(tool, "name"))
		if seen[name] {
			t.find(tool, "/name", "two tools have the name %q", name)
		}
		seen[name] = true
	}
}

func checkToolSchemas(t *trial) {
	for _, tool := range t.offers.tools {
		for _, member := range []string{"inputSchema", "outputSchema"} {
			schema := at(tool, member)
			if schema == nil {
				continue
			}
			if problem, pointer := schemaProblem(schema); problem != "" {
				t.find(tool, "/"+member+pointer, "the schema of the tool %q is invalid: %s", text(at(tool, "name")), problem)
			}
		}
	}
}

// schemaProblem returns why a schema violates its dialect, or "". References that cannot
// be loaded, dialects that are unknown here, and patterns are no problem.
func schemaProblem(schema json.RawMessage) (problem, pointer string) {
	_, err := compile(schema)
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "", ""
	}
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	if strings.HasSuffix(e.KeywordLocation, "/format") {
		return "", ""
	}
	return e.Message, e.InstanceLocation
}

func checkToolHeaders(t *trial) {
	for _, tool := range t.offers.tools {
		_, faults := paramHeaders(at(tool, "inputSchema"))
		for _, f := range faults {
			t.find(tool, "/inputSchema"+f.pointer, "x-mcp-header of the tool %q: %s", text(at(tool, "name")), f.problem)
		}
	}
}

func checkToolOrder(t *trial) {
	var before []string
	for i := range 3 {
		var order []string
		for _, tool := range t.list("tools/list", "tools").items {
			order = append(order, text(at(tool, "name")))
		}
		if i > 0 && sameNames(before, order) && strings.Join(before, "\n") != strings.Join(order, "\n") {
			t.find(marshal(order), "", "the tools have another order than in the list before: %q", before)
			return
		}
		before = order
	}
}

// sameNames reports whether two lists have the same names in any order.
func sameNames(a, b []string) bool {
	count := map[string]int{}
	for _, name := range a {
		count[name]++
	}
	for _, name := range b {
		count[name]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func checkToolInput(t *trial) {
	t.withHostile(func(c *conn) { t.callInvalid(c) })
}

// callInvalid calls tools with arguments that their schemas do not allow.
func (t *trial) callInvalid(c *conn) {
	var starts []func() (finish func())
	for _, tool := range t.offers.tools {
		arguments := invalid(at(tool, "inputSchema"))
		if arguments == nil || !t.mayCall(tool) || len(starts) >= maxUses {
			continue
		}
		starts = append(starts, func() func() {
			wait := c.start(c.id(), "tools/call", map[string]any{"name": text(at(tool, "name")), "arguments": arguments})
			return func() { t.findSuccess(tool, arguments, wait()) }
		})
	}
	if len(starts) == 0 {
		t.skip("no tool with required arguments may be called: see -call")
	}
	t.overlap(starts)
}

// findSuccess reports a call with invalid arguments that did not fail.
func (t *trial) findSuccess(tool json.RawMessage, arguments map[string]any, m *message) {
	if kind := text(at(resultOf(m), "resultType")); m.ok() && (kind == "" || kind == "complete") && string(at(m.result, "isError")) != "true" {
		problem, pointer := validateBy(at(tool, "inputSchema"), marshal(arguments))
		t.find(m.raw, "/result", "the tool %q succeeded with the invalid arguments %s: %s", text(at(tool, "name")), marshal(arguments), strings.TrimSpace(pointer+" "+problem))
	}
}

// resultOf returns the result of a response, or nil.
func resultOf(m *message) json.RawMessage {
	if m == nil {
		return nil
	}
	return m.result
}

func callUnknownTool(t *trial) *message {
	return t.callAbused("tools/call", map[string]any{"name": unknownName, "arguments": map[string]any{}})
}

func checkUnknownTool(t *trial) {
	if m := callUnknownTool(t); m.ok() && string(at(m.result, "isError")) != "true" {
		t.find(m.raw, "/result", "the call of the unknown tool %q succeeded", unknownName)
	}
}

func checkUnknownToolError(t *trial) {
	if m := callUnknownTool(t); m.ok() && string(at(m.result, "isError")) == "true" {
		t.find(m.raw, "/result/isError", "the call of the unknown tool %q got a result, not an error response", unknownName)
	}
}

// listCases are about lists, resources, prompts and completions.
func listCases() []*Case {
	return []*Case{
		{ID: "capability-unserved", Title: "the server serves the lists of its capabilities",
			Advice: "Register a handler for the list, or do not declare the capability.",
			Rules:  stateless(Error, "server/tools#capabilities"), run: checkUnserved},
		{ID: "capability-undeclared", Title: "the server declares the capability of each list that has something",
			Advice: "Declare the capability. Clients do not ask for the list without it.",
			Rules:  always(Error, "server/tools#capabilities"), run: checkUndeclared},
		{ID: "cursor-loop", Title: "lists end",
			Advice: "Return another nextCursor with each page, and none with the last one.",
			Rules:  always(Note, "server/utilities/pagination#response-format"), run: checkCursorLoop},
		{ID: "cursor-invalid", Title: "an invalid cursor gets the error -32602",
			Advice: "Respond with error -32602 to a cursor that the server has not made.",
			Rules:  always(Warning, "server/utilities/pagination#error-handling"), Once: true, run: checkCursorInvalid},
		{ID: "cache-scope", Title: "all pages of a list have the same cacheScope",
			Advice: "Use \"private\" for all pages if one of them is private.",
			Rules:  stateless(Error, "server/utilities/caching#interaction-with-pagination"), run: checkCacheScope},
		{ID: "completion-limit", Title: "a completion has at most 100 values",
			Advice: "Return the first 100 values, and hasMore.",
			Rules:  []Rule{{Since: r2024, Until: r2026, Severity: Error, Section: "server/utilities/completion#completion-results"}}},
		{ID: "unknown-resource", Title: "an unknown resource gets an error", Needs: "resources",
			Advice: "Respond with an error if the resource does not exist, not with a result or empty contents.",
			Rules: []Rule{{Since: r2024, Until: r2025Nov, Severity: Warning, Section: "server/resources#error-handling"},
				{Since: r2026, Until: r2026, Severity: Error, Section: "server/resources#error-handling"}}, run: checkUnknownResource},
		{ID: "unknown-resource-code", Title: "an unknown resource gets the error of its revision", Needs: "resources",
			Advice: "Use the code -32002 up to revision 2025-11-25, and -32602 since 2026-07-28.",
			Rules: []Rule{{Since: r2024, Until: r2025Nov, Severity: Warning, Section: "server/resources#error-handling"},
				{Since: r2026, Until: r2026, Severity: Error, Section: "server/resources#error-handling"}}, run: checkUnknownResourceCode},
		{ID: "listed-resource", Title: "listed resources can be read", Needs: "resources",
			Advice: "List only resources that exist, or correct the handler of resources/read.",
			Rules:  always(Note, "server/resources#reading-resources"), run: checkListedResources},
		{ID: "unknown-prompt", Title: "an unknown prompt gets the error -32602", Needs: "prompts",
			Advice: "Respond with error -32602 if the prompt does not exist.",
			Rules:  always(Warning, "server/prompts#error-handling"), run: checkUnknownPrompt},
		{ID: "prompt-argument", Title: "a prompt without a required argument gets the error -32602", Needs: "prompts",
			Advice: "Check that all required arguments are present.",
			Rules:  always(Warning, "server/prompts#error-handling"), run: checkPromptArgument},
	}
}

// checkUnserved reports lists that fail although their capability is declared. The list
// of templates is not required.
func checkUnserved(t *trial) {
	for _, l := range lists {
		m := t.offers.lists[l.method].err
		if t.capability(l.capability) != nil && l.method != "resources/templates/list" && m.code() == "-32601" {
			t.section = "server/" + l.capability + "#capabilities"
			t.find(m.raw, "/error", "%s failed, although the server declares %q", l.method, l.capability)
		}
	}
}

func checkUndeclared(t *trial) {
	for _, l := range lists {
		if found := t.offers.lists[l.method]; t.capability(l.capability) == nil && len(found.items) > 0 {
			t.section = "server/" + l.capability + "#capabilities"
			t.find(found.pages[0].raw, "/result/"+l.member, "%s has %d items, but the server does not declare %q", l.method, len(found.items), l.capability)
		}
	}
}

func checkCursorLoop(t *trial) {
	for _, l := range lists {
		if found := t.offers.lists[l.method]; found.loop != "" {
			t.find(found.pages[len(found.pages)-1].raw, "/result/nextCursor", "%s: two pages have the cursor %q", l.method, found.loop)
		}
	}
}

func checkCursorInvalid(t *trial) {
	tried := false
	for _, l := range lists {
		if t.capability(l.capability) == nil || t.offers.lists[l.method].err != nil {
			continue
		}
		tried = true
		m := t.callAbused(l.method, map[string]any{"cursor": "mcpwright-invalid-cursor"})
		switch {
		case m.ok():
			t.find(m.raw, "/result", "%s with an invalid cursor got a result", l.method)
		case m != nil && m.code() != "-32602":
			t.find(m.raw, "/error/code", "%s with an invalid cursor got the error %s, not -32602", l.method, m.code())
		}
	}
	if !tried {
		t.skip("the server has no lists")
	}
}

func checkCacheScope(t *trial) {
	for _, l := range lists {
		pages := t.offers.lists[l.method].pages
		for _, page := range pages {
			if first, this := text(at(pages[0].result, "cacheScope")), text(at(page.result, "cacheScope")); this != first {
				t.find(page.raw, "/result/cacheScope", "%s: a page has the scope %q, and the first page %q", l.method, this, first)
				break
			}
		}
	}
}

// readUnknown reads a resource that does not exist. It returns nil if a template could
// match its URI.
func readUnknown(t *trial) *message {
	for _, template := range t.offers.templates {
		if prefix, _, found := strings.Cut(text(at(template, "uriTemplate")), "{"); found && strings.HasPrefix(unknownURI(), prefix) {
			t.skip("a resource template matches all addresses")
			return nil
		}
	}
	return t.callAbused("resources/read", map[string]any{"uri": unknownURI()})
}

func checkUnknownResource(t *trial) {
	if m := readUnknown(t); m.ok() && text(at(m.result, "resultType")) != "input_required" {
		t.find(m.raw, "/result", "resources/read of %q, which does not exist, got a result", unknownURI())
	}
}

func checkUnknownResourceCode(t *trial) {
	want := "-32002"
	if !t.handshake {
		want = "-32602"
	}
	if m := readUnknown(t); m != nil && m.err != nil && m.code() != want {
		t.find(m.raw, "/error/code", "resources/read of %q, which does not exist, got the error %s, not %s", unknownURI(), m.code(), want)
	}
}

func checkListedResources(t *trial) {
	for i, r := range t.offers.resources[:min(maxUses, len(t.offers.resources))] {
		uri := text(at(r, "uri"))
		if m := t.callMain("resources/read", map[string]any{"uri": uri}); m != nil && m.err != nil {
			t.find(m.raw, "/error", "resource %d of the list, %q, cannot be read: %s", i, uri, m.err.Message)
		}
	}
}

func checkUnknownPrompt(t *trial) {
	t.wantInvalidParams(t.callAbused("prompts/get", map[string]any{"name": unknownName}), fmt.Sprintf("prompts/get of the unknown prompt %q", unknownName))
}

// wantInvalidParams reports a response that is not the error -32602.
func (t *trial) wantInvalidParams(m *message, what string) {
	switch {
	case m.ok():
		t.find(m.raw, "/result", "%s got a result", what)
	case m != nil && m.code() != "-32602":
		t.find(m.raw, "/error/code", "%s got the error %s, not -32602", what, m.code())
	}
}

func checkPromptArgument(t *trial) {
	tried := false
	for _, p := range t.offers.prompts[:min(maxUses, len(t.offers.prompts))] {
		if len(promptArguments(p, false)) == 0 {
			continue
		}
		tried = true
		name := text(at(p, "name"))
		t.wantInvalidParams(t.callAbused("prompts/get", map[string]any{"name": name}), fmt.Sprintf("prompts/get of %q without its required arguments", name))
	}
	if !tried {
		t.skip("no prompt has required arguments")
	}
}
