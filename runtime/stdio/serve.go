package stdio

import (
	"context"
	"io"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Serve serves the client that started this process, on the standard input and
// output, until the client closes the input or ctx ends. It returns nil in the
// first case and the cause of the context's end in the second, which a program
// that wanted the end knows by ctx.Err. A client that closes the output only has
// gone, too.
//
// The handler is usually a [connection.Pipe]. It is attached to the pipe, says
// how messages are written, and is closed in the end.
//
// Meanwhile the rest of the process has no part in them: what is printed goes
// to standard error, and what is read is empty, also in children. They are
// given back before Serve returns. A second Serve at the same time is refused
// with [ErrClaimed].
//
// Where standard input is a terminal, and on systems other than Unix, a goroutine
// may be left waiting for the next line when ctx ends: it cannot be taken away from
// a reader everywhere. On Linux one thread waits for the input.
func Serve(ctx context.Context, h peer.Handler, opts *ServeOptions) error {
	p, err := claim()
	if err != nil {
		return err
	}
	defer p.restore()
	return ServeStreams(ctx, p.in, p.out, h, opts)
}

// ServeStreams is [Serve] for other streams of bytes, such as the two
// directions of a socket. Both are closed when it returns.
func ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser, h peer.Handler, opts *ServeOptions) error {
	if opts == nil {
		opts = new(ServeOptions)
	}
	d := opts.JSONRPC
	d.Handler = h
	owner, _ := h.(pipeOwner)
	if owner != nil {
		d.Frame, d.Batches = owner.Frame, owner.Batches
	}
	if r, ok := h.(reader); ok {
		d.Read = r.Read
	}
	if w, ok := h.(watcher); ok {
		d.OnRequest, d.InterceptNotification = w.OnRequest, either(d.InterceptNotification, w.InterceptNotification)
	}
	s := &server{in: in, out: newOutlet(out), close: out.Close, owner: owner, patience: opts.patience()}
	s.conn = jsonrpc.New(jsonrpc.NewLineWriter(s.out), &d)
	if owner != nil {
		owner.Attach(s.conn, s.conn.InFlight())
	}
	if opts.Ready != nil {
		opts.Ready(s.conn)
	}
	return s.run(ctx)
}

// pipeOwner is a handler of all that comes through one pipe, such as a
// [connection.Pipe].
type pipeOwner interface {
	Attach(out peer.Outbound, inFlight connection.InFlight)
	Frame(method string) *wire.Frame
	Batches() bool
	Close(ctx context.Context)
}

// watcher is a handler that sees messages in the order of their arrival, too.
type watcher interface {
	OnRequest(in *peer.Inbound)
	InterceptNotification(in *peer.Inbound) (consumed bool)
}

// reader is a handler that knows how to read its messages.
type reader interface {
	Read(data []byte) (wire.Message, *wire.Frame, error)
}

// either has both see a notification, if there is a first one, and keeps it
// from its handler if either wants that.
func either(a, b func(*peer.Inbound) bool) func(*peer.Inbound) bool {
	if a == nil {
		return b
	}
	return func(in *peer.Inbound) bool {
		consumed := a(in)
		return b(in) || consumed
	}
}

// server is one client being served.
type server struct {
	conn  *jsonrpc.Conn
	in    io.ReadCloser
	out   *outlet
	close func() error // of what is behind out
	owner pipeOwner    // may be nil

	patience time.Duration
}

func (s *server) run(ctx context.Context) error {
	read := make(chan struct{})
	var unread error
	go func() { // ends at the end of the input, at the latest when it is closed
		defer close(read)
		unread = s.conn.ReadLines(context.WithoutCancel(ctx), s.in, jsonrpc.Source{Transport: newTransport(nil)})
	}()
	var err error
	select {
	case <-read:
		if err = unread; err == nil {
			s.finish(ctx)
		}
	case <-s.out.failed:
		err = s.out.reason()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.end(ctx, err)
	within(goodbye, read)
	return err
}

// finish waits, not longer than patience, until everything is answered that a
// client asked before it closed the input.
func (s *server) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-s.out.failed: // nobody reads the answers any more
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = s.conn.Drain(ctx) // what is not answered by then is told so
}

// end parts from the client because of err.
func (s *server) end(ctx context.Context, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	s.conn.Shutdown(ctx, err)
	s.in.Close() // not before: it may be what is written to, too
	if s.owner != nil {
		s.owner.Close(ctx)
	}
	s.close()
}
