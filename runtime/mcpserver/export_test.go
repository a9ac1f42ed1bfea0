package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// SubscriberCount returns the number of sessions and streams that receive events.
func SubscriberCount(s *Server) int {
	s.subscribers.mu.Lock()
	defer s.subscribers.mu.Unlock()
	return len(s.subscribers.members)
}

// NotificationOf returns the notification of an event for one subscriber.
func NotificationOf(e Event, meta *mcp.NotificationMeta) peer.Notification {
	a := newEventMessage(e)
	if meta == nil {
		return &a.session
	}
	return a.streamNotification(meta)
}

// WatcherCount returns the number of subscriptions to resources.
func WatcherCount(s *Server) (n int) {
	s.subscribers.watchers.mu.Lock()
	defer s.subscribers.watchers.mu.Unlock()
	for _, list := range s.subscribers.watchers.byURI {
		n += len(list)
	}
	return n
}

// AddSession makes a connection a subscriber.
func AddSession(s *Server, conn *connection.Connection) {
	s.subscribers.addSession(context.Background(), conn)
}

// IsCompiled reports whether the input schema of a tool has been compiled.
func IsCompiled(s *Server, name string) bool {
	return find[tool](s.catalog.Load().tools, name).input.compiled != nil
}

// HasSchema reports whether a schema is in the table of the schemas in use.
func HasSchema(text string) bool {
	schemasInUse.mu.Lock()
	defer schemasInUse.mu.Unlock()
	_, has := schemasInUse.byText[text]
	return has
}
