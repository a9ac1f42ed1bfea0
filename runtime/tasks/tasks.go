// Package tasks lets calls of a server's tools continue as tasks, and has the messages of the
// extension "io.modelcontextprotocol/tasks" of revision 2026-07-28. With this extension, a server may
// respond to a tool call with a task instead of a result. The client then polls the task until the
// task is finished.
//
// [Options] are an option of a server. They set the time after which a call continues as a
// task:
//
//	server := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{StartAfter: 2 * time.Second}})
//	mcpserver.AddTool(server, &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}, render)
//
// A client with the option Tasks calls such a tool like any other. Programs that handle
// tasks differently can send the messages themselves:
//
//	res, err := peer.SendRequest(ctx, client, &tasks.GetRequest{TaskID: id})
//
// [FromResult] returns the task in the response, with times and durations.
//
// The tasks of revision 2025-11-25 are not compatible with this extension. Their messages are
// in package mcp. [Options] enable them too, and [Ask] asks the user with such a task.
package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	generated "github.com/mcpwright/mcp/generated/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Name identifies the extension.
const Name = generated.Name

// The methods of the extension.
const (
	MethodGet    = generated.MethodGetTask
	MethodUpdate = generated.MethodUpdateTask
	MethodCancel = generated.MethodCancelTask
)

// ResultType is the resultType of a [CreateResult].
const ResultType mcp.ResultType = "task"

// The messages of the extension. [FromResult] and [FromCreateResult] return the task in a result.
type (
	// GetRequest requests the current state of a task.
	GetRequest = generated.GetTaskRequest
	// GetResult is the state of a task.
	GetResult = generated.GetTaskResult
	// UpdateRequest sends responses to the input requests of a task.
	UpdateRequest = generated.UpdateTaskRequest
	// UpdateResult confirms an UpdateRequest.
	UpdateResult = generated.UpdateTaskResult
	// CancelRequest requests the cancellation of a task. The task may still complete or fail.
	CancelRequest = generated.CancelTaskRequest
	// CancelResult confirms a CancelRequest.
	CancelResult = generated.CancelTaskResult
	// CreateResult is the result of a request that continues as a task.
	CreateResult = generated.CreateTaskResult
)

// Task is the state of a task. A task that is completed, failed or cancelled does not
// change anymore.
type Task struct {
	// ID identifies the task. A caller with the ID and the principal that created the
	// task can access it.
	ID string
	// Status is the state of the task. StatusMessage describes it to people.
	Status        mcp.TaskStatus
	StatusMessage string
	// CreatedAt is the time of creation, LastUpdatedAt the time of the last change.
	CreatedAt, LastUpdatedAt time.Time
	// TTL is how long after its creation the server keeps the task. A negative TTL
	// means that it does not expire.
	TTL time.Duration
	// PollInterval is the suggested time between two GetRequests, or 0.
	PollInterval time.Duration

	// InputRequests are the requests that the task waits for, by the key of the
	// response. Only the result of a GetRequest has them, while Status is
	// [mcp.TaskStatusInputRequired].
	InputRequests mcp.InputRequests
	// Result is the result of the request that created the task. Only the result
	// of a GetRequest has it, if the task is completed.
	Result json.RawMessage
	// Error is the error of a failed task. Only the result of a GetRequest has it.
	Error *wire.ErrorObject
	// Extra has the members without a field in Task.
	Extra map[string]json.RawMessage
}

// Finished reports whether the task is completed, failed or cancelled.
func (t *Task) Finished() bool {
	switch t.Status {
	case mcp.TaskStatusCompleted, mcp.TaskStatusFailed, mcp.TaskStatusCancelled:
		return true
	}
	return false
}

// FromResult returns the task in the result of a GetRequest. It returns an error if a time is not valid.
func FromResult(r *GetResult) (*Task, error) {
	t, err := parseTask(r.TaskID, r.Status, r.StatusMessage, r.CreatedAt, r.LastUpdatedAt, r.TTLMs, r.PollIntervalMs)
	if err == nil {
		t.InputRequests, t.Result, t.Error, t.Extra = r.InputRequests, r.Result, r.ErrorValue, r.Extra
	}
	return t, err
}

// FromCreateResult returns the task in the result of the request that created it. It returns an error if a
// time is not valid.
func FromCreateResult(r *CreateResult) (*Task, error) {
	t, err := parseTask(r.TaskID, r.Status, r.StatusMessage, r.CreatedAt, r.LastUpdatedAt, r.TTLMs, r.PollIntervalMs)
	if err == nil {
		t.Extra = r.Extra
	}
	return t, err
}

func parseTask(id string, status generated.TaskStatus, message, created, updated string, ttl, poll *int64) (*Task, error) {
	t := &Task{ID: id, Status: mcp.TaskStatus(status), StatusMessage: message, TTL: duration(ttl, -1), PollInterval: duration(poll, 0)}
	var err, wrong error
	t.CreatedAt, err = time.Parse(time.RFC3339Nano, created)
	t.LastUpdatedAt, wrong = time.Parse(time.RFC3339Nano, updated)
	if err = cmp.Or(err, wrong); err != nil {
		return nil, fmt.Errorf("times of task %q: %w", id, err)
	}
	return t, nil
}

// GetResult returns the result of a GetRequest for t.
func (t *Task) GetResult() *GetResult {
	return &GetResult{
		TaskID: t.ID, Status: generated.TaskStatus(t.Status), StatusMessage: t.StatusMessage, CreatedAt: text(t.CreatedAt), LastUpdatedAt: text(t.LastUpdatedAt),
		TTLMs: t.ttl(), PollIntervalMs: t.pollInterval(), InputRequests: t.InputRequests, Result: t.Result, ErrorValue: t.Error, Extra: t.Extra,
	}
}

// CreateResult returns the result of the request that created t. It does not have the members of t that
// only the result of a GetRequest has.
func (t *Task) CreateResult() *CreateResult {
	return &CreateResult{
		TaskID: t.ID, Status: generated.TaskStatus(t.Status), StatusMessage: t.StatusMessage, CreatedAt: text(t.CreatedAt), LastUpdatedAt: text(t.LastUpdatedAt),
		TTLMs: t.ttl(), PollIntervalMs: t.pollInterval(), Extra: t.Extra,
	}
}

// text returns a time as it is in a message.
func text(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func (t *Task) ttl() *int64 {
	if t.TTL < 0 {
		return nil
	}
	return new(t.TTL.Milliseconds())
}

func (t *Task) pollInterval() *int64 {
	if t.PollInterval <= 0 {
		return nil
	}
	return new(t.PollInterval.Milliseconds())
}

// duration returns a number of milliseconds, limited to the longest duration. It returns missing for nil and
// for negative numbers: these durations are hints, so they must not fail the task.
func duration(ms *int64, missing time.Duration) time.Duration {
	if ms == nil || *ms < 0 {
		return missing
	}
	return time.Duration(min(*ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
