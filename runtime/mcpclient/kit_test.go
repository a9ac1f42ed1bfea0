package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

type (
	nothing  struct{}
	greeting struct {
		Name string `json:"name"`
	}
	welcomed struct {
		Greeting string `json:"greeting"`
	}
)

// newKit returns a server of the server kit. Its tools test one feature of a client each.
func newKit(opts *mcpserver.Options) *mcpserver.Server {
	if opts == nil {
		opts = &mcpserver.Options{}
	}
	opts.Logger = silent
	opts.Capabilities.Logging = map[string]json.RawMessage{}
	s := mcpserver.New(mcp.Implementation{Name: "kit", Version: "1"}, opts)
	mcpserver.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.ServerSession, in greeting) (welcomed, error) {
		return welcomed{"hello " + in.Name}, nil
	})
	plain(s, "ask", asks)
	plain(s, "consult", consults)
	plain(s, "report", reports)
	plain(s, "touch", func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		return "touched", s.ResourceUpdated(ctx, "note:1")
	})
	plain(s, "grow", func(context.Context, *mcp.ServerSession) (string, error) {
		plain(s, "grown", func(context.Context, *mcp.ServerSession) (string, error) { return "grown", nil })
		return "grown", nil
	})
	s.AddResource(&mcp.Resource{URI: "note:1", Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: "a note"}}}, nil
	})
	return s
}

// plain adds a tool without arguments.
func plain(s *mcpserver.Server, name string, h func(context.Context, *mcp.ServerSession) (string, error)) {
	mcpserver.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, session *mcp.ServerSession, _ nothing) (string, error) {
		return h(ctx, session)
	})
}

// waiting adds a tool that waits until its request is cancelled.
func waiting(s *mcpserver.Server) (begun, cancelled chan struct{}) {
	begun, cancelled = make(chan struct{}, 1), make(chan struct{}, 1)
	plain(s, "wait", func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		begun <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", context.Cause(ctx)
	})
	return begun, cancelled
}

// asks requests a form from the user.
func asks(ctx context.Context, s *mcp.ServerSession) (string, error) {
	form, err := connection.FormOf[struct {
		Name string `json:"name"`
		Sure bool   `json:"sure" default:"true"`
	}]()
	if err != nil {
		return "", err
	}
	res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Who are you?", RequestedSchema: form})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %v %v", res.Action, res.Content["name"], res.Content["sure"]), nil
}

// consults requests a message from the model, and the roots.
func consults(ctx context.Context, s *mcp.ServerSession) (string, error) {
	said, err := s.CreateMessage(ctx, &mcp.CreateMessageRequest{MaxTokens: 9, Messages: []mcp.SamplingMessage{mcp.UserText("Which colour?")}})
	if err != nil {
		return "", err
	}
	roots, err := s.ListRoots(ctx)
	if err != nil {
		return "", err
	}
	return mcp.TextOf(said.Content) + " in " + roots.Roots[0].URI, nil
}

// reports sends progress and a log message.
func reports(ctx context.Context, s *mcp.ServerSession) (string, error) {
	for i := range 3 {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: float64(i + 1)}); err != nil {
			return "", err
		}
	}
	return "reported", s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(`"something happened"`)})
}

// A way is an endpoint of a kit server. The messages are validated if the transport can be tapped.
type way struct {
	name string
	to   mcpclient.Endpoint
	old  bool // it is for revisions with a handshake only
}

// kitEndpoints returns endpoints of a server for all transports.
func kitEndpoints(t testing.TB, s *mcpserver.Server) []way {
	sse := httptest.NewServer(streamable.NewLegacySSEHandler(s.Dispatcher(), nil))
	t.Cleanup(sse.Close)
	return []way{
		{"in process", mcpclient.InProcess(s), false},
		{"pipe", validatedPipe(t, s), false},
		{"command", child(t, "kit"), false},
		{"http", validatedURL(t, streamable.NewHandler(s, &streamable.Options{Logger: silent})), false},
		{"legacy sse", mcpclient.LegacySSE(sse.URL, nil), true},
	}
}

// validatedPipe returns the endpoint of a server at the other end of a pipe. It validates messages.
func validatedPipe(t testing.TB, s *mcpserver.Server) mcpclient.Endpoint {
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	return mcpclient.Dial("judged pipe", func(ctx context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
		ours, theirs := net.Pipe()
		all.Go(func() { _ = s.ServeStreams(context.Background(), theirs, theirs) }) // ends with the pipe
		tapped := mcptest.TapPipe(mcptest.Fail(t), ours, mcptest.FromClient)
		return mcpclient.NewStreamConn(ctx, tapped, tapped, opts), nil
	})
}

// validatedURL returns the endpoint of a Streamable HTTP handler. It validates messages.
func validatedURL(t testing.TB, h http.Handler) *mcpclient.URLEndpoint {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	to := mcpclient.URL(s.URL)
	to.HTTP.HTTPClient = &http.Client{Transport: mcptest.TapTransport(mcptest.Fail(t), transport)}
	return to
}

// handlerOptions adds handlers of all input requests to options.
func handlerOptions(opts mcpclient.Options) *mcpclient.Options {
	opts.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada"}}, nil
	}
	opts.OnCreateMessage = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: []mcp.SamplingMessageContentBlock{mcp.Text("blue")}}, nil
	}
	opts.Roots = []mcp.Root{{URI: "file:///project"}}
	return &opts
}

// callText calls a tool and returns its text.
func callText(t testing.TB, c *mcpclient.Client, tool string, opts ...peer.CallOption) string {
	t.Helper()
	text, err := mcpclient.CallTool[string](t.Context(), c, tool, nil, opts...)
	require.NoError(t, err)
	return text
}

// firstChange watches a resource, changes it, and returns the first yielded URI.
func firstChange(t testing.TB, c *mcpclient.Client) string {
	t.Helper()
	seen := make(chan string, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { // ends with the first change
		for uri, err := range c.Watch(t.Context(), "note:1") {
			if err != nil {
				t.Error(err)
			}
			seen <- uri
			return
		}
	})
	for {
		require.Equal(t, "touched", callText(t, c, "touch"))
		select {
		case uri := <-seen:
			return uri
		default:
		}
	}
}

func TestKitInEachRevisionOverEachTransport(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		for _, w := range kitEndpoints(t, newKit(nil)) { // a server of its own: it grows
			if w.old && !r.Handshake {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				logs, lists := make(chan string, 1), make(chan string, 1)
				c := connect(t, w.to, handlerOptions(mcpclient.Options{
					Revision: r.Revision,
					OnLog: func(_ context.Context, n *mcp.LoggingMessageNotification) error {
						logs <- string(n.Data)
						return nil
					},
					OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error {
						lists <- n.Method()
						return nil
					},
				}))
				require.Equal(t, "kit", c.ServerInfo().Name)

				got, err := mcpclient.CallTool[welcomed](t.Context(), c, "greet", greeting{"Ada"})
				require.NoError(t, err)
				require.Equal(t, "hello Ada", got.Greeting)
				require.Equal(t, "blue in file:///project", callText(t, c, "consult"))
				if r.Revision.Index() >= mcp.Revision20250618.Index() {
					require.Equal(t, "accept Ada true", callText(t, c, "ask"))
				}

				var steps []float64
				require.Equal(t, "reported", callText(t, c, "report", peer.OnProgress(func(p peer.Progress) { steps = append(steps, p.Progress) })))
				require.Equal(t, []float64{1, 2, 3}, steps)
				require.Equal(t, `"something happened"`, <-logs)

				require.Equal(t, "note:1", firstChange(t, c))
				require.Equal(t, "grown", callText(t, c, "grow"))
				require.Equal(t, mcp.MethodToolListChanged, <-lists)
				require.Contains(t, names(t, c), "grown")
			})
		}
	}
}

// early sends requests before notifications/initialized, and stores their errors.
type early struct {
	peer.Outbound
	list, ping error
}

func (e *early) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if n.Method() == mcp.MethodInitialized {
		_, e.list = peer.SendRequest(ctx, e.Outbound, &mcp.ListToolsRequest{})
		_, e.ping = peer.SendRequest(ctx, e.Outbound, &mcp.PingRequest{})
	}
	return e.Outbound.Notify(ctx, n, opts...)
}

func TestServerMayRequireInitialized(t *testing.T) {
	for _, required := range []bool{false, true} {
		s, command := newKit(&mcpserver.Options{RequireInitialized: required}), "kit"
		if required {
			command = "strict kit"
		}
		ways := kitEndpoints(t, s)
		ways[2].to = child(t, command)
		clientEnd, serverEnd := messageConns()
		go s.Serve(context.Background(), serverEnd) // returns when the client has closed
		ways = append(ways, way{"messages", mcpclient.Messages(clientEnd), true})
		for _, w := range ways {
			t.Run(fmt.Sprintf("%s/%v", w.name, required), func(t *testing.T) {
				e := new(early)
				c := connect(t, w.to, &mcpclient.Options{Revision: mcp.Revision20251125, Logger: silent, Outgoing: []func(peer.Outbound) peer.Outbound{
					func(next peer.Outbound) peer.Outbound { e.Outbound = next; return e },
				}})
				require.NoError(t, e.ping)
				if required {
					require.ErrorContains(t, e.list, "has not sent notifications/initialized")
				} else {
					require.NoError(t, e.list)
				}
				_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "report"})
				require.NoError(t, err)
			})
		}
	}
}
