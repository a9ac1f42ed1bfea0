package streamable

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Kind is the result of [TransportContext.Kind].
const Kind = mcphttp.Kind

// TransportContext describes how the server received a message. Handlers get it with a
// type assertion:
//
//	if t, ok := session.Transport().(*streamable.TransportContext); ok {
//		log.Printf("from %s", t.Request().RemoteAddr)
//	}
type TransportContext struct {
	request    *http.Request
	response   *sessionRequest // nil if the message has no response, and outside sessions
	principal  string
	canRequest bool // handlers can send requests to the client
}

// Kind implements [peer.TransportContext]. It returns [Kind].
func (t *TransportContext) Kind() string { return Kind }

// CanSendRequest implements [peer.TransportContext].
func (t *TransportContext) CanSendRequest() bool { return t.canRequest }

// Header implements [peer.TransportContext].
func (t *TransportContext) Header() peer.Header { return peer.Header(t.request.Header) }

// Principal implements [peer.TransportContext].
func (t *TransportContext) Principal() string { return t.principal }

// Request returns the HTTP request that contained the message. Its body has been read.
func (t *TransportContext) Request() *http.Request { return t.request }

// EndStream ends the stream of the response while the request is being handled, and
// asks the client to resume it after the retry time. Later messages and the response
// are stored until then. During a long operation, this saves both ends an open
// connection.
//
// It returns false and has no effect if the client cannot resume the stream: outside a
// session, before revision 2025-11-25, without [Options].Polling, or with
// [Options].DisableResumption or [Options].JSONResponse.
func (t *TransportContext) EndStream(retry time.Duration) bool {
	return t.response != nil && t.response.endStream(retry)
}

// response is the HTTP response to one POST request. It becomes JSON if the first
// message is the response to the request, and a stream of events if other messages come
// first. It is safe for concurrent use.
type response struct {
	w          http.ResponseWriter
	handler    *Handler
	transport  TransportContext // of the request
	session    *session         // nil outside sessions
	requestCtx *requestContext  // nil for requests of a session that lasts longer than the request

	mu           writeLock // held during writes
	out          *sse.Writer
	stream       *stream // nil before the response is a stream, and if its events are not stored
	phase        phase
	sessionFails bool // the handshake has failed, so the session does not begin
	flushNow     bool // ServeHTTP does not return soon after the response

	// The following fields are set before the request is handled.
	accepts        acceptedTypes
	opensSession   bool // the session begins with this response
	isSubscription bool // the request is a subscription
	isPing         bool // the request is a ping, which is accepted in addition to other requests
	stored         bool // the events of a stream are stored
}

// requestContext is the context of a request without a session, or with a session that
// ends with the request. It schedules keep-alives of the response.
type requestContext struct {
	lazy.Context
	keepAlive keepAlive
	id        wire.RequestID // zero if the message has no response
}

// phase is the state of a response.
type phase uint8

const (
	undecided phase = iota
	streaming
	detached // the stream continues without this response
	finished
)

// sendKeepAlive sends a comment; the response to a slow request becomes a stream. It
// does nothing during another write: then the response is not idle, and it must not
// wait for a client that does not read.
func (p *response) sendKeepAlive() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.phase > streaming || !p.openStream() || p.phase != streaming {
		return
	}
	if err := p.out.WriteComment(); err != nil {
		p.clientGone(err)
	}
}

// send sends a message before the response to the request. It returns an error if the
// message was neither sent nor stored.
func (p *response) send(ctx context.Context, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == finished || p.opensSession && p.handler.opts.Sharing != nil || p.phase < detached && !p.openStream() {
		return jsonrpc.ErrNotWritten // a session that is not saved is not announced
	}
	return p.sendEvent(ctx, data, false)
}

// sendEvent sends a message on the open stream. The message isLast if it is the response to the
// request. The caller holds the lock.
func (p *response) sendEvent(ctx context.Context, data []byte, isLast bool) error {
	id, stored := p.stream.store(ctx, data, false)
	if !stored && !isLast && p.stream != nil && p.handler.opts.Sharing != nil {
		return jsonrpc.ErrNotWritten // a client that resumes the stream at another replica would miss the message
	}
	if p.phase == streaming {
		if err := p.out.WriteMessage([]byte(id), data); err != nil {
			p.clientGone(err)
		} else {
			stored = true
		}
	}
	if !stored {
		return jsonrpc.ErrNotWritten
	}
	return nil
}

// openStream makes the response a stream. The caller holds the lock.
func (p *response) openStream() bool {
	if p.phase == streaming {
		return true
	}
	if !p.accepts.events {
		return false
	}
	if p.opensSession {
		p.announceSession()
	}
	p.out, p.phase = newEventWriter(p.w, &p.handler.opts), streaming
	p.w.WriteHeader(http.StatusOK)
	if p.stored && p.stream == nil {
		p.stream = &stream{session: p.session, response: p, shared: p.transport.response.shared}
	}
	if id, hasStartEvent := p.stream.open(p.out); hasStartEvent {
		if err := p.out.WriteStart(id, p.handler.opts.RetryInterval); err != nil {
			p.clientGone(err)
		}
	}
	return true
}

// newEventWriter sets the headers of a response that is a stream of events.
func newEventWriter(w http.ResponseWriter, o *Options) *sse.Writer {
	return sse.NewWriter(w, o.WriteTimeout, o.unflushed)
}

// announceSession sends the id of the session that begins with the response. From now
// on requests can use the session. The caller holds the lock.
func (p *response) announceSession() {
	if !p.sessionFails {
		p.handler.sessions.publish(p.session)
		p.w.Header()[mcphttp.HeaderSession] = []string{p.session.id}
	}
}

// respond sends the response to the request. The status is for a JSON document.
func (p *response) respond(ctx context.Context, status int, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.phase {
	case undecided:
		if p.accepts.json || status != http.StatusOK {
			if p.opensSession {
				p.announceSession()
			}
			if p.flushNow || len(data) > maxBuffered {
				p.writeFlushed(status, data)
			} else {
				writeJSON(p.w, status, p.handler.date.value(), data)
			}
		} else if p.openStream() {
			p.sendEvent(ctx, data, true)
		}
	case streaming, detached:
		p.sendEvent(ctx, data, true)
	}
	p.finish()
}

// refuseClosing responds that the server is shutting down, unless there is a response. The handler
// has not returned, and its own response is dropped later.
func (p *response) refuseClosing() {
	p.setFlushNow()
	status, data := appendError(nil, p.requestCtx.id, errClosing)
	p.respond(context.Background(), status, data)
}

// endWithoutResponse ends the HTTP response without a response to the request. It ends
// as a stream if the client accepts streams, and cannot be resumed.
func (p *response) endWithoutResponse() {
	p.mu.Lock()
	if p.phase == undecided {
		p.stored, p.stream = false, nil
		p.openStream()
	}
	p.stream.abandon()
	p.mu.Unlock()
	p.accept()
}

// accept ends the HTTP response to a message that has no response.
func (p *response) accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == undecided {
		p.w.WriteHeader(http.StatusAccepted)
	}
	p.finish()
}

// finish prevents later writes. The caller holds the lock.
func (p *response) finish() {
	if p.phase == finished {
		return
	}
	p.phase = finished
	if p.stream != nil {
		p.stream.end()
	}
}

// tryDetach releases the HTTP response, which must not be used afterwards. A stored
// stream continues without it. It returns false if the client accepts no stream.
func (p *response) tryDetach() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == undecided && !p.openStream() { // the client may have closed only its sending half of the connection
		return false
	}
	p.detach()
	return true
}

// detach releases the HTTP response. The caller holds the lock.
func (p *response) detach() {
	if p.phase == finished {
		return
	}
	p.phase, p.out = detached, nil
}

// clientGone handles a failed write. The caller holds the lock.
func (p *response) clientGone(err error) {
	p.detach()
	if p.requestCtx != nil && !p.requestCtx.Detached {
		p.requestCtx.Cancel(err)
	}
}

// endStream implements [TransportContext.EndStream].
func (p *response) endStream(retry time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase > streaming || !p.stream.canDetach() || !p.openStream() {
		return false
	}
	if p.phase == streaming {
		if err := p.out.WriteRetry(retry); err != nil {
			p.clientGone(err)
		}
	}
	p.detach()
	close(p.stream.detached)
	return true
}

// writeFlushed writes JSON that net/http does not buffer until ServeHTTP returns,
// because it is long or because ServeHTTP does not return.
func (p *response) writeFlushed(status int, data []byte) {
	if len(data) > maxBuffered && p.handler.opts.WriteTimeout > 0 { // this write waits for a client that does not read
		http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(p.handler.opts.WriteTimeout))
	}
	if p.flushNow {
		defer prepareFlush(p.w, len(data))()
	}
	writeJSON(p.w, status, p.handler.date.value(), data)
}

// setFlushNow records that ServeHTTP does not return soon after the response.
func (p *response) setFlushNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushNow = true
}

// writeLock is a lock that is held during writes to a client. Waiting for it may take
// as long as the client takes to read. Unlike with a [sync.Mutex], goroutines that wait
// for it are durably blocked for package testing/synctest, so that the time of a test
// continues.
type writeLock struct {
	locked  atomic.Bool
	waiting atomic.Int32
	queue   atomic.Pointer[waitQueue] // created by the first waiter
}

// waitQueue contains the waiters.
type waitQueue struct {
	mu       sync.Mutex // held while a waiter is added or removed
	unlocked *sync.Cond
}

// Lock implements [sync.Locker].
func (t *writeLock) Lock() {
	if !t.TryLock() {
		t.lockSlow()
	}
}

// TryLock locks without waiting. It reports whether it has locked.
func (t *writeLock) TryLock() bool { return t.locked.CompareAndSwap(false, true) }

// lockSlow waits for the lock. It increments waiting before it tries to lock, so that
// Unlock does not miss it.
func (t *writeLock) lockSlow() {
	l := t.queue.Load()
	if l == nil {
		l = new(waitQueue)
		l.unlocked = sync.NewCond(&l.mu)
		if !t.queue.CompareAndSwap(nil, l) {
			l = t.queue.Load()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.waiting.Add(1)
	for !t.TryLock() {
		l.unlocked.Wait()
	}
	t.waiting.Add(-1)
}

// Unlock implements [sync.Locker].
func (t *writeLock) Unlock() {
	t.locked.Store(false)
	if t.waiting.Load() > 0 {
		t.signal()
	}
}

// signal wakes one waiter.
func (t *writeLock) signal() {
	l := t.queue.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlocked.Signal()
}
