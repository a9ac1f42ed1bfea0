package server

import (
	"context"
	"errors"
	"time"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// TaskMetrics describes a task when it has changed.
type TaskMetrics struct {
	TaskID        string
	ToolName      string
	Status        mcp.TaskStatus
	StatusMessage string
	CreatedAt     time.Time
	CompletedAt   *time.Time    // nil if the task has not ended
	Duration      time.Duration // from CreatedAt to CompletedAt, or 0
	SessionID     string        // as in [ClientSession]
	Error         error         // of a task that has failed; it has the text that the client receives
}

type (
	// OnTaskCreatedHookFunc is called with a new task.
	OnTaskCreatedHookFunc func(ctx context.Context, metrics TaskMetrics)
	// OnTaskCompletedHookFunc is called with a task that has a result. In the revision 2025-11-25, a
	// result with IsError fails the task.
	OnTaskCompletedHookFunc func(ctx context.Context, metrics TaskMetrics)
	// OnTaskFailedHookFunc is called with a task that has failed.
	OnTaskFailedHookFunc func(ctx context.Context, metrics TaskMetrics)
	// OnTaskCancelledHookFunc is called with a task that was canceled, or whose time has passed.
	OnTaskCancelledHookFunc func(ctx context.Context, metrics TaskMetrics)
	// OnTaskStatusChangedHookFunc is called with a task in each of these cases, after the other hooks,
	// and when the task begins and ends to wait for its client.
	OnTaskStatusChangedHookFunc func(ctx context.Context, metrics TaskMetrics)
)

// TaskHooks are functions that are called when tasks change. They are called one at a time, and the
// tasks do not wait for them. The context has the values of the call, and does not end.
type TaskHooks struct {
	OnTaskCreated       []OnTaskCreatedHookFunc
	OnTaskCompleted     []OnTaskCompletedHookFunc
	OnTaskFailed        []OnTaskFailedHookFunc
	OnTaskCancelled     []OnTaskCancelledHookFunc
	OnTaskStatusChanged []OnTaskStatusChangedHookFunc
}

// AddOnTaskCreated adds a hook. It must not be called after the server has begun to serve.
func (h *TaskHooks) AddOnTaskCreated(hook OnTaskCreatedHookFunc) {
	h.OnTaskCreated = append(h.OnTaskCreated, hook)
}

// AddOnTaskCompleted is like [TaskHooks.AddOnTaskCreated].
func (h *TaskHooks) AddOnTaskCompleted(hook OnTaskCompletedHookFunc) {
	h.OnTaskCompleted = append(h.OnTaskCompleted, hook)
}

// AddOnTaskFailed is like [TaskHooks.AddOnTaskCreated].
func (h *TaskHooks) AddOnTaskFailed(hook OnTaskFailedHookFunc) {
	h.OnTaskFailed = append(h.OnTaskFailed, hook)
}

// AddOnTaskCancelled is like [TaskHooks.AddOnTaskCreated].
func (h *TaskHooks) AddOnTaskCancelled(hook OnTaskCancelledHookFunc) {
	h.OnTaskCancelled = append(h.OnTaskCancelled, hook)
}

// AddOnTaskStatusChanged is like [TaskHooks.AddOnTaskCreated].
func (h *TaskHooks) AddOnTaskStatusChanged(hook OnTaskStatusChangedHookFunc) {
	h.OnTaskStatusChanged = append(h.OnTaskStatusChanged, hook)
}

// WithTaskHooks sets the hooks for tasks.
func WithTaskHooks(taskHooks *TaskHooks) ServerOption {
	return func(s *MCPServer) {
		if s.tasks.OnChange = nil; taskHooks != nil {
			s.tasks.OnChange = taskHooks.call
		}
	}
}

// WithMaxConcurrentTasks limits the tasks that have not ended. A call beyond the limit fails if it asks
// for a task; in the revision 2026-07-28, its client waits for the result. Zero means no limit.
func WithMaxConcurrentTasks(limit int) ServerOption {
	return func(s *MCPServer) { s.tasks.MaxConcurrent = limit }
}

// call calls the hooks for a change.
func (h *TaskHooks) call(ctx context.Context, tool string, t *tasks.Task) {
	m := TaskMetrics{
		TaskID: t.ID, ToolName: tool, Status: mcp.TaskStatus(t.Status), StatusMessage: t.StatusMessage, CreatedAt: t.CreatedAt,
		SessionID: sessionID(connection.FromContext(ctx), kit.SessionFromContext(ctx).Transport()),
	}
	if t.Finished() {
		m.CompletedAt, m.Duration = &t.LastUpdatedAt, t.LastUpdatedAt.Sub(t.CreatedAt)
	}
	switch {
	case t.Status == kit.TaskStatusWorking && t.LastUpdatedAt.Equal(t.CreatedAt):
		callAll(ctx, h.OnTaskCreated, m)
	case t.Status == kit.TaskStatusCompleted:
		callAll(ctx, h.OnTaskCompleted, m)
	case t.Status == kit.TaskStatusFailed:
		m.Error = errors.New(t.StatusMessage)
		callAll(ctx, h.OnTaskFailed, m)
	case t.Status == kit.TaskStatusCancelled:
		callAll(ctx, h.OnTaskCancelled, m)
	}
	callAll(ctx, h.OnTaskStatusChanged, m)
}

func callAll[H ~func(context.Context, TaskMetrics)](ctx context.Context, hooks []H, m TaskMetrics) {
	for _, hook := range hooks {
		hook(ctx, m)
	}
}
