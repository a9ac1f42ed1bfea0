package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// hostileInput is a message that no client should send.
type hostileInput struct {
	id, title, raw string
	// rejected reports that a response with a result is a fault too.
	rejected bool
}

// hostileInputs returns the messages. ID stands for an id, META for the metadata of the
// revision, and METHOD for a method that the server has.
func hostileInputs() []hostileInput {
	return slices.Concat(hostileText(), hostileSizes(), hostileNames(), hostileValues(), hostileRPC(), hostileParams(), hostileNotifications())
}

// asRequest returns a request with members.
func asRequest(members string) string { return `{"jsonrpc":"2.0","id":ID,` + members + `}` }

// withParams returns a request with params.
func withParams(members string) string {
	return asRequest(`"method":"METHOD","params":{"_meta":META,` + members + `}`)
}

// hostileText returns text that is not JSON, or not JSON that all parsers accept.
func hostileText() []hostileInput {
	return []hostileInput{
		{"text", "text that is not JSON", `hello`, false},
		{"truncated", "a request that ends in the middle", `{"jsonrpc":"2.0","id":ID,"method":"METHOD","params":{`, false},
		{"two-values", "two requests without a separator", asRequest(`"method":"METHOD"`) + asRequest(`"method":"METHOD"`), false},
		{"single-quotes", "single quotes", `{'jsonrpc':'2.0','id':ID,'method':'METHOD'}`, false},
		{"comment", "a comment", `{"jsonrpc":"2.0",/* */"id":ID,"method":"METHOD","params":{"_meta":META}}`, false},
		{"trailing-comma", "a trailing comma", asRequest(`"method":"METHOD",`), false},
		{"nan", "the number NaN", withParams(`"x":NaN`), false},
		{"byte-order-mark", "a byte order mark", "\ufeff" + withParams(`"x":1`), false},
		{"nul", "a NUL byte in a string", withParams(`"x":"` + "\x00" + `"`), false},
		{"invalid-utf8", "a string that is not UTF-8", withParams(`"x":"` + "\xff\xfe" + `"`), false},
		{"surrogate", "half of a surrogate pair", withParams(`"x":"\ud800"`), false},
	}
}

// hostileSizes returns large values.
func hostileSizes() []hostileInput {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	deepObject := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	return []hostileInput{
		{"deep-array", "100,000 nested arrays", withParams(`"x":` + deep), false},
		{"deep-object", "20,000 nested objects", withParams(`"x":` + deepObject), false},
		{"long-string", "a string of 2 MB", withParams(`"x":"` + strings.Repeat("x", 2<<20) + `"`), false},
		{"many-members", "an object with 50,000 members", withParams(`"x":{` + strings.Join(manyMembers(50_000), ",") + `}`), false},
		{"huge-exponent", "the number 1e400", withParams(`"x":1e400`), false},
		{"huge-integer", "a number of 400 digits", withParams(`"x":` + strings.Repeat("9", 400)), false},
		{"long-method", "a method of 64 KB", asRequest(`"method":"` + strings.Repeat("m", 64<<10) + `","params":{"_meta":META}`), true},
		{"long-id", "an id of 64 KB", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 64<<10) + `","method":"METHOD","params":{"_meta":META}}`, false},
	}
}

// hostileNames returns messages with unusual member names.
func hostileNames() []hostileInput {
	return []hostileInput{
		{"duplicate-member", "a member that occurs twice", asRequest(`"method":"METHOD","method":"mcpwright/unknown","params":{"_meta":META}`), false},
		{"prototype", "members __proto__ and constructor", withParams(`"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}`), false},
		{"empty-name", "a member without a name", withParams(`"":1`), false},
	}
}

// hostileValues returns values that are not messages.
func hostileValues() []hostileInput {
	return []hostileInput{
		{"null", "null instead of a message", `null`, false},
		{"number", "a number instead of a message", `42`, false},
		{"string", "a string instead of a message", `"hello"`, false},
		{"empty-object", "an object without members", `{}`, false},
		{"empty-array", "an empty array", `[]`, false},
		{"array-of-numbers", "an array of numbers", `[1,2,3]`, false},
		{"nested-array", "an array in an array", `[[` + asRequest(`"method":"METHOD"`) + `]]`, false},
	}
}

// hostileRPC returns messages that are not JSON-RPC.
func hostileRPC() []hostileInput {
	return []hostileInput{
		{"no-jsonrpc", "a request without \"jsonrpc\"", `{"id":ID,"method":"METHOD","params":{"_meta":META}}`, false},
		{"jsonrpc-1", "the version 1.0 of JSON-RPC", `{"jsonrpc":"1.0","id":ID,"method":"METHOD","params":{"_meta":META}}`, false},
		{"jsonrpc-number", "the number 2 as version of JSON-RPC", `{"jsonrpc":2,"id":ID,"method":"METHOD","params":{"_meta":META}}`, false},
		{"id-null", "the id null", `{"jsonrpc":"2.0","id":null,"method":"METHOD","params":{"_meta":META}}`, false},
		{"id-fraction", "the id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"METHOD","params":{"_meta":META}}`, false},
		{"id-bool", "the id true", `{"jsonrpc":"2.0","id":true,"method":"METHOD","params":{"_meta":META}}`, false},
		{"id-object", "an object as id", `{"jsonrpc":"2.0","id":{},"method":"METHOD","params":{"_meta":META}}`, false},
		{"no-method", "a request without a method", asRequest(`"params":{"_meta":META}`), true},
		{"method-number", "a number as method", asRequest(`"method":1,"params":{"_meta":META}`), true},
		{"method-empty", "an empty method", asRequest(`"method":"","params":{"_meta":META}`), true},
		{"method-prototype", "the method __proto__", asRequest(`"method":"__proto__","params":{"_meta":META}`), true},
		{"params-array", "an array as params", asRequest(`"method":"METHOD","params":[1,2]`), false},
		{"params-string", "a string as params", asRequest(`"method":"METHOD","params":"x"`), false},
		{"meta-array", "an array as metadata", asRequest(`"method":"METHOD","params":{"_meta":[]}`), false},
		{"progress-token-object", "an object as progress token", asRequest(`"method":"METHOD","params":{"_meta":{"progressToken":{}}}`), false},
		{"result-and-error", "a response with a result and an error", `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`, false},
		{"unknown-response", "a response to no request", `{"jsonrpc":"2.0","id":ID,"result":{}}`, false},
		{"error-without-id", "an error without an id", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}`, false},
		{"error-string", "a string as error", `{"jsonrpc":"2.0","id":ID,"error":"x"}`, false},
	}
}

// hostileParams returns requests with wrong params.
func hostileParams() []hostileInput {
	return []hostileInput{
		{"call-without-name", "tools/call without a name", asRequest(`"method":"tools/call","params":{"_meta":META,"arguments":{}}`), true},
		{"call-name-number", "tools/call with a number as name", asRequest(`"method":"tools/call","params":{"_meta":META,"name":1}`), true},
		{"read-without-uri", "resources/read without a URI", asRequest(`"method":"resources/read","params":{"_meta":META}`), true},
		{"read-empty-uri", "resources/read with an empty URI", asRequest(`"method":"resources/read","params":{"_meta":META,"uri":""}`), true},
		{"prompt-without-name", "prompts/get without a name", asRequest(`"method":"prompts/get","params":{"_meta":META}`), true},
		{"complete-ref", "completion/complete with an unknown kind of reference", asRequest(`"method":"completion/complete","params":{"_meta":META,"ref":{"type":"ref/x"},"argument":{"name":"a","value":""}}`), false},
		{"cursor-number", "a number as cursor", withParams(`"cursor":7`), false},
	}
}

// hostileNotifications returns notifications with wrong params.
func hostileNotifications() []hostileInput {
	return []hostileInput{
		{"notification-params", "a notification with params of the wrong type", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":7}`, false},
		{"progress-unknown", "progress for an unknown token", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mcpwright","progress":1}}`, false},
	}
}

func manyMembers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q:0", fmt.Sprint("m", i))
	}
	return list
}

// hostileCases returns a case for each hostile message, and those with rules of their own.
func hostileCases() []*Case {
	cancellation := func() []Rule {
		return append([]Rule{{Since: r2024, Until: r2025Nov, Severity: Warning, Section: "basic/utilities/cancellation#error-handling"}},
			stateless(Warning, "basic/patterns/cancellation#error-handling")...)
	}
	list := []*Case{
		{ID: "batch", Title: "a batch gets a response",
			Advice: "In revision 2025-03-26, respond to an array of requests with an array of responses.",
			Rules:  []Rule{{Since: r2025, Until: r2025, Severity: Error, Section: "basic#batching"}}, apart: true, run: checkBatch},
		{ID: "cancel-unknown", Title: "the cancellation of an unknown request is ignored", Once: true,
			Advice: "Ignore the notification.", Rules: cancellation(),
			run: survives(hostileInput{raw: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mcpwright-unknown"}}`})},
		{ID: "cancel-invalid", Title: "an invalid cancellation is ignored", Once: true,
			Advice: "Ignore the notification.", Rules: cancellation(),
			run: survives(hostileInput{raw: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`})},
	}
	for _, input := range hostileInputs() {
		list = append(list, &Case{ID: "hostile-" + input.id, Title: "the server survives " + input.title, Once: true,
			Advice: "Respond with an error (-32700, -32600 or -32602), or ignore the message. Continue with the next one.",
			Rules:  basic(Note, "messages"), run: survives(input)})
	}
	return list
}

// bytes returns the message for a connection.
func (h hostileInput) bytes(t *trial, c *conn) []byte {
	meta := "{}"
	if m := c.meta(); m != nil {
		meta = string(marshal(m))
	}
	return []byte(strings.NewReplacer("ID", h.requestID(), "META", meta, "METHOD", t.listMethod()).Replace(h.raw))
}

func (h hostileInput) requestID() string { return `"hostile-` + h.id + `"` }

// survives returns a case that sends a message and checks that the server still
// responds.
func survives(h hostileInput) func(*trial) {
	return func(t *trial) {
		c := t.hostileConn()
		if c == nil {
			t.skip("no connection")
			return
		}
		raw := h.bytes(t, c)
		c.mu.Lock()
		before := len(c.strays)
		c.mu.Unlock()
		if l, ok := c.link.(*httpLink); ok {
			if r := l.post(t.ctx, raw, nil); r.err == nil && r.status >= http.StatusInternalServerError {
				t.find(raw, "", "the status is %d, as if the server had failed", r.status)
			}
		} else {
			c.link.send(t.ctx, raw)
		}
		if !c.alive() {
			t.find(raw, "", "the server %s after this message", fate(c))
			t.dropHostile()
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.strays[before:] {
			if h.rejected && m.ok() && idKey(m.id) == h.requestID() && string(at(m.result, "isError")) != "true" {
				t.find(m.raw, "/result", "the invalid request got a result")
			}
		}
	}
}

// fate returns what the server did instead of responding.
func fate(c *conn) string {
	if c.over() {
		return "ended the connection"
	}
	return "does not respond"
}

// dropHostile closes the connection for hostile messages, so that the next case opens a
// new one.
func (s *stage) dropHostile() {
	if s.abused != nil {
		s.abused.close()
		s.abused = nil
	}
}

// checkBatch sends two requests in an array.
func checkBatch(t *trial) {
	t.withConn(true, func(c *conn) {
		one, two := c.id(), c.id()
		raw := fmt.Appendf(nil, "[%s,%s]", c.request(one, "ping", nil), c.request(two, "ping", nil))
		answer := make(chan *message, 2)
		c.mu.Lock()
		c.waiting[fmt.Sprint(one)], c.waiting[fmt.Sprint(two)] = answer, answer
		c.mu.Unlock()
		c.send(raw)
		if !c.await(func() bool { return len(answer) == 2 }) {
			t.find(raw, "", "%d of 2 requests of a batch got a response", len(answer))
		}
	})
}
