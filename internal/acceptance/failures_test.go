package acceptance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// rig is a server whose tools report to the test when they begin and end.
type rig struct {
	*mcpserver.Server
	began   chan string // receives the season of each call
	ended   chan error  // receives the error that each call ended with
	release chan struct{}
	kept    chan *mcp.ServerSession
}

func newRig() *rig {
	r := &rig{newServer(nil), make(chan string, 1000), make(chan error, 1000), make(chan struct{}), make(chan *mcp.ServerSession, 1)}
	for name, h := range map[string]func(context.Context, *mcp.ServerSession, tripInput) (string, error){
		"wait": r.wait, "ignore-context": r.ignoreContext, "asks": r.asks, "keeps": r.keeps, "flood": r.flood,
	} {
		mcpserver.AddTool(r.Server, &mcp.Tool{Name: name}, h)
	}
	return r
}

// wait blocks until it is released or its call ends.
func (r *rig) wait(ctx context.Context, s *mcp.ServerSession, in tripInput) (string, error) {
	if err := s.ReportProgress(ctx, peer.Progress{Progress: 1, Message: in.Season}); err != nil {
		return "", err
	}
	r.began <- in.Season
	select {
	case <-r.release:
		return in.Season, nil
	case <-ctx.Done():
		r.ended <- context.Cause(ctx)
		return "", ctx.Err()
	}
}

// ignoreContext blocks until it is released, even if its call ends.
func (r *rig) ignoreContext(_ context.Context, _ *mcp.ServerSession, in tripInput) (string, error) {
	r.began <- in.Season
	<-r.release
	return in.Season, nil
}

// asks sends a question to the user and reports its error.
func (r *rig) asks(ctx context.Context, s *mcp.ServerSession, in tripInput) (string, error) {
	r.began <- in.Season
	text, err := ask(ctx, s, in.Season)
	r.ended <- err
	return text, err
}

// keeps stores the session of its call.
func (r *rig) keeps(_ context.Context, s *mcp.ServerSession, _ tripInput) (string, error) {
	select {
	case r.kept <- s:
	default:
	}
	return "kept", nil
}

// flood reports progress until that fails.
func (r *rig) flood(ctx context.Context, s *mcp.ServerSession, _ tripInput) (string, error) {
	for step := 1; ctx.Err() == nil; step++ {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: float64(step), Message: strings.Repeat("x", 10_000)}); err != nil {
			break
		}
	}
	r.ended <- context.Cause(ctx)
	return "", nil
}

// start calls a tool and returns when the tool runs. The channel receives the error of the call.
func (r *rig) start(ctx context.Context, t *testing.T, c *mcpclient.Client, tool string) <-chan error {
	t.Helper()
	over := make(chan error, 1)
	go func() { // returns when the call ends
		_, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: tool})
		over <- err
	}()
	within(t, r.began)
	return over
}

// within receives a value and fails the test if none arrives in time.
func within[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		require.FailNow(t, "no value arrived")
		panic("unreachable")
	}
}

// kinds are the newest handshake revision and the newest stateless revision.
var kinds = []wire.Revision{mcp.Revision20251125, mcp.Revision20260728}

func TestBrokenPipeEndsCallsAtBothEnds(t *testing.T) {
	for _, revision := range kinds {
		for name, side := range map[string]int{"the client's": 0, "the server's": 1} {
			t.Run(revision.String()+"/"+name, func(t *testing.T) {
				r := newRig()
				clientEnd, serverEnd := net.Pipe()
				served := make(chan error, 1)
				go func() { served <- r.ServeStreams(context.Background(), serverEnd, serverEnd) }() // returns when the pipe is closed
				c := (&user{}).connect(t, mcpclient.Streams(clientEnd, clientEnd), revision)
				over := r.start(t.Context(), t, c, "wait")
				[]net.Conn{clientEnd, serverEnd}[side].Close()
				var closed *peer.ClosedError
				require.ErrorAs(t, within(t, over), &closed)
				require.Error(t, within(t, r.ended))
				within(t, served)
				within(t, c.Done())
			})
		}
	}
}

func TestClosedHTTPServerFailsCalls(t *testing.T) {
	for _, revision := range kinds {
		t.Run(revision.String(), func(t *testing.T) {
			r := newRig()
			to := reach(t, "")
			h := streamable.NewHandler(r, nil)
			listener := listen(t, h)
			to.URL = listener.URL
			to.HTTP.Backoff = client.Backoff{InitialDelay: time.Millisecond, MaxAttempts: 2}
			c := (&user{}).connect(t, to, revision)
			over := r.start(t.Context(), t, c, "wait")
			listener.Listener.Close()
			listener.CloseClientConnections()
			require.Error(t, within(t, over))
			require.NoError(t, h.Close(), "the sessions end with the handler")
			require.Error(t, within(t, r.ended))
		})
	}
}

// TestKilledCommandFailsCallsWithExitError kills the child process of a client during a call. The
// next call uses a new process.
func TestKilledCommandFailsCallsWithExitError(t *testing.T) {
	for _, revision := range kinds {
		t.Run(revision.String(), func(t *testing.T) {
			c := (&user{}).connect(t, command(t), revision, func(o *mcpclient.Options) { o.Restarts = 1 })
			pid, err := mcpclient.CallTool[string](t.Context(), c, "pid", nil)
			require.NoError(t, err)
			number, err := strconv.Atoi(pid)
			require.NoError(t, err)
			child, err := os.FindProcess(number)
			require.NoError(t, err)
			_, err = mcpclient.CallTool[string](t.Context(), c, "hang", nil, peer.OnProgress(func(peer.Progress) { child.Kill() }))
			var closed *peer.ClosedError
			require.ErrorAs(t, err, &closed)
			var exit *stdio.ExitError
			require.ErrorAs(t, err, &exit)
			require.Contains(t, exit.Error(), "killed")
			require.Contains(t, exit.Stderr, "about to hang")
			again, err := mcpclient.CallTool[string](t.Context(), c, "pid", nil)
			for errors.As(err, &closed) { // the client has not noticed yet
				again, err = mcpclient.CallTool[string](t.Context(), c, "pid", nil)
			}
			require.NoError(t, err)
			require.NotEqual(t, pid, again)
		})
	}
}

func TestQuestionEndsWhenClientDisconnects(t *testing.T) {
	u := &user{unanswered: make(chan string)}
	// requireGone requires that the question fails, and that its error contains the reason.
	requireGone := func(t *testing.T, r *rig, reason string) {
		t.Helper()
		err := within(t, r.ended)
		var closed *peer.ClosedError
		require.ErrorAs(t, err, &closed)
		require.EqualError(t, err, `send "elicitation/create": connection closed`+reason)
	}
	t.Run("pipe", func(t *testing.T) {
		r := newRig()
		clientEnd, serverEnd := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- r.ServeStreams(context.Background(), serverEnd, serverEnd) }() // returns when the pipe is closed
		c := u.connect(t, mcpclient.Streams(clientEnd, clientEnd), mcp.Revision20251125)
		over := r.start(t.Context(), t, c, "asks")
		require.Equal(t, "summer", within(t, u.unanswered))
		clientEnd.Close()
		requireGone(t, r, "")
		within(t, served)
		require.Error(t, within(t, over))
	})
	t.Run("in process", func(t *testing.T) {
		r := newRig()
		c := u.connect(t, mcpclient.InProcess(r.Server), mcp.Revision20251125)
		over := r.start(t.Context(), t, c, "asks")
		require.Equal(t, "summer", within(t, u.unanswered))
		require.NoError(t, c.Close())
		requireGone(t, r, "")
		require.Error(t, within(t, over))
	})
	t.Run("HTTP+SSE", func(t *testing.T) {
		r := newRig()
		h := streamable.NewLegacySSEHandler(r, nil)
		listener := httptest.NewServer(h)
		t.Cleanup(func() {
			h.Close()
			listener.Close()
		})
		c := u.connect(t, mcpclient.LegacySSE(listener.URL, nil), mcp.Revision20251125)
		over := r.start(t.Context(), t, c, "asks")
		require.Equal(t, "summer", within(t, u.unanswered))
		listener.Listener.Close()
		listener.CloseClientConnections()
		requireGone(t, r, ": stream closed by its client")
		require.Error(t, within(t, over))
	})
	t.Run("HTTP, closed by the client", func(t *testing.T) {
		r := newRig()
		c := u.connect(t, overHTTP(t, r.Server, nil), mcp.Revision20251125)
		over := r.start(t.Context(), t, c, "asks")
		require.Equal(t, "summer", within(t, u.unanswered))
		require.NoError(t, c.Close())
		require.ErrorContains(t, within(t, r.ended), "onnection closed", "of the client's response, or of the session")
		require.Error(t, within(t, over))
	})
	// The client may come back until the session is idle for too long.
	t.Run("HTTP, without a DELETE", func(t *testing.T) {
		r := newRig()
		listener := listen(t, streamable.NewHandler(r, &streamable.Options{SessionIdleTimeout: time.Second}))
		to := reach(t, listener.URL)
		to.HTTP.Backoff = client.Backoff{InitialDelay: time.Millisecond, MaxAttempts: 1}
		c := u.connect(t, to, mcp.Revision20251125)
		over := r.start(t.Context(), t, c, "asks")
		require.Equal(t, "summer", within(t, u.unanswered))
		listener.Listener.Close()
		listener.CloseClientConnections()
		require.Error(t, within(t, over))
		requireGone(t, r, ": session was idle for too long")
	})
	t.Run("HTTP, shutdown", func(t *testing.T) {
		r := newRig()
		c := u.connect(t, overHTTP(t, r.Server, nil), mcp.Revision20251125)
		over := r.start(t.Context(), t, c, "asks")
		require.Equal(t, "summer", within(t, u.unanswered))
		now, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, r.Shutdown(now), context.Canceled)
		requireGone(t, r, ": server is shutting down")
		require.Error(t, within(t, over))
	})
	t.Run("HTTP, 2026-07-28", func(t *testing.T) { // the server cannot send requests, so a call is cancelled instead
		r := newRig()
		c := u.connect(t, overHTTP(t, r.Server, nil), mcp.Revision20260728)
		ctx, cancel := context.WithCancel(t.Context())
		over := r.start(ctx, t, c, "wait")
		cancel() // its connection is closed
		require.ErrorIs(t, within(t, r.ended), context.Canceled)
		require.ErrorIs(t, within(t, over), context.Canceled)
	})
}

func TestPanicFailsOnlyItsCall(t *testing.T) {
	overEveryTransport(t, func(t *testing.T, to mcpclient.Endpoint, r wire.Revision) {
		u := &user{}
		c := u.connect(t, to, r)
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "panics"})
		require.Equal(t, int64(mcp.CodeInternal), peer.AsError(err).Code)
		require.Equal(t, "Internal error", testlog.WithoutIDs(peer.AsError(err).Message))
		require.Len(t, call(t, c, u, "trip", `{}`).questions, 3)
	})
}

// TestShutdownDoesNotWaitForToolThatIgnoresContext shuts a server down while a tool ignores its context. Over
// HTTP the call fails when the http.Server closes the connection. In process it fails when the tool
// ends, because the tool runs in the goroutine of its caller.
func TestShutdownDoesNotWaitForToolThatIgnoresContext(t *testing.T) {
	for _, revision := range kinds {
		for name, way := range map[string]func(*testing.T, *mcpserver.Server) (to mcpclient.Endpoint, cut func()){
			"in process": func(_ *testing.T, s *mcpserver.Server) (mcpclient.Endpoint, func()) {
				return mcpclient.InProcess(s), func() {}
			},
			"pipe": func(t *testing.T, s *mcpserver.Server) (mcpclient.Endpoint, func()) { return overPipe(t, s), func() {} },
			"HTTP": func(t *testing.T, s *mcpserver.Server) (mcpclient.Endpoint, func()) {
				listener := listen(t, streamable.NewHandler(s, nil))
				to := reach(t, listener.URL)
				to.HTTP.Backoff = client.Backoff{InitialDelay: time.Millisecond, MaxAttempts: 1}
				return to, listener.CloseClientConnections
			},
			"HTTP without sessions": func(t *testing.T, s *mcpserver.Server) (mcpclient.Endpoint, func()) {
				return overHTTP(t, s, &streamable.Options{Stateless: true}), func() {}
			},
		} {
			t.Run(name+"/"+revision.String(), func(t *testing.T) {
				if testing.Short() && revision != mcp.Revision20260728 {
					t.Skip("-short checks one revision: the server waits for the tool for seconds")
				}
				if name == "HTTP without sessions" && revision == mcp.Revision20260728 {
					return // the same as HTTP
				}
				t.Parallel()
				r := newRig()
				release := sync.OnceFunc(func() { close(r.release) })
				defer release()
				to, cut := way(t, r.Server)
				over := r.start(t.Context(), t, (&user{}).connect(t, to, revision), "ignore-context")
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				require.ErrorIs(t, r.Shutdown(ctx), context.DeadlineExceeded)
				if revision != mcp.Revision20260728 {
					cut()
				}
				err := within(t, over)
				require.Error(t, err)
				if name == "HTTP without sessions" || name == "HTTP" && revision == mcp.Revision20260728 {
					var refused *peer.Error
					require.ErrorAs(t, err, &refused)
					require.Contains(t, refused.Message, "shutting down")
				}
			})
		}
	}
}

// TestSessionFailsAfterItsCall uses a session after the response to its call.
func TestSessionFailsAfterItsCall(t *testing.T) {
	for _, revision := range withElicitation {
		for name, way := range map[string]func(*testing.T, *mcpserver.Server) mcpclient.Endpoint{
			"in process": func(_ *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return mcpclient.InProcess(s) },
			"pipe":       overPipe,
			"HTTP":       func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return overHTTP(t, s, nil) },
		} {
			t.Run(name+"/"+revision.String(), func(t *testing.T) {
				r, u := newRig(), &user{}
				c := u.connect(t, way(t, r.Server), revision)
				reports := 0
				_, err := mcpclient.CallTool[string](t.Context(), c, "keeps", nil, peer.OnProgress(func(peer.Progress) { reports++ }))
				require.NoError(t, err)
				s := <-r.kept
				_, err = s.ElicitForm(t.Context(), form("Still there?"))
				require.Error(t, err)
				_, err = sample(t.Context(), s, "Still there?")
				require.Error(t, err)
				_ = s.ReportProgress(t.Context(), peer.Progress{Progress: 1}) // may be dropped
				_ = s.SendLogMessage(t.Context(), &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelError, Data: []byte(`"x"`)})
				require.Equal(t, []string{"Who travels?", "Where to, <Who travels?>?", "Praise <Where to, <Who travels?>?>"}, call(t, c, u, "trip", `{}`).questions)
				require.Zero(t, reports)
			})
		}
	}
}

// TestRandomCancellation cancels calls before, while and after they are handled.
func TestRandomCancellation(t *testing.T) {
	for name, reach := range map[string]func(*testing.T) mcpclient.Endpoint{
		"in process": transports["in process"], "pipe": transports["pipe"], "HTTP": transports["HTTP"],
	} {
		for _, revision := range kinds {
			t.Run(name+"/"+revision.String(), func(t *testing.T) {
				u := &user{}
				c := u.connect(t, reach(t), revision)
				var next, done, cancelled atomic.Int64
				var workers sync.WaitGroup
				for w := range 16 {
					workers.Go(func() {
						random := rand.New(rand.NewPCG(1, uint64(w)))
						for n := next.Add(1); n <= calls(name); n = next.Add(1) {
							if err := cancelAtRandom(t.Context(), c, n, random); errors.Is(err, context.Canceled) {
								cancelled.Add(1)
							} else if err != nil {
								t.Error(err)
							} else {
								done.Add(1)
							}
						}
					})
				}
				workers.Wait()
				require.Equal(t, calls(name), done.Load()+cancelled.Load())
				require.NotZero(t, done.Load())
				require.NotZero(t, cancelled.Load())
				require.Len(t, call(t, c, u, "trip", `{}`).questions, 3)
			})
		}
	}
}

// calls returns the number of calls. Over HTTP there are fewer, because each cancelled call closes a
// connection.
func calls(way string) int64 {
	if way == "HTTP" || testing.Short() {
		return 1_000
	}
	return 10_000
}

// cancelAtRandom calls a tool that echoes its argument, and cancels the call at once, later or never.
func cancelAtRandom(ctx context.Context, c *mcpclient.Client, n int64, random *rand.Rand) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var cancelling sync.WaitGroup
	defer cancelling.Wait()
	switch delay := random.IntN(40); {
	case delay == 0:
		cancel()
	case delay < 20:
		cancelling.Go(func() { // returns after cancel
			for range delay {
				runtime.Gosched()
			}
			cancel()
		})
	}
	text := fmt.Sprint(n)
	got, err := mcpclient.CallTool[string](ctx, c, "echo", tripInput{Season: text})
	if err == nil && got != text {
		return fmt.Errorf("got result %q of call %q", got, text)
	}
	return err
}
