package mcpclient_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// server is a server made of the parts that the kits stand on. Its fields are
// set before it is used.
type server struct {
	mux       peer.Mux
	caps      mcp.ServerCapabilities
	revisions []wire.Revision

	opened chan *stream // subscriptions, as they come

	once   sync.Once
	kernel *connection.Dispatcher

	mu    sync.Mutex
	loops []*connection.Pipe
	pipes []net.Conn
}

// newServer returns a server that declares much and has nothing.
func newServer(revisions ...wire.Revision) *server {
	return &server{revisions: revisions, caps: mcp.ServerCapabilities{
		Tools:     &mcp.ToolsCapability{ListChanged: true},
		Prompts:   &mcp.PromptsCapability{ListChanged: true},
		Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		Logging:   map[string]json.RawMessage{},
	}}
}

// greeter returns a server whose one tool greets.
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

// session is the connection of the newest session.
func (s *server) session() *connection.Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loops[len(s.loops)-1].Connection()
}

// Direct makes the server one for [mcpclient.InProcess].
func (s *server) InProcess(client *jsonrpc.Options) *jsonrpc.InProcessConn {
	era := s.pipe()
	theirs, ours := jsonrpc.InProcessPair(client, &jsonrpc.Options{Handler: era, Frame: era.Frame, Logger: silent})
	era.Attach(ours, ours.InFlight())
	return theirs
}

// overPipe is the server at the other end of a pipe.
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
		return mcpclient.StreamLink(ctx, ours, ours, opts), nil
	})
}

// breakPipes ends all pipes that there are.
func (s *server) breakPipes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pipes {
		p.Close()
	}
}

// ways are the ways to reach a server, with what each is to speak.
func (s *server) ways(t testing.TB) map[string]mcpclient.Endpoint {
	return map[string]mcpclient.Endpoint{
		"in process": mcpclient.InProcess(s),
		"pipe":       s.overPipe(t),
	}
}

// connect connects to a server until the test ends.
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

// silent takes what tests provoke.
var silent = slog.New(slog.DiscardHandler)

type idKey struct{}

// withID tells handlers the id of their request.
func withID(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		return next.Handle(context.WithValue(ctx, idKey{}, in.ID), in)
	})
}

// stream is a subscription as the server sees it.
type stream struct {
	ctx     context.Context
	id      wire.RequestID
	filter  mcp.SubscriptionFilter
	session *mcp.ServerSession
	finish  chan error // ends it
}

// meta names the subscription.
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

// listenable makes a server open to subscriptions.
func listenable(s *server) *server {
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
