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
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// maxEarly limits the notifications that are stored until the first request.
const maxEarly = 8

// Pipe is the server's end of a pipe whose client may use a handshake revision or a stateless
// revision. The first request decides which, for the life of the pipe. One exception is a client
// that tries a stateless revision first: it may initialize the pipe if it has sent no request but
// server/discover. A Pipe is the handler of the pipe's jsonrpc.Conn, and its methods are options
// of it. It is safe for concurrent use.
type Pipe struct {
	dispatcher *Dispatcher
	opts       Options

	mode     atomic.Pointer[pipeMode] // nil until the first request
	replayed sync.Once                // early notifications are handled before other messages

	mu    sync.Mutex          // held to set mode and early; not held while a message is handled
	early []earlyNotification // before the first request
}

// pipeMode is what the first request decides.
type pipeMode struct {
	conn     *Connection   // nil in a stateless revision
	opts     Options       // of the connections of a stateless pipe
	revision wire.Revision // the default of a stateless pipe
	used     atomic.Bool   // a stateless pipe has had a request other than server/discover
}

// remains reports whether the mode remains when a message arrives.
func (m *pipeMode) remains(in *peer.Inbound) bool {
	switch {
	case m.conn != nil || m.used.Load() || in.ID.IsZero() || in.Method == mcp.MethodDiscover:
		return true
	case in.Method == mcp.MethodInitialize:
		return false
	}
	m.used.Store(true)
	return true
}

// earlyNotification is a notification that arrived before the first request.
type earlyNotification struct {
	ctx context.Context // nil: the context of the first request is used
	in  *peer.Inbound
}

// NewPipe returns the handler of one pipe. The options are for the connections of the pipe. Nil
// is the same as the zero value.
func NewPipe(d *Dispatcher, opts *Options) *Pipe {
	p := &Pipe{dispatcher: d}
	if opts != nil {
		p.opts = *opts
	}
	return p
}

// Attach sets the pipe's own channel and its table of requests. It must be called once, before
// the first message.
func (p *Pipe) Attach(out peer.Outbound, inFlight InFlight) {
	p.opts.Outbound, p.opts.InFlight = out, inFlight
}

// Connection returns the connection of a pipe in a handshake revision. It returns nil before the
// first request, and in a stateless revision, which has a connection for each request.
func (p *Pipe) Connection() *Connection {
	if m := p.mode.Load(); m != nil {
		return m.conn
	}
	return nil
}

// Frame returns how messages of the server are encoded, as an option of jsonrpc.Conn. In a
// stateless revision, messages of a connection contain their own frame.
func (p *Pipe) Frame(method string) *wire.Frame {
	m := p.mode.Load()
	switch {
	case m == nil:
		return revisions.Frame(p.dispatcher.stateless)
	case m.conn == nil:
		return revisions.Frame(m.revision)
	}
	return m.conn.Frame(method)
}

// Read reads a message, as an option of jsonrpc.Conn. After the first request, it decodes the
// params of requests for their handlers, see [Dispatcher.Read].
func (p *Pipe) Read(data []byte) (wire.Message, *wire.Frame, error) {
	m := p.mode.Load()
	switch {
	case m == nil:
		msg, err := wire.ReadMessage(data, nil)
		return msg, nil, err
	case m.conn == nil:
		return p.dispatcher.Read(data, m.revision)
	}
	return p.dispatcher.Read(data, m.conn.state.Revision())
}

// Batches reports whether the client may send several messages in one JSON array.
func (p *Pipe) Batches() bool {
	conn := p.Connection()
	return conn != nil && conn.Batches()
}

// Close closes the connection of a pipe in a handshake revision.
func (p *Pipe) Close(ctx context.Context) {
	if conn := p.Connection(); conn != nil {
		conn.Close(ctx)
	}
}

// OnRequest is called for each request in the order of arrival, as an option of jsonrpc.Conn, so
// that the first one decides about the revision. Without it, the first call of Handle decides,
// which may be another request.
func (p *Pipe) OnRequest(in *peer.Inbound) { p.decide(in) }

// InterceptNotification is called for each notification in the order of arrival, as an option of
// jsonrpc.Conn. It stores notifications that arrive before the first request, and records that
// the client has confirmed the handshake before later messages are handled. Without it, Handle
// stores the notifications.
func (p *Pipe) InterceptNotification(in *peer.Inbound) (consumed bool) {
	if p.store(earlyNotification{in: in}) {
		return true
	}
	if conn := p.Connection(); conn != nil && in.Method == mcp.MethodInitialized {
		p.dispatcher.Confirm(context.Background(), conn, in.Params)
	}
	return false
}

// Handle implements [peer.Handler].
func (p *Pipe) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	if in.ID.IsZero() && p.store(earlyNotification{ctx, in}) {
		return peer.Reply{}, nil
	}
	m := p.decide(in)
	p.replayed.Do(func() { p.replay(ctx, m) })
	var s *session
	switch {
	case m.conn == nil:
		c := new(statelessCall)
		if err := p.dispatcher.begin(ctx, c, in, &m.opts); err != nil {
			return peer.Reply{}, err
		}
		defer c.end(ctx)
		s = &c.session
	case p.isStatelessRequest(in):
		return peer.Reply{}, errRevisionDecided
	default:
		s = newSession(ctx, m.conn, in)
	}
	defer s.abortEffect()
	return s.finish(p.dispatcher.handle((*handlerContext)(s), s, p.dispatcher.changeable(s), p.dispatcher.chain))
}

var errRevisionDecided = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the first request of the pipe has decided its revision",
}

// isStatelessRequest reports whether a message on a pipe in a handshake revision is a request of a
// stateless revision.
func (p *Pipe) isStatelessRequest(in *peer.Inbound) bool {
	if in.ID.IsZero() || in.Method == mcp.MethodInitialize || !p.dispatcher.servesStateless {
		return false
	}
	if _, withMetadata := in.Value.(outbound.WithMetadata); in.Value != nil && !withMetadata {
		return false
	}
	_, found := namedRevision(in)
	return found
}

// decide returns the mode of the pipe. If in is the first request, it decides.
func (p *Pipe) decide(in *peer.Inbound) *pipeMode {
	if m := p.mode.Load(); m != nil && m.remains(in) {
		return m
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.mode.Load(); m != nil && (m.remains(in) || !p.dispatcher.servesHandshake) {
		return m
	}
	m := &pipeMode{opts: p.opts}
	m.used.Store(in.Method != mcp.MethodDiscover)
	if p.opensStateless(in) {
		name, _ := namedRevision(in)
		m.opts.DefaultRevision, _ = mcp.ParseRevision(name) // for notifications, which have no metadata
		m.revision = p.dispatcher.defaultRevision(nil, &m.opts)
	} else {
		m.conn = New(p.opts.Outbound, &p.opts)
	}
	p.mode.Store(m)
	return m
}

// opensStateless reports whether a first request opens the pipe in a stateless revision.
func (p *Pipe) opensStateless(in *peer.Inbound) bool {
	switch {
	case !p.dispatcher.servesStateless:
		return false
	case !p.dispatcher.servesHandshake:
		return true
	case in.Method == mcp.MethodInitialize:
		return false
	}
	_, found := namedRevision(in)
	return found
}

// store reports whether a notification arrived before the first request. If it did, store keeps a
// copy until the first request, unless the limit is reached.
func (p *Pipe) store(e earlyNotification) bool {
	if p.mode.Load() != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode.Load() != nil {
		return false
	}
	if len(p.early) < maxEarly {
		p.early = append(p.early, e.detached())
	}
	return true
}

// detached returns a copy that may be handled after the handler of e has returned. It has no
// channel to the sender.
func (e earlyNotification) detached() earlyNotification {
	in := *e.in
	in.Params = bytes.Clone(in.Params)
	in.Back = outbound.None{}
	if e.ctx != nil {
		e.ctx = context.WithoutCancel(e.ctx)
	}
	return earlyNotification{e.ctx, &in}
}

// replay handles the notifications that arrived before the first request.
func (p *Pipe) replay(ctx context.Context, m *pipeMode) {
	for _, e := range p.takeEarly() {
		if e.ctx == nil {
			e.ctx = context.WithoutCancel(ctx)
		}
		if err := p.serveEarly(m, e); err != nil {
			p.log().WarnContext(e.ctx, "notification handler failed", "method", e.in.Method, "error", err)
		}
	}
}

func (p *Pipe) takeEarly() []earlyNotification {
	p.mu.Lock()
	defer p.mu.Unlock()
	early := p.early
	p.early = nil
	return early
}

// serveEarly handles a notification. It converts a panic of the handler to an error, because the
// panic must not affect the first request.
func (p *Pipe) serveEarly(m *pipeMode, e earlyNotification) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("handler panicked: %v\n%s", r, debug.Stack())
		}
	}()
	if m.conn == nil {
		_, err = p.dispatcher.ServeStateless(e.ctx, e.in, &m.opts)
	} else {
		_, err = p.dispatcher.Serve(e.ctx, m.conn, e.in)
	}
	return err
}

func (p *Pipe) log() *slog.Logger { return cmp.Or(p.opts.Logger, slog.Default()) }
