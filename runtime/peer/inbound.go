package peer

import (
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Inbound is a message that has arrived and is being handled. It is not to be
// changed, and not to be kept when its handler has returned.
type Inbound struct {
	// Method is the method on the wire.
	Method string
	// ID is the id of a request, zero for a notification.
	ID wire.RequestID
	// Params are the params as they came, checked but not decoded; nil where
	// there are none, and where Value is set.
	Params json.RawMessage
	// Value is the message itself where it was passed on in process without
	// being written down.
	Value Message
	// Message is what Params have been read into already, in the form of Frame,
	// for the handler to have; nil where they have not.
	Message Message
	Frame   *wire.Frame
	// Token marks progress reports about a request, zero where the caller
	// asked for none.
	Token wire.ProgressToken
	// Transport is what the transport knows about the message.
	Transport TransportContext
	// Back leads to the peer as part of handling this very message. It
	// refuses when the handler has returned.
	Back BackChannel
}

// Decode reads the params into m as the frame's revision has them. Absent
// params count as an empty object; a Value is written down first.
func (in *Inbound) Decode(f *wire.Frame, m wire.Params) error {
	checked := wire.Frame{Checked: true}
	if f != nil {
		checked = *f
		checked.Checked = true
	}
	params := in.Params
	if in.Value != nil {
		var err error
		if params, err = wire.AppendParams(nil, &wire.Frame{Revision: checked.Revision}, in.Value); err != nil {
			return err
		}
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	return wire.DecodeParams(params, &checked, m)
}

// BackChannel is the way back to the sender of a message while it is handled.
type BackChannel interface {
	Outbound
	// Progress reports progress of the request. It does nothing where the
	// caller asked for no reports, where a report does not go beyond the one
	// before, and when the handler has returned.
	Progress(ctx context.Context, p Progress) error
}

// Reply is what a handler answers: a result and how to write it.
type Reply struct {
	// Result is nil for a notification.
	Result wire.Value
	// Frame is how the result is written, nil as for all revisions.
	Frame *wire.Frame
}

// Handler handles inbound messages, several at a time. An error of a request
// is answered as [AsError] has it, and as an internal error without the text
// where that is nil; that of a notification is only logged.
type Handler interface {
	Handle(ctx context.Context, in *Inbound) (Reply, error)
}

// HandlerFunc makes a Handler of a function.
type HandlerFunc func(ctx context.Context, in *Inbound) (Reply, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, in *Inbound) (Reply, error) { return f(ctx, in) }

// Middleware wraps a handler. It sees every inbound message, known or not.
type Middleware func(Handler) Handler
