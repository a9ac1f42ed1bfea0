package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// TestMain lets this test binary play a server that a client starts.
func TestMain(m *testing.M) {
	switch os.Getenv("MCPCLIENT_TEST_CHILD") {
	case "greeter":
		s := greeter()
		mcp.HandlePing(&s.mux, func(context.Context, *mcp.PingRequest) (*mcp.EmptyResult, error) {
			fmt.Fprintln(os.Stderr, "dying")
			os.Exit(3)
			return nil, nil
		})
		if err := stdio.Serve(context.Background(), s.pipe(), nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "kit":
		k := newKit(nil)
		plain(k, "die", func(context.Context, *mcp.ServerSession) (string, error) { os.Exit(3); return "", nil })
		if err := k.ServeStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "fragile": // ends when it meets what it does not know
		k := connection.NewDispatcher(&connection.DispatcherOptions{Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.Method == mcp.MethodDiscover {
					os.Exit(1)
				}
				return next.Handle(ctx, in)
			})
		}}})
		_ = stdio.Serve(context.Background(), connection.NewPipe(k, nil), nil)
		os.Exit(0)
	case "mute": // stays, and has nothing to say
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "deaf": // stays, and listens to nobody
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// child is this test binary as a server.
func child(t testing.TB, what string) *mcpclient.CommandEndpoint {
	exe, err := os.Executable()
	require.NoError(t, err)
	e := mcpclient.Command(exe)
	e.Env = []string{"MCPCLIENT_TEST_CHILD=" + what}
	return e
}

func TestACommandIsAServer(t *testing.T) {
	leaks.Check(t)
	for _, mode := range []mcpclient.Mode{mcpclient.Auto, mcpclient.Handshake} {
		c := connect(t, child(t, "greeter"), &mcpclient.Options{Mode: mode})
		greet(t, c)
		require.NoError(t, c.Close())
		require.NoError(t, c.Wait())
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.NoError(t, c.Cancelled(t.Context(), &mcp.CancelledNotification{}), "a notification has nowhere to go, and nobody minds")
	}
}

func TestACommandThatEndsAtTheProbeIsStartedAgainForTheHandshake(t *testing.T) {
	leaks.Check(t)
	c := connect(t, child(t, "fragile"), &mcpclient.Options{Logger: silent})
	require.Equal(t, "2025-11-25", c.Revision().String())
}

func TestACommandThatStaysDoesNotHoldUpWhoHasGivenItUp(t *testing.T) {
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

func TestTheEndOfACommandIsToldWithItsReason(t *testing.T) {
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

func TestAServerMayBeStartedAnew(t *testing.T) {
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
			require.ErrorAs(t, err, new(*peer.ClosedError), "what was under way fails")
			synctest.Wait()
			begun := time.Now()
			_, err = c.Ping(t.Context(), &mcp.PingRequest{})
			require.NoError(t, err)
			require.Equal(t, 100*time.Millisecond<<i, time.Since(begun), "each time it takes longer")
		}
		_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "x"})
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.ErrorContains(t, c.Wait(), "closed the connection")
	})
}

func TestAServerThatHasRunForAWhileMayBeStartedAnewAsOftenAsAtFirst(t *testing.T) {
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

func TestAServerThatCannotBeStartedAnewIsGivenUp(t *testing.T) {
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
		require.ErrorContains(t, c.Wait(), `restart of "script"`)
		require.Len(t, s.messages(), 2+3)
	})
}

// A call does not wait for ever for a server that never comes back.
func TestACallDoesNotOutwaitItsTimeout(t *testing.T) {
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
		require.NoError(t, err, "when it is back, it is used")
	})
}

func TestCloseEndsARestart(t *testing.T) {
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
		why := errors.New("no patience")
		cancel(why)
		_, err = c.Ping(ctx, &mcp.PingRequest{})
		require.ErrorIs(t, err, why)
		synctest.Wait()
		require.NoError(t, c.Close())
		require.Error(t, <-waiting)
		require.NoError(t, c.Err())
	})
}

// After a restart the server knows nothing: what is watched is asked for again,
// and whoever watches is told that something may have been missed.
func TestWhatIsWatchedIsWatchedAfterARestart(t *testing.T) {
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
				return errors.New("is only logged")
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

func TestALevelThatWasSetHoldsAfterARestart(t *testing.T) {
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

func TestSignsOfLife(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		alive  bool
	}{
		"an answer":  {ok(`{}`), true},
		"an error":   {fail(-32601, `null`), true}, // it does not know the question, but lives
		"no answer":  {"", false},
		"no result ": {ok(`[]`), false},
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
					require.ErrorContains(t, client.Err(), "no sign of life")
				default:
					require.True(t, c.alive)
				}
			})
		})
	}
}

func TestNobodyLooksForSignsOfLifeWhereThereAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(message) string { return ok(discovered) }}
		connect(t, s.endpoint(t), &mcpclient.Options{KeepAlive: time.Second})
		time.Sleep(time.Minute)
		require.Equal(t, []string{"server/discover"}, s.methods())
	})
}

func TestAClientThatIsClosedFailsItsCalls(t *testing.T) {
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

func TestManyCallsThatAreGivenUpLeaveNothingBehind(t *testing.T) {
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
			why := errors.New("changed my mind")
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

func TestAHandlerThatPanicsAfterARestartEndsNothing(t *testing.T) {
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
		require.Contains(t, line, "alive_test.go")
		_, err := c.Ping(t.Context(), nil)
		require.NoError(t, err)
	})
}
