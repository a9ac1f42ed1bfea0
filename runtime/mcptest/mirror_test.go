package mcptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// regional is a server with a tool that wants an argument in a header, on the
// second page of its list. It counts the lists that it was asked for.
func regional(t *testing.T) (http.Handler, *atomic.Int64) {
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
	h := s.Handler(nil)
	t.Cleanup(func() { h.Close() })
	return h, lists
}

func TestHeadersRepeatTheArgumentsThatAToolWantsRepeated(t *testing.T) {
	h, lists := regional(t)
	mcptest.Run(t, mcptest.HTTP(h), func(t *testing.T, c *mcptest.Conn) {
		for range 2 {
			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "query", Arguments: json.RawMessage(`{"region":"Zürich","limit":3}`)})
			require.NoError(t, err)
			require.Equal(t, mcp.TextResult("Zürich").Content, res.Content)
		}
	})
	matter := len(slices.DeleteFunc(slices.Clone(mcp.Revisions), func(r peer.RevisionInfo) bool { return r.Handshake }))
	require.EqualValues(t, 2*matter, lists.Load(), "the pages are asked for once, and only where headers matter")
}

func TestAListThatPassesSaysWhichHeadersToolsWant(t *testing.T) {
	h, lists := regional(t)
	c := mcptest.Connect(t, mcptest.HTTP(h), "2026-07-28")
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

func TestAHeaderRepeatsWhichTaskIsMeant(t *testing.T) {
	h := mcpserver.New(mcp.Implementation{Name: "lasting", Version: "1"}, &mcpserver.Options{Tasks: &mcpserver.TaskOptions{}}).Handler(nil)
	t.Cleanup(func() { h.Close() })
	client := mcptest.Client{Capabilities: &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{tasks.Name: {}}}}
	c := client.Connect(t, mcptest.HTTP(h), "2026-07-28")
	of := tasks.Of{ID: "none"}
	_, get := peer.SendRequest(t.Context(), c, &tasks.GetRequest{Of: of})
	_, update := peer.SendRequest(t.Context(), c, &tasks.UpdateRequest{Of: of})
	_, cancel := peer.SendRequest(t.Context(), c, &tasks.CancelRequest{Of: of})
	for _, err := range []error{get, update, cancel} {
		require.ErrorContains(t, err, `Unknown task: "none"`)
	}
}

func TestACallThatNoHeaderCanRepeatIsTheServersToRefuse(t *testing.T) {
	h, _ := regional(t)
	c := mcptest.Connect(t, mcptest.HTTP(h), "2026-07-28")
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "query", Arguments: json.RawMessage(`{"region":["eu"]}`)})
	require.Equal(t, int64(mcp.CodeHeaderMismatch), peer.AsError(err).Code, "%v", err)
}

func TestARefusalThatNoListExplainsIsHandedOn(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"Header mismatch"}}`
	for name, list := range map[string]string{
		"a broken list": `{"jsonrpc":"2.0","id":1,"result":{"tools":1}}`, "another tool": `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x"}]}}`,
		"no end": `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"x"}}`, "a stream": "data: {}\n\n", "nothing": "",
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
					fmt.Fprintf(w, refusal, m.ID)
				case name == "a stream":
					w.Header().Set("Content-Type", "text/event-stream")
					fallthrough
				default:
					fmt.Fprint(w, list)
				}
			})
			c := mcptest.Connect(t, mcptest.HTTP(h), "2026-07-28")
			_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "query"})
			require.Equal(t, int64(mcp.CodeHeaderMismatch), peer.AsError(err).Code, "%v", err)
		})
	}
}
