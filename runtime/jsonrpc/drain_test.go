package jsonrpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/stretchr/testify/require"
)

// slow answers when it is released.
func slow(release <-chan struct{}) peer.HandlerFunc {
	return func(context.Context, *peer.Inbound) (peer.Reply, error) {
		<-release
		return result(`{}`)
	}
}

func TestDrainWaitsForEveryAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Batches: func() bool { return true }, Handler: slow(release)})
		require.NoError(t, c.Drain(t.Context()), "nothing was asked")
		deliver(c, request(1, "a"), `[`+request(2, "b")+`,`+request(3, "c")+`]`)
		first, second := start(func() error { return c.Drain(t.Context()) }), start(func() error { return c.Drain(t.Context()) })
		require.False(t, first.isOver())
		release <- struct{}{}
		release <- struct{}{}
		require.False(t, first.isOver())
		release <- struct{}{}
		require.NoError(t, first.over(t))
		require.NoError(t, second.over(t))
		require.Len(t, r.take(), 2)
	})
}

func TestDrainWaitsForRefusalsAndForTheWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		c := jsonrpc.New(jsonrpc.NewLineWriter(pw), &jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)})
		deliver(c, `{"jsonrpc":"2.0","id":1,"method":7}`)
		drain := start(func() error { return c.Drain(t.Context()) })
		require.False(t, drain.isOver(), "nobody has read the refusal")
		line := make([]byte, 1<<10)
		n, err := pr.Read(line)
		require.NoError(t, err)
		require.NoError(t, drain.over(t))
		require.Contains(t, string(line[:n]), `"code":-32600`)
		c.Close()
		pr.Close()
	})
}

func TestDrainEndsWithItsContextTheConnectionOrTheStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(untilDone)})
		deliver(c, request(1, "a"))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBroken)
		defer cancel()
		require.ErrorIs(t, c.Drain(ctx), errBroken)
		drain := start(func() error { return c.Drain(t.Context()) })
		require.False(t, drain.isOver())
		c.Close()
		require.ErrorIs(t, drain.over(t), jsonrpc.ErrClosed)
	})
	bubble(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		c := jsonrpc.New(jsonrpc.NewLineWriter(pw), &jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, c.Notify(t.Context(), &mcp.ToolListChangedNotification{}))
		drain := start(func() error { return c.Drain(t.Context()) })
		pr.CloseWithError(errBroken)
		require.True(t, errors.Is(drain.over(t), errBroken))
		c.Close()
	})
}

func TestDrainDoesNotWaitForSubscriptionsToEndByThemselves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), jsonrpc.ErrPeerDone)
			return result(`{"over":true}`)
		})})
		deliver(c, request(1, "subscriptions/listen"))
		require.NoError(t, c.Drain(t.Context()))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{"over":true}}`}, r.take())
	})
}

func TestRequestsAreDeclinedAndAllElseGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		told := 0
		why := &peer.Error{Code: mcp.CodeInternal, Message: "Closing time"}
		c, r := newConn(t, &jsonrpc.Options{Batches: func() bool { return true }, Handler: handlers{
			"ask": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
				require.NoError(t, err)
				return result(`{"asked":true}`)
			},
			"wait":   untilDone,
			"x/told": func(context.Context, *peer.Inbound) (peer.Reply, error) { told++; return peer.Reply{}, nil },
		}})
		deliver(c, request(1, "ask"), request(2, "wait"))
		synctest.Wait()
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`}, r.take())
		c.RefuseRequests(why)
		refusal := func(id string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"Closing time"}}`
		}
		deliver(c, request(3, "ask"), `[`+request(4, "ask")+`]`)
		synctest.Wait()
		require.ElementsMatch(t, []string{refusal("3"), `[` + refusal("4") + `]`}, r.take())
		deliver(c, `{"jsonrpc":"2.0","method":"x/told"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		require.NoError(t, c.Drain(t.Context()))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{"asked":true}}`}, r.take())
		require.Equal(t, 1, told)
	})
}
