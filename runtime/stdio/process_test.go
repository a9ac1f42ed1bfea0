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

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// timeout limits the waits for events that must happen.
const timeout = 20 * time.Second

// child returns the command that runs this binary in a role.
func child(t *testing.T, role string, env ...string) stdio.Command {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	env = append(env, roleVariable+"="+role, "GORACE=atexit_sleep_ms=0", "GOCOVERDIR="+t.TempDir())
	return stdio.Command{Path: self, Env: env}
}

// start starts a child. It checks at the end of the test that the child has ended and no
// goroutine is left.
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
		require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH, "child still runs")
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

// receive receives from c, which may be closed.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(timeout):
		require.Fail(t, "timeout")
		panic("unreachable")
	}
}

func waitStatus(p *stdio.Process) syscall.WaitStatus { return p.State().Sys().(syscall.WaitStatus) }

func TestCloseEndsChild(t *testing.T) {
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
	require.NoError(t, p.Close(), "second Close")
}

func TestCloseTerminatesChild(t *testing.T) {
	p := start(t, child(t, "ignoring EOF"), &stdio.StartOptions{Grace: time.Millisecond, KillAfter: timeout})
	ping(t, p)
	require.NoError(t, p.Close())
	require.Equal(t, syscall.SIGTERM, waitStatus(p).Signal())
}

func TestCloseKillsChild(t *testing.T) {
	p := start(t, child(t, "ignoring EOF and SIGTERM"), &stdio.StartOptions{Grace: time.Millisecond, KillAfter: 50 * time.Millisecond})
	ping(t, p)
	require.NoError(t, p.Close())
	require.Equal(t, syscall.SIGKILL, waitStatus(p).Signal())
}

func TestCloseReadsRemainingOutput(t *testing.T) {
	p := start(t, child(t, "flood"), &stdio.StartOptions{Grace: timeout})
	ping(t, p)
	require.NoError(t, p.Close())
	require.True(t, p.State().Success())
}

func TestCloseOfChildThatDoesNotRead(t *testing.T) {
	p := start(t, child(t, "not reading"), &stdio.StartOptions{Grace: time.Millisecond})
	failed := make(chan error)
	go func() {
		_, err := callTool(context.Background(), p, strings.Repeat("more than the capacity of a pipe ", 1<<16))
		failed <- err
	}()
	select {
	case err := <-failed:
		require.Fail(t, "call returned", "%v", err)
	case <-time.After(10 * time.Millisecond): // the write is in progress
	}
	require.NoError(t, p.Close())
	require.ErrorAs(t, receive(t, failed), new(*peer.ClosedError))
}

// socket listens on a socket for a descendant. It returns the environment variable with
// the path of the socket, and a channel that receives the connection of the descendant.
func socket(t *testing.T) (variable string, conns <-chan net.Conn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "stdio") // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	c := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := io.ReadFull(conn, make([]byte, len("connected\n"))); err == nil {
			c <- conn
		}
	}()
	return socketVariable + "=" + l.Addr().String(), c
}

// waitClosed waits until the descendant at the other end of conn has ended.
func waitClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(timeout)))
	data, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Empty(t, data)
}

func TestCloseEndsDescendants(t *testing.T) {
	variable, conns := socket(t)
	p := start(t, child(t, "server", variable), &stdio.StartOptions{KillAfter: 50 * time.Millisecond})
	_, err := callTool(t.Context(), p, "spawn")
	require.NoError(t, err)
	conn := receive(t, conns)
	require.NoError(t, p.Close())
	require.True(t, p.State().Success())
	waitClosed(t, conn)
}

func TestExitFailsCallsWhileDescendantHoldsPipes(t *testing.T) {
	variable, conns := socket(t)
	p := start(t, child(t, "server", variable), &stdio.StartOptions{KillAfter: 50 * time.Millisecond})
	_, err := callTool(t.Context(), p, "spawn")
	require.NoError(t, err)
	conn := receive(t, conns) // the descendant must connect before it is killed
	_, err = callTool(t.Context(), p, "exit")
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 4, exit.State.ExitCode())
	waitClosed(t, conn)
	receive(t, p.Done())
}

func TestExitFailsCallsWhileDescendantWrites(t *testing.T) {
	p := start(t, stdio.Command{Path: "/bin/sh", Args: []string{"-c", `(while echo; do sleep 0.05; done) & read line; exit 4`}}, &stdio.StartOptions{KillAfter: 50 * time.Millisecond})
	began := time.Now()
	_, err := callTool(t.Context(), p, "die")
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 4, exit.State.ExitCode())
	require.Less(t, time.Since(began), 4*time.Second)
}

func TestExitFailsAllCalls(t *testing.T) {
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
		requireExit(t, receive(t, errs))
	}
	_, err = callTool(t.Context(), p, "hang")
	requireExit(t, err)
	require.Equal(t, []string{"panic: out of cheese"}, p.Stderr())

	requireExit(t, p.Wait(), "not a call")
	requireExit(t, p.Close(), "not a call")
}

// requireExit requires the error of a child that the tool "die" ended.
func requireExit(t *testing.T, err error, notACall ...string) {
	t.Helper()
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, 3, exit.State.ExitCode())
	require.Equal(t, []string{"panic: out of cheese"}, exit.Stderr)
	require.ErrorContains(t, err, `ended: exit status 3; last lines of standard error: "panic: out of cheese"`)
	if len(notACall) == 0 {
		closed, ok := errors.AsType[*peer.ClosedError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, mcp.MethodCallTool, closed.Method)
	}
}

func TestChildClosesOutput(t *testing.T) {
	p := start(t, child(t, "closing output"), &stdio.StartOptions{Grace: time.Millisecond})
	_, err := callTool(t.Context(), p, "any")
	exit, ok := errors.AsType[*stdio.ExitError](err)
	require.True(t, ok, "%v", err)
	require.Nil(t, exit.State)
	require.ErrorContains(t, err, "closed its standard output")
	receive(t, p.Done())
	require.Equal(t, syscall.SIGTERM, waitStatus(p).Signal())
}

func TestGarbageIsReportedAndSkipped(t *testing.T) {
	var mu sync.Mutex
	var errs []error
	p := start(t, child(t, "garbage"), &stdio.StartOptions{JSONRPC: jsonrpc.Options{OnError: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}}})
	ping(t, p)
	ping(t, p)
	require.NoError(t, p.Close())
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, errs, 4, "%v", errs)
	require.ErrorContains(t, errs[0], `message of the peer "Starting the server ...": `)
}

func TestCloseAfterOnErrorCallsGoexit(t *testing.T) {
	p := start(t, child(t, "garbage"), &stdio.StartOptions{JSONRPC: jsonrpc.Options{OnError: func(error) { runtime.Goexit() }}})
	ping(t, p)
	ping(t, p)
	require.NoError(t, p.Close())
}

// blockingWriter blocks until release is closed.
type blockingWriter struct {
	release chan struct{}
	got     strings.Builder
}

func (w *blockingWriter) Write(b []byte) (int, error) {
	<-w.release
	return w.got.Write(b)
}

func TestSlowStderrWriterDoesNotBlockChild(t *testing.T) {
	w := &blockingWriter{release: make(chan struct{})}
	p := start(t, child(t, "server"), &stdio.StartOptions{Stderr: w})
	_, err := callTool(t.Context(), p, "flood stderr")
	require.NoError(t, err)
	ping(t, p)
	close(w.release)
	require.NoError(t, p.Close())
	require.Contains(t, w.got.String(), "bytes of standard error dropped]")
	require.Less(t, w.got.Len(), 4<<20)
	require.NotEmpty(t, p.Stderr())
}

func TestStderrIsForwarded(t *testing.T) {
	var all strings.Builder
	p := start(t, child(t, "server"), &stdio.StartOptions{Stderr: &all})
	_, err := callTool(t.Context(), p, "die")
	requireExit(t, err)
	receive(t, p.Done())
	require.Equal(t, "panic: out of cheese\n", all.String())
}

func TestContextEndsChild(t *testing.T) {
	leaks.Check(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := stdio.Start(ctx, child(t, "server"), nil)
	require.NoError(t, err)
	ping(t, p)
	errCancelled := errors.New("cancelled by the test")
	cancel(errCancelled)
	require.ErrorIs(t, p.Wait(), errCancelled)
	require.True(t, p.State().Success())

	_, err = stdio.Start(ctx, child(t, "server"), nil)
	require.ErrorIs(t, err, errCancelled)
}

func TestStartMissingProgram(t *testing.T) {
	leaks.Check(t)
	_, err := stdio.Start(t.Context(), stdio.Command{Path: "./no-such-server"}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, `start "./no-such-server"`)
}

func TestChildEnvironmentAndArguments(t *testing.T) {
	t.Setenv("STDIO_TEST_SECRET", "hunter2")
	t.Setenv("STDIO_TEST_SHARED", "shared")
	t.Setenv("SHELL", "() { true; }; echo hello")
	t.Setenv("TZ", "UTC")
	c := child(t, "server", "STDIO_TEST_OWN=own", "TZ=Europe/Berlin")
	c.Inherit = []string{"STDIO_TEST_SHARED", "STDIO_TEST_ABSENT"}
	c.Args = []string{"$HOME", "$(id)", "; exit 1"}
	p := start(t, c, nil)
	got, err := callTool(t.Context(), p, "environment")
	require.NoError(t, err)

	lines := strings.Split(got, "\n")
	require.Equal(t, c.Args, lines[:3], "no shell changes the arguments")
	require.Subset(t, lines, []string{"PATH=" + os.Getenv("PATH"), "STDIO_TEST_OWN=own", "STDIO_TEST_SHARED=shared", "TZ=Europe/Berlin"})
	for _, line := range lines[3:] {
		name, _, _ := strings.Cut(line, "=")
		require.NotContains(t, []string{"STDIO_TEST_SECRET", "STDIO_TEST_ABSENT", "SHELL"}, name)
	}
}

func TestTransportContextHasProcess(t *testing.T) {
	from := make(chan *stdio.Process, 1)
	p := start(t, child(t, "server"), &stdio.StartOptions{JSONRPC: jsonrpc.Options{
		Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			from <- in.Transport.(*stdio.TransportContext).Process()
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		}),
	}})
	got, err := callTool(t.Context(), p, "ping")
	require.NoError(t, err)
	require.Equal(t, "<nil>", got)
	require.Same(t, p, receive(t, from))
}

func TestCommandDir(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	p := start(t, stdio.Command{Path: "/bin/sh", Args: []string{"-c", "pwd -P >&2; exit 5"}, Dir: dir}, nil)
	require.EqualError(t, p.Wait(), `child "/bin/sh" ended: exit status 5; last lines of standard error: "`+dir+`"`)
	require.Equal(t, []string{dir}, p.Stderr())
}

func TestCallTimesOutIfChildDoesNotRead(t *testing.T) {
	p := start(t, child(t, "not reading"), &stdio.StartOptions{Grace: time.Millisecond})
	failed := make(chan error)
	go func() {
		_, err := peer.SendRequest(context.Background(), p, &mcp.CallToolRequest{
			Name: strings.Repeat("more than the capacity of a pipe ", 1<<13),
		}, peer.WithTimeout(time.Millisecond))
		failed <- err
	}()
	require.ErrorAs(t, receive(t, failed), new(*peer.TimeoutError))
}

func TestShutdownTerminatesChildWhenContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := start(t, child(t, "ignoring EOF"), &stdio.StartOptions{Grace: time.Hour, KillAfter: timeout})
	ping(t, p)
	done := make(chan error)
	go func() { done <- p.Shutdown(ctx) }() // returns soon after ctx ends
	select {
	case <-done:
		require.Fail(t, "Shutdown returned before its context ended")
	case <-time.After(10 * time.Millisecond):
	}
	cancel()
	require.NoError(t, receive(t, done))
	require.Equal(t, syscall.SIGTERM, waitStatus(p).Signal())
}

func TestShutdownWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := start(t, child(t, "server"), nil)
	ping(t, p)
	require.NoError(t, p.Shutdown(ctx))
	require.True(t, p.State().Success())
}

func TestObserveReceivesBytesOfBothDirections(t *testing.T) {
	var mu sync.Mutex
	var observed [2]strings.Builder // received, sent
	p := start(t, child(t, "server"), &stdio.StartOptions{Observe: func(sent bool, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		direction := 0
		if sent {
			direction = 1
		}
		observed[direction].Write(b)
	}})
	ping(t, p)
	ping(t, p)
	require.NoError(t, p.Close())
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping","params":{}}`+"\n", observed[1].String())
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"+`{"jsonrpc":"2.0","id":2,"result":{}}`+"\n", observed[0].String())
}
