package rounds

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
)

// Once returns what run returned when it first succeeded in this round or an earlier one,
// without an open question of its own. The key is the same for all runs with one name.
func (r *Round) Once(ctx context.Context, name string, run func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error) {
	around := r.scope(ctx)
	if around.within(name) {
		return nil, fmt.Errorf("step %q: contains itself", name)
	}
	for {
		var made json.RawMessage
		var mine, other chan struct{}
		var key string
		var early bool
		var waits error
		open := r.update(func(b *roundData) {
			made, other, waits = b.state.memos[name], b.running[name], b.waiting[name]
			if waits != nil {
				return
			}
			if early = made == nil && !b.named(); early {
				return
			}
			if made == nil && other == nil {
				mine = make(chan struct{})
				put(&b.running, name, mine)
				key = b.idempotencyKey(name)
			}
		})
		switch {
		case !open:
			return nil, errReturned
		case waits != nil:
			return nil, waits
		case early:
			return nil, &mcp.InputRequiredError{Result: new(mcp.InputRequiredResult)}
		case made != nil:
			return made, nil
		case mine != nil:
			own := &scope{round: r, around: around, name: name, path: string(appendText([]byte(around.text()), name))}
			inner := context.WithValue(ctx, scopeKey{}, own)
			return r.make(own, mine, func() (json.RawMessage, error) { return run(inner, key) })
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// make runs a step. Concurrent callers wait for it, and receive its value or run the step
// themselves.
func (r *Round) make(own *scope, done chan struct{}, run func() (json.RawMessage, error)) (made json.RawMessage, err error) {
	defer func() { // also if run panics; made is nil then
		r.update(func(b *roundData) {
			delete(b.running, own.name)
			if made != nil && !own.asks {
				put(&b.state.memos, own.name, made)
			}
			if own.asks && err != nil {
				put(&b.waiting, own.name, err)
			}
		})
		close(done)
	}()
	if made, err = run(); err != nil {
		return nil, err
	}
	return made, nil
}

// named sets the name of the chain of rounds, and reports whether a step may run. A step may
// run in the first round, which cannot be repeated as a later round. In a later round the
// client must first receive the name, so that the name is known if the round is repeated.
func (b *roundData) named() bool {
	if b.state.chain == "" {
		b.state.chain = rand.Text()
		b.unnamed = b.hasState || len(b.fresh) > 0
		b.repeat = b.repeat || b.unnamed
	}
	return !b.unnamed
}

// idempotencyKey returns the key of a step in the chain of rounds.
func (b *roundData) idempotencyKey(name string) string {
	sum := sha256.Sum256(appendText(appendText(nil, b.state.chain), name))
	return base64.RawURLEncoding.EncodeToString(sum[:len(digest{})])
}
