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
