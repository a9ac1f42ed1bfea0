package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// queueConn is a [jsonrpc.MessageConn] over a pair of queues.
type queueConn struct {
	in, out chan []byte
	closed  chan struct{}
	close   sync.Once
}

func newQueueConn() *queueConn {
	return &queueConn{in: make(chan []byte), out: make(chan []byte), closed: make(chan struct{})}
}

var errQueueClosed = errors.New("queue is closed")

func (q *queueConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case data, ok := <-q.in:
		if !ok {
			return nil, io.EOF
		}
		return data, nil
	case <-q.closed:
		return nil, errQueueClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *queueConn) WriteMessage(ctx context.Context, data []byte) error {
	select {
	case q.out <- bytes.Clone(data):
		return nil
	case <-q.closed:
		return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, errQueueClosed)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, ctx.Err())
	}
}

func (q *queueConn) Close() error {
	q.close.Do(func() { close(q.closed) })
	return nil
}

// requireClosed fails the test if the connection is open.
func (q *queueConn) requireClosed(t *testing.T) {
	t.Helper()
	select {
	case <-q.closed:
	default:
		t.Error("Serve has returned and not closed the connection")
	}
}

// serveQueue starts to serve a queue. The channel receives the result of Serve.
func serveQueue(ctx context.Context, s *mcpserver.Server) (*queueConn, <-chan error) {
	q, served := newQueueConn(), make(chan error, 1)
	go func() { served <- s.Serve(ctx, q) }() // ends when the queue or ctx does
	return q, served
}

func TestServeAnswersOverMessageConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		ready := 0
		s := newForecaster(&mcpserver.Options{
			Outgoing: []func(peer.Outbound) peer.Outbound{func(out peer.Outbound) peer.Outbound {
				return spy{out, func(method string) { sent = append(sent, method) }}
			}},
			Stdio: stdio.ServeOptions{
				Ready:   func(*jsonrpc.Conn) { ready++ },
				JSONRPC: jsonrpc.Options{MaxMessage: 1000},
			},
		})
		q, served := serveQueue(t.Context(), s)
		q.in <- []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		require.Contains(t, string(<-q.out), `"protocolVersion":"2025-11-25"`)
		q.in <- []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		q.in <- []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Ulm"}}}`)
		require.Contains(t, string(<-q.out), "Ulm: 1 sunny days")
		q.in <- bytes.Repeat([]byte("x"), 1001)
		require.Contains(t, string(<-q.out), "longer than 1000 bytes")

		synctest.Wait()
		mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
		require.Contains(t, string(<-q.out), "notifications/tools/list_changed")
		require.Equal(t, 1, ready)
		require.Equal(t, []string{"notifications/tools/list_changed"}, sent)
		close(q.in)
		require.NoError(t, <-served)
		q.requireClosed(t)
	})
}

func TestServeSpeaksEveryRevision(t *testing.T) {
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, served := serveQueue(t.Context(), newForecaster(nil))
				meta := ""
				if r.Handshake {
					q.in <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, r.Revision)
					require.Contains(t, string(<-q.out), fmt.Sprintf(`"protocolVersion":%q`, r.Revision))
				} else {
					meta = fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}`, r.Revision)
				}
				q.in <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Ulm"}%s}}`, meta)
				require.Contains(t, string(<-q.out), "Ulm: 1 sunny days")
				close(q.in)
				require.NoError(t, <-served)
			})
		})
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		q, served := serveQueue(ctx, newForecaster(nil))
		synctest.Wait()
		require.Empty(t, served)
		cancel(errors.New("enough"))
		require.NoError(t, <-served)
		q.requireClosed(t)
	})
}

func TestServeReturnsReadErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, served := serveQueue(t.Context(), newForecaster(nil))
		q.Close()
		err := <-served
		require.ErrorIs(t, err, errQueueClosed)
		require.EqualError(t, err, "read message: queue is closed")
	})
}

func TestServeCancelsHandlersOfLostClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		s := tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return "", ctx.Err()
		})
		q, served := serveQueue(t.Context(), s)
		q.in <- []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		synctest.Wait()
		close(q.in)
		require.NoError(t, <-served)
		require.ErrorIs(t, cause, jsonrpc.ErrClosed)
	})
}

func TestServeIsShutDownGracefully(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := tool(nil, &mcp.Tool{}, func(context.Context) (string, error) {
			<-release
			return "finished", nil
		})
		const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		q, served := serveQueue(t.Context(), s)
		q.in <- fmt.Appendf(nil, call, 1)
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }() // ends when the call is released
		synctest.Wait()
		q.in <- fmt.Appendf(nil, call, 2)
		require.Contains(t, string(<-q.out), "shutting down")
		require.Empty(t, done)
		close(release)
		require.Contains(t, string(<-q.out), "finished")
		require.NoError(t, <-done)
		require.NoError(t, <-served)
		q.requireClosed(t)

		q = newQueueConn()
		require.ErrorIs(t, s.Serve(t.Context(), q), mcpserver.ErrShutdown)
		q.requireClosed(t)
	})
}

// A client that reads nothing must not prevent Serve from returning.
func TestServeReturnsIfNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q, served := serveQueue(ctx, newForecaster(nil))
		for id := range 50 {
			q.in <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)
		}
		cancel()
		require.NoError(t, <-served)
	}) // fails if a goroutine is left
}

func TestErrorsShortenNamesOfClients(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	for _, revision := range []string{"2025-11-25", modern} {
		c := connect(t, stocked(nil), revision)
		for method, params := range map[string]string{
			"com.example/" + long: `{}`,
			"tools/call":          `{"name":"` + long + `"}`,
			"prompts/get":         `{"name":"` + long + `"}`,
			"resources/read":      `{"uri":"x:` + long + `"}`,
			"completion/complete": `{"ref":{"type":"ref/prompt","name":"n1"},"argument":{"name":"` + long + `","value":""}}`,
		} {
			id := c.start(method, params)
			m := c.receive()
			require.Equal(t, fmt.Sprint(id), string(m.ID))
			require.NotNil(t, m.Error, method[:9])
			require.Less(t, len(m.Error.Message)+len(m.Error.Data), 2000, method[:9])
		}
	}
}
