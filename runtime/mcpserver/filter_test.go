package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ofUser sends a request of an authenticated user and returns the response.
func ofUser(h http.Handler, name string, r *http.Request) string {
	r.Header.Set("User", name)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

func TestFilterHidesItemsOfEveryKind(t *testing.T) {
	s := stocked(&mcpserver.Options{Filter: func(_ context.Context, s *mcp.ServerSession, item mcpserver.Item) bool {
		return s.Transport().Principal() == "ann" || !strings.HasSuffix(item.Name, "n1")
	}})
	s.AddPromptCompleter("n1", "a", mcpserver.CompleteFrom("x"))
	s.AddTemplateCompleter("y:{a}/n1", "a", mcpserver.CompleteFrom("x"))
	h := streamable.NewHandler(s, &streamable.Options{Principal: func(r *http.Request) string { return r.Header.Get("User") }})
	defer h.Close()
	for _, l := range lists {
		require.Contains(t, ofUser(h, "ann", post(modern, l.method, "", `{}`)), `"n1"`, l.method)
		require.NotContains(t, ofUser(h, "bob", post(modern, l.method, "", `{}`)), `"n1"`, l.method)
	}
	for name, r := range map[string]func() *http.Request{
		"a tool": func() *http.Request {
			return post(modern, "tools/call", "n1", `{"name":"n1","arguments":{"city":"Ulm"}}`)
		},
		"a prompt":   func() *http.Request { return post(modern, "prompts/get", "n1", `{"name":"n1"}`) },
		"a resource": func() *http.Request { return post(modern, "resources/read", "x:n1", `{"uri":"x:n1"}`) },
		"a template": func() *http.Request { return post(modern, "resources/read", "y:b/n1", `{"uri":"y:b/n1"}`) },
		"an argument of a prompt": func() *http.Request {
			return post(modern, "completion/complete", "", `{"ref":{"type":"ref/prompt","name":"n1"},"argument":{"name":"a","value":""}}`)
		},
		"an argument of a template": func() *http.Request {
			return post(modern, "completion/complete", "", `{"ref":{"type":"ref/resource","uri":"y:{a}/n1"},"argument":{"name":"a","value":""}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, ofUser(h, "ann", r()), `"result"`)
			require.Contains(t, ofUser(h, "bob", r()), fmt.Sprintf(`"code":%d`, mcp.CodeInvalidParams))
		})
	}
}

func TestHiddenResourceCannotBeSubscribed(t *testing.T) {
	s := stocked(&mcpserver.Options{Filter: func(_ context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool { return item.Name != "x:n1" }})
	connect(t, s, "2025-11-25").refused("resources/subscribe", `{"uri":"x:n1"}`, -32002)
	_, honoured := connect(t, s, modern).listen(`{"resourceSubscriptions":["x:n1","x:n2"]}`)
	require.JSONEq(t, `{"resourceSubscriptions":["x:n2"]}`, honoured)
}

// recorder records methods in order.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (p *recorder) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, what)
}

// recorded returns the methods so far.
func (p *recorder) recorded() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func (p *recorder) inbound(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		p.note("> " + in.Method)
		return next.Handle(ctx, in)
	})
}

func (p *recorder) outbound(out peer.Outbound) peer.Outbound { return passing{out, p} }

type passing struct {
	peer.Outbound
	through *recorder
}

func (p passing) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	p.through.note("< " + req.Method())
	return p.Outbound.Call(ctx, req, res, opts...)
}

func (p passing) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	p.through.note("< " + n.Method())
	return p.Outbound.Notify(ctx, n, opts...)
}

// busy is a tool that sends a message of each kind before it returns.
func busy(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
	if _, err := s.ElicitForm(ctx, textForm("Name?", "name")); err != nil {
		return "", err
	}
	if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
		return "", err
	}
	return "done", s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelError, Data: json.RawMessage(`1`)})
}

func TestMiddlewareSeesEveryMessageOfSession(t *testing.T) {
	p := new(recorder)
	s := passed(p)
	c := dial(t, s, "2025-11-25")
	c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.call("ping", `{}`)
	id := c.start("tools/call", `{"name":"busy","_meta":{"progressToken":"p"}}`)
	question := c.receive()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, question.ID))
	require.Equal(t, "notifications/progress", c.receive().Method)
	require.Equal(t, "notifications/message", c.receive().Method)
	require.Equal(t, fmt.Sprint(id), string(c.receive().ID))
	s.RemoveTools("busy")
	require.Equal(t, "notifications/tools/list_changed", c.receive().Method)
	// The handler of a notification may run late.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		assert.ElementsMatch(t, []string{
			"> initialize", "> notifications/initialized", "> ping", "> tools/call",
			"< elicitation/create", "< notifications/progress", "< notifications/message", "< notifications/tools/list_changed",
		}, p.recorded())
	}, 10*time.Second, time.Millisecond)
}

func TestMiddlewareSeesEveryMessageWithoutSession(t *testing.T) {
	p := new(recorder)
	s := passed(p)
	c := dial(t, s, modern)
	meta := `"_meta":{"progressToken":"p","io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	res := c.call("tools/call", `{"name":"busy",`+meta+`}`)
	require.Equal(t, "input_required", res["resultType"])
	for key := range res["inputRequests"].(map[string]any) {
		c.call("tools/call", fmt.Sprintf(`{"name":"busy","inputResponses":{%q:{"action":"accept","content":{"name":"Ada"}}},%s}`, key, meta))
	}
	c.listen(`{"toolsListChanged":true}`)
	s.RemoveTools("busy")
	require.Equal(t, "notifications/tools/list_changed", c.receive().Method)
	require.Equal(t, []string{
		"> tools/call", "< elicitation/create",
		"> tools/call", "< elicitation/create", "< notifications/progress", "< notifications/message",
		"> subscriptions/listen", "< notifications/subscriptions/acknowledged", "< notifications/tools/list_changed",
	}, p.recorded())
}

func passed(p *recorder) *mcpserver.Server {
	s := mcpserver.New(info, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Middleware:   []peer.Middleware{p.inbound},
		Outgoing:     []func(peer.Outbound) peer.Outbound{p.outbound},
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "busy"}, busy)
	return s
}

func TestHTTPSessionIsNotifiedOnItsStream(t *testing.T) {
	s := stocked(nil)
	server := httptest.NewServer(streamable.NewHandler(s, nil))
	defer server.Close()
	defer s.Shutdown(t.Context())
	session := ""
	do := func(method, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, bytes.NewReader([]byte(body)))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		res, err := server.Client().Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	session = do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Header.Get("Mcp-Session-Id")
	require.Equal(t, http.StatusAccepted, do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).StatusCode)
	require.Equal(t, http.StatusOK, do(http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"x:n1"}}`).StatusCode)
	events := bufio.NewScanner(do(http.MethodGet, "").Body)
	s.RemoveTools("n1")
	require.NoError(t, s.ResourceUpdated(t.Context(), "x:n1"))
	for _, want := range []string{"notifications/tools/list_changed", "notifications/resources/updated"} {
		for events.Scan() && !strings.Contains(events.Text(), want) {
		}
		require.Contains(t, events.Text(), want)
	}
}
