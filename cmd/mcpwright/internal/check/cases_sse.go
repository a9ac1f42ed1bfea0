package check

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// sseCases are about HTTP+SSE, the transport of revision 2024-11-05.
func sseCases() []*Case {
	first := func(s Severity, section string) []Rule {
		return []Rule{{Since: r2024, Until: r2024, Severity: s, Section: section}}
	}
	const transport = "basic/transports#http-with-sse"
	list := []*Case{
		{ID: "sse-endpoint", Title: "the first event of a stream is the endpoint",
			Advice: "Send the event endpoint when the stream begins, before all messages.", Rules: first(Error, transport), run: checkSSEEndpoint},
		{ID: "sse-accepted", Title: "an accepted message gets the status 202",
			Advice: "Respond to POST with 202, and send the response to the message on the stream.", Rules: first(Note, transport), run: checkSSEAccepted},
		{ID: "sse-separate", Title: "a response is on the stream of its session only",
			Advice: "Keep a stream for each session id, and send each response on the stream of its request.", Rules: first(Error, "basic/messages#responses"), run: checkSSESeparate},
		{ID: "sse-session-unknown", Title: "an unknown session id is refused",
			Advice: "Respond with 404 to session ids that the server has not assigned.", Rules: first(Note, transport), run: checkSSESessionUnknown},
		{ID: "sse-origin", Title: "a request with the Origin of another site is refused",
			Advice: "Compare the header Origin of GET and POST with a list of sites that may use the server, and respond with 403 to others.",
			Rules:  first(Error, "basic/transports#security-warning"), run: checkSSEOrigin},
		{ID: "sse-client-leaves", Title: "a client that leaves during a request does not stop the server",
			Advice: "Handle errors of writing to a stream in its session, not in the process.", Rules: first(Note, transport), run: checkSSEClientLeaves},
		{ID: "sse-malformed", Title: "malformed JSON is refused and does not end the stream",
			Advice: "Respond to malformed JSON with 400 or a parse error, and keep the stream.", Rules: first(Note, transport), run: checkSSEMalformed},
	}
	for _, c := range list {
		c.Transport, c.apart = SSE, true
	}
	return list
}

// withStream runs a function with a new connection whose messages are not validated, and
// its stream.
func (t *trial) withStream(run func(*conn, *sseWriter)) {
	t.withHostile(func(c *conn) { run(c, c.link.(*pipe).process.In.(*sseWriter)) })
}

// status posts a message to the endpoint of a stream, or to another one, and returns the
// status. It is 0 if there is no response in time.
func (t *trial) status(w *sseWriter, endpoint string, raw []byte, edit func(http.Header)) int {
	ctx, cancel := context.WithTimeout(t.ctx, t.opts.Timeout)
	defer cancel()
	status, _ := w.exchange(ctx, endpoint, raw, edit) // the status 0 stands for all errors
	return status
}

func checkSSEEndpoint(t *trial) {
	t.withStream(func(_ *conn, w *sseWriter) {
		if w.early != nil {
			t.find(w.early.data, "", "the stream has the event %q before its endpoint", w.early.name)
		}
	})
}

func checkSSEAccepted(t *trial) {
	t.withStream(func(c *conn, w *sseWriter) {
		raw := c.request(c.id(), t.listMethod(), nil)
		if status := t.status(w, w.endpoint, raw, nil); status != http.StatusAccepted {
			t.find(raw, "", "a request got the status %d, not 202", status)
		}
	})
}

func checkSSESeparate(t *trial) {
	t.withStream(func(a *conn, _ *sseWriter) {
		t.withStream(func(b *conn, _ *sseWriter) {
			for range 5 {
				waitA := a.start("first", t.listMethod(), nil)
				waitB := b.start("second", t.listMethod(), nil)
				waitA()
				waitB()
			}
			t.findForeign(a, "second")
			t.findForeign(b, "first")
		})
	})
}

// findForeign reports a response with the request id of another session.
func (t *trial) findForeign(c *conn, other string) {
	c.alive() // earlier messages have arrived after that
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.strays {
		if idKey(m.id) == idKey(marshal(other)) {
			t.find(m.raw, "/id", "the stream has the response to a request of another session")
			return
		}
	}
}

func checkSSESessionUnknown(t *trial) {
	t.withStream(func(c *conn, w *sseWriter) {
		unknown, ok := unknownSession(w.endpoint)
		if !ok {
			t.skip("the endpoint has no session id in its query")
			return
		}
		raw := c.request(c.id(), t.listMethod(), nil)
		switch status := t.status(w, unknown, raw, nil); {
		case status == 0:
			t.find(raw, "", "a request with an unknown session id got no response")
		case status < 300:
			t.find(raw, "", "a request with an unknown session id got the status %d", status)
		}
	})
}

// unknownSession returns an endpoint with another session id.
func unknownSession(endpoint string) (string, bool) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", false
	}
	query, ok := u.Query(), false
	for name := range query {
		if strings.Contains(strings.ToLower(name), "session") {
			query.Set(name, "mcpwright-unknown-session")
			ok = true
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), ok
}

// checkSSEOrigin checks only servers on this machine: others may be made for all sites.
func checkSSEOrigin(t *trial) {
	if !t.server.local() {
		t.skip("the server is not on this machine, so it may be made for all sites")
		return
	}
	const origin = "http://attacker.example"
	t.withStream(func(c *conn, w *sseWriter) {
		raw := c.request(c.id(), t.listMethod(), nil)
		if status := t.status(w, w.endpoint, raw, func(h http.Header) { h.Set("Origin", origin) }); status >= 200 && status < 300 {
			t.find(raw, "", "POST with the Origin %s got the status %d, not 403", origin, status)
		}
		foreign := *t.server
		if foreign.Header = t.server.Header.Clone(); foreign.Header == nil {
			foreign.Header = http.Header{}
		}
		foreign.Header.Set("Origin", origin)
		if p, err := foreign.openSSE(t.ctx); err == nil {
			p.Kill()
			<-p.Exited
			t.find(nil, "", "GET with the Origin %s opened a stream", origin)
		}
	})
}

// checkSSEClientLeaves closes streams before their responses are read.
func checkSSEClientLeaves(t *trial) {
	for i := range 5 {
		c, err := t.open(true)
		switch {
		case err != nil && i == 0:
			t.skip("no connection: %v", err)
			return
		case err != nil:
			t.find(nil, "", "the server accepts no client after another one left during a request: %v", err)
			return
		}
		c.start(c.id(), t.listMethod(), nil)
		c.close()
	}
	c, err := t.open(true)
	if err != nil {
		t.find(nil, "", "the server accepts no client after others left during a request: %v", err)
		return
	}
	c.close()
}

func checkSSEMalformed(t *trial) {
	t.withStream(func(c *conn, w *sseWriter) {
		raw := []byte(`{"jsonrpc":"2.0","id":`)
		status := t.status(w, w.endpoint, raw, nil)
		refused := status >= 400 || c.wait(t.opts.Timeout, func() bool { return len(c.strays) > 0 && c.strays[0].err != nil })
		if !refused {
			t.find(raw, "", "malformed JSON got the status %d and no error", status)
		}
		if !c.alive() {
			t.find(raw, "", "the stream has no responses after malformed JSON")
		}
	})
}
