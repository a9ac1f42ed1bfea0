package mcpclient_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestCommand(t *testing.T) {
	leaks.Check(t)
	for _, mode := range []mcpclient.Mode{mcpclient.Auto, mcpclient.Handshake} {
		c := connect(t, child(t, "greeter"), &mcpclient.Options{Mode: mode})
		greet(t, c)
		require.NoError(t, c.Close())
		require.NoError(t, c.Wait())
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.NoError(t, c.Cancelled(t.Context(), &mcp.CancelledNotification{}), "a notification without a connection is dropped")
	}
}

func TestCommandThatExitsDuringProbeIsRestarted(t *testing.T) {
	leaks.Check(t)
	c := connect(t, child(t, "fragile"), &mcpclient.Options{Logger: silent})
	require.Equal(t, "2025-11-25", c.Revision().String())
}

func TestConnectKillsCommandThatDoesNotExit(t *testing.T) {
	leaks.Check(t)
	for _, what := range []string{"mute", "deaf"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e := child(t, what)
		e.Start.Grace = time.Hour
		_, err := mcpclient.Connect(ctx, e, &mcpclient.Options{Logger: silent})
		require.ErrorIs(t, err, context.DeadlineExceeded, what)
	}
}

func TestExitOfCommandIsReported(t *testing.T) {
	leaks.Check(t)
	c := connect(t, child(t, "greeter"), &mcpclient.Options{Mode: mcpclient.Handshake, Logger: silent})
	_, err := c.Ping(t.Context(), &mcp.PingRequest{})
	require.ErrorAs(t, err, new(*stdio.ExitError))
	var exit *stdio.ExitError
	require.ErrorAs(t, c.Wait(), &exit)
	require.Equal(t, 3, exit.State.ExitCode())
	require.Contains(t, exit.Stderr, "dying")
	require.Equal(t, c.Wait(), c.Err())
	_, err = c.Ping(t.Context(), &mcp.PingRequest{})
	require.ErrorAs(t, err, new(*stdio.ExitError))
}

func TestServerIsRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(m message) string {
			switch m.Method {
			case "initialize":
				return ok(welcome)
			case "tools/call":
				return hangUp
			case "ping":
				return ok(`{}`)
			}
			return ""
		}}
		c, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, Restarts: 2, Logger: silent})
		require.NoError(t, err)
		for i := range 2 {
			_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "x"})
			require.ErrorAs(t, err, new(*peer.ClosedError), "active calls fail")
			synctest.Wait()
			begun := time.Now()
			_, err = c.Ping(t.Context(), &mcp.PingRequest{})
			require.NoError(t, err)
			require.Equal(t, 100*time.Millisecond<<i, time.Since(begun), "the delay doubles")
		}
		_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "x"})
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.ErrorContains(t, c.Wait(), "closed the connection")
	})
}

func TestRestartsAreCountedFromZeroAfterHealthyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(m message) string {
			if m.Method == "ping" {
				return ok(`{}`)
			}
			return old(m)
		}}
		c := connect(t, s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, Restarts: 1, Logger: silent})
		for range 3 {
			time.Sleep(time.Minute)
			s.hangUp()
			synctest.Wait()
			begun := time.Now()
			_, err := c.Ping(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, 100*time.Millisecond, time.Since(begun))
		}
		s.hangUp()
		require.ErrorContains(t, c.Wait(), "closed the connection")
	})
}

func TestClientClosesIfRestartsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: old}
		var broken atomic.Bool
		s.answer = func(m message) string {
			if broken.Load() {
				return fail(-32600, `null`)
			}
			return old(m)
		}
		c, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, Restarts: 3, Logger: silent})
		require.NoError(t, err)
		synctest.Wait()
		broken.Store(true)
		s.hangUp()
		require.ErrorContains(t, c.Wait(), `restart "script"`)
		require.Len(t, s.messages(), 2+3)
	})
}

// Calls during a restart have a timeout, even if the server never starts.
func TestCallDuringRestartHasTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s := &script{answer: func(m message) string {
			switch {
			case broken.Load():
				return hangUp
			case m.Method == "ping":
				return ok(`{}`)
			}
			return old(m)
		}}
		c := connect(t, s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, Restarts: -1, Timeout: 30 * time.Second, Logger: silent})
		synctest.Wait()
		broken.Store(true)
		s.hangUp()
		synctest.Wait()
		begun := time.Now()
		_, err := c.Ping(t.Context(), &mcp.PingRequest{})
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		require.Equal(t, 30*time.Second, time.Since(begun))

		broken.Store(false)
		_, err = c.Ping(t.Context(), &mcp.PingRequest{})
		require.NoError(t, err, "calls use the restarted server")
	})
}

func TestCloseEndsRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: old}
		c, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, Restarts: 3, Logger: silent})
		require.NoError(t, err)
		s.hangUp()
		synctest.Wait()
		waiting := make(chan error, 1)
		go func() { // ends with the client
			_, err := c.Ping(context.Background(), &mcp.PingRequest{})
			waiting <- err
		}()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("test timeout")
		cancel(why)
		_, err = c.Ping(ctx, &mcp.PingRequest{})
		require.ErrorIs(t, err, why)
		synctest.Wait()
		require.NoError(t, c.Close())
		require.Error(t, <-waiting)
		require.NoError(t, c.Err())
	})
}

// After a restart the client subscribes again, and notifies the program because notifications may be
// missing.
func TestWatchAndHandlersContinueAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		s.answer = func(m message) string {
			switch m.Method {
			case "initialize":
				return ok(`{"protocolVersion":"2025-11-25","capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"old","version":"1"}}`)
			case "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
				return ok(`{}`)
			}
			return ""
		}
		listChanged := make(chan struct{}, 1)
		c := connect(t, s.endpoint(t), &mcpclient.Options{
			Mode: mcpclient.Handshake, Restarts: 1, Logger: silent,
			OnLog: func(context.Context, *mcp.LoggingMessageNotification) error { return nil },
			OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error {
				listChanged <- struct{}{}
				return errors.New("only logged")
			},
		})
		go func() { // ends with the pipe
			synctest.Wait()
			s.hangUp()
		}()
		for uri, err := range c.Watch(t.Context(), "a:1") {
			require.NoError(t, err)
			require.Equal(t, "a:1", uri)
			break
		}
		<-listChanged
		require.Equal(t, []string{
			"initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe",
			"initialize", "notifications/initialized", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
		}, s.methods())
	})
}

func TestLogLevelIsSetAgainAfterRestart(t *testing.T) {
	for _, onLog := range []func(context.Context, *mcp.LoggingMessageNotification) error{
		nil, func(context.Context, *mcp.LoggingMessageNotification) error { return nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answer: func(m message) string {
				switch m.Method {
				case "initialize":
					return ok(`{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"old","version":"1"}}`)
				case "logging/setLevel":
					if string(m.Params["level"]) == `"alert"` {
						return fail(mcp.CodeInvalidParams, "null")
					}
					return ok(`{}`)
				case "ping":
					return ok(`{}`)
				}
				return ""
			}}
			c := connect(t, s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, Restarts: 1, Logger: silent, OnLog: onLog})
			_, err := c.SetLevel(t.Context(), &mcp.SetLevelRequest{Level: mcp.LoggingLevelDebug})
			require.NoError(t, err)
			_, err = c.SetLevel(t.Context(), &mcp.SetLevelRequest{Level: mcp.LoggingLevelAlert})
			require.Error(t, err)
			before := len(s.messages())
			s.hangUp()
			synctest.Wait()
			_, err = c.Ping(t.Context(), nil)
			require.NoError(t, err)
			synctest.Wait()
			var levels []string
			for _, m := range s.messages()[before:] {
				if m.Method == "logging/setLevel" {
					levels = append(levels, string(m.Params["level"]))
				}
			}
			require.Equal(t, []string{`"debug"`}, levels)
			require.NoError(t, c.Close())
		})
	}
}

func TestKeepAlive(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		alive  bool
	}{
		"a result":       {ok(`{}`), true},
		"an error":       {fail(-32601, `null`), true}, // an error is a response, too
		"no response":    {"", false},
		"invalid result": {ok(`[]`), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answer: func(m message) string {
					if m.Method == "ping" {
						return c.answer
					}
					return old(m)
				}}
				client := connect(t, s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake, KeepAlive: time.Second, Logger: silent})
				time.Sleep(time.Minute)
				synctest.Wait()
				select {
				case <-client.Done():
					require.False(t, c.alive)
					require.ErrorContains(t, client.Err(), "does not respond to pings")
				default:
					require.True(t, c.alive)
				}
			})
		})
	}
}

func TestNoPingsInStatelessRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(message) string { return ok(discovered) }}
		connect(t, s.endpoint(t), &mcpclient.Options{KeepAlive: time.Second})
		time.Sleep(time.Minute)
		require.Equal(t, []string{"server/discover"}, s.methods())
	})
}

func TestCloseFailsCalls(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	begun := make(chan struct{})
	mcp.HandleCallTool(&s.mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(begun)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	c, err := mcpclient.Connect(t.Context(), s.overPipe(t), nil)
	require.NoError(t, err)
	go func() { // ends with the client
		<-begun
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "wait"})
	require.ErrorAs(t, err, new(*peer.ClosedError))
	<-c.Done()
	require.NoError(t, c.Err())
	require.NoError(t, c.Close())
}

func TestManyCancelledCallsLeaveNoGoroutines(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	begun := make(chan struct{})
	mcp.HandleCallTool(&s.mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Name == "greet" {
			return mcp.TextResult("hello web"), nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	for way, to := range s.ways(t) {
		t.Run(way, func(t *testing.T) {
			c := connect(t, to, nil)
			why := errors.New("test cancels")
			for range 3_000 {
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() { <-begun; cancel(why) }() // ends with the call
				_, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: "wait"})
				require.ErrorIs(t, err, why)
			}
			greet(t, c)
		})
	}
}

func TestPanicOfHandlerAfterRestartIsRecovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(m message) string {
			switch m.Method {
			case "initialize":
				return ok(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"old","version":"1"}}`)
			case "ping":
				return ok(`{}`)
			}
			return ""
		}}
		said := make(lines, 9)
		c := connect(t, s.endpoint(t), &mcpclient.Options{
			Mode: mcpclient.Handshake, Restarts: 1, Logger: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelError})),
			OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { panic("a bug") },
		})
		s.hangUp()
		line := <-said
		require.Contains(t, line, "a bug")
		require.Contains(t, line, "reconnect_test.go")
		_, err := c.Ping(t.Context(), nil)
		require.NoError(t, err)
	})
}

// When a child process exits, only the active calls fail.
func TestKilledCommandIsRestarted(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		lists := make(chan string, 9)
		c := connect(t, child(t, "kit"), &mcpclient.Options{
			Revision: r, Restarts: 1, Logger: silent,
			OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error {
				lists <- n.Method()
				return nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		changes, ended := make(chan string), make(chan struct{})
		go func() { // ends with ctx
			defer close(ended)
			for uri, err := range c.Watch(ctx, "note:1") {
				if err != nil {
					t.Error(err)
				}
				select {
				case changes <- uri:
				case <-ctx.Done():
				}
			}
		}()
		for watched := false; !watched; {
			require.Equal(t, "touched", callText(t, c, "touch"))
			select {
			case <-changes:
				watched = true
			default:
			}
		}
		_, err := mcpclient.CallTool[string](t.Context(), c, "die", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.Equal(t, "note:1", <-changes, "changes may have been missed")
		require.Equal(t, mcp.MethodToolListChanged, <-lists)
		require.Equal(t, "grown", callText(t, c, "grow"))
		require.Equal(t, mcp.MethodToolListChanged, <-lists)
		cancel()
		<-ended

		_, err = mcpclient.CallTool[string](t.Context(), c, "die", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.ErrorAs(t, c.Wait(), new(*stdio.ExitError), "the options allow one restart")
	})
}

// A call between the exit of a child process and its detection was not sent: it waits for the restart.
func TestCallAfterExitOfCommandWaitsForRestart(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		c := connect(t, child(t, "kit"), &mcpclient.Options{Revision: r, Restarts: -1, Logger: silent})
		for range 3 {
			_, err := mcpclient.CallTool[string](t.Context(), c, "die", nil)
			require.ErrorAs(t, err, new(*peer.ClosedError), "a sent call is not repeated")
			require.Equal(t, "touched", callText(t, c, "touch"))
		}
	})
}

// The same with broken pipes.
func TestCallOnBrokenPipeWaitsForRestart(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		s := greeter(r)
		to := s.overPipe(t)
		c := connect(t, to, &mcpclient.Options{Revision: r, Restarts: 9, Logger: silent})
		for range 3 {
			broken := c.Connection()
			s.breakPipes()
			<-mcpclient.TransportOf(c).Done()
			greet(t, c)
			require.NotSame(t, broken, c.Connection())
		}
	})
}

func TestCallAfterLastRestart(t *testing.T) {
	leaks.Check(t)
	c := connect(t, child(t, "kit"), &mcpclient.Options{Restarts: 1, Logger: silent})
	for range 2 {
		_, err := mcpclient.CallTool[string](t.Context(), c, "die", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
	}
	_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.ErrorAs(t, err, new(*peer.ClosedError))
	require.ErrorAs(t, c.Wait(), new(*stdio.ExitError))
}
