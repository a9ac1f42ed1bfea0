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
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// client is the client of a server in this process.
type client struct {
	io.Writer
	lines   chan string // the messages of the server, closed when the server closes its output
	in, out io.Closer   // the client's ends of the pipes to the server's input and output
	ended   chan error
}

// serve runs a server in this process on pipes. The server reads its input through
// reader, if it is not nil.
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
	go c.readLines(fromServer) // returns when either side closes the pipe
	go func() { c.ended <- stdio.ServeStreams(ctx, input, out, h, nil) }()
	return c
}

func (c *client) readLines(r io.Reader) {
	defer close(c.lines)
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		c.lines <- line
	}
}

// read returns the next message of the server.
func (c *client) read(t *testing.T) string {
	t.Helper()
	line, ok := <-c.lines
	require.True(t, ok, "no message")
	return line
}

// play plays a transcript. Lines that begin with ">" are sent, and lines that begin with
// "<" are expected. A received message may have more members than expected.
func (c *client) play(t *testing.T, file, end string) {
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
			got := c.read(t)
			require.NotContains(t, got, "\r")
			require.Subset(t, flatten(t, got), flatten(t, text), "%s\n%s", got, text)
		}
	}
}

// flatten returns the members of an object. Those of its member "error" get names such as
// "error/code".
func flatten(t *testing.T, text string) map[string]any {
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

func TestLineEndings(t *testing.T) {
	for name, end := range map[string]string{"LF": "\n", "CRLF": "\r\n", "LF and blank lines": "\n\n\r\n"} {
		for pace, reader := range map[string]func(io.Reader) io.Reader{"": nil, ", byte by byte": iotest.OneByteReader} {
			t.Run(name+pace, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := serve(t, t.Context(), tools, reader)
					c.play(t, "testdata/lines.jsonl", end)
					c.in.Close()
					require.NoError(t, <-c.ended)
				})
			})
		}
	}
}

func TestObserveOfServerReceivesBytesOfBothDirections(t *testing.T) {
	var mu sync.Mutex
	observed := map[bool]string{} // sent or not
	in := io.NopCloser(iotest.OneByteReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\nhello\n")))
	var out bytes.Buffer
	require.NoError(t, stdio.ServeStreams(t.Context(), in, struct {
		io.Writer
		io.Closer
	}{&out, in}, nil, &stdio.ServeOptions{Observe: func(sent bool, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		observed[sent] += string(b)
	}}))
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\nhello\n", observed[false])
	require.Equal(t, out.String(), observed[true])
	require.Equal(t, 2, strings.Count(observed[true], "\n"), "a response, and an error for what is no message")
}

func TestTooLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		go func() {
			_, _ = io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`)
			_, _ = c.Write(bytes.Repeat([]byte("x"), 10<<20))
			_, _ = io.WriteString(c, "\"}}\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		}()
		got := c.read(t) + c.read(t) // in either order
		require.Contains(t, got, "-32700")
		require.Contains(t, got, `"id":2,"result"`)
		c.in.Close()
		require.NoError(t, <-c.ended)
	})
}

func TestLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		go func() {
			_, _ = io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 1<<20)+"\"}}\n")
		}()
		require.Contains(t, c.read(t), `"id":1,"result"`)
		c.in.Close()
		require.NoError(t, <-c.ended)
	})
}

func TestInputEndsWithinMessage(t *testing.T) {
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

func TestInputEndsBeforeResponses(t *testing.T) {
	const n = 20
	var input strings.Builder
	for id := range n {
		fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id)
	}
	stdout, stderr, err := run(t, "server", input.String())
	require.NoError(t, err, stderr)
	require.Equal(t, n, strings.Count(stdout, `"result":{}`), stdout)
}

func TestPatienceEndsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		_, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		began := time.Now()
		c.in.Close()
		require.Contains(t, c.read(t), `"id":1,"error"`)
		require.NoError(t, <-c.ended)
		require.InDelta(t, time.Second, time.Since(began), float64(2*time.Millisecond)) // the goroutine of the handler also reads lines
	})
}

func TestContextEndsServerAndHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := serve(t, ctx, tools, nil)
		_, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		errCancelled := errors.New("cancelled by the test")
		cancel(errCancelled)
		require.Contains(t, c.read(t), `"id":1,`)
		require.ErrorIs(t, <-c.ended, errCancelled)
		_, more := <-c.lines
		require.False(t, more)
	})
}

func TestContextEndsRequestOverSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clientEnd, serverEnd := net.Pipe()
		defer clientEnd.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- stdio.ServeStreams(ctx, serverEnd, serverEnd, tools, nil) }()
		_, err := io.WriteString(clientEnd, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`+"\n")
		require.NoError(t, err)
		synctest.Wait()
		cancel()
		line, err := bufio.NewReader(clientEnd).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, `"id":1,`)
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}

func TestClientClosesOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, t.Context(), tools, nil)
		c.out.Close()
		_, err := io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		require.NoError(t, err)
		require.NoError(t, <-c.ended)
	})
}

func TestClientDoesNotRead(t *testing.T) {
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

// run runs a child with the given standard input and returns its output.
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

func TestPrintsDoNotReachClient(t *testing.T) {
	var log strings.Builder
	errs := make(chan error, 100)
	p := start(t, child(t, "server"), &stdio.StartOptions{
		Stderr: &log, JSONRPC: jsonrpc.Options{OnError: func(err error) { errs <- err }},
	})
	got, err := callTool(t.Context(), p, "print")
	require.NoError(t, err)
	require.Equal(t, "0 <nil>", got, "standard input is empty")
	ping(t, p)
	require.NoError(t, p.Close())
	require.Empty(t, errs, "children do not inherit the connection")
	require.Equal(t, "printed by tool\nprinted by child\n", log.String())
}

func TestServeRestoresStandardOutput(t *testing.T) {
	stdout, stderr, err := run(t, "print", "")
	require.NoError(t, err, stderr)
	require.Equal(t, "after Serve\n", stdout)
}

func TestServeTwiceInSequence(t *testing.T) {
	command := child(t, "repeated")
	c := exec.CommandContext(t.Context(), command.Path)
	c.Env = append(os.Environ(), command.Env...)
	var output strings.Builder
	c.Stdout = &output
	in, err := c.StdinPipe()
	require.NoError(t, err)
	log, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewReader(log)
	for range 2 { // the first Serve may read ahead and lose a message that is sent before it ends
		_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		require.NoError(t, err)
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "cancelled by the handler\n", line)
	}
	require.NoError(t, c.Wait())
	require.Equal(t, 2, strings.Count(output.String(), `"id":1,`), output.String())
}

func TestSecondServeReturnsErrClaimed(t *testing.T) {
	p := start(t, child(t, "twice"), nil)
	res, err := peer.SendRequest(t.Context(), p, &mcp.CallToolRequest{Name: "serve"})
	require.NoError(t, err)
	require.Equal(t, "true", res.Content[0].(*mcp.TextContent).Text)
}

func TestServerEndsBeforeItsInput(t *testing.T) {
	p := start(t, child(t, "cancelled"), nil)
	_, err := callTool(t.Context(), p, "any")
	if err != nil && peer.AsError(err) == nil { // the response may be lost, but not the cause
		require.ErrorAs(t, err, new(*stdio.ExitError))
	}
	receive(t, p.Done())
	require.True(t, p.State().Success(), p.Stderr())
	require.ErrorAs(t, p.Wait(), new(*stdio.ExitError))
}
