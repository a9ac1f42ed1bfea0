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
	"github.com/mcpwright/mcp/runtime/dispatch"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// outcome is what a call comes to, and what was asked on the way.
type outcome struct {
	text      string
	failed    bool
	questions []string
}

// call calls a tool.
func call(t *testing.T, c *mcpclient.Client, u *user, tool, arguments string) outcome {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: tool, Arguments: json.RawMessage(arguments)})
	require.NoError(t, err)
	require.Len(t, res.Content, 1)
	return outcome{res.Content[0].(*mcp.TextContent).Text, res.IsError, u.questions()}
}

// TestOneHandlerHasOneOutcomeInEveryEra runs the same handlers for clients of
// revisions that ask in requests and of one that asks in answers.
func TestOneHandlerHasOneOutcomeInEveryEra(t *testing.T) {
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
		want            outcome
	}{
		"travels":            {"trip", `{}`, ada, outcome{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"travels in winter":  {"trip", `{"season":"winter"}`, ada, outcome{"Ada goes to Rome in winter: <Praise Rome>", false, asked}},
		"stays":              {"trip", `{}`, stays, outcome{"Where to, Ada?: decline", true, asked[:2]}},
		"errors are wrapped": {"wrapped", `{}`, ada, outcome{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"wrapped, stays":     {"wrapped", `{}`, stays, outcome{"the trip is off: Where to, Ada?: decline", true, asked[:2]}},
		"errors are lost":    {"swallowed", `{}`, ada, outcome{"Ada goes to Rome in summer: <Praise Rome>", false, asked}},
		"lost, stays":        {"swallowed", `{}`, stays, outcome{"everybody stays at home", false, asked[:2]}},
		"at once":            {"at-once", `{}`, nil, outcome{"[<Who travels?> <Where to?> <Praise it>]", false, []string{"Praise it", "Where to?", "Who travels?"}}},
		"in a group":         {"group", `{}`, nil, outcome{"[<Stop 0?> <Stop 1?> <Stop 2?>]", false, []string{"Stop 0?", "Stop 1?", "Stop 2?"}}},
	}
	inEveryWay(t, func(t *testing.T, to mcpclient.Endpoint, r wire.Revision) {
		u := &user{}
		c := u.connect(t, to, r)
		require.Equal(t, r, c.Revision())
		for name, one := range cases {
			u.answer = one.answer
			got := call(t, c, u, one.tool, one.arguments)
			if one.answer == nil { // the order is anybody's
				slices.Sort(got.questions)
			}
			require.Equal(t, one.want, got, name)
		}
	})
}

// TestAUserMayTakeLongerThanACall has the user take his time over HTTP, where the
// server's patience and the client's both have to last.
func TestAUserMayTakeLongerThanACall(t *testing.T) {
	const patience = 2 * time.Second
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &user{answer: func(string) map[string]any {
					time.Sleep(patience + time.Second)
					return map[string]any{"text": "Ada"}
				}}
				h := newServer(nil).Handler(&streamable.Options{Dispatch: dispatch.Options{Timeout: patience}})
				c := u.connect(t, inMemory(t, h), r, func(o *mcpclient.Options) { o.Timeout = patience })
				require.Equal(t, "Ada goes to Ada in summer: <Praise Ada>", call(t, c, u, "trip", `{}`).text)
			})
		})
	}
}

// inMemory is the way to a handler in a bubble.
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
