package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
)

// Once runs a step of a handler once, though the handler itself is run again for
// each round of questions: in later rounds it returns what run returned when it
// succeeded. The name tells the steps of a handler apart.
//
// The outcome travels with the client, sealed, as JSON; it is small, and what
// JSON loses of it is lost from the beginning. Errors do not travel: run is
// called again.
//
// A step may ask, with the context that it is given: it is made when it has its
// answer.
//
// Once means once in one chain of rounds. A client that sends the first request
// again, or an earlier round instead of the last, has run called again. A step
// that must not happen twice gives key to whoever does it: it is the same for
// all calls under this name in one chain, those of a repeated round included.
// Only a first request that is sent again has another. Where the first Memo of a
// chain comes after a question, it returns an error once, as the question did: the
// request comes again, so that the client has what the key is made of before run is
// called.
func Once[T any](ctx context.Context, name string, run func(ctx context.Context, key string) (T, error)) (T, error) {
	var out T
	made, err := memo(ctx, name, func(ctx context.Context, key string) (json.RawMessage, error) {
		v, err := run(ctx, key)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("memo %q: %w", name, err)
		}
		return raw, nil
	})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(made, &out); err != nil {
		return out, fmt.Errorf("memo %q: %w", name, err)
	}
	return out, nil
}

// memo runs a step in the round of the request being handled. Where there is no
// round, a request is handled once, and so is the step.
func memo(ctx context.Context, name string, run func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error) {
	if r := rounds.From(ctx); r != nil {
		return r.Memo(ctx, name, run)
	}
	return run(ctx, rand.Text())
}
