package mcpserver

import (
	"context"
	"net"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Listeners tells how many sessions and streams hear of events.
func Listeners(s *Server) int {
	s.audience.mu.Lock()
	defer s.audience.mu.Unlock()
	return len(s.audience.members)
}

// Render returns an event as one listener hears of it.
func Render(e Event, meta *mcp.NotificationMeta) peer.Notification {
	a := newAnnouncement(e)
	if meta == nil {
		return &a.session
	}
	return a.forStream(meta)
}

// Join makes a connection hear of events.
func Join(s *Server, conn *connection.Connection) { s.audience.join(context.Background(), conn) }

// ServeListener serves on a listener as ListenAndServe does, and is less patient in
// the end.
func ServeListener(s *Server, ctx context.Context, l net.Listener) error {
	return s.serveListener(ctx, l, nil, time.Second/4)
}
