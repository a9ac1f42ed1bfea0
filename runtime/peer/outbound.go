package peer

import (
	"context"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A Message is a request or a notification: something with a method and
// params. The generated types implement it.
type Message interface {
	wire.Params
	// Method is the method name on the wire. It is constant for a type and
	// may be called on a nil pointer.
	Method() string
}

// A Request is a message that is answered with an R.
type Request[R wire.Value] interface {
	Message
	// NewResult returns an empty result for the answer to be read into.
	NewResult() R
}

// A Named message is about something that has a name: over HTTP, revisions without
// a handshake repeat it in a header.
type Named interface {
	Message
	// NameMember is the name, empty where there is none.
	NameMember() string
}

// An Extension is a message of an extension of the protocol. Revisions without a
// handshake have it, between peers that both declared the extension. Only revisions
// with a handshake may have a method of the same name.
type Extension interface {
	Message
	// Extension identifies the extension. It is constant for a type and may be
	// called on a nil pointer.
	Extension() string
}

// A Notification is a message that nothing answers.
type Notification interface {
	Message
	// IsNotification does nothing; it keeps requests from being sent as
	// notifications.
	IsNotification()
}

// Outbound is anything that can reach the other peer: a whole connection, the
// back channel of one request being handled, the refusal to do either, or a
// decorator around one of them. It is safe for concurrent use.
type Outbound interface {
	// Call sends req and reads its answer into res, which is the value that
	// req.NewResult returned. The error is, or wraps, an *[Error] when the
	// peer answered with one and a *[NoBackChannelError] when nothing can
	// carry a request.
	Call(ctx context.Context, req Message, res wire.Value, opts ...CallOption) error

	// Notify sends n. The error tells only of a message that cannot be
	// written down, never of the state of the channel.
	Notify(ctx context.Context, n Notification, opts ...CallOption) error
}

// SendRequest sends req over out and returns its result, whose type follows
// from the request.
func SendRequest[R wire.Value](ctx context.Context, out Outbound, req Request[R], opts ...CallOption) (R, error) {
	res := req.NewResult()
	if err := out.Call(ctx, req, res, opts...); err != nil {
		var none R
		return none, err
	}
	return res, nil
}

// SendNotification sends n over out.
func SendNotification(ctx context.Context, out Outbound, n Notification, opts ...CallOption) error {
	return out.Notify(ctx, n, opts...)
}

// With returns an Outbound that sends over out with opts applied to each
// message, before the options of the single call. Without any it is out itself.
func With(out Outbound, opts ...CallOption) Outbound {
	if len(opts) == 0 {
		return out
	}
	var o CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.standalone {
		out = alone(out)
	}
	return &bound{out, opts}
}

// alone returns the standalone channel that goes with out, out itself where there is
// none. What is bound to out stays so.
func alone(out Outbound) Outbound {
	switch o := out.(type) {
	case *bound:
		return &bound{alone(o.out), o.opts}
	case interface{ Standalone() Outbound }:
		return o.Standalone()
	}
	return out
}

// bound is an Outbound with options of its own.
type bound struct {
	out  Outbound
	opts []CallOption
}

func (b *bound) Call(ctx context.Context, req Message, res wire.Value, opts ...CallOption) error {
	return b.out.Call(ctx, req, res, b.join(opts)...)
}

func (b *bound) Notify(ctx context.Context, n Notification, opts ...CallOption) error {
	return b.out.Notify(ctx, n, b.join(opts)...)
}

func (b *bound) join(opts []CallOption) []CallOption {
	if len(opts) == 0 {
		return b.opts
	}
	return append(b.opts[:len(b.opts):len(b.opts)], opts...)
}
