package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

// messageConn is one side of a transport of whole messages.
type messageConn struct {
	in, out  chan []byte
	peerGone <-chan struct{}
	closed   chan struct{}
	close    func() // closes closed, once
	closeErr error
	broken   error // ReadMessage returns it when the peer has closed; nil is io.EOF
}

// messageConns returns both sides of a transport.
func messageConns() (client, server *messageConn) {
	client = &messageConn{in: make(chan []byte, 9), out: make(chan []byte, 9), closed: make(chan struct{})}
	server = &messageConn{in: client.out, out: client.in, closed: make(chan struct{})}
	client.peerGone, server.peerGone = server.closed, client.closed
	client.close = sync.OnceFunc(func() { close(client.closed) })
	server.close = sync.OnceFunc(func() { close(server.closed) })
	return client, server
}

func (c *messageConn) WriteMessage(ctx context.Context, data []byte) error {
	select {
	case c.out <- bytes.Clone(data):
		return nil
	case <-c.closed:
		return jsonrpc.ErrNotWritten
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *messageConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case data := <-c.in:
		return data, nil
	case <-c.closed:
		return nil, errors.New("closed")
	case <-c.peerGone:
		if c.broken != nil {
			return nil, c.broken
		}
		return nil, fmt.Errorf("read: %w", io.EOF)
	}
}

func (c *messageConn) Close() error {
	c.close()
	return c.closeErr
}

func (c *messageConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// serve answers messages as a script does until the client has closed.
func (c *messageConn) serve(s *script) {
	for {
		data, err := c.ReadMessage(context.Background())
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			panic(err)
		}
		switch text := s.answer(m); text {
		case "":
		case hangUp:
			c.close()
			return
		default:
			_ = c.WriteMessage(context.Background(), []byte(strings.ReplaceAll(text, "$ID", string(m.ID))))
		}
	}
}

// overMessages returns the endpoint of a script and the client's side of the transport.
func overMessages(t *testing.T, s *script) (mcpclient.Endpoint, *messageConn) {
	client, server := messageConns()
	var serving sync.WaitGroup
	serving.Go(func() { server.serve(s) }) // ends when the client closes
	t.Cleanup(serving.Wait)
	return mcpclient.Messages(client), client
}

func TestMessages(t *testing.T) {
	leaks.Check(t)
	for _, discovers := range []bool{false, true} {
		s := &script{answer: func(m message) string {
			switch m.Method {
			case mcp.MethodDiscover:
				if !discovers {
					return fail(-32601, `null`)
				}
				return ok(discovered)
			case mcp.MethodInitialize:
				return ok(welcome)
			case mcp.MethodCallTool:
				return ok(`{"resultType":"complete","content":[{"type":"text","text":"hello"}]}`)
			}
			return ""
		}}
		to, conn := overMessages(t, s)
		conn.closeErr = errors.New("only logged")
		c := connect(t, to, nil)
		require.Equal(t, discovers, c.NoHandshake())
		require.Equal(t, "hello", callText(t, c, "greet"))
		require.False(t, conn.isClosed())
		require.NoError(t, c.Close())
		require.True(t, conn.isClosed(), "the client closes the transport")
		require.NoError(t, c.Err())

		_, err := mcpclient.Connect(t.Context(), to, nil)
		require.EqualError(t, err, `connect to "messages": endpoint cannot be dialled again`)
	}
}

func TestMessagesFromServer(t *testing.T) {
	leaks.Check(t)
	answered := make(chan string, 1)
	s := &script{answer: func(m message) string {
		switch m.Method {
		case mcp.MethodInitialize:
			return ok(welcome)
		case "notifications/initialized":
			return `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`
		case "":
			answered <- string(m.Result)
		}
		return ""
	}}
	to, _ := overMessages(t, s)
	connect(t, to, &mcpclient.Options{Mode: mcpclient.Handshake, Roots: []mcp.Root{{URI: "file:///a"}}})
	require.JSONEq(t, `{"roots":[{"uri":"file:///a"}]}`, <-answered)
}

func TestMessagesServerDisconnects(t *testing.T) {
	for _, broken := range []error{nil, errors.New("connection reset")} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answer: func(m message) string {
				switch m.Method {
				case mcp.MethodInitialize:
					return ok(welcome)
				case mcp.MethodPing:
					return hangUp
				}
				return ""
			}}
			to, conn := overMessages(t, s)
			conn.broken = broken
			c := connect(t, to, &mcpclient.Options{Mode: mcpclient.Handshake})
			_, err := c.Ping(t.Context(), &mcp.PingRequest{})
			require.ErrorAs(t, err, new(*peer.ClosedError))
			err = c.Wait()
			if broken != nil {
				require.ErrorIs(t, err, broken)
			} else {
				require.ErrorContains(t, err, "server closed the connection")
			}
			require.True(t, conn.isClosed())
		})
	}
}

func TestMessagesConnectFails(t *testing.T) {
	leaks.Check(t)
	to, conn := overMessages(t, &script{answer: func(message) string { return fail(-32603, `null`) }})
	_, err := mcpclient.Connect(t.Context(), to, nil)
	require.ErrorContains(t, err, `connect to "messages": `)
	require.True(t, conn.isClosed())

	_, err = mcpclient.Connect(t.Context(), mcpclient.Messages(nil), nil)
	require.EqualError(t, err, `connect to "messages": connection is nil`)
}
