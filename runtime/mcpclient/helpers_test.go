package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TestMain runs this test binary as a server if a test has started it as one.
func TestMain(m *testing.M) {
	switch os.Getenv("MCPCLIENT_TEST_CHILD") {
	case "greeter":
		s := greeter()
		mcp.HandlePing(&s.mux, func(context.Context, *mcp.PingRequest) (*mcp.EmptyResult, error) {
			fmt.Fprintln(os.Stderr, "dying")
			os.Exit(3)
			return nil, nil
		})
		if err := stdio.Serve(context.Background(), s.pipe(), nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "kit", "strict kit":
		k := newKit(&mcpserver.Options{RequireInitialized: os.Getenv("MCPCLIENT_TEST_CHILD") == "strict kit"})
		plain(k, "die", func(context.Context, *mcp.ServerSession) (string, error) { os.Exit(3); return "", nil })
		if err := k.ServeStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "fragile": // exits when it receives an unknown request
		k := connection.NewDispatcher(&connection.DispatcherOptions{Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.Method == mcp.MethodDiscover {
					os.Exit(1)
				}
				return next.Handle(ctx, in)
			})
		}}})
		_ = stdio.Serve(context.Background(), connection.NewPipe(k, nil), nil)
		os.Exit(0)
	case "failing": // exits at once
		fmt.Fprintln(os.Stderr, "no API key")
		os.Exit(3)
	case "mute": // does not exit or respond
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "deaf": // does not exit and ignores signals
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// child returns the endpoint of this test binary as a server.
func child(t testing.TB, what string) *mcpclient.CommandEndpoint {
	exe, err := os.Executable()
	require.NoError(t, err)
	e := mcpclient.Command(exe)
	e.Env = []string{"MCPCLIENT_TEST_CHILD=" + what}
	return e
}

// server is a server that does not use the server kit. Its fields are set before it is used.
type server struct {
	mux       peer.Mux
	caps      mcp.ServerCapabilities
	revisions []wire.Revision

	opened chan *stream // new subscriptions

	once   sync.Once
	kernel *connection.Dispatcher

	mu    sync.Mutex
	loops []*connection.Pipe
	pipes []net.Conn
}

// newServer returns a server that declares many capabilities and has no handlers.
func newServer(revisions ...wire.Revision) *server {
	return &server{revisions: revisions, caps: mcp.ServerCapabilities{
		Tools:     &mcp.ToolsCapability{ListChanged: true},
		Prompts:   &mcp.PromptsCapability{ListChanged: true},
		Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		Logging:   map[string]json.RawMessage{},
	}}
}

// greeter returns a server with one tool, which greets.
func greeter(revisions ...wire.Revision) *server {
	s := newServer(revisions...)
	mcp.HandleCallTool(&s.mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Name string }
		if err := json.Unmarshal(req.Arguments, &in); err != nil {
			return nil, err
		}
		return mcp.TextResult("hello " + in.Name), nil
	})
	return s
}

func (s *server) pipe() *connection.Pipe {
	s.once.Do(func() {
		s.kernel = connection.NewDispatcher(&connection.DispatcherOptions{
			Mux: &s.mux, Capabilities: s.caps, Revisions: s.revisions, Logger: silent,
			Middleware:   []peer.Middleware{withID},
			Info:         mcp.Implementation{Name: "stand-in", Version: "1"},
			Instructions: "be kind",
		})
	})
	d := connection.NewPipe(s.kernel, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loops = append(s.loops, d)
	return d
}

// session returns the connection of the newest session.
func (s *server) session() *connection.Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loops[len(s.loops)-1].Connection()
}

// InProcess makes the server usable with [mcpclient.InProcess].
func (s *server) InProcess(client *jsonrpc.Options) *jsonrpc.InProcessConn {
	era := s.pipe()
	theirs, ours := jsonrpc.InProcessPair(client, &jsonrpc.Options{Handler: era, Frame: era.Frame, Logger: silent})
	era.Attach(ours, ours.InFlight())
	return theirs
}

// overPipe returns the endpoint of the server at the other end of a pipe.
func (s *server) overPipe(t testing.TB) mcpclient.Endpoint {
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	return mcpclient.Dial("pipe", func(ctx context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
		ours, theirs := net.Pipe()
		s.mu.Lock()
		s.pipes = append(s.pipes, theirs)
		s.mu.Unlock()
		era := s.pipe()
		all.Go(func() { // ends with the pipe
			_ = stdio.ServeStreams(context.Background(), theirs, theirs, era, &stdio.ServeOptions{
				Patience: -1, JSONRPC: jsonrpc.Options{Logger: silent},
			})
		})
		return mcpclient.NewStreamConn(ctx, ours, ours, opts), nil
	})
}

// breakPipes closes all pipes.
func (s *server) breakPipes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pipes {
		p.Close()
	}
}

// ways returns endpoints of the server by transport.
func (s *server) ways(t testing.TB) map[string]mcpclient.Endpoint {
	return map[string]mcpclient.Endpoint{
		"in process": mcpclient.InProcess(s),
		"pipe":       s.overPipe(t),
	}
}

// connect returns a client that is closed at the end of the test.
func connect(t testing.TB, to mcpclient.Endpoint, opts *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	if opts == nil {
		opts = &mcpclient.Options{}
	}
	if opts.Logger == nil {
		opts.Logger = quiet
	}
	c, err := mcpclient.Connect(t.Context(), to, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

// silent discards the logs that tests provoke.
var silent = slog.New(slog.DiscardHandler)

type idKey struct{}

// withID adds the id of a request to the context of its handler.
func withID(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		return next.Handle(context.WithValue(ctx, idKey{}, in.ID), in)
	})
}

// stream is the server side of a subscription.
type stream struct {
	ctx     context.Context
	id      wire.RequestID
	filter  mcp.SubscriptionFilter
	session *mcp.ServerSession
	finish  chan error // ends the subscription
}

// meta returns the metadata with the id of the subscription.
func (s *stream) meta() *mcp.NotificationMeta { return &mcp.NotificationMeta{SubscriptionID: s.id} }

func (s *stream) send(t testing.TB, n peer.Notification) {
	t.Helper()
	require.NoError(t, s.session.Notify(s.ctx, n))
}

func (s *stream) ack(t testing.TB) {
	t.Helper()
	s.send(t, &mcp.SubscriptionsAcknowledgedNotification{Notifications: s.filter, Meta: s.meta()})
}

func (s *stream) updated(t testing.TB, uri string) {
	t.Helper()
	s.send(t, &mcp.ResourceUpdatedNotification{URI: uri, Meta: s.meta()})
}

// enableSubscriptions adds a handler of subscriptions to a server.
func enableSubscriptions(s *server) *server {
	s.opened = make(chan *stream, 100)
	mcp.HandleSubscriptionsListen(&s.mux, func(ctx context.Context, req *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
		id, _ := ctx.Value(idKey{}).(wire.RequestID)
		st := &stream{ctx, id, req.Notifications, mcp.SessionFromContext(ctx), make(chan error, 1)}
		s.opened <- st
		select {
		case err := <-st.finish:
			if err != nil {
				return nil, err
			}
			return &mcp.SubscriptionsListenResult{Meta: &mcp.SubscriptionsListenResultMeta{SubscriptionID: id}}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	return s
}

// script is a server that responds line by line as a test requires.
type script struct {
	// answer returns the line to write for a message, or "" for none. It returns hangUp to close the
	// connection. $ID stands for the id of the message.
	answer func(m message) string

	mu       sync.Mutex
	received []message
	conns    []io.Closer
}

// message is a received message.
type message struct {
	ID     json.RawMessage
	Method string
	Params map[string]json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
}

const hangUp = "hang up"

// ok returns a response with a result.
func ok(result string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}` }

// fail returns a response with an error.
func fail(code int, data string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":"no","data":%s}}`, code, data)
}

const (
	welcome    = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`
)

// endpoint returns the endpoint of the script. It can be dialled more than once.
func (s *script) endpoint(t testing.TB) mcpclient.Endpoint {
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	return mcpclient.Dial("script", func(ctx context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
		ours, theirs := net.Pipe()
		s.mu.Lock()
		s.conns = append(s.conns, theirs)
		s.mu.Unlock()
		all.Go(func() { s.play(theirs) }) // ends with the pipe
		return mcpclient.NewStreamConn(ctx, ours, ours, opts), nil
	})
}

func (s *script) play(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		s.mu.Lock()
		s.received = append(s.received, m)
		s.mu.Unlock()
		switch text := s.answer(m); text {
		case hangUp:
			return
		case "":
		default:
			fmt.Fprintln(conn, strings.ReplaceAll(text, "$ID", string(m.ID)))
		}
	}
}

// hangUp closes all connections.
func (s *script) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// messages returns the messages received so far.
func (s *script) messages() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]message(nil), s.received...)
}

// methods returns the methods of the messages received so far.
func (s *script) methods() []string {
	var names []string
	for _, m := range s.messages() {
		names = append(names, m.Method)
	}
	return names
}
