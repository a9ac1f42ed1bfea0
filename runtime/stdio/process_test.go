//go:build unix

package stdio_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// child is the command that runs this binary in a role.
func child(t *testing.T, role string, env ...string) stdio.Command {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	env = append(env, roleVariable+"="+role, "GORACE=atexit_sleep_ms=0", "GOCOVERDIR="+t.TempDir())
	return stdio.Command{Path: self, Env: env}
}

// start starts a child that must be gone without a trace when the test ends.
func start(t *testing.T, c stdio.Command, opts *stdio.StartOptions) *stdio.Process {
	t.Helper()
	leaks.Check(t)
	if opts == nil {
		opts = new(stdio.StartOptions)
	}
	if opts.JSONRPC.Logger == nil {
		opts.JSONRPC.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	p, err := stdio.Start(t.Context(), c, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Close()
		require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH, "the child is still there")
	})
	return p
}

func callTool(ctx context.Context, out peer.Outbound, name string) (string, error) {
	res, err := peer.SendRequest(ctx, out, &mcp.CallToolRequest{Name: name})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func ping(t *testing.T, out peer.Outbound) {
	t.Helper()
	_, err := peer.SendRequest(t.Context(), out, &mcp.PingRequest{})
	require.NoError(t, err)
}

// await waits for c to be closed or to deliver.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		require.Fail(t, "nothing happens")
		panic("unreachable")
	}
}

func status(p *stdio.Process) syscall.WaitStatus { return p.State().Sys().(syscall.WaitStatus) }

func TestAChildServesUntilItIsClosed(t *testing.T) {
	p := start(t, child(t, "server"), nil)
	ping(t, p)
	ping(t, p)
	require.Nil(t, p.State())
	require.NoError(t, p.Close())
	require.True(t, p.State().Success())

	_, err := peer.SendRequest(t.Context(), p, &mcp.PingRequest{})
	closed, ok := errors.AsType[*peer.ClosedError](err)
	require.True(t, ok, "%v", err)
	require.NoError(t, closed.Cause)
	require.NoError(t, p.Close(), "a second time")
}

func TestAChildThatStaysIsAskedToTerminate(t *testing.T) {
	p := start(t, child(t, "staying"), &stdio.StartOptions{Grace: time.Millisecond, KillAfter: patience})
	ping(t, p)
	require.NoError(t, p.Close())
	require.Equal(t, syscall.SIGTERM, status(p).Signal())
}

func TestAChildThatDoesNotTerminateIsKilled(t *testing.T) {
	p := start(t, child(t, "stubborn"), &stdio.StartOptions{Grace: time.Millisecond, KillAfter: 50 * time.Millisecond})
	ping(t, p)
	require.NoError(t, p.Close())
	require.Equal(t, syscall.SIGKILL, status(p).Signal())
}

func TestAChildThatFloodsItsOutputEndsInOrder(t *testing.T) {
	p := start(t, child(t, "flooding"), &stdio.StartOptions{Grace: patience})
	ping(t, p)
	require.NoError(t, p.Close())
	require.True(t, p.State().Success())
}

func TestAChildThatReadsNothingDoesNotStopClose(t *testing.T) {
	p := start(t, child(t, "unreading"), &stdio.StartOptions{Grace: time.Millisecond})
	failed := make(chan error)
	go func() {
		_, err := callTool(context.Background(), p, strings.Repeat("more than a pipe holds ", 1<<16))
		failed <- err
	}()
	select {
	case err := <-failed:
		require.Fail(t, "the child reads", "%v", err)
	case <-time.After(10 * time.Millisecond): // no matter how far the writing has come
	}
	require.NoError(t, p.Close())
	require.ErrorAs(t, await(t, failed), new(*peer.ClosedError))
}

// home is where descendants call.
func home(t *testing.T) (variable string, calls <-chan net.Conn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "stdio") // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "home"))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	c := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := io.ReadFull(conn, make([]byte, len("here\n"))); err == nil {
			c <- conn
		}
	}()
	return homeVariable + "=" + l.Addr().String(), c
}

// gone waits until the descendant at the other end of conn is no more.
func gone(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	said, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Empty(t, said)
}

func TestDescendantsEndWithTheChild(t *testing.T) {
	at, calls := home(t)
	p := start(t, child(t, "server", at), &stdio.StartOptions{KillAfter: 50 * time.Millisecond})
	_, err := callTool(t.Context(), p, "multiply")
	require.NoError(t, err)
	conn := await(t, calls)
	require.NoError(t, p.Close())
	require.True(t, p.State().Success())
	gone(t, conn)
}

func TestAChildThatDiesFailsCallsAlthoughADescendantHoldsItsPipes(t *testing.T) {
	at, calls := home(t)
	p := start(t, child(t, "server", at), &stdio.StartOptions{KillAfter: 50 * time.Millisecond})
	_, err := callTool(t.Context(), p, "multiply")
	require.NoError(t, err)
	conn := await(t, calls) // it has to be there before the child's end has it swept away
	_, err = callTool(t.Context(), p, "leave")
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 4, exit.State.ExitCode())
	gone(t, conn)
	await(t, p.Done())
}

func TestAChildThatDiesFailsCallsAlthoughADescendantWritesOn(t *testing.T) {
	p := start(t, stdio.Command{Path: "/bin/sh", Args: []string{"-c", `(while echo; do sleep 0.05; done) & read line; exit 4`}}, &stdio.StartOptions{KillAfter: 50 * time.Millisecond})
	begun := time.Now()
	_, err := callTool(t.Context(), p, "die")
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 4, exit.State.ExitCode())
	require.Less(t, time.Since(begun), 4*time.Second)
}

func TestAChildThatDiesFailsAllCalls(t *testing.T) {
	p := start(t, child(t, "server"), nil)
	errs := make(chan error)
	for range 10 {
		go func() {
			_, err := callTool(context.Background(), p, "hang")
			errs <- err
		}()
	}
	ping(t, p)
	_, err := callTool(t.Context(), p, "die")
	requireExit(t, err)
	for range 10 {
		requireExit(t, await(t, errs))
	}
	_, err = callTool(t.Context(), p, "hang")
	requireExit(t, err)
	require.Equal(t, []string{"panic: out of cheese"}, p.Stderr())

	requireExit(t, p.Wait(), "not a call")
	requireExit(t, p.Close(), "not a call")
}

// requireExit expects that a child has died of the tool "die".
func requireExit(t *testing.T, err error, notACall ...string) {
	t.Helper()
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 3, exit.State.ExitCode())
	require.Equal(t, []string{"panic: out of cheese"}, exit.Stderr)
	require.ErrorContains(t, err, `ended: exit status 3; it last said: "panic: out of cheese"`)
	if len(notACall) == 0 {
		closed, ok := errors.AsType[*peer.ClosedError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, mcp.MethodCallTool, closed.Method)
	}
}

func TestAChildThatClosesItsOutputHasGone(t *testing.T) {
	p := start(t, child(t, "silent"), &stdio.StartOptions{Grace: time.Millisecond})
	_, err := callTool(t.Context(), p, "any")
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Nil(t, exit.State)
	require.ErrorContains(t, err, "closed its standard output")
	await(t, p.Done())
	require.Equal(t, syscall.SIGTERM, status(p).Signal())
}

func TestRubbishAmongTheMessagesIsToldAndSkipped(t *testing.T) {
	var mu sync.Mutex
	var told []error
	p := start(t, child(t, "babbling"), &stdio.StartOptions{JSONRPC: jsonrpc.Options{OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, err)
	}}})
	ping(t, p)
	ping(t, p)
	require.NoError(t, p.Close())
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, told, 4, "%v", told)
}

func TestAnObserverThatEndsItsGoroutineDoesNotKeepTheChild(t *testing.T) {
	p := start(t, child(t, "babbling"), &stdio.StartOptions{JSONRPC: jsonrpc.Options{OnError: func(error) { runtime.Goexit() }}})
	ping(t, p)
	ping(t, p)
	require.NoError(t, p.Close())
}

// stuck is a writer that holds on to its first text.
type stuck struct {
	release chan struct{}
	got     strings.Builder
}

func (w *stuck) Write(b []byte) (int, error) {
	<-w.release
	return w.got.Write(b)
}

func TestAFloodOnStandardErrorBlocksNobody(t *testing.T) {
	w := &stuck{release: make(chan struct{})}
	p := start(t, child(t, "server"), &stdio.StartOptions{Stderr: w})
	_, err := callTool(t.Context(), p, "shout")
	require.NoError(t, err)
	ping(t, p)
	close(w.release)
	require.NoError(t, p.Close())
	require.Contains(t, w.got.String(), "bytes of standard error dropped]")
	require.Less(t, w.got.Len(), 4<<20)
	require.NotEmpty(t, p.Stderr())
}

func TestStandardErrorIsPassedOn(t *testing.T) {
	var all strings.Builder
	p := start(t, child(t, "server"), &stdio.StartOptions{Stderr: &all})
	_, err := callTool(t.Context(), p, "die")
	requireExit(t, err)
	await(t, p.Done())
	require.Equal(t, "panic: out of cheese\n", all.String())
}

func TestTheContextEndsTheChild(t *testing.T) {
	leaks.Check(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := stdio.Start(ctx, child(t, "server"), nil)
	require.NoError(t, err)
	ping(t, p)
	enough := errors.New("enough")
	cancel(enough)
	require.ErrorIs(t, p.Wait(), enough)
	require.True(t, p.State().Success())

	_, err = stdio.Start(ctx, child(t, "server"), nil)
	require.ErrorIs(t, err, enough)
}

func TestAProgramThatIsNotThereCannotBeStarted(t *testing.T) {
	leaks.Check(t)
	_, err := stdio.Start(t.Context(), stdio.Command{Path: "./no-such-server"}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, `start "./no-such-server"`)
}

func TestAChildSeesNoMoreThanItShould(t *testing.T) {
	t.Setenv("STDIO_TEST_SECRET", "hunter2")
	t.Setenv("STDIO_TEST_SHARED", "shared")
	t.Setenv("SHELL", "() { true; }; echo hello")
	t.Setenv("TZ", "UTC")
	c := child(t, "server", "STDIO_TEST_OWN=own", "TZ=Europe/Berlin")
	c.Inherit = []string{"STDIO_TEST_SHARED", "STDIO_TEST_ABSENT"}
	c.Args = []string{"$HOME", "$(id)", "; exit 1"}
	p := start(t, c, nil)
	said, err := callTool(t.Context(), p, "describe")
	require.NoError(t, err)

	lines := strings.Split(said, "\n")
	require.Equal(t, c.Args, lines[:3], "as they stand, without a shell")
	require.Subset(t, lines, []string{"PATH=" + os.Getenv("PATH"), "STDIO_TEST_OWN=own", "STDIO_TEST_SHARED=shared", "TZ=Europe/Berlin"})
	for _, line := range lines[3:] {
		name, _, _ := strings.Cut(line, "=")
		require.NotContains(t, []string{"STDIO_TEST_SECRET", "STDIO_TEST_ABSENT", "SHELL"}, name)
	}
}

func TestTheHandlerOfAClientKnowsTheChild(t *testing.T) {
	from := make(chan *stdio.Process, 1)
	p := start(t, child(t, "server"), &stdio.StartOptions{JSONRPC: jsonrpc.Options{
		Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			from <- in.Transport.(*stdio.TransportContext).Process()
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		}),
	}})
	said, err := callTool(t.Context(), p, "ask")
	require.NoError(t, err)
	require.Equal(t, "<nil>", said)
	require.Same(t, p, await(t, from))
}

func TestAChildRunsWhereItIsTold(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := start(t, stdio.Command{Path: "/bin/sh", Args: []string{"-c", "pwd -P >&2; exit 5"}, Dir: dir}, nil)
	require.EqualError(t, p.Wait(), `child "/bin/sh" ended: exit status 5; it last said: "`+dir+`"`)
	require.Equal(t, []string{dir}, p.Stderr())
}

func TestACallToAChildThatReadsNothingTimesOut(t *testing.T) {
	p := start(t, child(t, "unreading"), &stdio.StartOptions{Grace: time.Millisecond})
	failed := make(chan error)
	go func() {
		_, err := peer.SendRequest(context.Background(), p, &mcp.CallToolRequest{
			Name: strings.Repeat("more than a pipe holds ", 1<<13),
		}, peer.WithTimeout(time.Millisecond))
		failed <- err
	}()
	require.ErrorAs(t, await(t, failed), new(*peer.TimeoutError))
}

func TestAChildThatStaysIsAskedToTerminateWhenPatienceIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := start(t, child(t, "staying"), &stdio.StartOptions{Grace: time.Hour, KillAfter: patience})
	ping(t, p)
	over := make(chan error)
	go func() { over <- p.Shutdown(ctx) }() // ends with ctx
	select {
	case <-over:
		require.Fail(t, "there is patience left")
	case <-time.After(10 * time.Millisecond):
	}
	cancel()
	require.NoError(t, await(t, over))
	require.Equal(t, syscall.SIGTERM, status(p).Signal())
}

func TestAChildThatEndsByItselfDoesSoInAHurryToo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := start(t, child(t, "server"), nil)
	ping(t, p)
	require.NoError(t, p.Shutdown(ctx))
	require.True(t, p.State().Success())
}
