package connection

import (
	"context"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// wrapped returns the way out with the user's middleware around it.
func (c *Connection) wrapped(out peer.Outbound) peer.Outbound {
	for _, wrap := range slices.Backward(c.outgoing()) {
		out = wrap(out)
	}
	return out
}

// asking is a way out that takes questions along in the answer.
type asking struct {
	core    *core
	checked checked
}

func (a asking) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	return a.core.begunRound().Ask(ctx, &Question{Message: req, Key: o.Key, Check: a.checked.answer}, res)
}

func (asking) Notify(context.Context, peer.Notification, ...peer.CallOption) error { return nil }

// reporting is a way out for progress reports about one request.
type reporting struct{ peer.BackChannel }

func (r reporting) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if p, ok := n.(*mcp.ProgressNotification); ok {
		return r.Progress(ctx, peer.Progress{Progress: p.Progress, Total: p.Total, Message: p.Message})
	}
	return r.BackChannel.Notify(ctx, n, opts...)
}

// report sends a progress report about the message being handled.
func (c *core) report(ctx context.Context, p peer.Progress) error {
	if len(c.conn.outgoing()) == 0 || c.in.Token.IsZero() {
		return c.back().Progress(ctx, p)
	}
	return c.conn.wrapped(reporting{c.back()}).Notify(ctx, &mcp.ProgressNotification{
		ProgressToken: c.in.Token, Progress: p.Progress, Total: p.Total, Message: p.Message,
	})
}
