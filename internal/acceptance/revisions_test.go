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
	ada := func(question string) map[string]any {
		if question == "Who travels?" {
			return map[string]any{"text": "Ada"}
		}
		return map[string]any{"text": "Rome"}
	}
	stays := func(question string) map[string]any {
		if question == "Who travels?" {
			return map[string]any{"text": "Ada"}
		}
		return nil
	}
	asked := []string{"Who travels?", "Where to, Ada?", "Praise Rome"}
	cases := map[string]struct {
		tool, arguments string
		answer          func(string) map[string]any
		want            callResult
	}{
		"travels":            {"trip", `{}`, ada, callResult{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"travels in winter":  {"trip", `{"season":"winter"}`, ada, callResult{"Ada goes to Rome in winter: <Praise Rome>", false, asked}},
		"stays":              {"trip", `{}`, stays, callResult{"Where to, Ada?: decline", true, asked[:2]}},
		"errors are wrapped": {"wrapped", `{}`, ada, callResult{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"wrapped, stays":     {"wrapped", `{}`, stays, callResult{"the trip is off: Where to, Ada?: decline", true, asked[:2]}},
		"errors are lost":    {"swallowed", `{}`, ada, callResult{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"lost, stays":        {"swallowed", `{}`, stays, callResult{"everybody stays at home", false, asked[:2]}},
		"at once":            {"at-once", `{}`, nil, callResult{"[<Who travels?> <Where to?> <Praise it>]", false, []string{"Praise it", "Where to?", "Who travels?"}}},
		"in a group":         {"group", `{}`, nil, callResult{"[<Stop 0?> <Stop 1?> <Stop 2?>]", false, []string{"Stop 0?", "Stop 1?", "Stop 2?"}}},
	}
	overEveryTransport(t, func(t *testing.T, to mcpclient.Endpoint, r wire.Revision) {
		u := &user{}
		c := u.connect(t, to, r)
		require.Equal(t, r, c.Revision())
		for name, one := range cases {
			u.answer = one.answer
			got := call(t, c, u, one.tool, one.arguments)
			if one.answer == nil { // the order is not defined
				slices.Sort(got.questions)
			}
			require.Equal(t, one.want, got, name)
		}
	})
}

// TestQuestionMayTakeLongerThanTimeout lets the user answer over HTTP after more than the timeout of
// the server and of the client.
func TestQuestionMayTakeLongerThanTimeout(t *testing.T) {
	const timeout = 2 * time.Second
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &user{answer: func(string) map[string]any {
					time.Sleep(timeout + time.Second)
					return map[string]any{"text": "Ada"}
				}}
				h := newServer(nil).Handler(&streamable.Options{JSONRPC: jsonrpc.Options{Timeout: timeout}})
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
	go func() { served <- server.Serve(network) }() // ends with the server
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
