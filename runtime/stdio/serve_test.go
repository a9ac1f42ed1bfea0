//go:build unix

package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/stretchr/testify/require"
)

// client is the other end of a server in this process.
type client struct {
	io.Writer
	answers chan string // one message each, closed when the server closes its output
	in, out io.Closer   // our ends of its input and output
	ended   chan error
}

// serve runs a server in this process on pipes; reader, where it is not nil,
// is put before its input.
func serve(t *testing.T, ctx context.Context, h peer.Handler, reader func(io.Reader) io.Reader) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var input io.ReadCloser = in
	if reader != nil {
		input = struct {
			io.Reader
			io.Closer
		}{reader(in), in}
	}
	c := &client{toServer, make(chan string, 100), toServer, fromServer, make(chan error, 1)}
	go c.read(fromServer) // ends when either side closes the pipe
	go func() { c.ended <- stdio.ServeStreams(ctx, input, out, h, nil) }()
	return c
}

func (c *client) read(r io.Reader) {
	defer close(c.answers)
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		c.answers <- line
	}
}

// answer reads one message.
func (c *client) answer(t *testing.T) string {
	t.Helper()
	line, ok := <-c.answers
	require.True(t, ok, "there is no answer")
	return line
}

// converse plays a transcript. Of what is expected, each member that is
// written there must arrive, so that texts need not be.
func (c *client) converse(t *testing.T, file, end string) {
	t.Helper()
	transcript, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(transcript)) {
		line = strings.TrimSuffix(line, "\n")
		switch text := line[2:]; line[:2] {
		case "> ":
			_, err := io.WriteString(c, text+end)
			require.NoError(t, err)
		case "< ":
			got := c.answer(t)
			require.NotContains(t, got, "\r")
			require.Subset(t, flat(t, got), flat(t, text), "%s\n%s", got, text)
		}
	}
}

// flat is an object with the members of its inner objects as its own.
func flat(t *testing.T, text string) map[string]any {
	t.Helper()
	members := make(map[string]any)
	require.NoError(t, json.Unmarshal([]byte(text), &members))
	if e, ok := members["error"].(map[string]any); ok {
		delete(members, "error")
		for name, value := range e {
			members["error/"+name] = value
		}
	}
	return members
}

func TestLinesOfEveryKind(t *testing.T) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "LF and blank lines": "\n\n\r\n"} {
		for pace, reader := range map[string]func(io.Reader) io.Reader{"": nil, ", byte by byte": iotest.OneByteReader} {
			t.Run(name+pace, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := serve(t, t.Context(), tools, reader)
					c.converse(t, "testdata/lines.jsonl", end)
					c.in.Close()
					require.NoError(t, <-c.ended)
				})
			})
		}
	}
}

func TestALineThatIsTooLongIsRefusedAndTheNextServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		go func() {
			_, _ = io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`)
			_, _ = c.Write(bytes.Repeat([]byte("x"), 10<<20))
			_, _ = io.WriteString(c, "\"}}\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		}()
		answers := c.answer(t) + c.answer(t) // in either order
		require.Contains(t, answers, "-32700")
		require.Contains(t, answers, `"id":2,"result"`)
		c.in.Close()
		require.NoError(t, <-c.ended)
	})
}

func TestAMillionBytesOnALineAreNoTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		go func() {
			_, _ = io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 1<<20)+"\"}}\n")
		}()
		require.Contains(t, c.answer(t), `"id":1,"result"`)
		c.in.Close()
		require.NoError(t, <-c.ended)
	})
}

func TestTheInputMayEndAnywhere(t *testing.T) {
	request := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, n := range []int{0, 1, len(request) / 2, len(request) - 1} {
		synctest.Test(t, func(t *testing.T) {
			c := serve(t, t.Context(), tools, nil)
			_, err := io.WriteString(c, request[:n])
			require.NoError(t, err)
			c.in.Close()
			require.NoError(t, <-c.ended)
		})
	}
}

func TestTheInputMayEndBeforeTheAnswers(t *testing.T) {
	const n = 20
	var input strings.Builder
	for id := range n {
		fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id)
	}
	stdout, stderr, err := run(t, "server", input.String())
	require.NoError(t, err, stderr)
	require.Equal(t, n, strings.Count(stdout, `"result":{}`), stdout)
}

func TestTheEndOfTheInputEndsARequestThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		_, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		began := time.Now()
		c.in.Close()
		require.Contains(t, c.answer(t), `"id":1,"error"`)
		require.NoError(t, <-c.ended)
		require.InDelta(t, time.Second, time.Since(began), float64(2*time.Millisecond)) // in which the handler's goroutine read
	})
}

func TestTheContextEndsTheServerAndItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := serve(t, ctx, tools, nil)
		_, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		enough := errors.New("enough")
		cancel(enough)
		require.Contains(t, c.answer(t), `"id":1,`)
		require.ErrorIs(t, <-c.ended, enough)
		_, more := <-c.answers
		require.False(t, more)
	})
}

func TestWhoWaitsAtASocketIsToldOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- stdio.ServeStreams(ctx, theirs, theirs, tools, nil) }()
		_, err := io.WriteString(ours, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		cancel()
		line, err := bufio.NewReader(ours).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, `"id":1,`)
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestAPipeSpeaksTheEraThatItsFirstRequestOpens(t *testing.T) {
	for _, era := range []string{"handshake", "envelope"} {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := false
				h := connection.NewPipe(waiter(func(ctx context.Context) {
					transport, ok := mcp.SessionFromContext(ctx).Transport().(*stdio.TransportContext)
					require.True(t, ok)
					require.Equal(t, era == "handshake", transport.CanSendRequest())
					require.Equal(t, stdio.Kind, transport.Kind())
					require.False(t, transport.NotifyOnly().CanSendRequest())
					connection.FromContext(ctx).OnClose(func(context.Context) error { closed = true; return nil })
				}), nil)
				c := serve(t, t.Context(), h, nil)
				c.converse(t, "testdata/"+era+".jsonl", "\n")
				c.in.Close()
				require.NoError(t, <-c.ended)
				require.True(t, closed, "the connection has been torn down")
			})
		})
	}
}

func TestTheFirstLineDecidesWhateverFollowsAtOnce(t *testing.T) {
	modern := `{"jsonrpc":"2.0","id":"modern","method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	old := `{"jsonrpc":"2.0","id":"old","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	bare := `{"jsonrpc":"2.0","id":"bare","method":"ping"}` + "\n"
	for lines, refused := range map[string]string{
		modern + old + bare: `"old","error":{"code":-32022`,
		old + modern + bare: `"modern","error":{"code":-32600`,
		bare + modern + old: `"modern","error":{"code":-32600`,
	} {
		synctest.Test(t, func(t *testing.T) {
			h := connection.NewPipe(waiter(func(context.Context) {}), nil)
			c := serve(t, t.Context(), h, nil)
			_, err := io.WriteString(c, lines)
			require.NoError(t, err)
			require.Contains(t, c.answer(t)+c.answer(t)+c.answer(t), refused)
			c.in.Close()
			require.NoError(t, <-c.ended)
		})
	}
}

// waiter serves one tool that asks its client, or at least reports to it.
func waiter(seat func(ctx context.Context)) *connection.Dispatcher {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seat(ctx)
		s := mcp.SessionFromContext(ctx)
		if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: s.Revision().String()}}}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "waiter", Version: "1"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	})
}

func TestAClientThatReadsNoLongerHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		c.out.Close()
		_, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		require.NoError(t, err)
		require.NoError(t, <-c.ended)
	})
}

func TestAClientThatDoesNotReadDoesNotKeepTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, toServer := io.Pipe()
		_, out := io.Pipe()
		ended := make(chan error)
		go func() { ended <- stdio.ServeStreams(t.Context(), in, out, tools, nil) }()
		_, err := io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		toServer.Close()
		require.NoError(t, <-ended)
	})
}

// run gives a child its whole input at once and returns what it wrote.
func run(t *testing.T, role, input string) (stdout, stderr string, err error) {
	t.Helper()
	command := child(t, role)
	c := exec.CommandContext(t.Context(), command.Path)
	c.Env = append(os.Environ(), command.Env...)
	c.Stdin = strings.NewReader(input)
	var out, log strings.Builder
	c.Stdout, c.Stderr = &out, &log
	err = c.Run()
	return out.String(), log.String(), err
}

func TestStrayPrintsDoNotReachTheClient(t *testing.T) {
	var log strings.Builder
	rubbish := make(chan error, 100)
	p := start(t, child(t, "server"), &stdio.StartOptions{
		Stderr: &log, JSONRPC: jsonrpc.Options{OnError: func(err error) { rubbish <- err }},
	})
	said, err := callTool(t.Context(), p, "print")
	require.NoError(t, err)
	require.Equal(t, "0 <nil>", said, "standard input is empty")
	ping(t, p)
	require.NoError(t, p.Close())
	require.Empty(t, rubbish, "children do not inherit the wire")
	require.Equal(t, "stray print\nstray child\n", log.String())
}

func TestStandardOutputIsGivenBack(t *testing.T) {
	stdout, stderr, err := run(t, "afterwards", "")
	require.NoError(t, err, stderr)
	require.Equal(t, "mine again\n", stdout)
}

func TestStandardPipesCanBeServedOneAfterTheOther(t *testing.T) {
	command := child(t, "again")
	c := exec.CommandContext(t.Context(), command.Path)
	c.Env = append(os.Environ(), command.Env...)
	var answers strings.Builder
	c.Stdout = &answers
	in, err := c.StdinPipe()
	require.NoError(t, err)
	log, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	ends := bufio.NewReader(log)
	for range 2 { // a message sent before the first has ended could be lost with it
		_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		require.NoError(t, err)
		end, err := ends.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "that is enough\n", end)
	}
	require.NoError(t, c.Wait())
	require.Equal(t, 2, strings.Count(answers.String(), `"id":1,`), answers.String())
}

func TestThereIsOneServerOnTheStandardPipes(t *testing.T) {
	p := start(t, child(t, "twice"), nil)
	res, err := peer.SendRequest(t.Context(), p, &mcp.CallToolRequest{Name: "serve"})
	require.NoError(t, err)
	require.Equal(t, "true", res.Content[0].(*mcp.TextContent).Text)
}

func TestAServerMayEndBeforeItsInput(t *testing.T) {
	p := start(t, child(t, "cancelled"), nil)
	_, err := callTool(t.Context(), p, "any")
	if err != nil && peer.AsError(err) == nil { // the server's goodbye may be lost, but not what happened
		require.ErrorAs(t, err, new(*stdio.ExitError))
	}
	await(t, p.Done())
	require.True(t, p.State().Success(), p.Stderr())
	require.ErrorAs(t, p.Wait(), new(*stdio.ExitError))
}
