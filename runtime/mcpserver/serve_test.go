package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// initialize performs the handshake.
func initialize(t testing.TB, out peer.Outbound) *mcp.InitializeResult {
	t.Helper()
	res, err := peer.SendRequest(context.Background(), out, &mcp.InitializeRequest{ProtocolVersion: "2025-11-25", ClientInfo: info})
	require.NoError(t, err)
	require.NoError(t, out.Notify(context.Background(), &mcp.InitializedNotification{}))
	return res
}

// strict are options of an in-process client with which all messages are encoded.
var strict = &jsonrpc.Options{Strict: true, Frame: func(string) *wire.Frame { return &wire.Frame{Revision: mcp.Revision20251125} }}

func TestInProcessCall(t *testing.T) {
	var log bytes.Buffer
	defer func() { require.Empty(t, log.String()) }()
	s := newForecaster(&mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	client := s.InProcess(strict)
	defer client.Close()
	require.Equal(t, "test", initialize(t, client).ServerInfo.Name)
	res, err := peer.SendRequest(t.Context(), client, &mcp.CallToolRequest{Name: "forecast", Arguments: json.RawMessage(`{"city":"Ulm"}`)})
	require.NoError(t, err)
	require.Equal(t, "Ulm: 1 sunny days", res.Content[0].(*mcp.TextContent).Text)
}

func TestInProcessNotificationsAreIntercepted(t *testing.T) {
	seen := make(chan string, 9)
	s := newForecaster(&mcpserver.Options{Stdio: stdio.ServeOptions{JSONRPC: jsonrpc.Options{
		InterceptNotification: func(in *peer.Inbound) bool { seen <- in.Method; return false },
	}}})
	client := s.InProcess(strict)
	defer client.Close()
	initialize(t, client)
	require.Equal(t, mcp.MethodInitialized, <-seen)
	require.NoError(t, client.Notify(t.Context(), &mcp.RootsListChangedNotification{}))
	require.Equal(t, mcp.MethodRootsListChanged, <-seen)
}

func TestInterceptedNotificationSkipsHandlerOnly(t *testing.T) {
	n := 0
	s := newForecaster(&mcpserver.Options{Stdio: stdio.ServeOptions{JSONRPC: jsonrpc.Options{
		InterceptNotification: func(*peer.Inbound) bool { n++; return n <= 2 }, // notifications/initialized and the first hint
	}}})
	type hinted struct {
		n           string
		initialized bool
	}
	hints := make(chan hinted, 9)
	mcpserver.HandleNotification(s, func(ctx context.Context, h *hint) error {
		hints <- hinted{string(h.Extra["n"]), connection.FromContext(ctx).State().Initialized()}
		return nil
	})
	client := s.InProcess(strict)
	defer client.Close()
	initialize(t, client)
	for _, n := range []string{"1", "2"} {
		h := &hint{mcp.InitializedNotification{Extra: map[string]json.RawMessage{"n": json.RawMessage(n)}}}
		require.NoError(t, client.Notify(t.Context(), h))
	}
	require.Equal(t, hinted{"2", true}, <-hints)
}

// own connects to a server over a transport of the test, which passes values without encoding
// them.
func own(t testing.TB, s *mcpserver.Server) *jsonrpc.InProcessConn {
	var conn *connection.Connection
	client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		return s.Dispatcher().Serve(ctx, conn, in)
	})})
	conn = connection.New(server, nil)
	t.Cleanup(func() {
		client.Close()
		conn.Close(context.Background())
	})
	initialize(t, client)
	return client
}

func TestInProcessListMayBeChanged(t *testing.T) {
	client := own(t, newForecaster(nil))
	for range 2 {
		res, err := peer.SendRequest(t.Context(), client, &mcp.ListToolsRequest{})
		require.NoError(t, err)
		require.Equal(t, "forecast", res.Tools[0].Name)
		res.Tools[0].Name = "mine"
	}
}

func TestInProcessClientIsNotified(t *testing.T) {
	s := stocked(nil)
	heard := make(chan string, 10)
	client := s.InProcess(&jsonrpc.Options{Strict: true, Frame: strict.Frame, Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		heard <- in.Method
		return peer.Reply{}, nil
	})})
	defer client.Close()
	initialize(t, client)
	for mcpserver.SubscriberCount(s) == 0 {
		runtime.Gosched()
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	require.Equal(t, "notifications/tools/list_changed", <-heard)
}

func TestShutdownEndsStreamsWithTheirResults(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, modern)
	id, _ := c.listen(`{"toolsListChanged":true}`)
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }() // ends with the shutdown
	m := c.receive()
	require.Equal(t, fmt.Sprint(id), string(m.ID))
	require.Equal(t, fmt.Sprint(id), c.subscription(m.Result))
	require.Contains(t, string(m.Result), `"resultType":"complete"`)
	require.NoError(t, <-done)
	require.NoError(t, <-c.served)
	c.served <- nil
}

func TestShutdownWaitsForCallsUntilContextEnds(t *testing.T) {
	running, release := make(chan struct{}, 1), make(chan struct{})
	s := tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		running <- struct{}{}
		select {
		case <-release:
			return "finished", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	patient := connect(t, s, modern)
	id := patient.start("tools/call", `{"name":"t"}`)
	<-running
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }() // ends with the shutdown
	close(release)
	m := patient.receive()
	require.Equal(t, fmt.Sprint(id), string(m.ID))
	require.Contains(t, string(m.Result), "finished")
	require.NoError(t, <-done)

	s = tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		running <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	})
	c := connect(t, s, modern)
	client := s.InProcess(strict)
	defer client.Close()
	initialize(t, client)
	c.start("tools/call", `{"name":"t"}`)
	<-running
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	go io.Copy(io.Discard, c.conn) // ends when the pipe is closed
	require.ErrorIs(t, s.Shutdown(ctx), reason)
	<-client.Done()
}

func TestShutdownRefusesNewRequests(t *testing.T) {
	var release chan struct{}
	shutDown := func(s *mcpserver.Server) <-chan error {
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }() // ends with the requests in flight
		synctest.Wait()
		return done
	}
	wait := func(context.Context) (string, error) {
		<-release
		return "finished", nil
	}
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release = make(chan struct{})
			s := tool(nil, &mcp.Tool{}, wait)
			c := connect(t, s, modern)
			id := c.start("tools/call", `{"name":"t"}`)
			done := shutDown(s)
			require.Contains(t, c.refused("tools/call", `{"name":"t"}`, mcp.CodeInternal).Error.Message, "shutting down")
			require.Empty(t, done)
			close(release)
			m := c.receive()
			require.Equal(t, fmt.Sprint(id), string(m.ID))
			require.Contains(t, string(m.Result), "finished")
			require.NoError(t, <-done)
		})
	})
	t.Run("direct", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release = make(chan struct{})
			s := tool(nil, &mcp.Tool{}, wait)
			client := s.InProcess(strict)
			defer client.Close()
			initialize(t, client)
			call := func() error {
				_, err := peer.SendRequest(t.Context(), client, &mcp.CallToolRequest{Name: "t"})
				return err
			}
			answered := make(chan error, 1)
			go func() { answered <- call() }() // ends when the handler is released
			done := shutDown(s)
			require.ErrorContains(t, call(), "shutting down")
			require.Empty(t, done)
			close(release)
			require.NoError(t, <-answered)
			require.NoError(t, <-done)
		})
	})
}

func TestShutdownWaitsForInProcessCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tidied := false
		s := tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
			connection.FromContext(ctx).OnClose(func(context.Context) error {
				<-time.After(time.Second) // for cleaning up
				tidied = true
				return nil
			})
			return "done", nil
		})
		client := s.InProcess(strict)
		defer client.Close()
		initialize(t, client)
		_, err := peer.SendRequest(t.Context(), client, &mcp.CallToolRequest{Name: "t"})
		require.NoError(t, err)
		require.NoError(t, s.Shutdown(t.Context()))
		require.True(t, tidied)
	})
}

func TestShutdownWaitsForCancelledInProcessHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		s := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		started, tidied := make(chan struct{}), false
		mcpserver.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (struct{}, error) {
			close(started)
			<-ctx.Done()
			<-time.After(time.Second) // for cleaning up
			tidied = true
			return struct{}{}, ctx.Err()
		})
		client := s.InProcess(strict)
		defer client.Close()
		initialize(t, client)
		go peer.SendRequest(context.Background(), client, &mcp.CallToolRequest{Name: "wait"}) // ends with the handler
		<-started
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
		require.True(t, tidied)
		require.Empty(t, logged.String())
	})
}

func TestNothingIsServedAfterShutdown(t *testing.T) {
	s := newForecaster(nil)
	require.NoError(t, s.Shutdown(t.Context()))
	near, far := net.Pipe()
	defer near.Close()
	require.ErrorIs(t, s.ServeStreams(t.Context(), far, far), mcpserver.ErrShutdown)
	require.ErrorIs(t, s.ServeStdio(t.Context()), mcpserver.ErrShutdown)
	<-s.InProcess(nil).Done()
	w := httptest.NewRecorder()
	streamable.NewHandler(s, nil).ServeHTTP(w, post(modern, "tools/list", "", `{}`))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}

func TestServeStreamsEndsWithContext(t *testing.T) {
	s := newForecaster(nil)
	near, far := net.Pipe()
	defer near.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	require.NoError(t, s.ServeStreams(ctx, far, far))
}

func TestServeStreamsReturnsInputError(t *testing.T) {
	broken := errors.New("broken")
	in, out := io.Pipe()
	out.CloseWithError(broken)
	require.ErrorIs(t, newForecaster(nil).ServeStreams(t.Context(), in, out), broken)
}

func TestServeStdioEndsWithEmptyInput(t *testing.T) {
	ready := false
	opts := &mcpserver.Options{}
	opts.Stdio.Ready = func(*jsonrpc.Conn) { ready = true }
	require.NoError(t, newForecaster(opts).ServeStdio(t.Context()))
	require.True(t, ready)
}

// post returns an HTTP request of a revision, with metadata as in a stateless revision.
func post(revision, method, name, params string) *http.Request {
	params = strings.TrimSuffix(params, "}")
	if params != "{" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params, revision)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", revision)
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	return r
}

func TestHandlerServesHTTP(t *testing.T) {
	s := newForecaster(nil)
	h := streamable.NewHandler(s, nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, post(modern, "tools/call", "forecast", `{"name":"forecast","arguments":{"city":"Ulm"}}`))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "Ulm: 1 sunny days")
	require.NoError(t, s.Shutdown(t.Context()))
	w = httptest.NewRecorder()
	h.ServeHTTP(w, post(modern, "tools/list", "", `{}`))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
}

func TestParamHeadersMustMatchArguments(t *testing.T) {
	s := mcpserver.New(info, nil)
	type query struct {
		Region string `json:"region" header:"Region"`
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "query"}, func(_ context.Context, _ *mcp.ServerSession, in query) (string, error) {
		return in.Region, nil
	})
	h := streamable.NewHandler(s, nil)
	defer h.Close()
	r := post(modern, "tools/call", "query", `{"name":"query","arguments":{"region":"eu"}}`)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "-32020")

	r = post(modern, "tools/call", "query", `{"name":"query","arguments":{"region":"eu"}}`)
	r.Header.Set("Mcp-Param-Region", "eu")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)

	require.Equal(t, "eu", text(t, connect(t, s, modern).call("tools/call", `{"name":"query","arguments":{"region":"eu"}}`)))

	older := streamable.NewHandler(s, &streamable.Options{Stateless: true})
	defer older.Close()
	w = httptest.NewRecorder()
	older.ServeHTTP(w, post("2025-11-25", "tools/call", "query", `{"name":"query","arguments":{"region":"eu"}}`))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"text":"eu"`, "the revision has no such headers")
}

func TestListChangesAreNotDeclaredWithoutSessions(t *testing.T) {
	s := stocked(nil)
	ask := func(h http.Handler, revision, method, params string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, post(revision, method, "", params))
		return w.Body.String()
	}
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	h := streamable.NewHandler(s, &streamable.Options{Stateless: true})
	defer s.Shutdown(t.Context())
	require.Contains(t, ask(h, "2025-11-25", "initialize", hello), `"capabilities":{"prompts":{},"resources":{},"tools":{}}`)
	require.Contains(t, ask(h, "2025-11-25", "resources/subscribe", `{"uri":"x:n0"}`), `"code":-32601`)
	const all = `"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}`
	require.Contains(t, ask(h, modern, "server/discover", `{}`), all, "there each subscription has a stream of its own")
	require.Contains(t, ask(streamable.NewHandler(s, nil), "2025-11-25", "initialize", hello), all)
}

// echo is a request of the program.
type echo struct{ mcp.PingRequest }

func (*echo) Method() string { return "com.example/echo" }

// hint is a notification of the program.
type hint struct{ mcp.InitializedNotification }

func (*hint) Method() string { return "com.example/hint" }

func TestHandleServesMethodsOfProgram(t *testing.T) {
	s := newForecaster(nil)
	hinted := make(chan string, 1)
	mcpserver.Handle(s, func(ctx context.Context, _ *echo) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{Extra: map[string]json.RawMessage{"revision": json.RawMessage(fmt.Sprintf("%q", mcp.SessionFromContext(ctx).Revision().String()))}}, nil
	})
	mcpserver.HandleNotification(s, func(ctx context.Context, _ *hint) error {
		hinted <- connection.FromContext(ctx).Revision().String()
		return nil
	})
	require.PanicsWithError(t, `mcpserver: method "tools/call": method already has a handler`, func() {
		mcpserver.Handle(s, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	})
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		require.Equal(t, revision, c.call("com.example/echo", `{}`)["revision"])
		c.send(`{"jsonrpc":"2.0","method":"com.example/hint"}`)
		require.Equal(t, revision, <-hinted)
	})
	require.PanicsWithError(t, `mcpserver: method "com.example/echo": the server has begun to serve`, func() {
		mcpserver.Handle(s, func(context.Context, *echo) (*mcp.EmptyResult, error) { return nil, nil })
	})
}

func TestCapabilitiesFollowFromWhatIsRegistered(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{
		Instructions: "be kind",
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Extensions:   map[string]json.RawMessage{"com.example/x": json.RawMessage(`{"a":1}`), "com.example/y": nil},
	})
	discover := func() map[string]any { return connect(t, s, modern).call("server/discover", `{}`) }
	extensions := map[string]any{"com.example/x": map[string]any{"a": 1.0}, "com.example/y": map[string]any{}}
	require.Equal(t, map[string]any{"logging": map[string]any{}, "extensions": extensions}, discover()["capabilities"])
	require.Equal(t, "be kind", discover()["instructions"])

	mcpserver.AddTool(s, &mcp.Tool{Name: "t"}, forecast)
	s.AddRawPrompt(&mcp.Prompt{Name: "p"}, noPrompt)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "a:{b}", Name: "r"}, noTemplate)
	s.AddPromptCompleter("p", "a", mcpserver.CompleteFrom())
	all := map[string]any{
		"logging": map[string]any{}, "extensions": extensions, "completions": map[string]any{},
		"tools": map[string]any{"listChanged": true}, "prompts": map[string]any{"listChanged": true},
		"resources": map[string]any{"listChanged": true, "subscribe": true},
	}
	require.Equal(t, all, discover()["capabilities"])
	s.RemoveTools("t")
	require.Equal(t, all, discover()["capabilities"], "what was declared stays")
	require.Empty(t, connect(t, s, modern).call("tools/list", `{}`)["tools"])

	c := dial(t, s, "2025-11-25")
	older := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)["capabilities"].(map[string]any)
	require.Equal(t, extensions, older["extensions"])
	require.NotContains(t, older, "experimental")
	require.Panics(t, func() {
		mcpserver.New(info, &mcpserver.Options{Extensions: map[string]json.RawMessage{"com.example/x": json.RawMessage(`1`)}})
	})
	require.Panics(t, func() { mcpserver.New(info, &mcpserver.Options{Extensions: map[string]json.RawMessage{"x": nil}}) })
	require.Panics(t, func() {
		mcpserver.New(info, &mcpserver.Options{Capabilities: mcp.ServerCapabilities{Extensions: map[string]map[string]json.RawMessage{"x": {}}}})
	})
}

func TestMiddlewareAndOutgoingSeeAllMessages(t *testing.T) {
	var seen, sent []string
	s := stocked(&mcpserver.Options{
		Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				seen = append(seen, in.Method)
				return next.Handle(ctx, in)
			})
		}},
		Outgoing: []func(peer.Outbound) peer.Outbound{func(out peer.Outbound) peer.Outbound {
			return spy{out, func(method string) { sent = append(sent, method) }}
		}},
	})
	c := connect(t, s, modern)
	c.refused("com.example/unknown", `{}`, mcp.CodeMethodNotFound)
	c.listen(`{"toolsListChanged":true}`)
	require.Equal(t, []string{"com.example/unknown", "subscriptions/listen"}, seen)
	require.Equal(t, []string{"notifications/subscriptions/acknowledged"}, sent)
}

// spy reports the notifications that are sent.
type spy struct {
	peer.Outbound
	report func(method string)
}

func (s spy) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	s.report(n.Method())
	return s.Outbound.Notify(ctx, n, opts...)
}

func TestInvalidQuestionOptionsPanic(t *testing.T) {
	for text, keys := range map[string][][]byte{"key 1 has 5 bytes, want at least 32": {make([]byte, 32), []byte("short")}, "no keys": {}} {
		require.PanicsWithValue(t, "mcpserver: questions: "+text, func() {
			mcpserver.New(info, &mcpserver.Options{Questions: mcpserver.QuestionOptions{SealKeys: keys}})
		})
	}
}

func TestHTTPStreamIsNotified(t *testing.T) {
	s := stocked(nil)
	server := httptest.NewServer(streamable.NewHandler(s, nil))
	defer server.Close()
	r := post(modern, "subscriptions/listen", "", `{"notifications":{"toolsListChanged":true}}`)
	r.RequestURI, r.Host = "", ""
	var err error
	r.URL, err = r.URL.Parse(server.URL)
	require.NoError(t, err)
	res, err := server.Client().Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines := bufio.NewReader(res.Body)
	next := func(word string) {
		for {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			if strings.Contains(line, word) {
				return
			}
		}
	}
	next("notifications/subscriptions/acknowledged")
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	next("notifications/tools/list_changed")
	require.NoError(t, s.Shutdown(t.Context()))
	next(`"resultType":"complete"`)
}

// ownDiscover is a request that the server handles itself.
type ownDiscover struct{ mcp.DiscoverRequest }

func TestHandshakeMethodsCannotBeHandled(t *testing.T) {
	s := mcpserver.New(info, nil)
	require.PanicsWithError(t, `mcpserver: method "initialize": the server handles this method itself`, func() {
		mcpserver.Handle(s, func(context.Context, *mcp.InitializeRequest) (*mcp.InitializeResult, error) { return nil, nil })
	})
	require.Panics(t, func() {
		mcpserver.Handle(s, func(context.Context, *ownDiscover) (*mcp.DiscoverResult, error) { return nil, nil })
	})
}

func TestHeaderMismatchIsRejectedBeforeTask(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{StartAfter: -1}})
	mcpserver.AddTool(s, &mcp.Tool{Name: "q", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}},
		func(context.Context, *mcp.ServerSession, struct {
			Region string `json:"region" header:"Region"`
		}) (string, error) {
			return "ok", nil
		})
	front := httptest.NewServer(streamable.NewHandler(s, nil))
	defer front.Close()
	defer s.Shutdown(context.Background())
	for region, want := range map[string]int{"eu": http.StatusOK, "us": http.StatusBadRequest} {
		r, err := http.NewRequest(http.MethodPost, front.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"q",
			"arguments":{"region":"eu"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
			"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`))
		require.NoError(t, err)
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "q", "Mcp-Param-Region": region,
		} {
			r.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		res.Body.Close()
		require.Equal(t, want, res.StatusCode, region)
	}
}

// The protocol requires the capabilities of a client. The error names the missing member.
func TestInitializeWithoutCapabilities(t *testing.T) {
	for _, r := range mcp.Revisions {
		if !r.Handshake {
			continue
		}
		c := dial(t, mcpserver.New(info, nil), r.Revision.String())
		m := c.refused("initialize", fmt.Sprintf(`{"protocolVersion":%q,"clientInfo":{"name":"c","version":"1"}}`, r.Revision), mcp.CodeInvalidParams)
		require.Contains(t, m.Error.Message+string(m.Error.Data), "capabilities")
	}
}
