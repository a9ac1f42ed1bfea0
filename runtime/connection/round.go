package connection

import (
	"context"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Rounds go around the handlers of requests whose answers may ask for input. They are
// safe for concurrent use.
type Rounds interface {
	// Serve calls the handler of a request, with the request or with a copy that it
	// has changed, once or more often, and returns what the request is answered with.
	// [SetRequest] says which copy, [EndRound] when nothing can be asked any more.
	Serve(ctx context.Context, in *peer.Inbound, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error)
	// Begin makes the round of a request. Most requests need none: it is called when
	// [RoundFromContext] is, or when something is asked, for the first time.
	Begin(ctx context.Context, in *peer.Inbound) Round
}

// A Round carries the questions of one request's handler where they travel in the
// answer. It is safe for concurrent use.
type Round interface {
	// Ask puts a question, and reads its answer into res if the request
	// brought one. Otherwise the error is an [*mcp.InputRequiredError].
	Ask(ctx context.Context, q *Question, res wire.Value) error
	// End says that nothing can be asked any more. It may be said again.
	End()
}

// Question is a request that travels in the answer to another one.
type Question struct {
	peer.Message
	// Key is the name that the caller chose for it, empty for none.
	Key string
	// Check judges an answer by the question.
	Check func(answer wire.Value) error
}

// RoundFromContext returns the round of the request whose handler ctx was given to, nil
// where there is none. When the request has been answered it is one that has ended.
func RoundFromContext(ctx context.Context) Round {
	if c := coreFrom(ctx); c != nil {
		return c.begunRound()
	}
	return nil
}

// EndRound ends the round of the request whose handler ctx was given to. It returns
// the round, nil where none has begun.
func EndRound(ctx context.Context) Round {
	c := coreFrom(ctx)
	if c == nil {
		return nil
	}
	c.rounds.Lock()
	defer c.rounds.Unlock()
	c.ended = true
	if _, waits := c.round.(*unbegun); waits || c.round == nil {
		return nil
	}
	c.round.End()
	return c.round
}

// unbegun is in place of a round that nobody has asked for yet.
type unbegun struct {
	Round
	rounds Rounds
}

// await makes room for a round.
func (c *core) await(u *unbegun) {
	c.rounds.Lock()
	c.round, c.ended = u, false
	c.rounds.Unlock()
}

// begunRound returns the round, which begins if it has not.
func (c *core) begunRound() Round {
	c.rounds.Lock()
	defer c.rounds.Unlock()
	if u, waits := c.round.(*unbegun); waits {
		c.round = u.rounds.Begin((*handlerContext)(c), c.in)
		if c.ended {
			c.round.End()
		}
	}
	return c.round
}

// mayAsk tells whether there is a round that has not ended.
func (c *core) mayAsk() bool {
	c.rounds.Lock()
	defer c.rounds.Unlock()
	return c.round != nil && !c.ended
}
