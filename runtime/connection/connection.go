package connection

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options of a connection. The zero value, and nil, work.
type Options struct {
	// Outbound is the channel of a connection made by [NewForRequest]; nil is
	// none. [New] is given its own.
	Outbound peer.Outbound
	// SessionID names the session where the transport has names for them.
	SessionID string
	// VersionHint is the handshake revision that a connection made by
	// [New] speaks until the handshake has settled one. Empty, or not the
	// name of one, it is the newest. In the other era it is the revision of
	// notifications, see [Dispatcher.ServeStateless].
	VersionHint string
	// Client tells that this is the client's end. Otherwise it is the
	// server's.
	Client bool
	// Strict makes the client's end refuse to send a request whose capability
	// the server did not declare, where the server's are known.
	Strict bool
	// InFlight is the table of the requests being handled on the pipe or
	// session that the connection belongs to; nil is an empty one.
	InFlight InFlight
	// Meta is written over the "_meta" of each request that is sent.
	Meta []wire.Entry
	// Outgoing wraps the way out of every message that is sent, the first one
	// outermost: requests, also those that travel as questions, notifications
	// and progress reports. It is behind the checks: what they refuse or drop
	// never gets there.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Logger takes what is dropped and what goes wrong during teardown; nil
	// is [slog.Default].
	Logger *slog.Logger
}

// Connection is one end's view of its peer: what is known about it, and the
// channel for what belongs to no request in particular. It is a
// [peer.Outbound] and safe for concurrent use. [NewForRequest] and [New]
// make one.
type Connection struct {
	out       peer.Outbound
	sessionID string
	client    bool
	strict    bool
	rare      *rare // nil where there is none of it
	log       *slog.Logger
	state     State
	teardown  teardown
}

// rare is what few connections have. It never changes.
type rare struct {
	meta     []wire.Entry
	outgoing []func(peer.Outbound) peer.Outbound
}

// meta is written over that of each request.
func (c *Connection) meta() []wire.Entry {
	if c.rare == nil {
		return nil
	}
	return c.rare.meta
}

// outgoing wraps the way out of every message.
func (c *Connection) outgoing() []func(peer.Outbound) peer.Outbound {
	if c.rare == nil {
		return nil
	}
	return c.rare.outgoing
}

// NewForRequest returns a connection for one request that says itself who sends
// it. It is ready from the start. The version must have been judged before, as
// [ReadMetadata] does; one that is not the name of a revision counts as the newest.
// Capabilities are known as soon as they are given, [Connection.ClientInfo]
// only if info is given with them. Neither may be changed afterwards.
func NewForRequest(version string, info *mcp.Implementation, caps *mcp.ClientCapabilities, opts *Options) *Connection {
	r, known := mcp.ParseRevision(version)
	if !known {
		r = newestPerRequest
	}
	c, f := new(Connection), new(facts)
	f.setSender(r, info, caps)
	c.beReady(opts, r, f)
	return c
}

// beReady makes c a connection that needs no handshake. What is known of the
// client is in f, which belongs to c from then on.
func (c *Connection) beReady(opts *Options, r wire.Revision, f *facts) {
	c.begin(opts)
	if opts != nil && opts.Outbound != nil {
		c.out = opts.Outbound
	}
	f.initialized, f.ready = true, alwaysReady
	c.settle(f, r)
	c.state.now.Store(f)
}

// New returns a connection that awaits the handshake. Nil as out is no
// channel.
func New(out peer.Outbound, opts *Options) *Connection {
	c := new(Connection)
	c.begin(opts)
	if out != nil {
		c.out = out
	}
	r := newestHandshake
	if opts != nil {
		if hint, known := mcp.ParseRevision(opts.VersionHint); known && handshake(hint) {
			r = hint
		}
	}
	if len(c.meta()) == 0 {
		c.state.now.Store(&blank[r.Index()])
		return c
	}
	f := new(facts)
	c.settle(f, r)
	c.state.now.Store(f)
	return c
}

// begin makes c a connection without channel.
func (c *Connection) begin(opts *Options) {
	c.out = outbound.None{}
	if opts != nil {
		c.sessionID, c.client, c.strict = opts.SessionID, opts.Client, opts.Strict
		if len(opts.Meta)+len(opts.Outgoing) > 0 {
			c.rare = &rare{opts.Meta, opts.Outgoing}
		}
		c.log, c.state.inFlight = opts.Logger, opts.InFlight
	}
	if c.log == nil {
		c.log = slog.Default()
	}
}

// blank is what is known before a handshake, by the revision that is spoken until
// then: the same for all whose requests need nothing of their own.
var blank = func() []facts {
	all := make([]facts, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		new(Connection).settle(&all[i], r.Revision)
	}
	return all
}()

// settle records the revision that is spoken from now on.
func (c *Connection) settle(f *facts, r wire.Revision) {
	f.revision, f.handshake, f.request = r, handshake(r), plainSpelling(r)
	if len(c.meta()) > 0 {
		f.request = newSpelling(&wire.Frame{Revision: r, Meta: c.meta()})
	}
}

// SetRevision records the revision that the handshake has settled, at the client's
// end. At the server's the [Dispatcher] does it.
func (c *Connection) SetRevision(r wire.Revision) {
	c.state.update(func(f *facts) { c.settle(f, r) })
}

// Options are those of another connection to the same peer, for a message that is to
// be handled once more, see [Dispatcher.ServeStateless].
func (c *Connection) Options() *Options {
	return &Options{
		Outbound: c.out, SessionID: c.sessionID, Client: c.client, Strict: c.strict, InFlight: c.state.inFlight,
		Meta: c.meta(), Outgoing: c.outgoing(), Logger: c.log,
	}
}

// Outbound returns the connection's own channel, the one for what belongs to no
// request in particular, with every check in front of it.
func (c *Connection) Outbound() peer.Outbound { return c }

// HasStandaloneChannel tells whether anything can be sent outside a request.
// Requests may be refused even so: see the revision.
func (c *Connection) HasStandaloneChannel() bool {
	_, none := c.out.(outbound.None)
	return !none
}

// SessionID returns the session's name, empty where the transport has none.
func (c *Connection) SessionID() string { return c.sessionID }

// Revision returns the revision of the protocol that the connection uses. It is never zero.
func (c *Connection) Revision() wire.Revision { return c.state.Revision() }

// ClientInfo returns the name and version of the client, or nil if they are unknown.
// The caller must not change the value.
func (c *Connection) ClientInfo() *mcp.Implementation { return c.state.ClientInfo() }

// ClientCapabilities returns the capabilities of the client, or nil if they are unknown.
// The caller must not change the value.
func (c *Connection) ClientCapabilities() *mcp.ClientCapabilities {
	return c.state.ClientCapabilities()
}

// State returns what may change during the connection's life. Values of the
// user's own are kept in it with a [Key].
func (c *Connection) State() *State { return &c.state }

// Initialized returns a channel that is closed when the client has confirmed
// the handshake. From then on a server may ask the client things: what it asks
// earlier, other than a ping, waits for that, 5 seconds at most and once.
func (c *Connection) Initialized() <-chan struct{} {
	if c.state.snapshot().ready == nil {
		c.state.update(func(f *facts) {
			switch {
			case f.ready != nil:
			case f.initialized:
				f.ready = alwaysReady
			default:
				f.ready = make(chan struct{})
			}
		})
	}
	return c.state.snapshot().ready
}

// InitializeAccepted tells whether requests are served: the client has said who
// it is, or has confirmed the handshake without.
func (c *Connection) InitializeAccepted() bool {
	return c.state.snapshot().accepted()
}

// HasClientCapability tells whether the client declared all of want. It is false
// where nothing is known about the client.
func (c *Connection) HasClientCapability(want *mcp.ClientCapabilities) bool {
	return declares(c.state.ClientCapabilities(), want)
}

// Frame is how a message of the method is written to the peer and its answer
// read. What is sent through the connection says so itself; a dispatcher asks for
// the rest.
func (c *Connection) Frame(method string) *wire.Frame {
	facts := c.state.snapshot()
	if len(c.meta()) > 0 && isNotification(method) {
		return plainFrame(facts.revision)
	}
	return facts.request.frame
}

func isNotification(method string) bool {
	if info := mcp.MethodByName(method); info != nil {
		return info.Notification
	}
	return strings.HasPrefix(method, "notifications/")
}

// Batches tells whether the revision being spoken has several messages in one
// array.
func (c *Connection) Batches() bool { return c.state.Revision() == mcp.Revision20250326 }

// Call implements [peer.Outbound] on the connection's own channel.
func (c *Connection) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return c.door().call(ctx, req, res, opts)
}

// Notify implements [peer.Outbound] on the connection's own channel. What
// cannot be delivered is dropped and logged: the error tells only of a message
// that cannot be written.
func (c *Connection) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return c.door().notify(ctx, n, opts)
}

// TryNotify implements [outbound.TryNotifier] where the connection's own channel does.
func (c *Connection) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	return c.door().post(n, opts)
}

// perRequest tells whether this is a server's end whose client says with each
// request who it is.
func (c *Connection) perRequest() bool {
	return !c.client && !c.state.snapshot().handshake
}

func (c *Connection) door() door {
	return door{conn: c, facts: c.state.snapshot(), out: c.out}
}

// unwritable returns err if it tells of a message that cannot be written.
func unwritable(err error) error {
	if _, ok := errors.AsType[*wire.EncodeError](err); ok {
		return err
	}
	return nil
}
