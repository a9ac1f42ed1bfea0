package streamable

import (
	"context"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// A session whose dispatcher is not used sleeps: it gives that away, which is
// more than half of its memory, and gets another one when there is something to
// do again. Following a stream is no such use.

// enter begins a use of the session.
func (s *session) enter() { s.users.Add(1) }

// justUsed is in place of the time in a session that was used since somebody looked.
// To look at the clock takes longer than all else there is to a use.
const justUsed = -1

// leave ends a use.
func (s *session) leave() {
	s.used.Store(justUsed)
	s.users.Add(-1)
}

// isIdle tells whether nobody has used the session since. It is now by the clock of
// the table.
func (s *session) isIdle(now, since time.Duration) bool {
	if s.users.Load() > 0 {
		return false
	}
	last := s.used.Load() // not before: who leaves says so first
	if last == justUsed {
		s.used.CompareAndSwap(justUsed, int64(now))
		return false
	}
	return time.Duration(last) <= since
}

// borrow begins a use of the session's dispatcher, which stays the same until
// giveBack. It is nil where the session is over and has none.
func (s *session) borrow() *jsonrpc.Conn {
	s.mu.Lock()
	s.busy.Add(1)
	s.drowsy = false
	d := s.dispatch
	s.mu.Unlock()
	if d == nil {
		d = s.wake()
	}
	return d
}

// wake wakes the session, unless somebody else has or it is over.
func (s *session) wake() *jsonrpc.Conn {
	d, woken := s.awake()
	if woken && s.id != "" {
		s.handler.sessions.watch(s)
	}
	return d
}

func (s *session) awake() (d *jsonrpc.Conn, woken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dispatch == nil && !s.isOver {
		d := s.handler.opts.JSONRPC
		d.Handler, d.Frame, d.Client, d.LastID, d.Unordered = s, s.conn.Frame, false, s.lastID, true
		s.dispatch, woken = jsonrpc.New(s, &d), true
	}
	return s.dispatch, woken
}

// giveBack ends a use of the dispatcher.
func (s *session) giveBack() { s.busy.Add(-1) }

// sleep gives the dispatcher away if nobody has used it since the last time
// that somebody wanted the session to sleep. It returns whether there is none. While
// there is one it is seen to that what takes long shows it is alive.
func (s *session) sleep(now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.dispatch == nil || s.isOver:
		return true
	case s.busy.Load() > 0:
		s.drowsy = true
		s.beat(now)
		return false
	case !s.drowsy:
		s.drowsy = true
		return false
	}
	last, ok := s.dispatch.CloseIdle()
	if ok {
		s.dispatch, s.lastID = nil, last
	}
	return ok
}

// beat has what is being answered beat, where that has come to be due.
func (s *session) beat(now time.Duration) {
	rate := s.handler.opts.KeepAlive
	if rate < 0 {
		return
	}
	for _, out := range s.dispatch.Answering() {
		var p *sessionPost
		switch out := out.(type) {
		case *sessionPost:
			p = out
		case *batch:
			p = out.post
		default:
			continue
		}
		switch {
		case p.due == 0: // it has begun since the last look
			p.due = max(now+rate-bedtime, 1)
		case p.due <= now:
			p.due = now + rate
			go p.beat() // ends when the client has taken what is sent
		}
	}
}

// over lets the session sleep for ever. It returns the dispatcher that is still
// to be shut down, nil for none.
func (s *session) over() *jsonrpc.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isOver = true
	return s.dispatch
}

// ended tells whether the session is over.
func (s *session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isOver
}

// sessionChannel is the channel of what belongs to no request.
type sessionChannel session

func (c *sessionChannel) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	s := (*session)(c)
	d := s.borrow()
	defer s.giveBack()
	if d == nil {
		return &peer.ClosedError{Method: req.Method()}
	}
	return d.Call(ctx, req, res, opts...)
}

func (c *sessionChannel) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	s := (*session)(c)
	d := s.borrow()
	defer s.giveBack()
	if d == nil {
		return nil
	}
	return d.Notify(ctx, n, opts...)
}

// sessionRequests is the table of the requests being handled.
type sessionRequests session

func (r *sessionRequests) Cancel(id wire.RequestID) bool {
	d := r.current()
	return d != nil && d.InFlight().Cancel(id)
}

func (r *sessionRequests) IDs() []wire.RequestID {
	if d := r.current(); d != nil {
		return d.InFlight().IDs()
	}
	return nil
}

func (r *sessionRequests) current() *jsonrpc.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dispatch
}
