package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// readLines makes a connection read lines, as from a pipe.
func readLines(t *testing.T, c *jsonrpc.Conn, lines ...string) {
	t.Helper()
	in := strings.NewReader(strings.Join(lines, "\n"))
	go c.ReadLines(t.Context(), in, jsonrpc.Source{}) // ends at the end of the lines
	synctest.Wait()
}

// largeRequest returns a request of n bytes.
func largeRequest(id int, method string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"x":%q}}`, id, method, strings.Repeat("x", n))
}

func TestLargeRequestsOnPipeExceedBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := budget.New(&budget.Options{MaxBytes: 1 << 20})
		release := make(chan struct{})
		var dropped []error
		c, r := newConn(t, &jsonrpc.Options{Budget: b, Handler: slow(release), OnError: func(err error) { dropped = append(dropped, err) }})
		readLines(t, c, largeRequest(1, "a", 400<<10), largeRequest(2, "b", 400<<10), request(3, "c"),
			`{"jsonrpc":"2.0","method":"d","params":{"x":"`+strings.Repeat("x", 400<<10)+`"}}`)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Too many bytes in flight"}}`}, r.take())
		require.Len(t, dropped, 1)
		require.ErrorIs(t, dropped[0], budget.ErrExceeded)
		require.ErrorContains(t, dropped[0], `notification "d" dropped`)
		close(release)
		require.Len(t, r.take(), 2)
		require.Zero(t, b.Held())
		readLines(t, c, largeRequest(4, "a", 400<<10))
		require.Len(t, r.take(), 1)
	})
}

func TestUnreadResultsExceedBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := budget.New(&budget.Options{MaxBytes: 2 << 20})
		var called atomic.Int64 // handlers run concurrently
		large := peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			called.Add(1)
			return result(`{"x":"` + strings.Repeat("x", 400<<10) + `"}`)
		})
		c, r := newConn(t, &jsonrpc.Options{Budget: b, Handler: large, Inline: func(string) bool { return false }})
		read := make(chan struct{})
		r.hook = func(ctx context.Context, line string) error {
			if strings.Contains(line, `"result"`) {
				<-read
			}
			return nil
		}
		defer close(read)
		readLines(t, c, request(100, "report"))
		var lines []string
		for id := range 20 {
			lines = append(lines, request(id+1, "report"))
		}
		readLines(t, c, lines...)
		refused := r.take()
		require.Greater(t, len(refused), 10)
		for _, line := range refused {
			require.Contains(t, line, "oo many bytes")
		}
		require.Less(t, called.Load(), int64(5), "calls were refused before the handler ran")
		for range 21 - len(refused) {
			read <- struct{}{}
		}
		require.Len(t, r.take(), 21-len(refused))
		require.Zero(t, b.Held())
	})
}

func TestBatchOnPipeExceedsBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := budget.New(&budget.Options{MaxBytes: 1 << 20})
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Budget: b, Handler: slow(release), OnError: func(error) {}, Batches: func() bool { return true }})
		readLines(t, c, "["+largeRequest(1, "a", 400<<10)+"]", "["+largeRequest(2, "b", 800<<10)+"]")
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Too many bytes in flight"}}`}, r.take())
		require.Positive(t, b.Held())
		close(release)
		require.Len(t, r.take(), 1)
		require.Zero(t, b.Held())
	})
}

func TestBatchOfLargeResultsExceedsBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := budget.New(&budget.Options{MaxBytes: 1 << 20})
		handler := peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == "small" {
				return peer.Reply{}, errors.New("small")
			}
			return result(`{"x":"` + strings.Repeat("x", 300<<10) + `"}`)
		})
		c, r := newConn(t, &jsonrpc.Options{Budget: b, Handler: handler, Batches: func() bool { return true }})
		readLines(t, c, "["+request(1, "a")+","+request(2, "b")+","+request(3, "c")+","+request(4, "small")+"]")
		lines := r.take()
		require.Len(t, lines, 1)
		require.Less(t, len(lines[0]), 700<<10)
		require.Contains(t, lines[0], "too many bytes wait for clients")
		require.Contains(t, lines[0], `"id":4`)
		require.Zero(t, b.Held())
	})
}
