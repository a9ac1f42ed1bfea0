package rounds

import (
	"context"
	"errors"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

var errTooLong = errors.New("longer than any that is made here")

// begin reads what the request brought, and returns the request for its handler.
// Its state there is that of the handler itself, if it is one that has its own.
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
	b := &book{fresh: answers}
	if sealed != nil {
		s, err := round.unseal(in, *sealed)
		if err != nil {
			r.refused(ctx, in.Method, err)
			return nil, errState
		}
		b.state, b.sealed = *s, true
		req = with(req, answers, s.own(""))
		connection.SetRequest(ctx, req)
	}
	round.open(b)
	return req, nil
}

// own returns the state of another that asked through us, nil where it left
// none.
func (s *state) own(whose string) *string {
	if text, has := s.passed[whose]; has {
		return &text
	}
	return nil
}

// unseal reads the state that in brought, which is bound to what the middleware
// made of the message, as it was when it was sealed.
func (r *Round) unseal(in *peer.Inbound, sealed string) (*state, error) {
	if len(sealed) > r.rules.opts.MaxState {
		return nil, errTooLong
	}
	bound, err := binding(r.rules.opts.Audience, in, r.frame())
	if err != nil {
		return nil, err
	}
	content, err := r.rules.sealer.open(sealed, bound)
	if err != nil {
		return nil, err
	}
	s, err := parse(content)
	if err != nil || r.rules.opts.Kept != nil && r.rules.opts.Kept(in) {
		return s, err
	}
	return s, s.fresh(time.Now(), r.rules.opts.Expiry)
}

// refused logs why request state was refused. Only what the operator can mend is
// worth more than a whisper, and once is enough.
func (r *Rules) refused(ctx context.Context, method string, err error) {
	if !errors.Is(err, errUnknownKey) {
		r.opts.Logger.DebugContext(ctx, "request state refused", "method", method, "error", err)
		return
	}
	r.unknown.Do(func() {
		r.opts.Logger.WarnContext(ctx, "request state refused: replicas, and a server that has restarted, "+
			"need the same keys, see the option Keys of AskOptions; this is logged once", "method", method, "error", err)
	})
}
