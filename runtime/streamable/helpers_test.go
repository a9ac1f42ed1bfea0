package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/pipes"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// serverTimeout limits the wait for things that usually happen at once.
const serverTimeout = 20 * time.Second

// tool is the function of a tool of a test server.
type tool func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error)

// newDispatcher returns the dispatcher of a server with tools, and a tool "echo".
func newDispatcher(tools map[string]tool) *connection.Dispatcher {
	return connection.NewDispatcher(dispatcherOptions(tools))
}

func dispatcherOptions(tools map[string]tool) *connection.DispatcherOptions {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if f, ok := tools[req.Name]; ok {
			return f(ctx, mcp.SessionFromContext(ctx))
		}
		if req.Name != "echo" {
			return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "Unknown tool"}
		}
		return mcp.TextResult(string(req.Arguments)), nil
	})
	mcp.HandleListTools(&mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
	})
	mcp.HandleSubscriptionsListen(&mux, func(ctx context.Context, req *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
		s := mcp.SessionFromContext(ctx)
		if err := s.SendSubscriptionsAcknowledged(ctx, &mcp.SubscriptionsAcknowledgedNotification{Notifications: req.Notifications}); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return &mcp.SubscriptionsListenResult{Meta: &mcp.SubscriptionsListenResultMeta{SubscriptionID: wire.StringID("s")}}, nil
	})
	return &connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "test", Version: "1"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{ListChanged: true}, Logging: map[string]json.RawMessage{}},
	}
}

// endpoint is a server under test.
type endpoint struct {
	t       *testing.T
	url     string
	handler *streamable.Handler
	client  *http.Client
	still   bool // the server runs in a bubble of package testing/synctest
}

// serve starts a server on a loopback address. It ends with the test.
func serve(t *testing.T, tools map[string]tool, opts *streamable.Options) *endpoint {
	t.Helper()
	return serveDispatcher(t, newDispatcher(tools), opts)
}

func serveDispatcher(t *testing.T, k *connection.Dispatcher, opts *streamable.Options) *endpoint {
	t.Helper()
	if opts == nil {
		opts = new(streamable.Options)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	h := streamable.NewHandler(k, opts)
	server := httptest.NewServer(validated(t, h))
	e := &endpoint{t: t, url: server.URL, handler: h, client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		h.Close()
		e.client.CloseIdleConnections()
		server.Close()
	})
	return e
}

// validated validates the messages of the server. Many of these tests send invalid
// messages as a client, so those are not validated.
func validated(t *testing.T, h http.Handler) http.Handler {
	fail := mcptest.Fail(t)
	return mcptest.TapHandler(func(v *mcptest.Violation) {
		if v.From == mcptest.FromServer {
			fail(v)
		}
	}, h)
}

// headers are lines that replace headers of a complete request. A line with only a name
// removes a header.
type headers []string

// request returns a request.
func (e *endpoint) request(ctx context.Context, method, body string, change headers) *http.Request {
	e.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, e.url, strings.NewReader(body))
	require.NoError(e.t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	set := make(map[string]bool)
	for _, line := range change {
		name, value, found := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); {
		case strings.EqualFold(name, "Host"):
			r.Host = value
		case !found:
			r.Header.Del(name)
		case set[name]:
			r.Header.Add(name, value)
		default:
			r.Header.Set(name, value)
		}
		set[name] = true
	}
	return r
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request and reads the whole response.
func (e *endpoint) send(method, body string, change ...string) answer {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), serverTimeout)
	defer cancel()
	res, err := e.client.Do(e.request(ctx, method, body, change))
	require.NoError(e.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(e.t, err)
	return answer{res.StatusCode, res.Header, string(data)}
}

func (e *endpoint) post(body string, change ...string) answer {
	e.t.Helper()
	return e.send(http.MethodPost, body, change...)
}

// code returns the code of the error response, or 0.
func (a answer) code() int {
	var m struct{ Error struct{ Code int } }
	if json.Unmarshal([]byte(a.body), &m) != nil {
		return 0
	}
	return m.Error.Code
}

// events returns the data of the events of a stream.
func (a answer) events() []string {
	var data []string
	for line := range strings.Lines(a.body) {
		if d, ok := strings.CutPrefix(line, "data: "); ok {
			data = append(data, strings.TrimSpace(d))
		}
	}
	return data
}

const (
	meta26   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`
	version  = "Mcp-Protocol-Version: "
	sessions = "Mcp-Session-Id: "
)

// call26 returns a tool call of revision 2026-07-28.
func call26(tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"a":1},%s}}}`, tool, meta26)
}

// headers26 returns the headers of call26.
func headers26(tool string) headers {
	return headers{version + "2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + tool}
}

func (e *endpoint) call26(tool string, change ...string) answer {
	e.t.Helper()
	return e.post(call26(tool), append(headers26(tool), change...)...)
}

// initialize returns the first request of a session.
func initialize(revision string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision +
		`","clientInfo":{"name":"c","version":"1"},"capabilities":{"elicitation":{},"roots":{}}}}`
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// client is a client with a session.
type client struct {
	*endpoint
	id       string
	revision string
}

// open begins a session.
func (e *endpoint) open(revision string) *client {
	e.t.Helper()
	a := e.post(initialize(revision))
	require.Equal(e.t, http.StatusOK, a.status, a.body)
	require.Contains(e.t, a.body, `"protocolVersion":"`+revision+`"`)
	c := &client{e, a.header.Get("Mcp-Session-Id"), revision}
	require.Equal(e.t, http.StatusAccepted, c.post(initialized).status)
	return c
}

// headers returns the headers of each request of the session.
func (c *client) headers() headers {
	h := headers{sessions + c.id}
	if c.revision >= "2025-06-18" {
		h = append(h, version+c.revision)
	}
	return h
}

func (c *client) post(body string, change ...string) answer {
	c.t.Helper()
	return c.endpoint.post(body, append(c.headers(), change...)...)
}

func (c *client) call(tool string, change ...string) answer {
	c.t.Helper()
	return c.post(callTool(1, tool), change...)
}

func callTool(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"a":1},"_meta":{"progressToken":"p"}}}`, id, tool)
}

// lines reads a stream line by line.
type lines struct {
	t    *testing.T
	res  *http.Response
	read *bufio.Reader
	stop context.CancelFunc
}

// stream sends a request and returns its response as a stream.
func (e *endpoint) stream(method, body string, change ...string) *lines {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	wait := time.NewTimer(0)
	if !e.still {
		wait = time.AfterFunc(serverTimeout, cancel)
	}
	res, err := e.client.Do(e.request(ctx, method, body, change))
	require.NoError(e.t, err)
	l := &lines{e.t, res, bufio.NewReader(res.Body), func() {
		wait.Stop()
		cancel()
		res.Body.Close()
	}}
	e.t.Cleanup(l.stop)
	return l
}

// event reads the next event and returns its lines without the blank line.
func (l *lines) event() string {
	l.t.Helper()
	var all []string
	for {
		line, err := l.read.ReadString('\n')
		require.NoError(l.t, err, "after %q", all)
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			return strings.Join(all, "\n")
		}
		all = append(all, line)
	}
}

// data returns the data and the id of the next event that has data.
func (l *lines) data() (data, id string) {
	l.t.Helper()
	for data == "" {
		for line := range strings.SplitSeq(l.event(), "\n") {
			if s, ok := strings.CutPrefix(line, "data: "); ok {
				data = s
			} else if s, ok := strings.CutPrefix(line, "id: "); ok {
				id = s
			}
		}
	}
	return data, id
}

// end requires that the stream ends without another event.
func (l *lines) end() {
	l.t.Helper()
	rest, err := io.ReadAll(l.read)
	require.NoError(l.t, err)
	require.Empty(l.t, string(rest))
}

// within waits for a channel.
func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(serverTimeout):
		require.FailNow(t, "timeout while waiting for", what)
		panic("unreachable")
	}
}

// logs returns a tool that sends n log messages and then returns.
func logs(n int) tool {
	return func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		for i := range n {
			err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(fmt.Sprint(i))})
			if err != nil {
				return nil, err
			}
		}
		return mcp.TextResult("logged"), nil
	}
}

// reports returns a tool that reports progress and then returns.
func reports(steps ...float64) tool {
	return func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		for _, done := range steps {
			if err := s.ReportProgress(ctx, peer.Progress{Progress: done}); err != nil {
				return nil, err
			}
		}
		return mcp.TextResult("reported"), nil
	}
}

// fails returns a tool that fails with an error.
func fails(err error) tool {
	return func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) { return nil, err }
}

// gate is a tool that signals its call and returns when answer is closed.
type gate struct {
	called chan context.Context
	answer chan struct{}
	ended  chan error // receives the cause if the context ends first
}

func newGate() *gate {
	return &gate{make(chan context.Context, 1), make(chan struct{}), make(chan error, 1)}
}

func (g *gate) call(ctx context.Context, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
	g.called <- ctx
	select {
	case <-g.answer:
		return mcp.TextResult("opened"), nil
	case <-ctx.Done():
		g.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

var errSecret = errors.New("secret: the password is xyzzy")

type ctx = context.Context

// wrapped serves another handler and returns its URL.
func wrapped(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// serveInBubble runs a test with a server in memory, in a bubble of package
// testing/synctest.
func serveInBubble(t *testing.T, tools map[string]tool, opts *streamable.Options, test func(t *testing.T, e *endpoint)) {
	t.Helper()
	serveDispatcherInBubble(t, dispatcherOptions(tools), opts, test)
}

func serveDispatcherInBubble(t *testing.T, o *connection.DispatcherOptions, opts *streamable.Options, test func(t *testing.T, e *endpoint)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if opts == nil {
			opts = new(streamable.Options)
		}
		opts.Logger = slog.New(slog.DiscardHandler)
		h := streamable.NewHandler(connection.NewDispatcher(o), opts)
		e, stop := inMemory(t, validated(t, h), h.Close)
		defer stop()
		e.handler = h
		test(t, e)
	})
}

// atHandshake calls f before the handshake is handled.
func atHandshake(f func(context.Context) error) peer.Middleware {
	return func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodInitialize {
				if err := f(ctx); err != nil {
					return peer.Reply{}, err
				}
			}
			return next.Handle(ctx, in)
		})
	}
}

// inMemory serves a handler in memory.
func inMemory(t *testing.T, h http.Handler, end func() error) (e *endpoint, stop func()) {
	m := pipes.New()
	server := streamable.NewHTTPServer("", h)
	go server.Serve(m) // ends with the server
	e = &endpoint{t: t, url: "http://memory/old/sse", client: &http.Client{Transport: &http.Transport{DialContext: m.Dial}}, still: true}
	return e, func() {
		end()
		e.client.CloseIdleConnections()
		server.Close()
		synctest.Wait()
	}
}

func mcpID(n int64) wire.RequestID { return wire.IntID(n) }

// ask sends a request for roots to a client, outside of other requests.
func ask(ctx context.Context, conn *connection.Connection) error {
	_, err := peer.SendRequest(ctx, conn, &mcp.ListRootsRequest{})
	return err
}
