package jsonrpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/batch"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// inboundMessage is a request or notification from the peer that is being handled. It is the
// [peer.BackChannel] of its handler.
type inboundMessage struct {
	in     peer.Inbound
	conn   *Conn
	ctx    lazy.Context
	memory memory // contains the message
	out    Writer
	back   backChannel
	batch  *batchResponse // receives the response; may be nil
	more   bool           // other messages arrived together with this one

	// The connection's state guards these fields while the request is in its table.
	answered  bool // because the connection closed
	cancelled bool
}

// newInbound returns an inboundMessage for a message that was read with the frame f, or nil.
func (c *Conn) newInbound(ctx context.Context, m *wire.Message, f *wire.Frame, mem memory, o *Source) *inboundMessage {
	x := new(inboundMessage)
	x.init(ctx, c, m, f, mem, o)
	return x
}

func (x *inboundMessage) init(ctx context.Context, c *Conn, m *wire.Message, f *wire.Frame, mem memory, o *Source) {
	into, decoded := m.Into.(peer.Message)
	if !decoded {
		f = nil
	}
	transport, out := o.Transport, o.Back
	if transport == nil {
		transport = c.opts.Transport
	}
	if out == nil {
		out = c.out
	}
	x.conn, x.memory, x.out = c, mem, out
	x.ctx.Context, x.ctx.Detached = ctx, o.Detached
	x.in.Method, x.in.ID, x.in.Params = m.Method, m.ID, m.Params
	x.in.Message, x.in.Frame, x.in.Transport, x.in.Back = into, f, transport, x
}

// request handles a request inline, queues it for the workers, or refuses it. It returns the
// request if the caller must handle it, or nil.
func (c *Conn) request(ctx context.Context, in *received, o *Source, b *batchResponse) *inboundMessage {
	x := c.newInbound(ctx, &in.m, in.frame, in.payload.memory, o)
	x.batch, x.more, x.in.Token = b, in.more, progress.Token(in.m.Params)
	c.opts.requestArrived(&x.in)
	if err := x.hold(); err != nil {
		x.free()
		c.opts.limitExceeded("Budget")
		c.refuse(in.m.ID, errOverBudget, o, b)
		return nil
	}
	inline := c.opts.Inline(x.in.Method)
	w, here, err := c.state.addRequest(x, c.opts.MaxInFlight, inline, in.alone)
	switch {
	case err != nil:
		x.free()
		c.countRefusal(err)
		if e := peer.AsError(err); e != nil {
			c.refuse(in.m.ID, e, o, b)
		} else if err == errCancelledEarly {
			x.unanswered()
		}
	case inline:
		x.serve()
		c.state.responseWritten()
	case here:
		return x
	default:
		c.wake(w)
	}
	return nil
}

// countRefusal reports the limit because of which a request was refused with err, if there is one.
func (c *Conn) countRefusal(err error) {
	if err == errTooMany {
		c.opts.limitExceeded("MaxInFlight")
	}
}

// hold counts the memory of the message, or of its response, in the budget. If it is not in a buffer
// of this package, the transport has counted it.
func (x *inboundMessage) hold() error {
	if x.memory.buf == nil {
		return nil
	}
	return x.memory.buf.Hold(x.conn.opts.Budget, x.in.Transport.Principal(), cap(x.memory.buf.Bytes))
}

// holdExpected counts the response in the budget before the handler is called, if the response is
// expected to be large.
func (x *inboundMessage) holdExpected() error {
	b := x.conn.opts.Budget
	n := b.ExpectedResult(x.in.Method, messageName(&x.in))
	if n == 0 {
		return nil
	}
	buf := x.memory.buffer()
	err := buf.Hold(b, x.in.Transport.Principal(), cap(buf.Bytes)+n)
	if err == nil {
		buf.Grow(n)
	}
	return err
}

// messageName returns the name of the tool, prompt or resource that a message is about, or "".
func messageName(in *peer.Inbound) string {
	m, ok := in.Message.(peer.Named)
	if !ok {
		m, ok = in.Value.(peer.Named) // in process
	}
	if !ok {
		return ""
	}
	return m.NameMember()
}

// handleInline handles or refuses a request in the calling goroutine.
func (c *Conn) handleInline(x *inboundMessage) {
	c.opts.requestArrived(&x.in)
	_, _, err := c.state.addRequest(x, c.opts.MaxInFlight, true, false)
	if err == nil {
		x.serve()
		c.state.responseWritten()
		return
	}
	x.free()
	c.countRefusal(err)
	if e := peer.AsError(err); e != nil {
		x.respondError(context.Background(), e)
	} else if err == errCancelledEarly {
		x.unanswered()
	}
}

// serve calls the handler of a request and sends the response, also if the handler panics. If the
// handler ends the goroutine, serve also does what its callers do afterwards.
func (x *inboundMessage) serve() {
	returned := false
	defer func() {
		if !returned {
			x.handlerFailed(recover())
		}
	}()
	var reply peer.Reply
	var data []byte
	var err error
	if h := x.conn.opts.Handler; h == nil {
		err = methodNotFound(x.in.Method)
	} else if x.holdExpected() != nil {
		x.conn.opts.limitExceeded("Budget")
		err = errOverBudget
	} else if reply, err = h.Handle(&x.ctx, &x.in); err == nil {
		data, err = x.encodeResult(reply)
	}
	returned = true
	x.finish(data, revision(reply.Frame), err)
}

// handlerFailed finishes the request of a handler that panicked, or that ended its goroutine if the
// recovered value is nil.
func (x *inboundMessage) handlerFailed(recovered any) {
	if recovered != nil {
		x.finish(nil, wire.Revision{}, failure.NewPanicError(recovered))
		return
	}
	x.finish(nil, wire.Revision{}, failure.ErrExited)
	x.conn.state.responseWritten()
}

// encodeResult encodes the response with a result. The bytes are valid until x is freed.
func (x *inboundMessage) encodeResult(reply peer.Reply) ([]byte, error) {
	if reply.Result == nil {
		return nil, failure.ResultError{Err: failure.ErrNoResult}
	}
	buf := x.memory.buffer()
	start := len(buf.Bytes)
	all, err := wire.AppendResult(buf.Bytes, reply.Frame, x.in.ID, reply.Result)
	if err != nil {
		return nil, failure.ResultError{Err: err}
	}
	buf.Bytes = all
	x.conn.opts.Budget.RecordResult(x.in.Method, messageName(&x.in), len(all)-start)
	if x.hold() != nil {
		x.conn.opts.limitExceeded("Budget")
		return nil, errUnsendable
	}
	return all[start:], nil
}

// finish finishes a request whose handler has returned: it sends the response data or the error,
// unless the request was cancelled or has been answered.
func (x *inboundMessage) finish(data []byte, r wire.Revision, err error) {
	x.back.close()
	kind := x.conn.state.finishRequest(x)
	if err != nil {
		err = failure.Log(&x.ctx, x.conn.opts.Logger, &x.in, err, kind == sendResponse)
	}
	switch {
	case kind == noResponse:
		x.unanswered()
	case kind == sendResponse && err != nil:
		x.respondError(context.Background(), failure.ForPeer(err))
	case kind == sendResponse:
		x.respond(context.Background(), data, r, nil)
	}
	x.free()
}

// unanswered is called if the request gets no response because its sender cancelled it.
func (x *inboundMessage) unanswered() {
	x.batch.add(x.in.ID, nil)
	x.conn.opts.requestUnanswered(x.in.ID)
}

// respondError sends an error as response.
func (x *inboundMessage) respondError(ctx context.Context, e *peer.Error) {
	buf := encodeError(x.in.ID, e, x.conn.opts.Logger)
	x.respond(ctx, buf.Bytes, wire.Revision{}, e)
	buf.Free()
}

// respond sends an encoded response. The error e is nil if it contains a result.
func (x *inboundMessage) respond(ctx context.Context, data []byte, r wire.Revision, e *peer.Error) {
	if x.batch != nil {
		x.batch.add(x.in.ID, data)
		return
	}
	x.conn.writeResponse(ctx, x.out, MessageInfo{ID: x.in.ID, Revision: r, Error: e, More: x.more}, data)
}

// free ends the context of the message and releases its memory.
func (x *inboundMessage) free() {
	x.ctx.Cancel(nil)
	x.memory.free()
}

// isSubscription reports whether the message is a request that lasts until one side ends it.
func (x *inboundMessage) isSubscription() bool { return x.in.Method == methodListen }

// notification processes cancellations and progress reports, and queues a notification for the
// handler.
func (c *Conn) notification(ctx context.Context, in *received, o *Source) {
	x := c.newInbound(ctx, &in.m, in.frame, in.payload.memory, o)
	switch in.m.Method {
	case methodCancelled:
		var n cancelNotification
		if wire.DecodeParams(in.m.Params, validated, &n) == nil {
			c.cancel(n.id, n.reason, c.opts.maxCancelledEarly())
		}
	case methodProgress:
		var n progressReport
		if wire.DecodeParams(in.m.Params, validated, &n) == nil {
			c.state.deliverProgress(n.token, n.Progress)
		}
	}
	if c.opts.intercept(&x.in) || c.opts.Handler == nil {
		x.drop()
		return
	}
	if err := x.hold(); err != nil {
		x.drop()
		c.opts.limitExceeded("Budget")
		c.opts.report(fmt.Errorf("notification %q dropped: %w", in.m.Method, err))
		return
	}
	if !c.notifications.add(x, len(in.payload.data)) {
		x.drop()
		if !c.isClosed() {
			c.opts.limitExceeded("MaxQueuedNotifications")
			c.opts.report(fmt.Errorf("notification %q dropped: %w", in.m.Method, ErrTooManyQueued))
		}
	}
}

// handleNotification calls the handler of a notification.
func (c *Conn) handleNotification(x *inboundMessage) {
	defer func() {
		c.state.setNotification(nil)
		x.drop()
	}()
	if cause := c.state.setNotification(x); cause != nil {
		x.ctx.Cancel(cause)
	}
	if err := c.opts.handleNotification(&x.ctx, &x.in); err != nil {
		failure.Log(&x.ctx, c.opts.Logger, &x.in, err, false)
	}
}

// handleNotification calls the handler of a notification and returns its error or panic.
func (o *Options) handleNotification(ctx context.Context, in *peer.Inbound) (err error) {
	defer failure.Recover(&err)
	_, err = o.Handler.Handle(ctx, in)
	return err
}

// drop ends a notification.
func (x *inboundMessage) drop() {
	x.back.close()
	x.free()
}

// Call implements [peer.Outbound]. The request belongs to the message being handled.
func (x *inboundMessage) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if canSend := x.in.Transport.CanSendRequest(); !canSend || !x.back.isOpen() {
		return &peer.NoBackChannelError{Method: req.Method(), Returned: canSend}
	}
	x.back.countQuestions(1)
	defer x.back.countQuestions(-1)
	return x.conn.call(ctx, outlet{x.out, &x.back}, req, res, opts)
}

// Notify implements [peer.Outbound].
func (x *inboundMessage) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return x.conn.notify(ctx, outlet{x.out, &x.back}, n, opts)
}

// TryNotify implements [outbound.TryNotifier].
func (x *inboundMessage) TryNotify(n peer.Notification, f *wire.Frame) bool {
	if !x.back.tryEnter() {
		return false
	}
	defer x.back.leave()
	return x.conn.tryNotify(x.out, n, f)
}

// Progress implements [peer.BackChannel].
func (x *inboundMessage) Progress(ctx context.Context, p peer.Progress) error {
	if x.in.Token.IsZero() {
		return nil
	}
	return x.back.report(p.Progress, func() error {
		return x.conn.notify(ctx, outlet{Writer: x.out}, &progressReport{x.in.Token, p}, nil)
	})
}

// DeliveryContext returns the context that the message was delivered with; see
// [outbound.DeliveryContext].
func (x *inboundMessage) DeliveryContext() context.Context { return x.ctx.Context }

// response is an encoded response that waits to be written.
type response struct {
	buf  *buffer.Buffer
	info MessageInfo
	out  Writer
}

// size returns how much memory the response uses.
func (r *response) size() int { return cap(r.buf.Bytes) }

// encodeError encodes the response with an error. If the data of the error are not valid JSON, they
// are omitted.
func encodeError(id wire.RequestID, e *peer.Error, log *slog.Logger) *buffer.Buffer {
	buf := buffer.New()
	x := wire.ErrorObject(*e)
	var err error
	if buf.Bytes, err = wire.AppendError(buf.Bytes, id, &x); err != nil {
		log.Error("data of an error omitted", "id", id, "error", err)
		x.Data = nil
		buf.Bytes, _ = wire.AppendError(buf.Bytes, id, &x) // cannot fail without data
	}
	return buf
}

// writeResponse writes an encoded response.
func (c *Conn) writeResponse(ctx context.Context, out Writer, e MessageInfo, data []byte) {
	if err := (outlet{Writer: out}).write(ctx, e, data); err != nil {
		c.opts.Logger.Debug("response not written", "id", e.ID, "error", err)
	}
}

// refuse answers a message with an error without calling a handler. It does not wait for the
// Writer, because it runs in the goroutine that reads. A client does not answer messages without an
// id.
func (c *Conn) refuse(id wire.RequestID, e *peer.Error, o *Source, b *batchResponse) {
	if id.IsZero() && c.opts.Client {
		b.add(id, nil)
		return
	}
	buf := encodeError(id, e, c.opts.Logger)
	if b != nil {
		b.add(id, buf.Bytes)
		buf.Free()
		return
	}
	c.queueResponse(&response{buf, MessageInfo{ID: id, Error: e}, o.Back})
}

// queueResponse makes another goroutine write a response. A nil Writer is the Writer of the
// connection.
func (c *Conn) queueResponse(r *response) {
	if r.out == nil {
		r.out = c.out
	}
	if !c.responses.add(r, r.size()) {
		r.buf.Free()
		c.opts.Logger.Warn("response dropped: too many responses wait until the peer reads them", "id", r.info.ID)
	}
}

func (c *Conn) writeQueued(r *response) {
	c.writeResponse(context.Background(), r.out, r.info, r.buf.Bytes)
	r.buf.Free()
}

// batchResponse collects the responses to the requests of one batch. Nil is allowed and collects
// nothing.
type batchResponse struct {
	conn      *Conn
	out       Writer // receives the responses; nil is the Writer of the connection
	principal string
	messages  *budget.Reservation // of the batch; may be nil

	mu        sync.Mutex
	pending   int
	responses *buffer.Buffer // nil if there are none
}

// add adds the response to a request, or nil if the request gets none. The last call sends the
// responses. A response that exceeds the budget is replaced by an error.
func (b *batchResponse) add(id wire.RequestID, data []byte) {
	if b == nil {
		return
	}
	b.mu.Lock()
	if len(data) > 0 && !b.append(data, false) {
		refused := encodeError(id, errUnsendable, b.conn.opts.Logger)
		b.append(refused.Bytes, true)
		refused.Free()
	}
	b.pending--
	last := b.pending == 0
	b.mu.Unlock()
	if !last {
		return
	}
	b.messages.Release()
	if b.responses != nil {
		b.responses.Bytes = append(b.responses.Bytes, ']')
		b.conn.queueResponse(&response{buf: b.responses, out: b.out})
	}
}

// append appends an encoded response. It returns false without effect if the budget refuses the
// response, unless always is set. The lock is held.
func (b *batchResponse) append(data []byte, always bool) bool {
	if b.responses == nil {
		b.responses = buffer.New()
	}
	buf := b.responses
	if buf.Hold(b.conn.opts.Budget, b.principal, len(buf.Bytes)+len(data)) != nil && !always {
		return false
	}
	buf.Bytes = batch.Append(buf.Bytes, data)
	return true
}
