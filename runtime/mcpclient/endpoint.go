package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// An Endpoint is the address of a server and the transport to it. [URL], [Command], [InProcess],
// [Streams], [Messages], [Dial] and [LegacySSE] return endpoints.
type Endpoint interface {
	// dial opens a connection. The values of ctx apply until the connection ends.
	dial(ctx context.Context, o *dialOptions) (Conn, error)
	// name identifies the server in errors and logs.
	name() string
}

// A Conn is a connection to one server, in both directions.
type Conn interface {
	peer.Outbound
	// Done is closed when the connection has ended, at either side.
	Done() <-chan struct{}
	// Close ends the connection. It returns when its goroutines have ended.
	Close() error
}

// The optional methods of a Conn.
type (
	// errorWaiter returns why the connection ended. Wait blocks until then.
	errorWaiter interface{ Wait() error }
	// revisionSetter is informed of the revision of a session.
	revisionSetter interface{ SetRevision(wire.Revision) }
	// listener opens a stream for messages that the server sends outside of responses. The channel
	// is closed when the server has responded to the request for it.
	listener interface{ Listening() <-chan struct{} }
	// initializedReporter returns the error of sending notifications/initialized, or nil.
	initializedReporter interface{ InitializedErr() error }
	// contextCloser gives the server time to exit, at most until ctx ends, and then closes.
	contextCloser interface{ closeWithin(ctx context.Context) }
	// callRelater delivers a message that belongs to a call with the values of the call's context.
	callRelater interface{ relatesToCalls() }
	// inFlighter has a table of the server's requests that are being handled.
	inFlighter interface{ inFlight() connection.InFlight }
	// toolHeaderSender repeats arguments of tools in HTTP headers.
	toolHeaderSender interface{ sendsToolHeaders() }
)

// dialOptions connects a transport to the client.
type dialOptions struct {
	jsonrpc       jsonrpc.Options
	toolHeaders   func(tool string, arguments json.RawMessage) (http.Header, error)
	onSessionLost func(error) // the server has ended the session
	onEventsLost  func()      // messages outside of responses are missing
}

// Command returns the endpoint of a server that runs as a child process. Messages pass through its
// standard input and output.
func Command(path string, args ...string) *CommandEndpoint {
	return &CommandEndpoint{Command: stdio.Command{Path: path, Args: args}}
}

// CommandEndpoint is the [Endpoint] of [Command]. Its fields must not change after the first use.
type CommandEndpoint struct {
	// Command is the program. It inherits only a few variables of the environment: see
	// [stdio.Command].
	stdio.Command
	// Start configures the child process. Start.JSONRPC is not used.
	Start stdio.StartOptions
}

func (e *CommandEndpoint) name() string { return e.Path }

func (e *CommandEndpoint) dial(ctx context.Context, o *dialOptions) (Conn, error) {
	opts := e.Start
	opts.JSONRPC = o.jsonrpc
	p, err := stdio.Start(ctx, e.Command, &opts)
	if err != nil {
		return nil, err
	}
	return processConn{p}, nil
}

type processConn struct{ *stdio.Process }

func (c processConn) inFlight() connection.InFlight { return c.Conn().InFlight() }

func (c processConn) closeWithin(ctx context.Context) { c.Shutdown(ctx) }

// Dial returns the endpoint of a server over a custom transport. The name is for errors and logs.
// The function opens a connection: it sends messages as opts requires and passes received messages to
// opts.Handler, usually with [jsonrpc.New]. The context lasts as long as the client. It is called
// again for each reconnect.
//
// The Conn may have more methods: Wait() error returns why the connection ended, and
// SetRevision([wire.Revision]) is called with the revision of a session.
//
// [Messages] is simpler if the transport has whole messages.
func Dial(name string, open func(ctx context.Context, opts *jsonrpc.Options) (Conn, error)) Endpoint {
	return &dialer{name, open}
}

type dialer struct {
	title string
	open  func(context.Context, *jsonrpc.Options) (Conn, error)
}

func (e *dialer) name() string { return e.title }

func (e *dialer) dial(ctx context.Context, o *dialOptions) (Conn, error) {
	return e.open(ctx, &o.jsonrpc)
}

// Streams returns the endpoint of a server over two streams of bytes, such as a socket,
// with one message per line. It can be used for one connection. The client closes both streams.
func Streams(in io.ReadCloser, out io.WriteCloser) Endpoint {
	return once("streams", func(ctx context.Context, opts *jsonrpc.Options) (Conn, error) {
		return newStreamConn(ctx, in, out, opts), nil
	})
}

// Messages returns the endpoint of a server over a custom transport of whole messages, such as a
// WebSocket or a queue. It can be used for one connection; use [Dial] with a transport that can be
// dialled again.
//
// The client calls ReadMessage in one goroutine until it returns an error; io.EOF means that the
// server has disconnected. The bytes that ReadMessage returns must not change afterwards.
// WriteMessage may be called concurrently. The client closes conn when it is closed, when the
// server disconnects, and if Connect fails.
func Messages(conn jsonrpc.MessageConn) Endpoint {
	return once("messages", func(ctx context.Context, opts *jsonrpc.Options) (Conn, error) {
		if conn == nil {
			return nil, errors.New("connection is nil")
		}
		return newMessageConn(ctx, conn, opts), nil
	})
}

// once returns an endpoint that can be dialled once.
func once(name string, open func(context.Context, *jsonrpc.Options) (Conn, error)) Endpoint {
	var used atomic.Bool
	return Dial(name, func(ctx context.Context, opts *jsonrpc.Options) (Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("endpoint cannot be dialled again")
		}
		return open(ctx, opts)
	})
}

// closeTimeout limits the wait for handlers when a connection is closed.
const closeTimeout = 5 * time.Second

var errServerClosed = errors.New("server closed the connection")

// readConn is a connection with a goroutine that reads from the transport.
type readConn struct {
	*jsonrpc.Conn
	closeTransport func() // called once
	done           chan struct{}
	err            error // set before done is closed
}

func newStreamConn(ctx context.Context, in io.ReadCloser, out io.WriteCloser, opts *jsonrpc.Options) *readConn {
	c := &readConn{Conn: jsonrpc.New(jsonrpc.NewLineWriter(out), opts), done: make(chan struct{})}
	c.closeTransport = sync.OnceFunc(func() {
		out.Close()
		in.Close()
	})
	go c.run(func() error { return c.ReadLines(ctx, in, jsonrpc.Source{}) }) // ends with in, which Close closes
	return c
}

func newMessageConn(ctx context.Context, conn jsonrpc.MessageConn, opts *jsonrpc.Options) *readConn {
	ctx, cancel := context.WithCancel(ctx)
	c := &readConn{Conn: jsonrpc.New(conn, opts), done: make(chan struct{})}
	c.closeTransport = sync.OnceFunc(func() {
		cancel()
		if err := conn.Close(); err != nil {
			opts.Logger.Debug("transport not closed cleanly", "error", err)
		}
	})
	go c.run(func() error { return c.readMessages(ctx, conn) }) // ends with conn, which Close closes
	return c
}

// readMessages delivers messages until the transport ends.
func (c *readConn) readMessages(ctx context.Context, conn jsonrpc.MessageConn) error {
	for {
		data, err := conn.ReadMessage(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.Deliver(ctx, data, jsonrpc.Source{})
	}
}

// run reads until the transport ends and then closes the connection.
func (c *readConn) run(read func() error) {
	defer close(c.done)
	err := read()
	select {
	case <-c.Conn.Done(): // closed by this client
		err = nil
	default:
		if err == nil {
			err = errServerClosed
		}
	}
	c.err = err
	c.shutdown(err)
}

func (c *readConn) shutdown(cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c.Conn.Shutdown(ctx, cause)
	c.closeTransport()
}

func (c *readConn) inFlight() connection.InFlight { return c.Conn.InFlight() }

// Done implements [Conn].
func (c *readConn) Done() <-chan struct{} { return c.done }

// Wait waits until the connection has ended and returns why. It returns nil after Close.
func (c *readConn) Wait() error {
	<-c.done
	return c.err
}

// Close implements [Conn].
func (c *readConn) Close() error {
	c.shutdown(nil)
	<-c.done
	return nil
}
