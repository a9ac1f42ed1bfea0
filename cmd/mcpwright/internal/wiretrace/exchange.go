package wiretrace

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/wire"
)

const (
	headerSession = "Mcp-Session-Id"
	mediaJSON     = "application/json"
	mediaEvents   = "text/event-stream"
)

// maxSessions limits the sessions that a recorder stores. The oldest are forgotten.
const maxSessions = 10_000

// maxEndpoints limits the paths for messages of the transport HTTP+SSE.
const maxEndpoints = 100

// Exchange observes an HTTP request and its response. Its methods are called in the order
// in which the parts of the exchange are sent.
type Exchange struct {
	recorder *Recorder
	request  *http.Request // without its body
	endpoint bool
	details  HTTPDetails

	mu       sync.Mutex
	sent     clipped // body of the request
	sentAll  bool
	lost     bool // the request was lost, so the exchange is not shown
	gap      bool // a message of the exchange was lost
	status   int  // 0 before the response
	media    string
	encoding string       // of the content, or ""
	encoded  *encodedBody // a body that is decoded in the background, or nil
	received clipped
	events   *eventSplitter

	// The goroutine of the recorder owns the fields below.
	conn     *connection
	check    *mcptest.HTTPExchange
	legacy   *legacySession       // of the transport HTTP+SSE, or nil
	number   int                  // of the event of the request
	problems []*mcptest.Violation // of the header, before the first message of a stream
}

// legacySession is a connection of the transport HTTP+SSE.
type legacySession struct {
	conn      *connection
	validator *mcptest.Validator
}

// Exchange returns an observer for a new exchange. The endpoint is true if the request is
// for the MCP endpoint, so that bodies are messages. The recorder finds the other endpoint
// of the transport HTTP+SSE itself.
func (r *Recorder) Exchange(req *http.Request, endpoint bool) *Exchange {
	x := &Exchange{recorder: r, request: &http.Request{Method: req.Method, URL: req.URL, Header: req.Header.Clone()}, endpoint: endpoint}
	r.mu.Lock()
	x.endpoint = endpoint || slices.Contains(r.endpoints, req.URL.Path)
	r.exchanges++
	x.details = HTTPDetails{Exchange: r.exchanges, Method: req.Method, Path: r.opts.Mask.String(req.URL.RequestURI())}
	r.mu.Unlock()
	return x
}

// Sent adds the next bytes of the body of the request. It does not keep b.
func (x *Exchange) Sent(b []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent.add(b, x.recorder.opts.MaxMessage)
}

// SentAll adds the end of the request. Only the first call has an effect.
func (x *Exchange) SentAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sentAll {
		return
	}
	x.sentAll = true
	raw, size := x.sent.take()
	details := x.details
	p := &part{time: time.Now(), from: mcptest.FromClient, raw: raw, size: size, http: &details}
	if !x.endpoint || size == 0 {
		p.kind, p.raw = HTTP, nil
	}
	x.lost = !x.recorder.add(len(p.raw), func() { x.observeRequest(p) })
}

// Header adds the status and the header of the response.
func (x *Exchange) Header(status int, header http.Header) {
	x.SentAll() // a server may respond before it has read the body
	header = header.Clone()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status, x.encoding = status, contentEncoding(header)
	x.media, _, _ = mime.ParseMediaType(header.Get("Content-Type"))
	stream := x.media == mediaEvents
	p := x.part(nil, 0)
	p.kind = HTTP
	var open decoder
	if x.endpoint {
		open = decoders[x.encoding]
		switch {
		case stream && (x.encoding == "" || open != nil):
			x.events = &eventSplitter{limit: x.recorder.opts.MaxMessage, event: x.addEvent}
		case stream:
			p.hide("it is encoded: " + x.encoding)
		}
	}
	x.add(0, func() { x.observeHeader(p, header, stream) })
	if open != nil {
		x.encoded = newEncodedBody(x.recorder.opts.MaxMessage)
		go x.decode(open, x.encoded) // ends with the body
	}
}

// Received adds the next bytes of the body of the response. It does not keep b.
func (x *Exchange) Received(b []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.encoded != nil {
		x.encoded.add(b)
		return
	}
	x.receive(b)
}

// receive adds the next bytes of the decoded body. The mutex is locked.
func (x *Exchange) receive(b []byte) {
	if x.events != nil {
		x.events.add(b)
		return
	}
	limit := x.recorder.opts.MaxMessage
	if !x.endpoint || x.encoding != "" && x.encoded == nil {
		limit = 0
	}
	x.received.add(b, limit)
}

// ReceivedAll adds the end of the response.
func (x *Exchange) ReceivedAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.encoded != nil {
		x.recorder.decode()
		x.encoded.end()
		return
	}
	x.endBody(nil)
}

// endBody adds the end of the decoded body. The error is not nil if it cannot be decoded. The mutex
// is locked.
func (x *Exchange) endBody(err error) {
	if x.media == mediaEvents && err == nil {
		x.add(0, func() { x.observeProblems() })
		return
	}
	p := x.part(x.received.take())
	if len(bytes.TrimSpace(p.raw)) == 0 {
		p.kind, p.raw = HTTP, nil
	}
	switch {
	case err != nil:
		p.hide(fmt.Sprintf("it is not valid %s: %v", x.encoding, err))
	case x.encoding != "" && x.encoded == nil && p.size > 0:
		p.hide("it is encoded: " + x.encoding)
	}
	media := x.media
	x.add(len(p.raw), func() { x.observeBody(p, media) })
}

// addEvent adds an event of a stream, unless it has an id only. The mutex is locked.
func (x *Exchange) addEvent(name string, data []byte, size int64) {
	if size == 0 {
		return
	}
	if name == "endpoint" {
		x.recorder.addEndpoint(x.request.URL, data)
	}
	p := x.part(data, size)
	x.add(len(data), func() { x.observeEvent(p, name) })
}

// addEndpoint adds a path for messages of the transport HTTP+SSE.
func (r *Recorder) addEndpoint(base *url.URL, data []byte) {
	u, err := base.Parse(string(data))
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.endpoints, u.Path) && len(r.endpoints) < maxEndpoints {
		r.endpoints = append(r.endpoints, u.Path)
	}
}

// Failed adds the end of an exchange without a response.
func (x *Exchange) Failed(err error) {
	x.SentAll()
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.part(nil, 0)
	p.kind, p.text = HTTP, x.recorder.opts.Mask.String("no response: "+err.Error())
	x.add(0, func() { x.emit(p) })
}

// part returns a part of the response. The mutex is locked.
func (x *Exchange) part(raw []byte, size int64) *part {
	return &part{time: time.Now(), from: mcptest.FromServer, raw: raw, size: size,
		http: &HTTPDetails{Exchange: x.details.Exchange, Status: x.status, Type: x.media}}
}

// add adds a job, unless the request was lost. The mutex is locked.
func (x *Exchange) add(size int, run func()) {
	if x.lost {
		x.recorder.lose()
		return
	}
	gap := x.gap
	x.gap = !x.recorder.add(size, func() {
		x.conn.gap = x.conn.gap || gap
		run()
	})
}

// observeRequest emits the request.
func (x *Exchange) observeRequest(p *part) {
	r := x.recorder
	session := x.request.Header.Get(headerSession)
	if encoding := contentEncoding(x.request.Header); encoding != "" && p.kind == "" {
		decodeRequest(p, encoding, r.opts.MaxMessage)
	}
	x.legacy = r.legacy[x.request.URL.RequestURI()]
	x.check = r.validator.Begin(x.request)
	switch {
	case x.legacy != nil:
		x.conn = x.legacy.conn
	case session != "":
		x.conn = r.session(session, nil)
	case bytes.Contains(p.raw, []byte(`"initialize"`)):
		x.conn = r.newConnection(r.open())
	default:
		x.conn = r.newConnection(0)
	}
	x.conn.observe(p, x.checkMessage)
	x.number = r.count
}

// checkMessage validates a message that is the body of the request, or an event.
func (x *Exchange) checkMessage(from mcptest.Sender, raw []byte) ([]*mcptest.Violation, wire.Revision) {
	switch {
	case x.legacy != nil:
		return x.legacy.validator.Check(from, raw), x.legacy.validator.Revision()
	case from == mcptest.FromClient:
		return x.check.CheckRequest(raw), x.check.Revision()
	}
	found := append(x.problems, x.check.CheckEvent(raw)...)
	x.problems = nil
	return found, x.check.Revision()
}

// observeHeader validates the header of the response. It emits the begin of a stream that
// a GET request has opened.
func (x *Exchange) observeHeader(p *part, header http.Header, stream bool) {
	if !x.endpoint {
		return
	}
	r := x.recorder
	if id := header.Get(headerSession); id != "" {
		if x.conn.gap && x.conn.number == 0 {
			x.conn.number = r.open() // the request that is not shown may begin a session
		}
		if x.conn.number != 0 {
			r.session(id, x.conn)
		}
	}
	if x.legacy != nil {
		return
	}
	x.problems = x.check.CheckHeader(p.http.Status, header)
	switch {
	case x.request.Method == http.MethodGet && stream, p.hidden:
		x.emit(p)
	case x.request.Method == http.MethodDelete && p.http.Status < 300:
		r.forget(x.request.Header.Get(headerSession))
	}
}

// observeBody emits the response that is not a stream.
func (x *Exchange) observeBody(p *part, media string) {
	switch {
	case p.kind == HTTP:
		if x.endpoint && x.legacy == nil {
			x.problems = append(x.problems, x.check.CheckBody(p.http.Status, nil)...)
		}
		x.emit(p)
	case media != mediaJSON:
		p.kind = Text
		if x.legacy == nil {
			x.problems = append(x.problems, x.check.CheckBody(p.http.Status, nil)...)
		}
		x.emit(p)
	default:
		x.conn.observe(p, func(_ mcptest.Sender, raw []byte) ([]*mcptest.Violation, wire.Revision) {
			return append(x.problems, x.check.CheckBody(p.http.Status, raw)...), x.check.Revision()
		})
	}
}

// observeEvent emits an event of a stream.
func (x *Exchange) observeEvent(p *part, name string) {
	switch name {
	case "", "message":
		x.conn.observe(p, x.checkMessage)
	case "endpoint":
		x.observeEndpoint(p)
	default:
		p.text, p.kind = "event: "+name, HTTP
		x.conn.observe(p, nil)
	}
}

// observeEndpoint begins a connection of the transport HTTP+SSE. Its messages are posted
// to the URL in the event.
func (x *Exchange) observeEndpoint(p *part) {
	r := x.recorder
	x.conn = r.newConnection(r.open())
	x.legacy = &legacySession{x.conn, mcptest.NewValidator(wire.Revision{})}
	if u, err := url.Parse(string(p.raw)); err == nil {
		u = x.request.URL.ResolveReference(u)
		r.legacy[u.RequestURI()] = x.legacy
		r.remember(legacyPrefix + u.RequestURI())
		p.text = "endpoint: " + r.opts.Mask.String(u.Path)
	}
	p.kind, p.raw = HTTP, nil
	x.problems = nil // the transport has no rules for the header
	x.conn.observe(p, nil)
}

// observeProblems emits the violations of the header of a stream without messages.
func (x *Exchange) observeProblems() {
	if len(x.problems) > 0 {
		p := x.part(nil, 0)
		p.kind = HTTP
		x.emit(p)
	}
}

// emit emits a part of the response that is not a message.
func (x *Exchange) emit(p *part) {
	x.conn.gap = x.conn.gap || p.hidden
	e := x.recorder.event(p)
	e.Connection = x.conn.number
	e.Violations = x.conn.violations(x.problems)
	x.problems = nil
	e.RespondsTo = x.number
	x.recorder.emit(e)
}
