package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/internal/pipe"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// ErrShutdown is returned by functions that serve a server if it has been shut down before the call.
var ErrShutdown = errors.New("mcpserver: the server has been shut down")

// ServeStdio serves the client that started this process, over standard input and output.
// It returns when the client closes the input, when ctx ends, or when the server is shut
// down. The error is nil in all these cases; ctx.Err reports whether ctx has ended.
//
// While it serves, everything else that the process prints goes to standard error.
func (s *Server) ServeStdio(ctx context.Context) error {
	return s.servePipe(ctx, func(ctx context.Context, handler *connection.Pipe, opts *stdio.ServeOptions) error {
		return stdio.Serve(ctx, handler, opts)
	})
}

// ServeStreams is like [Server.ServeStdio] for other streams of bytes, such as the two
// directions of a socket. It closes both before it returns.
func (s *Server) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return s.servePipe(ctx, func(ctx context.Context, handler *connection.Pipe, opts *stdio.ServeOptions) error {
		return stdio.ServeStreams(ctx, in, out, handler, opts)
	})
}

// Serve serves one client over a transport that carries whole messages, such as a WebSocket
// or a pair of queues. It returns when the client disconnects, when ctx ends, or when the
// server is shut down. The error is nil in all these cases; ctx.Err reports whether ctx has
// ended. Serve closes conn before it returns.
//
// A program calls Serve once for each client, from a goroutine of its own:
//
//	http.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
//		conn, err := accept(w, r) // implements jsonrpc.MessageConn
//		if err != nil {
//			return
//		}
//		if err := server.Serve(r.Context(), conn); err != nil {
//			log.Print(err)
//		}
//	})
//
// Limits, timeouts and the Ready function come from [Options].Stdio, as for
// [Server.ServeStreams]. When the client disconnects, the contexts of handlers that still
// run end at once.
func (s *Server) Serve(ctx context.Context, conn jsonrpc.MessageConn) error {
	err := s.servePipe(ctx, func(ctx context.Context, handler *connection.Pipe, opts *stdio.ServeOptions) error {
		return serveMessages(ctx, conn, handler, opts)
	})
	if err == ErrShutdown {
		conn.Close()
	}
	return err
}

// servePipe calls serve with the handler of one client, and with a context that ends when
// the server is shut down.
func (s *Server) servePipe(ctx context.Context, serve func(context.Context, *connection.Pipe, *stdio.ServeOptions) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := &connServer{cancel: cancel, pipe: s.newPipe(), done: make(chan struct{})}
	if !s.shutdowners.add(h) {
		return ErrShutdown
	}
	defer s.shutdowners.remove(h)
	defer close(h.done)
	opts := s.opts.Stdio
	ready := opts.Ready
	opts.Ready = func(conn *jsonrpc.Conn) {
		h.open(conn)
		if ready != nil {
			ready(conn)
		}
	}
	opts.JSONRPC.OnLimit = s.refused.OfConnections(opts.JSONRPC.OnLimit)
	err := serve(ctx, h.pipe, &opts)
	if errors.Is(err, context.Cause(ctx)) { // the program requested the end
		return nil
	}
	return err
}

// newPipe returns the handler of one client.
func (s *Server) newPipe() *connection.Pipe {
	return connection.NewPipe(s.Dispatcher(), &connection.Options{Outgoing: s.opts.Outgoing, Logger: s.opts.Logger})
}

// closeTimeout limits how long a connection waits for its handlers when it closes.
const closeTimeout = 5 * time.Second

// serveMessages serves one client over conn, and closes conn. It returns nil if the client
// has disconnected, and the cause of the end of ctx if ctx ends.
func serveMessages(ctx context.Context, conn jsonrpc.MessageConn, handler *connection.Pipe, opts *stdio.ServeOptions) error {
	rpc := opts.JSONRPC
	pipe.Configure(&rpc, handler)
	c := jsonrpc.New(conn, &rpc)
	handler.Attach(c, c.InFlight())
	if opts.Ready != nil {
		opts.Ready(c)
	}
	detached := context.WithoutCancel(ctx) // requests are answered after ctx has ended
	reading, stopReading := context.WithCancel(detached)
	defer stopReading()
	read := make(chan struct{})
	var readErr, err error
	go func() { // ends when conn is closed
		defer close(read)
		readErr = readMessages(reading, conn, c)
	}()
	select {
	case <-read:
		err = readErr
		conn.Close() // writes to a client that has disconnected fail at once
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	closing, cancel := context.WithTimeout(detached, closeTimeout)
	defer cancel()
	c.Shutdown(closing, err)
	stopReading()
	conn.Close()
	handler.Close(closing)
	select {
	case <-read:
	case <-closing.Done():
	}
	return err
}

// readMessages delivers all messages from conn to c. It returns nil at the end of the
// messages.
func readMessages(ctx context.Context, conn jsonrpc.MessageConn, c *jsonrpc.Conn) error {
	values := lazy.Values(ctx)
	for {
		data, err := conn.ReadMessage(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read message: %w", err)
		}
		c.Deliver(values, data, jsonrpc.Source{})
	}
}

// InProcess returns the client's end of a connection to the server in this process. Messages
// are not encoded unless opts.Strict is set. The options configure the client's end; nil
// means the defaults. Closing either end closes the connection.
func (s *Server) InProcess(opts *jsonrpc.Options) *jsonrpc.InProcessConn {
	handler := s.newPipe()
	own := s.opts.Stdio.JSONRPC
	pipe.Configure(&own, handler)
	own.OnLimit = s.refused.OfConnections(own.OnLimit)
	own.Transport = nil
	own.Strict = opts != nil && opts.Strict
	client, server := jsonrpc.InProcessPair(opts, &own)
	handler.Attach(server, server.InFlight())
	h := &inProcessServer{server, handler, make(chan struct{})}
	if !s.shutdowners.add(h) {
		server.Close()
	}
	go func() { // ends when the connection does
		defer close(h.done)
		<-server.Done()
		handler.Close(context.Background())
		s.shutdowners.remove(h)
	}()
	return client
}

// Shutdown stops serving all clients. It ends tasks, completes subscriptions with their
// results, refuses new requests, waits until the requests in flight have been answered, and
// closes the connections.
//
// If ctx ends first, Shutdown cancels the remaining requests and returns the cause. It waits
// a few seconds for their handlers, and does not wait for handlers that ignore the end of
// their contexts. A server that has been shut down cannot serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.subscribers.close()
	s.mu.Lock()
	if s.unsubscribeBus != nil {
		s.unsubscribeBus()
		s.unsubscribeBus = nil
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, h := range s.shutdowners.close() {
		all.Go(func() { h.Shutdown(ctx) }) // ends with ctx
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// connServer serves one client over a connection.
type connServer struct {
	cancel context.CancelCauseFunc
	pipe   *connection.Pipe
	done   chan struct{} // closed when the client has been served

	mu   sync.Mutex
	conn *jsonrpc.Conn // nil until it is open
}

func (h *connServer) open(conn *jsonrpc.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn = conn
}

// Shutdown implements shutdowner.
func (h *connServer) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn != nil {
		conn.RefuseRequests(errShuttingDown)
		_ = conn.InFlight().Wait(ctx) // the remaining requests are cancelled
	}
	h.cancel(errShutdownRequested)
	<-h.done
	return nil
}

// inProcessServer serves one client in this process.
type inProcessServer struct {
	conn *jsonrpc.InProcessConn
	pipe *connection.Pipe
	done chan struct{} // closed when the connection has been cleaned up
}

// Shutdown implements shutdowner.
func (h *inProcessServer) Shutdown(ctx context.Context) error {
	h.conn.RefuseRequests(errShuttingDown)
	_ = h.conn.InFlight().Wait(ctx) // the remaining requests are cancelled
	h.conn.Close()                  // waits 5 seconds at most for their handlers
	<-h.done
	return nil
}
