package check

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	mediaJSON     = "application/json"
	mediaEvents   = "text/event-stream"
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// maxBody limits a response body that is read.
const maxBody = 64 << 20

// httpLink is the link to a Streamable HTTP endpoint.
type httpLink struct {
	conn    *conn
	ctx     context.Context
	cancel  context.CancelFunc
	sending sync.WaitGroup // exchanges of requests

	mu      sync.Mutex
	session string
	version string // selected by the handshake
	params  map[string][]paramHeader
	events  map[string]bool // ids of events
}

// reply is the response of an HTTP exchange.
type reply struct {
	status   int
	header   http.Header
	messages []*message
	events   []event
	body     []byte // of a response that is not a stream
	err      error  // the exchange failed
	open     bool   // the stream did not end in time
}

// event is a server-sent event.
type event struct {
	id, name string
	data     []byte
}

func newHTTPLink(c *conn) *httpLink {
	ctx, cancel := context.WithCancel(c.stage.ctx)
	return &httpLink{conn: c, ctx: ctx, cancel: cancel, params: map[string][]paramHeader{}, events: map[string]bool{}}
}

func (l *httpLink) setVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

// sessionID returns the session id, or "".
func (l *httpLink) sessionID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// media returns the content type of a response without parameters, or "".
func (r *reply) media() string {
	media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// response returns the response with an id, or any response for nil. It returns nil if
// there is none.
func (r *reply) response(id any) *message {
	for _, m := range r.messages {
		if m.isResponse() && (id == nil || idKey(m.id) == idKey(marshal(id))) {
			return m
		}
	}
	return nil
}

// accepted reports whether the server has accepted the message: the status is a success,
// and no response is an error.
func (r *reply) accepted() bool {
	if r.err != nil || r.status >= 300 {
		return false
	}
	m := r.response(nil)
	return m == nil || m.err == nil
}

// send posts a message. A request does not wait for its response.
func (l *httpLink) send(ctx context.Context, raw []byte) {
	m, ok := parse(raw)
	if !ok || m.method == "" || m.id == nil {
		if r := l.post(ctx, raw, nil); ok {
			l.observe(m, r)
		}
		return
	}
	l.sending.Go(func() { // ends with the exchange and its resumption, at the latest after the timeout
		r := l.post(ctx, raw, nil)
		l.observe(m, r)
		l.resume(m, r)
		l.conn.abandon(m.id)
	})
}

// resume reads the rest of a stream that the server has ended before the response. A
// server may do that after an event with an id.
func (l *httpLink) resume(sent *message, r *reply) {
	ctx, cancel := context.WithTimeout(l.ctx, l.conn.stage.opts.Timeout)
	defer cancel()
	last, done := "", r.response(sent.id) != nil
	for _, e := range r.events {
		last = cmp.Or(e.id, last)
	}
	for !done && last != "" && !r.open && ctx.Err() == nil {
		again := l.get(ctx, last, func(e event) {
			last = cmp.Or(e.id, last)
			for _, m := range l.conn.deliver(e.data) {
				if done = done || m.isResponse() && idKey(m.id) == idKey(sent.id); done {
					cancel()
				}
			}
		})
		if again.status != http.StatusOK {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// abandon ends the wait for a response that did not come in its exchange.
func (c *conn) abandon(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.waiting[idKey(id)]; answer != nil {
		select {
		case answer <- nil:
		default:
		}
	}
}

// post sends bytes with the headers of the connection, which edit may change, and reads
// the response. Its messages are delivered when they arrive.
func (l *httpLink) post(ctx context.Context, raw []byte, edit func(*http.Request)) *reply {
	ctx, cancel := context.WithTimeout(ctx, l.conn.stage.opts.Timeout)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	req, err := l.newRequest(ctx, http.MethodPost, raw)
	if err != nil {
		return &reply{err: err}
	}
	req.Header.Set("Content-Type", mediaJSON)
	req.Header.Set("Accept", mediaJSON+", "+mediaEvents)
	l.setMessageHeaders(req, raw)
	if edit != nil {
		edit(req)
	}
	return l.do(req, raw)
}

// get opens a stream with GET, reads it until ctx ends or the stream ends, and passes
// each event to handle.
func (l *httpLink) get(ctx context.Context, lastEvent string, handle func(event)) *reply {
	req, err := l.newRequest(ctx, http.MethodGet, nil)
	if err != nil {
		return &reply{err: err}
	}
	req.Header.Set("Accept", mediaEvents)
	if lastEvent != "" {
		req.Header.Set("Last-Event-Id", lastEvent)
	}
	res, err := l.conn.stage.server.client().Do(req)
	if err != nil {
		return &reply{err: err}
	}
	defer res.Body.Close()
	r := &reply{status: res.StatusCode, header: res.Header}
	if r.media() == mediaEvents {
		r.err = readEvents(res.Body, handle)
	}
	return r
}

// newRequest returns a request with the headers of the user and of the session.
func (l *httpLink) newRequest(ctx context.Context, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, l.conn.stage.server.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range l.conn.stage.server.Header {
		req.Header[name] = values
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != "" {
		req.Header.Set(headerSession, l.session)
	}
	if l.version >= r2025June {
		req.Header.Set(headerVersion, l.version)
	}
	return req, nil
}

// setMessageHeaders sets the headers that repeat members of a stateless message.
func (l *httpLink) setMessageHeaders(req *http.Request, raw []byte) {
	if l.conn.stage.handshake {
		return
	}
	req.Header.Set(headerVersion, l.conn.stage.revision.String())
	m, ok := parse(raw)
	if !ok || m.method == "" {
		return
	}
	req.Header.Set(headerMethod, headerValue(m.method))
	params := object(m.params)
	switch m.method {
	case "tools/call", "prompts/get":
		req.Header.Set(headerName, headerValue(text(params["name"])))
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, h := range l.params[text(params["name"])] {
			h.set(req.Header, params["arguments"])
		}
	case "resources/read":
		req.Header.Set(headerName, headerValue(text(params["uri"])))
	}
}

// headerValue encodes a value that a header cannot contain as it is.
func headerValue(s string) string {
	plain := s == strings.TrimSpace(s) && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for _, c := range []byte(s) {
		plain = plain && (c >= ' ' && c <= '~' || c == '\t')
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// do sends a request and reads the response.
func (l *httpLink) do(req *http.Request, raw []byte) *reply {
	res, err := l.conn.stage.server.client().Do(req)
	if err != nil {
		return &reply{err: err}
	}
	defer res.Body.Close()
	r := &reply{status: res.StatusCode, header: res.Header}
	l.storeSession(raw, r)
	if r.media() == mediaEvents {
		r.err = readEvents(res.Body, func(e event) {
			r.events = append(r.events, e)
			l.observeEvent(e)
			if len(e.data) > 0 && (e.name == "" || e.name == "message") {
				r.messages = append(r.messages, l.conn.deliver(e.data)...)
			}
		})
		if r.err != nil && errors.Is(req.Context().Err(), context.DeadlineExceeded) {
			r.open, r.err = true, nil
		}
		return r
	}
	r.body, r.err = io.ReadAll(io.LimitReader(res.Body, maxBody))
	if r.media() == mediaJSON && json.Valid(r.body) {
		r.messages = l.deliverBody(r)
	}
	return r
}

// deliverBody delivers a JSON body. A body with an error status need not be a message.
func (l *httpLink) deliverBody(r *reply) []*message {
	if r.status >= 300 && object(r.body)["jsonrpc"] == nil {
		return nil
	}
	return l.conn.deliver(r.body)
}

// storeSession stores the session id of the response to initialize.
func (l *httpLink) storeSession(raw []byte, r *reply) {
	m, _ := parse(raw)
	if m.method != "initialize" || r.status != http.StatusOK {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = r.header.Get(headerSession)
}

// observeEvent checks that event ids are unique in the session.
func (l *httpLink) observeEvent(e event) {
	if e.id == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events[e.id] {
		l.conn.stage.find("http-event-id", e.data, "", "the event id %q was used before", e.id)
	}
	l.events[e.id] = true
}

// readEvents reads server-sent events until the stream ends.
func readEvents(r io.Reader, handle func(event)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxBody)
	var e event
	var data [][]byte
	for lines.Scan() {
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		if len(line) == 0 {
			if e.data = bytes.Join(data, []byte("\n")); e.id != "" || len(data) > 0 {
				handle(e)
			}
			e, data = event{}, nil
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			data = append(data, bytes.Clone(value))
		case "id":
			e.id = string(value)
		case "event":
			e.name = string(value)
		}
	}
	return lines.Err()
}

// deleteSession ends the session, and returns the status, or 0 if the exchange failed.
func (l *httpLink) deleteSession() int {
	ctx, cancel := context.WithTimeout(l.conn.stage.ctx, l.conn.stage.opts.Timeout)
	defer cancel()
	req, err := l.newRequest(ctx, http.MethodDelete, nil)
	if err != nil {
		return 0
	}
	res, err := l.conn.stage.server.client().Do(req)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// close ends the session and all exchanges.
func (l *httpLink) close() {
	if l.sessionID() != "" {
		l.deleteSession()
	}
	l.cancel()
	l.sending.Wait()
}

// observe checks the status and the header of a response.
func (l *httpLink) observe(sent *message, r *reply) {
	s := l.conn.stage
	l.conn.mu.Lock()
	hostile := l.conn.hostile
	l.conn.mu.Unlock()
	if hostile || r.err != nil || r.status >= 300 {
		return
	}
	request := sent.method != "" && sent.id != nil
	media := r.media()
	switch {
	case request && (r.status != http.StatusOK || media != mediaJSON && media != mediaEvents):
		s.find("http-content-type", sent.raw, "", "the response to %q has the status %d and the content type %q", sent.method, r.status, r.header.Get("Content-Type"))
	case !request && r.status != http.StatusAccepted:
		s.find("http-accepted", sent.raw, "", "the status of an accepted message is %d, not 202", r.status)
	case !request && len(r.body) > 0:
		s.find("http-accepted", sent.raw, "", "the response to an accepted message has a body of %d bytes", len(r.body))
	}
	if media == mediaEvents && !s.handshake && r.header.Get("X-Accel-Buffering") != "no" {
		s.find("http-buffering", sent.raw, "", "the response to %q is a stream without the header X-Accel-Buffering", sent.method)
	}
	id := r.header.Get(headerSession)
	if strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		s.find("http-session-id", sent.raw, "", "the session id %q has a character that is not visible ASCII", id)
	}
	if id != "" && s.onlyStateless.Load() {
		s.find("http-stateless-session", sent.raw, "", "the response has the session id %q", id)
	}
}
