// Package outbound contains implementations and optional interfaces of [peer.Outbound] that the
// packages of the runtime share.
package outbound

import (
	"context"
	"log/slog"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// None is the Outbound of a peer that cannot be reached: it refuses requests and drops
// notifications.
type None struct{}

// Call returns a *[peer.NoBackChannelError].
func (None) Call(_ context.Context, req peer.Message, _ wire.Value, _ ...peer.CallOption) error {
	return &peer.NoBackChannelError{Method: req.Method()}
}

// Notify drops the notification.
func (None) Notify(ctx context.Context, n peer.Notification, _ ...peer.CallOption) error {
	slog.DebugContext(ctx, "notification dropped: no channel to the peer", "method", n.Method())
	return nil
}

// Progress drops the progress report.
func (None) Progress(context.Context, peer.Progress) error { return nil }

// NotifyOnly is an Outbound that sends notifications and refuses requests.
type NotifyOnly struct {
	Out peer.Outbound
	// Drop reports whether notifications of a method are dropped. Nil drops none.
	Drop func(method string) bool
}

// Call returns a *[peer.NoBackChannelError].
func (NotifyOnly) Call(_ context.Context, req peer.Message, _ wire.Value, _ ...peer.CallOption) error {
	return &peer.NoBackChannelError{Method: req.Method()}
}

// Notify sends the notification unless Drop reports true.
func (o NotifyOnly) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if o.Drop != nil && o.Drop(n.Method()) {
		slog.DebugContext(ctx, "notification dropped: only subscriptions carry it", "method", n.Method())
		return nil
	}
	return o.Out.Notify(ctx, n, opts...)
}

// A TryNotifier is an Outbound that can send a notification without waiting for the peer. A
// sender with many subscribers must not wait for one of them.
type TryNotifier interface {
	peer.Outbound
	// TryNotify sends n and reports true, if it can do so without waiting. If it reports
	// false, nothing was sent: the caller calls Notify, which may wait and returns the
	// error of an invalid n. If f is nil, the Outbound chooses the frame.
	TryNotify(n peer.Notification, f *wire.Frame) bool
}

// TryNotify calls the method TryNotify of out. It reports false if out has none.
func TryNotify(out peer.Outbound, n peer.Notification, f *wire.Frame) bool {
	t, ok := out.(TryNotifier)
	return ok && t.TryNotify(n, f)
}

// An Encoded notification has been encoded once, to be sent to many peers. Code that examines a
// notification uses the [Original].
type Encoded interface {
	peer.Notification
	// Original returns the notification that was encoded. It is shared: the caller must not
	// change it.
	Original() peer.Notification
	// Encoded returns the whole message in any frame without additional members, or nil if it was
	// not encoded. It is shared: the caller must not change it.
	Encoded() []byte
}

// EncodedIn returns the message of n in a frame, if n is [Encoded]. Otherwise it returns nil.
func EncodedIn(f *wire.Frame, n peer.Notification) []byte {
	if e, ok := n.(Encoded); ok && (f == nil || len(f.Meta)+len(f.Also) == 0) {
		return e.Encoded()
	}
	return nil
}

// Original returns the notification that n was encoded from, or n itself if it is not
// [Encoded].
func Original(n peer.Notification) peer.Notification {
	if e, ok := n.(Encoded); ok {
		return e.Original()
	}
	return n
}

// DeliveryContext returns the context that a message was delivered with, for code that intercepts
// notifications before their handler runs. Its values are the ones that the handler sees; in
// process they are the values of the sender's context. It is [context.Background] if a BackChannel
// does not offer it.
func DeliveryContext(in *peer.Inbound) context.Context {
	if b, ok := in.Back.(interface{ DeliveryContext() context.Context }); ok {
		return b.DeliveryContext()
	}
	return context.Background()
}
