package server

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

// StdioContextFunc returns the context of all handlers. It is called once.
type StdioContextFunc func(ctx context.Context) context.Context

// StdioServer serves one client over standard input and output, or over two other streams.
type StdioServer struct {
	server      *MCPServer
	contextFunc StdioContextFunc
	workers     workers // nil means no limit
}

// workers has an element for each tool call that runs.
type workers chan struct{}

type workersKey struct{}

// begin waits until another tool call may run. The caller must call end if the error is nil.
func (w workers) begin(ctx context.Context) error {
	if w == nil {
		return nil
	}
	select {
	case w <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both happened
		w.end()
		return context.Cause(ctx)
	}
	return nil
}

func (w workers) end() {
	if w != nil {
		<-w
	}
}

// StdioOption configures [ServeStdio].
type StdioOption func(*StdioServer)

// NewStdioServer returns a server of one client.
func NewStdioServer(server *MCPServer) *StdioServer { return &StdioServer{server: server} }

// SetContextFunc sets the function that returns the context of handlers.
func (s *StdioServer) SetContextFunc(fn StdioContextFunc) { s.contextFunc = fn }

// SetErrorLogger sets the logger of errors that no caller gets, for all transports of the server.
// By default they are logged with package slog; in mcp-go they are discarded.
func (s *StdioServer) SetErrorLogger(logger *log.Logger) { s.server.useLogger(logger) }

// WithErrorLogger is [StdioServer.SetErrorLogger].
func WithErrorLogger(logger *log.Logger) StdioOption {
	return func(s *StdioServer) { s.SetErrorLogger(logger) }
}

// WithStdioContextFunc is [StdioServer.SetContextFunc].
func WithStdioContextFunc(fn StdioContextFunc) StdioOption {
	return func(s *StdioServer) { s.SetContextFunc(fn) }
}

// WithWorkerPoolSize sets the number of tool calls that run at the same time. Other calls wait. A call that
// continues as a task counts until it becomes one. Without this option there is no such limit; in mcp-go it is
// 5. A number less than 1 is ignored.
func WithWorkerPoolSize(size int) StdioOption {
	return func(s *StdioServer) {
		if size > 0 {
			s.workers = make(workers, size)
		}
	}
}

// WithQueueSize has no effect: calls that wait are limited like all requests, by the options of package
// [github.com/mcpwright/mcp/runtime/jsonrpc].
func WithQueueSize(int) StdioOption { return func(*StdioServer) {} }

// Listen serves the client until it closes the input, or until ctx ends; then it returns the error
// of ctx. If ctx has ended before, that is all that Listen does. Otherwise it closes streams that have a
// method Close. If it serves [os.Stdin] and [os.Stdout], everything else that the process prints to
// [os.Stdout] goes to standard error.
func (s *StdioServer) Listen(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if s.contextFunc != nil {
		ctx = s.contextFunc(ctx)
	}
	err := ctx.Err()
	if err != nil {
		return err
	}
	ctx = context.WithValue(ctx, workersKey{}, s.workers)
	if stdin == os.Stdin && stdout == os.Stdout {
		err = s.server.kit.ServeStdio(ctx)
	} else {
		err = s.server.kit.ServeStreams(ctx, readCloser(stdin), writeCloser(stdout))
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func readCloser(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

func writeCloser(w io.Writer) io.WriteCloser {
	if c, ok := w.(io.WriteCloser); ok {
		return c
	}
	return nopWriteCloser{w}
}

// ServeStdio serves the client that started the process, until it closes the input or the process
// gets an interrupt or termination signal.
func ServeStdio(server *MCPServer, opts ...StdioOption) error {
	s := NewStdioServer(server)
	for _, opt := range opts {
		opt(s)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return s.Listen(ctx, os.Stdin, os.Stdout)
}
