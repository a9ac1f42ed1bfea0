package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/stretchr/testify/require"
)

func TestATransportFailsTheOneCallThatItCannotCarry(t *testing.T) {
	inBoth := errors.New("no answer comes")
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		one, two := ping(t.Context(), c), ping(t.Context(), c)
		require.Len(t, r.take(), 2)
		require.False(t, c.FailCall(wire.StringID("1"), inBoth), "ids are exact here")
		require.True(t, c.FailCall(wire.IntID(1), inBoth))
		require.False(t, c.FailCall(wire.IntID(1), inBoth))
		err := one.over(t)
		require.ErrorIs(t, err, inBoth)
		require.ErrorContains(t, err, `send "ping": `)
		require.False(t, two.isOver())
		require.Empty(t, r.take(), "nothing is taken back")
		deliver(c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, two.over(t))
	})
}

func TestAnOriginKeepsOutWhatItDoesNotAdmit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var reported []error
		c, _ := newConn(t, &jsonrpc.Options{
			Client:  true,
			OnError: func(err error) { reported = append(reported, err) },
			Batches: func() bool { return true },
		})
		call := ping(t.Context(), c)
		unwanted := errors.New("unwanted")
		released := 0
		var seen []wire.RequestID
		var broken int
		o := jsonrpc.Source{
			Release: func() { released++ },
			Admit: func(m *wire.Message, unreadable error) error {
				seen = append(seen, m.ID)
				if unreadable != nil {
					broken++
				}
				if m.Method != "" || m.ID == wire.IntID(1) || m.ID == wire.IntID(3) {
					return unwanted
				}
				m.ID = wire.IntID(1)
				return nil
			},
		}
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), o)
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"result":7}`), o)
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":3,"result":{}}`), o) // which nobody waits for
		c.Deliver(t.Context(), []byte(`[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`), o)
		require.False(t, call.isOver())
		require.Len(t, reported, 4)
		for _, err := range reported {
			require.ErrorIs(t, err, unwanted)
		}
		require.Equal(t, 1, broken)

		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":9,"result":{}}`), o)
		require.NoError(t, call.over(t), "Admit may say whom an answer is for")
		require.Len(t, seen, 6)
		require.Equal(t, 5, released)
	})
}

func TestAWriterIsToldTheRevisionOfAMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		frame := &wire.Frame{Revision: mcp.Revision20250618}
		w := new(notingWriter)
		c := jsonrpc.New(w, &jsonrpc.Options{
			Frame: func(string) *wire.Frame { return frame },
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				return peer.Reply{Result: &mcp.EmptyResult{}, Frame: frame}, nil
			}),
		})
		defer c.Close()
		call := ping(t.Context(), c)
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		require.NoError(t, call.over(t))
		require.Len(t, w.take(), 3)
		for _, e := range w.envelopes {
			require.Equal(t, mcp.Revision20250618, e.Revision)
		}
	})
}

func TestPostTakesWhatNeedsNoWaiting(t *testing.T) {
	pr, pw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(pw), nil)
	n := &mcp.ResourceUpdatedNotification{URI: "x:a"}
	require.True(t, outbound.TryNotify(c, n))
	require.False(t, outbound.TryNotify(c, n), "nobody has read the first one")
	line := make([]byte, 1<<10)
	read, err := pr.Read(line)
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:a"}}`, string(line[:read]))
	pr.Close()
	require.NoError(t, c.Close())
	require.False(t, outbound.TryNotify(c, n), "it is over")
}

func TestPostNeedsAWriterThatDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		require.False(t, outbound.TryNotify(c, &mcp.ToolListChangedNotification{}))
		require.Empty(t, r.take())
	})
}

func TestWhatBelongsToARequestIsPostedWhileItIsHandled(t *testing.T) {
	backs := make(chan peer.BackChannel, 1)
	h := peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		require.True(t, outbound.TryNotify(in.Back, &mcp.ToolListChangedNotification{}))
		backs <- in.Back
		return result(`{}`)
	})
	t.Run("on a pipe", func(t *testing.T) {
		pr, pw := io.Pipe()
		go io.Copy(io.Discard, pr) // ends when the pipe is closed
		c := jsonrpc.New(jsonrpc.NewLineWriter(pw), &jsonrpc.Options{Handler: h})
		deliver(c, request(1, "a"))
		require.NoError(t, c.Drain(t.Context()))
		require.False(t, outbound.TryNotify(<-backs, &mcp.ToolListChangedNotification{}))
		require.NoError(t, c.Close())
		pw.Close()
	})
	t.Run("in the process", func(t *testing.T) {
		client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{Handler: h})
		defer server.Close()
		require.NoError(t, client.Call(t.Context(), &mcp.PingRequest{}, nil))
		require.False(t, outbound.TryNotify(<-backs, &mcp.ToolListChangedNotification{}))
	})
}

func TestABatchGoesOnWithoutWhatIsKeptOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, OnError: func(error) {}, Batches: func() bool { return true }})
		o := jsonrpc.Source{Admit: func(m *wire.Message, _ error) error {
			if m.ID != wire.IntID(2) {
				return errors.New("unwanted")
			}
			return nil
		}}
		c.Deliver(t.Context(), []byte(`[`+request(1, "echo")+`,`+note("x")+`,`+request(2, "echo")+`,`+request(3, "echo")+`]`), o)
		require.Equal(t, []string{`[` + fmt.Sprintf(emptyOne, 2) + `]`}, r.take())
	})
}

func TestARefusalGoesWhereItsRequestCameFrom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, OnError: func(error) {}})
		deliver(c, request(1, "wait"))
		for _, refused := range []string{request(1, "echo"), `{"jsonrpc":"2.0","id":2,"method":7}`, "nonsense"} {
			back := new(recorder)
			c.Deliver(t.Context(), []byte(refused), jsonrpc.Source{Back: back})
			require.Len(t, back.take(), 1, refused)
		}
		require.Empty(t, r.take())
	})
}

func TestAClientAnswersWhatItCanOfABatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Client: true, Handler: scene, OnError: func(error) {}, Batches: func() bool { return true }})
		deliver(c, `[7,`+request(1, "echo")+`]`)
		require.Equal(t, []string{`[` + fmt.Sprintf(emptyOne, 1) + `]`}, r.take())
	})
}

func TestNothingIsPostedThatCannotBe(t *testing.T) {
	l := jsonrpc.NewLineWriter(io.Discard)
	require.False(t, l.TryWriteMessage([]byte("two\nlines")))
	c, s := pair(t, nil)
	require.True(t, c.TryNotify(&changed{}))
	s.Close()
	require.False(t, c.TryNotify(&changed{}))
}
