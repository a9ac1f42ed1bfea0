package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestShutdownEndsCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		calls := []*call{ping(t.Context(), c), ping(t.Context(), c)}
		c.Shutdown(t.Context(), errBroken)
		for _, call := range append(calls, ping(t.Context(), c)) {
			var closed *peer.ClosedError
			require.ErrorAs(t, call.over(t), &closed)
			require.ErrorIs(t, closed, errBroken)
			require.Nil(t, peer.AsError(call.err))
			require.Equal(t, !slices.Contains(calls, call), closed.Unsent, "calls before Shutdown were sent")
		}
		require.NoError(t, c.Notify(t.Context(), &changed{}))
		deliver(c, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		c.Shutdown(t.Context(), nil)
		<-c.Done()
	})
}

func TestCallRacesWithShutdown(t *testing.T) {
	for range 200 {
		c, _ := newConn(t, nil)
		done := make(chan error, 1)
		go func() {
			_, err := peer.SendRequest(t.Context(), c, &mcp.PingRequest{})
			done <- err
		}()
		go deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		go c.Shutdown(t.Context(), nil)
		if err := <-done; err != nil {
			var closed *peer.ClosedError
			require.ErrorAs(t, err, &closed)
		}
		c.Close()
	}
}

func TestDrainWaitsForResponses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Batches: func() bool { return true }, Handler: slow(release)})
		require.NoError(t, c.Drain(t.Context()), "no requests")
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

func TestDrainWaitsForWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		c := jsonrpc.New(jsonrpc.NewLineWriter(pw), &jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)})
		deliver(c, `{"jsonrpc":"2.0","id":1,"method":7}`)
		drain := start(func() error { return c.Drain(t.Context()) })
		require.False(t, drain.isOver(), "the response has not been read")
		line := make([]byte, 1<<10)
		n, err := pr.Read(line)
		require.NoError(t, err)
		require.NoError(t, drain.over(t))
		require.Contains(t, string(line[:n]), `"code":-32600`)
		c.Close()
		pr.Close()
	})
}

func TestDrainErrors(t *testing.T) {
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

func TestDrainEndsSubscriptions(t *testing.T) {
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

func TestRefuseRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		notified := 0
		why := &peer.Error{Code: mcp.CodeInternal, Message: "Closing time"}
		c, r := newConn(t, &jsonrpc.Options{Batches: func() bool { return true }, Handler: handlers{
			"ask": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
				require.NoError(t, err)
				return result(`{"asked":true}`)
			},
			"wait":     untilDone,
			"x/notify": func(context.Context, *peer.Inbound) (peer.Reply, error) { notified++; return peer.Reply{}, nil },
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
		deliver(c, `{"jsonrpc":"2.0","method":"x/notify"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		require.NoError(t, c.Drain(t.Context()))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{"asked":true}}`}, r.take())
		require.Equal(t, 1, notified)
	})
}

func TestShutdownAnswersRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var cause error
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{
			"wait": func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return result(`{"too":"late"}`)
			},
			"quick": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
		}})
		r.hook = func(_ context.Context, line string) error {
			if strings.Contains(line, `"id":2`) {
				<-release
			}
			return nil
		}
		deliver(c, request(1, "wait"), request(2, "quick"), request(3, "wait"),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		synctest.Wait()
		down := start(func() error { c.Shutdown(t.Context(), errBroken); return nil })
		require.Equal(t, []string{fmt.Sprintf(closedOne, 1)}, r.take(), "one response, and none for the cancelled request")
		require.False(t, down.isOver(), "Shutdown waits for the response that is being written")
		close(release)
		require.NoError(t, down.over(t))
		require.ErrorIs(t, cause, jsonrpc.ErrClosed)
		require.ErrorIs(t, cause, errBroken)
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 2)}, r.take(), "one response")
	})
}

func TestCancelAfterShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{
			Handler: slow(release), OnUnanswered: func(id wire.RequestID) { t.Errorf("OnUnanswered called with %v, which has been answered", id) },
		})
		deliver(c, request(1, "deaf"))
		synctest.Wait()
		end := start(c.Close)
		require.Len(t, r.take(), 1, "the error response")
		require.False(t, c.InFlight().Cancel(wire.IntID(1)))
		close(release)
		require.NoError(t, end.over(t))
	})
}

func TestShutdownWithEndedContextLogsNothing(t *testing.T) {
	for range 50 { // depends on timing
		var log strings.Builder
		c := jsonrpc.New(new(recorder), &jsonrpc.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.Shutdown(ctx, nil)
		require.NotContains(t, log.String(), "still running")
	}
}

func TestCloseTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, _ := newConn(t, &jsonrpc.Options{Handler: handlers{"deaf": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			<-release
			return result(`{}`)
		}}})
		deliver(c, request(1, "deaf"))
		begun := time.Now()
		require.NoError(t, c.Close())
		require.Equal(t, 5*time.Second, time.Since(begun))
		close(release)
	})
}

func TestQueuedNotificationsHandledAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var ended []bool
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			ended = append(ended, errors.Is(context.Cause(ctx), jsonrpc.ErrClosed))
			return peer.Reply{}, nil
		})})
		deliver(c, note("x"), note("x"))
		synctest.Wait()
		c.Close()
		require.Equal(t, []bool{true, true}, ended)
	})
}

func TestShutdownDoesNotAnswerCancelledRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Handler: slow(release)})
		deliver(c, request(1, "deaf"), request(2, "deaf"), cancelOne)
		synctest.Wait()
		end := start(func() error { return c.Close() })
		require.Equal(t, []string{fmt.Sprintf(closedOne, 2)}, r.take())
		close(release)
		require.NoError(t, end.over(t))
		require.Empty(t, r.take())
	})
}

func TestCloseIdle(t *testing.T) {
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
		busy("the connection is closed")
		var closed *peer.ClosedError
		require.ErrorAs(t, ping(t.Context(), c).over(t), &closed)
		require.Empty(t, out.take(), "nothing is sent")

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
