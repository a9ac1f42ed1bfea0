package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/brokenpipe"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
	"github.com/mcpwright/mcp/runtime/wire"
)

// LegacySSEHandler serves HTTP+SSE, the transport of revision 2024-11-05. A client
// opens a stream with GET. The first event of the stream contains the URL for POST
// requests, and all messages from the server are on the stream. The session ends when
// the client closes the stream. Only clients of that transport need this handler.
type LegacySSEHandler struct {
	choose    chooser
	opts      Options
	admission admission
	bodies    bodyReader
	sessions  sessionTable // only counts sessions
	inFlight  inFlight

	mu           sync.Mutex
	sessionsByID map[string]*legacySession
}

// NewLegacySSEHandler returns the handler of an endpoint, which accepts both GET and
// POST. It uses the options for requests, limits, timeouts and connections; nil options are the
// defaults. If the server is shut down, it also shuts the handler down.
func NewLegacySSEHandler(server Server, opts *Options) *LegacySSEHandler {
	d := server.Dispatcher()
	h := newLegacySSEHandler(func(*http.Request) *connection.Dispatcher { return d }, withLogger(opts, d))
	if d.Attach(h) != nil {
		h.Close()
	}
	return h
}

// NewChoosingLegacySSEHandler is like [NewLegacySSEHandler] for several servers. The function choose is
// called for the request that begins a session, see [NewChoosingHandler].
func NewChoosingLegacySSEHandler[S interface {
	comparable
	Server
}](choose func(*http.Request) S, opts *Options) *LegacySSEHandler {
	return newLegacySSEHandler(chooserOf(choose), opts)
}

func newLegacySSEHandler(choose chooser, opts *Options) *LegacySSEHandler {
	h := &LegacySSEHandler{choose: choose, opts: opts.complete(), sessionsByID: make(map[string]*legacySession)}
	h.admission.hosts, h.admission.origins = h.opts.Hosts, h.opts.Origins
	h.bodies.init(&h.opts)
	h.sessions.init(&h.opts)
	h.inFlight.init(&h.opts)
	return h
}

// legacySession is one stream and the messages that are posted to it. It is the
// [jsonrpc.Writer] of all messages from the server.
type legacySession struct {
	handler    *LegacySSEHandler
	dispatcher *connection.Dispatcher
	id         string
	principal  string
	rpc        *jsonrpc.Conn
	conn       *connection.Connection
	cancel     context.CancelCauseFunc // ends the stream
	keepAlive  keepAlive

	mu  writeLock   // held during writes
	out *sse.Writer // nil when the stream has ended
}

// ServeHTTP implements [http.Handler].
func (h *LegacySSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refused := h.admission.check(r)
	switch {
	case refused != nil:
	case r.Method == http.MethodGet:
		refused = h.stream(w, r)
	case r.Method == http.MethodPost:
		refused = h.post(w, r)
	default:
		notAllowed(w, "GET, POST")
	}
	if refused != nil {
		refused.write(w, false)
	}
}

// stream serves a session from its beginning to its end.
func (h *LegacySSEHandler) stream(w http.ResponseWriter, r *http.Request) *refusal {
	if !parseAccept(r.Header).events {
		return refuse(http.StatusNotAcceptable, "Invalid request: Accept must include text/event-stream")
	}
	chosen := h.choose(r)
	if chosen == nil {
		return refuse(http.StatusNotFound, noBackend)
	}
	id := rand.Text()
	if h.opts.NewSessionID != nil {
		id = h.opts.NewSessionID(r)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	defer context.AfterFunc(r.Context(), func() { cancel(errStreamClosed) })()
	s := &legacySession{handler: h, dispatcher: chosen, id: id, principal: h.opts.Principal(r), cancel: cancel}
	s.keepAlive.target = s
	if !h.inFlight.addStream(&s.keepAlive) {
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	defer h.inFlight.removeStream(&s.keepAlive)
	if !h.sessions.reserve(s.principal) {
		return &refusal{status: http.StatusServiceUnavailable, err: errTooManySessions}
	}
	defer h.sessions.release(s.principal)
	s.connect()
	defer s.end(ctx)
	if !isSessionID(id) || !h.add(s) {
		return noSessionID(r, &h.opts, id)
	}
	s.setWriter(w)
	if h.inFlight.isClosing() {
		cancel(connection.ErrClosing) // the session was added after Shutdown has ended the others
	}
	s.write(func(out *sse.Writer) error {
		return out.WriteEvent("endpoint", endpointPath(r)+"?sessionId="+url.QueryEscape(s.id))
	})
	<-ctx.Done()
	s.clearWriter()
	h.remove(s)
	return nil
}

// end closes the connection of a session whose context is ctx.
func (s *legacySession) end(ctx context.Context) {
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer stop()
	s.rpc.Shutdown(last, context.Cause(ctx))
	s.conn.Close(last)
}

// endpointPath returns the path in the request of the client. Routers may have removed
// a part of it from the URL.
func endpointPath(r *http.Request) string {
	if u, err := r.URL.Parse(r.RequestURI); err == nil && r.RequestURI != "" {
		return u.EscapedPath()
	}
	return r.URL.EscapedPath()
}

// connect creates the connection of a session, which waits for its handshake.
func (s *legacySession) connect() {
	d := s.handler.opts.JSONRPC
	d.Handler, d.Client, d.MaxMessage = s, false, s.handler.opts.MaxBody
	d.Frame = func(method string) *wire.Frame { return s.conn.Frame(method) }
	d.Batches = func() bool { return s.conn.Batches() }
	d.InterceptNotification, d.Unordered = s.intercept, true
	s.rpc = jsonrpc.New(s, &d)
	c := connectionOptions(&s.handler.opts, s.dispatcher)
	c.SessionID, c.DefaultRevision, c.Client, c.InFlight = s.id, mcp.Revision20241105, false, s.rpc.InFlight()
	s.conn = connection.New(s.rpc, &c)
}

// add adds a session. It returns false if another session has its id.
func (h *LegacySSEHandler) add(s *legacySession) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessionsByID[s.id] != nil {
		return false
	}
	h.sessionsByID[s.id] = s
	return true
}

func (h *LegacySSEHandler) remove(s *legacySession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessionsByID, s.id)
}

// intercept handles notifications before later messages.
func (s *legacySession) intercept(in *peer.Inbound) (consumed bool) {
	if in.Method == mcp.MethodInitialized {
		s.dispatcher.Confirm(context.Background(), s.conn, in.Params)
	}
	return false
}

// sendKeepAlive implements [keepAliveTarget]. It does nothing during another write,
// because the stream is not idle then.
func (s *legacySession) sendKeepAlive() {
	if s.mu.TryLock() {
		defer s.mu.Unlock()
		s.writeLocked((*sse.Writer).WriteComment)
	}
}

// setWriter begins the stream. Before that, keep-alives and messages are dropped.
func (s *legacySession) setWriter(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = newEventWriter(w, &s.handler.opts)
}

// clearWriter prevents later writes.
func (s *legacySession) clearWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = nil
}

// write writes to the stream. A failed write ends the stream.
func (s *legacySession) write(f func(*sse.Writer) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeLocked(f)
}

// writeLocked is like write, but the caller holds the lock.
func (s *legacySession) writeLocked(f func(*sse.Writer) error) error {
	if s.out == nil {
		return jsonrpc.ErrNotWritten
	}
	if err := f(s.out); err != nil {
		s.out = nil
		s.cancel(streamEnd(err))
		return err
	}
	return nil
}

// streamEnd returns the reason for the end of a stream after a failed write. A write can
// fail before the request's context reports that the client is gone.
func streamEnd(err error) error {
	if errors.Is(err, net.ErrClosed) || brokenpipe.Is(err) {
		return errStreamClosed
	}
	return err
}

// WriteMessage implements [jsonrpc.Writer].
func (s *legacySession) WriteMessage(_ context.Context, data []byte) error {
	return s.write(func(out *sse.Writer) error { return out.WriteMessage(nil, data) })
}

// Handle implements [peer.Handler].
func (s *legacySession) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	return s.dispatcher.Serve(ctx, s.conn, in)
}

// post handles a message from the client.
func (h *LegacySSEHandler) post(w http.ResponseWriter, r *http.Request) *refusal {
	id := r.URL.Query().Get("sessionId")
	if id == "" {
		return refuse(http.StatusNotFound, "Invalid request: parameter sessionId is missing; this endpoint uses the transport of 2024-11-05, which begins with GET")
	}
	h.mu.Lock()
	s := h.sessionsByID[id]
	h.mu.Unlock()
	if s == nil || s.principal != h.opts.Principal(r) {
		return refuse(http.StatusNotFound, "Invalid request: session not found")
	}
	buf, refused := h.bodies.read(r)
	if refused != nil {
		return refused
	}
	if h.inFlight.isClosing() && isRequest(buf.Bytes) {
		buf.Free()
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	w.WriteHeader(http.StatusAccepted) // before the message is delivered, because the response to it is sent on the stream
	s.rpc.Deliver(r.Context(), buf.Bytes, jsonrpc.Source{
		Detached:  true,
		Transport: &TransportContext{request: r, principal: s.principal, canRequest: true},
		Release:   buf.Release(),
	})
	return nil
}

// Shutdown refuses new sessions and requests. Each session ends when its requests in
// flight have finished. When ctx ends, the contexts of the remaining requests are
// cancelled, and Shutdown waits at most five more seconds for their handlers. It
// returns the error of ctx if requests had to be cancelled, otherwise nil.
func (h *LegacySSEHandler) Shutdown(ctx context.Context) error {
	h.inFlight.close()
	var all sync.WaitGroup
	var late atomic.Bool
	for _, s := range h.streams() {
		all.Go(func() { // ends with ctx
			s.rpc.RefuseRequests(errClosing)
			if s.rpc.Drain(ctx) != nil && ctx.Err() != nil {
				late.Store(true)
			}
			s.cancel(connection.ErrClosing)
		})
	}
	all.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	h.inFlight.wait(last)
	if late.Load() {
		return ctx.Err()
	}
	return nil
}

func (h *LegacySSEHandler) streams() []*legacySession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.sessionsByID))
}

// Close ends the handler like Shutdown, without waiting for requests in flight.
func (h *LegacySSEHandler) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.Shutdown(ctx)
	return nil
}
