package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Hooks are functions that a server calls when something happens. They observe it, and cannot change
// it; [Options].Middleware can. A nil function costs nothing. The functions may be called concurrently.
// A panic is logged, and has no other effect.
type Hooks struct {
	// SessionStart is called when a client has confirmed the handshake. The connection has the
	// client's name, capabilities and revision, and sends notifications. Stateless revisions have
	// no sessions; the hooks for requests are called in all revisions.
	SessionStart func(ctx context.Context, conn *connection.Connection)
	// SessionEnd is called when a session or its connection has ended, if its client had confirmed
	// the handshake. It is called after SessionStart.
	SessionEnd func(conn *connection.Connection)
	// Before is called with each request and notification before the middleware.
	Before func(ctx context.Context, in *peer.Inbound)
	// After is called with each request and notification after the middleware, with the result of
	// the handler. A list of tools, prompts, resources or templates may be encoded already; it then
	// has a method Items() iter.Seq[Item].
	After func(ctx context.Context, in *peer.Inbound, reply peer.Reply)
	// Failed is called in place of After if the error is not nil. A tool that has failed has a
	// result with IsError, and no error.
	Failed func(ctx context.Context, in *peer.Inbound, err error)
	// Registered is called when a tool, prompt, resource or template was added or replaced.
	Registered func(item Item)
}

// isSet reports whether a hook needs a middleware.
func (h *Hooks) isSet() bool { return h.Before != nil || h.After != nil || h.Failed != nil }

// withHooks returns the middleware with the hooks around it.
func (s *Server) withHooks(middleware []peer.Middleware) []peer.Middleware {
	if h := &s.opts.Hooks; h.isSet() {
		return append([]peer.Middleware{s.observe}, middleware...)
	}
	return middleware
}

// observe is the middleware that calls the hooks.
func (s *Server) observe(next peer.Handler) peer.Handler {
	return peer.Observer(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		h := &s.opts.Hooks
		if h.Before != nil {
			s.hook("Hooks.Before", func() { h.Before(ctx, in) })
		}
		reply, err := next.Handle(ctx, in)
		switch {
		case err != nil && h.Failed != nil:
			s.hook("Hooks.Failed", func() { h.Failed(ctx, in, err) })
		case err == nil && h.After != nil:
			s.hook("Hooks.After", func() { h.After(ctx, in, reply) })
		}
		return reply, err
	})
}

// startSession is called when a client has confirmed the handshake.
func (s *Server) startSession(ctx context.Context, conn *connection.Connection) {
	s.subscribers.addSession(ctx, conn)
	h := &s.opts.Hooks
	if h.SessionStart != nil {
		s.hook("Hooks.SessionStart", func() { h.SessionStart(ctx, conn) })
	}
	if end := h.SessionEnd; end != nil { // after SessionStart, also if the session has ended meanwhile
		conn.OnClose(func(context.Context) error {
			s.hook("Hooks.SessionEnd", func() { end(conn) })
			return nil
		})
	}
}

// registered is called when an item was added or replaced.
func (s *Server) registered(kind Kind, name string) {
	if f := s.opts.Hooks.Registered; f != nil {
		s.hook("Hooks.Registered", func() { f(Item{Kind: kind, Name: name}) })
	}
}

// hook calls a hook and logs its panic.
func (s *Server) hook(name string, f func()) { failure.LogPanics(s.opts.Logger, name, f) }
