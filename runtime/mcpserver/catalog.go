package mcpserver

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
)

// catalog is what is registered at one moment. It never changes; those who
// handle a message look at one catalog from beginning to end.
type catalog struct {
	tools      shelf[tool]
	resources  shelf[resource]
	templates  shelf[template]
	ranked     []*template // the templates, those that say most first
	prompts    shelf[prompt]
	completers map[completed]Completer
	complete   func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error)
	// capabilities are what is declared. What was declared once stays: a
	// client that knows of it may go on to ask.
	capabilities *mcp.ServerCapabilities
}

// change makes another catalog out of the current one and tells of the event, if
// there is one. Who is just looking at the catalog goes on to see the old one.
func (s *Server) change(event Event, edit func(c *catalog) (changed bool)) {
	s.mu.Lock()
	c := *s.catalog.Load()
	changed := edit(&c)
	if changed {
		c.capabilities = s.declare(&c)
		s.catalog.Store(&c)
	}
	s.mu.Unlock()
	if !changed || event.Method == "" {
		return
	}
	if err := s.publish(context.Background(), event); err != nil {
		s.opts.Logger.Error("the bus did not take an event", "method", event.Method, "error", err)
	}
}
