package streamable

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// session is a session that began with a handshake. An idle session needs only memory:
// no goroutine, and no JSON-RPC connection.
type session struct {
	handler   *Handler
	backend   *backend
	id        string // "" for a session that ends with its only request
	principal string
	caller    *caller // counts the requests of the principal; nil if it has no name
	conn      *connection.Connection

	users         atomic.Int32 // HTTP requests, and handlers that continue without one
	eventsDeleted atomic.Bool  // no more events are stored
	lastUse       atomic.Int64 // time of the last use by the clock of the table, or usedRecently

	mu               sync.Mutex   // locked before the locks of the JSON-RPC connection
	rpcUses          atomic.Int32 // uses of rpc; they begin with the lock held
	unused           bool         // rpc was not used since the last check
	ended            bool
	published        bool          // requests can find the session; guarded by the lock of the table
	rpc              *jsonrpc.Conn // nil while the session is idle
	lastCallID       int64         // of the previous JSON-RPC connection
	lastStream       uint64        // number of the last stream of a request
	streams          map[uint64]*stream
	abandoned        []uint64 // numbers of the last streams that ended without a response
	standaloneStream *stream  // nil before the first message that belongs to no request
	shared           shared   // used if isShared
}

// newSession returns a session before its handshake. It assumes the revision until the
// handshake; zero is the newest.
func (h *Handler) newSession(b *backend, id, principal string, revision wire.Revision) *session {
	return h.newSessionAt(b, id, principal, revision, 0)
}

// newSessionAt is like newSession for a session that has moved epoch times.
func (h *Handler) newSessionAt(b *backend, id, principal string, revision wire.Revision, epoch uint32) *session {
	s := &session{handler: h, backend: b, id: id, principal: principal}
	c := b.connection
	c.SessionID, c.Epoch, c.DefaultRevision, c.Client, c.InFlight = id, epoch, revision, false, (*sessionInFlight)(s)
	s.conn = connection.New(s.outbound(), &c)
	return s
}

// isShared reports whether other replicas may continue the session.
func (s *session) isShared() bool { return s.handler.opts.Sharing != nil && s.id != "" }

// outbound returns the channel of messages that belong to no request. It is nil for a
// session without an id, because its client cannot open a standalone stream.
func (s *session) outbound() peer.Outbound {
	if s.id == "" {
		return nil
	}
	return (*sessionOutbound)(s)
}

// deliver passes a message that has no response to the JSON-RPC connection. It drops
// the message if the session has ended.
func (s *session) deliver(ctx context.Context, m *wire.Message, o jsonrpc.Source) {
	d := s.acquireRPC()
	defer s.releaseRPC()
	if d != nil {
		o.Message, o.Token = m, progressToken(m)
		d.Deliver(ctx, nil, o)
	} else if o.Release != nil {
		o.Release()
	}
}

// WriteMessage implements [jsonrpc.Writer] for messages that belong to no request. They
// are stored until the client receives them on its standalone stream.
func (s *session) WriteMessage(ctx context.Context, data []byte) error {
	if _, stored := s.standalone().store(ctx, data, false); !stored {
		return jsonrpc.ErrNotWritten
	}
	return nil
}

// resumable reports whether streams of the session can be resumed.
func (s *session) resumable() bool { return s.id != "" && !s.handler.opts.DisableResumption }

// writesStartEvents reports whether streams begin with an event without data. Only
// clients of newer revisions support such events.
func (s *session) writesStartEvents() bool {
	return s.resumable() && s.conn.State().Revision().Index() >= mcp.Revision20251125.Index()
}

// standalone returns the standalone stream. It is created on first use, because many
// sessions never use it.
func (s *session) standalone() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standaloneStream == nil {
		s.standaloneStream = &stream{session: s, opened: true}
	}
	return s.standaloneStream
}

// addStream assigns a number to a stream and adds it.
func (s *session) addStream(st *stream) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == nil {
		s.streams = make(map[uint64]*stream)
	}
	s.lastStream++
	s.streams[s.lastStream] = st
	return s.lastStream
}

// removeStream removes a stream that has ended.
func (s *session) removeStream(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.streams, number); len(s.streams) == 0 {
		s.streams = nil
	}
}

// maxAbandoned limits the number of streams without a response that are remembered.
// Their clients usually resume them soon.
const maxAbandoned = 16

// abandonStream records that a stream ended without a response.
func (s *session) abandonStream(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.abandoned) == maxAbandoned {
		s.abandoned = slices.Delete(s.abandoned, 0, 1)
	}
	s.abandoned = append(s.abandoned, number)
}

// isAbandoned reports whether a stream ended without a response.
func (s *session) isAbandoned(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.abandoned, number)
}

// findStream returns a stream that has not ended, or nil.
func (s *session) findStream(number uint64) *stream {
	if number == 0 {
		return s.standalone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[number]
}

// end ends the session. The caller has removed it from the table.
func (s *session) end(ctx context.Context, cause error) {
	if d := s.markEnded(); d != nil {
		d.Shutdown(ctx, cause)
	}
	s.conn.Close(ctx)
	s.handler.inFlight.removeSession(s.principal, s.caller)
	s.standalone().end()
	s.deleteEvents(ctx)
	if s.isShared() {
		s.shared.saving.Lock() // the state is not saved afterwards
		defer s.shared.saving.Unlock()
	}
	if s.isShared() && (cause == errSessionEnded || cause == errSessionIdle || cause == errSessionFailed) {
		defer failure.LogPanic(ctx, s.handler.opts.Logger, "sharing")
		s.handler.opts.Sharing.Ended(ctx, s.id)
	}
}

// deleteEvents deletes the events of the session. A concurrent [stream.store] deletes
// its event again.
func (s *session) deleteEvents(ctx context.Context) {
	s.eventsDeleted.Store(true)
	defer failure.LogPanic(ctx, s.handler.opts.Logger, "event store")
	if err := s.handler.opts.Events.Forget(ctx, s.id); err != nil {
		s.handler.opts.Logger.WarnContext(ctx, "could not delete the events of a session", "error", err)
	}
}

// beginUse begins a use of the session.
func (s *session) beginUse() {
	s.lastUse.Store(usedRecently)
	s.users.Add(1)
}

// usedRecently replaces the time of the last use if the session was used after the last
// check for idle sessions. Reading the clock would take longer than the rest of endUse.
const usedRecently = -1

// endUse ends a use of the session.
func (s *session) endUse() {
	s.lastUse.Store(usedRecently)
	if s.users.Add(-1) == 0 && s.isShared() {
		s.shared.signalUnused()
	}
}

// isIdle reports whether the session has not been used after a time. Both times come from
// the clock of the table. A handler that waits for the response of a client that is gone is
// no use: it would wait for its timeout, and the session for the handler.
func (s *session) isIdle(now, since time.Duration) bool {
	if users := s.users.Load(); users > 0 && users > s.abandonedQuestions() {
		return false
	}
	last := s.lastUse.Load() // loaded after users, because endUse stores it before it decrements users
	if last == usedRecently {
		s.lastUse.CompareAndSwap(usedRecently, int64(now))
		return false
	}
	return time.Duration(last) <= since
}

// abandonedQuestions returns the number of requests whose HTTP connection is gone, and whose
// handlers wait for the client.
func (s *session) abandonedQuestions() (n int32) {
	s.mu.Lock()
	d := s.rpc
	s.mu.Unlock()
	if d == nil {
		return 0
	}
	for _, w := range d.Asking() {
		if out, ok := w.(sessionResponse); ok && out.isDisconnected() {
			n++
		}
	}
	return n
}

// acquireRPC begins a use of the JSON-RPC connection and creates it if needed. The
// connection is not replaced before releaseRPC. The result is nil if the session has
// ended.
//
// A connection that is not used is closed, because it needs more than half of the
// memory of the session. Following a stream is not a use of the connection.
func (s *session) acquireRPC() *jsonrpc.Conn {
	s.mu.Lock()
	s.rpcUses.Add(1)
	s.unused = false
	d := s.rpc
	s.mu.Unlock()
	if d == nil {
		d = s.createRPC()
	}
	return d
}

// releaseRPC ends a use of the JSON-RPC connection.
func (s *session) releaseRPC() { s.rpcUses.Add(-1) }

// closeIdleRPC closes the JSON-RPC connection if it was not used since the last call.
// It reports whether there is no connection. If requests are in flight, it sends their
// keep-alives.
func (s *session) closeIdleRPC(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.rpc == nil || s.ended:
		return true
	case s.rpcUses.Load() > 0:
		s.unused = true
		s.sendKeepAlives(now)
		return false
	case !s.unused:
		s.unused = true
		return false
	}
	last, ok := s.rpc.CloseIdle()
	if ok {
		s.rpc, s.lastCallID = nil, last
	}
	return ok
}

// sendKeepAlives sends the keep-alives that are due on responses to requests in flight.
func (s *session) sendKeepAlives(now time.Duration) {
	interval := s.handler.opts.KeepAlive
	if interval < 0 {
		return
	}
	for _, w := range s.rpc.Answering() {
		if out, ok := w.(sessionResponse); ok {
			out.sendKeepAliveIfDue(now, interval)
		}
	}
}

// markEnded prevents new JSON-RPC connections. It returns the connection that must be
// shut down, or nil.
func (s *session) markEnded() *jsonrpc.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	return s.rpc
}

// hasEnded reports whether the session has ended.
func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// sessionResponse is the response to a request or batch of a session.
type sessionResponse interface {
	// sendKeepAliveIfDue is called regularly with the lock of the session held. The
	// first call only sets the time of the first keep-alive.
	sendKeepAliveIfDue(now, interval time.Duration)
	// isDisconnected reports whether the HTTP request has ended.
	isDisconnected() bool
}

// sessionOutbound is the channel of messages that belong to no request.
type sessionOutbound session

func (c *sessionOutbound) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	s := (*session)(c)
	d := s.acquireRPC()
	defer s.releaseRPC()
	if d == nil {
		return &peer.ClosedError{Method: req.Method()}
	}
	return d.Call(ctx, req, res, opts...)
}

func (c *sessionOutbound) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	s := (*session)(c)
	d := s.acquireRPC()
	defer s.releaseRPC()
	if d == nil {
		return nil
	}
	return d.Notify(ctx, n, opts...)
}

// TryNotify implements [outbound.TryNotifier]. Storing a notification in memory does not wait
// for the client, which receives it on its standalone stream. It needs no JSON-RPC
// connection.
func (c *sessionOutbound) TryNotify(n peer.Notification, f *wire.Frame) bool {
	s := (*session)(c)
	if !s.handler.opts.storesInMemory() {
		return false
	}
	if data := outbound.EncodedIn(f, n); data != nil {
		_, stored := s.standalone().store(context.Background(), data, true)
		return stored
	}
	buf := buffer.New()
	defer buf.Free()
	var err error
	buf.Bytes, err = wire.AppendNotification(buf.Bytes, f, n.Method(), n)
	return err == nil && s.WriteMessage(context.Background(), buf.Bytes) == nil
}

// sessionInFlight implements [connection.InFlight] for the requests of a session.
type sessionInFlight session

func (r *sessionInFlight) Cancel(id wire.RequestID) bool {
	d := r.current()
	return d != nil && d.InFlight().Cancel(id)
}

func (r *sessionInFlight) IDs() []wire.RequestID {
	if d := r.current(); d != nil {
		return d.InFlight().IDs()
	}
	return nil
}

func (r *sessionInFlight) current() *jsonrpc.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rpc
}
