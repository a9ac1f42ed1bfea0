package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// DefaultMaxSubscriptions is how many resources a session may subscribe to
// where the options do not say otherwise.
const DefaultMaxSubscriptions = 1024

// DispatcherOptions say what a program serves. The zero value, and nil, serve
// nothing but the handshake and pings.
type DispatcherOptions struct {
	// Mux has the handlers; nil is an empty one. The kernel answers
	// initialize and server/discover itself: handlers of those are not called.
	// It answers ping, and logging/setLevel where Capabilities have logging,
	// if there is no handler. What is added after [NewDispatcher] is not called.
	Mux *peer.Mux
	// Middleware wraps the handling of every message, known or not, the first
	// one outermost. A handshake, a subscription and a log level take effect only
	// if all of it lets the answer pass.
	Middleware []peer.Middleware
	// Info says who this server is.
	Info mcp.Implementation
	// OmitServerInfo leaves Info out of the results in the revisions that have it in
	// each of them.
	OmitServerInfo bool
	// Capabilities are what this server declares.
	Capabilities mcp.ServerCapabilities
	// CapabilitiesFor, where it is not nil, returns what is declared to the
	// sender of a message in place of Capabilities; nil from it is those. What
	// it returns is shared and must not change; it is called for every message
	// that says itself who sends it, and must be quick.
	CapabilitiesFor func(t peer.TransportContext) *mcp.ServerCapabilities
	// Announce, where it is not nil, adds to the kernel's own answer to initialize or
	// server/discover what only the program knows.
	Announce func(answer wire.Value)
	// Instructions tell a model how to use this server; empty is none.
	Instructions string
	// Revisions are what is served; nil is every revision there is.
	Revisions []wire.Revision
	// Rounds go around the handlers of requests whose answers may ask for input:
	// in the revision being spoken, or, where that asks by requests of its own, in
	// any other. Nil refuses questions that would travel in an answer.
	Rounds Rounds
	// OnInitialized is told about each connection whose client has confirmed
	// the handshake, once, before anything that comes after it is handled. It
	// must not wait for the client.
	OnInitialized func(ctx context.Context, conn *Connection)
	// MaxSubscriptions bounds the resources that a session may subscribe to;
	// 0 is [DefaultMaxSubscriptions], negative no bound. One more is answered
	// with an error.
	MaxSubscriptions int
	// Logger takes what is dropped; nil is that of the connection.
	Logger *slog.Logger
}

// Dispatcher handles messages: it judges them by revision and state, finds their
// handlers, and says how the results are written. It keeps nothing of any
// connection and is safe for concurrent use.
type Dispatcher struct {
	opts    DispatcherOptions
	mux     *peer.Mux
	builtin peer.Mux
	methods map[string]*method
	chain   peer.Handler                    // the middleware, with handle in it; nil without middleware
	frames  []wire.Frame                    // how results are written, by revision
	foreign []wire.Frame                    // the same for results that are not the protocol's
	open    func(*wire.Message) wire.Params // of opener
	unbegun unbegun                         // what requests have before their round begins

	// The eras that are served, and the newest revision of the one whose requests
	// say themselves who sends them; where none is served, the newest there is.
	handshakes, envelopes bool
	perRequest            wire.Revision
}

// NewDispatcher returns a kernel. The options and what they lead to must not change
// afterwards. It panics where Info is no valid JSON.
func NewDispatcher(opts *DispatcherOptions) *Dispatcher {
	k := new(Dispatcher)
	if opts != nil {
		k.opts = *opts
	}
	if k.mux = k.opts.Mux; k.mux == nil {
		k.mux = new(peer.Mux)
	}
	if k.opts.Revisions == nil {
		for _, r := range mcp.Revisions {
			k.opts.Revisions = append(k.opts.Revisions, r.Revision)
		}
	}
	if k.opts.MaxSubscriptions == 0 {
		k.opts.MaxSubscriptions = DefaultMaxSubscriptions
	}
	k.handshakes, k.envelopes = k.serves(true), k.serves(false)
	k.perRequest = k.newest(false)
	k.frames = k.resultFrames()
	k.foreign = foreign(k.frames)
	k.registerBuiltin()
	k.methods = k.listMethods()
	k.open = k.opener()
	k.unbegun.rounds = k.opts.Rounds
	if len(k.opts.Middleware) > 0 {
		k.chain = peer.HandlerFunc(k.handle)
	}
	for _, wrap := range slices.Backward(k.opts.Middleware) {
		k.chain = wrap(k.chain)
	}
	return k
}

// resultFrames says for each revision how results are written: with who wrote
// them, where the revision has no handshake to say so.
func (k *Dispatcher) resultFrames() []wire.Frame {
	frames := slices.Clone(plainFrames)
	for i := range frames {
		f := &frames[i]
		if k.opts.OmitServerInfo || handshake(f.Revision) {
			continue
		}
		info, err := wire.Append(nil, f, &k.opts.Info)
		if err != nil {
			panic(fmt.Sprintf("connection: the server's info: %v", err))
		}
		f.Meta = []wire.Entry{{Name: eras.KeyServerInfo, Value: info, Checked: true}}
	}
	return frames
}

// foreign says the same for results that are not the protocol's. They need not know
// that a result says of which type it is.
func foreign(frames []wire.Frame) []wire.Frame {
	frames = slices.Clone(frames)
	for i := range frames {
		if !handshake(frames[i].Revision) {
			complete := wire.AppendString(nil, string(mcp.ResultTypeComplete))
			frames[i].Also = []wire.Entry{{Name: "resultType", Value: complete}}
		}
	}
	return frames
}

// frame is how results of a method are written on a connection.
func (k *Dispatcher) frame(conn *Connection, info *peer.MethodInfo, r wire.Revision) *wire.Frame {
	frames := k.frames
	if info == nil {
		frames = k.foreign
	}
	if i := r.Index(); !conn.client && i >= 0 && i < len(frames) {
		return &frames[i]
	}
	return plainFrame(r)
}

// ResultFrame is how results of the protocol's methods are written to clients of a
// revision that is served, for middleware that answers in the server's name.
func (k *Dispatcher) ResultFrame(r wire.Revision) *wire.Frame { return &k.frames[r.Index()] }

// Read reads a message, as [wire.ReadMessage] does. The params of a request that
// somebody handles are read in the same pass into what the handler takes, in the
// revision given; the frame says so, see [peer.Inbound]. What is wrong with them
// is found when the request is handled.
func (k *Dispatcher) Read(data []byte, r wire.Revision) (m wire.Message, f *wire.Frame, err error) {
	f, err = k.readInto(&m, data, r)
	return m, f, err
}

func (k *Dispatcher) readInto(m *wire.Message, data []byte, r wire.Revision) (f *wire.Frame, err error) {
	f = plainFrame(r)
	*m, err = wire.ReadMessageInto(data, f, k.open)
	if err != nil && m.Into != nil {
		*m, err = wire.ReadMessage(data, nil)
	}
	return f, err
}

// opener returns what tells what the params of a request are to be read into: nothing
// for those that are looked at more closely.
func (k *Dispatcher) opener() func(*wire.Message) wire.Params {
	return func(m *wire.Message) wire.Params {
		if m.ID.IsZero() || m.Method == mcp.MethodInitialize {
			return nil
		}
		if method := k.methods[m.Method]; method != nil && method.handled() && method.extension == nil {
			return method.route.New()
		}
		return nil
	}
}

// Revisions lists what is served. It is not to be changed.
func (k *Dispatcher) Revisions() []wire.Revision { return k.opts.Revisions }

// Handler returns the handler of one connection's messages.
func (k *Dispatcher) Handler(conn *Connection) peer.Handler { return &bound{k, conn} }

// bound is a kernel for one connection.
type bound struct {
	kernel *Dispatcher
	conn   *Connection
}

func (b *bound) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	return b.kernel.Serve(ctx, b.conn, in)
}

// Serve handles one message that came on the connection.
func (k *Dispatcher) Serve(ctx context.Context, conn *Connection, in *peer.Inbound) (peer.Reply, error) {
	c := new(core)
	c.begin(ctx, conn, in, readAs(in, conn.state.Revision()))
	if conn.perRequest() {
		c.logs = requestedLevel(in)
	}
	defer c.abort()
	return c.conclude(k.answer((*handlerContext)(c), c, in, k.chain))
}

// handle is the innermost handler: what the middleware is around.
func (k *Dispatcher) handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	c := coreFrom(ctx)
	if c == nil {
		return peer.Reply{}, errors.New("the context of the message was lost on its way through the middleware")
	}
	return k.answer(ctx, c, in, nil)
}

// capabilities are what is declared to the sender of a message.
func (k *Dispatcher) capabilities(t peer.TransportContext) *mcp.ServerCapabilities {
	if k.opts.CapabilitiesFor != nil {
		if caps := k.opts.CapabilitiesFor(t); caps != nil {
			return caps
		}
	}
	return &k.opts.Capabilities
}

// serves tells whether any revision of an era is served.
func (k *Dispatcher) serves(want bool) bool {
	return slices.ContainsFunc(k.opts.Revisions, func(r wire.Revision) bool { return handshake(r) == want })
}

// newest is the newest revision of an era that is served; where none is, the
// newest there is.
func (k *Dispatcher) newest(want bool) wire.Revision {
	var newest wire.Revision
	for _, r := range k.opts.Revisions {
		if handshake(r) == want && r.Index() > newest.Index() {
			newest = r
		}
	}
	switch {
	case newest.Index() >= 0:
		return newest
	case want:
		return newestHandshake
	}
	return newestPerRequest
}

func (k *Dispatcher) log(conn *Connection) *slog.Logger { return cmp.Or(k.opts.Logger, conn.log) }
