package rounds

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Call sends a request to another server as part of handling this one. Where
// that server asks for input, the question is the client's: it is passed on in
// the answer and its answer back in the next round, or asked at once where that
// is how questions travel.
func (r *Round) Call(ctx context.Context, out peer.Outbound, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if r.reports {
		opts = append([]peer.CallOption{peer.OnProgress(func(p peer.Progress) { r.report(ctx, p) })}, opts...)
	}
	call := func(req peer.Message) error { return out.Call(ctx, req, res, opts...) }
	switch {
	case !comesAgain(req):
		return call(req) // its answer is never a question
	case !answersAsk(r.conn):
		err := call(req)
		if ask := asks(nil, err); ask != nil {
			opts = append(opts[:len(opts):len(opts)], peer.WithID(wire.RequestID{})) // an id serves once
			return r.converse(ctx, req, ask, call)
		}
		return err
	}
	p, err := r.passage(ctx, req)
	if err != nil {
		return err
	}
	err = call(with(req, p.answers, p.state))
	ask := asks(nil, err)
	if ask == nil {
		r.update(func(b *book) { b.state.pass(p.id, nil) })
		return err
	}
	return r.passUp(ctx, p.id, ask)
}

func (r *Round) report(ctx context.Context, p peer.Progress) {
	// The error tells that the handler has returned.
	_ = mcp.SessionFromContext(ctx).ReportProgress(ctx, p)
}

// passage is what the client brought for another server.
type passage struct {
	id      string // begins the keys of that server's questions
	answers mcp.InputResponses
	state   *string
}

// passage finds what was brought for a request to another server. The request is
// recognised by its content, so that several of them do not meet.
func (r *Round) passage(ctx context.Context, req peer.Message) (p passage, err error) {
	params, err := identity(&peer.Inbound{Value: req}, r.frame())
	if err != nil {
		return p, fmt.Errorf("pass on %q: %w", req.Method(), err)
	}
	sum, err := digestOf(r.scope(ctx).text(), req.Method(), params)
	if err != nil {
		return p, fmt.Errorf("pass on %q: %w", req.Method(), err)
	}
	open := r.update(func(b *book) {
		id := "to:" + sum.String()
		put(&b.counts, id, b.counts[id]+1)
		p.id = nth(id, b.counts[id]) + "/"
		p.state = b.state.own(p.id)
		p.answers = b.hand(p.id)
	})
	if !open {
		err = errReturned
	}
	return p, err
}

// hand hands over the answers to the questions whose keys begin like that: those
// that the request brought, and those that earlier runs did not come to. An answer
// serves once.
func (b *book) hand(prefix string) (answers mcp.InputResponses) {
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

// passUp records the questions and the state of another server.
func (r *Round) passUp(ctx context.Context, id string, ask *mcp.InputRequiredResult) error {
	questions := make(mcp.InputRequests, len(ask.InputRequests))
	for key, question := range ask.InputRequests {
		if err := r.permitted(key, question); err != nil {
			return err
		}
		questions[id+key] = question
	}
	own := r.scope(ctx)
	open := r.update(func(b *book) {
		for key, question := range questions {
			put(&b.open, key, question)
			put(&b.state.asked, key, entry{})
		}
		b.state.pass(id, ask.RequestState)
		b.repeat = true
		own.left()
	})
	if !open {
		return errReturned
	}
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: questions}}
}
