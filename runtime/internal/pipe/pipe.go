// Package pipe connects the handler of one client, such as a [connection.Pipe], to the JSON-RPC
// connection of this client.
package pipe

import (
	"context"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Handler is a handler of a single connection, such as a [connection.Pipe].
type Handler interface {
	// Attach passes the connection to the handler, before the first message arrives.
	Attach(out peer.Outbound, inFlight connection.InFlight)
	Frame(method string) *wire.Frame
	Batches() bool
	// Close cleans up after the connection has ended.
	Close(ctx context.Context)
}

// interceptor is a handler that also receives messages in the order of their arrival.
type interceptor interface {
	OnRequest(in *peer.Inbound)
	InterceptNotification(in *peer.Inbound) (consumed bool)
}

// messageReader is a handler that decodes its messages itself.
type messageReader interface {
	Read(data []byte) (wire.Message, *wire.Frame, error)
}

// Configure sets the functions of o that h implements. The function InterceptNotification of o is
// called too. Configure returns h as a [Handler], or nil if it is none; the caller then calls its
// methods Attach and Close.
func Configure(o *jsonrpc.Options, h peer.Handler) Handler {
	o.Handler = h
	attached, _ := h.(Handler)
	if attached != nil {
		o.Frame, o.Batches = attached.Frame, attached.Batches
	}
	if r, ok := h.(messageReader); ok {
		o.Read = r.Read
	}
	if i, ok := h.(interceptor); ok {
		o.OnRequest, o.InterceptNotification = i.OnRequest, interceptBoth(o.InterceptNotification, i.InterceptNotification)
	}
	return attached
}

// interceptBoth returns a function that calls both functions with each notification and reports
// whether one of them consumed it. The first function may be nil.
func interceptBoth(a, b func(*peer.Inbound) bool) func(*peer.Inbound) bool {
	if a == nil {
		return b
	}
	return func(in *peer.Inbound) bool {
		consumed := a(in)
		return b(in) || consumed
	}
}
