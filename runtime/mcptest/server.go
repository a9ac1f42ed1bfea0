package mcptest

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// Server is what can be tested: anything that serves one client on two streams,
// one message on each line, until the client closes in or ctx ends. [InProcess],
// [HTTP], [URL] and [Command] make Servers of other things.
type Server interface {
	ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
}

// InProcess returns a server that is a handler of all that comes through one
// pipe, such as a [connection.Pipe]: each connection has one of its own.
func InProcess(handler func() peer.Handler) Server {
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return stdio.ServeStreams(ctx, in, out, handler(), nil)
	})
}

// serveFunc makes a [Server] of a function.
type serveFunc func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error

func (f serveFunc) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return f(ctx, in, out)
}

// Command returns a server that is a program: it is started for each connection
// and serves on its standard input and output. What it prints to its standard
// error goes to stderr, nil for nowhere.
func Command(stderr io.Writer, path string, args ...string) Server {
	return &command{stderr, path, args}
}

type command struct {
	stderr io.Writer
	path   string
	args   []string
}

// patience is how long a program may take to end when its input has.
const patience = 5 * time.Second

// ServeStreams implements [Server].
func (c *command) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer out.Close()
	defer in.Close()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Stdout, cmd.Stderr = out, c.stderr
	cmd.WaitDelay = patience
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	copied := make(chan struct{})
	go func() { // ends at the end of the input, at the latest when that is closed below
		defer close(copied)
		_, _ = io.Copy(stdin, in) // a program that does not read has ended: Wait tells
		stdin.Close()
	}()
	err = cmd.Wait()
	in.Close()
	<-copied
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}
