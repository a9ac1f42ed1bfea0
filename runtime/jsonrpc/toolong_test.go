package jsonrpc_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/stretchr/testify/require"
)

func TestACallWhoseAnswerIsTooLongFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		read := start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
		call, other := ping(t.Context(), c), ping(t.Context(), c)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","id":1,"result":{"a":%q}}`+"\n", strings.Repeat("x", 1000))
		require.True(t, call.isOver(), "its answer will never come")
		require.ErrorContains(t, call.err, "longer than 200 bytes")
		require.Len(t, r.take(), 2, "a client answers no answers")
		fmt.Fprintln(pw, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, other.over(t))
		pw.Close()
		require.NoError(t, read.over(t))
	})
}

// Some SDKs write what is long first and the id last.
func TestTheIDOfWhatIsTooLongMayComeLast(t *testing.T) {
	for _, size := range []int{1000, 9000, 100_000} {
		for _, answer := range []string{
			`{"result":{"a":%q},"jsonrpc":"2.0","id":1}`,
			`{"result":{"id":2,"a":%q,"id":2},"id":1,"jsonrpc":"2.0"}`,
			`{"error":{"code":1,"message":%q},"jsonrpc":"2.0","id":1}` + "\r",
		} {
			bubble(t, func(t *testing.T) {
				c, r := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
				pr, pw := io.Pipe()
				defer pw.Close()
				start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
				call, other := ping(t.Context(), c), ping(t.Context(), c)
				fmt.Fprintf(pw, answer+"\n", strings.Repeat("x", size))
				require.True(t, call.isOver(), "its answer will never come")
				require.ErrorContains(t, call.err, "longer than 200 bytes")
				require.False(t, other.isOver())
				require.Len(t, r.take(), 2)
				fmt.Fprintln(pw, `{"jsonrpc":"2.0","id":2,"result":{}}`)
				require.NoError(t, other.over(t))
			})
		}
	}
}

func TestAnIDInsideOfWhatIsTooLongIsNotItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
		call := ping(t.Context(), c)
		long := strings.Repeat("x", 100_000)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","result":{"a":%q,"id":1}}`+"\n", long)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","result":{"a":%q},"b":[{"a":0,"id":1}],"c":0}`+"\n", long)
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","result":{"a":%q},"b":",\"id\":1}"}`+"\n", long)
		require.False(t, call.isOver())
		fmt.Fprintln(pw, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, call.over(t))
	})
}

func TestARequestThatIsTooLongIsRefusedUnderItsID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":%q}}`+"\n", strings.Repeat("x", 1000))
		refusal := []string{`{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Message is longer than 200 bytes"}}`}
		require.Equal(t, refusal, r.take())
		fmt.Fprintf(pw, `{"method":"x","params":{"a":%q},"jsonrpc":"2.0","id":7}`+"\n", strings.Repeat("x", 100_000))
		require.Equal(t, refusal, r.take())
	})
}

func TestALimitMayBeAnyNumber(t *testing.T) {
	for _, none := range []int{-1, math.MaxInt} {
		bubble(t, func(t *testing.T) {
			release, noted := make(chan struct{}), 0
			c, r := newConn(t, &jsonrpc.Options{
				MaxMessage: none, MaxInFlight: none, MaxQueuedNotifications: none, OnError: func(error) {},
				Handler: handlers{
					"x": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
					"n": func(context.Context, *peer.Inbound) (peer.Reply, error) {
						<-release
						noted++
						return peer.Reply{}, nil
					},
				},
			})
			note := `{"jsonrpc":"2.0","method":"n","params":{}}` + "\n"
			in := strings.NewReader(strings.Repeat(note, 5) + `{"jsonrpc":"2.0","id":7,"method":"x"}` + "\n")
			require.NoError(t, c.ReadLines(t.Context(), in, jsonrpc.Source{}))
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, r.take())
			close(release)
			require.NoError(t, c.Drain(t.Context()))
			synctest.Wait()
			require.Equal(t, 5, noted)
		})
	}
}

func TestAMessageMayBeAsLongAsIsAllowed(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		bubble(t, func(t *testing.T) {
			c, r := newConn(t, &jsonrpc.Options{
				MaxMessage: 200, OnError: func(error) {},
				Handler: handlers{"x": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }},
			})
			pr, pw := io.Pipe()
			defer pw.Close()
			start(func() error { return c.ReadLines(t.Context(), pr, jsonrpc.Source{}) })
			const head, tail = `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"`, `"}}`
			fill := strings.Repeat("x", 200-len(head+tail))
			fmt.Fprint(pw, head+fill+tail+end)
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, r.take())
			fmt.Fprint(pw, head+fill+"x"+tail+end)
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Message is longer than 200 bytes"}}`}, r.take())
		})
	}
}
