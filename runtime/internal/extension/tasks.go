package extension

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// NameOfTasks identifies the extension of package tasks.
const NameOfTasks = "io.modelcontextprotocol/tasks"

// TaskServer is a server whose calls may become tasks.
type TaskServer struct {
	// Mux has the routes of the server, which has not begun to serve.
	Mux        *peer.Mux
	Dispatcher func() *connection.Dispatcher
	// OwnSessionTasks reports whether the program handles the tasks of revision 2025-11-25 itself.
	OwnSessionTasks bool
	// The following fields are options of the server.
	RequireInitialized bool
	SealKeys           [][]byte
	PageSize           int
	Budget             *budget.Budget
	Logger             *slog.Logger

	// TaskSupport returns the task support of a tool. It reports false if the caller cannot call the
	// tool: the server then responds with an error.
	TaskSupport func(ctx context.Context, tool string) (mcp.TaskSupport, bool)
	// ValidateHeaders validates the HTTP headers of a call that repeat its arguments.
	ValidateHeaders func(context.Context, *mcp.CallToolRequest) error
	// DeclaresSessionTasks reports whether the server declares the tasks of revision 2025-11-25.
	DeclaresSessionTasks func() bool
}

// Tasks are what package tasks adds to a server.
type Tasks struct {
	// Middleware is the outermost middleware of the server.
	Middleware peer.Middleware
	// Stores store tasks.
	Stores []TaskStore
	// IsStateLocal reports whether the request state of a request has never left the server.
	IsStateLocal func(*peer.Inbound) bool
}

// TaskStore stores tasks.
type TaskStore interface {
	// Len returns the number of stored tasks.
	Len() int
	// Shutdown ends the tasks. It waits until they have ended, or ctx ends.
	Shutdown(ctx context.Context) error
}

// CanHaveSessionTasks reports whether the sender of a message can have tasks of revision 2025-11-25: a
// later request must be related to it, by a session or a principal. A handler that cannot send
// requests may have no session.
func CanHaveSessionTasks(t peer.TransportContext) bool {
	return t == nil || t.CanSendRequest() || t.Principal() != ""
}

// RequireTasks returns an error if the sender of a request has not declared the task extension.
func RequireTasks(ctx context.Context, method string) error {
	conn := connection.FromContext(ctx)
	want := &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{NameOfTasks: {}}}
	if conn.HasClientCapability(want) {
		return nil
	}
	return &connection.CapabilityError{
		Method: method, Capability: "extensions." + NameOfTasks, Required: want, Revision: conn.State().Revision(),
	}
}
