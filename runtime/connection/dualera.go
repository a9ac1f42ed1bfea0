package connection

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// maxEarly is how many notifications are kept until the era is known.
const maxEarly = 8

// Pipe is the server's end of a pipe that may speak either era. The first
// request decides for the life of the pipe. It is the handler for the pipe's
// dispatcher.
type Pipe struct {
	kernel *Dispatcher
	opts   Options

	era      atomic.Pointer[era] // nil while it is unknown
	replayed sync.Once           // what came early is handled before anything else

	mu    sync.Mutex // for deciding; not held while a message is handled
	early []early    // given up by whoever handles them
}

// era is what the first request has decided.
type era struct {
	loop   *Connection   // of the handshake era; nil in the other
	spoken wire.Revision // in the era without handshake
}

// early is a notification that came before the era was known.
type early struct {
	ctx context.Context // nil: that of the message that it is handled before
	in  *peer.Inbound
}

// NewPipe returns the handler of one pipe. The options are those of the
// connections on it; nil is none.
func NewPipe(k *Dispatcher, opts *Options) *Pipe {
	d := &Pipe{kernel: k}
	if opts != nil {
		d.opts = *opts
	}
	return d
}

// Attach tells where the pipe's own channel and its table of requests are. It is
// called once, before the first message.
func (d *Pipe) Attach(out peer.Outbound, inFlight InFlight) {
	d.opts.Outbound, d.opts.InFlight = out, inFlight
}

// Connection returns the connection of the handshake era, nil while the era is
// unknown and in the other one.
func (d *Pipe) Connection() *Connection {
	if e := d.era.Load(); e != nil {
		return e.loop
	}
	return nil
}

// Frame is how what the server sends is written, for the pipe's dispatcher. In
// the era without handshake that is for what is sent beside the connections,
// which say for each message how it is written.
func (d *Pipe) Frame(method string) *wire.Frame {
	if loop := d.Connection(); loop != nil {
		return loop.Frame(method)
	}
	return plainFrame(d.revision())
}

// revision is what is spoken in the era without handshake, as far as it is known.
func (d *Pipe) revision() wire.Revision {
	if e := d.era.Load(); e != nil {
		return e.spoken
	}
	return d.kernel.perRequest
}

// Read reads a message. Once the era is known, requests are read into what their
// handlers take in the same pass. The pipe's dispatcher calls it.
func (d *Pipe) Read(data []byte) (wire.Message, *wire.Frame, error) {
	e := d.era.Load()
	switch {
	case e == nil:
		m, err := wire.ReadMessage(data, nil)
		return m, nil, err
	case e.loop == nil:
		return d.kernel.Read(data, e.spoken)
	}
	return d.kernel.Read(data, e.loop.state.Revision())
}

// Batches tells whether the client may send several messages in one array.
func (d *Pipe) Batches() bool {
	loop := d.Connection()
	return loop != nil && loop.Batches()
}

// Close tears down the connection of the handshake era.
func (d *Pipe) Close(ctx context.Context) {
	if loop := d.Connection(); loop != nil {
		loop.Close(ctx)
	}
}

// OnRequest lets a request decide about the era if it is the first. The pipe's
// dispatcher calls it for each one as it arrives: their handlers may begin in any
// order. Without it, the first handler to begin decides.
func (d *Pipe) OnRequest(in *peer.Inbound) { d.decide(in) }

// InterceptNotification keeps what comes before the era is known, to be handled before the
// first request, and records that the client has confirmed the handshake before
// anything that comes later is handled. The pipe's dispatcher calls it; without
// it, a notification is kept when its handler begins.
func (d *Pipe) InterceptNotification(in *peer.Inbound) (consumed bool) {
	if d.keep(early{in: in}) {
		return true
	}
	if loop := d.Connection(); loop != nil && in.Method == mcp.MethodInitialized {
		d.kernel.Confirm(context.Background(), loop, in.Params)
	}
	return false
}

// Handle implements [peer.Handler].
func (d *Pipe) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	if in.ID.IsZero() && d.keep(early{ctx, in}) {
		return peer.Reply{}, nil
	}
	loop := d.decide(in)
	d.replayed.Do(func() { d.replay(ctx, loop) })
	var c *core
	switch {
	case loop == nil:
		x := new(exchange)
		inner, err := d.kernel.receive(ctx, x, in, &d.opts)
		if err != nil {
			return peer.Reply{}, err
		}
		defer x.end(ctx)
		c, in = &x.core, inner
	case d.late(in):
		return peer.Reply{}, errSettled
	default:
		c = newCore(ctx, loop, in)
	}
	defer c.abort()
	return c.conclude(d.kernel.answer((*handlerContext)(c), c, in, d.kernel.chain))
}

var errSettled = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the pipe speaks a revision that was settled by its first request",
}

// late tells whether a request on a pipe with a handshake comes as if there were
// none.
func (d *Pipe) late(in *peer.Inbound) bool {
	return !in.ID.IsZero() && in.Method != mcp.MethodInitialize && d.kernel.envelopes && mayBeEnveloped(in) && enveloped(in)
}

// replay handles what came before the era was known.
func (d *Pipe) replay(ctx context.Context, loop *Connection) {
	for _, e := range d.takeEarly() {
		if e.ctx == nil {
			e.ctx = context.WithoutCancel(ctx)
		}
		if err := d.heed(loop, e); err != nil {
			d.log().WarnContext(e.ctx, "notification failed", "method", e.in.Method, "error", err)
		}
	}
}

// heed handles a notification that came early. That its handler panics is not
// the fault of the request that comes after it.
func (d *Pipe) heed(loop *Connection, e early) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handler panicked: %v\n%s", r, debug.Stack())
		}
	}()
	if loop == nil {
		_, err = d.kernel.ServeStateless(e.ctx, e.in, &d.opts)
	} else {
		_, err = d.kernel.Serve(e.ctx, loop, e.in)
	}
	return err
}

func (d *Pipe) log() *slog.Logger { return cmp.Or(d.opts.Logger, slog.Default()) }

// mayBeEnveloped is a quick look that says no for most messages without an
// envelope.
func mayBeEnveloped(in *peer.Inbound) bool {
	if in.Value != nil {
		_, is := in.Value.(Enveloped)
		return is
	}
	return bytes.Contains(in.Params, []byte(eras.KeyVersion)) || bytes.IndexByte(in.Params, '\\') >= 0
}

// decide returns the connection of the handshake era, nil in the other one. If
// the era is not known yet, the request in decides.
func (d *Pipe) decide(in *peer.Inbound) *Connection {
	if e := d.era.Load(); e != nil {
		return e.loop
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.era.Load() == nil {
		e := new(era)
		if d.perRequest(in) {
			d.opts.VersionHint = spokenIn(in) // for notifications, which name none
			e.spoken = d.kernel.hinted(nil, &d.opts)
		} else {
			e.loop = New(d.opts.Outbound, &d.opts)
		}
		d.era.Store(e)
	}
	return d.era.Load().loop
}

// keep reports whether a notification came before the era was known: then it
// waits for the first request, unless enough others do.
func (d *Pipe) keep(e early) bool {
	if d.era.Load() != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.era.Load() != nil {
		return false
	}
	if len(d.early) < maxEarly {
		d.early = append(d.early, e.outlasting())
	}
	return true
}

func (d *Pipe) takeEarly() []early {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.early
	d.early = nil
	return kept
}

// perRequest tells whether a first request opens the era without handshake.
func (d *Pipe) perRequest(in *peer.Inbound) bool {
	switch {
	case !d.kernel.envelopes:
		return false
	case !d.kernel.handshakes:
		return true
	}
	return in.Method != mcp.MethodInitialize && enveloped(in)
}

// outlasting is a copy that may be handled after the handler of e has returned.
// Nothing leads back to its sender by then.
func (e early) outlasting() early {
	kept := *e.in
	kept.Params = bytes.Clone(kept.Params)
	kept.Back = outbound.None{}
	if e.ctx != nil {
		e.ctx = context.WithoutCancel(e.ctx)
	}
	return early{e.ctx, &kept}
}
