package mcptest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// Server is a server that can be tested. ServeStreams serves one client on two
// streams, with one message on each line, until the client closes in or ctx ends.
//
// An mcpserver.Server is a Server. [InProcess], [HTTP], [URL] and [Command] return
// Servers for other kinds of servers.
type Server interface {
	ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
}

// serveFunc is a function that implements [Server].
type serveFunc func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error

// ServeStreams implements [Server].
func (f serveFunc) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return f(ctx, in, out)
}

// InProcess returns a server for a handler of all messages of a pipe, such as a
// [connection.Pipe]. The function is called once for each connection.
func InProcess(handler func() peer.Handler) Server {
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return stdio.ServeStreams(ctx, in, out, handler(), nil)
	})
}

// HTTP returns a server for the handler of a Streamable HTTP endpoint. Requests
// have the path "/". Each connection starts an HTTP server on a port of the
// loopback interface.
func HTTP(h http.Handler) Server {
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		s := httptest.NewServer(h)
		defer s.Close()
		defer s.CloseClientConnections()
		return serveEndpoint(ctx, s.URL, s.Client(), in, out)
	})
}

// URL returns a server for a Streamable HTTP endpoint that runs elsewhere. The
// client sends the requests, and may add headers such as a token. A nil client is
// [http.DefaultClient].
func URL(endpoint string, client *http.Client) Server {
	if client == nil {
		client = http.DefaultClient
	}
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return serveEndpoint(ctx, endpoint, client, in, out)
	})
}

// Command returns a server for a program that serves on its standard input and
// output. Each connection starts the program. Its standard error is written to
// stderr, or discarded if that is nil.
func Command(stderr io.Writer, path string, args ...string) Server {
	return &command{stderr, path, args}
}

type command struct {
	stderr io.Writer
	path   string
	args   []string
}

// closeTimeout limits the time for a server to stop after its input was closed.
const closeTimeout = 5 * time.Second

// ServeStreams implements [Server].
func (c *command) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	defer out.Close()
	defer in.Close()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Stdout, cmd.Stderr = out, c.stderr
	cmd.WaitDelay = closeTimeout
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	copied := make(chan struct{})
	go func() { // ends when in ends, at the latest when it is closed below
		defer close(copied)
		_, _ = io.Copy(stdin, in) // fails if the program has exited; Wait returns that error
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
