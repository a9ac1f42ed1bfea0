package sessiontasks

import (
	"context"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// payload waits until a task has ended and returns its result. Meanwhile it sends the questions of
// the task.
func (t *Table) payload(ctx context.Context, req *mcp.GetTaskPayloadRequest) (wire.Value, error) {
	owner := t.opts.Owner(ctx)
	x := t.find(owner, req.TaskID)
	if key, ok := t.recordOwner(owner); ok && x == nil {
		raw, err := t.remotePayload(ctx, key, req.TaskID)
		if err != nil {
			return nil, err
		}
		return &outbound.RawResult{JSON: raw}, nil
	}
	if x == nil {
		return nil, unknownTask(req.TaskID)
	}
	back := channelOf(ctx)
	r := x.beginResult(ctx)
	defer x.endResult(r)
	for {
		turn, questions := x.turn(r)
		select {
		case <-x.done:
			raw, err := x.outcome()
			if err != nil {
				return nil, err
			}
			return &outbound.RawResult{JSON: raw}, nil
		case q := <-questions:
			if err := connection.FromContext(ctx).Check(q.req); err != nil {
				q.err <- err
			} else {
				x.ask(turn, r, back, q)
			}
		case <-turn.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
}

// channelOf returns the channel of a request for the result of a task.
func channelOf(ctx context.Context) peer.Outbound {
	if back, ok := ctx.Value(channelKey{}).(peer.Outbound); ok {
		return back
	}
	return outbound.None{}
}

// resultRequest is an open request for the result of a task. Questions are sent on the channel of the
// latest request, because the peer may have lost the connection of an earlier one.
type resultRequest struct {
	ctx   context.Context
	asker storedAsker
	tried map[*sharedQuestion]bool // questions that the request has tried to send; used only by its goroutine

	// The lock of the table guards these fields.
	latest bool
	turn   context.Context // ends when latest changes, and with ctx
	end    context.CancelCauseFunc
}

// become sets whether r is the latest request. The caller holds the lock of the table.
func (r *resultRequest) become(latest bool) {
	if r.end != nil {
		r.end(errNotTaken)
	}
	r.latest = latest
	r.turn, r.end = context.WithCancelCause(r.ctx)
}

// beginResult adds a request for the result. A question that was sent on the channel of an earlier
// request is cancelled there, and sent again.
func (x *task) beginResult(ctx context.Context) *resultRequest {
	r := &resultRequest{ctx: ctx, asker: x.table.newAsker(), tried: make(map[*sharedQuestion]bool)}
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	if n := len(x.results); n > 0 {
		x.results[n-1].become(false)
	}
	x.results = append(x.results, r)
	r.become(true)
	return r
}

// endResult removes a request for the result.
func (x *task) endResult(r *resultRequest) {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	r.end(nil)
	i := slices.Index(x.results, r)
	x.results = slices.Delete(x.results, i, i+1)
	if n := len(x.results); r.latest && n > 0 {
		x.results[n-1].become(true)
	}
}

// turn returns the current turn of a request for the result. The channel of questions is nil unless
// the request is the latest one and still open.
func (x *task) turn(r *resultRequest) (turn context.Context, questions <-chan *question) {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	if r.latest && r.ctx.Err() == nil {
		questions = x.questions
	}
	return r.turn, questions
}
