// Package request reads and replaces the request that the context of a handler contains.
package request

import (
	"context"

	"github.com/mcpwright/mcp/runtime/peer"
)

// Key is the key of the [Setter] in the context of a handler.
type Key struct{}

// A Setter replaces the request that connection.RequestFromContext returns.
type Setter interface{ SetRequest(req peer.Message) }

// WantsProgress reports whether the sender of the request that is being handled asked for progress.
func WantsProgress(ctx context.Context) bool {
	s, ok := ctx.Value(Key{}).(interface{ WantsProgress() bool })
	return ok && s.WantsProgress()
}

// Set replaces the request that connection.RequestFromContext returns. It is called before a
// handler is called with a changed copy of its request. It does nothing outside of a handler.
func Set(ctx context.Context, req peer.Message) {
	if s, ok := ctx.Value(Key{}).(Setter); ok {
		s.SetRequest(req)
	}
}
