package mcpclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// farewell is how long a link that ends waits for what is still being handled.
const farewell = 5 * time.Second

// streamLink is a connection over two streams of bytes.
type streamLink struct {
	*jsonrpc.Conn
	in   io.Closer
	out  io.Closer
	once sync.Once
	done chan struct{} // closed when nothing is left; err is set
	err  error
}

func newStreamLink(ctx context.Context, in io.ReadCloser, out io.WriteCloser, opts *jsonrpc.Options) *streamLink {
	l := &streamLink{in: in, out: out, done: make(chan struct{})}
	l.Conn = jsonrpc.New(jsonrpc.NewLineWriter(out), opts)
	go l.read(ctx, in) // ends with in, which Close closes
	return l
}

// errHungUp is why a connection is over whose other end closed it.
var errHungUp = errors.New("the server closed the connection")

// read delivers what comes until nothing more does, and ends the connection.
func (l *streamLink) read(ctx context.Context, in io.Reader) {
	defer close(l.done)
	err := l.Conn.ReadLines(ctx, in, jsonrpc.Source{})
	select {
	case <-l.Conn.Done(): // we hung up ourselves
		err = nil
	default:
		if err == nil {
			err = errHungUp
		}
	}
	l.err = err
	l.hangUp(err)
}

func (l *streamLink) hangUp(cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	l.Conn.Shutdown(ctx, cause)
	l.once.Do(func() {
		l.out.Close()
		l.in.Close()
	})
}

func (l *streamLink) inFlight() connection.InFlight { return l.Conn.InFlight() }

// Done implements [Conn].
func (l *streamLink) Done() <-chan struct{} { return l.done }

// Wait waits for the end and returns its cause, nil after Close.
func (l *streamLink) Wait() error {
	<-l.done
	return l.err
}

// Close implements [Conn].
func (l *streamLink) Close() error {
	l.hangUp(nil)
	<-l.done
	return nil
}
