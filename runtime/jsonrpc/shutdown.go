package jsonrpc

import (
	"context"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/peer"
)

// RefuseRequests makes the connection refuse all new requests of the peer with reason, before it is
// closed. Requests in flight, calls to the peer, and notifications are not affected. Together with
// [Conn.Drain] and [Conn.Shutdown], it ends a connection gracefully.
func (c *Conn) RefuseRequests(reason *peer.Error) { c.state.refuseRequests(reason) }

// Drain waits until all requests that have been delivered are answered and the responses are
// written. It returns the cause of the end of ctx, [ErrClosed] if the connection is closed, or the
// error of the Writer.
//
// Drain ends the contexts of subscriptions with [ErrPeerDone], because a subscription does not end
// by itself. It stops nothing else. Drain may return before a request is answered that is delivered
// meanwhile; [Conn.RefuseRequests] prevents that. A handler must not call Drain: it would wait for
// itself.
func (c *Conn) Drain(ctx context.Context) error {
	for _, x := range c.state.openSubscriptions() {
		x.ctx.Cancel(ErrPeerDone)
	}
	for _, done := range []func() <-chan struct{}{c.state.responsesWritten, c.responses.processed} {
		select {
		case <-done():
		case <-c.closed:
			return ErrClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return c.flush(ctx)
}

// flush waits until the Writer has written all messages that it accepted.
func (c *Conn) flush(ctx context.Context) error {
	if f, ok := c.out.(interface{ Flush(context.Context) error }); ok {
		return f.Flush(ctx)
	}
	return nil
}

// closeWriteTimeout limits how long all messages together take that are written when the connection
// closes.
const closeWriteTimeout = time.Second

// Shutdown closes the connection. Nil as cause means that the connection ends as intended. Calls
// fail, the contexts of handlers end, and requests that have not been answered are answered with an
// error. Then Shutdown waits until the handlers have returned, at most until ctx ends, and at most
// one second until the responses are written.
//
// The transport closes its streams afterwards, which ends a Writer that still blocks. Only the
// first call of Shutdown uses its cause; later calls also wait. A handler must not call Shutdown:
// it would wait for itself.
func (c *Conn) Shutdown(ctx context.Context, cause error) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWriteTimeout)
	defer cancel()
	if left, first := c.state.close(cause); first {
		close(c.closed)
		c.notifications.close()
		for _, x := range left.requests {
			x.ctx.Cancel(closeCause(cause))
		}
		if left.notification != nil {
			left.notification.ctx.Cancel(closeCause(cause))
		}
		c.answerUnfinished(last, left.unanswered)
		c.responses.close()
	}
	select {
	case <-c.state.handlersReturned():
	case <-ctx.Done():
		if left := c.state.requestIDs(); len(left) > 0 { // both channels may be ready
			c.opts.Logger.Warn("handlers are still running after the connection was closed", "requests", left)
		}
	}
	if err := c.flush(last); err != nil {
		c.opts.Logger.Debug("not all messages were written before the connection was closed", "error", err)
	}
	waitGroup(last.Done(), &c.tasks)
}

// Close calls [Conn.Shutdown] without a cause and with a timeout of 5 seconds. It always returns
// nil.
func (c *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c.Shutdown(ctx, nil)
	return nil
}

const closeTimeout = 5 * time.Second

// answerUnfinished answers requests with an error, at most until ctx ends.
func (c *Conn) answerUnfinished(ctx context.Context, requests []*inboundMessage) {
	if len(requests) == 0 {
		return
	}
	done := make(chan struct{})
	go func() { // ends with ctx, if the Writers observe it
		defer close(done)
		for _, x := range requests {
			failure.LogPanics(c.opts.Logger, "writer", func() { x.respondError(ctx, errConnClosed) })
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		c.opts.Logger.Warn("requests not answered before the connection was closed", "requests", len(requests))
	}
}

// CloseIdle closes a connection that is idle, without sending anything: no call waits, no message
// is being handled or waits to be written, and no request was cancelled that may still arrive.
// Otherwise it reports false and does nothing.
//
// It is for a transport with sessions that are seldom used. Later, another connection can replace
// this one, with lastID as its [Options].LastID. The connection must not be used during CloseIdle.
func (c *Conn) CloseIdle() (lastID int64, ok bool) {
	if c.notifications.isBusy() || c.responses.isBusy() || !c.state.closeIdle() {
		return 0, false
	}
	close(c.closed)
	c.notifications.close()
	c.responses.close()
	return c.state.lastID, true
}
