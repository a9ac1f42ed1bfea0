package connection

import (
	"context"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// RequestIDFromContext returns the id of the request whose handler ctx was given to, zero
// for a notification and elsewhere.
func RequestIDFromContext(ctx context.Context) wire.RequestID {
	if c := coreFrom(ctx); c != nil {
		return c.in.ID
	}
	return wire.RequestID{}
}

// RequestFromContext returns the request whose handler ctx was given to, nil for a
// notification and elsewhere. A handler that is given only a part of it, such as
// the arguments of a tool, finds the rest here:
//
//	if req, ok := connection.RequestFromContext(ctx).(*mcp.CallToolRequest); ok && req.Meta != nil {
//		log.Printf("for %s", req.Meta.Extra["com.example/user"])
//	}
//
// It is not to be changed, and not to be kept when the handler has returned.
func RequestFromContext(ctx context.Context) peer.Message {
	if c := coreFrom(ctx); c != nil && !c.unheard {
		return c.request
	}
	return nil
}

// SetRequest changes what [RequestFromContext] returns: [Rounds] that call a handler with a copy
// of its request say so first.
func SetRequest(ctx context.Context, req peer.Message) {
	if c := coreFrom(ctx); c != nil {
		c.request = req
	}
}
