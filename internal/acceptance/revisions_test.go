package acceptance

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/pipes"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// callResult is the result of a call and the questions that were asked during the call.
type callResult struct {
	text      string
	failed    bool
	questions []string
}

// call calls a tool.
func call(t *testing.T, c *mcpclient.Client, u *user, tool, arguments string) callResult {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: tool, Arguments: json.RawMessage(arguments)})
	require.NoError(t, err)
	require.Len(t, res.Content, 1)
	return callResult{res.Content[0].(*mcp.TextContent).Text, res.IsError, u.questions()}
}

// TestHandlersReturnTheSameInEveryRevision runs the same handlers in revisions that send questions as
// requests and in a revision that sends them in results.
func TestHandlersReturnTheSameInEveryRevision(t *testing.T) {
	accept := func(question string) map[string]any {
		if question == "Who travels?" {
			return map[string]any{"text": "Ada"}
		}
		return map[string]any{"text": "Rome"}
	}
	decline := func(question string) map[string]any {
		if question == "Who travels?" {
			return map[string]any{"text": "Ada"}
		}
		return nil
	}
	asked := []string{"Who travels?", "Where to, Ada?", "Praise Rome"}
	cases := map[string]struct {
		tool, arguments string
		respond         func(string) map[string]any
		want            callResult
	}{
		"all accepted":      {"trip", `{}`, accept, callResult{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"with arguments":    {"trip", `{"season":"winter"}`, accept, callResult{"Ada goes to Rome in winter: <Praise Rome>", false, asked}},
		"declined":          {"trip", `{}`, decline, callResult{"Where to, Ada?: decline", true, asked[:2]}},
		"wrapped error":     {"wrapped", `{}`, accept, callResult{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"wrapped, declined": {"wrapped", `{}`, decline, callResult{"the trip is off: Where to, Ada?: decline", true, asked[:2]}},
		"ignored error":     {"swallowed", `{}`, accept, callResult{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"ignored, declined": {"swallowed", `{}`, decline, callResult{"everybody stays at home", false, asked[:2]}},
		"concurrent":        {"at-once", `{}`, nil, callResult{"[<Who travels?> <Where to?> <Praise it>]", false, []string{"Praise it", "Where to?", "Who travels?"}}},
		"concurrent group":  {"group", `{}`, nil, callResult{"[<Stop 0?> <Stop 1?> <Stop 2?>]", false, []string{"Stop 0?", "Stop 1?", "Stop 2?"}}},
	}
	overEveryTransport(t, func(t *testing.T, to mcpclient.Endpoint, r wire.Revision) {
		u := &user{}
		c := u.connect(t, to, r)
		require.Equal(t, r, c.Revision())
		for name, one := range cases {
			u.respond = one.respond
			got := call(t, c, u, one.tool, one.arguments)
			if one.respond == nil { // the order is not defined
				slices.Sort(got.questions)
			}
			require.Equal(t, one.want, got, name)
		}
	})
}

// TestQuestionMayTakeLongerThanTimeout lets the user respond over HTTP after the timeouts of the server
// and of the client.
func TestQuestionMayTakeLongerThanTimeout(t *testing.T) {
	const timeout = 2 * time.Second
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &user{respond: func(string) map[string]any {
					time.Sleep(timeout + time.Second)
					return map[string]any{"text": "Ada"}
				}}
				h := streamable.NewHandler(newServer(nil), &streamable.Options{JSONRPC: jsonrpc.Options{Timeout: timeout}})
				c := u.connect(t, inMemory(t, h), r, func(o *mcpclient.Options) { o.Timeout = timeout })
				require.Equal(t, "Ada goes to Ada in summer: <Praise Ada>", call(t, c, u, "trip", `{}`).text)
			})
		})
	}
}

// inMemory returns an endpoint for a handler in a synctest bubble.
func inMemory(t *testing.T, h *streamable.Handler) mcpclient.Endpoint {
	network := pipes.New()
	server := &http.Server{Handler: mcptest.TapHandler(mcptest.Fail(t), h)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(network) }() // returns when the server is closed
	transport := &http.Transport{DialContext: network.Dial}
	t.Cleanup(func() {
		h.Close()
		transport.CloseIdleConnections()
		server.Close()
		<-served
	})
	to := mcpclient.URL("http://memory/")
	to.HTTP.HTTPClient = &http.Client{Transport: mcptest.TapTransport(mcptest.Fail(t), transport)}
	return to
}
