package check

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// statelessCases are about revisions without a handshake.
func statelessCases() []*Case {
	const headers = "basic/transports/streamable-http#server-validation"
	return []*Case{
		{ID: "version-unsupported", Title: "an unknown revision gets the error -32022 with the supported ones",
			Advice: "Respond with UnsupportedProtocolVersionError, whose data lists the supported revisions. Over HTTP, the status is 400.",
			Rules:  stateless(Error, "basic/versioning#protocol-version-negotiation"), run: checkVersionUnsupported},
		{ID: "meta-required", Title: "a request without the client's capabilities gets the error -32602",
			Advice: "Reject requests whose metadata lacks io.modelcontextprotocol/clientCapabilities. Over HTTP, the status is 400.",
			Rules:  stateless(Error, "basic#_meta"), run: checkMetaRequired},
		{ID: "listen-acknowledged", Title: "a subscription begins with an acknowledgment",
			Advice: "Send notifications/subscriptions/acknowledged as the first message of subscriptions/listen.",
			Rules:  stateless(Error, "basic/patterns/subscriptions#acknowledgment"), apart: true, run: checkListen},
		{ID: "listen-id", Title: "notifications of a subscription have its id",
			Advice: "Add io.modelcontextprotocol/subscriptionId, the id of the request, to the metadata of each notification.",
			Rules:  stateless(Error, "basic/patterns/subscriptions#acknowledgment"), apart: true, run: checkListenID},
		{ID: "http-buffering", Title: "streams have the header X-Accel-Buffering: no", Transport: HTTP,
			Advice: "Set the header X-Accel-Buffering to \"no\", so that proxies send events at once.",
			Rules:  stateless(Warning, "basic/transports/streamable-http#receiving-messages")},
		{ID: "http-unknown-method", Title: "an unknown method gets the status 404 and the error -32601", Transport: HTTP,
			Advice: "Use the status 404 for the error -32601.",
			Rules:  stateless(Error, "basic/transports/streamable-http#protocol-version-header"), run: checkUnknownMethodStatus},
		{ID: "http-version-mismatch", Title: "different revisions in header and body get the status 400 and the error -32020", Transport: HTTP,
			Advice: "Compare MCP-Protocol-Version with the metadata of the request.", Rules: stateless(Error, headers), run: mismatch(headerVersion, r2025Nov)},
		{ID: "http-method-mismatch", Title: "a wrong Mcp-Method gets the status 400 and the error -32020", Transport: HTTP,
			Advice: "Compare Mcp-Method with the method of the request.", Rules: stateless(Error, headers), run: mismatch(headerMethod, "prompts/get")},
		{ID: "http-method-missing", Title: "a missing Mcp-Method gets the status 400 and the error -32020", Transport: HTTP,
			Advice: "Require the header Mcp-Method.", Rules: stateless(Error, headers), run: mismatch(headerMethod, "")},
		{ID: "http-name-mismatch", Title: "a wrong Mcp-Name gets the status 400 and the error -32020", Transport: HTTP,
			Advice: "Compare Mcp-Name with params.name or params.uri.", Rules: stateless(Error, headers), run: nameMismatch("mcpwright-other")},
		{ID: "http-name-missing", Title: "a missing Mcp-Name gets the status 400 and the error -32020", Transport: HTTP,
			Advice: "Require the header Mcp-Name for tools/call, resources/read and prompts/get.", Rules: stateless(Error, headers), run: nameMismatch("")},
		{ID: "http-stateless-session", Title: "a server without handshake revisions assigns no session id", Transport: HTTP,
			Advice: "Send no Mcp-Session-Id.",
			Rules:  stateless(Warning, "basic/transports/streamable-http#earlier-streamable-http-revisions")},
		{ID: "http-stateless-get", Title: "a server without handshake revisions refuses GET with the status 405", Transport: HTTP,
			Advice: "Respond with 405 to methods other than POST.",
			Rules:  stateless(Warning, "basic/transports/streamable-http#earlier-streamable-http-revisions"), apart: true, run: checkStatelessGet},
	}
}

// edited returns a request whose metadata was changed.
func (c *conn) edited(method string, edit func(meta map[string]any)) (id string, raw json.RawMessage) {
	id = "edited-" + strconv.Itoa(c.id())
	meta := c.meta()
	edit(meta)
	return id, marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": map[string]any{"_meta": meta}})
}

// wantError sends a request and reports the response that is not the error with a code.
// Over HTTP, it also checks the status.
func (t *trial) wantError(id string, raw json.RawMessage, edit func(*http.Request), code string, status int) *message {
	var m *message
	t.withHostile(func(c *conn) {
		l, ok := c.link.(*httpLink)
		if !ok {
			if m = c.startRaw(marshal(id), raw)(); m == nil {
				t.find(raw, "", "no response, but the error %s is required", code)
			} else if m.code() != code {
				t.find(m.raw, "/error/code", "the response is not the error %s", code)
			}
			return
		}
		r := l.post(t.ctx, raw, edit)
		if r.err != nil {
			t.skip("the exchange failed: %v", r.err)
			return
		}
		if m = r.response(id); m == nil {
			m = r.response(nil)
		}
		if r.status != status || m.code() != code {
			t.find(raw, "", "the response has the status %d and %s, not the status %d and the error %s", r.status, describe(m), status, code)
		}
	})
	return m
}

// describe returns a short text for a response.
func describe(m *message) string {
	switch {
	case m == nil:
		return "no JSON-RPC response"
	case m.err != nil:
		return "the error " + m.code()
	}
	return "a result"
}

// unknownRevision is a revision that no server has. It is later than the first stateless
// revision: a server may take an earlier one for a revision with a handshake.
const unknownRevision = "2999-01-01"

func checkVersionUnsupported(t *trial) {
	var id string
	var raw json.RawMessage
	if c := t.connection(); c != nil {
		id, raw = c.edited("server/discover", func(meta map[string]any) { meta["io.modelcontextprotocol/protocolVersion"] = unknownRevision })
	}
	m := t.wantError(id, raw, func(req *http.Request) { req.Header.Set(headerVersion, unknownRevision) }, "-32022", http.StatusBadRequest)
	if m.code() == "-32022" && !slices.ContainsFunc(array(at(m.err.Data, "supported")), func(v json.RawMessage) bool { return text(v) == t.revision.String() }) {
		t.find(m.raw, "/error/data/supported", "the supported revisions do not contain %v", t.revision)
	}
}

func checkMetaRequired(t *trial) {
	if c := t.connection(); c != nil {
		id, raw := c.edited(t.listMethod(), func(meta map[string]any) { delete(meta, "io.modelcontextprotocol/clientCapabilities") })
		t.wantError(id, raw, nil, "-32602", http.StatusBadRequest)
	}
}

func checkUnknownMethodStatus(t *trial) {
	if c := t.connection(); c != nil {
		id, raw := c.edited(unknownMethod, func(map[string]any) {})
		t.wantError(id, raw, nil, "-32601", http.StatusNotFound)
	}
}

// mismatch returns a case that sends another value in a header, or none.
func mismatch(header, value string) func(*trial) {
	return func(t *trial) {
		if c := t.connection(); c != nil {
			id, raw := c.edited(t.listMethod(), func(map[string]any) {})
			t.wantError(id, raw, setOrDelete(header, value), "-32020", http.StatusBadRequest)
		}
	}
}

// nameMismatch is mismatch for Mcp-Name, in a request that changes nothing.
func nameMismatch(value string) func(*trial) {
	return func(t *trial) {
		c := t.connection()
		if c == nil {
			return
		}
		method, params := "", map[string]any{"_meta": c.meta()}
		switch {
		case t.capability("tools") != nil:
			method, params["name"] = "tools/call", unknownName
		case t.capability("resources") != nil:
			method, params["uri"] = "resources/read", unknownURI()
		case t.capability("prompts") != nil:
			method, params["name"] = "prompts/get", unknownName
		default:
			t.skip("the server has no method with a name")
			return
		}
		raw := marshal(map[string]any{"jsonrpc": "2.0", "id": "name", "method": method, "params": params})
		t.wantError("name", raw, setOrDelete(headerName, value), "-32020", http.StatusBadRequest)
	}
}

func setOrDelete(header, value string) func(*http.Request) {
	return func(req *http.Request) {
		if req.Header.Del(header); value != "" {
			req.Header.Set(header, value)
		}
	}
}

// listen opens a subscription to all changes of lists, and returns the first message: a
// notification or the response. It returns nil if there is none in time.
func listen(t *trial) (first *message) {
	t.withConn(true, func(c *conn) {
		id := "listen-1"
		raw := c.request(id, "subscriptions/listen", map[string]any{"notifications": map[string]any{
			"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true}})
		answer := make(chan *message, 1)
		c.mu.Lock()
		c.waiting[idKey(marshal(id))] = answer
		c.mu.Unlock()
		c.send(raw)
		c.await(func() bool { return len(c.notified) > 0 || len(answer) > 0 })
		c.mu.Lock()
		switch {
		case len(c.notified) > 0:
			first = c.notified[0]
		case len(answer) > 0:
			first = <-answer
		}
		c.mu.Unlock()
		if _, ok := c.link.(*pipe); ok {
			c.notify("notifications/cancelled", map[string]any{"requestId": id})
			time.Sleep(10 * time.Millisecond) // so that the server handles it before its input ends
		}
	})
	return first
}

const acknowledged = "notifications/subscriptions/acknowledged"

func checkListen(t *trial) {
	switch m := listen(t); {
	case m == nil:
		t.find(nil, "", "subscriptions/listen: no message within %v", t.opts.Timeout)
	case m.err != nil:
		t.skip("the server refuses the subscription: %s", m.err.Message)
	case m.method != acknowledged:
		t.find(m.raw, "/method", "the first message of the subscription is not %q", acknowledged)
	}
}

func checkListenID(t *trial) {
	if m := listen(t); m != nil && m.method == acknowledged && text(at(m.params, "_meta", "io.modelcontextprotocol/subscriptionId")) != "listen-1" {
		t.find(m.raw, "/params/_meta", "the notification does not have the id \"listen-1\" of the subscription")
	}
}

// checkStatelessGet checks only servers that support no revision with a handshake.
func checkStatelessGet(t *trial) {
	if !t.onlyStateless.Load() {
		t.skip("the server also supports revisions with a handshake")
		return
	}
	t.withConn(true, func(c *conn) {
		if r := t.openStream(c.link.(*httpLink), "", func(event) {})(); r.header != nil && r.status != http.StatusMethodNotAllowed {
			t.find(nil, "", "GET got the status %d, not 405", r.status)
		}
	})
}
