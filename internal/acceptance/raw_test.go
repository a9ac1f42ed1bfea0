package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// raw is a client that writes any bytes. The messages of the server are validated.
type raw struct {
	t     *testing.T
	pipe  io.ReadWriteCloser
	lines *bufio.Reader
	meta  string
}

// dial connects to a server on a pipe. In a handshake revision it completes the handshake.
func dial(t *testing.T, s *mcpserver.Server, revision string) *raw {
	t.Helper()
	return dialWith(t, s, revision, "{}")
}

// dialWith is like dial, with the capabilities that the client declares in the handshake.
func dialWith(t *testing.T, s *mcpserver.Server, revision, capabilities string) *raw {
	t.Helper()
	clientEnd, serverEnd := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStreams(context.Background(), serverEnd, serverEnd) }() // returns when the pipe is closed
	t.Cleanup(func() {
		clientEnd.Close()
		<-served
	})
	pipe := mcptest.TapPipe(serverFails(t), clientEnd, mcptest.FromClient)
	c := &raw{t: t, pipe: pipe, lines: bufio.NewReader(pipe)}
	if revision == "2026-07-28" {
		c.meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`
		return c
	}
	c.write(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, revision, capabilities)
	require.EqualValues(t, "0", c.read().ID)
	c.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// serverFails returns a function that fails the test for invalid messages of the server, but not of
// the client.
func serverFails(t *testing.T) func(*mcptest.Violation) {
	fail := mcptest.Fail(t)
	return func(v *mcptest.Violation) {
		if v.From == mcptest.FromServer {
			fail(v)
		}
	}
}

func (c *raw) write(format string, args ...any) {
	c.t.Helper()
	_, err := fmt.Fprintf(c.pipe, format+"\n", args...)
	require.NoError(c.t, err)
}

// call calls a tool. The id is also the progress token.
func (c *raw) call(id int, tool, season string) {
	c.t.Helper()
	c.write(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"season":%q},"_meta":{%s"progressToken":%[1]d}}}`,
		id, tool, season, c.meta)
}

// message is a request, a notification or a response.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProgressToken json.RawMessage
		Message       string
	}
	Result *struct{ Content []struct{ Text string } }
	Error  *struct{ Code int }
}

func (c *raw) read() (m message) {
	c.t.Helper()
	line, err := c.lines.ReadBytes('\n')
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(line, &m), "%s", line)
	return m
}

func TestGarbageFailsNoOtherCall(t *testing.T) {
	garbage := []string{
		"what?", "{", `{"jsonrpc":"2.0"`, "[]", "null", "\x00\xff\xfe", `{"jsonrpc":"2.0","id":99,"method":"ping","id":99}`,
		strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":null,"method":"ping"}`, strings.Repeat("x", 5<<20),
	}
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			r := newRig()
			c := dial(t, r.Server, revision)
			c.call(1, "wait", "spring")
			require.EqualValues(t, "1", c.read().Params.ProgressToken)
			within(t, r.began)
			for _, line := range garbage {
				go c.write("%s\r", line) // returns when the line is read, at the latest when the pipe is closed
				m := c.read()
				require.NotNil(t, m.Error, "%.80q", line)
				require.Contains(t, []int{mcp.CodeParse, mcp.CodeInvalidRequest}, m.Error.Code, "%.80q", line)
			}
			c.write("\r\n\n  \n")
			close(r.release)
			m := c.read()
			require.EqualValues(t, "1", m.ID)
			require.Equal(t, "spring", m.Result.Content[0].Text)
		})
	}
}

// TestConnectionsWithTheSameIDsAreSeparate connects two clients to one server that use the same ids
// and progress tokens.
func TestConnectionsWithTheSameIDsAreSeparate(t *testing.T) {
	for _, revisions := range [][2]string{{"2025-11-25", "2025-11-25"}, {"2026-07-28", "2026-07-28"}, {"2025-06-18", "2026-07-28"}} {
		t.Run(strings.Join(revisions[:], " and "), func(t *testing.T) {
			r := newRig()
			a, b := dial(t, r.Server, revisions[0]), dial(t, r.Server, revisions[1])
			for client, season := range map[*raw]string{a: "spring", b: "autumn"} {
				client.call(7, "wait", season)
				m := client.read()
				require.Equal(t, season, m.Params.Message)
				require.EqualValues(t, "7", m.Params.ProgressToken)
				require.Equal(t, season, within(t, r.began))
			}
			a.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			require.Error(t, within(t, r.ended))
			require.Empty(t, r.ended, "the call of the other client continues")
			a.call(8, "echo", "a")
			require.Equal(t, "a", a.read().Result.Content[0].Text, "a cancelled call has no response")
			close(r.release)
			m := b.read()
			require.EqualValues(t, "7", m.ID)
			require.Equal(t, "autumn", m.Result.Content[0].Text)
		})
	}
}

// TestPeerThatDoesNotReadBlocksNoOther connects a client that calls and never reads, and another client.
func TestPeerThatDoesNotReadBlocksNoOther(t *testing.T) {
	for _, revision := range kinds {
		t.Run("pipe/"+revision.String(), func(t *testing.T) {
			r, u := newRig(), &user{}
			idle := dial(t, r.Server, revision.String())
			written := make(chan struct{})
			go func() { // returns when the pipe is closed
				defer close(written)
				for i := range 1000 {
					if _, err := fmt.Fprintf(idle.pipe, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"keeps","_meta":{%s"x":1}}}`+"\n", i+1, idle.meta); err != nil {
						return
					}
				}
			}()
			within(t, r.kept)
			c := u.connect(t, overPipe(t, r.Server), revision)
			require.Len(t, call(t, c, u, "trip", `{}`).questions, 3)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			over := make(chan error, 1)
			go func() { over <- r.Shutdown(ctx) }() // returns when ctx ends, at the latest
			within(t, over)
			within(t, written)
		})
	}
	t.Run("HTTP", func(t *testing.T) {
		r, u := newRig(), &user{}
		url := serveHTTP(t, r.Server, &streamable.Options{WriteTimeout: 50 * time.Millisecond})
		idle, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		defer idle.Close()
		require.NoError(t, idle.(*net.TCPConn).SetReadBuffer(1))
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood","_meta":{"progressToken":1,` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "flood"} {
			req.Header.Set(name, value)
		}
		require.NoError(t, req.Write(idle))
		require.Error(t, within(t, r.ended), "the stream ends if its client does not read")
		c := u.connect(t, mcpclient.URL(url), mcp.Revision20260728)
		require.Len(t, call(t, c, u, "trip", `{}`).questions, 3)
	})
}
