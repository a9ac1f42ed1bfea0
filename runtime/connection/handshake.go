package connection

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// negotiated is what a successful initialize request sets.
type negotiated struct {
	params       *mcp.InitializeRequest
	revision     wire.Revision
	capabilities *mcp.ServerCapabilities
}

// initialize handles an initialize request. It takes effect in [session.accept], after all
// middleware.
func (d *Dispatcher) initialize(s *session, in *peer.Inbound) (peer.Reply, error) {
	var requested revisions.ProtocolVersion
	if err := in.Decode(revisions.Frame(s.conn.state.Revision()), &requested); err != nil {
		return peer.Reply{}, invalidParams(err)
	}
	if !d.servesHandshake {
		return peer.Reply{}, d.unsupported(requested.Name)
	}
	r := d.negotiate(requested.Name)
	req := new(mcp.InitializeRequest)
	if err := in.Decode(revisions.Frame(r), req); err != nil {
		return peer.Reply{}, invalidParams(err)
	}
	capabilities.DecodeExtensions(&req.Capabilities.Extensions, &req.Capabilities.Extra)
	if s.conn.state.InitializeProcessed() {
		return peer.Reply{}, errSecondInitialize
	}
	caps := d.capabilities(s.Transport())
	if !s.conn.HasStandaloneChannel() { // notifications of changes cannot be sent
		caps = new(withoutChanges(*caps))
	}
	s.effect = onSuccess(func() error { return s.accept(&negotiated{params: req, revision: r, capabilities: caps}) })
	result := &mcp.InitializeResult{
		ProtocolVersion: r.String(),
		Capabilities:    *caps,
		ServerInfo:      d.opts.Info,
		Instructions:    d.opts.Instructions,
	}
	d.announce(result)
	return peer.Reply{Result: result, Frame: d.frame(s.conn, mcp.MethodByName(in.Method), r)}, nil
}

func (d *Dispatcher) announce(result wire.Value) {
	if d.opts.Announce != nil {
		d.opts.Announce(result)
	}
}

var errSecondInitialize = &peer.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "Invalid request: the session is initialized already",
}

// negotiate returns the requested revision if the dispatcher serves it, or else the newest
// handshake revision that it serves.
func (d *Dispatcher) negotiate(requested string) wire.Revision {
	if r, known := mcp.ParseRevision(requested); known && revisions.Handshake(r) && slices.Contains(d.opts.Revisions, r) {
		return r
	}
	return d.newest(true)
}

// accept applies the result of initialize, unless another initialize request was faster.
func (s *session) accept(n *negotiated) error {
	second := false
	s.conn.state.update(func(f *facts) {
		if second = f.initializeProcessed; second {
			return
		}
		f.initializeProcessed = true
		f.setParams(n.params)
		f.server = n.capabilities
		f.setRevision(n.revision, s.conn.meta())
	})
	if second {
		return errSecondInitialize
	}
	return nil
}

// Confirm records that the client has confirmed the handshake, as handling
// notifications/initialized with these params does. A transport that handles messages
// concurrently calls it before it reads the next message of the client. Further calls do nothing.
func (d *Dispatcher) Confirm(ctx context.Context, conn *Connection, params json.RawMessage) {
	in := &peer.Inbound{Params: params}
	if in.Decode(revisions.Frame(conn.state.Revision()), new(mcp.InitializedNotification)) == nil {
		d.confirm(ctx, conn)
	}
}

func (d *Dispatcher) confirm(ctx context.Context, conn *Connection) {
	if !conn.state.setInitialized() || d.opts.OnInitialized == nil {
		return
	}
	err := recovered(func() error {
		d.opts.OnInitialized(ctx, conn)
		return nil
	})
	if err != nil {
		d.log(conn).ErrorContext(ctx, "OnInitialized failed", "error", err)
	}
}

// unsupported returns the error for a handshake that the dispatcher does not serve. The name is
// empty if it cannot be decoded.
func (d *Dispatcher) unsupported(requested string) error {
	return &mcp.UnsupportedProtocolVersionError{Requested: requested, Supported: revisions.Names(d.opts.Revisions)}
}

// requestedRevision returns the revision in the params of initialize, or the empty string if they
// cannot be decoded.
func requestedRevision(in *peer.Inbound) string {
	var v revisions.ProtocolVersion
	if in.Decode(revisions.Frame(revisions.Newest(true)), &v) != nil {
		return ""
	}
	return v.Name
}

// handleBuiltin adds the handlers of the dispatcher itself.
func (d *Dispatcher) handleBuiltin() {
	mcp.HandlePing(&d.builtin, func(context.Context, *mcp.PingRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})
	if d.servesStateless {
		mcp.HandleDiscover(&d.builtin, d.discover)
	}
	if d.opts.Capabilities.Logging != nil {
		mcp.HandleSetLevel(&d.builtin, func(context.Context, *mcp.SetLevelRequest) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, nil // setEffect stores the level
		})
	}
}

// discover handles server/discover. Clients receive changes by subscriptions. If there is no
// handler for subscriptions, the capabilities do not include changes.
func (d *Dispatcher) discover(ctx context.Context, _ *mcp.DiscoverRequest) (*mcp.DiscoverResult, error) {
	caps := *d.capabilities(sessionFrom(ctx).Transport())
	if _, listens := d.mux.Route(mcp.MethodSubscriptionsListen); !listens {
		caps = withoutChanges(caps)
	}
	result := &mcp.DiscoverResult{
		SupportedVersions: revisions.Names(d.opts.Revisions),
		Capabilities:      caps,
		Instructions:      d.opts.Instructions,
	}
	d.announce(result)
	return result, nil
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
