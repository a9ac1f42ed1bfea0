package rounds

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
)

var errReturned = errors.New("the handler of the request has returned")

// scope is one run of a memo. What is asked in it is not counted with what is
// asked outside: when the memo is made, nobody comes to it any more.
type scope struct {
	round  *Round
	around *scope // nil where the memo is in no other
	name   string
	path   string // the names from the outermost memo to this one
	asks   bool   // a question was left without answer; guarded by the lock of the round
}

// scopeKey is where the context of a memo has its scope.
type scopeKey struct{}

// scope returns the run of a memo of this round that ctx was given to, nil where
// it was given to none.
func (r *Round) scope(ctx context.Context) *scope {
	if s, _ := ctx.Value(scopeKey{}).(*scope); s != nil && s.round == r {
		return s
	}
	return nil
}

// text tells scopes apart. It is empty outside of memos.
func (s *scope) text() string {
	if s == nil {
		return ""
	}
	return s.path
}

// within tells whether a memo of that name is being made around here.
func (s *scope) within(name string) bool {
	return s != nil && (s.name == name || s.around.within(name))
}

// left notes that a question was left without answer. The lock is held.
func (s *scope) left() {
	for ; s != nil; s = s.around {
		s.asks = true
	}
}

// Memo returns what run returned when it succeeded first, with no question of its
// own left open, in this round or one before. The key is the same for all runs
// under that name.
func (r *Round) Memo(ctx context.Context, name string, run func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error) {
	around := r.scope(ctx)
	if around.within(name) {
		return nil, fmt.Errorf("memo %q: it is within itself", name)
	}
	for {
		var made json.RawMessage
		var mine, other chan struct{}
		var key string
		var early bool
		var waits error
		open := r.update(func(b *book) {
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

// make runs a memo, and lets those who wait for it have it or try it themselves.
func (r *Round) make(own *scope, done chan struct{}, run func() (json.RawMessage, error)) (made json.RawMessage, err error) {
	defer func() { // also when run panics; made is nil then
		r.update(func(b *book) {
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

// named gives the chain of rounds a name, which it has from now on, and tells
// whether a step may be run under it. The first round of a chain may, since nobody
// can repeat it as that. A later one has to come again first: what repeats that
// brings the name.
func (b *book) named() bool {
	if b.state.chain == "" {
		b.state.chain = rand.Text()
		b.unnamed = b.sealed || len(b.fresh) > 0
		b.repeat = b.repeat || b.unnamed
	}
	return !b.unnamed
}

// idempotencyKey names a step of a chain of rounds that has a name.
func (b *book) idempotencyKey(name string) string {
	sum := sha256.Sum256(appendText(appendText(nil, b.state.chain), name))
	return base64.RawURLEncoding.EncodeToString(sum[:len(digest{})])
}
