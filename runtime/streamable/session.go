package streamable

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// session is a conversation that began with a handshake. While nobody uses it,
// it is no more than memory.
type session struct {
	handler   *Handler
	id        string // empty for one that lasts a single request
	principal string
	conn      *connection.Connection

	users     atomic.Int32 // HTTP requests, and what goes on without theirs
	forgotten atomic.Bool  // nothing is kept any more
	used      atomic.Int64 // when a user left last, by the clock of the table, or justUsed

	mu       sync.Mutex   // before those of the dispatcher
	busy     atomic.Int32 // uses of the dispatcher; they begin under the lock
	drowsy   bool         // the dispatcher was not used for a while
	isOver   bool
	begun    bool          // it can be found; the lock of the table guards this one
	dispatch *jsonrpc.Conn // nil while the session sleeps
	lastID   int64         // of the dispatcher before
	last     uint64        // number of the last stream of a request
	streams  map[uint64]*stream
	givenUp  []uint64 // numbers of the last streams without an answer
	standing *stream  // of what belongs to no request, nil while there was nothing
}

// newSession returns a session that awaits its handshake. The version is the one
// to assume until then, empty for none in particular.
func (h *Handler) newSession(id, principal, version string) *session {
	s := &session{handler: h, id: id, principal: principal}
	c := h.opts.Connection
	c.SessionID, c.VersionHint, c.Client, c.InFlight = id, version, false, (*sessionRequests)(s)
	s.conn = connection.New(s.outbound(), &c)
	return s
}

// outbound is the channel of what belongs to no request. There is none in a
// session that nobody can find again.
func (s *session) outbound() peer.Outbound {
	if s.id == "" {
		return nil
	}
	return (*sessionChannel)(s)
}

// Handle implements [peer.Handler].
func (s *session) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	t, _ := in.Transport.(*TransportContext)
	if t == nil || t.answer == nil || in.ID.IsZero() { // notifications of a batch run beside its requests
		return s.handler.kernel.Serve(ctx, s.conn, in)
	}
	exits := true
	defer func() {
		if exits {
			t.answer.hurry()
		}
	}()
	reply, err := s.handler.kernel.Serve(ctx, s.conn, in)
	exits = false
	return reply, err
}

// deliver has a message handled that brings no room of its own for that, unless it
// comes too late.
func (s *session) deliver(ctx context.Context, m *wire.Message, o jsonrpc.Source) {
	d := s.borrow()
	defer s.giveBack()
	if d != nil {
		o.Message, o.Token = m, tokenOf(m)
		d.Deliver(ctx, nil, o)
	} else if o.Release != nil {
		o.Release()
	}
}

// WriteMessage implements [jsonrpc.Writer] for what belongs to no request. It
// waits in the store until the client fetches it.
func (s *session) WriteMessage(ctx context.Context, data []byte) error {
	if _, kept := s.alone().keep(ctx, data); !kept {
		return jsonrpc.ErrNotWritten
	}
	return nil
}

// replays tells whether the session's streams can be resumed.
func (s *session) replays() bool { return s.id != "" && !s.handler.opts.DisableResumption }

// primes tells whether the client understands events that say nothing.
func (s *session) primes() bool {
	return s.replays() && s.conn.State().Revision().Index() >= mcp.Revision20251125.Index()
}

// alone returns the stream of what belongs to no request. Many sessions never
// have any of that.
func (s *session) alone() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing == nil {
		s.standing = &stream{session: s, begun: true}
	}
	return s.standing
}

// open gives a stream its number and makes it one that can be found.
func (s *session) open(st *stream) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == nil {
		s.streams = make(map[uint64]*stream)
	}
	s.last++
	s.streams[s.last] = st
	return s.last
}

// close forgets a stream on which nothing comes any more.
func (s *session) close(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.streams, number); len(s.streams) == 0 {
		s.streams = nil
	}
}

// mostGivenUp is how many streams are remembered on which no answer came. Their
// clients come back for it soon.
const mostGivenUp = 16

// giveUp remembers that there is no answer on a stream.
func (s *session) giveUp(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.givenUp) == mostGivenUp {
		s.givenUp = slices.Delete(s.givenUp, 0, 1)
	}
	s.givenUp = append(s.givenUp, number)
}

// gaveUp tells whether there is no answer on a stream.
func (s *session) gaveUp(number uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.givenUp, number)
}

// find finds a stream, nil where there is none on which anything comes.
func (s *session) find(number uint64) *stream {
	if number == 0 {
		return s.alone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[number]
}

// discard ends a use of the session, and the session itself if it lasts no
// longer, or has not begun.
func (s *session) discard(unbegun bool) {
	s.leave()
	switch {
	case s.id == "":
		s.conn.Close(context.Background())
	case unbegun && s.handler.sessions.remove(s):
		s.end(context.Background(), errSessionFailed)
	}
}

// end ends the session, which nobody can find any more.
func (s *session) end(ctx context.Context, cause error) {
	if d := s.over(); d != nil {
		d.Shutdown(ctx, cause)
	}
	s.conn.Close(ctx)
	s.alone().end()
	s.forget(ctx)
}

// forget drops the events of the session. Whoever is keeping one meanwhile does so
// again.
func (s *session) forget(ctx context.Context) {
	s.forgotten.Store(true)
	defer contain(ctx, s.handler.opts.Logger, "forgetting the events of a session")
	if err := s.handler.opts.Events.Forget(ctx, s.id); err != nil {
		s.handler.opts.Logger.WarnContext(ctx, "events of a session could not be forgotten", "error", err)
	}
}
