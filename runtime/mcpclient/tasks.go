package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TaskError reports that a call has become a task without a result.
type TaskError struct {
	// Task is the last known state of the task.
	Task *tasks.Task
	// Err is the cause: the server's error, or why this client stopped polling.
	Err error
}

// Error implements error.
func (e *TaskError) Error() string {
	return fmt.Sprintf("task %q %s: %v", e.Task.ID, e.Task.Status, e.Err)
}

// Unwrap returns Err.
func (e *TaskError) Unwrap() error { return e.Err }

// taskOrResult decodes a result, or the task that the server has created instead.
type taskOrResult struct {
	wire.ReadOnly
	result wire.Value
	task   *tasks.Task
}

// DecodeJSON implements [wire.Value].
func (r *taskOrResult) DecodeJSON(d *wire.Decoder) {
	if kind, _ := d.Peek("resultType"); kind != string(tasks.ResultType) {
		r.result.DecodeJSON(d)
		return
	}
	created := new(tasks.CreateResult)
	created.DecodeJSON(d)
	if d.Err() != nil {
		return
	}
	task, err := tasks.FromCreateResult(created)
	if err != nil {
		d.FailWith(err)
		return
	}
	r.task = task
}

// callWithTask makes a call. If the server creates a task, it waits until the task has finished.
func (c *Client) callWithTask(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	_, begins := res.(*mcp.CreateTaskResult) // the caller polls the task
	if !c.opts.Tasks || begins || req.Method() != mcp.MethodCallTool {
		return c.sendWithRetry(ctx, req, res, opts)
	}
	if call := c.sessionTaskCall(ctx, req); call != nil {
		return c.callSessionTask(ctx, call, res, opts)
	}
	r := &taskOrResult{result: res}
	err := c.sendWithRetry(ctx, req, r, opts)
	if r.task == nil && (err == nil || outbound.IsInvalidResponse(err)) {
		return cmp.Or(checkComplete(res), err)
	}
	if err != nil {
		return err
	}
	task, err := c.pollTask(ctx, r.task)
	if err == nil {
		err = decodeTaskResult(task, c.Revision(), res)
	}
	if err != nil {
		return &TaskError{task, err}
	}
	return nil
}

// checkComplete returns an error if a result is not complete. For other results the connection
// checks this.
func checkComplete(res wire.Value) error {
	if kind := mcp.ResultTypeOf(res); kind != "" && kind != mcp.ResultTypeComplete {
		return resultTypeError(kind)
	}
	return nil
}

func resultTypeError(kind mcp.ResultType) error {
	return &connection.InvalidError{Method: mcp.MethodCallTool, Answer: true, Err: fmt.Errorf("unexpected result type %q", kind)}
}

// decodeTaskResult decodes the result of a finished task. A task requests input while it runs, so its
// result cannot be another input request.
func decodeTaskResult(t *tasks.Task, r wire.Revision, res wire.Value) error {
	switch {
	case t.Status == mcp.TaskStatusFailed && t.Error != nil:
		return mcp.ErrorFrom(&peer.Error{Code: t.Error.Code, Message: t.Error.Message, Data: t.Error.Data})
	case t.Status != mcp.TaskStatusCompleted:
		return errors.New("task has no result")
	}
	err := wire.Decode(t.Result, &wire.Frame{Revision: r}, res)
	if _, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return resultTypeError(mcp.ResultTypeInputRequired)
	}
	if err != nil {
		return err
	}
	return checkComplete(res)
}

const (
	defaultPollInterval = time.Second
	minPollInterval     = 20 * time.Millisecond
)

// pollTask polls a task until it has finished, and handles each of its input requests once. If ctx
// or the client ends before, it cancels the task. It returns the last known state.
func (c *Client) pollTask(ctx context.Context, t *tasks.Task) (*tasks.Task, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(&peer.ClosedError{Method: mcp.MethodCallTool, Cause: c.Err()}) })()
	handled := make(map[string]bool) // keys of handled input requests; the server may still list them
	var unsent mcp.InputResponses    // responses that the server has not received
	polled := false                  // only a polled state contains the result
	var asked roundCount
	var polls outbound.Polls
	for {
		if f := c.opts.OnTask; f != nil {
			f(ctx, t)
		}
		switch requests := unhandled(t.InputRequests, handled); {
		case t.Finished() && polled:
			return t, nil
		case t.Finished() && polls == (outbound.Polls{}):
		case t.Status == mcp.TaskStatusInputRequired && len(requests) > 0:
			err := asked.begin(&c.opts, mcp.MethodCallTool, requests)
			if err != nil {
				return t, c.cancelTask(ctx, t, err)
			}
			if unsent, err = c.handleInputRequests(ctx, mcp.MethodCallTool, requests); err != nil {
				return t, c.cancelTask(ctx, t, err)
			}
			for key := range requests {
				handled[key] = true
			}
		default:
			if err := sleep(ctx, polls.Delay(pollInterval(t))); err != nil {
				return t, c.cancelTask(ctx, t, err)
			}
		}
		next, err := c.getTask(ctx, t, &unsent)
		switch {
		case err == nil:
			t, polled = next, true
			polls.Succeeded()
		case ctx.Err() != nil:
			return t, c.cancelTask(ctx, t, err)
		case polls.Again(err):
		case unsent != nil:
			return t, c.cancelTask(ctx, t, err)
		default:
			return t, err
		}
	}
}

// unhandled returns the requests whose keys are not in handled.
func unhandled(requests mcp.InputRequests, handled map[string]bool) mcp.InputRequests {
	rest := maps.Clone(requests)
	maps.DeleteFunc(rest, func(key string, _ mcp.InputRequest) bool { return handled[key] })
	return rest
}

func pollInterval(t *tasks.Task) time.Duration {
	if t.PollInterval == 0 {
		return defaultPollInterval
	}
	return max(t.PollInterval, minPollInterval)
}

// getTask sends the unsent input responses and requests the state of a task.
func (c *Client) getTask(ctx context.Context, t *tasks.Task, unsent *mcp.InputResponses) (*tasks.Task, error) {
	if *unsent != nil {
		if _, err := peer.SendRequest(ctx, c, &tasks.UpdateRequest{TaskID: t.ID, InputResponses: *unsent}); err != nil {
			return nil, err
		}
		*unsent = nil
	}
	res, err := peer.SendRequest(ctx, c, &tasks.GetRequest{TaskID: t.ID})
	if err != nil {
		return nil, err
	}
	next, err := tasks.FromResult(res)
	if err == nil && next.ID != t.ID {
		err = fmt.Errorf("response is about task %q, not %q", next.ID, t.ID)
	}
	if err != nil {
		return nil, &connection.InvalidError{Method: tasks.MethodGet, Answer: true, Err: err}
	}
	return next, nil
}

// cancelTask cancels a task in the background and returns err.
func (c *Client) cancelTask(ctx context.Context, t *tasks.Task, err error) error {
	c.spawn(func() { // ends with the request, which the timeout and the client's end limit
		_, _ = peer.SendRequest(context.WithoutCancel(ctx), c, &tasks.CancelRequest{TaskID: t.ID})
	})
	return err
}
