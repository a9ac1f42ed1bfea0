package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

var info = mcp.Implementation{Name: "test", Version: "1"}

// client exchanges raw JSON with a server over a pipe. Messages of the server are validated
// against the schema of the revision.
type client struct {
	t        *testing.T
	revision string
	conn     io.ReadWriteCloser
	lines    *bufio.Reader
	served   chan error // the result of ServeStreams
	ids      int
}

// revisions are all revisions, oldest first.
var revisions = func() (names []string) {
	for _, r := range mcp.Revisions {
		names = append(names, r.Revision.String())
	}
	return names
}()

// modern is a stateless revision.
const modern = "2026-07-28"

// handshakes reports whether a revision has a handshake.
func handshakes(revision string) bool {
	r, _ := mcp.ParseRevision(revision)
	return mcp.Revisions[r.Index()].Handshake
}

// connect connects to a server in a revision. It completes the handshake, if the revision has
// one.
func connect(t *testing.T, s *mcpserver.Server, revision string) *client {
	t.Helper()
	c := dial(t, s, revision)
	if handshakes(revision) {
		c.call("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, revision))
		before := mcpserver.SubscriberCount(s)
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for mcpserver.SubscriberCount(s) == before {
			runtime.Gosched() // no message reports that a notification has been handled
		}
	}
	return c
}

// dial connects to a server without a handshake.
func dial(t *testing.T, s *mcpserver.Server, revision string) *client {
	pipe, far := net.Pipe()
	near := mcptest.TapPipe(serverFails(t), pipe, mcptest.FromClient)
	c := &client{t: t, revision: revision, conn: near, lines: bufio.NewReader(near), served: make(chan error, 1)}
	go func() { c.served <- s.ServeStreams(context.Background(), io.NopCloser(far), far) }() // ends when the pipe is closed
	t.Cleanup(func() {
		near.Close()
		<-c.served
		c.served <- nil
	})
	return c
}

// serverFails fails a test for invalid messages of the server. Most of these tests send
// invalid messages themselves.
func serverFails(t *testing.T) func(*mcptest.Violation) {
	fail := mcptest.Fail(t)
	return func(v *mcptest.Violation) {
		if v.From == mcptest.FromServer {
			fail(v)
		}
	}
}

func (c *client) send(line string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, line+"\n")
	require.NoError(c.t, err)
}

// message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int64
		Message string
		Data    json.RawMessage
	}
}

func (c *client) receive() message {
	c.t.Helper()
	line, err := c.lines.ReadBytes('\n')
	require.NoError(c.t, err)
	var m message
	require.NoError(c.t, json.Unmarshal(line, &m))
	return m
}

// start sends a request without waiting for the response, and returns its id.
func (c *client) start(method, params string) int {
	c.t.Helper()
	c.ids++
	var p map[string]json.RawMessage
	require.NoError(c.t, json.Unmarshal([]byte(params), &p))
	if !handshakes(c.revision) {
		meta := map[string]any{}
		if p["_meta"] != nil {
			require.NoError(c.t, json.Unmarshal(p["_meta"], &meta))
		}
		meta["io.modelcontextprotocol/protocolVersion"] = c.revision
		if meta["io.modelcontextprotocol/clientCapabilities"] == nil {
			meta["io.modelcontextprotocol/clientCapabilities"] = map[string]any{}
		}
		p["_meta"], _ = json.Marshal(meta)
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.ids, "method": method, "params": p})
	require.NoError(c.t, err)
	c.send(string(text))
	return c.ids
}

// ask sends a request and returns the response. It ignores notifications.
func (c *client) ask(method, params string) message {
	c.t.Helper()
	id := c.start(method, params)
	for {
		m := c.receive()
		if string(m.ID) == fmt.Sprint(id) && m.Method == "" {
			return m
		}
	}
}

// call sends a request that must succeed, and decodes the result into a map.
func (c *client) call(method, params string) map[string]any {
	c.t.Helper()
	m := c.ask(method, params)
	require.Nil(c.t, m.Error, "%s: %+v", method, m.Error)
	var res map[string]any
	require.NoError(c.t, json.Unmarshal(m.Result, &res))
	return res
}

// refused sends a request that must fail with a code.
func (c *client) refused(method, params string, code int64) message {
	c.t.Helper()
	m := c.ask(method, params)
	require.NotNil(c.t, m.Error, "%s: %s", method, m.Result)
	require.Equal(c.t, code, m.Error.Code, m.Error.Message)
	return m
}

// text returns the text of the first content block of a tool's result.
func text(t *testing.T, res map[string]any) string {
	t.Helper()
	require.NotEmpty(t, res["content"])
	return res["content"].([]any)[0].(map[string]any)["text"].(string)
}

func inEveryRevision(t *testing.T, f func(t *testing.T, revision string)) {
	for _, r := range revisions {
		t.Run(r, func(t *testing.T) { f(t, r) })
	}
}

// panicked returns the [*mcpserver.RegistrationError] that f panics with, or nil if it does
// not panic.
func panicked(f func()) (err error) {
	defer func() {
		if e, ok := recover().(*mcpserver.RegistrationError); ok {
			err = e
		}
	}()
	f()
	return nil
}
