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

// What a client is told. The reasons are for the log.
var (
	errState  = &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid request state"}
	errRounds = &peer.Error{Code: mcp.CodeInternal, Message: "Too many rounds of questions"}
	errSize   = &peer.Error{Code: mcp.CodeInternal, Message: "The answers are too much to be carried to the next round"}
)

var errNothing = errors.New("the handler asks for input without saying for which")

// finish makes of what the handler returned, with the questions in it, what the
// request is answered with: as long as a question is open, that is the question.
func (r *Round) finish(ctx context.Context, in *peer.Inbound, b *book, ask *mcp.InputRequiredResult, res wire.Value, err error) (wire.Value, error) {
	if b == nil {
		b = new(book)
	}
	if ask == nil && !b.asks() {
		if n := b.unused(); n > 0 {
			r.rules.opts.Logger.DebugContext(ctx, "answers ignored: nobody asked for them", "method", in.Method, "count", n)
		}
		return res, err
	}
	if ask == nil {
		ask = new(mcp.InputRequiredResult)
	}
	if err := r.adopt(b, ask); err != nil {
		return nil, err
	}
	state, err := r.seal(in, b)
	switch {
	case err != nil:
		r.givenUp(ctx, in.Method, errors.Join(err, b.misfit))
		return nil, err
	case len(b.open) == 0 && state == nil:
		return nil, errNothing
	}
	return &mcp.InputRequiredResult{InputRequests: b.open, RequestState: state, Meta: ask.Meta, Extra: ask.Extra}, nil
}

// givenUp logs why a request did not get its answers, which its client cannot tell.
func (r *Round) givenUp(ctx context.Context, method string, err error) {
	r.rules.opts.Logger.WarnContext(ctx, "request given up while it asked for input", "method", method, "error", err)
}

// unused counts the answers that were there and not asked for.
func (b *book) unused() (n int) {
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

// asks returns the questions that a handler returned by itself, nil for none.
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

// adopt adds questions that the handler did not put itself: those of a server
// behind it, or made by hand. Their state travels inside ours.
func (r *Round) adopt(b *book, ask *mcp.InputRequiredResult) error {
	foreign := ask.RequestState != nil
	for key, question := range ask.InputRequests {
		if b.open[key] != nil {
			continue // our own, on its way through the handler
		}
		if err := r.permitted(key, question); err != nil {
			return err
		}
		put(&b.open, key, question)
		foreign = true
	}
	if foreign {
		b.state.pass("", ask.RequestState)
	}
	return nil
}

// permitted tells whether the client may be asked the question of another.
func (r *Round) permitted(key string, question mcp.InputRequest) error {
	req, ok := question.(peer.Message)
	if !ok {
		return fmt.Errorf("ask %q: a question of type %T has no way to the client", key, question)
	}
	return r.conn.Check(req)
}

// pass keeps the state of another for the next round; nil forgets it.
func (s *state) pass(whose string, text *string) {
	delete(s.passed, whose)
	if text != nil {
		put(&s.passed, whose, *text)
	}
}

// seal returns what the next round needs, nil where that is nothing.
func (r *Round) seal(in *peer.Inbound, b *book) (*string, error) {
	s := &b.state
	b.sort(r.frame())
	if s.rounds == 0 && len(b.fresh) > 0 {
		s.rounds = 1 // there was one that left nothing
	}
	if s.rounds++; s.rounds > uint64(r.rules.opts.MaxRounds) {
		return nil, errRounds
	}
	if !s.worthwhile() && b.misfit == nil {
		return nil, nil
	}
	s.expires = time.Now().Add(r.rules.opts.Expiry)
	bound, err := binding(r.rules.opts.Audience, in, r.frame())
	if err != nil {
		return nil, err
	}
	sealed := r.rules.sealer.seal(s.append(nil), bound)
	if len(sealed) > r.rules.opts.MaxState {
		return nil, errSize
	}
	return &sealed, nil
}

// sort prepares the questions for the next round. An answer to one that this run
// did not come to is kept: where several run at once, one that is open may end
// the others early.
func (b *book) sort(f *wire.Frame) {
	b.suppose()
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

// suppose takes it that what was answered had been asked, where no state came to
// tell. Of which question an answer is shows when it is asked again. A handler that
// asks nothing by way of the round has read its answers itself.
func (b *book) suppose() {
	if b.sealed || len(b.counts) == 0 {
		return
	}
	for key := range b.fresh {
		if _, asked := b.state.asked[key]; !asked && !b.used[key] {
			put(&b.state.asked, key, entry{})
		}
	}
}

// worthwhile tells whether the state says what the client does not bring anyway.
func (s *state) worthwhile() bool {
	for _, e := range s.asked {
		if e.answer != nil {
			return true
		}
	}
	return s.chain != "" || len(s.passed) > 0
}
