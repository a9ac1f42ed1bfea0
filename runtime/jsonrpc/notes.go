package jsonrpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ErrTooManyQueued is in what [Options].OnError is told when a notification is
// dropped because [Options].MaxQueuedNotifications others wait to be handled.
var ErrTooManyQueued = errors.New("too many notifications waiting")

// notification does what a notification asks the dispatcher to do, and passes
// it on to the handler.
func (c *Conn) notification(ctx context.Context, in *inbound, o *Source) {
	x := c.newExchange(ctx, &in.m, in.frame, in.parcel.lender, o)
	switch in.m.Method {
	case methodCancelled:
		var n cancelled
		if wire.DecodeParams(in.m.Params, checked, &n) == nil {
			c.cancel(n.id, n.reason, c.opts.mostEarly())
		}
	case methodProgress:
		var n progress
		if wire.DecodeParams(in.m.Params, checked, &n) == nil {
			c.state.progress(n.token, n.Progress)
		}
	}
	if c.opts.intercepts(&x.in) || c.opts.Handler == nil {
		x.drop()
		return
	}
	if !c.notes.put(x, len(in.parcel.data)) {
		x.drop()
		if !c.over() {
			c.opts.report(fmt.Errorf("notification %q dropped: %w", in.m.Method, ErrTooManyQueued))
		}
	}
}

// intercepts reports whether a notification is one for the interceptor alone.
func (o *Options) intercepts(in *peer.Inbound) (consumed bool) {
	if f := o.InterceptNotification; f != nil {
		contain(o.Logger, "intercept", func() { consumed = f(in) })
	}
	return consumed
}

// drop ends a notification that is not handled.
func (x *exchange) drop() {
	x.gate.shut()
	x.free()
}

// handleNote handles a notification.
func (c *Conn) handleNote(x *exchange) {
	defer func() {
		c.state.note(nil)
		x.drop()
	}()
	if cause := c.state.note(x); cause != nil {
		x.ctx.Cancel(cause)
	}
	if err := c.opts.heed(&x.ctx, &x.in); err != nil {
		logFailure(&x.ctx, c.opts.Logger, &x.in, err, true)
	}
}

// heed has the handler handle a notification.
func (o *Options) heed(ctx context.Context, in *peer.Inbound) (err error) {
	defer catch(&err)
	_, err = o.Handler.Handle(ctx, in)
	return err
}
