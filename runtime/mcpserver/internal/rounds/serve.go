package rounds

import (
	"context"
	"errors"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/request"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Begin implements [connection.Rounds].
func (r *Rules) Begin(ctx context.Context, in *peer.Inbound) connection.Round {
	return &Round{rules: r, conn: connection.FromContext(ctx), reports: !in.Token.IsZero()}
}

// Serve implements [connection.Rounds]. For a handler that asks no questions it makes no
// round, and adds no other function to the stack.
func (r *Rules) Serve(ctx context.Context, in *peer.Inbound, req peer.Message, handler Handler) (res wire.Value, err error) {
	conn := connection.FromContext(ctx)
	if conn == nil {
		return nil, errLost
	}
	defer end(ctx) // also if the handler panics
	inAnswer := asksInResponses(conn)
	if inAnswer {
		if req, err = r.begin(ctx, in, req); err != nil {
			return nil, err
		}
	}
	if pick := r.opts.Pick; pick != nil {
		var picked Handler
		if picked, err = pick(ctx, req); picked != nil {
			handler = picked
		}
	}
	if err == nil {
		res, err = handler(ctx, req)
	}
	ask := asks(res, err)
	switch {
	case inAnswer:
		if b := end(ctx); b != nil || ask != nil {
			return r.Begin(ctx, in).(*Round).finish(ctx, in, b, ask, res, err)
		}
	case ask != nil:
		if round := From(ctx); round != nil {
			return round.askAndRepeat(ctx, req, ask, handler)
		}
		return nil, errLost
	}
	return res, err
}

// end ends the round of a request, if it has begun. It returns the data of the round, which do
// not change any more, or nil.
func end(ctx context.Context) *roundData {
	if r, begun := connection.EndRound(ctx).(*Round); begun {
		return r.close()
	}
	return nil
}

// begin decodes the responses and the state of a request, and returns the request for its
// handler. The state in that request is the handler's own, if it has any.
func (r *Rules) begin(ctx context.Context, in *peer.Inbound, req peer.Message) (peer.Message, error) {
	answers, sealed, can := mcp.InputOf(req)
	if !can {
		answers, sealed = input(in, frameOf(connection.FromContext(ctx)))
	}
	if answers == nil && sealed == nil {
		return req, nil
	}
	round := From(ctx)
	if round == nil {
		return nil, errLost
	}
	b := &roundData{fresh: answers}
	if sealed != nil {
		s, err := round.unseal(in, *sealed)
		if err != nil {
			r.logRejected(ctx, in.Method, err)
			return nil, errState
		}
		b.state, b.hasState = *s, true
		req = with(req, answers, s.upstreamState(""))
		request.Set(ctx, req)
	}
	round.open(b)
	return req, nil
}

// unseal decrypts the state of a request. The state is bound to the message that middleware
// has made of the request, as it was when the state was encrypted.
func (r *Round) unseal(in *peer.Inbound, sealed string) (*state, error) {
	if len(sealed) > r.rules.opts.MaxState {
		return nil, errTooLong
	}
	bound, err := binding(r.rules.opts.ServerName, in, r.frame())
	if err != nil {
		return nil, err
	}
	content, err := r.rules.sealer().open(sealed, bound)
	if err != nil {
		return nil, err
	}
	s, err := parse(content)
	if err != nil || r.rules.opts.IsStateLocal != nil && r.rules.opts.IsStateLocal(in) {
		return s, err
	}
	return s, s.fresh(time.Now(), r.rules.opts.Expiry)
}

// logRejected logs why request state was rejected. An unknown key is a mistake in the
// configuration, and is logged once as a warning; other reasons are logged for debugging.
func (r *Rules) logRejected(ctx context.Context, method string, err error) {
	if !errors.Is(err, errUnknownKey) {
		r.opts.Logger.DebugContext(ctx, "request state rejected", "method", method, "error", err)
		return
	}
	r.unknown.Do(func() {
		r.opts.Logger.WarnContext(ctx, "request state rejected: unknown key; all replicas, and a server after a restart, "+
			"need the same QuestionOptions.SealKeys (logged once)", "method", method, "error", err)
	})
}
