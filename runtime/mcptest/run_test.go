package mcptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
)

// watched is a test whose failures are watched by another one.
type watched struct {
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (w *watched) Helper()                  {}
func (w *watched) Context() context.Context { return context.Background() }
func (w *watched) Cleanup(f func())         { w.cleanups = append(w.cleanups, f) }

func (w *watched) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func (w *watched) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	runtime.Goexit()
}

// failuresOf runs a test to its end and returns how it failed.
func failuresOf(test func(t mcptest.TB)) []string {
	w := new(watched)
	ended := make(chan struct{})
	go func() { // ends with the test
		defer close(ended)
		defer func() {
			for i := range w.cleanups {
				w.cleanups[len(w.cleanups)-1-i]()
			}
		}()
		test(w)
	}()
	<-ended
	return w.failures
}

// answering is a client that answers questions.
func answering() *mcptest.Client {
	mux := new(peer.Mux)
	mcp.HandleElicit(mux, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada"}}, nil
	})
	return &mcptest.Client{Mux: mux}
}

func TestAGoodServerPassesInEveryRevision(t *testing.T) {
	var seen []string
	mcptest.Run(t, greeter(), func(t *testing.T, c *mcptest.Conn) {
		seen = append(seen, c.Revision().String())
		require.Equal(t, "greeter", c.Server().Name)
		require.NotNil(t, c.Capabilities().Tools)
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
		require.Equal(t, r.Revision.String(), seen[i])
	}
}

func TestQuestionsAreAnsweredInBothEras(t *testing.T) {
	client := answering()
	client.Revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}
	client.Run(t, greeter(), func(t *testing.T, c *mcptest.Conn) {
		req := &mcp.CallToolRequest{Name: "ask"}
		res, err := c.CallTool(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, mcp.TextResult("hello Ada").Content, res.Content)
		require.Nil(t, req.InputResponses, "the caller's request is as it was")
	})
}

func TestAServerThatAsksForEverIsGivenUp(t *testing.T) {
	c := answering().Connect(t, greeter(), "2026-07-28")
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask for ever"})
	require.ErrorContains(t, err, "asked for input 10 times")
}

func TestEveryRequestThatMayBeAnsweredWithAQuestionIsSentAgain(t *testing.T) {
	c := mcptest.Connect(t, greeter(), "2026-07-28")
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptRequest{Name: "p"})
	require.NoError(t, err)
	require.Equal(t, "again", prompt.Description)
	resource, err := c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: "x:y"})
	require.NoError(t, err)
	require.Equal(t, "again", resource.Contents[0].(*mcp.TextResourceContents).Text)
}

func TestAQuestionThatNobodyAnswersIsAnError(t *testing.T) {
	lying := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: mcp.JSONObject{}}}
	broken := new(peer.Mux)
	mcp.HandleElicit(broken, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return nil, errors.New("nobody there")
	})
	for want, client := range map[string]mcptest.Client{
		`no handler for "elicitation/create"`: {Capabilities: lying},
		"nobody there":                        {Mux: broken},
	} {
		c := client.Connect(t, greeter(), "2026-07-28")
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
		require.ErrorContains(t, err, want)
	}
	report := func(*mcptest.Violation) {} // the question is none
	unknown := mutilated(greeter(), replacing("elicitation/create", "elicitation/make"))
	c := (&mcptest.Client{Report: report}).Connect(t, unknown, "2026-07-28")
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
	require.ErrorContains(t, err, "of no kind that the revision knows")
}

func TestAClientDeclaresWhatItHandles(t *testing.T) {
	mux := new(peer.Mux)
	mcp.HandleListRoots(mux, func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
		return &mcp.ListRootsResult{}, nil
	})
	mcp.HandleCreateMessage(mux, func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return nil, errors.New("no model")
	})
	client := mcptest.Client{Mux: mux, Info: mcp.Implementation{Name: "me", Version: "3"}, Revisions: []string{"2025-11-25"}}
	var said string
	s := serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		line, err := bufio.NewReader(in).ReadString('\n')
		said = line
		return errors.Join(err, in.Close(), out.Close())
	})
	failures := failuresOf(func(t mcptest.TB) { client.Connect(t, s, "2025-11-25") })
	require.NotEmpty(t, failures)
	require.Contains(t, said, `"roots":{"listChanged":true}`)
	require.Contains(t, said, `"sampling":{`)
	require.Contains(t, said, `"name":"me"`)
	require.NotContains(t, said, "elicitation")
}

func TestAServerThatDoesNotEndFailsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			r, w := io.Pipe() // whose end the good server never sees
			go io.Copy(w, in) // ends with the pipe of its input
			defer r.Close()
			return greeter().ServeStreams(ctx, r, out)
		})
		failures := failuresOf(func(t mcptest.TB) { mcptest.Connect(t, stubborn, "2025-11-25") })
		require.Equal(t, []string{"mcptest: the server has not ended 5s after its input did"}, failures)
	})
}

func TestAPipeOfOnesOwnCanBeTapped(t *testing.T) {
	var found []string
	ours, theirs := net.Pipe()
	tapped := mcptest.TapPipe(func(v *mcptest.Violation) { found = append(found, short(v)) }, ours, mcptest.FromServer)
	go func() { // ends when the pipe is closed
		defer theirs.Close()
		_, _ = io.WriteString(theirs, "\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n")
		_, _ = io.Copy(io.Discard, io.LimitReader(theirs, 37))
		_, _ = io.WriteString(theirs, "half")
	}()
	lines := bufio.NewReader(tapped)
	for range 2 {
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}
	for _, part := range []string{`{"jsonrpc":"2.0"`, `,"id":1,"result":`, "{}}\n"} {
		_, err := io.WriteString(tapped, part)
		require.NoError(t, err)
	}
	require.Empty(t, found)
	_, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, []string{"2025-11-25 no acceptable JSON: unexpected 'h'"}, found, "a last line needs no end")
	require.NoError(t, tapped.Close())
}

func TestAConversationOnAPipeBeginsWithWhatTheClientSpeaks(t *testing.T) {
	const (
		ping      = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
		logged    = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
		asks      = `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`
		changed   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		lists     = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
		ready     = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		enveloped = `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	)
	for _, begins := range []string{hello, enveloped} {
		var found []string
		ours, theirs := net.Pipe()
		tapped := mcptest.TapPipe(func(v *mcptest.Violation) { found = append(found, short(v)) }, ours, mcptest.FromClient)
		server := bufio.NewReader(theirs)
		say := func(from mcptest.Sender, message string) []string {
			found = nil
			writer, reader := io.Writer(theirs), bufio.NewReader(tapped)
			if from == mcptest.FromClient {
				writer, reader = tapped, server
			}
			go io.WriteString(writer, message+"\n") // ends when it has been read
			_, err := reader.ReadString('\n')
			require.NoError(t, err)
			return found
		}
		const early = "2025-11-25 the client has not said yet what it speaks"
		require.Empty(t, say(mcptest.FromServer, ping))
		require.Empty(t, say(mcptest.FromClient, ping))
		require.Empty(t, say(mcptest.FromServer, logged))
		require.Equal(t, []string{early}, say(mcptest.FromServer, asks))
		require.Equal(t, []string{early}, say(mcptest.FromServer, changed))
		require.Equal(t, []string{early}, say(mcptest.FromClient, lists))
		require.Equal(t, []string{early}, say(mcptest.FromClient, ready))
		require.Empty(t, say(mcptest.FromClient, begins))
		require.Empty(t, say(mcptest.FromServer, changed))
		require.NoError(t, tapped.Close())
	}
}

func TestAViolationTellsWhoSaidWhat(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("é", 2000) + `"`)
	for want, v := range map[string]*mcptest.Violation{
		"2025-06-18: the client's message \"ping\": /id: bad\n\t{\"id\":5}": {
			Revision: "2025-06-18", Method: "ping", Pointer: "/id", Problem: "bad", Message: []byte("{\n  \"id\": 5\n}"),
		},
		"R: the server's answer: bad\n\t\"\\nx\"":                             {Revision: "R", From: mcptest.FromServer, Answer: true, Problem: "bad", Message: []byte("\nx")},
		"R: the client's message: bad\n\t\"" + strings.Repeat("é", 499) + "…": {Revision: "R", Problem: "bad", Message: long},
	} {
		require.EqualError(t, v, want)
	}
	require.Equal(t, "2026-07-28", mcptest.NewJudge("2026-07-28").Revision())
	require.Equal(t, "2025-11-25", mcptest.NewJudge("").Revision())
}

func TestAMutilatedResultFailsTheTest(t *testing.T) {
	for revision, want := range map[string]string{
		"2024-11-05": `2024-11-05: the server's answer to "tools/call": /result: missing properties: 'content'`,
		"2026-07-28": `2026-07-28: the server's answer to "tools/call": /result: missing properties: 'content'`,
	} {
		bad := mutilated(greeter(), replacing(`"content":`, `"contents":`))
		failures := failuresOf(func(t mcptest.TB) {
			c := mcptest.Connect(t, bad, revision)
			_, _ = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		})
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], want)
		require.Contains(t, failures[0], `contents`, "the message is shown")
	}
}

func TestAServerThatForgetsTheResultTypeFailsTheTest(t *testing.T) {
	bad := mutilated(greeter(), replacing(`"resultType":"complete",`, ``))
	failures := failuresOf(func(t mcptest.TB) {
		mcptest.Connect(t, bad, "2026-07-28")
	})
	require.Len(t, failures, 1, "the client reads it all the same")
	require.Contains(t, failures[0], `answer to "server/discover": /result: missing properties: 'resultType'`)
	require.Empty(t, failuresOf(func(t mcptest.TB) { mcptest.Connect(t, bad, "2025-11-25") }))
}

func TestAMemberTooManyIsNobodysFault(t *testing.T) {
	mcptest.Run(t, mutilated(greeter(), replacing(`"result":{"`, `"result":{"acme":1,"`)), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.NoError(t, err)
		require.Contains(t, res.Extra, "acme")
	})
}

func TestViolationsCanBeReportedElsewhere(t *testing.T) {
	var found []*mcptest.Violation
	client := mcptest.Client{Report: func(v *mcptest.Violation) { found = append(found, v) }}
	c := client.Connect(t, mutilated(greeter(), replacing(`"text":"hello"`, `"text":0`)), "2025-06-18")
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.Error(t, err)
	require.NoError(t, c.Close())
	require.Len(t, found, 1)
	require.Equal(t, mcptest.FromServer, found[0].From)
	require.Equal(t, mcp.MethodCallTool, found[0].Method)
	require.Equal(t, "/result/content/0/text", found[0].Pointer)
	require.Equal(t, "2025-06-18", found[0].Revision)
	require.True(t, found[0].Answer)
}

func TestAConnectionThatCannotBeMadeFailsTheTest(t *testing.T) {
	gone := errors.New("gone")
	for want, connect := range map[string]func(t mcptest.TB){
		`no revision "1999-01-01"`: func(t mcptest.TB) { mcptest.Connect(t, greeter(), "1999-01-01") },
		"connect in 2026-07-28: ": func(t mcptest.TB) {
			bad := &mcp.ClientCapabilities{Extensions: map[string]mcp.JSONObject{"x": {"y": json.RawMessage("{")}}}
			(&mcptest.Client{Capabilities: bad}).Connect(t, greeter(), "2026-07-28")
		},
		"the server speaks": func(t mcptest.TB) {
			mcptest.Connect(t, mutilated(greeter(), replacing("2025-06-18", "2025-03-26")), "2025-06-18")
		},
		"the server ended with an error: gone": func(t mcptest.TB) {
			mcptest.Connect(t, serveFunc(func(context.Context, io.ReadCloser, io.WriteCloser) error { return gone }), "2026-07-28")
		},
	} {
		failures := failuresOf(connect)
		require.NotEmpty(t, failures)
		require.Contains(t, failures[len(failures)-1]+failures[0], want)
	}
}

func TestNothingIsReportedToATestThatIsOver(t *testing.T) {
	var report func(*mcptest.Violation)
	failures := failuresOf(func(t mcptest.TB) { report = mcptest.Fail(t) })
	report(&mcptest.Violation{Problem: "late"})
	require.Empty(t, failures)
}

func TestAnAnswerMayBeAsLongAsTheClientSays(t *testing.T) {
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
	res, err := client.Connect(t, server, mcp.LatestRevision).CallTool(t.Context(), &mcp.CallToolRequest{Name: "talk"})
	require.NoError(t, err)
	require.Equal(t, long, mcp.TextOf(res.Content))
	_, err = mcptest.Connect(t, server, mcp.LatestRevision).CallTool(t.Context(), &mcp.CallToolRequest{Name: "talk"})
	require.ErrorContains(t, err, "longer than 4194304 bytes")
}
