package jsonrpc

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Conn is the JSON-RPC dispatcher of one pipe or session: it gives requests
// their ids and answers their callers, and runs the handlers of what the peer
// sends. It is the [peer.Outbound] that leads to the peer, and safe for
// concurrent use.
type Conn struct {
	opts  Options
	out   Writer
	state state

	closed   chan struct{}
	tasks    sync.WaitGroup // goroutines of ours
	notes    lane[*exchange]
	replies  lane[reply]
	inFlight InFlight
	reading  atomic.Pointer[reading] // nil before ReadLines
}

// New returns a dispatcher that writes to out. It is ready at once: whoever
// reads from the peer hands the messages to [Conn.Deliver], or the whole stream
// to [Conn.ReadLines]. It runs until [Conn.Shutdown].
func New(out Writer, opts *Options) *Conn {
	c := &Conn{opts: opts.complete("pipe"), out: out, closed: make(chan struct{})}
	c.state.alarm.ring = c.state.expire
	c.state.last, c.state.client = c.opts.LastID, c.opts.Client
	c.notes = lane[*exchange]{do: c.handleNote, limit: c.opts.MaxQueuedNotifications, tasks: &c.tasks}
	c.notes.mostWeigh = heaviest * c.opts.MaxMessage
	c.replies = lane[reply]{do: c.writeReply, limit: math.MaxInt, tasks: &c.tasks}
	c.replies.mostWeigh = max(mostWaiting, heaviest*c.opts.MaxMessage)
	c.inFlight.table = c
	if b, ok := out.(breaker); ok {
		b.onBreak(c.state.fail)
	}
	return c
}

// heaviest is how many of the longest messages may wait to be handled, or that
// much of shorter ones.
const heaviest = 4

// breaker is a Writer that may fail to write what it has already taken.
type breaker interface{ onBreak(func(error)) }

// Call implements [peer.Outbound]. Besides an *[peer.Error] of the peer's, its
// error is a *[peer.TimeoutError], a *[peer.ClosedError], an *[IDInUseError], a
// *[wire.EncodeError] or a *[wire.DecodeError], or wraps the error of ctx or of
// the Writer.
//
// Progress callbacks run in the goroutine of the call, in order and before it
// returns, and may call the peer themselves.
//
// A timeout counts from when the request has been written. A negative one
// waits without end, as a subscription does.
func (c *Conn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.call(ctx, way{Writer: c.out}, req, res, opts)
}

// Notify implements [peer.Outbound]. Where the peer is slow it may wait, for as
// long as the Writer does.
func (c *Conn) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.notify(ctx, way{Writer: c.out}, n, opts)
}

// FailCall ends the call under way that has the id, because of err: for a transport
// that knows that no answer comes, as after a failed HTTP request. The caller
// finds err in the chain of his error. It returns false where there is no such
// call.
func (c *Conn) FailCall(id wire.RequestID, err error) bool {
	return c.state.refuse(id, err)
}

// ExtendTimeout begins the wait for the answer to a call anew, as a progress report does: for
// a transport that learns in another way that the call is being worked on.
func (c *Conn) ExtendTimeout(id wire.RequestID) { c.state.alive(id) }

// InFlight returns the table of the requests being handled.
func (c *Conn) InFlight() *InFlight { return &c.inFlight }

// Done is closed when the connection is: nothing is read or sent any more.
func (c *Conn) Done() <-chan struct{} { return c.closed }

func (c *Conn) over() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// lastWords is how long everything may take together that is still written
// when the connection closes.
const lastWords = time.Second

// Shutdown ends the connection, because of cause or, if that is nil, in order.
// Calls fail, the contexts of handlers end, and what they have not answered is
// answered with an error. Then it waits until they have returned, at most until
// ctx ends; for writing it waits a second at most.
//
// The transport closes its streams afterwards, and thereby ends a Writer that
// is still stuck. Only the first Shutdown has a cause; later ones wait as well.
// A handler must not call it: it would wait for itself.
func (c *Conn) Shutdown(ctx context.Context, cause error) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if left, first := c.state.close(cause); first {
		close(c.closed)
		c.notes.end()
		for _, x := range left.requests {
			x.ctx.Cancel(closure(cause))
		}
		if left.noting != nil {
			left.noting.ctx.Cancel(closure(cause))
		}
		c.sayGoodbye(last, left.unheard)
		c.replies.end()
	}
	select {
	case <-c.state.returned():
	case <-ctx.Done():
		if left := c.state.list(); len(left) > 0 { // both may have come
			c.opts.Logger.Warn("handlers are still running after the connection was closed", "requests", left)
		}
	}
	if err := c.flush(last); err != nil {
		c.opts.Logger.Debug("not all was written before the connection was closed", "error", err)
	}
	wait(last, &c.tasks)
}

// Close is a Shutdown in order that waits 5 seconds at most. It always returns
// nil.
func (c *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c.Shutdown(ctx, nil)
	return nil
}

// sayGoodbye answers the requests that get no other answer.
func (c *Conn) sayGoodbye(ctx context.Context, unheard []*exchange) {
	if len(unheard) == 0 {
		return
	}
	done := make(chan struct{})
	go func() { // ends at the end of ctx, if the Writers keep their word
		defer close(done)
		for _, x := range unheard {
			contain(c.opts.Logger, "writer", func() { x.refuse(ctx, errGoodbye) })
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		c.opts.Logger.Warn("gave up answering the requests that the end of the connection has ended", "requests", len(unheard))
	}
}

// wait waits for a group, at most until ctx ends.
func wait(ctx context.Context, g *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { // ends when the group is done
		g.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
