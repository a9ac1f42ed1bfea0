package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// weatherRequest is a custom request.
type weatherRequest struct{ Place string }

type weather struct{ Sky string }

var (
	weatherRequestMembers = wire.NewMembers("weather", wire.Member{Name: "place", In: wire.Always, Required: wire.Always})
	weatherMembers        = wire.NewMembers("weather", wire.Member{Name: "sky", In: wire.Always, Required: wire.Always})
)

func (*weatherRequest) Method() string { return "acme/weather" }

func (*weatherRequest) NewResult() *weather { return new(weather) }

func (r *weatherRequest) AppendParams(b []byte, _ *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"place":`...)
	b = wire.AppendString(b, r.Place)
	return wire.CloseObject(b, start)
}

func (r *weatherRequest) DecodeParams(d *wire.Decoder) {
	for o := d.Object(weatherRequestMembers); o.Next(); {
		if o.Name == "place" {
			r.Place = d.String()
		} else {
			d.Skip()
		}
	}
}

func (w *weather) AppendJSON(b []byte, _ *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"sky":`...)
	b = wire.AppendString(b, w.Sky)
	return wire.CloseObject(b, start)
}

func (w *weather) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(weatherMembers); o.Next(); {
		if o.Name == "sky" {
			w.Sky = d.String()
		} else {
			d.Skip()
		}
	}
}

// weatherChanged is a custom notification.
type weatherChanged struct{}

func (*weatherChanged) Method() string { return "notifications/acme/weather" }

func (*weatherChanged) IsNotification() {}

func (*weatherChanged) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }

func (*weatherChanged) DecodeParams(d *wire.Decoder) { d.Skip() }

func forecast(_ context.Context, _ *weatherRequest) (*weather, error) { return &weather{"grey"}, nil }

const handshakeParams = `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`

// channel is a peer.BackChannel that records the messages.
type channel struct {
	frame   func(method string) *wire.Frame
	answer  string // the result of each request
	refusal error  // instead of a result
	broken  error  // the error of Notify

	mu       sync.Mutex
	lines    []string
	options  []peer.CallOptions
	progress []peer.Progress
}

func (c *channel) frameOf(method string) *wire.Frame {
	if c.frame == nil {
		return nil
	}
	return c.frame(method)
}

func (c *channel) Call(_ context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	line, err := wire.AppendRequest(nil, c.frameOf(req.Method()), wire.IntID(1), req.Method(), req)
	if err != nil {
		return err
	}
	c.write(string(line), o)
	if c.refusal != nil {
		return c.refusal
	}
	answer := c.answer
	if answer == "" {
		answer = "{}"
	}
	return wire.Decode([]byte(answer), c.frameOf(req.Method()), res)
}

func (c *channel) Notify(_ context.Context, n peer.Notification, opts ...peer.CallOption) error {
	if c.broken != nil {
		return c.broken
	}
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	line, err := wire.AppendNotification(nil, c.frameOf(n.Method()), n.Method(), n)
	if err != nil {
		return err
	}
	c.write(string(line), o)
	return nil
}

func (c *channel) Progress(_ context.Context, p peer.Progress) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = append(c.progress, p)
	return nil
}

func (c *channel) write(line string, o peer.CallOptions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
	c.options = append(c.options, o)
}

// take returns and removes the recorded messages.
func (c *channel) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

// testLog is a slog.Handler that records the messages.
type testLog struct {
	mu      sync.Mutex
	entries []string
}

func (j *testLog) Enabled(context.Context, slog.Level) bool { return true }

func (j *testLog) WithAttrs([]slog.Attr) slog.Handler { return j }

func (j *testLog) WithGroup(string) slog.Handler { return j }

func (j *testLog) Handle(_ context.Context, r slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, r.Level.String()+" "+r.Message)
	return nil
}

func (j *testLog) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries)
}

var (
	testTransport = peer.NewTransportContext("pipe", true, nil, "")
	someInfo      = &mcp.Implementation{Name: "client", Version: "1"}
)

// revisionOf returns the revision with a name, or the zero Revision.
func revisionOf(name string) wire.Revision {
	r, _ := mcp.ParseRevision(name)
	return r
}

// request returns a request on a channel.
func request(method, params string, back peer.BackChannel) *peer.Inbound {
	in := &peer.Inbound{Method: method, ID: wire.IntID(7), Transport: testTransport, Back: back}
	if params != "" {
		in.Params = json.RawMessage(params)
	}
	return in
}

func notification(method, params string, back peer.BackChannel) *peer.Inbound {
	in := request(method, params, back)
	in.ID = wire.RequestID{}
	return in
}

// allCapabilities returns all capabilities of a client.
func allCapabilities() *mcp.ClientCapabilities {
	some := map[string]json.RawMessage{}
	return &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: some, URL: some},
		Roots:       &mcp.RootsCapability{ListChanged: true},
		Sampling:    &mcp.SamplingCapability{Tools: some, Context: some},
		Tasks: &mcp.ClientTasksCapability{
			Cancel: some, List: some,
			Requests: &mcp.ClientTaskRequests{
				Elicitation: &mcp.ElicitationTaskRequests{Create: some},
				Sampling:    &mcp.SamplingTaskRequests{CreateMessage: some},
			},
		},
	}
}

// connect returns a connection in a handshake revision. If caps is not nil, the client has declared
// caps and confirmed the handshake.
func connect(t *testing.T, version string, caps *mcp.ClientCapabilities) (*connection.Connection, *channel) {
	t.Helper()
	out := new(channel)
	conn := connection.New(out, &connection.Options{DefaultRevision: revisionOf(version)})
	out.frame = conn.Frame
	require.Equal(t, version, conn.Revision().String())
	if caps != nil {
		conn.State().SetClient(someInfo, caps)
		conn.State().SetInitialized()
	}
	return conn, out
}

// requireRefused requires an error of type E and that nothing was written.
func requireRefused[E error](t *testing.T, out *channel, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	require.True(t, ok, "have %T: %v", err, err)
	require.Empty(t, out.take())
	return e
}

var discardLog = slog.New(slog.NewTextHandler(io.Discard, nil))

// sharedResources is a result that a handler returns several times.
var sharedResources = &mcp.ListResourcesResult{
	Resources: []mcp.Resource{{URI: "a:b", Name: "n", Title: "T"}},
	Meta:      &mcp.ResultMeta{Extra: map[string]json.RawMessage{"k": json.RawMessage("1")}},
}

// tool is the handler of tools/call in the tests.
func tool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := mcp.SessionFromContext(ctx)
	note := &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`"working"`)}
	switch req.Name {
	case "log":
		return mcp.TextResult("logged"), errors.Join(s.SendLogMessage(ctx, note), s.With(peer.Standalone()).SendLogMessage(ctx, note))
	case "announce":
		return mcp.TextResult("announced"), errors.Join(s.SendToolListChanged(ctx), s.Notify(ctx, new(weatherChanged)))
	case "ask":
		answer, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Who?"})
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(string(answer.Action)), nil
	case "address":
		_, err := s.ElicitURL(ctx, &mcp.ElicitRequestURLParams{Message: "?", URL: "https://a.b", ElicitationID: "e"})
		return nil, err
	case "missing":
		return nil, &peer.Error{Code: -32002, Message: "Resource not found", Data: json.RawMessage(`{"uri":"a:b"}`)}
	case "elsewhere":
		return nil, &mcp.URLElicitationRequiredError{}
	case "input":
		return nil, fmt.Errorf("wrapped: %w", &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("s")}})
	case "nothing":
		return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{}}
	case "boom":
		return nil, errors.New("secret")
	case "claimed":
		return &mcp.CallToolResult{ResultType: "task", Extra: map[string]json.RawMessage{"taskId": json.RawMessage(`"t"`)}}, nil
	case "own":
		res := mcp.TextResult("signed")
		res.Meta = &mcp.ResultMeta{ServerInfo: &mcp.Implementation{Name: "other", Version: "2"}}
		return res, nil
	}
	return mcp.TextResult("called " + req.Name), nil
}

func newDispatcher(change func(*connection.DispatcherOptions)) *connection.Dispatcher {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, tool)
	mcp.HandleListResources(&mux, func(context.Context, *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
		return sharedResources, nil
	})
	mcp.HandleSubscribe(&mux, func(_ context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		if strings.HasPrefix(req.URI, "no:") {
			return nil, errors.New("no")
		}
		return &mcp.EmptyResult{}, nil
	})
	mcp.HandleUnsubscribe(&mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})
	peer.Handle(&mux, forecast)
	opts := &connection.DispatcherOptions{
		Mux:  &mux,
		Info: mcp.Implementation{Name: "server", Version: "1", Title: "Server"},
		Capabilities: mcp.ServerCapabilities{
			Logging:   map[string]json.RawMessage{},
			Tools:     &mcp.ToolsCapability{ListChanged: true},
			Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		},
		Instructions:     "Be kind.",
		MaxSubscriptions: 2,
		Logger:           discardLog,
	}
	if change != nil {
		change(opts)
	}
	return connection.NewDispatcher(opts)
}

const (
	version = `"io.modelcontextprotocol/protocolVersion"`
	caps    = `"io.modelcontextprotocol/clientCapabilities"`
	info    = `"io.modelcontextprotocol/clientInfo"`
	// minimalParams is params with the smallest valid metadata.
	minimalParams = `{"_meta":{` + version + `:"2026-07-28",` + caps + `:{}}}`
)

var served = []wire.Revision{mcp.Revision20251125, mcp.Revision20260728}

// header returns a header with the names and values of pairs.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestMain(m *testing.M) { leaks.Main(m) }

// newSession returns the session of a tool call, with the channel of the connection and of the call.
func newSession(t *testing.T, version string, caps *mcp.ClientCapabilities) (s *mcp.ServerSession, standalone, related *channel) {
	t.Helper()
	related = new(channel)
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.StringToken("tok")
	conn, standalone := connect(t, version, caps)
	related.frame = conn.Frame
	return conn.ServerSession(in), standalone, related
}

func only(path string) *mcp.ClientCapabilities {
	switch path {
	case "sampling":
		return &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}
	case "roots":
		return &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}
	case "elicitation":
		return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	case "elicitation.url":
		return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: map[string]json.RawMessage{}}}
	}
	panic(path)
}
