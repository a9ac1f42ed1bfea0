package jsonrpc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// deliverMessage hands a message to c that has been read, and tells how often it
// was released.
func deliverMessage(t *testing.T, c *jsonrpc.Conn, back jsonrpc.Writer, message string) (released *int) {
	t.Helper()
	m, err := wire.ReadMessage([]byte(message), nil)
	require.NoError(t, err)
	released = new(int)
	c.Deliver(context.Background(), nil, jsonrpc.Source{Message: &m, Token: jsonrpc.ProgressToken(m.Params), Back: back, Release: func() { *released++ }})
	return released
}

// twice is a result that has something twice.
type twice struct{ raw }

func (x *twice) AppendJSON(b []byte, e *wire.Encoder) []byte {
	b = x.raw.AppendJSON(append(b, `{"a":`...), e)
	return append(x.raw.AppendJSON(append(b, `,"b":`...), e), '}')
}

// TestAnAnswerMayHavePartsOfItsRequest has answers of all lengths written behind
// requests, in the same buffer.
func TestAnAnswerMayHavePartsOfItsRequest(t *testing.T) {
	c, _ := newConn(t, &jsonrpc.Options{Handler: handlers{
		"x/once": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{Result: &raw{in.Params}}, nil
		},
		"x/twice": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{Result: &twice{raw{in.Params}}}, nil
		},
	}})
	for _, n := range []int{0, 10, 900, 1990, 2100, 70_000} {
		params := `{"text":"` + strings.Repeat("x", n) + `"}`
		for method, want := range map[string]string{"x/once": params, "x/twice": `{"a":` + params + `,"b":` + params + `}`} {
			back, buf := new(recorder), jsonrpc.NewBuffer()
			require.Empty(t, buf.Bytes)
			buf.Bytes = append(buf.Bytes, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`...)
			m, err := wire.ReadMessage(buf.Bytes, nil)
			require.NoError(t, err)
			c.Deliver(context.Background(), nil, jsonrpc.Source{Message: &m, Back: back, Buffer: buf})
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":` + want + `}`}, back.lines)
		}
	}
}

func TestARequestThatWasReadIsAnsweredBeforeItsDeliveryReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, own := newConn(t, &jsonrpc.Options{MaxInFlight: 1, Handler: handlers{
			"x/ask":  func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{"a":1}`) },
			"x/wait": untilDone,
			"x/token": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				require.NoError(t, in.Back.Progress(ctx, peer.Progress{Progress: 1}))
				return result(`{}`)
			},
		}})
		back := new(recorder)
		released := deliverMessage(t, c, back, `{"jsonrpc":"2.0","id":1,"method":"x/ask"}`)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`}, back.lines, "at once")
		require.Equal(t, 1, *released)

		back = new(recorder)
		deliverMessage(t, c, back, `{"jsonrpc":"2.0","id":2,"method":"x/token","params":{"_meta":{"progressToken":"t"}}}`)
		require.Len(t, back.lines, 2)
		require.Contains(t, back.lines[0], `"progressToken":"t"`)

		waiting := start(func() error {
			deliverMessage(t, c, back, `{"jsonrpc":"2.0","id":3,"method":"x/wait"}`)
			return nil
		})
		for _, refused := range []string{`{"jsonrpc":"2.0","id":"3","method":"x/ask"}`, `{"jsonrpc":"2.0","id":4,"method":"x/ask"}`} {
			back = new(recorder)
			require.Equal(t, 1, *deliverMessage(t, c, back, refused))
			require.Len(t, back.lines, 1, "also where it is refused")
			require.Contains(t, back.lines[0], `"error"`)
		}
		require.True(t, c.InFlight().Cancel(wire.IntID(3)))
		require.NoError(t, waiting.over(t))
		require.Empty(t, own.take())
	})
}

func TestOtherMessagesThatWereReadGoTheirWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var noted string
		c, _ := newConn(t, &jsonrpc.Options{Handler: handlers{"x/note": func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			noted = string(in.Params)
			return peer.Reply{}, nil
		}}})
		p := ping(t.Context(), c)
		require.Equal(t, 1, *deliverMessage(t, c, nil, `{"jsonrpc":"2.0","id":7,"result":{}}`), "nobody waits for it")
		released := deliverMessage(t, c, nil, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, p.over(t))
		require.Equal(t, 1, *released)
		deliverMessage(t, c, nil, `{"jsonrpc":"2.0","method":"x/note","params":{"a":1}}`)
		c.Close()
		require.Equal(t, `{"a":1}`, noted)
		require.Equal(t, 1, *deliverMessage(t, c, nil, `{"jsonrpc":"2.0","method":"x/note"}`), "it comes too late")
	})
}

func TestTheTokenOfARequestIsFoundWithoutAConnection(t *testing.T) {
	require.Equal(t, wire.IntToken(5), jsonrpc.ProgressToken([]byte(`{"_meta":{"progressToken":5}}`)))
	require.True(t, jsonrpc.ProgressToken([]byte(`{"progressToken":5}`)).IsZero())
	require.True(t, jsonrpc.ProgressToken(nil).IsZero())
}

func TestAConnectionOnWhichNothingIsUnderWayRetires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		opts := &jsonrpc.Options{Handler: handlers{
			"x/wait": untilDone,
			"x/note": untilDone,
			"x/ask":  func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
		}}
		c, out := newConn(t, opts)
		busy := func(why string) {
			t.Helper()
			_, ok := c.CloseIdle()
			require.False(t, ok, why)
		}
		p := ping(t.Context(), c)
		busy("a call waits")
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, p.over(t))
		deliver(c, `{"jsonrpc":"2.0","id":5,"method":"x/wait"}`)
		out.take()
		busy("a request is being handled")
		require.True(t, c.InFlight().Cancel(wire.IntID(5)))
		deliver(c, `{"jsonrpc":"2.0","id":6,"method":"x/ask"}`)
		out.take()

		last, ok := c.CloseIdle()
		require.True(t, ok)
		require.Equal(t, int64(1), last)
		<-c.Done()
		busy("it has retired")
		var closed *peer.ClosedError
		require.ErrorAs(t, ping(t.Context(), c).over(t), &closed)
		require.Empty(t, out.take(), "not a word")

		opts.LastID = last
		next, out := newConn(t, opts)
		p = ping(t.Context(), next)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":2,"method":"ping","params":{}}`}, out.take())
		deliver(next, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, p.over(t))

		deliver(next, `{"jsonrpc":"2.0","method":"x/note"}`)
		out.take()
		_, ok = next.CloseIdle()
		require.False(t, ok, "a notification is being handled")
	})
}
