package jsonrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// call is a request of ours that awaits its answer. What the peer says about it
// is queued here, and taken out by the goroutine that waits: first the
// progress reports, then the outcome.
type call struct {
	id         wire.RequestID
	method     string
	onProgress func(peer.Progress)
	wake       chan struct{} // holds one signal

	// The state's lock guards what follows, until over.
	clock   clock
	waiting []peer.Progress
	over    bool // it is off the table and nobody but its caller touches it
	answer  wire.Message
	parcel  parcel
	err     error // in place of an answer
}

// mostReports is how many progress reports wait for a callback that takes its
// time. The newest one then takes the place of the one before: it says more.
const mostReports = 256

func (c *call) add(p peer.Progress) {
	if len(c.waiting) == mostReports {
		c.waiting[mostReports-1] = p
		return
	}
	c.waiting = append(c.waiting, p)
}

// signal wakes the caller. It never blocks.
func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// way is where a message goes out.
type way struct {
	Writer
	gate *gate // of the request that it belongs to, nil for the connection itself
}

// call sends a request and waits for its answer.
func (c *Conn) call(ctx context.Context, out way, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	method := req.Method()
	if ctx.Err() != nil {
		return abandoned(ctx, method)
	}
	o := callOptions(opts)
	if err := checkID(method, o.ID); err != nil {
		return err
	}
	k, err := c.state.open(method, &o)
	if err != nil {
		return err
	}
	defer c.state.recycle(k)
	if err := c.send(ctx, out, k, req, &o); err != nil {
		if !c.state.abandon(k) {
			k.parcel.free()
		}
		return err
	}
	if r := c.reading.Load(); r != nil {
		r.readOn(r.held.Load()) // somebody has to read the answer
	}
	c.state.start(k, c.opts.patience(&o))
	if err := c.await(ctx, k); err != nil {
		c.takeBack(ctx, out, k, &o)
		return err
	}
	return c.outcome(ctx, out, k, res, &o)
}

// send writes the request of a call.
func (c *Conn) send(ctx context.Context, out way, k *call, req peer.Message, o *peer.CallOptions) error {
	f := c.opts.frame(k.method, o.Frame)
	if k.onProgress != nil {
		f = withToken(f, k.id.Token())
	}
	buf := NewBuffer()
	defer buf.Free()
	var err error
	if buf.Bytes, err = wire.AppendRequest(buf.Bytes, f, k.id, k.method, req); err != nil {
		return fmt.Errorf("send %q: %w", k.method, err)
	}
	p := c.opts.patience(o)
	e := MessageInfo{Method: k.method, ID: k.id, Revision: revision(f), Header: o.Header, Patience: p.idle}
	if named, is := req.(peer.Named); is {
		e.Name = named.NameMember()
	}
	err = out.write(ctx, e, buf.Bytes)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errPatience):
		return timeoutError(k.method, p.idle)
	case errors.Is(err, errShut):
		return &peer.NoBackChannelError{Method: k.method}
	case ctx.Err() == nil:
		return unsent(k.method, err)
	}
	if !errors.Is(err, ErrNotWritten) { // the peer may have got it
		c.takeBack(ctx, out, k, o)
	}
	return abandoned(ctx, k.method)
}

// revision returns what a frame writes for.
func revision(f *wire.Frame) (r wire.Revision) {
	if f != nil {
		r = f.Revision
	}
	return r
}

// errShut is the error of a way whose request is over.
var errShut = fmt.Errorf("%w: the request that it belongs to is over", ErrNotWritten)

// write writes a message unless it comes too late.
func (w way) write(ctx context.Context, e MessageInfo, data []byte) error {
	if w.gate != nil {
		if !w.gate.enter() {
			return errShut
		}
		defer w.gate.leave()
	}
	if out, ok := w.Writer.(InfoWriter); ok {
		return out.WriteWithInfo(ctx, e, data)
	}
	return w.WriteMessage(ctx, data)
}

// await hands progress reports to the caller until the outcome of k is there.
// Its error tells that the caller has gone.
func (c *Conn) await(ctx context.Context, k *call) error {
	for {
		select {
		case <-k.wake:
		case <-ctx.Done():
			if c.state.abandon(k) {
				return abandoned(ctx, k.method)
			}
		}
		if k.onProgress == nil {
			return nil
		}
		reports, over := c.state.reports(k)
		for _, p := range reports {
			contain(c.opts.Logger, "progress callback", func() { k.onProgress(p) })
		}
		if over {
			return nil
		}
	}
}

// outcome reads the answer into res.
func (c *Conn) outcome(ctx context.Context, out way, k *call, res wire.Value, o *peer.CallOptions) error {
	defer k.parcel.free()
	m := &k.answer
	switch {
	case k.err != nil:
		if _, timedOut := errors.AsType[*peer.TimeoutError](k.err); timedOut {
			c.takeBack(ctx, out, k, o)
		}
		return k.err
	case m.Error != nil:
		return (*peer.Error)(m.Error)
	case res == nil:
		return nil
	}
	var f wire.Frame
	if own := c.opts.frame(k.method, o.Frame); own != nil {
		f = *own
	}
	f.Checked = true
	if err := wire.Decode(m.Result, &f, res); err != nil {
		return fmt.Errorf("answer to %q: %w", k.method, err)
	}
	return nil
}

// courtesy is how long a caller who has given up waits until that is written.
const courtesy = 5 * time.Second

// takeBack tells the peer that nobody waits for the answer any more, also where
// the request that the call belongs to is over. The specification forbids that
// for initialize.
func (c *Conn) takeBack(ctx context.Context, out way, k *call, o *peer.CallOptions) {
	if o.NoCancelNotification || k.method == methodInitialize {
		return
	}
	n := &cancelled{id: k.id, reason: "the caller no longer waits"}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), courtesy)
	defer cancel()
	done := make(chan error, 1)
	go func() { // ends at the end of ctx, if the Writer keeps its word
		err := errWriter
		contain(c.opts.Logger, "writer", func() { err = c.notify(ctx, way{Writer: out.Writer}, n, nil) })
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		c.opts.Logger.Warn("gave up telling the peer that a request is cancelled", "method", k.method, "error", err)
	}
}

// notify sends a notification. The error tells only that it cannot be written
// down.
func (c *Conn) notify(ctx context.Context, out way, n peer.Notification, opts []peer.CallOption) error {
	method := n.Method()
	f := c.opts.frame(method, callOptions(opts).Frame)
	buf := NewBuffer()
	defer buf.Free()
	var err error
	if buf.Bytes, err = wire.AppendNotification(buf.Bytes, f, method, n); err != nil {
		return fmt.Errorf("send %q: %w", method, err)
	}
	if err = ctx.Err(); err == nil && c.over() {
		err = ErrClosed
	}
	if err == nil {
		err = out.write(ctx, MessageInfo{Method: method, Revision: revision(f)}, buf.Bytes)
	}
	if err != nil {
		c.opts.Logger.DebugContext(ctx, "notification dropped", "method", method, "error", err)
	}
	return nil
}
