package connection

import (
	"log/slog"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options configures a connection. Nil is the same as the zero value.
type Options struct {
	// Outbound is the channel of a connection that [NewForRequest] makes. Nil means that there
	// is no channel. [New] ignores it.
	Outbound peer.Outbound
	// SessionID is the name of the session. It is empty if the transport has no such names.
	SessionID string
	// Epoch is the result of [Connection.Epoch].
	Epoch uint32
	// DefaultRevision is the revision until a message or the handshake sets another one. The
	// zero Revision is the newest. [New] ignores a stateless revision here. In
	// [Dispatcher.ServeStateless] it is the revision of notifications, and a handshake revision
	// is ignored.
	DefaultRevision wire.Revision
	// Client is true for the client's end of a connection, and false for the server's end.
	Client bool
	// Strict is for the client's end. If it is true, requests are refused if the server did not
	// declare the capability that they require, provided that its capabilities are known.
	Strict bool
	// InFlight is the table of the requests that are being handled on the pipe or session of
	// the connection. Nil is an empty table.
	InFlight InFlight
	// Meta is added to the "_meta" of each request that is sent, and replaces members of the
	// same name.
	Meta []wire.Entry
	// Outgoing contains middleware for all messages that are sent: requests, including those in
	// the result of another request, notifications and progress reports. The first is the
	// outermost. It receives only messages that have passed the checks of the connection.
	Outgoing []func(peer.Outbound) peer.Outbound
	// Logger receives dropped messages and errors of functions that run when the connection is
	// closed. Nil is [slog.Default].
	Logger *slog.Logger
}

// Connection is one end's state about its peer, and the channel for messages that are not
// related to a request of the peer. It implements [peer.Outbound] and is safe for concurrent
// use. [New] and [NewForRequest] make connections.
type Connection struct {
	// An update of a resource reads these fields of each session, so they are next to each other.
	out    peer.Outbound
	extra  *extraOptions // nil if none of these options is set
	client bool
	strict bool
	epoch  uint32
	state  State

	sessionID string
	log       *slog.Logger
	cleanup   cleanup
}

// extraOptions contains the options that few connections have. It never changes.
type extraOptions struct {
	meta     []wire.Entry
	outgoing []func(peer.Outbound) peer.Outbound
}

// extraOf returns the extra options in o, or nil if it has none. If last has the same options, it
// returns last.
func extraOf(o *Options, last *extraOptions) *extraOptions {
	switch {
	case o == nil || len(o.Meta)+len(o.Outgoing) == 0:
		return nil
	case last != nil && sameSlice(o.Meta, last.meta) && sameSlice(o.Outgoing, last.outgoing):
		return last
	}
	return &extraOptions{o.Meta, o.Outgoing}
}

// sameSlice reports whether two slices are the same part of an array.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// New returns a connection that waits for the handshake. If out is nil, there is no channel to
// the peer.
func New(out peer.Outbound, opts *Options) *Connection {
	c := new(Connection)
	c.init(opts, extraOf(opts, nil))
	if out != nil {
		c.out = out
	}
	r := revisions.Newest(true)
	if opts != nil && revisions.Handshake(opts.DefaultRevision) {
		r = opts.DefaultRevision
	}
	if len(c.meta()) == 0 {
		c.state.now.Store(&initialFacts[r.Index()])
		return c
	}
	f := new(facts)
	f.setRevision(r, c.meta())
	c.state.now.Store(f)
	return c
}

// initialFacts contains the facts before the handshake for each initial revision. Connections
// without additional metadata share them.
var initialFacts = func() []facts {
	all := make([]facts, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		all[i].setRevision(r.Revision, nil)
	}
	return all
}()

// NewForRequest returns a connection for one request of a stateless revision. The connection
// needs no handshake. The caller has validated the revision, as [ReadMetadata] does. The zero
// Revision is the newest stateless one. If info is nil, [Connection.ClientInfo] returns nil, and
// if caps is nil, the capabilities of the client are unknown. The caller must not change info and
// caps afterwards.
func NewForRequest(r wire.Revision, info *mcp.Implementation, caps *mcp.ClientCapabilities, opts *Options) *Connection {
	if r.Index() < 0 {
		r = newestStateless
	}
	c, f := new(Connection), new(facts)
	f.setClient(r, info, caps)
	c.initReady(opts, extraOf(opts, nil), r, f)
	return c
}

// initReady makes c a connection that needs no handshake. It takes ownership of f, which
// contains what is known about the client.
func (c *Connection) initReady(opts *Options, extra *extraOptions, r wire.Revision, f *facts) {
	c.init(opts, extra)
	if opts != nil && opts.Outbound != nil {
		c.out = opts.Outbound
	}
	f.initialized, f.ready = true, closedChan
	f.setRevision(r, c.meta())
	c.state.now.Store(f)
}

// init makes c a connection without a channel.
func (c *Connection) init(opts *Options, extra *extraOptions) {
	c.out, c.extra = outbound.None{}, extra
	if opts != nil {
		c.sessionID, c.client, c.strict, c.epoch = opts.SessionID, opts.Client, opts.Strict, opts.Epoch
		c.log, c.state.inFlight = opts.Logger, opts.InFlight
	}
	if c.log == nil {
		c.log = slog.Default()
	}
}

// Options returns the options for another connection to the same peer, for a message that is
// handled again, see [Dispatcher.ServeStateless].
func (c *Connection) Options() *Options {
	return &Options{
		Outbound: c.out, SessionID: c.sessionID, Epoch: c.epoch, Client: c.client, Strict: c.strict, InFlight: c.state.inFlight,
		Meta: c.meta(), Outgoing: c.outgoing(), Logger: c.log,
	}
}

func (c *Connection) meta() []wire.Entry {
	if c.extra == nil {
		return nil
	}
	return c.extra.meta
}

func (c *Connection) outgoing() []func(peer.Outbound) peer.Outbound {
	if c.extra == nil {
		return nil
	}
	return c.extra.outgoing
}

// State returns the state that may change during the life of the connection. A program stores
// values of its own there with a [Key].
func (c *Connection) State() *State { return &c.state }

// SessionID returns the name of the session. It is empty if the transport has no such names.
func (c *Connection) SessionID() string { return c.sessionID }

// Revision returns the revision of the protocol that the connection uses. It is never zero.
func (c *Connection) Revision() wire.Revision { return c.state.Revision() }

// SetRevision sets the revision after the handshake at the client's end. At the server's end,
// the [Dispatcher] sets it.
func (c *Connection) SetRevision(r wire.Revision) {
	c.state.update(func(f *facts) { f.setRevision(r, c.meta()) })
}

// stateless reports whether this is a server's end in a stateless revision.
func (c *Connection) stateless() bool {
	return !c.client && !c.state.snapshot().handshake
}

// ClientInfo returns the name and version of the client, or nil if they are unknown.
// The caller must not change the value.
func (c *Connection) ClientInfo() *mcp.Implementation { return c.state.ClientInfo() }

// ClientCapabilities returns the capabilities of the client, or nil if they are unknown.
// The caller must not change the value.
func (c *Connection) ClientCapabilities() *mcp.ClientCapabilities {
	return c.state.ClientCapabilities()
}

// HasClientCapability reports whether the client declared all capabilities of want. It returns
// false if the client's capabilities are unknown.
func (c *Connection) HasClientCapability(want *mcp.ClientCapabilities) bool {
	return capabilities.ClientHas(c.state.ClientCapabilities(), want)
}

// Initialized returns a channel that is closed when the client has confirmed the handshake. A
// server should not send requests before, except ping: they wait for the confirmation, but at
// most 5 seconds, and only the first time.
func (c *Connection) Initialized() <-chan struct{} {
	if c.state.snapshot().ready == nil {
		c.state.update(func(f *facts) {
			switch {
			case f.ready != nil:
			case f.initialized:
				f.ready = closedChan
			default:
				f.ready = make(chan struct{})
			}
		})
	}
	return c.state.snapshot().ready
}

// InitializeAccepted reports whether requests of the client are accepted: the initialize request
// has succeeded, or the client has confirmed the handshake without one.
func (c *Connection) InitializeAccepted() bool {
	return c.state.snapshot().accepted()
}

// HasStandaloneChannel reports whether messages can be sent that are not related to a request.
// Even then the revision may not allow requests.
func (c *Connection) HasStandaloneChannel() bool {
	_, none := c.out.(outbound.None)
	return !none
}

// Frame returns how to encode a message with this method, and how to decode its response.
// Messages that are sent through the connection use it already. Transports use it for other
// messages.
func (c *Connection) Frame(method string) *wire.Frame {
	facts := c.state.snapshot()
	if len(c.meta()) > 0 && isNotification(method) {
		return revisions.Frame(facts.revision)
	}
	return facts.request.frame
}

func isNotification(method string) bool {
	if info := mcp.MethodByName(method); info != nil {
		return info.Notification
	}
	return strings.HasPrefix(method, "notifications/")
}

// Batches reports whether the revision allows several messages in one JSON array.
func (c *Connection) Batches() bool { return c.state.Revision() == mcp.Revision20250326 }
