package jsonrpc

import (
	"context"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// directExchange is a request from one end of a pair to the other, and the
// [peer.BackChannel] of its handler.
type directExchange struct {
	in         peer.Inbound
	from, to   *InProcessConn
	ctx        lazy.Context // of the handler, made of the caller's
	onProgress func(peer.Progress)
	frame      *wire.Frame // of the caller's choice, may be nil
	gate       gate

	// The table's lock guards what follows.
	clock     clock
	questions int   // being asked for it
	err       error // the outcome, whatever the handler says
}

// run has the request handled and gives its caller what comes of it.
func (x *directExchange) run(req peer.Message, res wire.Value) (err error) {
	defer x.conclude(&err)
	if err := x.load(req); err != nil {
		return err
	}
	reply, err := x.handle()
	if err != nil || res == nil {
		return err
	}
	return x.take(reply, res)
}

// localError is an error that the caller's own end found. Its caller gets it as
// it is.
type localError struct{ error }

// conclude ends the request. What the caller gets is in err.
func (x *directExchange) conclude(err *error) {
	x.gate.shut()
	ended := x.to.table.conclude(x)
	if ended == nil && x.ctx.Context.Err() != nil {
		ended = abandoned(x.ctx.Context, x.in.Method)
	}
	x.to.link.handlers.Done()
	local, isLocal := (*err).(localError)
	if *err != nil && !isLocal {
		logFailure(&x.ctx, x.to.opts.Logger, &x.in, *err, ended != nil)
	}
	switch {
	case ended != nil:
		*err = ended
	case isLocal:
		*err = local.error
	case *err != nil:
		*err = x.told(*err)
	}
}

// told is what the caller is told about the error of a handler.
func (x *directExchange) told(err error) error {
	e := wireError(err)
	if x.from.opts.Debug && error(e) != err && e.Code == codeInternal {
		return fmt.Errorf("%w: %w", e, err)
	}
	return e
}

// addsMeta tells whether a frame adds to a message what its handler is to see.
func addsMeta(f *wire.Frame) bool { return f != nil && len(f.Meta) > 0 }

// load puts the request where the handler finds it: as it is, or as it would
// have come from a wire. What a client's frame adds to a request, the request has
// along with it.
func (x *directExchange) load(req peer.Message) error {
	if !x.from.opts.Strict && (x.from.opts.Client || !addsMeta(x.frame)) {
		x.in.Value = req
		return nil
	}
	f := x.from.opts.frame(x.in.Method, x.frame)
	if x.onProgress != nil {
		f = withToken(f, x.in.Token)
	}
	var err error
	if x.in.Params, err = written(f, req); err != nil {
		return localError{fmt.Errorf("send %q: %w", x.in.Method, err)}
	}
	x.in.Token = ProgressToken(x.in.Params)
	return nil
}

// handle calls the handler. It returns a result or an error.
func (x *directExchange) handle() (reply peer.Reply, err error) {
	defer catch(&err)
	x.to.opts.arrives(&x.in)
	h := x.to.opts.Handler
	if h == nil {
		return peer.Reply{}, errNoMethod(x.in.Method)
	}
	reply, err = h.Handle(&x.ctx, &x.in)
	x.gate.shut()
	if err == nil && reply.Result == nil {
		err = resultError{errNoResult}
	}
	return reply, err
}

// take gives the caller the result.
func (x *directExchange) take(reply peer.Reply, res wire.Value) (err error) {
	defer catch(&err)
	if !x.to.opts.Strict && share(res, reply.Result) {
		return nil
	}
	buf := NewBuffer()
	defer buf.Free()
	if buf.Bytes, err = wire.Append(buf.Bytes, reply.Frame, reply.Result); err != nil {
		return resultError{err}
	}
	if err := wire.Decode(buf.Bytes, x.from.opts.frame(x.in.Method, x.frame), res); err != nil {
		return localError{fmt.Errorf("answer to %q: %w", x.in.Method, err)}
	}
	return nil
}

// share makes to the same as from, which is possible between two pointers of
// one type.
func share(to, from wire.Value) bool {
	t, f := reflect.ValueOf(to), reflect.ValueOf(from)
	if t.Type() != f.Type() || t.Kind() != reflect.Pointer || f.IsNil() || t.IsNil() {
		return false
	}
	t.Elem().Set(f.Elem())
	return true
}

// Call implements [peer.Outbound]: the request belongs to the message being
// handled.
func (x *directExchange) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if !x.in.Transport.CanSendRequest() || !x.gate.open() {
		return &peer.NoBackChannelError{Method: req.Method()}
	}
	if x.from.opts.Client {
		x.to.table.ask(x, 1)
		defer x.to.table.ask(x, -1)
	}
	return x.to.Call(back{ctx, x.ctx.Context}, req, res, opts...)
}

// Notify implements [peer.Outbound].
func (x *directExchange) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return x.to.notify(back{ctx, x.ctx.Context}, &x.gate, n, opts)
}

// Progress implements [peer.BackChannel]: it calls the caller's callback.
func (x *directExchange) Progress(_ context.Context, p peer.Progress) error {
	if x.onProgress == nil {
		return nil
	}
	return x.gate.report(p.Progress, func() error {
		x.to.table.touch(x)
		contain(x.from.opts.Logger, "progress callback", func() { x.onProgress(p) })
		return nil
	})
}

// back is the context of what a handler sends back. It is the handler's, but a
// value that the caller has, such as its own session, is not the handler's.
type back struct {
	context.Context
	caller context.Context
}

// Value implements [context.Context].
func (b back) Value(key any) any {
	if v := b.caller.Value(key); v != nil {
		return v
	}
	return b.Context.Value(key)
}

// directNote is a notification from one end of a pair to the other, and the
// [peer.BackChannel] of its handler.
type directNote struct {
	in   peer.Inbound
	to   *InProcessConn
	ctx  lazy.Context
	gate gate
}

// notification passes a notification on to the handler.
func (d *InProcessConn) notification(ctx context.Context, in peer.Inbound) {
	n := &directNote{in: in, to: d}
	n.in.Back = n
	n.ctx.Context, n.ctx.Detached = ctx, true
	consumed := !d.over() && d.opts.intercepts(&n.in)
	switch {
	case consumed || d.opts.Handler == nil || d.over():
		n.drop()
	case !d.notes.put(n, 0):
		n.drop()
		if !d.over() {
			d.opts.report(fmt.Errorf("notification %q dropped: %w", in.Method, ErrTooManyQueued))
		}
	}
}

// control does what a message asks that is about another one.
func (d *InProcessConn) control(in *peer.Inbound) {
	switch in.Method {
	case methodCancelled:
		var n cancelled
		if in.Decode(nil, &n) == nil {
			d.cancelRequest(n.id, n.reason)
		}
	case methodProgress:
		var n progress
		if in.Decode(nil, &n) != nil {
			return
		}
		if x := d.peer.table.find(n.token); x != nil {
			_ = x.Progress(context.Background(), n.Progress) // cannot fail
		}
	}
}

func (d *InProcessConn) over() bool {
	select {
	case <-d.link.closed:
		return true
	default:
		return false
	}
}

func (d *InProcessConn) handleNote(n *directNote) {
	defer func() {
		d.table.note(nil)
		n.drop()
	}()
	if cause := d.table.note(n); cause != nil {
		n.ctx.Cancel(cause)
	}
	if err := d.opts.heed(&n.ctx, &n.in); err != nil {
		logFailure(&n.ctx, d.opts.Logger, &n.in, err, true)
	}
}

func (n *directNote) drop() {
	n.gate.shut()
	n.ctx.Cancel(nil)
}

// Call implements [peer.Outbound].
func (n *directNote) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if !n.in.Transport.CanSendRequest() || !n.gate.open() {
		return &peer.NoBackChannelError{Method: req.Method()}
	}
	return n.to.Call(back{ctx, n.ctx.Context}, req, res, opts...)
}

// Notify implements [peer.Outbound].
func (n *directNote) Notify(ctx context.Context, m peer.Notification, opts ...peer.CallOption) error {
	if !n.gate.open() {
		return nil
	}
	return n.to.Notify(back{ctx, n.ctx.Context}, m, opts...)
}

// Progress implements [peer.BackChannel]: nobody asked for reports about a
// notification.
func (n *directNote) Progress(context.Context, peer.Progress) error { return nil }
