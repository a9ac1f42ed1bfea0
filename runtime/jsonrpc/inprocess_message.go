package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// inProcessRequest is a request from one end of an in-process connection to the other. It is the
// [peer.BackChannel] of its handler.
type inProcessRequest struct {
	in         peer.Inbound
	from, to   *InProcessConn
	ctx        lazy.Context // of the handler; derived from the caller's context
	onProgress func(peer.Progress)
	frame      *wire.Frame // that the caller chose; may be nil
	back       backChannel

	events chan inProcessEvent // for the caller
	reply  peer.Reply          // of the handler; set before handlerReturned is sent
	failed error               // of the handler, like reply

	// The lock of the table guards these fields.
	deadline  deadline
	questions int   // that the handler waits for
	err       error // that the caller gets regardless of the handler's result
	returned  bool  // the handler has returned
	abandoned bool  // the caller no longer waits for the handler
}

// inProcessEvent wakes the caller of a request. Each event is sent at most once.
type inProcessEvent bool

const (
	requestEnded    inProcessEvent = false // before the handler has returned
	handlerReturned inProcessEvent = true
)

// run calls the handler and stores its result in res. If the request ends before the handler
// returns, run returns before it, too.
func (x *inProcessRequest) run(req peer.Message, res wire.Value) error {
	if err := x.setMessage(req); err != nil {
		return x.finish(err)
	}
	x.to.link.serve(x)
	ctx := x.ctx.Context
	select {
	case e := <-x.events:
		if e == handlerReturned {
			return x.complete(res)
		}
	case <-ctx.Done():
	}
	if ended, err := x.to.table.abandon(ctx, x); ended {
		x.back.close() // waits for a progress callback, which must not run after the call has returned
		return err
	}
	if <-x.events == requestEnded {
		<-x.events
	}
	return x.complete(res)
}

// serve calls the handler. If the caller no longer waits, serve finishes the request.
func (x *inProcessRequest) serve() {
	x.failed = failure.ErrExited // unless the handler returns or panics
	defer func() {
		if x.to.table.handlerReturned(x) {
			x.events <- handlerReturned
			return
		}
		_ = x.finish(x.failed) // the caller has got its error already
	}()
	defer failure.Recover(&x.failed)
	x.to.opts.requestArrived(&x.in)
	h := x.to.opts.Handler
	if h == nil {
		x.failed = methodNotFound(x.in.Method)
		return
	}
	reply, err := h.Handle(&x.ctx, &x.in)
	x.back.close()
	if err == nil && reply.Result == nil {
		err = failure.ResultError{Err: failure.ErrNoResult}
	}
	x.reply, x.failed = reply, err
}

// complete stores the result of the handler in res, and returns the error for the caller.
func (x *inProcessRequest) complete(res wire.Value) error {
	if x.failed == nil && res != nil {
		x.failed = x.setResult(x.reply, res)
	}
	return x.finish(x.failed)
}

// callerError is an error that occurred at the caller's end. The caller gets it unchanged.
type callerError struct{ error }

// finish ends the request. Err is the error of the handler. It returns the error for the caller.
func (x *inProcessRequest) finish(err error) error {
	x.back.close()
	ended := x.to.table.remove(x)
	if ended == nil && x.ctx.Context.Err() != nil {
		ended = contextError(x.ctx.Context, x.in.Method)
	}
	own, isOwn := err.(callerError)
	if err != nil && !isOwn {
		err = failure.Log(&x.ctx, x.to.opts.Logger, &x.in, err, ended == nil)
	}
	x.to.link.handlers.Done()
	switch {
	case ended != nil:
		return ended
	case isOwn:
		return own.error
	case err != nil:
		return x.handlerError(err)
	}
	return nil
}

// handlerError returns the error that the caller gets for an error of the handler.
func (x *inProcessRequest) handlerError(err error) error {
	e := failure.ForPeer(err)
	if x.from.opts.Debug && error(e) != err && e.Code == codeInternal {
		return fmt.Errorf("%w: %w", e, err)
	}
	return e
}

// addsMeta reports whether a frame adds _meta entries to a message.
func addsMeta(f *wire.Frame) bool { return f != nil && len(f.Meta) > 0 }

// setMessage stores the request for the handler: unchanged, or encoded as for a wire. A client's
// frame is not applied to a request that is not encoded.
func (x *inProcessRequest) setMessage(req peer.Message) error {
	if !x.from.opts.Strict && (x.from.opts.Client || !addsMeta(x.frame)) {
		x.in.Value = req
		return nil
	}
	f := x.from.opts.frame(x.in.Method, x.frame)
	if x.onProgress != nil {
		f = withToken(f, x.in.Token)
	}
	var err error
	if x.in.Params, err = encodeParams(f, req); err != nil {
		return callerError{fmt.Errorf("send %q: %w", x.in.Method, err)}
	}
	x.in.Token = progress.Token(x.in.Params)
	return nil
}

// setResult stores the result in res: it copies the result, or encodes and decodes it.
func (x *inProcessRequest) setResult(reply peer.Reply, res wire.Value) (err error) {
	defer failure.Recover(&err)
	if !x.to.opts.Strict && copyValue(res, reply.Result) {
		return nil
	}
	buf := buffer.New()
	defer buf.Free()
	if buf.Bytes, err = wire.Append(buf.Bytes, reply.Frame, reply.Result); err != nil {
		return failure.ResultError{Err: err}
	}
	if err := wire.Decode(buf.Bytes, x.from.opts.frame(x.in.Method, x.frame), res); err != nil {
		return callerError{fmt.Errorf("response to %q: %w", x.in.Method, err)}
	}
	return nil
}

// copyValue copies the value that from points to. It reports false if to and from are not pointers
// of the same type.
func copyValue(to, from wire.Value) bool {
	t, f := reflect.ValueOf(to), reflect.ValueOf(from)
	if t.Type() != f.Type() || t.Kind() != reflect.Pointer || f.IsNil() || t.IsNil() {
		return false
	}
	t.Elem().Set(f.Elem())
	return true
}

// encodeParams returns params as they would arrive over a wire: encoded by a trusted sender, and
// validated by the receiver.
func encodeParams(f *wire.Frame, p wire.Params) (json.RawMessage, error) {
	buf := buffer.New()
	defer buf.Free()
	var err error
	if buf.Bytes, err = wire.AppendParams(buf.Bytes, f, p); err != nil {
		return nil, err
	}
	if err := wire.Check(buf.Bytes, 0); err != nil {
		return nil, err
	}
	return bytes.Clone(buf.Bytes), nil
}

// Call implements [peer.Outbound]. The request belongs to the message being handled.
func (x *inProcessRequest) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if canSend := x.in.Transport.CanSendRequest(); !canSend || !x.back.isOpen() {
		return &peer.NoBackChannelError{Method: req.Method(), Returned: canSend}
	}
	if x.from.opts.Client {
		x.to.table.countQuestions(x, 1)
		defer x.to.table.countQuestions(x, -1)
	}
	return x.to.Call(backContext{ctx, x.ctx.Context}, req, res, opts...)
}

// Notify implements [peer.Outbound].
func (x *inProcessRequest) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return x.to.notify(backContext{ctx, x.ctx.Context}, &x.back, n, callOptions(opts).Frame)
}

// TryNotify implements [outbound.TryNotifier].
func (x *inProcessRequest) TryNotify(n peer.Notification, f *wire.Frame) bool {
	if !x.back.tryEnter() {
		return false
	}
	defer x.back.leave()
	return x.to.TryNotify(n, f)
}

// Progress implements [peer.BackChannel]. It calls the caller's callback.
func (x *inProcessRequest) Progress(_ context.Context, p peer.Progress) error {
	if x.onProgress == nil {
		return nil
	}
	return x.back.report(p.Progress, func() error {
		x.to.table.extendTimeout(x)
		failure.LogPanics(x.from.opts.Logger, "progress callback", func() { x.onProgress(p) })
		return nil
	})
}

// backContext is the context of a message that a handler sends to its caller. It ends with the
// handler's context. The values of the caller's context, such as its session, take precedence.
type backContext struct {
	context.Context
	caller context.Context
}

// Value implements [context.Context].
func (b backContext) Value(key any) any {
	if v := b.caller.Value(key); v != nil {
		return v
	}
	return b.Context.Value(key)
}

// inProcessNotification is a notification from one end of an in-process connection to the other. It
// is the [peer.BackChannel] of its handler.
type inProcessNotification struct {
	in   peer.Inbound
	to   *InProcessConn
	ctx  lazy.Context
	back backChannel
}

// inProcessNotifications has notifications for reuse. Most of them are consumed by
// [Options].InterceptNotification if there are many subscribers.
var inProcessNotifications = sync.Pool{New: func() any { return new(inProcessNotification) }}

// queueNotification queues a notification for the handler.
func (c *InProcessConn) queueNotification(n *inProcessNotification) {
	switch {
	case !c.isClosed() && c.intercepts(&n.in):
		n.drop()
		*n = inProcessNotification{} // InterceptNotification does not retain it
		inProcessNotifications.Put(n)
	case c.opts.Handler == nil || c.isClosed():
		n.drop()
	case !c.notifications.add(n, 0):
		n.drop()
		if !c.isClosed() {
			c.opts.report(fmt.Errorf("notification %q dropped: %w", n.in.Method, ErrTooManyQueued))
		}
	}
}

// intercepts calls InterceptNotification and reports whether it consumed the notification.
func (c *InProcessConn) intercepts(in *peer.Inbound) (consumed bool) {
	if c.intercept != nil {
		failure.LogPanics(c.logger, "InterceptNotification", func() { consumed = c.intercept(in) })
	}
	return consumed
}

// handleNotification calls the handler of a notification.
func (c *InProcessConn) handleNotification(n *inProcessNotification) {
	defer func() {
		c.table.setNotification(nil)
		n.drop()
	}()
	if cause := c.table.setNotification(n); cause != nil {
		n.ctx.Cancel(cause)
	}
	if err := c.opts.handleNotification(&n.ctx, &n.in); err != nil {
		failure.Log(&n.ctx, c.opts.Logger, &n.in, err, false)
	}
}

func (n *inProcessNotification) drop() {
	n.back.close()
	n.ctx.Cancel(nil)
}

// Call implements [peer.Outbound].
func (n *inProcessNotification) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if canSend := n.in.Transport.CanSendRequest(); !canSend || !n.back.isOpen() {
		return &peer.NoBackChannelError{Method: req.Method(), Returned: canSend}
	}
	return n.to.Call(backContext{ctx, n.ctx.Context}, req, res, opts...)
}

// Notify implements [peer.Outbound].
func (n *inProcessNotification) Notify(ctx context.Context, m peer.Notification, opts ...peer.CallOption) error {
	if !n.back.isOpen() {
		return nil
	}
	return n.to.Notify(backContext{ctx, n.ctx.Context}, m, opts...)
}

// Progress implements [peer.BackChannel]. A notification has no progress token, so it does nothing.
func (n *inProcessNotification) Progress(context.Context, peer.Progress) error { return nil }

// DeliveryContext returns the sender's context; see [outbound.DeliveryContext].
func (n *inProcessNotification) DeliveryContext() context.Context { return n.ctx.Context }
