package check

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// httpCases are about Streamable HTTP in the revisions with a handshake, and in all.
func httpCases() []*Case {
	sessions := func(s Severity) []Rule {
		return []Rule{{Since: r2025, Until: r2025Nov, Severity: s, Section: "basic/transports#session-management"}}
	}
	list := []*Case{
		{ID: "http-content-type", Title: "the response to a request is JSON or a stream, with the status 200",
			Advice: "Set Content-Type to application/json or text/event-stream.", Rules: sending(Error)},
		{ID: "http-accepted", Title: "an accepted notification or response gets the status 202 and no body",
			Advice: "Respond with 202 and an empty body.", Rules: sending(Error)},
		{ID: "http-stream-end", Title: "a stream ends after the response", Once: true,
			Advice: "Close the stream when the response has been sent.",
			Rules: append([]Rule{{Since: r2025, Until: r2025Nov, Severity: Warning, Section: "basic/transports#sending-messages-to-the-server"}},
				stateless(Warning, "basic/transports/streamable-http#receiving-messages")...), apart: true, run: checkStreamEnd},
		{ID: "http-event-id", Title: "ids of events are unique in a session",
			Advice: "Use the id of the stream as a part of event ids.",
			Rules:  []Rule{{Since: r2025, Until: r2025Nov, Severity: Error, Section: "basic/transports#resumability-and-redelivery"}}},
		{ID: "http-session-id", Title: "a session id is visible ASCII",
			Advice: "Use a random text of letters and digits as session id.", Rules: sessions(Error)},
		{ID: "http-session-missing", Title: "a request without the session id gets the status 400", Once: true,
			Advice: "Respond with 400 if the session id is missing.", Rules: sessions(Warning), apart: true, run: checkSessionMissing},
		{ID: "http-session-deleted", Title: "a deleted session gets the status 404", Once: true,
			Advice: "Respond with 404 to requests of a session that has ended. Clients begin a new one then.", Rules: sessions(Error), apart: true, run: checkSessionDeleted},
		{ID: "http-session-unknown", Title: "an unknown session id is refused", Once: true,
			Advice: "Respond with 404 to session ids that the server has not assigned.", Rules: sessions(Note), apart: true, run: checkSessionUnknown},
		{ID: "http-get", Title: "GET opens a stream, or gets the status 405", Once: true,
			Advice: "Respond to GET with a stream of events, or with 405.",
			Rules:  []Rule{{Since: r2025, Until: r2025Nov, Severity: Error, Section: "basic/transports#listening-for-messages-from-the-server"}}, apart: true, run: checkGet},
		{ID: "http-get-response", Title: "the stream of GET has no responses", Once: true,
			Advice: "Send a response on the stream of its request.",
			Rules:  []Rule{{Since: r2025, Until: r2025Nov, Severity: Error, Section: "basic/transports#listening-for-messages-from-the-server"}}, apart: true, run: checkGetResponse},
		{ID: "http-resume", Title: "a resumed stream has only messages of that stream", Once: true,
			Advice: "Find the stream by the event id, and resend only its events.",
			Rules:  []Rule{{Since: r2025, Until: r2025Nov, Severity: Error, Section: "basic/transports#resumability-and-redelivery"}}, apart: true, run: checkResume},
		{ID: "http-version-header", Title: "an unknown MCP-Protocol-Version gets the status 400", Once: true,
			Advice: "Validate the header MCP-Protocol-Version.",
			Rules:  []Rule{{Since: r2025June, Until: r2025Nov, Severity: Error, Section: "basic/transports#protocol-version-header"}}, apart: true, run: checkVersionHeader},
		{ID: "http-version-missing", Title: "a request without MCP-Protocol-Version is accepted", Once: true,
			Advice: "Use the revision of the session, or 2025-03-26, if the header is missing.",
			Rules:  []Rule{{Since: r2025June, Until: r2025Nov, Severity: Warning, Section: "basic/transports#protocol-version-header"}}, apart: true, run: checkVersionMissing},
		{ID: "http-origin", Title: "a request with the Origin of another site is refused", Once: true,
			Advice: "Compare the header Origin with a list of sites that may use the server, and respond with 403 to others.",
			Rules: []Rule{{Since: r2024, Until: r2024, Severity: Error, Section: "basic/transports#security-warning"}, {Since: r2025, Until: r2025Nov, Severity: Error, Section: "basic/transports#security-warning"},
				{Since: r2026, Until: r2026, Severity: Error, Section: "basic/transports/streamable-http#security-endpoint"}}, apart: true, run: checkOrigin},
		{ID: "http-accept", Title: "an Accept header with parameters is understood", Once: true,
			Advice: "Parse the header Accept: types may have parameters, spaces and any order.", Rules: sending(Note), apart: true, run: checkAccept},
		{ID: "http-charset", Title: "a Content-Type with a charset is understood", Once: true,
			Advice: "Compare only the type of the header Content-Type, without its parameters.", Rules: sending(Note), apart: true, run: checkCharset},
	}
	for _, c := range list {
		c.Transport = HTTP
	}
	return list
}

// post sends a request on a connection with changed headers.
func (t *trial) post(c *conn, edit func(*http.Request)) (*reply, json.RawMessage) {
	raw := c.request(c.id(), t.listMethod(), nil)
	c.mu.Lock()
	c.hostile = true
	c.mu.Unlock()
	return c.link.(*httpLink).post(t.ctx, raw, edit), raw
}

func checkStreamEnd(t *trial) {
	t.withConn(true, func(c *conn) {
		if r, raw := t.post(c, nil); r.open && r.response(nil) != nil {
			t.find(raw, "", "the stream is still open %v after the request, although it has the response", t.opts.Timeout)
		}
	})
}

// withSession runs a function with a connection that has a session.
func (t *trial) withSession(run func(*conn, *httpLink)) {
	t.withConn(true, func(c *conn) {
		l := c.link.(*httpLink)
		if l.sessionID() == "" {
			t.skip("the server assigns no session id")
			return
		}
		run(c, l)
	})
}

func checkSessionMissing(t *trial) {
	t.withSession(func(c *conn, l *httpLink) {
		r, raw := t.post(c, func(req *http.Request) { req.Header.Del(headerSession) })
		if r.err == nil && r.status >= 300 && r.status != http.StatusBadRequest {
			t.find(raw, "", "a request without the session id got the status %d, not 400", r.status)
		}
	})
}

func checkSessionDeleted(t *trial) {
	t.withSession(func(c *conn, l *httpLink) {
		if status := l.deleteSession(); status < 200 || status >= 300 {
			t.skip("DELETE got the status %d", status)
			return
		}
		if r, raw := t.post(c, nil); r.err == nil && r.status != http.StatusNotFound {
			t.find(raw, "", "a request of a deleted session got the status %d, not 404", r.status)
		}
		l.mu.Lock()
		l.session = ""
		l.mu.Unlock()
	})
}

func checkSessionUnknown(t *trial) {
	t.withSession(func(c *conn, l *httpLink) {
		r, raw := t.post(c, func(req *http.Request) { req.Header.Set(headerSession, "mcpwright-unknown-session") })
		if r.accepted() {
			t.find(raw, "", "a request with an unknown session id succeeded")
		}
	})
}

// openStream opens a stream with GET until the returned function is called. It waits
// until the server has sent its headers, or a little while.
func (t *trial) openStream(l *httpLink, lastEvent string, handle func(event)) (end func() *reply) {
	ctx, cancel := context.WithCancel(t.ctx)
	result := make(chan *reply, 1)
	go func() { result <- l.get(ctx, lastEvent, handle) }() // ends with ctx
	return func() *reply {
		defer cancel()
		select {
		case r := <-result:
			return r
		case <-time.After(500 * time.Millisecond): // the stream is open
		}
		cancel()
		return <-result
	}
}

func checkGet(t *trial) {
	t.withConn(true, func(c *conn) {
		r := t.openStream(c.link.(*httpLink), "", func(event) {})()
		if r.header == nil || r.status == http.StatusMethodNotAllowed || r.status == http.StatusOK && r.media() == mediaEvents {
			return
		}
		t.find(nil, "", "GET got the status %d and the content type %q", r.status, r.header.Get("Content-Type"))
	})
}

func checkGetResponse(t *trial) {
	t.withConn(true, func(c *conn) {
		var mu sync.Mutex
		var found []*message
		end := t.openStream(c.link.(*httpLink), "", func(e event) {
			if m, ok := parse(e.data); ok && m.isResponse() {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, m)
			}
		})
		for range 3 {
			c.call(t.listMethod(), nil)
		}
		end()
		mu.Lock()
		defer mu.Unlock()
		for _, m := range found {
			t.find(m.raw, "", "the stream of GET has a response")
		}
	})
}

// checkResume makes two streams and resumes the first one. The response to the second
// request must not be sent again.
func checkResume(t *trial) {
	t.withHostile(func(c *conn) {
		l := c.link.(*httpLink)
		first := l.post(t.ctx, c.request("first", t.listMethod(), nil), nil)
		second := l.post(t.ctx, c.request("second", t.listMethod(), nil), nil)
		if len(first.events) == 0 || first.events[0].id == "" || second.response("second") == nil {
			t.skip("the streams have no event ids")
			return
		}
		var mu sync.Mutex
		var wrong []byte
		t.openStream(l, first.events[0].id, func(e event) {
			if m, ok := parse(e.data); ok && m.isResponse() && idKey(m.id) == `"second"` {
				mu.Lock()
				defer mu.Unlock()
				wrong = m.raw
			}
		})()
		mu.Lock()
		defer mu.Unlock()
		if wrong != nil {
			t.find(wrong, "", "the stream resumed from the event %q has a message of another stream", first.events[0].id)
		}
	})
}

func checkVersionHeader(t *trial) {
	t.withConn(true, func(c *conn) {
		r, raw := t.post(c, func(req *http.Request) { req.Header.Set(headerVersion, "1999-01-01") })
		if r.err == nil && r.status != http.StatusBadRequest {
			t.find(raw, "", "a request with MCP-Protocol-Version 1999-01-01 got the status %d, not 400", r.status)
		}
	})
}

func checkVersionMissing(t *trial) {
	t.withConn(true, func(c *conn) {
		r, raw := t.post(c, func(req *http.Request) { req.Header.Del(headerVersion) })
		if r.err == nil && r.status >= 300 {
			t.find(raw, "", "a request without MCP-Protocol-Version got the status %d", r.status)
		}
	})
}

// checkOrigin checks only servers on this machine: others may be made for all sites.
func checkOrigin(t *trial) {
	if !t.server.local() {
		t.skip("the server is not on this machine, so it may be made for all sites")
		return
	}
	t.withConn(true, func(c *conn) {
		r, raw := t.post(c, func(req *http.Request) { req.Header.Set("Origin", "http://attacker.example") })
		exact := t.revision.String() >= r2025Nov // earlier revisions name no status
		if r.err == nil && (r.status < 300 || exact && r.status != http.StatusForbidden) {
			t.find(raw, "", "a request with the Origin http://attacker.example got the status %d, not 403", r.status)
		}
	})
}

func checkAccept(t *trial) {
	t.withConn(true, func(c *conn) {
		const accept = "text/event-stream;q=0.5,  application/json ; charset=utf-8"
		if r, raw := t.post(c, func(req *http.Request) { req.Header.Set("Accept", accept) }); r.err == nil && r.status >= 300 {
			t.find(raw, "", "a request with Accept %q got the status %d", accept, r.status)
		}
	})
}

func checkCharset(t *trial) {
	t.withConn(true, func(c *conn) {
		const content = "application/json; charset=utf-8"
		if r, raw := t.post(c, func(req *http.Request) { req.Header.Set("Content-Type", content) }); r.err == nil && r.status >= 300 {
			t.find(raw, "", "a request with Content-Type %q got the status %d", content, r.status)
		}
	})
}
