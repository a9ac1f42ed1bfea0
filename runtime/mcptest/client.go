package mcptest

import (
	"context"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is the client that a server is tested with. The zero Client uses each
// revision and has no handlers.
type Client struct {
	// Mux has the handlers for notifications and requests of the server. In stateless
	// revisions, they also handle the input requests in results. Nil is no handlers.
	Mux *peer.Mux
	// Capabilities are the capabilities that the client declares. Nil is those that
	// Mux has handlers for.
	Capabilities *mcp.ClientCapabilities
	// Info is the name and version of the client. The default name is "mcptest", the
	// default version "1".
	Info mcp.Implementation
	// Revisions are the revisions that [Client.Run] uses. Nil is all of
	// [mcp.Revisions].
	Revisions []wire.Revision
	// MaxMessage limits the bytes of a message of the server. Default 4 MiB.
	MaxMessage int
	// Report is called for each violation, also concurrently. Nil is [Fail] with the
	// test of the connection.
	Report func(*Violation)
}

// Run runs a subtest for each revision, with a new connection to the server. It
// validates all messages of the connection, and closes it when the subtest ends.
func (c *Client) Run(t *testing.T, s Server, test func(t *testing.T, c *Conn)) {
	t.Helper()
	revisions := c.Revisions
	if revisions == nil {
		for _, r := range mcp.Revisions {
			revisions = append(revisions, r.Revision)
		}
	}
	for _, revision := range revisions {
		t.Run(revision.String(), func(t *testing.T) {
			test(t, c.Connect(t, s, revision))
		})
	}
}

// Connect connects to a server with a revision. The test fails immediately if the
// server does not support the revision, or if the revision is not in
// [mcp.Revisions]. The connection is closed when the test ends, and the test fails
// if the server does not stop then.
//
// A handshake ends with a notification of the client. Connect has sent it when it
// returns, but the server may not have handled it yet.
func (c *Client) Connect(t TB, s Server, revision wire.Revision) *Conn {
	t.Helper()
	conn, err := c.connect(t, s, revision)
	if err != nil {
		t.Fatalf("mcptest: connect with revision %v: %v", revision, err)
	}
	return conn
}

// connect is Connect that returns an error if the server does not support the revision.
func (c *Client) connect(t TB, s Server, revision wire.Revision) (*Conn, error) {
	t.Helper()
	if !knownRevision(revision) {
		t.Fatalf("mcptest: unknown revision %q", revision)
	}
	if v, ok := s.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			t.Fatalf("mcptest: validate the server: %v", err)
		}
	}
	meta, err := c.metadata(revision)
	if err != nil {
		t.Fatalf("mcptest: connect with revision %v: %v", revision, err)
	}
	report := c.Report
	if report == nil {
		report = Fail(t)
	}
	conn := c.open(startServer(withReport(t.Context(), report), s), revision, meta, report)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("mcptest: %v", err)
		}
	})
	return conn, conn.begin(t.Context(), c.info())
}

// Run is [Client.Run] of the zero Client.
func Run(t *testing.T, s Server, test func(t *testing.T, c *Conn)) {
	t.Helper()
	new(Client).Run(t, s, test)
}

// Connect is [Client.Connect] of the zero Client.
func Connect(t TB, s Server, revision wire.Revision) *Conn {
	t.Helper()
	return new(Client).Connect(t, s, revision)
}

// open returns a connection to a server that has been started. Each request has the
// metadata.
func (c *Client) open(p *pipe, r wire.Revision, metadata []wire.Entry, report func(*Violation)) *Conn {
	conn := &Conn{pipe: p, revision: r, caps: c.capabilities()}
	tapped := TapPipe(report, p, FromClient)
	kernel := connection.NewDispatcher(&connection.DispatcherOptions{Mux: c.Mux})
	conn.dispatch = jsonrpc.New(jsonrpc.NewLineWriter(tapped), &jsonrpc.Options{
		Client: true, MaxMessage: c.MaxMessage,
		Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			return kernel.Serve(ctx, conn.Connection, in)
		}),
		Frame:   func(method string) *wire.Frame { return conn.Connection.Frame(method) },
		Batches: func() bool { return conn.Connection.Batches() },
	})
	opts := &connection.Options{
		Client: true, Outbound: conn.dispatch, InFlight: conn.dispatch.InFlight(),
		DefaultRevision: r, Meta: metadata,
	}
	if revisions.Handshake(r) {
		conn.Connection = connection.New(conn.dispatch, opts)
	} else {
		conn.Connection = connection.NewForRequest(r, nil, nil, opts)
	}
	conn.ServerPeer = mcp.ServerPeer{Outbound: &inputOutbound{conn.Connection, c.Mux}}
	conn.read(tapped)
	return conn
}

// metadata returns the message metadata of each request in a stateless revision, or
// nil.
func (c *Client) metadata(r wire.Revision) ([]wire.Entry, error) {
	if revisions.Handshake(r) {
		return nil, nil
	}
	f, implementation := &wire.Frame{Revision: r}, c.info()
	info, err := wire.Append(nil, f, &implementation)
	if err != nil {
		return nil, err
	}
	capabilities, err := wire.Append(nil, f, c.capabilities())
	if err != nil {
		return nil, err
	}
	return []wire.Entry{
		{Name: revisions.KeyVersion, Value: wire.AppendString(nil, r.String())},
		{Name: revisions.KeyInfo, Value: info},
		{Name: revisions.KeyCapabilities, Value: capabilities},
	}, nil
}

// info returns the name and version of the client.
func (c *Client) info() mcp.Implementation {
	info := c.Info
	if info.Name == "" {
		info.Name = "mcptest"
	}
	if info.Version == "" {
		info.Version = "1"
	}
	return info
}

// capabilities returns the capabilities that the client declares.
func (c *Client) capabilities() *mcp.ClientCapabilities {
	if c.Capabilities != nil {
		return c.Capabilities
	}
	caps, supported := new(mcp.ClientCapabilities), mcp.JSONObject{}
	if c.Mux == nil {
		return caps
	}
	for method := range c.Mux.Methods() {
		switch method {
		case mcp.MethodElicit:
			caps.Elicitation = &mcp.ElicitationCapability{Form: supported, URL: supported}
		case mcp.MethodCreateMessage:
			caps.Sampling = &mcp.SamplingCapability{Context: supported, Tools: supported}
		case mcp.MethodListRoots:
			caps.Roots = &mcp.RootsCapability{ListChanged: true}
		}
	}
	return caps
}
