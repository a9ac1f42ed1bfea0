package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sessionTaskCall returns the request to send if a call of revision 2025-11-25 must run as a task, and
// otherwise nil. In that revision the client decides. It asks for a task if the caller does, or if
// the tool requires a task.
func (c *Client) sessionTaskCall(ctx context.Context, req peer.Message) *mcp.CallToolRequest {
	call, ok := req.(*mcp.CallToolRequest)
	if !ok || c.Revision() != mcp.Revision20251125 || !runsTasks(c.ServerCapabilities()) {
		return nil
	}
	if call.Task != nil {
		return call
	}
	if info := c.toolForCall(ctx, call.Name); info == nil || !info.requiresTask {
		return nil
	}
	with := *call
	with.Task = new(mcp.TaskMetadata)
	return &with
}

// runsTasks reports whether a server with these capabilities runs tool calls as tasks.
func runsTasks(caps *mcp.ServerCapabilities) bool {
	return caps != nil && caps.Tasks != nil && caps.Tasks.Requests != nil && caps.Tasks.Requests.Tools != nil && caps.Tasks.Requests.Tools.Call != nil
}

// callSessionTask makes a call that asks for a task of revision 2025-11-25, and waits until the task
// has finished.
func (c *Client) callSessionTask(ctx context.Context, call *mcp.CallToolRequest, res wire.Value, opts []peer.CallOption) error {
	r := &sessionTaskOrResult{result: res}
	if err := c.sendWithRetry(ctx, call, r, opts); err != nil || r.task == nil {
		return err
	}
	x := &sessionTask{client: c, state: sessionTaskState(r.task)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(&peer.ClosedError{Method: mcp.MethodCallTool, Cause: c.Err()}) })()
	err := x.await(ctx, res)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		x.cancel(ctx)
		err = context.Cause(ctx)
	}
	return &TaskError{x.state, err}
}

// sessionTaskOrResult decodes the result of a call, or the task that the server has created instead. A
// server may ignore that a call asks for a task.
type sessionTaskOrResult struct {
	wire.ReadOnly
	result wire.Value
	task   *mcp.Task
}

// DecodeJSON implements [wire.Value].
func (r *sessionTaskOrResult) DecodeJSON(d *wire.Decoder) {
	if _, kind := d.Peek("task"); kind != '{' {
		r.result.DecodeJSON(d)
		return
	}
	created := new(mcp.CreateTaskResult)
	created.DecodeJSON(d)
	r.task = &created.Task
}

// sessionTask is a task of revision 2025-11-25 that a call waits for.
type sessionTask struct {
	client *Client
	state  *tasks.Task // as the server reported it last
}

// await polls the task until it has finished or asks a question. It then requests the result. The
// server responds to that request when the task has finished, and sends the questions before.
func (x *sessionTask) await(ctx context.Context, res wire.Value) error {
	if err := x.poll(ctx); err != nil {
		return err
	}
	raw := new(outbound.RawResult)
	req := &mcp.GetTaskPayloadRequest{TaskID: x.state.ID}
	for failed := 0; ; failed++ {
		err := x.client.sendWithRetry(ctx, req, raw, []peer.CallOption{peer.WithTimeout(-1)})
		switch {
		case err == nil:
			return x.finish(ctx, raw.JSON, res)
		case ctx.Err() != nil || peer.AsError(err) != nil || failed == maxFailedPolls:
			return err
		}
		if err := sleep(ctx, pollInterval(x.state)); err != nil {
			return err
		}
	}
}

// poll requests the state of the task until the task has finished or asks a question.
func (x *sessionTask) poll(ctx context.Context) error {
	for failed := 0; ; {
		x.report(ctx)
		if x.state.Finished() || x.state.Status == mcp.TaskStatusInputRequired {
			return nil
		}
		if err := sleep(ctx, pollInterval(x.state)); err != nil {
			return err
		}
		err := x.refresh(ctx)
		switch failed++; {
		case err == nil:
			failed = 0
		case ctx.Err() != nil || peer.AsError(err) != nil || failed > maxFailedPolls:
			return err
		}
	}
}

// refresh requests the state of the task.
func (x *sessionTask) refresh(ctx context.Context) error {
	next, err := peer.SendRequest(ctx, x.client, &mcp.GetTaskRequest{TaskID: x.state.ID})
	if err != nil {
		return err
	}
	if next.TaskID != x.state.ID {
		return &connection.InvalidError{Method: mcp.MethodGetTask, Answer: true, Err: fmt.Errorf("response is about task %q, not %q", next.TaskID, x.state.ID)}
	}
	x.state = sessionTaskState(&mcp.Task{
		TaskID: next.TaskID, Status: next.Status, StatusMessage: next.StatusMessage, CreatedAt: next.CreatedAt,
		LastUpdatedAt: next.LastUpdatedAt, TTL: next.TTL, PollInterval: next.PollInterval, Extra: next.Extra,
	})
	return nil
}

// finish decodes the result and reports the last state.
func (x *sessionTask) finish(ctx context.Context, result json.RawMessage, res wire.Value) error {
	if !x.state.Finished() && x.client.opts.OnTask != nil && x.refresh(ctx) == nil {
		x.report(ctx)
	}
	return wire.Decode(result, &wire.Frame{Revision: mcp.Revision20251125}, res)
}

func (x *sessionTask) report(ctx context.Context) {
	if f := x.client.opts.OnTask; f != nil {
		f(ctx, x.state)
	}
}

// cancel cancels the task in the background.
func (x *sessionTask) cancel(ctx context.Context) {
	id := x.state.ID
	x.client.spawn(func() { // ends with the request, which the timeout and the client's end limit
		_, _ = peer.SendRequest(context.WithoutCancel(ctx), x.client, &mcp.CancelTaskRequest{TaskID: id})
	})
}

// sessionTaskState converts a task of revision 2025-11-25. A time that is no valid time is omitted.
func sessionTaskState(t *mcp.Task) *tasks.Task {
	state := &tasks.Task{ID: t.TaskID, Status: t.Status, StatusMessage: t.StatusMessage, TTL: -1, Extra: t.Extra}
	state.CreatedAt, _ = time.Parse(time.RFC3339, t.CreatedAt)
	state.LastUpdatedAt, _ = time.Parse(time.RFC3339, t.LastUpdatedAt)
	if t.TTL != nil {
		state.TTL = milliseconds(*t.TTL)
	}
	if t.PollInterval != nil {
		state.PollInterval = milliseconds(*t.PollInterval)
	}
	return state
}

// milliseconds returns a number of milliseconds as a duration that is not negative.
func milliseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(n, 0), most)) * time.Millisecond
}
