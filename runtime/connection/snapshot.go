package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Snapshot is the state of a server's connection after the handshake, for another process that
// continues the session. It does not contain the values of [Key].
type Snapshot struct {
	// ProtocolVersion is the revision of the session.
	ProtocolVersion string `json:"protocolVersion"`
	// Initialize contains the params of the initialize request.
	Initialize json.RawMessage `json:"initialize"`
	// LogLevel is the level that the client has set, or the empty string.
	LogLevel mcp.LoggingLevel `json:"logLevel,omitempty"`
	// Subscriptions are the URIs of the resources to which the client subscribes.
	Subscriptions []string `json:"subscriptions,omitempty"`
}

// Snapshot returns the state of a server's connection. It returns an error before the handshake
// and in stateless revisions.
func (c *Connection) Snapshot() (*Snapshot, error) {
	_, params := c.state.client()
	f := c.state.snapshot()
	if params == nil || !f.initializeProcessed {
		return nil, fmt.Errorf("session without a handshake")
	}
	copied := *params
	copied.Capabilities.Extra = maps.Clone(copied.Capabilities.Extra)
	if err := capabilities.EncodeExtensions(copied.Capabilities.Extensions, &copied.Capabilities.Extra); err != nil {
		return nil, err
	}
	text, err := wire.AppendParams(nil, revisions.Frame(f.revision), &copied)
	if err != nil {
		return nil, err
	}
	return &Snapshot{f.revision.String(), text, f.logs.Level(), c.state.Subscriptions()}, nil
}

// Restore gives a new connection the state of a session that began in another process. The
// client counts as initialized, so OnInitialized is called.
func (d *Dispatcher) Restore(ctx context.Context, c *Connection, s *Snapshot, t peer.TransportContext) error {
	r, known := mcp.ParseRevision(s.ProtocolVersion)
	if !known || !revisions.Handshake(r) {
		return fmt.Errorf("protocol version %q has no sessions", s.ProtocolVersion)
	}
	params := new(mcp.InitializeRequest)
	in := &peer.Inbound{Params: s.Initialize}
	if err := in.Decode(revisions.Frame(r), params); err != nil {
		return fmt.Errorf("invalid params of initialize: %w", err)
	}
	capabilities.DecodeExtensions(&params.Capabilities.Extensions, &params.Capabilities.Extra)
	restored := &session{conn: c}
	if err := restored.accept(&negotiated{params: params, revision: r, capabilities: d.capabilities(t)}); err != nil {
		return err
	}
	c.state.SetLogLevel(s.LogLevel)
	for _, uri := range s.Subscriptions {
		c.state.Subscribe(uri)
	}
	d.confirm(ctx, c)
	return nil
}

// HasValues reports whether the program has stored values with a [Key]. They would be missing if the
// session moved to another process.
func (c *Connection) HasValues() bool { return c.state.hasValues() }

// Epoch returns how often the session has moved to another process, 0 for a session that began in
// this process. If it is greater than 0, values that a program stored with a [Key] are missing.
func (c *Connection) Epoch() uint32 { return c.epoch }
