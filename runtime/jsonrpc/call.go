package jsonrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// call is a request to the peer that waits for its response. The goroutine that waits
// processes the progress reports, and then the response, from a queue.
type call struct {
	id         wire.RequestID
	method     string
	onProgress func(peer.Progress)
	wake       chan struct{} // buffers one signal

	// The state's lock guards these fields until done is set. Then only the caller uses them.
	deadline deadline
	reports  []peer.Progress
	done     bool // the call is not in the table any more
	response wire.Message
	payload  payload // of response
	err      error   // instead of a response
}

// maxReports limits the progress reports that wait for a slow callback. Further reports replace the
// last one.
const maxReports = 256

func (c *call) addReport(p peer.Progress) {
	if len(c.reports) == maxReports {
		c.reports[maxReports-1] = p
		return
	}
	c.reports = append(c.reports, p)
}

// signal wakes the caller. It never blocks.
func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// call sends a request and waits for its response.
func (c *Conn) call(ctx context.Context, out outlet, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	method := req.Method()
	if ctx.Err() != nil {
		return contextError(ctx, method)
	}
	o := callOptions(opts)
	if err := checkID(method, o.ID); err != nil {
		return err
	}
	k, err := c.state.addCall(method, &o)
	if err != nil {
		return err
	}
	defer c.state.recycleCall(k)
	if err := c.send(ctx, out, k, req, &o); err != nil {
		if !c.state.abandonCall(k) {
			k.payload.free()
		}
		return err
	}
	if s := c.stream.Load(); s != nil {
		s.continueReading(s.version.Load()) // to read the response
	}
	c.state.startTimeouts(k, c.opts.timeouts(&o))
	if err := c.await(ctx, k); err != nil {
		c.sendCancel(ctx, out, k, &o)
		return err
	}
	return c.readResponse(ctx, out, k, res, &o)
}

// send writes the request of a call.
func (c *Conn) send(ctx context.Context, out outlet, k *call, req peer.Message, o *peer.CallOptions) error {
	f := c.opts.frame(k.method, o.Frame)
	if k.onProgress != nil {
		f = withToken(f, k.id.Token())
	}
	buf := buffer.New()
	defer buf.Free()
	var err error
	if buf.Bytes, err = wire.AppendRequest(buf.Bytes, f, k.id, k.method, req); err != nil {
		return fmt.Errorf("send %q: %w", k.method, err)
	}
	t := c.opts.timeouts(o)
	e := MessageInfo{Method: k.method, ID: k.id, Revision: revision(f), Header: o.Header, Patience: t.idle}
	if named, ok := req.(peer.Named); ok {
		e.Name = named.NameMember()
	}
	err = out.write(ctx, e, buf.Bytes)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotAccepted):
		return timeoutError(k.method, t.idle)
	case errors.Is(err, errResponded):
		return &peer.NoBackChannelError{Method: k.method, Returned: true}
	case ctx.Err() == nil:
		return writeError(k.method, err)
	}
	if !errors.Is(err, ErrNotWritten) { // the peer may have received the request
		c.sendCancel(ctx, out, k, o)
	}
	return contextError(ctx, k.method)
}

// await passes progress reports to the caller until the call is done. It returns an error if ctx
// ends first.
func (c *Conn) await(ctx context.Context, k *call) error {
	for {
		select {
		case <-k.wake:
		case <-ctx.Done():
			if c.state.abandonCall(k) {
				return contextError(ctx, k.method)
			}
		}
		if k.onProgress == nil {
			return nil
		}
		reports, done := c.state.takeReports(k)
		for _, p := range reports {
			failure.LogPanics(c.opts.Logger, "progress callback", func() { k.onProgress(p) })
		}
		if done {
			return nil
		}
	}
}

// readResponse decodes the response of a call that is done into res.
func (c *Conn) readResponse(ctx context.Context, out outlet, k *call, res wire.Value, o *peer.CallOptions) error {
	defer k.payload.free()
	m := &k.response
	switch {
	case k.err != nil:
		if _, timedOut := errors.AsType[*peer.TimeoutError](k.err); timedOut {
			c.sendCancel(ctx, out, k, o)
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
		return fmt.Errorf("response to %q: %w", k.method, err)
	}
	return nil
}

// cancelWriteTimeout limits how long a caller that gives up waits until the cancellation is
// written.
const cancelWriteTimeout = 5 * time.Second

// sendCancel notifies the peer that a call is cancelled. It does so even if the request that the
// call belongs to has been answered, but not for initialize, which the protocol forbids to cancel.
func (c *Conn) sendCancel(ctx context.Context, out outlet, k *call, o *peer.CallOptions) {
	if o.NoCancelNotification || k.method == methodInitialize {
		return
	}
	n := &cancelNotification{id: k.id, reason: "the caller no longer waits"}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWriteTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { // ends with ctx, if the Writer observes it
		err := errWriterPanicked
		failure.LogPanics(c.opts.Logger, "writer", func() { err = c.notify(ctx, outlet{Writer: out.Writer}, n, nil) })
		done <- err
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		c.opts.Logger.Warn("cancellation of a request not sent", "method", k.method, "error", err)
	}
}

// notify sends a notification. It returns an error only if the notification cannot be encoded.
func (c *Conn) notify(ctx context.Context, out outlet, n peer.Notification, opts []peer.CallOption) error {
	method := n.Method()
	f := c.opts.frame(method, callOptions(opts).Frame)
	buf := buffer.New()
	defer buf.Free()
	var err error
	if buf.Bytes, err = wire.AppendNotification(buf.Bytes, f, method, n); err != nil {
		return fmt.Errorf("send %q: %w", method, err)
	}
	if err = ctx.Err(); err == nil && c.isClosed() {
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

// tryNotify sends a notification if out can send it without waiting. It reports whether it was
// sent.
func (c *Conn) tryNotify(out Writer, n peer.Notification, f *wire.Frame) bool {
	w, ok := out.(tryWriter)
	if !ok || c.isClosed() {
		return false
	}
	method := n.Method()
	buf := buffer.New()
	defer buf.Free()
	var err error
	buf.Bytes, err = wire.AppendNotification(buf.Bytes, c.opts.frame(method, f), method, n)
	return err == nil && w.tryWriteMessage(buf.Bytes)
}
