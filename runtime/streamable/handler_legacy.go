package streamable

import (
	"context"
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// LegacySSEHandler serves the transport of revision 2024-11-05, in which a
// client opens a stream with GET, learns from its first event where to POST its
// messages, and has all answers on the stream. The session is the stream: it
// ends when the client closes it. New servers have no use for it but old clients.
type LegacySSEHandler struct {
	kernel   *connection.Dispatcher
	opts     Options
	door     door
	uploads  uploads
	sessions sessionTable // only its counters
	work     work

	mu   sync.Mutex
	open map[string]*legacySession
}

// NewLegacySSEHandler returns the handler of an endpoint, which is both where
// streams are opened and where messages are posted. Of the options it heeds those
// about requests, limits, timeouts and what a session is made of.
func NewLegacySSEHandler(kernel *connection.Dispatcher, opts *Options) *LegacySSEHandler {
	h := &LegacySSEHandler{kernel: kernel, opts: opts.complete(), open: make(map[string]*legacySession)}
	h.door.hosts, h.door.origins = h.opts.Hosts, h.opts.Origins
	h.uploads.init(&h.opts)
	h.sessions.init(&h.opts)
	h.work.init(&h.opts)
	return h
}

// legacySession is one stream and what is posted to it. It is the
// [jsonrpc.Writer] of everything.
type legacySession struct {
	handler   *LegacySSEHandler
	id        string
	principal string
	dispatch  *jsonrpc.Conn
	conn      *connection.Connection
	cancel    context.CancelCauseFunc // of the stream
	pulse     pulse

	mu  turn         // held while something is written
	out *eventWriter // nil when the stream has ended
}

// ServeHTTP implements [http.Handler].
func (h *LegacySSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	no := h.door.check(r)
	switch {
	case no != nil:
	case r.Method == http.MethodGet:
		no = h.stream(w, r)
	case r.Method == http.MethodPost:
		no = h.post(w, r)
	default:
		notAllowed(w, "GET, POST")
	}
	if no != nil {
		no.write(w, false)
	}
}

// stream serves a session from its begin to its end.
func (h *LegacySSEHandler) stream(w http.ResponseWriter, r *http.Request) *refusal {
	if !acceptedBy(r.Header).events {
		return refuse(http.StatusNotAcceptable, "Invalid request: the client has to accept text/event-stream")
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	s := &legacySession{handler: h, id: rand.Text(), principal: h.opts.Principal(r), cancel: cancel}
	s.pulse.of = s
	if !h.work.join(&s.pulse) {
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	defer h.work.part(&s.pulse)
	if !h.sessions.reserve(s.principal) {
		return &refusal{status: http.StatusServiceUnavailable, err: errTooManySessions}
	}
	defer h.sessions.release(s.principal)
	s.begin()
	s.open(w)
	h.add(s)
	if h.work.isClosing() {
		cancel(ErrClosing) // nobody else does
	}
	s.write(func(out *eventWriter) error { return out.named("endpoint", endpointOf(r)+"?sessionId="+s.id) })
	<-ctx.Done()
	s.stop()
	h.remove(s)
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer stop()
	s.dispatch.Shutdown(last, context.Cause(ctx))
	s.conn.Close(last)
	return nil
}

// endpointOf is the path that the client asked for, whatever of it a router has
// taken away.
func endpointOf(r *http.Request) string {
	if u, err := r.URL.Parse(r.RequestURI); err == nil && r.RequestURI != "" {
		return u.EscapedPath()
	}
	return r.URL.EscapedPath()
}

// begin makes the session one that awaits its handshake.
func (s *legacySession) begin() {
	d := s.handler.opts.JSONRPC
	d.Handler, d.Client, d.MaxMessage = s, false, s.handler.opts.MaxBody
	d.Frame = func(method string) *wire.Frame { return s.conn.Frame(method) }
	d.Batches = func() bool { return s.conn.Batches() }
	d.InterceptNotification, d.Unordered = s.intercept, true
	s.dispatch = jsonrpc.New(s, &d)
	c := s.handler.opts.Connection
	c.SessionID, c.VersionHint, c.Client, c.InFlight = s.id, mcp.Revision20241105.String(), false, s.dispatch.InFlight()
	s.conn = connection.New(s.dispatch, &c)
}

func (h *LegacySSEHandler) add(s *legacySession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[s.id] = s
}

func (h *LegacySSEHandler) remove(s *legacySession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, s.id)
}

// intercept sees notifications before anything that comes after them.
func (s *legacySession) intercept(in *peer.Inbound) (consumed bool) {
	if in.Method == mcp.MethodInitialized {
		s.handler.kernel.Confirm(context.Background(), s.conn, in.Params)
	}
	return false
}

// beat keeps the stream alive. While something else is written it is not silent.
func (s *legacySession) beat() {
	if s.mu.TryLock() {
		defer s.mu.Unlock()
		s.put((*eventWriter).comment)
	}
}

// open lets out what is written from now on: the pulse beats already.
func (s *legacySession) open(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = openEvents(w, &s.handler.opts)
}

// stop lets nothing more out.
func (s *legacySession) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = nil
}

// write writes to the stream. A client that does not read ends it.
func (s *legacySession) write(f func(*eventWriter) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(f)
}

// put is write. The lock is held.
func (s *legacySession) put(f func(*eventWriter) error) error {
	if s.out == nil {
		return jsonrpc.ErrNotWritten
	}
	if err := f(s.out); err != nil {
		s.out = nil
		s.cancel(err)
		return err
	}
	return nil
}

// WriteMessage implements [jsonrpc.Writer].
func (s *legacySession) WriteMessage(_ context.Context, data []byte) error {
	return s.write(func(out *eventWriter) error { return out.message("", data) })
}

// Handle implements [peer.Handler].
func (s *legacySession) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	return s.handler.kernel.Serve(ctx, s.conn, in)
}

// post takes a message of the client's.
func (h *LegacySSEHandler) post(w http.ResponseWriter, r *http.Request) *refusal {
	id := r.URL.Query().Get("sessionId")
	if id == "" {
		return refuse(http.StatusNotFound, "Invalid request: this endpoint is for clients of the transport of 2024-11-05, which get a stream first and then post to where that says")
	}
	h.mu.Lock()
	s := h.open[id]
	h.mu.Unlock()
	if s == nil || s.principal != h.opts.Principal(r) {
		return refuse(http.StatusNotFound, "Invalid request: there is no such session")
	}
	buf, no := h.uploads.read(r)
	if no != nil {
		return no
	}
	if h.work.isClosing() && asks(buf.Bytes) {
		buf.Free()
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	w.WriteHeader(http.StatusAccepted) // whatever a handler says by then is for the stream
	s.dispatch.Deliver(r.Context(), buf.Bytes, jsonrpc.Source{
		Detached:  true,
		Transport: &TransportContext{request: r, principal: s.principal, asks: true},
		Release:   buf.Release(),
	})
	return nil
}

// asks tells whether a message is a request. In a batch, that is found out later.
func asks(body []byte) bool {
	m, err := wire.ReadMessage(body, nil)
	return err == nil && m.Method != "" && !m.ID.IsZero()
}

// Shutdown lets no more sessions begin, refuses new requests, and ends the sessions
// that there are once theirs have been answered. When ctx ends, what is still being
// handled is cancelled, and left behind if it does not heed that within five
// seconds. The error is that of ctx where that was so.
func (h *LegacySSEHandler) Shutdown(ctx context.Context) error {
	h.work.close()
	var all sync.WaitGroup
	var late atomic.Bool
	for _, s := range h.streams() {
		all.Go(func() { // ends with ctx
			s.dispatch.RefuseRequests(errClosing)
			if s.dispatch.Drain(ctx) != nil && ctx.Err() != nil {
				late.Store(true)
			}
			s.cancel(ErrClosing)
		})
	}
	all.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	h.work.wait(last)
	if late.Load() {
		return ctx.Err()
	}
	return nil
}

func (h *LegacySSEHandler) streams() []*legacySession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.open))
}

// Close is a Shutdown that waits for nobody.
func (h *LegacySSEHandler) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.Shutdown(ctx)
	return nil
}
