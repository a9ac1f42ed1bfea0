package rounds

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

var errReturned = errors.New("the handler of the request has returned")

// scopeKey is where the context of a memo has the names of the memos around it.
type scopeKey struct{}

// scopeOf returns the names of the memos that ctx was given to. What is asked in
// one is not counted with what is asked outside: when the memo is made, nobody
// comes to it any more.
func scopeOf(ctx context.Context) string {
	scope, _ := ctx.Value(scopeKey{}).(string)
	return scope
}

// Memo returns what run returned when it succeeded first, in this round or one
// before. The key is the same for all runs under that name.
func (r *Round) Memo(ctx context.Context, name string, run func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error) {
	for {
		var made json.RawMessage
		var mine, other chan struct{}
		var key string
		open := r.update(func(b *book) {
			made, other = b.state.memos[name], b.running[name]
			if made == nil && other == nil {
				mine = make(chan struct{})
				put(&b.running, name, mine)
				key = b.idempotencyKey(name)
			}
		})
		switch {
		case !open:
			return nil, errReturned
		case made != nil:
			return made, nil
		case mine != nil:
			inner := context.WithValue(ctx, scopeKey{}, string(appendText([]byte(scopeOf(ctx)), name)))
			return r.make(name, mine, func() (json.RawMessage, error) { return run(inner, key) })
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// make runs a memo, and lets those who wait for it have it or try it themselves.
func (r *Round) make(name string, done chan struct{}, run func() (json.RawMessage, error)) (made json.RawMessage, err error) {
	defer func() { // also when run panics; made is nil then
		r.update(func(b *book) {
			delete(b.running, name)
			if made != nil {
				put(&b.state.memos, name, made)
			}
		})
		close(done)
	}()
	if made, err = run(); err != nil {
		return nil, err
	}
	return made, nil
}

// idempotencyKey names a step of this chain of rounds. The chain has a name from
// now on.
func (b *book) idempotencyKey(name string) string {
	if b.state.chain == "" {
		b.state.chain = rand.Text()
	}
	sum := sha256.Sum256(appendText(appendText(nil, b.state.chain), name))
	return base64.RawURLEncoding.EncodeToString(sum[:len(digest{})])
}
