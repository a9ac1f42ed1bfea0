package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// taskRun is a call that may continue after its request was answered. It has its own context,
// with the values of the request's context, and a copy of the message.
type taskRun struct {
	kit      *service
	ctx      context.Context
	end      context.CancelCauseFunc
	in       peer.Inbound
	req      *mcp.CallToolRequest
	frame    *wire.Frame   // the revision in which results are encoded
	outcome  chan response // capacity 1
	progress atomic.Pointer[string]
	opts     *connection.Options // of the connection of each run
	local    bool                // the request state has never left the server
}

var _ activeRun = (*taskRun)(nil)

// response is the response of a run.
type response struct {
	reply peer.Reply
	err   error
}

// newRun starts to run a call.
func (k *service) newRun(ctx context.Context, in *peer.Inbound, req *mcp.CallToolRequest) *taskRun {
	r := k.prepareRun(ctx, in, req)
	go r.run(r.req, 0) // ends when the handler returns
	return r
}

// prepareRun returns a run that has not started.
func (k *service) prepareRun(ctx context.Context, in *peer.Inbound, req *mcp.CallToolRequest) *taskRun {
	r := &taskRun{kit: k, req: withSenderMeta(ctx, req), frame: &wire.Frame{Revision: revisionOf(ctx)}, outcome: make(chan response, 1)}
	r.ctx, r.end = context.WithCancelCause(context.WithoutCancel(ctx))
	r.opts = connection.FromContext(ctx).Options()
	r.in = peer.Inbound{Method: in.Method, ID: in.ID, Token: in.Token, Transport: in.Transport}
	back := &backChannel{in.Back, r}
	if r.in.Back = back; in.Back == nil {
		back.BackChannel = outbound.None{}
	}
	return r
}

// isStateLocal reports whether the request state of a request has never left the server.
func isStateLocal(in *peer.Inbound) bool {
	b, runs := in.Back.(*backChannel)
	return runs && b.run.local
}

// withSenderMeta returns a copy of a call whose metadata identifies the sender. In process,
// requests may come without it.
func withSenderMeta(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolRequest {
	whole, meta := *req, connection.SenderMetaFromContext(ctx)
	if req.Meta != nil {
		meta.ProgressToken, meta.Extra = req.Meta.ProgressToken, req.Meta.Extra
	}
	whole.Meta = meta
	return &whole
}

// run runs the call after a pause, as if the client had sent it again.
func (r *taskRun) run(req *mcp.CallToolRequest, pause time.Duration) {
	out := response{err: errors.New("handler called runtime.Goexit")}
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

// rescue converts a panic to an error.
func (r *taskRun) rescue(err *error) {
	if p := recover(); p != nil {
		*err = failure.Log(r.ctx, r.kit.server.Logger, &r.in, failure.NewPanicError(p), true)
	}
}

// write encodes the result of a task, which may call methods of the program.
func (r *taskRun) write(res wire.Value) (raw json.RawMessage, err error) {
	defer r.rescue(&err)
	if raw, err = wire.Append(nil, r.frame, res); err != nil {
		err = fmt.Errorf("encode result of task: %w", err)
	}
	return raw, err
}

// answer returns the response of a call that did not become a task.
func (r *taskRun) answer(out response) (peer.Reply, error) {
	r.end(nil)
	return out.reply, out.err
}

// abandon cancels a call whose request has ended. It waits for the handler, as for every
// request.
func (r *taskRun) abandon(ctx context.Context) (peer.Reply, error) {
	r.end(context.Cause(ctx))
	return r.answer(<-r.outcome)
}

// Wait implements [activeRun].
func (r *taskRun) Wait() runOutcome {
	out := <-r.outcome
	if out.err == nil {
		if ask, ok := out.reply.Result.(*mcp.InputRequiredResult); ok {
			return runOutcome{Ask: ask}
		}
		var raw json.RawMessage
		if raw, out.err = r.write(out.reply.Result); out.err == nil {
			return runOutcome{Result: raw}
		}
	}
	if peer.AsError(out.err) == nil {
		out.err = failure.Log(r.ctx, r.kit.server.Logger, &r.in, out.err, true)
	}
	e := failure.ForPeer(out.err)
	return runOutcome{Error: &wire.ErrorObject{Code: e.Code, Message: e.Message, Data: e.Data}}
}

// repeatDelay is the pause before a run that waits for something other than a response is
// repeated.
const repeatDelay = 250 * time.Millisecond

// Resume implements [activeRun].
func (r *taskRun) Resume(answers mcp.InputResponses, state *string) {
	pause := repeatDelay
	if len(answers) > 0 {
		pause = 0
	}
	r.local = true
	go r.run(mcp.WithInput(r.req, answers, state).(*mcp.CallToolRequest), pause) // ends when the handler returns
}

// End implements [activeRun].
func (r *taskRun) End(cause error) { r.end(cause) }

// Changed implements [activeRun].
func (r *taskRun) Changed(t *Task) { r.kit.changes.add(r.ctx, r.req.Name, t) }

// Message implements [activeRun]: it returns the latest progress message.
func (r *taskRun) Message() string {
	if text := r.progress.Load(); text != nil {
		return *text
	}
	return ""
}

// backChannel is the channel to the client of a run. It stores progress messages, and
// marks messages that a run, and not a client, has sent to the dispatcher.
type backChannel struct {
	peer.BackChannel
	run *taskRun
}

// Progress implements [peer.BackChannel].
func (b *backChannel) Progress(ctx context.Context, p peer.Progress) error {
	if p.Message != "" {
		b.run.progress.Store(&p.Message)
	}
	return b.BackChannel.Progress(ctx, p)
}
