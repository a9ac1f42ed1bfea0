package sessiontasks

import (
	"context"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// task implements [peer.BackChannel] for its handler: the channel of the request ends with the
// response, which was sent before the handler began.
var _ peer.BackChannel = (*task)(nil)

// IsRun reports whether a message is a request that a task runs, and not a message of the peer.
func IsRun(in *peer.Inbound) bool {
	_, runs := in.Back.(*task)
	return runs
}

// question is a request of a handler to the peer.
type question struct {
	ctx  context.Context
	req  peer.Message
	res  wire.Value
	opts []peer.CallOption
	err  chan error // capacity 1; errNotTaken if the question must be asked again
}

// Call implements [peer.Outbound]. The request is sent on the channel of a request for the result
// of the task, when there is one. Meanwhile the task requires input.
func (x *task) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	x.countQuestions(1)
	defer x.countQuestions(-1)
	for {
		q := &question{ctx, req, res, opts, make(chan error, 1)}
		select {
		case x.questions <- q:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
		if err := <-q.err; err != errNotTaken {
			return err
		}
	}
}

// countQuestions changes the number of open questions, and the status accordingly.
func (x *task) countQuestions(n int) {
	t := x.table
	t.mu.Lock()
	before := x.asked > 0
	x.asked += n
	changed := before != (x.asked > 0) && !x.finished()
	if changed {
		status := mcp.TaskStatusWorking
		if x.asked > 0 {
			status = mcp.TaskStatusInputRequired
		}
		x.become(status, "")
	}
	t.mu.Unlock()
	if changed {
		x.storeStatus()
		x.notifyStatus()
	}
}

// ask sends a question on the channel of a request for the result. If ctx ends before there is a
// response, the question must be asked again.
func (x *task) ask(ctx context.Context, back peer.Outbound, q *question) {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.ctx, func() { cancel(context.Cause(q.ctx)) })()
	defer context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })()
	err := back.Call(asking, q.req, q.res, x.relatedOptions(q.opts)...)
	if err != nil && ctx.Err() != nil {
		err = errNotTaken
	}
	q.err <- err
}

// Notify implements [peer.Outbound], on the connection's own channel.
func (x *task) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if x.ctx.Err() != nil {
		return nil // the task has ended
	}
	return x.conn.Options().Outbound.Notify(ctx, n, x.relatedOptions(opts)...)
}

// Progress implements [peer.BackChannel]. The message becomes the status message of the task.
func (x *task) Progress(ctx context.Context, p peer.Progress) error {
	if !x.report.advance(p) || x.in.Token.IsZero() {
		return nil
	}
	return x.Notify(ctx, &mcp.ProgressNotification{
		ProgressToken: x.in.Token, Progress: p.Progress, Total: p.Total, Message: p.Message,
	})
}

// progressReport is the latest progress report of a task.
type progressReport struct {
	mu       sync.Mutex // guards the fields below
	reported bool
	last     float64
	text     string
}

// advance stores a report. It returns false if the progress is not greater than before.
func (r *progressReport) advance(p peer.Progress) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Message != "" {
		r.text = clip(p.Message)
	}
	if r.reported && p.Progress <= r.last {
		return false
	}
	r.reported, r.last = true, p.Progress
	return true
}

func (r *progressReport) message() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}
