package jsonrpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// InProcessConn is one end of an in-process connection, and the [peer.Outbound] that
// leads to the other. It behaves as a [Conn] does, with these differences:
//
//   - Nothing is written down, unless [Options].Strict wants it. Messages and
//     results are handed over as they are: the receiver must not change them,
//     nor the sender afterwards.
//   - A handler runs in the goroutine of the call. The end of the call's context
//     or its timeout ends the handler's context, and the call returns when the
//     handler does.
//   - What the [Options] say about reading, writing and batches means nothing.
//
// It is safe for concurrent use.
type InProcessConn struct {
	opts     Options
	peer     *InProcessConn
	link     *link
	table    directTable // of the requests that this end handles
	notes    lane[*directNote]
	inFlight InFlight
}

// link is what the two ends share.
type link struct {
	closed   chan struct{}
	handlers sync.WaitGroup
	tasks    sync.WaitGroup
}

// InProcessPair returns the two ends of an in-process connection. It is open until
// either end is closed.
func InProcessPair(client, server *Options) (*InProcessConn, *InProcessConn) {
	l := &link{closed: make(chan struct{})}
	c, s := newDirect(client, l), newDirect(server, l)
	c.peer, s.peer = s, c
	return c, s
}

func newDirect(opts *Options, l *link) *InProcessConn {
	d := &InProcessConn{opts: opts.complete("direct"), link: l}
	d.table.alarm.ring = d.table.expire
	d.notes = lane[*directNote]{do: d.handleNote, limit: d.opts.MaxQueuedNotifications, tasks: &l.tasks}
	d.inFlight.table = d
	return d
}

// Call implements [peer.Outbound]. Its errors are those of [Conn.Call].
func (d *InProcessConn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	method := req.Method()
	if ctx.Err() != nil {
		return abandoned(ctx, method)
	}
	o := callOptions(opts)
	if err := checkID(method, o.ID); err != nil {
		return err
	}
	x := &directExchange{to: d.peer, from: d, onProgress: o.OnProgress, frame: o.Frame}
	x.in.Method, x.in.Transport, x.in.Back = method, d.peer.opts.Transport, x
	x.ctx.Context = ctx
	defer x.ctx.Cancel(nil)
	if err := d.peer.table.admit(x, o.ID, d.opts.patience(&o), d.peer.opts.MaxInFlight); err != nil {
		return err
	}
	return x.run(req, res)
}

// Notify implements [peer.Outbound]. The handler runs in another goroutine.
func (d *InProcessConn) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return d.notify(ctx, nil, n, opts)
}

// notify sends a notification that belongs to the message with the gate, nil for the
// connection itself. A report that it makes goes through the gate on its own.
func (d *InProcessConn) notify(ctx context.Context, g *gate, n peer.Notification, opts []peer.CallOption) error {
	in := peer.Inbound{Method: n.Method(), Transport: d.peer.opts.Transport, Value: outbound.Original(n)}
	if own := callOptions(opts).Frame; d.opts.Strict || addsMeta(own) {
		var err error
		if in.Params, err = written(d.opts.frame(in.Method, own), n); err != nil {
			return fmt.Errorf("send %q: %w", in.Method, err)
		}
		if in.Value = nil; string(in.Params) == "{}" {
			in.Params = nil // a notification goes without
		}
	}
	err := ctx.Err()
	if err == nil && g != nil && !g.open() {
		err = errShut
	}
	if err != nil {
		d.opts.Logger.DebugContext(ctx, "notification dropped", "method", in.Method, "error", err)
		return nil
	}
	d.peer.control(&in)
	if g != nil {
		if !g.enter() {
			return nil
		}
		defer g.leave()
	}
	d.peer.notification(ctx, in)
	return nil
}

// InFlight returns the table of the requests being handled at this end.
func (d *InProcessConn) InFlight() *InFlight { return &d.inFlight }

// RefuseRequests has the other end's requests refused from now on, as [Conn.RefuseRequests] does.
func (d *InProcessConn) RefuseRequests(why *peer.Error) { d.table.decline(why) }

// Done is closed when the connection is.
func (d *InProcessConn) Done() <-chan struct{} { return d.link.closed }

// Shutdown ends the connection at both ends: calls fail, and the contexts of
// handlers end. It waits until they have returned, at most until ctx ends. A
// handler must not call it: it would wait for itself.
func (d *InProcessConn) Shutdown(ctx context.Context, cause error) {
	first := d.table.close(cause)
	d.peer.table.close(cause)
	d.notes.end()
	d.peer.notes.end()
	if first {
		close(d.link.closed)
	}
	if !wait(ctx, &d.link.handlers) || !wait(ctx, &d.link.tasks) {
		d.opts.Logger.Warn("handlers are still running after the connection was closed")
	}
}

// Close is a Shutdown in order that waits 5 seconds at most. It always returns
// nil.
func (d *InProcessConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d.Shutdown(ctx, nil)
	return nil
}

func (d *InProcessConn) cancelRequest(id wire.RequestID, reason string) bool {
	return d.table.cancel(id, &CancelledError{Reason: reason})
}

func (d *InProcessConn) requestIDs() []wire.RequestID { return d.table.list() }

var (
	_ peer.Outbound = (*InProcessConn)(nil)
	_ peer.Outbound = (*Conn)(nil)
)
