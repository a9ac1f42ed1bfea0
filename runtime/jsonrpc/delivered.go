package jsonrpc

import (
	"context"

	"github.com/mcpwright/mcp/runtime/peer"
)

// DeliveryContext returns the context that a message was delivered with, for an
// [Options].InterceptNotification: it has the values that the message's handler will see. In
// process they are those of whoever sent the message.
func DeliveryContext(in *peer.Inbound) context.Context {
	switch x := in.Back.(type) {
	case *exchange:
		return x.ctx.Context
	case *directNote:
		return x.ctx.Context
	}
	return context.Background()
}
