package peer

import (
	"context"
	"encoding/json"
	"log/slog"

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

// NoChannel is the Outbound of a peer that nothing leads to: requests are
// refused at once and notifications are dropped.
type NoChannel struct{}

// Call refuses with a *[NoBackChannelError].
func (NoChannel) Call(_ context.Context, req Message, _ wire.Value, _ ...CallOption) error {
	return &NoBackChannelError{Method: req.Method()}
}

// Notify drops the notification.
func (NoChannel) Notify(ctx context.Context, n Notification, _ ...CallOption) error {
	slog.DebugContext(ctx, "notification dropped: no channel to the peer", "method", n.Method())
	return nil
}

// Progress drops the report.
func (NoChannel) Progress(context.Context, Progress) error { return nil }

// NotifyOnly is an Outbound that only notifications get through: requests are
// refused at once. Drop, where it is not nil, tells which notifications are
// dropped too.
type NotifyOnly struct {
	Out  Outbound
	Drop func(method string) bool
}

// Call refuses with a *[NoBackChannelError].
func (NotifyOnly) Call(_ context.Context, req Message, _ wire.Value, _ ...CallOption) error {
	return &NoBackChannelError{Method: req.Method()}
}

// Notify forwards the notification unless it is to be dropped.
func (o NotifyOnly) Notify(ctx context.Context, n Notification, opts ...CallOption) error {
	if o.Drop != nil && o.Drop(n.Method()) {
		slog.DebugContext(ctx, "notification dropped: it travels on subscriptions only", "method", n.Method())
		return nil
	}
	return o.Out.Notify(ctx, n, opts...)
}
