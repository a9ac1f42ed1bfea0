package mcptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestValidServerPassesInEachRevision(t *testing.T) {
	var seen []wire.Revision
	mcptest.Run(t, greeterServer(), func(t *testing.T, c *mcptest.Conn) {
		seen = append(seen, c.Revision())
		require.Equal(t, "greeter", c.ServerInfo().Name)
		require.NotNil(t, c.ServerCapabilities().Tools)
		for tool, err := range c.ListToolsAll(t.Context(), nil) {
			require.NoError(t, err)
			require.Equal(t, "greet", tool.Name)
		}
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, mcp.TextResult("hello").Content, res.Content)
		_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "none"})
		require.Equal(t, int64(mcp.CodeInvalidParams), peer.AsError(err).Code)
	})
	require.Len(t, seen, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		require.Equal(t, r.Revision, seen[i])
	}
}

func TestInvalidResultFailsTheTest(t *testing.T) {
	for _, revision := range []wire.Revision{mcp.Revision20241105, mcp.Revision20260728} {
		bad := changeLines(greeterServer(), replacing(`"content":`, `"contents":`))
		failures := failuresOf(func(t mcptest.TB) {
			c := mcptest.Connect(t, bad, revision)
			_, _ = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		})
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], revision.String()+`: the server's response to "tools/call": /result: missing properties: 'content'`)
		require.Contains(t, failures[0], `contents`, "the text has the message")
	}
}

func TestMissingResultTypeFailsTheTest(t *testing.T) {
	bad := changeLines(greeterServer(), replacing(`"resultType":"complete",`, ``))
	failures := failuresOf(func(t mcptest.TB) {
		mcptest.Connect(t, bad, mcp.Revision20260728)
	})
	require.Len(t, failures, 1, "the client accepts the result")
	require.Contains(t, failures[0], `response to "server/discover": /result: missing properties: 'resultType'`)
	require.Empty(t, failuresOf(func(t mcptest.TB) { mcptest.Connect(t, bad, mcp.Revision20251125) }))
}

func TestUnknownMembersAreAccepted(t *testing.T) {
	mcptest.Run(t, changeLines(greeterServer(), replacing(`"result":{"`, `"result":{"acme":1,"`)), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.NoError(t, err)
		require.Contains(t, res.Extra, "acme")
	})
}

func TestClientReport(t *testing.T) {
	var found []*mcptest.Violation
	client := mcptest.Client{Report: func(v *mcptest.Violation) { found = append(found, v) }}
	c := client.Connect(t, changeLines(greeterServer(), replacing(`"text":"hello"`, `"text":0`)), mcp.Revision20250618)
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.Error(t, err)
	require.NoError(t, c.Close())
	require.Len(t, found, 1)
	require.Equal(t, mcptest.FromServer, found[0].From)
	require.Equal(t, mcp.MethodCallTool, found[0].Method)
	require.Equal(t, "/result/content/0/text", found[0].Pointer)
	require.Equal(t, mcp.Revision20250618, found[0].Revision)
	require.True(t, found[0].Response)
}

func TestConnectFailsTheTest(t *testing.T) {
	failure := errors.New("gone")
	for want, connect := range map[string]func(t mcptest.TB){
		`unknown revision "1999-01-01"`:    func(t mcptest.TB) { mcptest.Connect(t, greeterServer(), wire.NewRevision(0, "1999-01-01")) },
		`unknown revision "all revisions"`: func(t mcptest.TB) { mcptest.Connect(t, greeterServer(), wire.Revision{}) },
		"connect with revision 2026-07-28: ": func(t mcptest.TB) {
			bad := &mcp.ClientCapabilities{Extensions: map[string]mcp.JSONObject{"x": {"y": json.RawMessage("{")}}}
			(&mcptest.Client{Capabilities: bad}).Connect(t, greeterServer(), mcp.Revision20260728)
		},
		"the server selected the revision": func(t mcptest.TB) {
			mcptest.Connect(t, changeLines(greeterServer(), replacing("2025-06-18", "2025-03-26")), mcp.Revision20250618)
		},
		"the server failed: gone": func(t mcptest.TB) {
			mcptest.Connect(t, serveFunc(func(context.Context, io.ReadCloser, io.WriteCloser) error { return failure }), mcp.Revision20260728)
		},
	} {
		failures := failuresOf(connect)
		require.NotEmpty(t, failures)
		require.Contains(t, failures[len(failures)-1]+failures[0], want)
	}
}

func TestClientDeclaresCapabilitiesOfHandlers(t *testing.T) {
	mux := new(peer.Mux)
	mcp.HandleListRoots(mux, func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
		return &mcp.ListRootsResult{}, nil
	})
	mcp.HandleCreateMessage(mux, func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return nil, errors.New("no model")
	})
	client := mcptest.Client{Mux: mux, Info: mcp.Implementation{Name: "me", Version: "3"}, Revisions: []wire.Revision{mcp.Revision20251125}}
	var sent string
	s := serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		line, err := bufio.NewReader(in).ReadString('\n')
		sent = line
		return errors.Join(err, in.Close(), out.Close())
	})
	failures := failuresOf(func(t mcptest.TB) { client.Connect(t, s, mcp.Revision20251125) })
	require.NotEmpty(t, failures)
	require.Contains(t, sent, `"roots":{"listChanged":true}`)
	require.Contains(t, sent, `"sampling":{`)
	require.Contains(t, sent, `"name":"me"`)
	require.NotContains(t, sent, "elicitation")
}

func TestClientMaxMessage(t *testing.T) {
	long := strings.Repeat("a", 5<<20)
	mux := new(peer.Mux)
	mcp.HandleCallTool(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult(long), nil
	})
	server := mcptest.InProcess(func() peer.Handler {
		return connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
			Mux:          mux,
			Info:         mcp.Implementation{Name: "talker", Version: "1"},
			Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
		}), nil)
	})
	client := &mcptest.Client{MaxMessage: 6 << 20}
	res, err := client.Connect(t, server, mcp.Revision20260728).CallTool(t.Context(), &mcp.CallToolRequest{Name: "talk"})
	require.NoError(t, err)
	require.Equal(t, long, mcp.TextOf(res.Content))
	_, err = mcptest.Connect(t, server, mcp.Revision20260728).CallTool(t.Context(), &mcp.CallToolRequest{Name: "talk"})
	require.ErrorContains(t, err, "longer than 4194304 bytes")
}

// respondingClient returns a client with a handler for elicitations.
func respondingClient() *mcptest.Client {
	mux := new(peer.Mux)
	mcp.HandleElicit(mux, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada"}}, nil
	})
	return &mcptest.Client{Mux: mux}
}

func TestHandlersRespondInEachRevision(t *testing.T) {
	client := respondingClient()
	client.Revisions = []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728}
	client.Run(t, greeterServer(), func(t *testing.T, c *mcptest.Conn) {
		req := &mcp.CallToolRequest{Name: "ask"}
		res, err := c.CallTool(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, mcp.TextResult("hello Ada").Content, res.Content)
		require.Nil(t, req.InputResponses, "the caller's request is not changed")
	})
}

func TestInputRoundsAreLimited(t *testing.T) {
	c := respondingClient().Connect(t, greeterServer(), mcp.Revision20260728)
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask forever"})
	require.ErrorContains(t, err, "requested input 10 times")
}

func TestRequestsAreSentAgainWithInput(t *testing.T) {
	c := mcptest.Connect(t, greeterServer(), mcp.Revision20260728)
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptRequest{Name: "p"})
	require.NoError(t, err)
	require.Equal(t, "again", prompt.Description)
	resource, err := c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: "x:y"})
	require.NoError(t, err)
	require.Equal(t, "again", resource.Contents[0].(*mcp.TextResourceContents).Text)
}

func TestInputRequestsWithoutResponseFail(t *testing.T) {
	declared := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.JSONObject{}}}
	failing := new(peer.Mux)
	mcp.HandleElicit(failing, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return nil, errors.New("no user")
	})
	for want, client := range map[string]mcptest.Client{
		`no handler for "elicitation/create"`: {Capabilities: declared},
		"no user":                             {Mux: failing},
	} {
		c := client.Connect(t, greeterServer(), mcp.Revision20260728)
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
		require.ErrorContains(t, err, want)
	}
	report := func(*mcptest.Violation) {} // the input request is invalid
	unknown := changeLines(greeterServer(), replacing("elicitation/create", "elicitation/make"))
	c := (&mcptest.Client{Report: report}).Connect(t, unknown, mcp.Revision20260728)
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
	require.ErrorContains(t, err, "unknown method")
}

func TestServerThatDoesNotStopFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			r, w := io.Pipe() // never closed, so that the server does not stop
			go io.Copy(w, in) // ends when in is closed
			defer r.Close()
			return greeterServer().ServeStreams(ctx, r, out)
		})
		failures := failuresOf(func(t mcptest.TB) { mcptest.Connect(t, server, mcp.Revision20251125) })
		require.Equal(t, []string{"mcptest: the server did not stop within 5s after its input was closed"}, failures)
	})
}

func TestCommandPassesInEachRevision(t *testing.T) {
	t.Setenv(runAsServer, "serve")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else the race detector waits a second at exit
	var stderr strings.Builder
	mcptest.Run(t, mcptest.Command(&stderr, os.Args[0]), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, mcp.TextResult("hello").Content, res.Content)
	})
	require.Equal(t, strings.Repeat("started\n", len(mcp.Revisions)), stderr.String())
}

func TestCommandThatFailsFailsTheTest(t *testing.T) {
	t.Setenv(runAsServer, "fail")
	failures := failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.Command(nil, os.Args[0]), mcp.Revision20251125) })
	require.Contains(t, strings.Join(failures, "\n"), "exit status 3")
	failures = failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.Command(nil, "/no/such/program"), mcp.Revision20251125) })
	require.Contains(t, strings.Join(failures, "\n"), "/no/such/program")
}

// TestPackageCommentHasDocTest checks that the first test in the package comment is the
// test in doc_test.go.
func TestPackageCommentHasDocTest(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	test, err := os.ReadFile("doc_test.go")
	require.NoError(t, err)
	_, body, _ := strings.Cut(string(test), "\n")
	var comment strings.Builder
	for line := range strings.Lines(body) {
		comment.WriteString(strings.TrimRight("//\t"+line, "\t\n") + "\n")
	}
	want := strings.ReplaceAll(comment.String(), "//\t\n", "//\n")
	require.Contains(t, string(doc), want)
}
