package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

type weather struct {
	City string `json:"city"`
	Temp int    `json:"temp"`
}

// weatherServer returns a server with one tool, which returns the given result. It counts requests of
// the list.
func weatherServer(output string, lists *int) *server {
	s := newServer()
	mcp.HandleListTools(&s.mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		*lists++
		tool := mcp.Tool{Name: "weather"}
		if output != "" {
			tool.OutputSchema = json.RawMessage(output)
		}
		return &mcp.ListToolsResult{Tools: []mcp.Tool{tool}}, nil
	})
	mcp.HandleCallTool(&s.mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res := new(mcp.CallToolResult)
		return res, res.UnmarshalJSON(req.Arguments)
	})
	return s
}

const weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"temp":{"type":"integer"}},"required":["city"]}`

func TestCallToolReturnsValue(t *testing.T) {
	leaks.Check(t)
	for name, c := range map[string]struct{ schema, result string }{
		"structured":             {weatherSchema, `{"content":[],"structuredContent":{"city":"Bern","temp":3}}`},
		"structured, no schema":  {``, `{"content":[],"structuredContent":{"city":"Bern","temp":3}}`},
		"text, no schema":        {``, `{"content":[{"type":"text","text":"{\"city\":\"Bern\",\"temp\":3}"}]}`},
		"a schema of any object": {`{}`, `{"content":[],"structuredContent":{"city":"Bern","temp":3,"more":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			lists := 0
			client := connect(t, weatherServer(c.schema, &lists).overPipe(t), nil)
			for range 2 {
				out, err := mcpclient.CallTool[weather](t.Context(), client, "weather", json.RawMessage(c.result))
				require.NoError(t, err)
				require.Equal(t, weather{"Bern", 3}, out)
			}
			require.Equal(t, 1, lists, "the list is requested once")
		})
	}
}

func TestInvalidToolOutput(t *testing.T) {
	leaks.Check(t)
	for name, c := range map[string]struct{ schema, result, want string }{
		"it violates the schema":   {weatherSchema, `{"content":[],"structuredContent":{"temp":3}}`, "city"},
		"it is of another type":    {weatherSchema, `{"content":[],"structuredContent":{"city":"x","temp":1.5}}`, "/temp"},
		"it is missing":            {weatherSchema, `{"content":[{"type":"text","text":"{}"}]}`, "no structured content"},
		"it does not fit the type": {``, `{"content":[],"structuredContent":{"temp":"warm"}}`, "temp"},
		"it is empty":              {``, `{"content":[]}`, "no structured content and no text"},
		"it is not JSON":           {``, `{"content":[{"type":"text","text":"warm"}]}`, "invalid character"},
		"the schema is invalid":    {`{"type":7}`, `{"content":[],"structuredContent":{}}`, "schema"},
		"the schema is remote":     {`{"$ref":"file:///etc/passwd"}`, `{"content":[],"structuredContent":{}}`, "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			lists := 0
			client := connect(t, weatherServer(c.schema, &lists).overPipe(t), nil)
			_, err := mcpclient.CallTool[weather](t.Context(), client, "weather", json.RawMessage(c.result))
			var bad *mcpclient.OutputError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "weather", bad.Tool)
			require.NotNil(t, bad.Result)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestToolError(t *testing.T) {
	leaks.Check(t)
	lists := 0
	c := connect(t, mcpclient.InProcess(weatherServer(weatherSchema, &lists)), nil)
	_, err := mcpclient.CallTool[weather](t.Context(), c, "weather",
		json.RawMessage(`{"content":[{"type":"text","text":"no such city"},{"type":"text","text":"try Bern"}],"isError":true}`))
	var failed *mcpclient.ToolError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "no such city\ntry Bern", failed.Text())
	require.ErrorContains(t, err, `tool "weather" failed: no such city`)
}

func TestCallToolReturnsTextOrResult(t *testing.T) {
	leaks.Check(t)
	lists := 0
	c := connect(t, mcpclient.InProcess(weatherServer(weatherSchema, &lists)), nil)
	arguments := json.RawMessage(`{"content":[{"type":"text","text":"mild"},{"type":"image","data":"AA==","mimeType":"image/png"}]}`)
	text, err := mcpclient.CallTool[string](t.Context(), c, "weather", arguments)
	require.NoError(t, err)
	require.Equal(t, "mild", text)
	type sky string
	named, err := mcpclient.CallTool[sky](t.Context(), c, "weather", arguments)
	require.NoError(t, err)
	require.Equal(t, sky(text), named)
	both := json.RawMessage(`{"content":[{"type":"text","text":"about 3"}],"structuredContent":3}`)
	n, err := mcpclient.CallTool[json.Number](t.Context(), c, "weather", both)
	require.NoError(t, err)
	require.Equal(t, json.Number("3"), n)
	structured := json.RawMessage(`{"content":[{"type":"text","text":"\"mild\""}],"structuredContent":"mild"}`)
	named, err = mcpclient.CallTool[sky](t.Context(), c, "weather", structured)
	require.NoError(t, err)
	require.Equal(t, sky("mild"), named)
	all, err := mcpclient.CallTool[*mcp.CallToolResult](t.Context(), c, "weather", arguments)
	require.NoError(t, err)
	require.Len(t, all.Content, 2)
	require.Zero(t, lists, "the list is not requested")
}

func TestCallToolWithoutOutput(t *testing.T) {
	leaks.Check(t)
	lists := 0
	c := connect(t, mcpclient.InProcess(weatherServer(weatherSchema, &lists)), nil)
	for _, result := range []string{`{"content":[]}`, `{"content":[{"type":"text","text":"mild"}]}`, `{"content":[],"structuredContent":3}`} {
		_, err := mcpclient.CallTool[struct{}](t.Context(), c, "weather", json.RawMessage(result))
		require.NoError(t, err)
	}
	_, err := mcpclient.CallTool[struct{}](t.Context(), c, "weather", json.RawMessage(`{"content":[],"isError":true}`))
	require.ErrorAs(t, err, new(*mcpclient.ToolError))
	require.Zero(t, lists, "the list is not requested")
}

func TestArgumentsThatCannotBeEncoded(t *testing.T) {
	leaks.Check(t)
	lists := 0
	c := connect(t, weatherServer(``, &lists).overPipe(t), nil)
	for _, arguments := range []any{func() {}, 7, []string{"a"}} {
		_, err := mcpclient.CallTool[string](t.Context(), c, "weather", arguments)
		require.Error(t, err)
	}
}

func TestCallOptions(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	mcp.HandleCallTool(&s.mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session := mcp.SessionFromContext(ctx)
		if err := session.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return nil, err
		}
		log := &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelWarning, Data: json.RawMessage(`"hot"`)}
		return mcp.TextResult("done"), session.SendLogMessage(ctx, log)
	})
	for _, r := range mcp.Revisions {
		for way, to := range s.ways(t) {
			t.Run(r.Revision.String()+" "+way, func(t *testing.T) {
				logs := make(chan string, 1)
				c := connect(t, to, &mcpclient.Options{Revision: r.Revision, OnLog: func(_ context.Context, n *mcp.LoggingMessageNotification) error {
					logs <- string(n.Data)
					return nil
				}})
				var reports []float64
				_, err := mcpclient.CallTool[string](t.Context(), c, "weather", nil,
					peer.OnProgress(func(p peer.Progress) { reports = append(reports, p.Progress) }))
				require.NoError(t, err)
				require.Equal(t, []float64{1}, reports)
				require.Equal(t, `"hot"`, <-logs)
			})
		}
	}
}

func TestLogLevel(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	mcp.HandleCallTool(&s.mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, level := range []mcp.LoggingLevel{mcp.LoggingLevelDebug, mcp.LoggingLevelError, mcp.LoggingLevelInfo} {
			n := &mcp.LoggingMessageNotification{Level: level, Data: json.RawMessage(`1`)}
			if err := mcp.SessionFromContext(ctx).SendLogMessage(ctx, n); err != nil {
				return nil, err
			}
		}
		return mcp.TextResult("done"), nil
	})
	for _, r := range mcp.Revisions {
		heard := make(chan mcp.LoggingLevel, 3)
		c := connect(t, s.overPipe(t), &mcpclient.Options{
			Revision: r.Revision, LogLevel: mcp.LoggingLevelWarning,
			OnLog: func(_ context.Context, n *mcp.LoggingMessageNotification) error {
				heard <- n.Level
				return nil
			},
		})
		_, err := mcpclient.CallTool[string](t.Context(), c, "t", nil)
		require.NoError(t, err)
		require.Equal(t, mcp.LoggingLevelError, <-heard)
		require.Empty(t, heard)
	}
}

func TestCustomRequest(t *testing.T) {
	leaks.Check(t)
	s := greeter()
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Strict: true})
	raw, err := c.Connection().SendRawRequest(t.Context(), "tools/call", json.RawMessage(`{"name":"greet","arguments":{"name":"raw"}}`))
	require.NoError(t, err)
	require.Contains(t, string(raw), "hello raw")
	_, err = c.Complete(t.Context(), &mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: "p"}})
	require.ErrorContains(t, err, "completions", "a strict client does not use undeclared capabilities")
}

// spy records sent messages.
type spy struct {
	peer.Outbound
	sent *[]string
}

func (s spy) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	*s.sent = append(*s.sent, req.Method())
	return s.Outbound.Call(ctx, req, res, opts...)
}

func (s spy) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	*s.sent = append(*s.sent, n.Method())
	return s.Outbound.Notify(ctx, n, opts...)
}

func TestOutgoing(t *testing.T) {
	leaks.Check(t)
	var sent []string
	opts := &mcpclient.Options{
		OnElicit: accept("x", "y"),
		Outgoing: []func(peer.Outbound) peer.Outbound{func(next peer.Outbound) peer.Outbound { return spy{next, &sent} }},
	}
	s := newCacheServer(60_000, mcp.CacheScopePublic)
	mcp.HandleCallTool(&s.mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.InputResponses == nil {
			return nil, ask(mcp.InputRequests{"q": form("x")}, nil)
		}
		return mcp.TextResult("thanks"), nil
	})
	c := connect(t, mcpclient.InProcess(s), opts)
	_, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
	require.NoError(t, err)
	read(t, c.ServerPeer, "a:1")
	read(t, c.ServerPeer, "a:1")
	require.Equal(t, []string{"server/discover", "tools/call", "tools/call", "resources/read"}, sent)

	sent = nil
	opts.Mode = mcpclient.Handshake
	connect(t, mcpclient.InProcess(greeter()), opts)
	require.Equal(t, []string{"initialize", "notifications/initialized"}, sent)
}

func TestListsAreIteratedByPage(t *testing.T) {
	leaks.Check(t)
	s := newCacheServer(0, "")
	c := connect(t, mcpclient.InProcess(s), nil)
	require.Equal(t, []string{"tool1", "last"}, names(t, c))
	for range c.Prompts(t.Context()) {
		t.Error("unexpected item")
	}
	for range c.Resources(t.Context()) {
		t.Error("unexpected item")
	}
	for range c.ResourceTemplates(t.Context()) {
		t.Error("unexpected item")
	}
	require.Equal(t, map[string]int{"tools": 1, "tools2": 1, "prompts": 1, "resources": 1, "templates": 1}, s.asked)
}

// Concurrent first calls request the list of tools once, also if the context of the requesting call
// ends.
func TestConcurrentCallsRequestToolsOnce(t *testing.T) {
	for name, cancels := range map[string]bool{"all wait": false, "the first is cancelled": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lists, release := 0, make(chan struct{})
				s := newServer()
				mcp.HandleCallTool(&s.mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"city":"Bern"}`)}, nil
				})
				mcp.HandleListTools(&s.mux, func(ctx context.Context, _ *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
					lists++
					select {
					case <-release:
					case <-ctx.Done():
					}
					return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "weather", OutputSchema: json.RawMessage(weatherSchema)}}}, ctx.Err()
				})
				c := connect(t, mcpclient.InProcess(s), nil)
				defer c.Close()

				var all sync.WaitGroup
				call := func(ctx context.Context) {
					all.Go(func() { // ends with the call
						_, err := mcpclient.CallTool[weather](ctx, c, "weather", nil)
						if err != nil && ctx.Err() == nil {
							t.Error(err)
						}
					})
				}
				first, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				call(first)
				synctest.Wait()
				for range 20 {
					call(t.Context())
				}
				synctest.Wait()
				want := 1
				if cancels {
					want = 2
					giveUp()
					synctest.Wait()
				}
				close(release)
				all.Wait()
				require.Equal(t, want, lists)
			})
		})
	}
}

func TestFirstPageDoesNotCompleteTools(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	mcp.HandleListTools(&s.mux, func(_ context.Context, r *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		in := json.RawMessage(`{"type":"object"}`)
		if next := "2"; r.Cursor == nil {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "a", InputSchema: in}}, NextCursor: &next}, nil
		}
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{
			Name: "b", InputSchema: in, OutputSchema: json.RawMessage(`{"type":"object","required":["greeting"]}`),
		}}}, nil
	})
	mcp.HandleCallTool(&s.mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"other":1}`)}, nil
	})
	c := connect(t, mcpclient.InProcess(s), nil)
	for range 2 {
		_, err := mcpclient.CallTool[welcomed](t.Context(), c, "b", nil)
		require.ErrorAs(t, err, new(*mcpclient.OutputError))
		_, err = c.ListTools(t.Context(), &mcp.ListToolsRequest{})
		require.NoError(t, err)
	}
}

func TestMemberNamesAreCaseSensitive(t *testing.T) {
	leaks.Check(t)
	type place struct {
		weather
		Seen  []*weather         `json:"seen"`
		Names map[string]weather `json:"names"`
		Note  any                `json:"note"`
		Raw   json.RawMessage    `json:"raw"`
		Left  string             `json:"-"`
		Plain string
	}
	lists := 0
	c := connect(t, weatherServer(`{"type":"object","properties":{"temp":{"type":"integer","maximum":10}}}`, &lists).overPipe(t), nil)
	read := func(output string) (place, error) {
		return mcpclient.CallTool[place](t.Context(), c, "weather", json.RawMessage(`{"content":[],"structuredContent":`+output+`}`))
	}
	for _, output := range []string{
		`{"temp":3,"Temp":1000}`, `{"Temp":1000}`, `{"seen":[null,{"TEMP":1000}]}`, `{"names":{"a":{"temp":3,"tEmp":1000}}}`,
		`{"Plain":"a","plain":"b"}`, `{"\u017Feen":[]}`,
	} {
		var wrong *mcpclient.OutputError
		_, err := read(output)
		require.ErrorAs(t, err, &wrong, output)
		require.ErrorContains(t, err, "would be decoded as", output)
	}
	out, err := read(`{"temp":3,"plain":"a","names":{"a":{"temp":1},"A":{"temp":2}},"note":{"b":1,"B":2},"raw":{"c":1,"C":2},"left":"x","Left":"y"}`)
	require.NoError(t, err)
	require.Equal(t, place{
		weather: weather{Temp: 3}, Plain: "a", Names: map[string]weather{"a": {Temp: 1}, "A": {Temp: 2}},
		Note: map[string]any{"b": 1.0, "B": 2.0}, Raw: json.RawMessage(`{"c":1,"C":2}`),
	}, out)
}

// versioned is a server whose tool has another output schema and result in each version. Other
// requests are answered by the test.
func versioned(version *atomic.Int32, answer func(m message) string) *script {
	return &script{answer: func(m message) string {
		v := version.Load()
		switch m.Method {
		case mcp.MethodDiscover:
			return fail(mcp.CodeMethodNotFound, "null")
		case mcp.MethodInitialize:
			return ok(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"old","version":"1"}}`)
		case mcp.MethodListTools:
			return ok(fmt.Sprintf(`{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["v%d"]}}]}`, v))
		case mcp.MethodCallTool:
			return ok(fmt.Sprintf(`{"content":[],"structuredContent":{"v%d":1}}`, v))
		}
		return answer(m)
	}}
}

const toolsChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"

func TestOutputIsValidatedByCurrentSchema(t *testing.T) {
	for name, changes := range map[string]string{"announced": toolsChanged + ok(`{}`), "restarted": hangUp} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var version atomic.Int32
				s := versioned(&version, func(m message) string {
					if m.Method != "ping" {
						return ""
					}
					version.Add(1)
					return changes
				})
				c := connect(t, s.endpoint(t), &mcpclient.Options{Restarts: 1, Logger: silent})
				for range 2 {
					for range 2 {
						_, err := mcpclient.CallTool[map[string]int](t.Context(), c, "t", nil)
						require.NoError(t, err)
					}
					_, _ = c.Ping(t.Context(), nil)
					synctest.Wait()
				}
				lists := slices.DeleteFunc(s.methods(), func(m string) bool { return m != mcp.MethodListTools })
				require.Len(t, lists, 2)
			})
		})
	}
}

func TestToolsChangeDuringRefresh(t *testing.T) {
	leaks.Check(t)
	var version atomic.Int32
	s := versioned(&version, func(message) string { return "" })
	same := s.answer
	s.answer = func(m message) string {
		text := same(m)
		if m.Method == mcp.MethodListTools && version.Add(1) == 1 {
			return toolsChanged + text
		}
		return text
	}
	c := connect(t, s.endpoint(t), nil)
	_, err := mcpclient.CallTool[map[string]int](t.Context(), c, "new", nil)
	require.NoError(t, err)
	_, err = mcpclient.CallTool[map[string]int](t.Context(), c, "new", nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, version.Load())
}
