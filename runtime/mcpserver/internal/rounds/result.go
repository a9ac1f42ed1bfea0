package rounds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// finish returns the response to a request from the result of its handler: the questions if
// any is open, and the result otherwise.
func (r *Round) finish(ctx context.Context, in *peer.Inbound, b *roundData, ask *mcp.InputRequiredResult, res wire.Value, err error) (wire.Value, error) {
	if b == nil {
		b = new(roundData)
	}
	if ask == nil && !b.asks() {
		if n := b.countUnused(); n > 0 {
			r.rules.opts.Logger.DebugContext(ctx, "unrequested responses ignored", "method", in.Method, "count", n)
		}
		return res, err
	}
	if ask == nil {
		ask = new(mcp.InputRequiredResult)
	}
	if err := r.addReturned(b, ask); err != nil {
		return nil, err
	}
	state, err := r.seal(in, b)
	switch {
	case err != nil:
		r.logAbandoned(ctx, in.Method, errors.Join(err, b.invalid))
		return nil, err
	case len(b.open) == 0 && state == nil:
		return nil, errNothing
	}
	return &mcp.InputRequiredResult{InputRequests: b.open, RequestState: state, Meta: ask.Meta, Extra: ask.Extra}, nil
}

// countUnused counts the responses that no question has requested.
func (b *roundData) countUnused() (n int) {
	for key := range b.fresh {
		if !b.used[key] {
			n++
		}
	}
	for key, e := range b.state.asked {
		if e.answer != nil && !b.used[key] && b.fresh[key] == nil {
			n++
		}
	}
	return n
}

// asks returns the questions that a handler returned itself, or nil.
func asks(res wire.Value, err error) *mcp.InputRequiredResult {
	if err == nil {
		ask, _ := res.(*mcp.InputRequiredResult)
		return ask
	}
	if e, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return e.Result
	}
	return nil
}

// addReturned adds questions that the handler has returned itself, for example the questions
// of an upstream server. Their state becomes part of the request state.
func (r *Round) addReturned(b *roundData, ask *mcp.InputRequiredResult) error {
	foreign := ask.RequestState != nil
	for key, question := range ask.InputRequests {
		if b.open[key] != nil {
			continue // recorded by Ask, and returned by the handler
		}
		if err := r.checkAllowed(key, question); err != nil {
			return err
		}
		put(&b.open, key, question)
		foreign = true
	}
	if foreign {
		b.state.setUpstreamState("", ask.RequestState)
	}
	return nil
}

// checkAllowed returns an error if the client cannot be asked a question.
func (r *Round) checkAllowed(key string, question mcp.InputRequest) error {
	req, ok := question.(peer.Message)
	if !ok {
		return fmt.Errorf("ask %q: cannot send a question of type %T", key, question)
	}
	return r.conn.Check(req)
}

// seal returns the encrypted state for the next round, or nil if it needs none.
func (r *Round) seal(in *peer.Inbound, b *roundData) (*string, error) {
	s := &b.state
	b.prepareEntries(r.frame())
	if s.rounds == 0 && len(b.fresh) > 0 {
		s.rounds = 1 // the first round had no state
	}
	if s.rounds++; s.rounds > uint64(r.rules.opts.MaxRounds) {
		return nil, errRounds
	}
	if !s.needed() && b.invalid == nil {
		return nil, nil
	}
	s.expires = time.Now().Add(r.rules.opts.Expiry)
	bound, err := binding(r.rules.opts.ServerName, in, r.frame())
	if err != nil {
		return nil, err
	}
	sealed := r.rules.sealer().seal(s.append(nil), bound)
	if len(sealed) > r.rules.opts.MaxState {
		return nil, errSize
	}
	return &sealed, nil
}

// prepareEntries prepares the questions for the next round. It includes responses to questions
// that were not asked in this run: if a handler asks concurrently, an open question may end
// the others early.
func (b *roundData) prepareEntries(f *wire.Frame) {
	b.assumeAsked()
	for key, e := range b.state.asked {
		if e.answer != nil || b.open[key] != nil {
			continue
		}
		if fresh := b.fresh[key]; fresh != nil {
			e.answer = written(f, fresh)
		}
		if e.answer == nil {
			delete(b.state.asked, key)
			continue
		}
		b.state.asked[key] = e
	}
}

// assumeAsked records, if the request has brought no state, that its responses belong to
// questions of the round before. The content of those questions is compared when they are
// asked again. Nothing is recorded if the handler does not ask by means of the round: it has
// read the responses itself.
func (b *roundData) assumeAsked() {
	if b.hasState || len(b.counts) == 0 {
		return
	}
	for key := range b.fresh {
		if _, asked := b.state.asked[key]; !asked && !b.used[key] {
			put(&b.state.asked, key, entry{})
		}
	}
}
