package mcptest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestEndpointPassesInEachRevision(t *testing.T) {
	for _, stream := range []bool{false, true} {
		e := newEndpoint(stream)
		changed := make(chan string, 10)
		mux := new(peer.Mux)
		mcp.HandleToolListChanged(mux, func(context.Context, *mcp.ToolListChangedNotification) error {
			changed <- "tools"
			return nil
		})
		client := mcptest.Client{Mux: mux}
		client.Run(t, mcptest.HTTP(e), func(t *testing.T, c *mcptest.Conn) {
			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, mcp.TextResult("hello").Content, res.Content)
			if mcp.Revisions[c.Revision().Index()].Handshake {
				require.Equal(t, "tools", <-changed, "the stream of the session is open")
			}
		})
		require.Equal(t, []string{"1", "2", "3", "4"}, e.deleted)
	}
}

func TestProxySetsHeadersOfTheRevision(t *testing.T) {
	e := newEndpoint(false)
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	c := mcptest.Connect(t, mcptest.URL(s.URL, nil), mcp.Revision20260728)
	for _, name := range []string{"none", "né ", "=?base64?eA==?="} {
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: name})
		require.Equal(t, int64(mcp.CodeInvalidParams), peer.AsError(err).Code, "%v", err)
	}
	require.NoError(t, c.Close())
	last := e.headers[len(e.headers)-1]
	require.Equal(t, "2026-07-28", last.Get("Mcp-Protocol-Version"))
	require.Equal(t, mcp.MethodCallTool, last.Get("Mcp-Method"))
	require.Equal(t, "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", last.Get("Mcp-Name"))
	require.Empty(t, last.Get("Mcp-Session-Id"))

	c = mcptest.Connect(t, mcptest.URL(s.URL, s.Client()), mcp.Revision20250618)
	_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	last = e.headers[len(e.headers)-1]
	require.Equal(t, "2025-06-18", last.Get("Mcp-Protocol-Version"))
	require.Equal(t, "1", last.Get("Mcp-Session-Id"))
}

func TestCancelEndsTheExchange(t *testing.T) {
	e := newEndpoint(false)
	c := mcptest.Connect(t, mcptest.HTTP(e), mcp.Revision20260728)
	ctx, cancel := context.WithCancel(t.Context())
	var call sync.WaitGroup
	call.Go(func() {
		if _, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: "wait"}); err == nil {
			t.Error("call did not fail")
		}
	})
	require.True(t, <-e.waits)
	cancel()
	call.Wait()
	require.False(t, <-e.waits, "the request is cancelled when its exchange ends")
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.NoError(t, err)
}

func TestConnectToNoEndpointFails(t *testing.T) {
	failures := failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.HTTP(http.NotFoundHandler()), mcp.Revision20260728) })
	require.Contains(t, failures[0], "HTTP 404 Not Found: 404 page not found")
	s := httptest.NewServer(nil)
	s.Close()
	failures = failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.URL(s.URL, nil), mcp.Revision20251125) })
	require.Contains(t, failures[0], "refused")
	failures = failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.URL(":", nil), mcp.Revision20251125) })
	require.Contains(t, failures[0], "missing protocol scheme")
}

func TestRequestWithoutResponseFails(t *testing.T) {
	const withoutID = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not now"}}`
	for name, c := range map[string]struct {
		media, body string
		status      int
		problem     string
	}{
		"nothing":             {"", "", 200, "HTTP 200 OK: no response"},
		"only accepted":       {"", "", 202, "HTTP 202 Accepted: no response"},
		"empty JSON":          {"application/json", "", 200, "HTTP 200 OK: no response"},
		"an empty stream":     {"text/event-stream", ": nothing\n\n", 200, "HTTP 200 OK: no response"},
		"another response":    {"text/event-stream", `data: {"jsonrpc":"2.0","id":99,"result":{}}` + "\n\n", 200, "HTTP 200 OK: no response"},
		"an error without id": {"application/json", withoutID, 400, "HTTP 400 Bad Request: " + withoutID},
		"a batch of errors":   {"application/json", "[" + withoutID + "]", 400, "HTTP 400 Bad Request: [" + withoutID + "]"},
		"half a response":     {"application/json", `{"jsonrpc":"2.0",`, 200, `HTTP 200 OK: {"jsonrpc"`},
	} {
		for _, revision := range []wire.Revision{mcp.Revision20250326, mcp.Revision20260728} {
			endpoint := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			client := mcptest.Client{Report: func(*mcptest.Violation) {}}
			failures := failuresOf(func(t mcptest.TB) { client.Connect(t, mcptest.HTTP(endpoint), revision) })
			require.Len(t, failures, 1, name)
			require.Contains(t, failures[0], c.problem, name)
		}
	}
}

func TestProxyReportsInvalidHTTP(t *testing.T) {
	for problem, change := range map[string]func(w http.ResponseWriter, notification bool) bool{
		`2025-06-18: the server's response to "tools/call": HTTP 201 Created: the response to a request must have the status 200`: func(w http.ResponseWriter, notification bool) bool {
			if !notification {
				w.WriteHeader(http.StatusCreated)
			}
			return false
		},
		`2025-06-18: the server's response to "notifications/roots/list_changed": HTTP 500 Internal Server Error: no`: func(w http.ResponseWriter, notification bool) bool {
			if notification {
				http.Error(w, "no", http.StatusInternalServerError)
			}
			return notification
		},
		`2025-06-18: the server's response to "notifications/roots/list_changed": HTTP 400 Bad Request: {"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`: func(w http.ResponseWriter, notification bool) bool {
			if notification {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`)
			}
			return notification
		},
	} {
		e := newEndpoint(false)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			notification := bytes.Contains(body, []byte("list_changed"))
			if bytes.Contains(body, []byte("tools/call")) || notification {
				w.Header().Set("Content-Type", "application/json")
				if change(w, notification) {
					return
				}
			}
			e.ServeHTTP(w, r)
		})
		failures := failuresOf(func(tb mcptest.TB) {
			client := mcptest.Client{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{ListChanged: true}}}
			c := client.Connect(tb, mcptest.HTTP(h), mcp.Revision20250618)
			if err := c.RootsListChanged(t.Context(), &mcp.RootsListChangedNotification{}); err != nil {
				t.Error(err)
			}
			if _, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"}); err != nil {
				t.Error(err)
			}
		})
		require.Len(t, failures, 1, problem)
		require.Contains(t, failures[0], problem+"\n")
	}
}

// headerServer returns the handler of a server with a tool whose arguments headers
// repeat, on the second page of its list. It counts the requests for lists.
func headerServer(t *testing.T) (http.Handler, *atomic.Int64) {
	lists := new(atomic.Int64)
	count := func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodListTools {
				lists.Add(1)
			}
			return next.Handle(ctx, in)
		})
	}
	s := mcpserver.New(mcp.Implementation{Name: "regional", Version: "1"}, &mcpserver.Options{
		PageSize: 1, Middleware: []peer.Middleware{count},
	})
	type query struct {
		Region string `json:"region" header:"Region"`
		Limit  int    `json:"limit,omitzero" header:"Limit"`
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "query"}, func(_ context.Context, _ *mcp.ServerSession, in query) (string, error) {
		return in.Region, nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "first"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "no header", nil
	})
	h := streamable.NewHandler(s, nil)
	t.Cleanup(func() { h.Close() })
	return h, lists
}

func TestHeadersRepeatArguments(t *testing.T) {
	h, lists := headerServer(t)
	mcptest.Run(t, mcptest.HTTP(h), func(t *testing.T, c *mcptest.Conn) {
		for range 2 {
			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "query", Arguments: json.RawMessage(`{"region":"Zürich","limit":3}`)})
			require.NoError(t, err)
			require.Equal(t, mcp.TextResult("Zürich").Content, res.Content)
		}
	})
	stateless := len(slices.DeleteFunc(slices.Clone(mcp.Revisions), func(r peer.RevisionInfo) bool { return r.Handshake }))
	require.EqualValues(t, 2*stateless, lists.Load(), "each page is requested once in each stateless revision")
}

func TestListedToolsNeedNoFurtherList(t *testing.T) {
	h, lists := headerServer(t)
	c := mcptest.Connect(t, mcptest.HTTP(h), mcp.Revision20260728)
	for _, err := range c.ListToolsAll(t.Context(), nil) {
		require.NoError(t, err)
	}
	before := lists.Load()
	for _, name := range []string{"query", "first"} {
		arguments := map[string]string{"query": `{"region":"eu"}`, "first": `{}`}[name]
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: name, Arguments: json.RawMessage(arguments)})
		require.NoError(t, err)
	}
	require.Equal(t, before, lists.Load())
}

func TestHeaderRepeatsTheTaskID(t *testing.T) {
	h := streamable.NewHandler(mcpserver.New(mcp.Implementation{Name: "tasks", Version: "1"}, &mcpserver.Options{Tasks: &tasks.Options{}}), nil)
	t.Cleanup(func() { h.Close() })
	client := mcptest.Client{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{tasks.Name: {}}}}
	c := client.Connect(t, mcptest.HTTP(h), mcp.Revision20260728)
	_, get := peer.SendRequest(t.Context(), c, &tasks.GetRequest{TaskID: "none"})
	_, update := peer.SendRequest(t.Context(), c, &tasks.UpdateRequest{TaskID: "none"})
	_, cancel := peer.SendRequest(t.Context(), c, &tasks.CancelRequest{TaskID: "none"})
	for _, err := range []error{get, update, cancel} {
		require.ErrorContains(t, err, `Unknown task: "none"`)
	}
}

func TestArgumentsThatNoHeaderCanRepeat(t *testing.T) {
	h, _ := headerServer(t)
	c := mcptest.Connect(t, mcptest.HTTP(h), mcp.Revision20260728)
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "query", Arguments: json.RawMessage(`{"region":["eu"]}`)})
	require.Equal(t, int64(mcp.CodeHeaderMismatch), peer.AsError(err).Code, "%v", err)
}

func TestHeaderMismatchOfAnUnknownTool(t *testing.T) {
	const mismatch = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"Header mismatch"}}`
	for name, list := range map[string]string{
		"an invalid list": `{"jsonrpc":"2.0","id":1,"result":{"tools":1}}`, "another tool": `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x"}]}}`,
		"an endless list": `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"x"}}`, "a stream": "data: {}\n\n", "no list": "",
	} {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var m struct {
					ID     json.RawMessage
					Method string
				}
				if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/json")
				switch {
				case m.Method == mcp.MethodDiscover:
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}`, m.ID)
				case m.Method == mcp.MethodCallTool:
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprintf(w, mismatch, m.ID)
				case name == "a stream":
					w.Header().Set("Content-Type", "text/event-stream")
					fallthrough
				default:
					fmt.Fprint(w, list)
				}
			})
			c := mcptest.Connect(t, mcptest.HTTP(h), mcp.Revision20260728)
			_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "query"})
			require.Equal(t, int64(mcp.CodeHeaderMismatch), peer.AsError(err).Code, "%v", err)
		})
	}
}
