package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// robustCases are about load, cancellation, and clients that leave.
func robustCases() []*Case {
	return []*Case{
		{ID: "concurrent-requests", Title: "all of many concurrent requests get a response",
			Advice: "Handle requests independently of each other, and respond to each of them.",
			Rules:  basic(Error, "responses"), Once: true, apart: true, run: checkConcurrent},
		{ID: "ping-while-busy", Title: "the server responds to ping while it handles other requests",
			Advice: "Do not block the reader of messages while a request is handled.",
			Rules:  handshakes(Error, "basic/utilities/ping#behavior-requirements"), Once: true, apart: true, run: checkPingWhileBusy},
		{ID: "duplicate-id", Title: "two concurrent requests with one id do not stop the server",
			Advice: "Respond to both, or reject the second one. Do not wait forever or exit.",
			Rules:  basic(Note, "requests"), Once: true, apart: true, run: checkDuplicateID},
		{ID: "cancel-race", Title: "a cancelled request does not stop the server",
			Advice: "Ignore a cancellation that arrives after the response.",
			Rules: append([]Rule{{Since: r2024, Until: r2025Nov, Severity: Error, Section: "basic/utilities/cancellation#timing-considerations"}},
				stateless(Error, "basic/patterns/cancellation#timing-considerations")...), Once: true, apart: true, run: checkCancelRace},
		{ID: "slow-reader", Title: "a client that reads late gets all responses",
			Advice: "Keep responses in a queue while the client does not read, or stop reading requests. Do not drop responses or exit.",
			Rules:  basic(Note, "responses"), Once: true, apart: true, run: checkSlowReader},
		{ID: "client-leaves", Title: "a client that leaves in the middle of a request does not stop the server", Transport: HTTP,
			Advice: "Handle errors of reading the request and of writing the response in the exchange, not in the process.",
			Rules:  sending(Note), Once: true, apart: true, run: checkClientLeaves},
		{ID: "exit-on-eof", Title: "the server exits when its input ends", Transport: Stdio,
			Advice: "End the process when standard input ends. Clients must kill it otherwise.",
			Rules: append([]Rule{{Since: r2024, Until: r2025Nov, Severity: Note, Section: "basic/lifecycle#shutdown"}},
				stateless(Warning, "basic/transports/stdio#shutdown")...), Once: true, apart: true, run: checkExit},
	}
}

// listMethod is a request that the server has: a list, or else the smallest request.
func (s *stage) listMethod() string {
	for _, l := range lists {
		if s.capability(l.capability) != nil {
			return l.method
		}
	}
	if s.handshake {
		return "ping"
	}
	return "server/discover"
}

// burst is the number of requests that are sent at once.
const burst = 50

// checkConcurrent checks only that the requests of a burst have responses. An endpoint
// may refuse some with the status 429 or 503.
func checkConcurrent(t *trial) {
	t.withConn(true, func(c *conn) {
		var waits []func() *message
		for range burst {
			waits = append(waits, c.start(c.id(), t.listMethod(), nil))
		}
		missing := 0
		for _, wait := range waits {
			if wait() == nil {
				missing++
			}
		}
		if _, http := c.link.(*httpLink); missing > 0 && (!http || !c.alive()) {
			t.find(nil, "", "%d of %d concurrent requests got no response", missing, burst)
		}
	})
}

func checkPingWhileBusy(t *trial) {
	t.withConn(true, func(c *conn) {
		var waits []func() *message
		for range burst {
			waits = append(waits, c.start(c.id(), t.listMethod(), nil))
		}
		if c.call("ping", nil) == nil {
			t.find(nil, "", "ping got no response while the server handled %d other requests", burst)
			return
		}
		for _, wait := range waits {
			wait()
		}
	})
}

func checkDuplicateID(t *trial) {
	t.withHostile(func(c *conn) {
		raw := c.request("same", t.listMethod(), nil)
		wait := c.startRaw(marshal("same"), raw)
		c.send(raw)
		wait()
		if !c.alive() {
			t.find(raw, "/id", "the server does not respond after two concurrent requests with one id")
		}
	})
}

// withHostile runs a function with a new connection whose messages are not validated.
func (t *trial) withHostile(run func(*conn)) {
	t.withConn(true, func(c *conn) {
		c.mu.Lock()
		c.hostile = true
		c.mu.Unlock()
		run(c)
	})
}

func checkCancelRace(t *trial) {
	t.withConn(true, func(c *conn) {
		var last json.RawMessage
		for range 10 {
			id := c.id()
			last = c.request(id, t.listMethod(), nil)
			c.startRaw(marshal(id), last)
			if _, http := c.link.(*httpLink); !http || t.handshake {
				c.notify("notifications/cancelled", map[string]any{"requestId": id, "reason": "test"})
			}
		}
		if !c.alive() {
			t.find(last, "", "the server does not respond after requests were cancelled")
		}
	})
}

// checkSlowReader sends many requests before it reads a response.
func checkSlowReader(t *trial) {
	t.withConn(true, func(c *conn) {
		if p, ok := c.link.(*pipe); ok {
			t.slowPipe(c, p)
			return
		}
		l := c.link.(*httpLink)
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		for range 10 {
			t.openUnread(ctx, c, l)
		}
		if !c.alive() {
			t.find(nil, "", "the server does not respond while a client leaves 10 responses unread")
		}
	})
}

// slowRequests is the number of requests before the client reads.
const slowRequests = 200

func (t *trial) slowPipe(c *conn, p *pipe) {
	p.gate.Lock()
	var waits []func() *message
	sent := make(chan struct{})
	go func() { // ends when the server has read the requests, at the latest after the timeout of each write
		defer close(sent)
		for range slowRequests {
			waits = append(waits, c.start(c.id(), t.listMethod(), nil))
		}
	}()
	select {
	case <-sent:
	case <-time.After(300 * time.Millisecond): // the server waits for the client, as it may
	}
	p.gate.Unlock()
	<-sent
	missing := 0
	for _, wait := range waits {
		if wait() == nil {
			missing++
		}
	}
	if missing > 0 {
		t.find(nil, "", "%d of %d requests got no response, because the client read late", missing, slowRequests)
	}
}

// openUnread sends a request and leaves its response unread until ctx ends.
func (t *trial) openUnread(ctx context.Context, c *conn, l *httpLink) {
	raw := c.request(c.id(), t.listMethod(), nil)
	c.mu.Lock()
	c.hostile = true
	c.mu.Unlock()
	address, err := url.Parse(t.server.URL)
	if err != nil || address.Scheme != "http" {
		return
	}
	req, err := l.newRequest(ctx, http.MethodPost, raw)
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", mediaJSON)
	req.Header.Set("Accept", mediaJSON+", "+mediaEvents)
	l.setMessageHeaders(req, raw)
	host := address.Host
	if address.Port() == "" {
		host += ":80"
	}
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return
	}
	context.AfterFunc(ctx, func() { plain.Close() })
	_ = req.Write(plain) // the server may have refused it
}

// checkClientLeaves sends half a request, and a request whose response it does not read.
func checkClientLeaves(t *trial) {
	if u, err := url.Parse(t.server.URL); err != nil || u.Scheme != "http" {
		t.skip("only over http")
		return
	}
	t.withHostile(func(c *conn) {
		l := c.link.(*httpLink)
		for range 4 {
			ctx, cancel := context.WithCancel(t.ctx)
			t.openUnread(ctx, c, l)
			cancel()
			t.sendHalf(c, false)
		}
		t.sendHalf(c, true)
		if !c.alive() {
			t.find(nil, "", "the server does not respond after clients left in the middle of a request")
		}
	})
}

// sendHalf sends the first half of a request and closes the connection. It may wait for the server to notice the
// end.
func (t *trial) sendHalf(c *conn, wait bool) {
	u, err := url.Parse(t.server.URL)
	if err != nil {
		return
	}
	host := u.Host
	if u.Port() == "" {
		host += ":80"
	}
	plain, err := (&net.Dialer{Timeout: t.opts.Timeout}).DialContext(t.ctx, "tcp", host)
	if err != nil {
		return
	}
	defer plain.Close()
	raw := c.request(c.id(), t.listMethod(), nil)
	_, _ = fmt.Fprintf(plain, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", u.RequestURI(), u.Host, len(raw), raw[:len(raw)/2]) // may fail
	if half, ok := plain.(*net.TCPConn); ok && wait && half.CloseWrite() == nil {
		_ = half.SetReadDeadline(time.Now().Add(min(t.opts.Timeout, time.Second)))
		_, _ = io.Copy(io.Discard, half) // ends when the server closes the connection
	}
}

// checkExit ends the input while a request is in flight.
// exitTime is how long a process may run after its input has ended. Clients wait less: the kit of this
// module terminates a command after 2 seconds.
const exitTime = 5 * time.Second

func checkExit(t *trial) {
	c, err := t.open(true)
	if err != nil {
		t.skip("no connection: %v", err)
		return
	}
	defer c.close()
	c.call(t.listMethod(), nil) // a server that is still starting needs more time
	c.start(c.id(), t.listMethod(), nil)
	if limit := min(t.opts.Timeout, exitTime); !c.link.(*pipe).closeInput(limit) {
		t.find(nil, "", "the process still runs %v after its input has ended", limit)
	}
}
