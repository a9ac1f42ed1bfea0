package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// defaultMaxSubscriptions is the default of [DispatcherOptions].MaxSubscriptions.
const defaultMaxSubscriptions = 1024

// DispatcherOptions configures a dispatcher. With nil or the zero value it serves only the
// handshake, ping and server/discover.
type DispatcherOptions struct {
	// Mux contains the handlers. Nil is an empty one. The dispatcher handles initialize and
	// server/discover itself and ignores handlers for them. It also handles ping, and
	// logging/setLevel if Capabilities has logging, unless there is a handler. Handlers that
	// are added after [NewDispatcher] are ignored.
	Mux *peer.Mux
	// Middleware wraps the handling of all messages, including those with an unknown method.
	// The first is the outermost. A handshake, a subscription or a log level takes effect only
	// if the middleware returns the result without an error.
	Middleware []peer.Middleware
	// Info is the name and version of the server.
	Info mcp.Implementation
	// OmitServerInfo omits Info from results in the revisions that have it in each result.
	OmitServerInfo bool
	// Capabilities is what the server declares.
	Capabilities mcp.ServerCapabilities
	// CapabilitiesFor, if not nil, returns the capabilities for the sender of a message, or nil
	// for Capabilities. The dispatcher shares the returned value, which must not change. The
	// function is called concurrently, and for each message of a stateless revision, so it must
	// be fast.
	CapabilitiesFor func(t peer.TransportContext) *mcp.ServerCapabilities
	// Announce, if not nil, may change the dispatcher's result of initialize or
	// server/discover before it is sent.
	Announce func(result wire.Value)
	// Instructions describe to a model how to use the server. They may be empty.
	Instructions string
	// Revisions lists the revisions that the server serves. Nil is all revisions.
	Revisions []wire.Revision
	// Rounds wraps the handlers of requests whose results may ask for input in some revision,
	// and implements their questions. Nil means that a result cannot ask for input.
	Rounds Rounds
	// RequireInitialized refuses the requests of a client until it has sent
	// notifications/initialized, except for ping. By default they are handled as soon as the
	// initialize request has succeeded. Clients of the stateless revisions, and those without a
	// session, have no handshake to wait for.
	RequireInitialized bool
	// OnInitialized, if not nil, is called once for each connection whose client has confirmed
	// the handshake, before later messages are handled. It must not wait for the client.
	OnInitialized func(ctx context.Context, conn *Connection)
	// MaxSubscriptions limits the resources to which a session may subscribe. Zero is 1,024, and
	// a negative value is no limit. Exceeding the limit returns an error to the client.
	MaxSubscriptions int
	// Outgoing is the Outgoing of [Options] for the connections of endpoints whose own options have
	// none.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Endpoints, if not nil, receives the endpoints that serve the dispatcher.
	Endpoints Endpoints
	// Logger receives dropped messages. Nil is the logger of the connection.
	Logger *slog.Logger
}

// Dispatcher validates messages against the revision and the state of their connection, calls
// their handlers, and chooses how results are encoded. It contains no state of a connection and
// is safe for concurrent use.
type Dispatcher struct {
	opts         DispatcherOptions
	mux          *peer.Mux
	builtin      peer.Mux
	methods      map[string]*method
	chain        peer.Handler // the middleware around serveInnermost; nil if there is none
	readsLists   bool         // some middleware is no [peer.Observer]
	frames       []wire.Frame // how results are encoded, for each revision
	customFrames []wire.Frame // the same for results of methods that are not part of the protocol
	paramsFor    func(*wire.Message) wire.Params
	pending      pendingRound                 // of all requests whose round has not begun
	lastExtra    atomic.Pointer[extraOptions] // of the last stateless request, which the next one usually shares

	servesHandshake, servesStateless bool // there are such revisions in opts.Revisions
	stateless                        wire.Revision
}

// NewDispatcher returns a dispatcher. The options must not change afterwards, nor may the values
// that they point to. It panics if Info contains invalid JSON.
func NewDispatcher(opts *DispatcherOptions) *Dispatcher {
	d := new(Dispatcher)
	if opts != nil {
		d.opts = *opts
	}
	if d.mux = d.opts.Mux; d.mux == nil {
		d.mux = new(peer.Mux)
	}
	if d.opts.Revisions == nil {
		for _, r := range mcp.Revisions {
			d.opts.Revisions = append(d.opts.Revisions, r.Revision)
		}
	}
	if d.opts.MaxSubscriptions == 0 {
		d.opts.MaxSubscriptions = defaultMaxSubscriptions
	}
	d.servesHandshake, d.servesStateless = d.serves(true), d.serves(false)
	d.stateless = d.newest(false)
	d.frames = d.resultFrames()
	d.customFrames = customFrames(d.frames)
	d.handleBuiltin()
	d.methods = d.listMethods()
	d.paramsFor = d.newParams()
	d.pending.rounds = d.opts.Rounds
	if len(d.opts.Middleware) > 0 {
		d.chain = peer.HandlerFunc(d.serveInnermost)
	}
	for _, wrap := range slices.Backward(d.opts.Middleware) {
		d.chain = wrap(d.chain)
		if _, ignores := d.chain.(interface{ IgnoresLists() }); !ignores {
			d.readsLists = true
		}
	}
	return d
}

// ReadsLists reports whether there is middleware that may use the results of list requests, because
// it is no [peer.Observer].
func (d *Dispatcher) ReadsLists() bool { return d.readsLists }

// Revisions lists the revisions that the dispatcher serves. The caller must not change the list.
func (d *Dispatcher) Revisions() []wire.Revision { return d.opts.Revisions }

// serves reports whether the dispatcher serves any handshake or stateless revision.
func (d *Dispatcher) serves(handshake bool) bool {
	return slices.ContainsFunc(d.opts.Revisions, func(r wire.Revision) bool { return revisions.Handshake(r) == handshake })
}

// newest returns the newest handshake or stateless revision that the dispatcher serves. If it
// serves none, newest returns the newest that exists.
func (d *Dispatcher) newest(handshake bool) wire.Revision {
	var newest wire.Revision
	for _, r := range d.opts.Revisions {
		if revisions.Handshake(r) == handshake && r.Index() > newest.Index() {
			newest = r
		}
	}
	if newest.Index() >= 0 {
		return newest
	}
	return revisions.Newest(handshake)
}

// ResultFrame returns how results of the protocol's methods are encoded in a revision that the
// dispatcher serves. It is for middleware that returns results of its own.
func (d *Dispatcher) ResultFrame(r wire.Revision) *wire.Frame { return &d.frames[r.Index()] }

// resultFrames returns the frames for results. In stateless revisions they add Info.
func (d *Dispatcher) resultFrames() []wire.Frame {
	frames := revisions.Frames()
	for i := range frames {
		f := &frames[i]
		if d.opts.OmitServerInfo || revisions.Handshake(f.Revision) {
			continue
		}
		info, err := wire.Append(nil, f, &d.opts.Info)
		if err != nil {
			panic(fmt.Sprintf("connection: encode the server's info: %v", err))
		}
		f.Meta = []wire.Entry{{Name: revisions.KeyServerInfo, Value: info, Checked: true}}
	}
	return frames
}

// customFrames returns the frames for results of methods that are not part of the protocol. In
// stateless revisions they add the type of the result, which such results need not contain.
func customFrames(frames []wire.Frame) []wire.Frame {
	frames = slices.Clone(frames)
	for i := range frames {
		if !revisions.Handshake(frames[i].Revision) {
			complete := wire.AppendString(nil, string(mcp.ResultTypeComplete))
			frames[i].Also = []wire.Entry{{Name: "resultType", Value: complete}}
		}
	}
	return frames
}

// frame returns how the result of a method is encoded on a connection.
func (d *Dispatcher) frame(conn *Connection, info *peer.MethodInfo, r wire.Revision) *wire.Frame {
	frames := d.frames
	if info == nil {
		frames = d.customFrames
	}
	if i := r.Index(); !conn.client && i >= 0 && i < len(frames) {
		return &frames[i]
	}
	return revisions.Frame(r)
}

// capabilities returns what the server declares to the sender of a message.
func (d *Dispatcher) capabilities(t peer.TransportContext) *mcp.ServerCapabilities {
	if d.opts.CapabilitiesFor != nil {
		if caps := d.opts.CapabilitiesFor(t); caps != nil {
			return caps
		}
	}
	return &d.opts.Capabilities
}

func (d *Dispatcher) log(conn *Connection) *slog.Logger { return cmp.Or(d.opts.Logger, conn.log) }

// Read reads a message, as [wire.ReadMessage] does. It also decodes the params of a request that
// has a handler, in the given revision, so that they are read only once; the message and the
// frame contain the result, see [peer.Inbound]. Invalid params are reported when the request is
// handled.
func (d *Dispatcher) Read(data []byte, r wire.Revision) (m wire.Message, f *wire.Frame, err error) {
	f = revisions.Frame(r)
	m, err = wire.ReadMessageInto(data, f, d.paramsFor)
	if err != nil && m.Into != nil {
		m, err = wire.ReadMessage(data, nil)
	}
	return m, f, err
}

// newParams returns the function that allocates the params of a request. The function returns nil
// for messages that are decoded later.
func (d *Dispatcher) newParams() func(*wire.Message) wire.Params {
	return func(m *wire.Message) wire.Params {
		if m.ID.IsZero() || m.Method == mcp.MethodInitialize {
			return nil
		}
		if method := d.methods[m.Method]; method != nil && method.handled() && method.extension == nil {
			return method.route.New()
		}
		return nil
	}
}

// Handler returns the handler for the messages of a connection.
func (d *Dispatcher) Handler(conn *Connection) peer.Handler { return &connHandler{d, conn} }

type connHandler struct {
	dispatcher *Dispatcher
	conn       *Connection
}

func (h *connHandler) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	return h.dispatcher.Serve(ctx, h.conn, in)
}

// Serve handles one message of a connection.
func (d *Dispatcher) Serve(ctx context.Context, conn *Connection, in *peer.Inbound) (peer.Reply, error) {
	s := newSession(ctx, conn, in)
	defer s.abortEffect()
	return s.finish(d.handle((*handlerContext)(s), s, d.changeable(s), d.chain))
}

// changeable returns the message for the middleware, which may change it. If the transport has decoded
// it in another revision, the message has no Message, because it is decoded again.
func (d *Dispatcher) changeable(s *session) *peer.Inbound {
	if d.chain == nil || s.unhandled || s.in.Message == nil {
		return s.in
	}
	in := *s.in
	in.Message, s.received.message = nil, nil
	return &in
}

// serveInnermost is the handler inside of all middleware.
func (d *Dispatcher) serveInnermost(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	s := sessionFrom(ctx)
	if s == nil {
		return peer.Reply{}, errors.New("middleware did not pass on the context of the message")
	}
	return d.handle(ctx, s, in, nil)
}
