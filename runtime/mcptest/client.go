package mcptest

import (
	"context"
	"io"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Client is the client that a server is tested with. The zero value works: it
// speaks every revision, and answers no questions.
type Client struct {
	// Mux has the handlers of what the server asks and tells: questions, be
	// they requests or part of an answer, and notifications. Nil is none.
	Mux *peer.Mux
	// Capabilities are what the client declares. Nil is what Mux has handlers
	// for.
	Capabilities *mcp.ClientCapabilities
	// Info says who the client is. Without a name it is "mcptest".
	Info mcp.Implementation
	// Revisions are those that [Client.Run] goes through; nil is all.
	Revisions []string
	// MaxMessage is how many bytes a message of the server may have. Default
	// 4 MiB.
	MaxMessage int
	// Report is told about each violation, by several goroutines at the same
	// time. Nil fails the test.
	Report func(*Violation)
}

// Run runs a test with a server once for each revision, each time over a new
// connection that is judged, and closed in the end.
func (c *Client) Run(t *testing.T, s Server, test func(t *testing.T, c *Conn)) {
	t.Helper()
	revisions := c.Revisions
	if revisions == nil {
		for _, r := range mcp.Revisions {
			revisions = append(revisions, r.Revision.String())
		}
	}
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			test(t, c.Connect(t, s, revision))
		})
	}
}

// Connect connects to a server in a revision. The test fails at once if the
// server does not serve that. When the test is over the connection is closed,
// and it fails if the server does not end.
//
// The handshake, in the revisions that have one, ends with a notification: the
// server has been sent it when Connect returns, and may still be busy with it.
func (c *Client) Connect(t TB, s Server, revision string) *Conn {
	t.Helper()
	r, known := mcp.ParseRevision(revision)
	if !known {
		t.Fatalf("mcptest: there is no revision %q", revision)
	}
	meta, err := c.triple(r)
	if err != nil {
		t.Fatalf("mcptest: connect in %s: %v", revision, err)
	}
	report := c.Report
	if report == nil {
		report = Fail(t)
	}
	conn := c.open(startServer(reporting(t.Context(), report), s), r, meta, report)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("mcptest: %v", err)
		}
	})
	if err := conn.begin(t.Context(), c.info()); err != nil {
		t.Fatalf("mcptest: connect in %s: %v", revision, err)
	}
	return conn
}

// info says who the client is.
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

// capabilities returns what the client declares.
func (c *Client) capabilities() *mcp.ClientCapabilities {
	if c.Capabilities != nil {
		return c.Capabilities
	}
	caps, some := new(mcp.ClientCapabilities), mcp.JSONObject{}
	if c.Mux == nil {
		return caps
	}
	for method := range c.Mux.Methods() {
		switch method {
		case mcp.MethodElicit:
			caps.Elicitation = &mcp.ElicitationCapability{Form: some, URL: some}
		case mcp.MethodCreateMessage:
			caps.Sampling = &mcp.SamplingCapability{Context: some, Tools: some}
		case mcp.MethodListRoots:
			caps.Roots = &mcp.RootsCapability{ListChanged: true}
		}
	}
	return caps
}

// open makes the connection to a server that has been started. The meta is what
// each request says.
func (c *Client) open(p *pipe, r wire.Revision, meta []wire.Entry, report func(*Violation)) *Conn {
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
		VersionHint: r.String(), Meta: meta,
	}
	if handshake(r) {
		conn.Connection = connection.New(conn.dispatch, opts)
	} else {
		conn.Connection = connection.NewForRequest(r.String(), nil, nil, opts)
	}
	conn.ServerPeer = mcp.ServerPeer{Outbound: &answering{conn.Connection, c.Mux}}
	conn.read(tapped)
	return conn
}

// triple is what each request says in a revision that has no handshake.
func (c *Client) triple(r wire.Revision) ([]wire.Entry, error) {
	if handshake(r) {
		return nil, nil
	}
	f, info := &wire.Frame{Revision: r}, c.info()
	who, err := wire.Append(nil, f, &info)
	if err != nil {
		return nil, err
	}
	what, err := wire.Append(nil, f, c.capabilities())
	if err != nil {
		return nil, err
	}
	return []wire.Entry{
		{Name: eras.KeyVersion, Value: wire.AppendString(nil, r.String())},
		{Name: eras.KeyInfo, Value: who},
		{Name: eras.KeyCapabilities, Value: what},
	}, nil
}

// Run is [Client.Run] of the zero Client.
func Run(t *testing.T, s Server, test func(t *testing.T, c *Conn)) {
	t.Helper()
	new(Client).Run(t, s, test)
}

// Connect is [Client.Connect] of the zero Client.
func Connect(t TB, s Server, revision string) *Conn {
	t.Helper()
	return new(Client).Connect(t, s, revision)
}

// pipe is the client's end of the streams that a server is served on.
type pipe struct {
	*io.PipeReader
	*io.PipeWriter
	cancel context.CancelFunc
	ended  chan struct{} // closed when the server has ended
	err    error         // why it has; read after ended
}

// Close tells the server that there is nothing more to come.
func (p *pipe) Close() error { return p.PipeWriter.Close() }

// startServer serves a server on a pipe in memory.
func startServer(ctx context.Context, s Server) *pipe {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &pipe{PipeReader: fromServer, PipeWriter: toServer, cancel: cancel, ended: make(chan struct{})}
	go func() { // ends when the server does, which Close waits for
		defer close(p.ended)
		p.err = s.ServeStreams(ctx, in, out)
		in.Close()
		out.Close()
	}()
	return p
}
