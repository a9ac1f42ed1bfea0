package rounds

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Call sends a request to an upstream server while the round's request is being handled. If
// the upstream server asks for input, its questions are added to the response, and the
// client's responses are sent upstream in the next round. In the handshake revisions the
// client is asked at once.
func (r *Round) Call(ctx context.Context, out peer.Outbound, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if r.reports {
		opts = append([]peer.CallOption{peer.OnProgress(func(p peer.Progress) { r.report(ctx, p) })}, opts...)
	}
	call := func(req peer.Message) error { return out.Call(ctx, req, res, opts...) }
	switch {
	case !isRepeatable(req):
		return call(req) // its result is never a question
	case !asksInResponses(r.conn):
		err := call(req)
		if ask := asks(nil, err); ask != nil {
			opts = append(opts[:len(opts):len(opts)], peer.WithID(wire.RequestID{})) // an id can be used once
			return r.repeatRequest(ctx, req, ask, call)
		}
		return err
	}
	p, err := r.upstreamInput(ctx, req)
	if err != nil {
		return err
	}
	err = call(with(req, p.answers, p.state))
	ask := asks(nil, err)
	if ask == nil {
		r.update(func(b *roundData) { b.state.setUpstreamState(p.id, nil) })
		return err
	}
	return r.recordUpstream(ctx, p.id, ask)
}

func (r *Round) report(ctx context.Context, p peer.Progress) {
	// It fails only if the handler has returned.
	_ = mcp.SessionFromContext(ctx).ReportProgress(ctx, p)
}

// upstreamInput is what the client has brought for an upstream request.
type upstreamInput struct {
	id      string // prefix of the keys of its questions
	answers mcp.InputResponses
	state   *string
}

// upstreamInput returns what the client has brought for an upstream request. The request is
// identified by its content, so that several requests are kept apart.
func (r *Round) upstreamInput(ctx context.Context, req peer.Message) (p upstreamInput, err error) {
	params, err := identity(&peer.Inbound{Value: req}, r.frame())
	if err != nil {
		return p, fmt.Errorf("forward %q: %w", req.Method(), err)
	}
	sum, err := digestOf(r.scope(ctx).text(), req.Method(), params)
	if err != nil {
		return p, fmt.Errorf("forward %q: %w", req.Method(), err)
	}
	open := r.update(func(b *roundData) {
		id := "to:" + sum.String()
		put(&b.counts, id, b.counts[id]+1)
		p.id = nth(id, b.counts[id]) + "/"
		p.state = b.state.upstreamState(p.id)
		p.answers = b.takeResponses(p.id)
	})
	if !open {
		err = errReturned
	}
	return p, err
}

// takeResponses removes and returns the responses to questions whose keys have a prefix: those
// that the request has brought, and those that earlier runs have not used.
func (b *roundData) takeResponses(prefix string) (answers mcp.InputResponses) {
	for key, e := range b.state.asked {
		theirs, ok := strings.CutPrefix(key, prefix)
		if !ok || e.answer == nil {
			continue
		}
		if answer, err := mcp.UnmarshalInputResponse(e.answer); err == nil {
			put(&answers, theirs, answer)
		}
		delete(b.state.asked, key)
	}
	for key, answer := range b.fresh {
		if theirs, ok := strings.CutPrefix(key, prefix); ok {
			put(&answers, theirs, answer)
			put(&b.used, key, true)
			delete(b.state.asked, key)
		}
	}
	return answers
}

// recordUpstream records the questions and the state of an upstream server.
func (r *Round) recordUpstream(ctx context.Context, id string, ask *mcp.InputRequiredResult) error {
	questions := make(mcp.InputRequests, len(ask.InputRequests))
	for key, question := range ask.InputRequests {
		if err := r.checkAllowed(key, question); err != nil {
			return err
		}
		questions[id+key] = question
	}
	own := r.scope(ctx)
	open := r.update(func(b *roundData) {
		for key, question := range questions {
			put(&b.open, key, question)
			put(&b.state.asked, key, entry{})
		}
		b.state.setUpstreamState(id, ask.RequestState)
		b.repeat = true
		own.left()
	})
	if !open {
		return errReturned
	}
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: questions}}
}
