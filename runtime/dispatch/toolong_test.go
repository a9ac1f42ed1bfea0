package dispatch_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/runtime/dispatch"
	"github.com/stretchr/testify/require"
)

func TestACallWhoseAnswerIsTooLongFailsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{Client: true, MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		read := start(func() error { return c.ReadLines(t.Context(), pr, dispatch.Origin{}) })
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

func TestARequestThatIsTooLongIsRefusedUnderItsID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{MaxMessage: 200, OnError: func(error) {}})
		pr, pw := io.Pipe()
		defer pw.Close()
		start(func() error { return c.ReadLines(t.Context(), pr, dispatch.Origin{}) })
		fmt.Fprintf(pw, `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":%q}}`+"\n", strings.Repeat("x", 1000))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"Message is longer than 200 bytes"}}`}, r.take())
	})
}
