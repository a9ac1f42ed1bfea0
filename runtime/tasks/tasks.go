// Package tasks has the messages of the extension "io.modelcontextprotocol/tasks" of
// revision 2026-07-28: a server may answer the call of a tool with a task in place
// of a result, and the client looks at the task until it has come to its end.
//
// Both kits do all of that themselves. A server says how long a call may take before
// it goes on as a task:
//
//	server := mcpserver.New(info, &mcpserver.Options{Tasks: &mcpserver.TaskOptions{After: 2 * time.Second}})
//	mcpserver.AddTool(server, &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}, render)
//
// and for a client with the option Tasks it is a call like any other. The messages
// are for those who want to do otherwise:
//
//	task, err := peer.SendRequest(ctx, client, &tasks.GetRequest{Of: tasks.Of{ID: id}})
//
// The tasks of 2025-11-25 are another thing, and their messages are in package mcp.
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

// ResultType is the type of a result that is a task.
const ResultType mcp.ResultType = "task"

// Task is how far a piece of work has come. One that is completed, failed or
// cancelled does not change any more.
type Task struct {
	// ID identifies the task. Whoever knows it, and is who began the task, may see
	// what comes of it.
	ID string
	// Status says how far it has come, and StatusMessage says it to people.
	Status        mcp.TaskStatus
	StatusMessage string
	// CreatedAt is when it began, LastUpdatedAt when it last changed.
	CreatedAt, LastUpdatedAt time.Time
	// TTL is for how long after its creation it is kept; negative is without end.
	TTL time.Duration
	// PollInterval is how long to wait between two looks, 0 where nothing is
	// suggested.
	PollInterval time.Duration

	// InputRequests are what the task waits for: the questions without an answer,
	// by the key that an answer bears. They are there while Status is
	// [mcp.TaskStatusInputRequired], and a GetRequest asks.
	InputRequests mcp.InputRequests
	// Result is what came of it, as the method that began it answers otherwise;
	// nil unless it is completed, and a GetRequest asks.
	Result json.RawMessage
	// Error is why it failed; nil unless it did, and a GetRequest asks.
	Error *wire.ErrorObject
	// Extra holds the members that are not known here.
	Extra map[string]json.RawMessage
}

// Over tells whether a task does not change any more.
func (t *Task) Over() bool {
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
	b = wire.AppendString(append(b, `,"createdAt":`...), t.CreatedAt.UTC().Format(moment))
	b = wire.AppendString(append(b, `,"lastUpdatedAt":`...), t.LastUpdatedAt.UTC().Format(moment))
	if b = append(b, `,"ttlMs":`...); t.TTL < 0 {
		b = append(b, "null"...)
	} else {
		b = wire.AppendInt(b, t.TTL.Milliseconds())
	}
	if t.PollInterval > 0 {
		b = wire.AppendInt(append(b, `,"pollIntervalMs":`...), t.PollInterval.Milliseconds())
	}
	if t.InputRequests != nil {
		b = wire.AppendMap(append(b, `,"inputRequests":`...), e, t.InputRequests, appendQuestion)
	}
	if t.Result != nil {
		b = e.Raw(append(b, `,"result":`...), t.Result, "")
	}
	if t.Error != nil {
		b = t.Error.AppendJSON(append(b, `,"error":`...), e)
	}
	return e.Extra(b, t.Extra, taskMembers)
}

// moment is how the messages write a point in time.
const moment = "2006-01-02T15:04:05.000Z07:00"

func appendQuestion(b []byte, e *wire.Encoder, q mcp.InputRequest) []byte {
	if q == nil {
		return e.Missing(b, "InputRequest")
	}
	return q.AppendJSON(b, e)
}

// DecodeJSON implements [wire.Value].
func (t *Task) DecodeJSON(d *wire.Decoder) {
	t.TTL = -1 // null, which some leave out
	for o := d.Object(taskMembers); o.Next(); {
		switch o.Name {
		case "taskId":
			t.ID = d.String()
		case "status":
			t.Status = mcp.TaskStatus(d.String())
		case "statusMessage":
			t.StatusMessage = d.String()
		case "createdAt":
			t.CreatedAt = decodeMoment(d)
		case "lastUpdatedAt":
			t.LastUpdatedAt = decodeMoment(d)
		case "ttlMs":
			t.TTL = decodeMilliseconds(d, -1)
		case "pollIntervalMs":
			t.PollInterval = decodeMilliseconds(d, 0)
		case "inputRequests":
			t.InputRequests = wire.Map(d, decodeQuestion)
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

func decodeMoment(d *wire.Decoder) time.Time {
	text := d.String()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && d.Err() == nil {
		d.Fail("want a point in time, have %q", text)
	}
	return at
}

// decodeMilliseconds reads a time, the longest there is for a longer one. It is a hint,
// and a bad one counts as a missing one: it must not fail the task.
func decodeMilliseconds(d *wire.Decoder, missing time.Duration) time.Duration {
	var ms int64
	if !d.Try(func(d *wire.Decoder) { ms = d.Int(0, math.MaxInt64) }) {
		d.Skip()
		return missing
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func decodeQuestion(d *wire.Decoder) mcp.InputRequest {
	raw := d.RawObject()
	if d.Err() != nil {
		return nil
	}
	q, err := mcp.UnmarshalInputRequest(raw)
	if err != nil {
		d.FailWith(err)
	}
	return q
}
