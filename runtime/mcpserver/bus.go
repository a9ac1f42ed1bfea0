package mcpserver

import "context"

// Event is something that clients may want to hear of.
type Event struct {
	// Method is that of the notification: one of the list changes, or
	// [mcp.MethodResourceUpdated]. Nobody hears of others.
	Method string
	// URI is the resource that was updated.
	URI string
}

// A Bus carries events between the replicas of a server, so that clients of one
// hear of what happens at another. It is safe for concurrent use.
type Bus interface {
	// Publish gives an event to all that have subscribed, here and elsewhere,
	// to those of this server among them.
	Publish(ctx context.Context, e Event) error
	// Subscribe has f called with every event from now on, until cancel is
	// called. f does not block and is called in the order of the events.
	Subscribe(f func(Event)) (cancel func())
}

// publish tells of an event everybody who wants to hear of it.
func (s *Server) publish(ctx context.Context, e Event) error {
	if s.opts.Bus != nil {
		return s.opts.Bus.Publish(ctx, e)
	}
	s.audience.deliver(e)
	return nil
}
