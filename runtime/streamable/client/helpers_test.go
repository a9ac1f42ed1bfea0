package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/pipes"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// raceEnabled is true if the race detector is enabled.
var raceEnabled bool

// fakeURL is the URL of the servers of these tests.
const fakeURL = "http://server.test/mcp"

// sentRequest is a request that a server has received.
type sentRequest struct {
	*http.Request
	body string
	rpc  struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
}

// String returns the HTTP method and the JSON-RPC method, or "answer" for a response.
func (r *sentRequest) String() string {
	switch {
	case r.Method != http.MethodPost:
		return r.Method
	case r.rpc.Method == "":
		return "POST answer"
	}
	return "POST " + r.rpc.Method
}

// fakeServer is an HTTP server with responses that a test defines.
type fakeServer struct {
	t              *testing.T
	client         *http.Client
	skipValidation bool // messages of the client are not validated
	net            *pipes.Network
	serve          func(w *rawResponse, r *sentRequest)

	mu  sync.Mutex
	got []*sentRequest
}

// newFakeServer starts a server. It ends with the test.
func newFakeServer(t *testing.T, serve func(w *rawResponse, r *sentRequest)) *fakeServer {
	t.Helper()
	s := &fakeServer{t: t, serve: serve, net: pipes.New()}
	transport := &http.Transport{DialContext: s.net.Dial}
	s.client = &http.Client{Transport: transport}
	h := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go h.Serve(s.net) // ends with the test
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		h.Close()
		synctest.Wait()
	})
	return s
}

// clientFails fails a test for invalid messages of its client. Many of these tests send
// invalid messages as the server, so those are not validated.
func clientFails(t *testing.T) func(*mcptest.Violation) {
	fail := mcptest.Fail(t)
	return func(v *mcptest.Violation) {
		if v.From == mcptest.FromClient {
			fail(v)
		}
	}
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in := &sentRequest{Request: r, body: string(body)}
	_ = json.Unmarshal(body, &in.rpc)
	s.mu.Lock()
	s.got = append(s.got, in)
	s.mu.Unlock()
	s.serve(&rawResponse{ResponseWriter: w, to: in}, in)
}

// requests returns the requests so far, after all goroutines are blocked.
func (s *fakeServer) requests() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, r := range s.got {
		list = append(list, r.String())
	}
	return list
}

// find returns the last request with a name, see sentRequest.String.
func (s *fakeServer) find(name string) *sentRequest {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.got) {
		if r.String() == name {
			return r
		}
	}
	require.Fail(s.t, "no such request", name)
	return nil
}

// rawResponse is a response of the server. Each write is flushed.
type rawResponse struct {
	http.ResponseWriter
	to *sentRequest
}

func (w *rawResponse) write(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.ResponseWriter.(http.Flusher).Flush()
}

func (w *rawResponse) status(code int, kind, body string) {
	if kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.WriteHeader(code)
	fmt.Fprint(w, body)
}

// json responds with JSON, which contains a result, an error or other members.
func (w *rawResponse) json(members string) {
	w.status(200, "application/json", w.answer(members))
}

func (w *rawResponse) answer(members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, w.to.rpc.ID, members)
}

// stream begins a stream of events.
func (w *rawResponse) stream() {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(200)
	w.write(": hello\n\n")
}

// event writes a message as an event.
func (w *rawResponse) event(message string) { w.write("data: %s\n\n", message) }

// cut closes the connection.
func (w *rawResponse) cut() { panic(http.ErrAbortHandler) }

const (
	weatherResult = `"result":{"content":[{"type":"text","text":"sunny"}],"resultType":"complete"}`
	sessionResult = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
)

// inSession serves the handshake, and passes other requests to other.
func inSession(other func(w *rawResponse, r *sentRequest)) func(w *rawResponse, r *sentRequest) {
	return func(w *rawResponse, r *sentRequest) {
		switch r.String() {
		case "POST initialize":
			w.Header().Set("Mcp-Session-Id", "session-1")
			w.json(sessionResult)
		case "POST notifications/initialized", "POST answer", "POST notifications/cancelled":
			w.WriteHeader(http.StatusAccepted)
		case "DELETE":
			w.WriteHeader(http.StatusOK)
		case "GET":
			if r.Header.Get("Last-Event-ID") != "" {
				other(w, r)
				return
			}
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			other(w, r)
		}
	}
}

// sessionFrame and statelessFrame are frames of a handshake and a stateless revision.
func sessionFrame(string) *wire.Frame { return &wire.Frame{Revision: mcp.Revision20251125} }

func statelessFrame(string) *wire.Frame {
	return &wire.Frame{Revision: mcp.Revision20260728, Meta: []wire.Entry{
		{Name: "io.modelcontextprotocol/protocolVersion", Value: json.RawMessage(`"2026-07-28"`)},
		{Name: "io.modelcontextprotocol/clientCapabilities", Value: json.RawMessage(`{}`)},
	}}
}

// connect returns a client of the server, which uses a stateless revision by default.
func (s *fakeServer) connect(opts client.Options) *client.Client {
	if opts.JSONRPC.Frame == nil {
		opts.JSONRPC.Frame = statelessFrame
	}
	if opts.JSONRPC.Logger == nil {
		opts.JSONRPC.Logger = slog.New(slog.DiscardHandler)
	}
	validated := *s.client
	if !s.skipValidation {
		validated.Transport = mcptest.TapTransport(clientFails(s.t), validated.Transport)
	}
	opts.HTTPClient = &validated
	c := client.New(fakeURL, &opts)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	return c
}

// handshake returns a client that has begun a session.
func (s *fakeServer) handshake(opts client.Options) *client.Client {
	opts.JSONRPC.Frame = sessionFrame
	c := s.connect(opts)
	beginSession(s.t, c)
	return c
}

func beginSession(t *testing.T, c *client.Client) {
	t.Helper()
	_, err := peer.SendRequest(t.Context(), c, &mcp.InitializeRequest{
		ProtocolVersion: "2025-11-25",
		ClientInfo:      mcp.Implementation{Name: "c", Version: "1"},
	})
	require.NoError(t, err)
	c.SetRevision(mcp.Revision20251125)
	require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
}

// callWeather calls a tool and returns the text of its result.
func callWeather(ctx context.Context, c peer.Outbound, opts ...peer.CallOption) (string, error) {
	res, err := peer.SendRequest(ctx, c, &mcp.CallToolRequest{Name: "weather"}, opts...)
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

// inBubble runs f in a bubble of package testing/synctest. It fails the test if
// goroutines are left.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// runningCall is a call in its own goroutine.
type runningCall struct {
	done chan struct{}
	text string
	err  error
}

// startWeather calls a tool in another goroutine.
func startWeather(ctx context.Context, c peer.Outbound, opts ...peer.CallOption) *runningCall {
	k := &runningCall{done: make(chan struct{})}
	go func() { // ends with the call
		defer close(k.done)
		k.text, k.err = callWeather(ctx, c, opts...)
	}()
	synctest.Wait()
	return k
}

// over reports whether the call has returned.
func (k *runningCall) over() bool {
	synctest.Wait()
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// handled is a handler that records messages, and responds to requests with result if
// that is set.
type handled struct {
	mu     sync.Mutex
	list   []string
	ctx    []context.Context
	result wire.Value
}

func (h *handled) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, in.Method+" "+string(in.Params))
	h.ctx = append(h.ctx, ctx)
	if in.Transport.Kind() != "streamable-http" || in.Transport.Header() == nil {
		h.list = append(h.list, "the transport context has no header")
	}
	if h.result == nil {
		return peer.Reply{}, &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found"}
	}
	return peer.Reply{Result: h.result}, nil
}

func (h *handled) take() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.list
	h.list = nil
	return list
}

// errorList records errors.
type errorList struct {
	mu   sync.Mutex
	list []error
}

func (e *errorList) add(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, err)
}

func (e *errorList) take() []error {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}
