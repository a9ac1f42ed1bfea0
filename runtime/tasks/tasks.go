// Package tasks has the messages of the extension "io.modelcontextprotocol/tasks" of
// revision 2026-07-28. With this extension, a server may respond to a tool call with a
// task instead of a result. The client then polls the task until the task is finished.
//
// Packages mcpserver and mcpclient do that themselves. A server sets the time after
// which a call continues as a task:
//
//	server := mcpserver.New(info, &mcpserver.Options{Tasks: &mcpserver.TaskOptions{StartAfter: 2 * time.Second}})
//	mcpserver.AddTool(server, &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}, render)
//
// A client with the option Tasks calls such a tool like any other. Programs that handle
// tasks differently can send the messages themselves:
//
//	task, err := peer.SendRequest(ctx, client, &tasks.GetRequest{Ref: tasks.Ref{ID: id}})
//
// The tasks of revision 2025-11-25 are not compatible with this extension. Their
// messages are in package mcp.
package tasks

import (
	"encoding/json"
	"math"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Name identifies the extension.
const Name = "io.modelcontextprotocol/tasks"

// The methods of the extension.
const (
	MethodGet    = "tasks/get"
	MethodUpdate = "tasks/update"
	MethodCancel = "tasks/cancel"
)

// ResultType is the resultType of a [CreateResult].
const ResultType mcp.ResultType = "task"

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

var taskMembers = wire.NewMembers("Task",
	wire.Member{Name: "_meta", In: wire.Always},
	wire.Member{Name: "resultType", In: wire.Always},
	wire.Member{Name: "taskId", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "status", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "statusMessage", In: wire.Always},
	wire.Member{Name: "createdAt", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "lastUpdatedAt", In: wire.Always, Required: wire.Always},
	wire.Member{Name: "ttlMs", In: wire.Always},
	wire.Member{Name: "pollIntervalMs", In: wire.Always},
	wire.Member{Name: "inputRequests", In: wire.Always},
	wire.Member{Name: "result", In: wire.Always},
	wire.Member{Name: "error", In: wire.Always},
)

// AppendJSON implements [wire.Value].
func (t *Task) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(t.members(b, e), start)
}

func (t *Task) members(b []byte, e *wire.Encoder) []byte {
	b = wire.AppendString(append(b, `,"taskId":`...), t.ID)
	b = wire.AppendString(append(b, `,"status":`...), string(t.Status))
	if t.StatusMessage != "" {
		b = wire.AppendString(append(b, `,"statusMessage":`...), t.StatusMessage)
	}
	b = wire.AppendString(append(b, `,"createdAt":`...), t.CreatedAt.UTC().Format(timeLayout))
	b = wire.AppendString(append(b, `,"lastUpdatedAt":`...), t.LastUpdatedAt.UTC().Format(timeLayout))
	if b = append(b, `,"ttlMs":`...); t.TTL < 0 {
		b = append(b, "null"...)
	} else {
		b = wire.AppendInt(b, t.TTL.Milliseconds())
	}
	if t.PollInterval > 0 {
		b = wire.AppendInt(append(b, `,"pollIntervalMs":`...), t.PollInterval.Milliseconds())
	}
	if t.InputRequests != nil {
		b = wire.AppendMap(append(b, `,"inputRequests":`...), e, t.InputRequests, appendInputRequest)
	}
	if t.Result != nil {
		b = e.Raw(append(b, `,"result":`...), t.Result, "")
	}
	if t.Error != nil {
		b = t.Error.AppendJSON(append(b, `,"error":`...), e)
	}
	return e.Extra(b, t.Extra, taskMembers)
}

// timeLayout is the layout of a time in a message.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

func appendInputRequest(b []byte, e *wire.Encoder, r mcp.InputRequest) []byte {
	if r == nil {
		return e.Missing(b, "InputRequest")
	}
	return r.AppendJSON(b, e)
}

// DecodeJSON implements [wire.Value].
func (t *Task) DecodeJSON(d *wire.Decoder) {
	t.TTL = -1 // null, or missing
	for o := d.Object(taskMembers); o.Next(); {
		switch o.Name {
		case "taskId":
			t.ID = d.String()
		case "status":
			t.Status = mcp.TaskStatus(d.String())
		case "statusMessage":
			t.StatusMessage = d.String()
		case "createdAt":
			t.CreatedAt = decodeTime(d)
		case "lastUpdatedAt":
			t.LastUpdatedAt = decodeTime(d)
		case "ttlMs":
			t.TTL = decodeMilliseconds(d, -1)
		case "pollIntervalMs":
			t.PollInterval = decodeMilliseconds(d, 0)
		case "inputRequests":
			t.InputRequests = wire.Map(d, decodeInputRequest)
		case "result":
			t.Result = d.RawObject()
		case "error":
			t.Error = new(wire.ErrorObject)
			t.Error.DecodeJSON(d)
		case "_meta", "resultType":
			d.Skip()
		default:
			t.Extra = o.Extra(t.Extra)
		}
	}
}

func decodeTime(d *wire.Decoder) time.Time {
	text := d.String()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && d.Err() == nil {
		d.Fail("want a time, have %q", text)
	}
	return at
}

// decodeMilliseconds decodes a duration and limits it to the longest one. For an invalid
// value it returns missing: these durations are hints, so they must not fail the task.
func decodeMilliseconds(d *wire.Decoder, missing time.Duration) time.Duration {
	var ms int64
	if !d.Try(func(d *wire.Decoder) { ms = d.Int(0, math.MaxInt64) }) {
		d.Skip()
		return missing
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func decodeInputRequest(d *wire.Decoder) mcp.InputRequest {
	raw := d.RawObject()
	if d.Err() != nil {
		return nil
	}
	r, err := mcp.UnmarshalInputRequest(raw)
	if err != nil {
		d.FailWith(err)
	}
	return r
}
