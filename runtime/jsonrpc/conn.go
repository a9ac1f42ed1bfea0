package jsonrpc

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Conn is one end of a JSON-RPC connection. It assigns ids to requests, passes responses to their
// callers, and calls a handler with the messages of the peer. It is a [peer.Outbound] that sends to
// the peer, and safe for concurrent use.
type Conn struct {
	opts  Options
	out   Writer
	state state

	closed        chan struct{}
	tasks         sync.WaitGroup // counts the goroutines of the connection
	notifications queue
	responses     queue
	inFlight      InFlight
	stream        atomic.Pointer[stream] // nil before ReadLines
}

// New returns a connection that writes to out. Nil options are allowed. The code that reads from
// the peer passes messages to [Conn.Deliver], or the whole stream to [Conn.ReadLines]. The
// connection ends with [Conn.Shutdown] or [Conn.Close].
func New(out Writer, opts *Options) *Conn {
	c := &Conn{opts: opts.withDefaults("pipe"), out: out, closed: make(chan struct{})}
	c.state.timer.f = c.state.expireCalls
	c.state.lastID, c.state.client = c.opts.LastID, c.opts.Client
	c.notifications = queue{do: func(x any) { c.handleNotification(x.(*inboundMessage)) }, maxItems: c.opts.MaxQueuedNotifications, tasks: &c.tasks}
	c.notifications.maxSize = maxQueuedMessages * c.opts.MaxMessage
	c.responses = queue{do: func(x any) { c.writeQueued(x.(*response)) }, maxItems: math.MaxInt, tasks: &c.tasks}
	c.responses.maxSize = max(maxWaitingBytes, maxQueuedMessages*c.opts.MaxMessage)
	c.inFlight.table = c
	if w, ok := out.(failingWriter); ok {
		w.onFailure(c.state.failCalls)
	}
	return c
}

// maxQueuedMessages is how many messages of the maximum length a queue can contain, or the same
// number of bytes in shorter messages.
const maxQueuedMessages = 4

// Call implements [peer.Outbound]. Its error is an *[peer.Error] that the peer sent, a
// *[peer.TimeoutError], a *[peer.ClosedError], a *[peer.NoBackChannelError], an *[IDInUseError], a
// *[wire.EncodeError] or a *[wire.DecodeError], or it wraps the error of ctx or of the Writer.
//
// Progress callbacks run in the goroutine of the call, in order and before it returns. They may
// call the peer.
//
// A timeout starts when the request has been written. A negative timeout is no limit, as for a
// subscription. If the context ends or the call times out, Call notifies the peer, and waits at
// most five seconds for the Writer to accept the notification.
func (c *Conn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.call(ctx, outlet{Writer: c.out}, req, res, opts)
}

// Notify implements [peer.Outbound]. It may block as long as the Writer does.
func (c *Conn) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.notify(ctx, outlet{Writer: c.out}, n, opts)
}

// TryNotify sends n and reports true, if the Writer can do so without waiting. If it reports false,
// nothing was sent. Nil means the frame of [Options].
func (c *Conn) TryNotify(n peer.Notification, f *wire.Frame) bool {
	return c.tryNotify(c.out, n, f)
}

// FailCall ends the call with this id, and reports whether there is one. It is for a transport that
// finds out that no response will arrive, for example after a failed HTTP request. The error of the
// call wraps err.
func (c *Conn) FailCall(id wire.RequestID, err error) bool { return c.state.failCall(id, err) }

// ExtendTimeout restarts the timeout of a call, like a progress report. It is for a transport that
// finds out in another way that the peer is working on the call.
func (c *Conn) ExtendTimeout(id wire.RequestID) { c.state.extendTimeout(id) }

// Done returns a channel that is closed when the connection is closed. No messages are read or sent
// afterwards.
func (c *Conn) Done() <-chan struct{} { return c.closed }

func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// InFlight returns the requests of the peer that are being handled.
func (c *Conn) InFlight() *InFlight { return &c.inFlight }

// Answering returns the Writer that receives the response of each request being handled, in no
// order: [Source].Back, or the Writer of the connection.
func (c *Conn) Answering() []Writer { return c.state.responseWriters() }

// Asking is like Answering, but only for requests whose handler waits for a response of the peer.
func (c *Conn) Asking() []Writer { return c.state.askingWriters() }

// InFlight is the set of the peer's requests that are being handled at one end of a connection.
type InFlight struct{ table requestTable }

type requestTable interface {
	cancelRequest(id wire.RequestID, reason string) bool
	requestIDs() []wire.RequestID
	// requests returns descriptions of the requests, in no order.
	requests() []peer.RequestInfo
	// handled returns a channel that is closed when no request is being handled.
	handled() <-chan struct{}
}

// Cancel stops a request as if its sender had cancelled it: the context of the handler ends with a
// *[CancelledError], and the request is not answered. The ids "7" and 7 are the same. Cancel
// reports false if no such request is being handled.
func (f *InFlight) Cancel(id wire.RequestID) bool { return f.table.cancelRequest(id, "") }

// IDs returns the ids of the requests being handled, in no order.
func (f *InFlight) IDs() []wire.RequestID { return f.table.requestIDs() }

// Requests returns descriptions of the requests being handled, in no order.
func (f *InFlight) Requests() []peer.RequestInfo { return f.table.requests() }

// Wait waits until no request is being handled, and returns nil. If ctx ends first, it returns the
// cause.
func (f *InFlight) Wait(ctx context.Context) error {
	select {
	case <-f.table.handled():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Conn) handled() <-chan struct{} { return c.state.handlersReturned() }

func (c *Conn) cancelRequest(id wire.RequestID, reason string) bool {
	return c.cancel(id, reason, 0)
}

func (c *Conn) cancel(id wire.RequestID, reason string, maxEarly int) bool {
	x := c.state.cancelRequest(id, maxEarly)
	if x == nil {
		return false
	}
	x.back.closeNow()
	x.ctx.Cancel(&CancelledError{Reason: reason})
	return true
}

func (c *Conn) requestIDs() []wire.RequestID { return c.state.requestIDs() }

func (c *Conn) requests() []peer.RequestInfo { return c.state.requestInfos() }

var _ peer.Outbound = (*Conn)(nil)
