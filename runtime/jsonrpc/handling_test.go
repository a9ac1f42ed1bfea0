package jsonrpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/stretchr/testify/require"
)

type tag struct{}

// handled delivers a request in a context with a tag and returns the context
// that its handler saw, when the handler has returned or waits in look.
func handled(t *testing.T, c **jsonrpc.Conn, look func(context.Context)) context.Context {
	t.Helper()
	var seen context.Context
	conn, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
		seen = ctx
		look(ctx)
		return result(`{}`)
	})})
	if c != nil {
		*c = conn
	}
	conn.Deliver(context.WithValue(t.Context(), tag{}, "tag"), []byte(request(1, "x")), jsonrpc.Source{})
	synctest.Wait()
	return seen
}

func TestAContextNobodyLookedAtEndsWithItsHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := handled(t, nil, func(context.Context) {})
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
		<-ctx.Done()
		require.Equal(t, "tag", ctx.Value(tag{}))
		_, limited := ctx.Deadline()
		require.False(t, limited)
	})
}

func TestAContextTellsWhyItEnded(t *testing.T) {
	var cancelled *jsonrpc.CancelledError
	for name, look := range map[string]func(context.Context) context.Context{
		"itself": func(ctx context.Context) context.Context { return ctx },
		"a child": func(ctx context.Context) context.Context {
			child, stop := context.WithTimeout(ctx, time.Hour)
			context.AfterFunc(child, stop)
			return child
		},
		"a child without cancel": func(ctx context.Context) context.Context {
			child, stop := context.WithCancelCause(context.WithoutCancel(ctx))
			context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })
			return child
		},
	} {
		bubble(t, func(t *testing.T) {
			var c *jsonrpc.Conn
			release := make(chan struct{})
			ctx := handled(t, &c, func(context.Context) { <-release })
			watched := look(ctx)
			require.NoError(t, watched.Err())
			deliver(c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
			<-watched.Done()
			require.ErrorAs(t, context.Cause(watched), &cancelled, name)
			require.Equal(t, "enough", cancelled.Reason)
			require.ErrorIs(t, watched.Err(), context.Canceled)
			close(release)
		})
	}
}

func TestTheFirstReasonForTheEndOfAContextStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *jsonrpc.Conn
		release := make(chan struct{})
		ctx := handled(t, &c, func(context.Context) { <-release })
		require.True(t, c.InFlight().Cancel(c.InFlight().IDs()[0])) // and nobody has looked so far
		close(release)
		synctest.Wait()
		require.ErrorAs(t, context.Cause(ctx), new(*jsonrpc.CancelledError))
	})
}

func TestAContextEndsWithThatOfItsMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var got error
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			got = context.Cause(ctx)
			return peer.Reply{}, got
		})})
		c.Deliver(ctx, []byte(request(1, "x")), jsonrpc.Source{})
		synctest.Wait()
		cancel(errBroken)
		synctest.Wait()
		require.ErrorIs(t, got, errBroken)
	})
}

func TestAnswersToLinesThatCameTogetherSaySo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := new(notingWriter)
		c := jsonrpc.New(w, &jsonrpc.Options{Handler: scene, Inline: func(string) bool { return true }})
		defer c.Close()
		lines := strings.NewReader(request(1, "echo") + "\n" + request(2, "echo") + "\n" + request(3, "echo") + "\n")
		require.NoError(t, c.ReadLines(t.Context(), lines, jsonrpc.Source{}))
		require.Len(t, w.envelopes, 3)
		for i, more := range []bool{true, true, false} {
			require.Equal(t, more, w.envelopes[i].More, "%d", i)
		}
	})
}

func TestALineWriterThatExpectsMoreWritesWithoutItToo(t *testing.T) {
	var out strings.Builder
	w := jsonrpc.NewLineWriter(&out)
	require.NoError(t, w.WriteWithInfo(context.Background(), jsonrpc.MessageInfo{More: true}, []byte("a")))
	require.NoError(t, w.WriteMessage(context.Background(), []byte("b")))
	require.Equal(t, "a\nb\n", out.String())
	err := w.WriteWithInfo(context.Background(), jsonrpc.MessageInfo{}, []byte("\n"))
	require.True(t, errors.Is(err, jsonrpc.ErrNotWritten))
}

func TestWhatIsBeingAnsweredIsListed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, own := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			<-release
			return result(`{}`)
		})})
		require.Empty(t, c.Answering())
		back := new(recorder)
		c.Deliver(t.Context(), []byte(request(1, "x")), jsonrpc.Source{Back: back})
		deliver(c, request(2, "x"), request(`"s"`, "x"), note("x"))
		require.ElementsMatch(t, []jsonrpc.Writer{back, own, own}, c.Answering())
		close(release)
		synctest.Wait()
		require.Empty(t, c.Answering())
	})
}
