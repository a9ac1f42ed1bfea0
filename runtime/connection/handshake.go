package connection

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// offer is what the answer to initialize settles.
type offer struct {
	params       *mcp.InitializeRequest
	revision     wire.Revision
	capabilities *mcp.ServerCapabilities
}

// initialize answers the handshake. Nothing changes yet: see accept.
func (k *Dispatcher) initialize(c *core, in *peer.Inbound) (peer.Reply, error) {
	var asked versionOf
	if err := in.Decode(plainFrame(c.conn.state.Revision()), &asked); err != nil {
		return peer.Reply{}, invalidParams(err)
	}
	if !k.handshakes {
		return peer.Reply{}, k.unsupported(asked.version)
	}
	r := k.negotiate(asked.version)
	req := new(mcp.InitializeRequest)
	if err := in.Decode(plainFrame(r), req); err != nil {
		return peer.Reply{}, invalidParams(err)
	}
	if c.conn.state.InitializeProcessed() {
		return peer.Reply{}, errSecondInitialize
	}
	caps := k.capabilities(c.Transport())
	if !c.conn.HasStandaloneChannel() { // nothing would tell the client of changes
		caps = new(withoutChanges(*caps))
	}
	c.effect = onSuccess(func() error { return c.accept(&offer{params: req, revision: r, capabilities: caps}) })
	answer := &mcp.InitializeResult{
		ProtocolVersion: r.String(),
		Capabilities:    *caps,
		ServerInfo:      k.opts.Info,
		Instructions:    k.opts.Instructions,
	}
	k.announce(answer)
	return peer.Reply{Result: answer, Frame: k.frame(c.conn, mcp.MethodByName(in.Method), r)}, nil
}

// announce lets the program add to an answer that says what it is.
func (k *Dispatcher) announce(answer wire.Value) {
	if k.opts.Announce != nil {
		k.opts.Announce(answer)
	}
}

var errSecondInitialize = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the session is initialized already",
}

// negotiate returns the revision to speak with a client that asked for one: that
// one, or the newest that has a handshake.
func (k *Dispatcher) negotiate(asked string) wire.Revision {
	if r, known := mcp.ParseRevision(asked); known && handshake(r) && slices.Contains(k.opts.Revisions, r) {
		return r
	}
	return k.newest(true)
}

// accept makes the handshake's outcome take effect, unless another did first.
func (c *core) accept(o *offer) error {
	late := false
	c.conn.state.update(func(f *facts) {
		if late = f.initializeProcessed; late {
			return
		}
		f.initializeProcessed = true
		f.setClient(o.params)
		f.server = o.capabilities
		c.conn.settle(f, o.revision)
	})
	if late {
		return errSecondInitialize
	}
	return nil
}

// Confirm records that the client has confirmed the handshake, as the kernel does
// when it handles notifications/initialized with these params. A transport that
// has messages handled at once, and not in their order, calls it before it takes
// anything else from the client. Calling it again does nothing.
func (k *Dispatcher) Confirm(ctx context.Context, conn *Connection, params json.RawMessage) {
	in := &peer.Inbound{Params: params}
	if in.Decode(plainFrame(conn.state.Revision()), new(mcp.InitializedNotification)) == nil {
		k.confirm(ctx, conn)
	}
}

func (k *Dispatcher) confirm(ctx context.Context, conn *Connection) {
	if !conn.state.setInitialized() || k.opts.OnInitialized == nil {
		return
	}
	err := contain(func() error {
		k.opts.OnInitialized(ctx, conn)
		return nil
	})
	if err != nil {
		k.log(conn).ErrorContext(ctx, "what comes after the handshake failed", "error", err)
	}
}

// unsupported refuses a handshake where there is none. A version that cannot be
// read is told as an empty one.
func (k *Dispatcher) unsupported(asked string) error {
	return &mcp.UnsupportedProtocolVersionError{Requested: asked, Supported: names(k.opts.Revisions)}
}

// versionAsked is the version that a handshake asks for, empty where that cannot
// be read.
func versionAsked(in *peer.Inbound) string {
	var v versionOf
	if in.Decode(plainFrame(newestHandshake), &v) != nil {
		return ""
	}
	return v.version
}

// versionOf reads from initialize the one member that tells how to read the
// others.
type versionOf struct {
	wire.ReadOnly
	version string
}

var versionMembers = wire.NewMembers("InitializeRequest",
	wire.Member{Name: "protocolVersion", In: wire.Always, Required: wire.Always},
)

func (v *versionOf) DecodeParams(d *wire.Decoder) {
	for o := d.Object(versionMembers); o.Next(); {
		if o.Name == "protocolVersion" {
			v.version = d.String()
		} else {
			d.Skip()
		}
	}
}

// registerBuiltin registers what the kernel answers itself.
func (k *Dispatcher) registerBuiltin() {
	mcp.HandlePing(&k.builtin, func(context.Context, *mcp.PingRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})
	if k.envelopes {
		mcp.HandleDiscover(&k.builtin, k.discover)
	}
	if k.opts.Capabilities.Logging != nil {
		mcp.HandleSetLevel(&k.builtin, func(context.Context, *mcp.SetLevelRequest) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, nil // the level is recorded whoever answers
		})
	}
}

// discover says what initialize would. Changes are announced by subscriptions:
// where those are not served, neither are the changes.
func (k *Dispatcher) discover(ctx context.Context, _ *mcp.DiscoverRequest) (*mcp.DiscoverResult, error) {
	caps := *k.capabilities(coreFrom(ctx).Transport())
	if _, listens := k.mux.Route(mcp.MethodSubscriptionsListen); !listens {
		caps = withoutChanges(caps)
	}
	answer := &mcp.DiscoverResult{
		SupportedVersions: names(k.opts.Revisions),
		Capabilities:      caps,
		Instructions:      k.opts.Instructions,
	}
	k.announce(answer)
	return answer, nil
}

func withoutChanges(caps mcp.ServerCapabilities) mcp.ServerCapabilities {
	if caps.Prompts != nil {
		prompts := *caps.Prompts
		prompts.ListChanged = false
		caps.Prompts = &prompts
	}
	if caps.Resources != nil {
		resources := *caps.Resources
		resources.ListChanged, resources.Subscribe = false, false
		caps.Resources = &resources
	}
	if caps.Tools != nil {
		tools := *caps.Tools
		tools.ListChanged = false
		caps.Tools = &tools
	}
	return caps
}
