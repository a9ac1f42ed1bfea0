package connection

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// maxEarly is how many notifications are kept until the era is known.
const maxEarly = 8

// DualEra is the server's end of a pipe that may speak either era. The first
// request decides for the life of the pipe. It is the handler for the pipe's
// dispatcher.
type DualEra struct {
	kernel *Kernel
	opts   Options

	mu  sync.Mutex // not held while a message is handled
	era era
}

// era is what the mutex protects.
type era struct {
	known bool
	loop  *Connection // of the handshake era; nil in the other
	early []early
}

// early is a notification that came before the era was known.
type early struct {
	ctx context.Context
	in  *peer.Inbound
}

// NewDualEra returns the handler of one pipe. The options are those of the
// connections on it; nil is none.
func NewDualEra(k *Kernel, opts *Options) *DualEra {
	d := &DualEra{kernel: k}
	if opts != nil {
		d.opts = *opts
	}
	return d
}

// Attach tells where the pipe's own channel and its table of requests are. It is
// called once, before the first message.
func (d *DualEra) Attach(out peer.Outbound, inFlight InFlight) {
	d.opts.Outbound, d.opts.InFlight = out, inFlight
}

// Connection returns the connection of the handshake era, nil while the era is
// unknown and in the other one.
func (d *DualEra) Connection() *Connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.era.loop
}

// Frame is how what the server sends is written, for the pipe's dispatcher.
func (d *DualEra) Frame(method string) *wire.Frame {
	if loop := d.Connection(); loop != nil {
		return loop.Frame(method)
	}
	return plainFrame(d.kernel.newest(false))
}

// Batches tells whether the client may send several messages in one array.
func (d *DualEra) Batches() bool {
	loop := d.Connection()
	return loop != nil && loop.Batches()
}

// Close tears down the connection of the handshake era.
func (d *DualEra) Close(ctx context.Context) {
	if loop := d.Connection(); loop != nil {
		loop.Close(ctx)
	}
}

// Handle implements [peer.Handler].
func (d *DualEra) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	era, first := d.decide(ctx, in)
	if !era.known {
		return peer.Reply{}, nil
	}
	for _, e := range first {
		if _, err := d.serve(e.ctx, era.loop, e.in); err != nil {
			d.log().WarnContext(e.ctx, "notification failed", "method", e.in.Method, "error", err)
		}
	}
	return d.serve(ctx, era.loop, in)
}

func (d *DualEra) log() *slog.Logger {
	if d.opts.Logger != nil {
		return d.opts.Logger
	}
	return slog.Default()
}

// serve handles a message in the era that the pipe is in.
func (d *DualEra) serve(ctx context.Context, loop *Connection, in *peer.Inbound) (peer.Reply, error) {
	if loop == nil {
		return d.kernel.ServeEnvelope(ctx, in, &d.opts)
	}
	if !in.ID.IsZero() && in.Method != mcp.MethodInitialize && d.kernel.serves(false) && mayBeEnveloped(in) && enveloped(in) {
		return peer.Reply{}, &peer.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: "Invalid request: the pipe speaks a revision that was settled by its first request",
		}
	}
	return d.kernel.Serve(ctx, loop, in)
}

// mayBeEnveloped is a quick look that says no for most messages without an
// envelope.
func mayBeEnveloped(in *peer.Inbound) bool {
	return in.Value != nil || bytes.Contains(in.Params, []byte(keyVersion)) || bytes.IndexByte(in.Params, '\\') >= 0
}

// decide returns the era, and to whoever brought the decision what came before.
// A notification never decides.
func (d *DualEra) decide(ctx context.Context, in *peer.Inbound) (era, []early) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.era.known:
		return d.era, nil
	case in.ID.IsZero():
		if len(d.era.early) < maxEarly {
			d.era.early = append(d.era.early, keep(ctx, in))
		}
		return d.era, nil
	}
	if !d.perRequest(in) {
		d.era.loop = ForLoop(d.opts.Outbound, &d.opts)
	}
	d.era.known = true
	first := d.era.early
	d.era.early = nil
	return d.era, first
}

// perRequest tells whether a first request opens the era without handshake.
func (d *DualEra) perRequest(in *peer.Inbound) bool {
	switch {
	case !d.kernel.serves(false):
		return false
	case !d.kernel.serves(true):
		return true
	}
	return in.Method != mcp.MethodInitialize && enveloped(in)
}

// keep copies a notification that is handled after its handler has returned.
// Nothing leads back to its sender by then.
func keep(ctx context.Context, in *peer.Inbound) early {
	kept := *in
	kept.Params = bytes.Clone(in.Params)
	kept.Back = peer.NoChannel{}
	return early{context.WithoutCancel(ctx), &kept}
}
