package streamable

import (
	"context"
	"time"

	"github.com/mcpwright/mcp/runtime/dispatch"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// A session that nobody uses sleeps: it gives its dispatcher away, which is more
// than half of its memory, and gets another one when it is used again.

// enter begins a use of the session.
func (s *session) enter() {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

// leave ends a use.
func (s *session) leave() {
	now := time.Now()
	s.mu.Lock()
	s.users--
	s.used = now
	s.mu.Unlock()
}

// idleSince tells since when nobody has used the session.
func (s *session) idleSince() (since time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.users == 0
}

// awake returns the session's dispatcher, nil where the session is over and has
// none. It stays the same during a use, and during a call.
func (s *session) awake() *dispatch.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dispatch == nil && !s.isOver {
		d := s.handler.opts.Dispatch
		d.Handler, d.Frame, d.Client, d.LastID = s, s.frame, false, s.lastID
		s.dispatch = dispatch.New(s, &d)
	}
	return s.dispatch
}

// sleep gives the dispatcher away if nobody needs it.
func (s *session) sleep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dispatch == nil || s.users+s.calls > 0 || s.isOver {
		return
	}
	if last, ok := s.dispatch.Retire(); ok {
		s.dispatch, s.lastID = nil, last
	}
}

// over lets the session sleep for ever. It returns the dispatcher that is still
// to be shut down, nil for none.
func (s *session) over() *dispatch.Conn {
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
	d := c.begin()
	defer c.end()
	if d == nil {
		return &peer.ClosedError{Method: req.Method()}
	}
	return d.Call(ctx, req, res, opts...)
}

func (c *sessionChannel) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	d := c.begin()
	defer c.end()
	if d == nil {
		return nil
	}
	return d.Notify(ctx, n, opts...)
}

func (c *sessionChannel) begin() *dispatch.Conn {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	return (*session)(c).awake()
}

func (c *sessionChannel) end() {
	c.mu.Lock()
	c.calls--
	c.mu.Unlock()
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

func (r *sessionRequests) current() *dispatch.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dispatch
}
