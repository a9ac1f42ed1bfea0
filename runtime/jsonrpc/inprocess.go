package jsonrpc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// InProcessConn is one end of a connection within the process. It is a [peer.Outbound] that sends
// to the other end, and safe for concurrent use. It behaves like a [Conn], with these differences:
//
//   - Messages and results are not encoded, unless [Options].Strict is set. The receiver must not
//     change them, and the sender must not change them after sending.
//   - If the context of a call ends or the call times out, the handler's context ends, and no
//     notification is sent.
//   - The [Options] for reading, writing and batches have no effect.
type InProcessConn struct {
	// An update of a resource uses these fields of each client, so they are in one cache line.
	closed    atomic.Bool // link.closed is closed, or will be at once; faster to load
	strict    bool        // like the following fields, a copy of the option
	peer      *InProcessConn
	transport peer.TransportContext
	logger    *slog.Logger
	intercept func(*peer.Inbound) bool

	opts          Options
	link          *inProcessLink
	table         inProcessTable // of the requests that this end handles
	notifications queue
	inFlight      InFlight
}

// inProcessLink is what both ends share. Its goroutines serve one request after another, so that a
// stack that has grown is used again.
type inProcessLink struct {
	closed   chan struct{}
	handlers sync.WaitGroup
	tasks    sync.WaitGroup
	requests chan *inProcessRequest // to the goroutines that are idle
	idle     atomic.Int32           // how many there are, at most
}

// serve serves a request in an idle goroutine or in a new one.
func (l *inProcessLink) serve(x *inProcessRequest) {
	select {
	case l.requests <- x:
	default:
		l.tasks.Add(1)
		go l.work(x) // ends with the connection, or when enough goroutines are idle
	}
}

func (l *inProcessLink) work(x *inProcessRequest) {
	defer l.tasks.Done()
	for ; x != nil; x = l.next() {
		x.serve()
	}
}

// next returns the next request for an idle goroutine, or nil if the goroutine must end.
func (l *inProcessLink) next() *inProcessRequest {
	defer l.idle.Add(-1)
	if l.idle.Add(1) > maxIdleWorkers {
		return nil
	}
	select {
	case x := <-l.requests:
		return x
	case <-l.closed:
		return nil
	}
}

// InProcessPair returns the two ends of a connection within the process: the client's and the
// server's. Nil options are allowed. Closing either end closes the connection.
func InProcessPair(client, server *Options) (*InProcessConn, *InProcessConn) {
	l := &inProcessLink{closed: make(chan struct{}), requests: make(chan *inProcessRequest)}
	c, s := newInProcessConn(client, l), newInProcessConn(server, l)
	c.peer, s.peer = s, c
	return c, s
}

func newInProcessConn(opts *Options, l *inProcessLink) *InProcessConn {
	c := &InProcessConn{opts: opts.withDefaults("direct"), link: l}
	c.strict, c.transport, c.logger, c.intercept = c.opts.Strict, c.opts.Transport, c.opts.Logger, c.opts.InterceptNotification
	c.table.timer.f = c.table.expire
	c.notifications = queue{do: func(x any) { c.handleNotification(x.(*inProcessNotification)) }, maxItems: c.opts.MaxQueuedNotifications, tasks: &l.tasks}
	c.inFlight.table = c
	return c
}

// Call implements [peer.Outbound]. Its errors are the errors of [Conn.Call].
func (c *InProcessConn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	method := req.Method()
	if ctx.Err() != nil {
		return contextError(ctx, method)
	}
	o := callOptions(opts)
	if err := checkID(method, o.ID); err != nil {
		return err
	}
	x := &inProcessRequest{to: c.peer, from: c, onProgress: o.OnProgress, frame: o.Frame, events: make(chan inProcessEvent, 2)}
	x.in.Method, x.in.Transport, x.in.Back = method, c.peer.opts.Transport, x
	x.ctx.Context = ctx
	defer x.ctx.Cancel(nil)
	if err := c.peer.table.add(x, o.ID, c.opts.timeouts(&o), c.peer.opts.MaxInFlight); err != nil {
		if err == errTooMany {
			c.peer.opts.limitExceeded("MaxInFlight")
		}
		return err
	}
	return x.run(req, res)
}

// Notify implements [peer.Outbound]. The handler runs in another goroutine.
func (c *InProcessConn) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.notify(ctx, nil, n, callOptions(opts).Frame)
}

// TryNotify implements [outbound.TryNotifier]. It never sends progress reports, because they have
// to wait for the callback.
func (c *InProcessConn) TryNotify(n peer.Notification, f *wire.Frame) bool {
	return n.Method() != methodProgress && !c.isClosed() && c.notify(context.Background(), nil, n, f) == nil
}

// notify sends a notification. The message that it belongs to has the back channel b; nil stands
// for the connection itself. A progress report is processed outside of the back channel, because it
// uses the back channel itself.
func (c *InProcessConn) notify(ctx context.Context, b *backChannel, n peer.Notification, f *wire.Frame) error {
	x := inProcessNotifications.Get().(*inProcessNotification)
	x.to, x.ctx.Context, x.ctx.Detached = c.peer, ctx, true
	in := &x.in
	in.Method, in.Transport, in.Value, in.Back = n.Method(), c.peer.transport, outbound.Original(n), x
	if c.strict || addsMeta(f) {
		var err error
		if in.Params, err = encodeParams(c.opts.frame(in.Method, f), n); err != nil {
			return fmt.Errorf("send %q: %w", in.Method, err)
		}
		if in.Value = nil; string(in.Params) == "{}" {
			in.Params = nil // notifications omit empty params
		}
	}
	err := ctx.Err()
	if err == nil && b != nil && !b.isOpen() {
		err = errResponded
	}
	if err != nil {
		c.opts.Logger.DebugContext(ctx, "notification dropped", "method", in.Method, "error", err)
		return nil
	}
	c.peer.processNotification(in)
	if b != nil {
		if !b.enter() {
			return nil
		}
		defer b.leave()
	}
	c.peer.queueNotification(x)
	return nil
}

// InFlight returns the requests that this end is handling.
func (c *InProcessConn) InFlight() *InFlight { return &c.inFlight }

// RefuseRequests makes this end refuse new requests, like [Conn.RefuseRequests].
func (c *InProcessConn) RefuseRequests(reason *peer.Error) { c.table.refuseRequests(reason) }

// Drain waits until this end handles no requests, like [Conn.Drain]. It ends the contexts of
// subscriptions with [ErrPeerDone]. It returns the cause of the end of ctx, or [ErrClosed] if the
// connection is closed.
func (c *InProcessConn) Drain(ctx context.Context) error {
	c.table.endSubscriptions()
	select {
	case <-c.table.empty():
		return nil
	case <-c.link.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Done returns a channel that is closed when the connection is closed.
func (c *InProcessConn) Done() <-chan struct{} { return c.link.closed }

func (c *InProcessConn) isClosed() bool { return c.closed.Load() }

// Shutdown closes both ends: calls fail, and the contexts of handlers end. It waits until the
// handlers have returned, at most until ctx ends. A handler must not call Shutdown: it would wait
// for itself.
func (c *InProcessConn) Shutdown(ctx context.Context, cause error) {
	first := c.table.close(cause)
	c.peer.table.close(cause)
	c.notifications.close()
	c.peer.notifications.close()
	if first {
		c.closed.Store(true)
		c.peer.closed.Store(true)
		close(c.link.closed)
	}
	if !waitGroup(ctx.Done(), &c.link.handlers) || !waitGroup(ctx.Done(), &c.link.tasks) {
		c.opts.Logger.Warn("handlers are still running after the connection was closed")
	}
}

// Close calls [InProcessConn.Shutdown] without a cause and with a timeout of 5 seconds. It always
// returns nil.
func (c *InProcessConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c.Shutdown(ctx, nil)
	return nil
}

func (c *InProcessConn) cancelRequest(id wire.RequestID, reason string) bool {
	return c.table.cancel(id, &CancelledError{Reason: reason})
}

func (c *InProcessConn) requestIDs() []wire.RequestID { return c.table.ids() }
func (c *InProcessConn) requests() []peer.RequestInfo { return c.table.infos() }
func (c *InProcessConn) handled() <-chan struct{}     { return c.table.empty() }

// processNotification processes cancellations and progress reports.
func (c *InProcessConn) processNotification(in *peer.Inbound) {
	switch in.Method {
	case methodCancelled:
		var n cancelNotification
		if in.Decode(nil, &n) == nil {
			c.cancelRequest(n.id, n.reason)
		}
	case methodProgress:
		var n progressReport
		if in.Decode(nil, &n) != nil {
			return
		}
		if x := c.peer.table.find(n.token); x != nil {
			_ = x.Progress(context.Background(), n.Progress) // never fails
		}
	}
}

var _ peer.Outbound = (*InProcessConn)(nil)

// inProcessTable contains the requests that one end handles, which are the calls of the other end.
// Only its methods take its lock.
type inProcessTable struct {
	mu       sync.Mutex
	isClosed bool
	cause    error
	lastID   int64
	requests idTable
	drained  event       // when the table is empty
	refusal  *peer.Error // the response to new requests; nil if they are accepted
	timer    deadlineTimer

	notification *inProcessNotification // being handled; may be nil
}

// add adds a request, assigns an id if id is zero, and starts the timeouts.
func (t *inProcessTable) add(x *inProcessRequest, id wire.RequestID, limits timeouts, maxInFlight int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isClosed {
		return unsentError(x.in.Method, t.cause)
	}
	if t.refusal != nil {
		return t.refusal
	}
	if id.IsZero() {
		id = t.requests.newID(&t.lastID)
	}
	if t.requests.has(id) {
		return &IDInUseError{Method: x.in.Method, ID: id}
	}
	if t.requests.len >= maxInFlight && x.in.Method != methodPing {
		return errTooMany
	}
	x.in.ID = id
	if x.onProgress != nil {
		x.in.Token = id.Token()
	}
	t.requests.add(id, x)
	x.to.link.handlers.Add(1)
	if due := x.deadline.start(limits); !due.IsZero() {
		t.timer.schedule(due)
	}
	return nil
}

// remove removes a request whose handler has returned. It returns the error that the caller gets
// regardless of the handler's result, or nil.
func (t *inProcessTable) remove(x *inProcessRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.requests.remove(x.in.ID, x); t.requests.len == 0 {
		t.drained.signal()
	}
	return x.err
}

// end makes a request fail with err, and cancels the handler's context with cause. The lock is
// held.
func (t *inProcessTable) end(x *inProcessRequest, err, cause error) {
	if x.err == nil {
		x.err = err
		x.back.closeNow()
		x.ctx.Cancel(cause)
		x.events <- requestEnded // the channel has room for each event
	}
}

// abandon ends a request whose caller no longer waits, because the request or ctx, the context of
// the call, has ended. It reports false if the handler has returned.
func (t *inProcessTable) abandon(ctx context.Context, x *inProcessRequest) (ended bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.returned {
		return false, nil
	}
	if x.err == nil {
		t.end(x, contextError(ctx, x.in.Method), context.Cause(ctx))
	}
	x.abandoned = true
	return true, x.err
}

// handlerReturned records that the handler of a request has returned, and reports whether the
// caller waits for its result.
func (t *inProcessTable) handlerReturned(x *inProcessRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.returned = true
	return !x.abandoned
}

// cancel cancels a request for its sender, and reports whether there was one.
func (t *inProcessTable) cancel(id wire.RequestID, reason *CancelledError) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := find[inProcessRequest](&t.requests, id)
	if x == nil || x.err != nil {
		return false
	}
	t.end(x, reason, reason)
	return true
}

// find returns the request with a progress token, or nil.
func (t *inProcessTable) find(token wire.ProgressToken) *inProcessRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return find[inProcessRequest](&t.requests, token.ID())
}

// extendTimeout restarts the idle timeout of a request.
func (t *inProcessTable) extendTimeout(x *inProcessRequest) {
	t.mu.Lock()
	x.deadline.restart()
	t.mu.Unlock()
}

// countQuestions adds n to the questions that the handler of a request waits for, and restarts the
// idle timeout.
func (t *inProcessTable) countQuestions(x *inProcessRequest, n int) {
	t.mu.Lock()
	x.questions += n
	x.deadline.restart()
	t.mu.Unlock()
}

// expire ends the requests that have timed out. The timer calls it.
func (t *inProcessTable) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.fired()
	if t.isClosed {
		return
	}
	now := time.Now()
	for x := range each[inProcessRequest](&t.requests) {
		if x.questions > 0 {
			x.deadline.suspend(now)
		}
		switch {
		case x.err != nil:
		case x.deadline.expired(now):
			err := timeoutError(x.in.Method, now.Sub(x.deadline.started))
			t.end(x, err, err)
		case !x.deadline.due.IsZero():
			t.timer.schedule(x.deadline.due)
		}
	}
}

// refuseRequests makes the table refuse new requests.
func (t *inProcessTable) refuseRequests(reason *peer.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusal = reason
}

// endSubscriptions ends the contexts of subscriptions.
func (t *inProcessTable) endSubscriptions() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := range each[inProcessRequest](&t.requests) {
		if x.in.Method == methodListen {
			x.ctx.Cancel(ErrPeerDone)
		}
	}
}

// empty returns a channel that is closed when the table is empty.
func (t *inProcessTable) empty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drained.wait(t.requests.len == 0)
}

// setNotification stores the notification being handled, or nil. If the connection is closed, it
// returns the cause to cancel the notification's context with.
func (t *inProcessTable) setNotification(n *inProcessNotification) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notification = n
	if t.isClosed {
		return closeCause(t.cause)
	}
	return nil
}

func (t *inProcessTable) ids() []wire.RequestID {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]wire.RequestID, 0, t.requests.len)
	for x := range each[inProcessRequest](&t.requests) {
		ids = append(ids, x.in.ID)
	}
	return ids
}

func (t *inProcessTable) infos() []peer.RequestInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]peer.RequestInfo, 0, t.requests.len)
	for x := range each[inProcessRequest](&t.requests) {
		list = append(list, peer.RequestInfo{ID: x.in.ID, Method: x.in.Method, Name: messageName(&x.in)})
	}
	return list
}

// close ends all requests. It reports false if the table was closed before.
func (t *inProcessTable) close(cause error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isClosed {
		return false
	}
	t.isClosed, t.cause = true, cause
	t.timer.stop()
	for x := range each[inProcessRequest](&t.requests) {
		t.end(x, closedError(x.in.Method, cause), closeCause(cause))
	}
	if t.notification != nil {
		t.notification.ctx.Cancel(closeCause(cause))
	}
	return true
}
