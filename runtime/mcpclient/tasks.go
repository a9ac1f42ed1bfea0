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
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TaskError says that a call has become a task without a result.
type TaskError struct {
	// Task is the task as it was last seen.
	Task *tasks.Task
	// Err is why there is none: the server's error, or what keeps this client from
	// looking.
	Err error
}

// Error implements error.
func (e *TaskError) Error() string {
	return fmt.Sprintf("task %q %s: %v", e.Task.ID, e.Task.Status, e.Err)
}

// Unwrap returns Err.
func (e *TaskError) Unwrap() error { return e.Err }

// taskAnswer reads a result, or the task in its place.
type taskAnswer struct {
	wire.ReadOnly
	result wire.Value
	task   *tasks.Task
}

// DecodeJSON implements [wire.Value].
func (a *taskAnswer) DecodeJSON(d *wire.Decoder) {
	if kind, _ := d.Peek("resultType"); kind != string(tasks.ResultType) {
		a.result.DecodeJSON(d)
		return
	}
	a.task = new(tasks.Task)
	a.task.DecodeJSON(d)
}

// try sends a request once. If it is answered with a task, that is followed to its
// end.
func (c *Client) try(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	if !c.opts.Tasks || req.Method() != mcp.MethodCallTool {
		return c.deliver(ctx, req, res, opts)
	}
	a := &taskAnswer{result: res}
	err := c.deliver(ctx, req, a, opts)
	if a.task == nil && (err == nil || connection.BadAnswer(err)) {
		return cmp.Or(whole(res), err)
	}
	if err != nil {
		return err
	}
	task, err := c.attend(ctx, a.task)
	if err == nil {
		err = c.outcomeOf(task, res)
	}
	if err != nil {
		return &TaskError{task, err}
	}
	return nil
}

// whole tells whether a result is of the type that was asked for, as a connection
// does that has it before its eyes.
func whole(res wire.Value) error {
	if kind := mcp.ResultTypeOf(res); kind != "" && kind != mcp.ResultTypeComplete {
		return unasked(kind)
	}
	return nil
}

func unasked(kind mcp.ResultType) error {
	return &connection.InvalidError{Method: mcp.MethodCallTool, Answer: true, Err: fmt.Errorf("no result of the type %q was asked for", kind)}
}

// outcomeOf reads the result of a task that is over. What a task asks it has asked
// before: a question in place of its result is none.
func (c *Client) outcomeOf(t *tasks.Task, res wire.Value) error {
	switch {
	case t.Status == mcp.TaskStatusFailed && t.Error != nil:
		return mcp.ErrorFrom(&peer.Error{Code: t.Error.Code, Message: t.Error.Message, Data: t.Error.Data})
	case t.Status != mcp.TaskStatusCompleted:
		return errors.New("the server has no result for it")
	}
	err := wire.Decode(t.Result, &wire.Frame{Revision: c.Revision()}, res)
	switch {
	case questions(err) != nil:
		return unasked(mcp.ResultTypeInputRequired)
	case err != nil:
		return err
	}
	return whole(res)
}

const (
	defaultPoll  = time.Second
	shortestPoll = 20 * time.Millisecond
	// mostMisses is how often in a row a look, or an answer, may fail that another
	// may mend.
	mostMisses = 3
)

// attend looks at a task until it is over, and answers what it asks for, each
// question once. A task that nobody waits for any more is given up. It returns the
// task as last seen.
func (c *Client) attend(ctx context.Context, t *tasks.Task) (*tasks.Task, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(&peer.ClosedError{Method: mcp.MethodCallTool, Cause: c.Err()}) })()
	answered := make(map[string]bool) // which the server may not know yet
	var untold mcp.InputResponses     // answers that it was not sent yet, or in vain
	looked := false                   // what came of it is told to those who look
	for misses, rounds := 0, 0; ; {
		if f := c.opts.OnTask; f != nil {
			f(ctx, t)
		}
		switch open := without(t.InputRequests, answered); {
		case t.Finished() && looked:
			return t, nil
		case t.Finished():
		case t.Status == mcp.TaskStatusInputRequired && len(open) > 0:
			if rounds++; rounds > c.opts.MaxRounds {
				return t, c.giveUp(ctx, t, &RoundsError{mcp.MethodCallTool, rounds - 1})
			}
			var err error
			if untold, err = c.answer(ctx, mcp.MethodCallTool, &mcp.InputRequiredResult{InputRequests: open}); err != nil {
				return t, c.giveUp(ctx, t, err)
			}
			for key := range open {
				answered[key] = true
			}
		default:
			if err := rest(ctx, pollInterval(t)); err != nil {
				return t, c.giveUp(ctx, t, err)
			}
		}
		next, err := c.look(ctx, t, &untold)
		switch misses++; {
		case err == nil:
			t, misses, looked = next, 0, true
		case ctx.Err() != nil:
			return t, c.giveUp(ctx, t, err)
		case peer.AsError(err) == nil && misses <= mostMisses:
		case untold != nil:
			return t, c.giveUp(ctx, t, err)
		default:
			return t, err
		}
	}
}

// without returns the questions that are not among those answered.
func without(questions mcp.InputRequests, answered map[string]bool) mcp.InputRequests {
	open := maps.Clone(questions)
	maps.DeleteFunc(open, func(key string, _ mcp.InputRequest) bool { return answered[key] })
	return open
}

// pollInterval is how long to wait before the next look.
func pollInterval(t *tasks.Task) time.Duration {
	if t.PollInterval == 0 {
		return defaultPoll
	}
	return max(t.PollInterval, shortestPoll)
}

// look sends the server the answers that it has not got yet, and looks at a task.
func (c *Client) look(ctx context.Context, t *tasks.Task, untold *mcp.InputResponses) (*tasks.Task, error) {
	ref := tasks.Ref{ID: t.ID}
	if *untold != nil {
		if _, err := peer.SendRequest(ctx, c, &tasks.UpdateRequest{Ref: ref, InputResponses: *untold}); err != nil {
			return nil, err
		}
		*untold = nil
	}
	next, err := peer.SendRequest(ctx, c, &tasks.GetRequest{Ref: ref})
	if err == nil && next.ID != t.ID {
		err = &connection.InvalidError{Method: tasks.MethodGet, Answer: true, Err: fmt.Errorf("it is about the task %q instead of %q", next.ID, t.ID)}
	}
	return next, err
}

// giveUp tells the server that nobody waits for a task any more, because of err.
func (c *Client) giveUp(ctx context.Context, t *tasks.Task, err error) error {
	c.spawn(func() { // ends with the request, which the client's timeout and end bound
		_, _ = peer.SendRequest(context.WithoutCancel(ctx), c, &tasks.CancelRequest{Ref: tasks.Ref{ID: t.ID}})
	})
	return err
}
