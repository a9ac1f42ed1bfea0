package sessiontasks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ResultOrTask decodes the result of a request that asks for a task, or the task that the peer has
// created instead. A peer may ignore that a request asks for a task.
type ResultOrTask struct {
	wire.ReadOnly
	// Result is what the result is decoded into.
	Result wire.Value
	// Task is nil if there is a result.
	Task *mcp.Task
}

// DecodeJSON implements [wire.Value].
func (r *ResultOrTask) DecodeJSON(d *wire.Decoder) {
	if _, kind := d.Peek("task"); kind != '{' {
		r.Result.DecodeJSON(d)
		return
	}
	created := new(mcp.CreateTaskResult)
	created.DecodeJSON(d)
	r.Task = &created.Task
}

// createTimeout is how long a request that asks for a task may outlive its caller.
const createTimeout = time.Second

// CreateContext returns the context of a request that asks for a task. It ends createTimeout after ctx. The
// peer may have created the task when ctx ends, and only the response contains the id that cancels it.
func CreateContext(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { // ends with late
		if err := pause(late, createTimeout); err == nil {
			cancel(context.Cause(ctx))
		}
	})
	return late, func() {
		stop()
		cancel(nil)
	}
}

// Waiter waits for a task of the peer.
type Waiter struct {
	// Out sends requests to the peer.
	Out peer.Outbound
	// OnState, if not nil, is called with each state of the task that the peer has sent.
	OnState func(ctx context.Context, t *mcp.Task)
	// Task is the last known state of the task.
	Task *mcp.Task
}

const (
	defaultPollInterval = time.Second
	minPollInterval     = 20 * time.Millisecond
)

// Await polls the task until it has finished or asks a question. It then requests the result, and
// decodes it into res. The peer responds to that request when the task has finished, and sends the
// questions before. If ctx ends, the caller cancels the task.
func (w *Waiter) Await(ctx context.Context, res wire.Value) error {
	raw, err := w.result(ctx)
	if err != nil {
		return err
	}
	if !isFinished(w.Task) && w.OnState != nil && w.refresh(ctx) == nil {
		w.OnState(ctx, w.Task)
	}
	return wire.Decode(raw, &wire.Frame{Revision: mcp.Revision20251125}, res)
}

// result requests the result until there is a response. The request stays open while a user answers a
// question, and a proxy may close it as often as it likes.
func (w *Waiter) result(ctx context.Context) (json.RawMessage, error) {
	raw := new(outbound.RawResult)
	var polls outbound.Polls
	for {
		if err := w.poll(ctx); err != nil {
			return nil, err
		}
		if !isFinished(w.Task) {
			polls.Succeeded()
		}
		err := w.Out.Call(ctx, &mcp.GetTaskPayloadRequest{TaskID: w.Task.TaskID}, raw, peer.WithTimeout(-1))
		if err == nil || ctx.Err() != nil || !polls.Again(err) {
			return raw.JSON, err
		}
		if err := w.next(ctx, polls); err != nil {
			return nil, err
		}
	}
}

// poll requests the state of the task until the task has finished or asks a question.
func (w *Waiter) poll(ctx context.Context) error {
	for {
		if w.OnState != nil {
			w.OnState(ctx, w.Task)
		}
		if isFinished(w.Task) || w.Task.Status == mcp.TaskStatusInputRequired {
			return nil
		}
		if err := w.next(ctx, outbound.Polls{}); err != nil {
			return err
		}
	}
}

// next pauses, and requests the state of the task until there is a response. Requests may have failed before.
func (w *Waiter) next(ctx context.Context, polls outbound.Polls) error {
	delay := polls.Delay(w.interval())
	for polls.Succeeded(); ; delay = polls.Delay(w.interval()) {
		if err := pause(ctx, delay); err != nil {
			return err
		}
		err := w.refresh(ctx)
		if err == nil || ctx.Err() != nil || !polls.Again(err) {
			return err
		}
	}
}

// refresh requests the state of the task.
func (w *Waiter) refresh(ctx context.Context) error {
	next, err := peer.SendRequest(ctx, w.Out, &mcp.GetTaskRequest{TaskID: w.Task.TaskID})
	if err != nil {
		return err
	}
	if next.TaskID != w.Task.TaskID {
		return &connection.InvalidError{Method: mcp.MethodGetTask, Answer: true, Err: fmt.Errorf("response is about task %q, not %q", next.TaskID, w.Task.TaskID)}
	}
	w.Task = &mcp.Task{
		TaskID: next.TaskID, Status: next.Status, StatusMessage: next.StatusMessage, CreatedAt: next.CreatedAt,
		LastUpdatedAt: next.LastUpdatedAt, TTL: next.TTL, PollInterval: next.PollInterval, Extra: next.Extra,
	}
	return nil
}

// interval returns the time between two requests that the peer suggests.
func (w *Waiter) interval() time.Duration {
	if w.Task.PollInterval == nil {
		return defaultPollInterval
	}
	return max(Milliseconds(*w.Task.PollInterval), minPollInterval)
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isFinished reports whether a task of the peer has ended.
func isFinished(t *mcp.Task) bool {
	return t.Status == mcp.TaskStatusCompleted || t.Status == mcp.TaskStatusFailed || t.Status == mcp.TaskStatusCancelled
}

// Milliseconds returns a number of milliseconds as a duration that is not negative.
func Milliseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(n, 0), most)) * time.Millisecond
}
