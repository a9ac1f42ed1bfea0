package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/tasking"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// taskRun is a call that may outlive its request: it has a context of its own, with
// the values of the request's, and a copy of its message.
type taskRun struct {
	kit     *taskKit
	ctx     context.Context
	end     context.CancelCauseFunc
	in      peer.Inbound
	req     *mcp.CallToolRequest
	frame   *wire.Frame  // how it is written
	outcome chan outcome // holds one
	says    atomic.Pointer[string]
	opts    *connection.Options // of the connection that each run has
	kept    bool                // its state has not left this process
}

var _ tasking.Run = (*taskRun)(nil)

// outcome is what came of a run.
type outcome struct {
	reply peer.Reply
	err   error
}

// newRun begins to run a call.
func (k *taskKit) newRun(ctx context.Context, in *peer.Inbound, req *mcp.CallToolRequest) *taskRun {
	r := &taskRun{kit: k, req: enveloped(ctx, req), frame: &wire.Frame{Revision: revisionOf(ctx)}, outcome: make(chan outcome, 1)}
	r.ctx, r.end = context.WithCancelCause(context.WithoutCancel(ctx))
	r.opts = connection.FromContext(ctx).Options()
	r.in = peer.Inbound{Method: in.Method, ID: in.ID, Token: in.Token, Transport: in.Transport}
	back := &taskBack{in.Back, r}
	if r.in.Back = back; in.Back == nil {
		back.BackChannel = outbound.None{}
	}
	go r.run(r.req, 0) // ends with the function
	return r
}

// stateKept tells whether a request brings state that only this process had.
func stateKept(in *peer.Inbound) bool {
	b, runs := in.Back.(*taskBack)
	return runs && b.run.kept
}

// enveloped returns a call that says itself who sends it, as it need not in process.
func enveloped(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolRequest {
	whole, meta := *req, connection.SenderMetaFromContext(ctx)
	if req.Meta != nil {
		meta.ProgressToken, meta.Extra = req.Meta.ProgressToken, req.Meta.Extra
	}
	whole.Meta = meta
	return &whole
}

// run runs the call after a pause, as if the client had sent it again.
func (r *taskRun) run(req *mcp.CallToolRequest, pause time.Duration) {
	out := outcome{err: errors.New("the handler ended its goroutine")}
	defer func() { r.outcome <- out }()
	defer r.rescue(&out.err)
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-r.ctx.Done():
		}
	}
	in := r.in
	params, err := wire.AppendParams(nil, r.frame, req)
	if err != nil {
		out.err = err
		return
	}
	in.Params = params
	out.reply, out.err = r.kit.server.Dispatcher().ServeStateless(r.ctx, &in, r.opts)
}

// rescue makes an error of a panic, which would end the process.
func (r *taskRun) rescue(err *error) {
	if p := recover(); p != nil {
		r.kit.server.opts.Logger.ErrorContext(r.ctx, "handler panicked", "method", r.in.Method, "id", r.in.ID, "panic", p, "stack", string(debug.Stack()))
		*err = &peer.Error{Code: mcp.CodeInternal, Message: "Internal error"}
	}
}

// write writes the result of a task down. That calls the program's code, too.
func (r *taskRun) write(res wire.Value) (raw json.RawMessage, err error) {
	defer r.rescue(&err)
	if raw, err = wire.Append(nil, r.frame, res); err != nil {
		err = fmt.Errorf("result of the task: %w", err)
	}
	return raw, err
}

// answer is that of a call that is over in time.
func (r *taskRun) answer(out outcome) (peer.Reply, error) {
	r.end(nil)
	return out.reply, out.err
}

// giveUp is the end of a call whose client does not wait for it. As any other it is
// over when its function is.
func (r *taskRun) giveUp(ctx context.Context) (peer.Reply, error) {
	r.end(context.Cause(ctx))
	return r.answer(<-r.outcome)
}

// Wait implements [tasking.Run].
func (r *taskRun) Wait() tasking.Outcome {
	out := <-r.outcome
	if out.err == nil {
		if ask, ok := out.reply.Result.(*mcp.InputRequiredResult); ok {
			return tasking.Outcome{Ask: ask}
		}
		var raw json.RawMessage
		if raw, out.err = r.write(out.reply.Result); out.err == nil {
			return tasking.Outcome{Result: raw}
		}
	}
	e := peer.AsError(out.err)
	if e == nil {
		e = &peer.Error{Code: mcp.CodeInternal, Message: "Internal error"}
		if context.Cause(r.ctx) == nil {
			r.kit.server.opts.Logger.ErrorContext(r.ctx, "task failed", "tool", r.req.Name, "error", out.err)
		}
	}
	return tasking.Outcome{Error: &wire.ErrorObject{Code: e.Code, Message: e.Message, Data: e.Data}}
}

// pauseBetween is for a run that waits for something else than an answer.
const pauseBetween = 250 * time.Millisecond

// Again implements [tasking.Run].
func (r *taskRun) Again(answers mcp.InputResponses, state *string) {
	pause := pauseBetween
	if len(answers) > 0 {
		pause = 0
	}
	r.kept = true
	go r.run(mcp.WithInput(r.req, answers, state).(*mcp.CallToolRequest), pause) // ends with the function
}

// End implements [tasking.Run].
func (r *taskRun) End(cause error) { r.end(cause) }

// Message implements [tasking.Run]: the latest report of progress.
func (r *taskRun) Message() string {
	if text := r.says.Load(); text != nil {
		return *text
	}
	return ""
}

// taskBack leads to the client as long as its request has no answer. It keeps what
// is reported as progress, and tells the message of a run from that of a client.
type taskBack struct {
	peer.BackChannel
	run *taskRun
}

// Progress implements [peer.BackChannel].
func (b *taskBack) Progress(ctx context.Context, p peer.Progress) error {
	if p.Message != "" {
		b.run.says.Store(&p.Message)
	}
	return b.BackChannel.Progress(ctx, p)
}
