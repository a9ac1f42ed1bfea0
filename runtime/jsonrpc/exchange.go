package jsonrpc

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// exchange is a message from the peer being handled, and the
// [peer.BackChannel] of its handler.
type exchange struct {
	in     peer.Inbound
	conn   *Conn
	ctx    lazy.Context
	lender lender // of the message's bytes
	out    Writer
	gate   gate
	batch  *batch // that the answer goes into, nil for none
	more   bool   // other messages came together with this one

	// The connection's state guards what follows, while the request is on its table.
	answered  bool // because the connection closed
	cancelled bool
}

// newExchange returns the exchange of a message that has been read, its params
// perhaps with the frame f.
func (c *Conn) newExchange(ctx context.Context, m *wire.Message, f *wire.Frame, l lender, o *Source) *exchange {
	x := new(exchange)
	x.begin(ctx, c, m, f, l, o)
	return x
}

func (x *exchange) begin(ctx context.Context, c *Conn, m *wire.Message, f *wire.Frame, l lender, o *Source) {
	into, isRead := m.Into.(peer.Message)
	if !isRead {
		f = nil
	}
	transport, out := o.Transport, o.Back
	if transport == nil {
		transport = c.opts.Transport
	}
	if out == nil {
		out = c.out
	}
	x.conn, x.lender, x.out = c, l, out
	x.ctx.Context, x.ctx.Detached = ctx, o.Detached
	x.in.Method, x.in.ID, x.in.Params = m.Method, m.ID, m.Params
	x.in.Message, x.in.Frame, x.in.Transport, x.in.Back = into, f, transport, x
}

// request admits a request and has it handled. It returns it if the caller is to
// do that, otherwise nil.
func (c *Conn) request(ctx context.Context, in *inbound, o *Source, b *batch) *exchange {
	x := c.newExchange(ctx, &in.m, in.frame, in.parcel.lender, o)
	x.batch, x.more, x.in.Token = b, in.more, ProgressToken(in.m.Params)
	c.opts.arrives(&x.in)
	inline := c.opts.Inline(x.in.Method)
	w, here, err := c.state.admit(x, c.opts.MaxInFlight, inline, in.alone)
	switch {
	case err != nil:
		x.free()
		if e := peer.AsError(err); e != nil {
			c.refuse(in.m.ID, e, o, b)
		} else if err == errCameLate {
			x.unanswered()
		}
	case inline:
		x.serve()
		c.state.leave()
	case here:
		return x
	default:
		c.rouse(w)
	}
	return nil
}

// serve handles the request and answers it, also where the handler panics. Where
// the handler ends the goroutine it does what comes after serve, too.
func (x *exchange) serve() {
	returned := false
	defer func() {
		if !returned {
			x.fall(recover())
		}
	}()
	var res peer.Reply
	var answer []byte
	var err error
	if h := x.conn.opts.Handler; h == nil {
		err = errNoMethod(x.in.Method)
	} else if res, err = h.Handle(&x.ctx, &x.in); err == nil {
		answer, err = x.answer(res)
	}
	returned = true
	x.conclude(answer, revision(res.Frame), err)
}

// fall concludes the request of a handler that panicked with p, or ended its
// goroutine where that is nil.
func (x *exchange) fall(p any) {
	if p != nil {
		x.conclude(nil, wire.Revision{}, newPanic(p))
		return
	}
	x.conclude(nil, wire.Revision{}, errExited)
	x.conn.state.leave()
}

// answer writes down what a handler returned. The bytes are those of x until it is
// freed.
func (x *exchange) answer(res peer.Reply) ([]byte, error) {
	if res.Result == nil {
		return nil, resultError{errNoResult}
	}
	buf := x.lender.room()
	at := len(buf.Bytes)
	all, err := wire.AppendResult(buf.Bytes, res.Frame, x.in.ID, res.Result)
	if err != nil {
		return nil, resultError{err}
	}
	buf.Bytes = all
	return all[at:], nil
}

// catch makes an error of a panic.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = newPanic(r)
	}
}

// resultError is why a handler's result is no answer.
type resultError struct{ error }

func (e resultError) Unwrap() []error { return []error{e.error, errResult} }

// conclude ends the request, and writes its answer or its error unless nobody wants
// to know any more.
func (x *exchange) conclude(answer []byte, r wire.Revision, err error) {
	x.gate.shut()
	verdict := x.conn.state.conclude(x)
	switch {
	case err != nil:
		x.fail(err, verdict)
	case verdict == speak:
		x.post(context.Background(), answer, r, nil)
	}
	if verdict == silent {
		x.unanswered()
	}
	x.free()
}

// fail deals with what the handler failed with.
func (x *exchange) fail(err error, v verdict) {
	logFailure(&x.ctx, x.conn.opts.Logger, &x.in, err, v != speak)
	if v == speak {
		x.refuse(context.Background(), wireError(err))
	}
}

// unanswered tells that the request gets no answer because its sender cancelled it.
func (x *exchange) unanswered() {
	x.batch.add(nil)
	if f := x.conn.opts.OnUnanswered; f != nil {
		contain(x.conn.opts.Logger, "hook for unanswered requests", func() { f(x.in.ID) })
	}
}

// refuse answers with an error.
func (x *exchange) refuse(ctx context.Context, e *peer.Error) {
	buf := writeError(x.in.ID, e, x.conn.opts.Logger)
	x.post(ctx, buf.Bytes, wire.Revision{}, e)
	buf.Free()
}

// post sends the answer, or the error e, to where it belongs.
func (x *exchange) post(ctx context.Context, answer []byte, r wire.Revision, e *peer.Error) {
	if x.batch != nil {
		x.batch.add(answer)
		return
	}
	x.conn.sendReply(ctx, x.out, MessageInfo{ID: x.in.ID, Revision: r, Error: e, More: x.more}, answer)
}

// free ends the context of the message and gives its bytes back.
func (x *exchange) free() {
	x.ctx.Cancel(nil)
	x.lender.free()
}

// lasts tells whether the request lasts until one side ends it.
func (x *exchange) lasts() bool { return x.in.Method == methodListen }

// Call implements [peer.Outbound]: the request belongs to the message being
// handled.
func (x *exchange) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if !x.in.Transport.CanSendRequest() || !x.gate.open() {
		return &peer.NoBackChannelError{Method: req.Method()}
	}
	return x.conn.call(ctx, way{x.out, &x.gate}, req, res, opts)
}

// Notify implements [peer.Outbound].
func (x *exchange) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return x.conn.notify(ctx, way{x.out, &x.gate}, n, opts)
}

// Progress implements [peer.BackChannel].
func (x *exchange) Progress(ctx context.Context, p peer.Progress) error {
	if x.in.Token.IsZero() {
		return nil
	}
	return x.gate.report(p.Progress, func() error {
		return x.conn.notify(ctx, way{Writer: x.out}, &progress{x.in.Token, p}, nil)
	})
}

// wireError is what the peer is told about err: what is in its chain to be
// told, or nothing but that something went wrong.
func wireError(err error) *peer.Error {
	if e := peer.AsError(err); e != nil {
		return e
	}
	return errInternal
}

// logFailure logs what a handler failed with, where nobody else is told.
func logFailure(ctx context.Context, log *slog.Logger, in *peer.Inbound, err error, unheard bool) {
	p, panicked := errors.AsType[*panicError](err)
	_, badResult := errors.AsType[resultError](err)
	switch {
	case panicked:
		log.ErrorContext(ctx, "handler panicked", "method", in.Method, "id", in.ID, "panic", p.value, "stack", p.stack)
	case badResult:
		log.ErrorContext(ctx, "handler returned an invalid result", "method", in.Method, "id", in.ID, "error", err)
	case errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)):
		log.DebugContext(ctx, "handler stopped", "method", in.Method, "id", in.ID, "error", err)
	case peer.AsError(err) != nil && !unheard:
		log.DebugContext(ctx, "request refused", "method", in.Method, "id", in.ID, "error", err)
	default:
		log.ErrorContext(ctx, "handler failed", "method", in.Method, "id", in.ID, "error", err)
	}
}
