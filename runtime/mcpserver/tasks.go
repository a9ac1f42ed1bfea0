package mcpserver

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/peer"
)

// TaskOptions are the options of tasks: an Options of package runtime/tasks. Only programs that use that
// package compile it.
type TaskOptions interface {
	// EnableTasks adds tasks to a server. [New] calls it.
	EnableTasks(*extension.TaskServer) *extension.Tasks
}

// enableTasks adds tasks to the server if [Options].Tasks is set.
func (s *Server) enableTasks() {
	if s.opts.Tasks == nil {
		return
	}
	s.tasks = s.opts.Tasks.EnableTasks(&extension.TaskServer{
		Mux: &s.mux, Dispatcher: s.Dispatcher, OwnSessionTasks: s.opts.Capabilities.Tasks != nil,
		RequireInitialized: s.opts.RequireInitialized, SealKeys: s.opts.Questions.SealKeys, PageSize: s.opts.PageSize,
		Budget: s.budget(), Logger: s.opts.Logger,
		TaskSupport: s.taskSupport, ValidateHeaders: s.validateHeaders,
		DeclaresSessionTasks: func() bool { return s.catalog.Load().withTasks != nil },
	})
	if s.tasks == nil {
		return
	}
	for _, store := range s.tasks.Stores {
		s.shutdowners.add(store)
	}
	s.opts.Middleware = append([]peer.Middleware{s.tasks.Middleware}, s.opts.Middleware...)
	extensions := map[string]json.RawMessage{extension.NameOfTasks: nil}
	maps.Copy(extensions, s.opts.Extensions)
	s.opts.Extensions = extensions
}

// isStateLocal reports whether the request state of a request has never left the server.
func (s *Server) isStateLocal(in *peer.Inbound) bool {
	return s.tasks != nil && s.tasks.IsStateLocal(in)
}

// taskSupport returns the task support of a tool. It reports false if the caller cannot call the tool.
func (s *Server) taskSupport(ctx context.Context, name string) (mcp.TaskSupport, bool) {
	t := findTool(ctx, s.catalog.Load(), name)
	if t == nil || !s.visible(ctx, KindTool, name) || s.requireScopes(ctx, name) != nil {
		return "", false
	}
	if t.Execution == nil || t.Execution.TaskSupport == "" {
		return mcp.TaskSupportForbidden, true
	}
	return t.Execution.TaskSupport, true
}

// validateHeaders validates the HTTP headers of a call that repeat its arguments.
func (s *Server) validateHeaders(ctx context.Context, req *mcp.CallToolRequest) error {
	if t := findTool(ctx, s.catalog.Load(), req.Name); t != nil {
		return t.validateHeaders(ctx, req)
	}
	return nil
}

// runsSessionTasks reports whether the server runs the tasks of revision 2025-11-25. A program
// that declares them runs them itself.
func (s *Server) runsSessionTasks() bool { return s.tasks != nil && s.opts.Capabilities.Tasks == nil }

// capabilitiesFor returns the capabilities for the sender of a message.
func (s *Server) capabilitiesFor(t peer.TransportContext) *mcp.ServerCapabilities {
	c := s.catalog.Load()
	if c.withTasks != nil && extension.CanHaveSessionTasks(t) {
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
		if e := x.item.(*tool).Execution; e != nil && (e.TaskSupport == mcp.TaskSupportOptional || e.TaskSupport == mcp.TaskSupportRequired) {
			return true
		}
	}
	return false
}
