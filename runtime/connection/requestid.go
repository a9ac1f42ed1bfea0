package connection

import (
	"context"

	"github.com/mcpwright/mcp/runtime/wire"
)

// RequestID returns the id of the request whose handler ctx was given to, zero
// for a notification and elsewhere.
func RequestID(ctx context.Context) wire.RequestID {
	if c := coreFrom(ctx); c != nil {
		return c.in.ID
	}
	return wire.RequestID{}
}
