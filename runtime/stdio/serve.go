package stdio

import (
	"context"
	"io"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/internal/pipe"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ServeOptions are the options of a server. The zero value is ready to use.
type ServeOptions struct {
	// JSONRPC configures the dispatcher: limits, timeouts and the revision to
	// write. [Serve] sets its Handler. With a [connection.Pipe], Serve also
	// sets OnRequest, Read, Frame and Batches, and the Pipe receives each
	// notification after InterceptNotification.
	JSONRPC jsonrpc.Options
	// Ready, if not nil, is called with the connection to the client before
	// the first message is read.
	Ready func(*jsonrpc.Conn)
	// Patience is how long the requests in progress may continue after the
	// client closed the input; then they are cancelled. It lets a client
	// write all its requests, close the input and then read, as in
	// "printf … | server". The default is 1 s, which is less than clients
	// wait before they terminate a server. A negative value means no time.
	Patience time.Duration
	// Observe, if not nil, is called with the bytes of all messages: before they are
	// written to the client if sent is true, and otherwise after they were read. The
	// bytes of one call need not be one line. It must not wait and must not keep or
	// change b. It may be called concurrently for the two directions.
	Observe func(sent bool, b []byte)
}

const defaultPatience = time.Second

func (o *ServeOptions) patience() time.Duration {
	if o.Patience < 0 {
		return 0
	}
	return positive(o.Patience, defaultPatience)
}

// Serve serves the client that started this process on the standard input and
// output of the process. It returns nil after the client closes the input or the
// output. If ctx ends first, it returns the cause of that; a program that cancels
// ctx on purpose can check ctx.Err.
//
// The handler is usually a [connection.Pipe]. Serve attaches it to the
// connection, uses its frames to write messages, and closes it at the end.
//
// While Serve runs, the rest of the process and its children cannot use standard
// input and output: what they print goes to standard error, and what they read is
// empty. Both are restored before Serve returns. Another Serve at the same time
// returns [ErrClaimed].
//
// If standard input is a terminal, or the system is not Unix, a read cannot be
// interrupted. When ctx ends, a goroutine may then continue to wait for the next
// line. On Linux one thread waits for the input.
func Serve(ctx context.Context, h peer.Handler, opts *ServeOptions) error {
	std, err := redirectOnce()
	if err != nil {
		return err
	}
	defer std.restore()
	return ServeStreams(ctx, std.in, std.out, h, opts)
}

// ServeStreams is like [Serve] for other streams, such as the two directions of a
// socket. It closes both before it returns.
func ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser, h peer.Handler, opts *ServeOptions) error {
	if opts == nil {
		opts = new(ServeOptions)
	}
	d := opts.JSONRPC
	attached := pipe.Configure(&d, h)
	s := &server{in: in, input: in, out: newOutput(out), closeOut: out.Close, handler: attached, patience: opts.patience()}
	if f := opts.Observe; f != nil {
		s.input, s.out.w = observed(in, f), io.MultiWriter(sent(f), out)
	}
	s.conn = jsonrpc.New(jsonrpc.NewLineWriter(s.out), &d)
	if attached != nil {
		attached.Attach(s.conn, s.conn.InFlight())
	}
	if opts.Ready != nil {
		opts.Ready(s.conn)
	}
	return s.run(ctx)
}

// server serves one client.
type server struct {
	conn     *jsonrpc.Conn
	in       io.Closer
	input    io.Reader // reads from in
	out      *output
	closeOut func() error // closes the writer of out
	handler  pipe.Handler // may be nil

	patience time.Duration
}

func (s *server) run(ctx context.Context) error {
	read := make(chan struct{})
	var readErr error
	go func() { // returns at the end of the input, at the latest when it is closed
		defer close(read)
		readErr = s.conn.ReadLines(lazy.Values(ctx), s.input, jsonrpc.Source{Transport: newTransport(nil)})
	}()
	var err error
	select {
	case <-read:
		if err = readErr; err == nil {
			s.finish(ctx)
		}
	case <-s.out.failed:
		err = s.out.reason()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.shutdown(ctx, err)
	waitFor(read, shutdownTimeout)
	return err
}

// finish waits for the responses to the requests that the client sent before it
// closed the input, at most for the patience.
func (s *server) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	go func() { // returns when ctx ends
		select {
		case <-s.out.failed: // the client does not read the responses
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = s.conn.Drain(ctx) // shutdown cancels the remaining requests
}

// shutdown ends the connection because of err and closes the streams.
func (s *server) shutdown(ctx context.Context, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	s.conn.Shutdown(ctx, err)
	s.in.Close() // not earlier: in and out may be the same socket
	if s.handler != nil {
		s.handler.Close(ctx)
	}
	s.closeOut()
}
