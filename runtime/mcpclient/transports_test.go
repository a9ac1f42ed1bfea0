package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestClosedCallStreamIsResumed(t *testing.T) {
	leaks.Check(t)
	s := newKit(nil)
	var polled atomic.Bool
	plain(s, "poll", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		if err := session.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return "", err
		}
		polled.Store(session.Transport().(*streamable.TransportContext).EndStream(time.Millisecond))
		if err := session.ReportProgress(ctx, peer.Progress{Progress: 2}); err != nil {
			return "", err
		}
		return asks(ctx, session) // the request waits for the client, too
	})
	at := newSite(streamable.NewHandler(s, &streamable.Options{Polling: true, Logger: silent, RetryInterval: time.Millisecond}))
	c := connect(t, quick(validatedURL(t, at)), handlerOptions(mcpclient.Options{Mode: mcpclient.Handshake}))
	gets := at.times(http.MethodGet)
	var steps []float64
	require.Equal(t, "accept Ada true", callText(t, c, "poll", peer.OnProgress(func(p peer.Progress) { steps = append(steps, p.Progress) })))
	require.True(t, polled.Load())
	require.Equal(t, []float64{1, 2}, steps)
	require.Greater(t, at.times(http.MethodGet), gets)
	require.Equal(t, 1, at.times("POST tools/call"), "the call is not sent again")
}

func TestBrokenCallStreamIsResumed(t *testing.T) {
	leaks.Check(t)
	s := newKit(nil)
	broken, mended := make(chan struct{}), make(chan struct{})
	plain(s, "break", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		if err := session.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return "", err
		}
		<-broken
		return "mended", nil
	})
	at := newSite(streamable.NewHandler(s, &streamable.Options{Logger: silent, RetryInterval: time.Millisecond}))
	at.meet(func(w http.ResponseWriter, r *http.Request, h http.Handler) bool {
		switch {
		case r.Method == http.MethodPost && r.ContentLength > 0 && r.Header.Get("Mcp-Session-Id") != "" && at.times("POST tools/call") == 1:
			ctx, kill := context.WithCancel(r.Context())
			go func() { // ends with the first report
				<-mended
				kill()
				close(broken)
			}()
			h.ServeHTTP(w, r.WithContext(ctx))
			panic(http.ErrAbortHandler)
		}
		return false
	})
	c := connect(t, quick(validatedURL(t, at)), &mcpclient.Options{Mode: mcpclient.Handshake, Logger: silent})
	require.Equal(t, "mended", callText(t, c, "break", peer.OnProgress(func(peer.Progress) { close(mended) })))
	require.Equal(t, 1, at.times("POST tools/call"))
}

// In stateless revisions over HTTP, the client cancels a request by closing its stream. Otherwise it
// sends a notification.
func TestCancellationByRevision(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions[1:] {
		t.Run(r.Revision.String(), func(t *testing.T) {
			s := newKit(nil)
			begun, cancelled := waiting(s)
			at := newSite(streamable.NewHandler(s, &streamable.Options{Logger: silent}))
			ways := map[string]mcpclient.Endpoint{"http": validatedURL(t, at), "pipe": validatedPipe(t, s), "in process": mcpclient.InProcess(s)}
			for name, to := range ways {
				c := connect(t, to, &mcpclient.Options{Revision: r.Revision})
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("test cancels")
				go func() { <-begun; cancel(why) }() // ends with the call
				_, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: "wait"})
				require.ErrorIs(t, err, why, name)
				<-cancelled
				require.NoError(t, c.Close())
			}
			notifications := 1
			if !r.Handshake {
				notifications = 0
			}
			require.Equal(t, notifications, at.times("POST "+mcp.MethodCancelled))
		})
	}
}

// The headers that repeat arguments satisfy a server that compares them with the body.
func TestToolHeadersMatchBody(t *testing.T) {
	leaks.Check(t)
	s := newKit(nil)
	schema := json.RawMessage(`{"type":"object","properties":{
		"text":{"type":"string","x-mcp-header":"Text"},
		"count":{"type":"integer","x-mcp-header":"Count"},
		"sure":{"type":"boolean","x-mcp-header":"Sure"},
		"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}}}}`)
	s.AddRawTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult(string(req.Arguments)), nil
	})
	odd := []string{"Übersicht", " space around ", "=?base64?eA==?=", "tab\t"}
	for _, name := range odd {
		s.AddRawPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: name}, nil
		})
	}
	at := newSite(kitHandler(s))
	var last http.Header
	at.meet(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool { last = r.Header; return false })
	c := connect(t, validatedURL(t, at), nil)
	require.Contains(t, names(t, c), "echo")
	for arguments, header := range map[string][2]string{
		`{}`:                             {"Text", ""},
		`{"text":null}`:                  {"Text", ""},
		`{"text":"plain text"}`:          {"Text", "plain text"},
		`{"text":" space before"}`:       {"Text", "=?base64?IHNwYWNlIGJlZm9yZQ==?="},
		`{"text":"tab\tbetween"}`:        {"Text", "=?base64?dGFiCWJldHdlZW4=?="},
		`{"text":"CR\r\nX-Evil: 1"}`:     {"Text", "=?base64?Q1INClgtRXZpbDogMQ==?="},
		`{"text":"😀"}`:                   {"Text", "=?base64?8J+YgA==?="},
		`{"text":"=?base64?eA==?="}`:     {"Text", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
		`{"count":-7}`:                   {"Count", "-7"},
		`{"count":0}`:                    {"Count", "0"},
		`{"count":42.0}`:                 {"Count", "42"},
		`{"count":9007199254740991}`:     {"Count", "9007199254740991"},
		`{"sure":false}`:                 {"Sure", "false"},
		`{"deep":{"er":"down"}}`:         {"Deeper", "down"},
		`{"text":"a","unknown":[1,2]}`:   {"Text", "a"},
		`{"text":"","count":1}`:          {"Text", ""},
		`{"text":"x","sure":true}`:       {"Sure", "true"},
		`{"deep":{},"text":"nothing"}`:   {"Deeper", ""},
		`{"deep":{"er":null},"text":""}`: {"Deeper", ""},
	} {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "echo", Arguments: json.RawMessage(arguments)})
		require.NoError(t, err, arguments)
		if !res.IsError { // the schema rejects null
			require.Equal(t, arguments, mcp.TextOf(res.Content))
		}
		require.Equal(t, header[1], last.Get("Mcp-Param-"+header[0]), arguments)
	}
	for _, name := range odd {
		res, err := c.GetPrompt(t.Context(), &mcp.GetPromptRequest{Name: name})
		require.NoError(t, err)
		require.Equal(t, name, res.Description)
	}
}

// A server may change its tools without a notification. The failed call is repeated, because the server
// has not begun to process it.
func TestChangedToolHeaderIsRetried(t *testing.T) {
	leaks.Check(t)
	s := newKit(nil)
	tool := func(header string) {
		schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"` + header + `"}}}`)
		s.AddRawTool(&mcp.Tool{Name: "weather", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("sunny"), nil
		})
	}
	tool("City")
	c := connect(t, validatedURL(t, kitHandler(s)), &mcpclient.Options{Logger: silent})
	for _, header := range []string{"City", "Town", "Place"} {
		tool(header)
		text, err := mcpclient.CallTool[string](t.Context(), c, "weather", map[string]string{"city": "Zürich"})
		require.NoError(t, err)
		require.Equal(t, "sunny", text)
	}
}

// Results are cached until the server reports a change.
func TestCacheWithKitServer(t *testing.T) {
	leaks.Check(t)
	var asked atomic.Int64
	s := newKit(&mcpserver.Options{
		CacheHints: map[string]mcpserver.CacheHint{mcp.MethodReadResource: {TTL: time.Hour}, mcp.MethodListTools: {TTL: time.Hour, Public: true}},
		Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.Method == mcp.MethodReadResource || in.Method == mcp.MethodListTools {
					asked.Add(1)
				}
				return next.Handle(ctx, in)
			})
		}},
	})
	at := kitHandler(s)
	changed := make(chan struct{}, 9)
	c := connect(t, validatedURL(t, at), &mcpclient.Options{
		OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { changed <- struct{}{}; return nil },
	})
	for range 3 {
		read(t, c.ServerPeer, "note:1")
		require.NotContains(t, names(t, c), "grown")
	}
	require.EqualValues(t, 2, asked.Load())
	require.Equal(t, "grown", callText(t, c, "grow"))
	<-changed
	require.Contains(t, names(t, c), "grown")
	require.EqualValues(t, 3, asked.Load())
	require.Equal(t, "note:1", firstChange(t, c))
	read(t, c.ServerPeer, "note:1")
	require.EqualValues(t, 4, asked.Load())

	// Headers of a call may contain credentials.
	own := c.With(peer.WithHeader(http.Header{"Authorization": {"Bearer b"}}))
	for range 2 {
		read(t, own, "note:1")
	}
	require.EqualValues(t, 6, asked.Load())
}

// traced adds a trace to the metadata of sent messages.
type traced struct {
	peer.Outbound
	trace string
}

func trace(id string) []func(peer.Outbound) peer.Outbound {
	return []func(peer.Outbound) peer.Outbound{func(out peer.Outbound) peer.Outbound { return traced{out, id} }}
}

func (o traced) add(c *peer.CallOptions) {
	f := *c.Frame
	f.Meta = append(slices.Clip(f.Meta), wire.Entry{Name: "traceparent", Value: wire.AppendString(nil, o.trace)})
	c.Frame = &f
}

func (o traced) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return o.Outbound.Call(ctx, req, res, append(slices.Clip(opts), o.add)...)
}

func (o traced) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return o.Outbound.Notify(ctx, n, append(slices.Clip(opts), o.add)...)
}

func TestMetadataOfOutgoingReachesHandler(t *testing.T) {
	leaks.Check(t)
	s := newKit(&mcpserver.Options{Outgoing: trace("theirs")})
	s.AddRawTool(&mcp.Tool{Name: "trace"}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := reports(ctx, mcp.SessionFromContext(ctx)); err != nil {
			return nil, err
		}
		if _, err := consults(ctx, mcp.SessionFromContext(ctx)); err != nil {
			return nil, err
		}
		return mcp.TextResult(fmt.Sprint(req.Meta != nil && string(req.Meta.Extra["traceparent"]) == `"ours"`)), nil
	})
	eachKind(t, func(t *testing.T, r wire.Revision) {
		for _, w := range kitEndpoints(t, s) {
			if w.old || w.name == "command" { // these servers are created differently
				continue
			}
			heard := make(chan string, 9)
			opts := handlerOptions(mcpclient.Options{Revision: r, Outgoing: trace("ours")})
			opts.OnListRoots = func(_ context.Context, req *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
				if mcp.Revisions[r.Index()].Handshake { // the result contains it
					heard <- fmt.Sprint(req.Meta != nil && string(req.Meta.Extra["traceparent"]) == `"theirs"`)
				}
				return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///project"}}}, nil
			}
			got, err := mcpclient.CallTool[string](t.Context(), connect(t, w.to, opts), "trace", nil,
				mcpclient.OnLog("", func(n *mcp.LoggingMessageNotification) {
					heard <- fmt.Sprint(n.Meta != nil && string(n.Meta.Extra["traceparent"]) == `"theirs"`)
				}))
			require.NoError(t, err)
			require.Equal(t, "true", got, w.name)
			require.Equal(t, []string{"true", "true"}, []string{<-heard, <-heard}, w.name)
		}
	})
}
