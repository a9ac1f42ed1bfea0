package jsonrpc

import (
	"context"

	"github.com/mcpwright/mcp/runtime/peer"
)

// RefuseRequests has every request of the peer's that comes from now on refused with why:
// for an end that is about to close the connection. What is being handled goes on,
// and so do our own calls, their answers and all notifications.
func (c *Conn) RefuseRequests(why *peer.Error) { c.state.decline(why) }

// Drain waits until every request that was delivered has been answered and the
// answers have been written. It is for a peer that asks all it wants to know and
// reads the answers afterwards. The error is the cause of the end of ctx,
// [ErrClosed] if the connection is closed, or that of the Writer.
//
// A subscription would never be answered: the contexts of the handlers of those
// end with [ErrPeerDone]. Drain stops nothing else: of requests that are
// delivered meanwhile it may or may not know. A handler must not call it: it
// would wait for itself.
func (c *Conn) Drain(ctx context.Context) error {
	for _, x := range c.state.lasting() {
		x.ctx.Cancel(ErrPeerDone)
	}
	for _, done := range []func() <-chan struct{}{c.state.answered, c.replies.done} {
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

// flush waits until the Writer has written what it has taken.
func (c *Conn) flush(ctx context.Context) error {
	if f, ok := c.out.(interface{ Flush(context.Context) error }); ok {
		return f.Flush(ctx)
	}
	return nil
}

// moment is what somebody may wait for, if there is anybody. Its owner's lock
// guards it.
type moment struct{ ch chan struct{} }

// come tells those who wait that it is there.
func (m *moment) come() {
	if m.ch != nil {
		close(m.ch)
		m.ch = nil
	}
}

// await returns a channel that is closed when it comes, or is closed already.
func (m *moment) await(isThere bool) <-chan struct{} {
	if isThere {
		return always
	}
	if m.ch == nil {
		m.ch = make(chan struct{})
	}
	return m.ch
}

var always = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
