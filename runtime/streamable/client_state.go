package streamable

import (
	"context"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
)

// clientSession is a handshake session as one request sees it. The zero
// clientSession is none.
type clientSession struct {
	id       string // empty where the server gave none
	revision wire.Revision
}

// clientState is all that changes about a client. Its methods are the only ones
// that take its lock, and call nobody under it.
type clientState struct {
	mu      sync.Mutex
	closed  bool
	tasks   sync.WaitGroup // the client's goroutines
	session clientSession
	lost    bool               // the server does not know the session any more
	unbegun error              // why the server was not told that the session begins, nil where it was
	deaf    context.CancelFunc // ends the stream that belongs to no call, nil where there is none
	open    chan struct{}      // closed when the server has answered the request for it, nil while nobody asks

	// The requests under way, by id.
	exchanges map[wire.RequestID]*clientExchange
}

// spawn runs f in a goroutine that close waits for. It returns false where the
// client is closed.
func (s *clientState) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Go(f) // when f ends is written where it is passed
	return true
}

// view returns the session for a message that was written for r, which counts
// until something is settled.
func (s *clientState) view(r wire.Revision) clientSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.session
	if v.revision.Index() < 0 {
		v.revision = r
	}
	return v
}

// settle records the revision being spoken.
func (s *clientState) settle(r wire.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.revision = r
}

// begin forgets the session, since a new one is to begin. It returns the old one
// if it has to be ended.
func (s *clientState) begin() (old clientSession, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, alive = s.session, s.session.id != "" && !s.lost
	s.session, s.lost, s.unbegun, s.open = clientSession{}, false, nil, nil
	s.silence()
	return old, alive
}

// adopt records the id of a session that has begun.
func (s *clientState) adopt(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.id = id
}

// told records what came of telling the server that the session begins.
func (s *clientState) told(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unbegun = err
}

// begun returns what kept the server from being told so.
func (s *clientState) begun() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unbegun
}

// lose records that the server does not know a session any more. It returns
// false where that is no news, or about an older one.
func (s *clientState) lose(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lost || id == "" || s.session.id != id {
		return false
	}
	s.lost = true
	s.silence()
	return true
}

// hear makes cancel the end of the stream that belongs to no call. It returns
// false where there is one already.
func (s *clientState) hear(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lost || s.deaf != nil {
		return false
	}
	s.deaf = cancel
	return true
}

// listening returns a channel that is closed when the server has answered the
// request for the stream that belongs to no call.
func (s *clientState) listening() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened()
}

// heard records that the server has answered that request.
func (s *clientState) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.opened():
	default:
		close(s.open)
	}
}

// opened returns the channel. The lock is held.
func (s *clientState) opened() chan struct{} {
	if s.open == nil {
		s.open = make(chan struct{})
	}
	return s.open
}

// silence ends the stream that belongs to no call. The lock is held.
func (s *clientState) silence() {
	if s.deaf != nil {
		s.deaf()
		s.deaf = nil
	}
}

// enter puts a request on the table. It returns the one that had the id before,
// whose call is over already.
func (s *clientState) enter(x *clientExchange) (before *clientExchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.exchanges[x.id]
	s.exchanges[x.id] = x
	return before
}

// exchange finds a request under way, nil where there is none.
func (s *clientState) exchange(id wire.RequestID) *clientExchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchanges[id]
}

// owns tells whether what an exchange says about its id is about no other
// request that has the id now.
func (s *clientState) owns(x *clientExchange) bool {
	now := s.exchange(x.id)
	return now == x || now == nil
}

// leave takes a request off the table.
func (s *clientState) leave(x *clientExchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exchanges[x.id] == x {
		delete(s.exchanges, x.id)
	}
}

// close lets nothing more be started. It returns the session if it has to be
// ended.
func (s *clientState) close() (last clientSession, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.silence()
	return s.session, s.session.id != "" && !s.lost
}
