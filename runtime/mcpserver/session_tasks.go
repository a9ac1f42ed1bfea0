package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/peer"
)

// runsSessionTasks reports whether the server runs the tasks of revision 2025-11-25. A program
// that declares them runs them itself.
func (s *Server) runsSessionTasks() bool {
	return s.opts.Tasks != nil && s.opts.Capabilities.Tasks == nil
}

// callInSession handles a call of revision 2025-11-25, whose sender decides whether it becomes a
// task.
func (k *taskService) callInSession(ctx context.Context, in *peer.Inbound, next peer.Handler) (peer.Reply, error) {
	s, owner := k.server, sessiontasks.OwnerOf(ctx)
	req := decodedCall(in, mcp.Revision20251125)
	if owner == nil || req == nil || !canHaveTasks(in.Transport) || !k.isOpen(ctx) {
		return next.Handle(ctx, in)
	}
	t := s.catalog.Load().tools.find(req.Name)
	if t == nil || !s.visible(ctx, KindTool, req.Name) || s.requireScopes(ctx, req.Name) != nil {
		return next.Handle(ctx, in) // the handler reports the error
	}
	support := mcp.TaskSupportForbidden
	if t.Execution != nil && t.Execution.TaskSupport != "" {
		support = t.Execution.TaskSupport
	}
	switch {
	case req.Task == nil && support == mcp.TaskSupportRequired:
		return peer.Reply{}, taskModeError(fmt.Sprintf("Tool runs only as a task: %q", limit.Name(req.Name)))
	case req.Task == nil:
		return next.Handle(ctx, in)
	case support == mcp.TaskSupportForbidden:
		return peer.Reply{}, taskModeError(fmt.Sprintf("Tool cannot run as a task: %q", limit.Name(req.Name)))
	}
	return k.sessions.Start(ctx, in, owner, req.Task.TTL)
}

func taskModeError(message string) error {
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: message}
}

// isOpen reports whether the session accepts calls.
func (k *taskService) isOpen(ctx context.Context) bool {
	conn := connection.FromContext(ctx)
	return conn.InitializeAccepted() && (conn.State().Initialized() || !k.server.opts.RequireInitialized)
}

// canHaveTasks reports whether the sender of a message can have tasks of revision 2025-11-25: a
// later request must be related to it, by a session or a principal. A handler that cannot send
// requests may have no session.
func canHaveTasks(t peer.TransportContext) bool {
	return t == nil || t.CanSendRequest() || t.Principal() != ""
}

// capabilitiesFor returns the capabilities for the sender of a message.
func (s *Server) capabilitiesFor(t peer.TransportContext) *mcp.ServerCapabilities {
	c := s.catalog.Load()
	if c.withTasks != nil && canHaveTasks(t) {
		return c.withTasks
	}
	return c.capabilities
}

// declareTasks returns capabilities with the tasks of revision 2025-11-25, or nil if no tool can
// run as a task.
func (s *Server) declareTasks(c *catalog, caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	if !s.runsSessionTasks() || c.withTasks == nil && !c.hasTaskTools() {
		return nil
	}
	with := *caps
	with.Tasks = &mcp.ServerTasksCapability{
		List: map[string]json.RawMessage{}, Cancel: map[string]json.RawMessage{},
		Requests: &mcp.ServerTaskRequests{Tools: &mcp.ToolTaskRequests{Call: map[string]json.RawMessage{}}},
	}
	return &with
}

func (c *catalog) hasTaskTools() bool {
	for _, x := range c.tools {
		if e := x.item.Execution; e != nil && (e.TaskSupport == mcp.TaskSupportOptional || e.TaskSupport == mcp.TaskSupportRequired) {
			return true
		}
	}
	return false
}
