package mcpserver

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// ErrShutdown is what serving returns when the server has been shut down before
// it began.
var ErrShutdown = errors.New("mcpserver: the server has been shut down")

// ServeStdio serves the client that started this process, on standard input and
// output, until the client closes the input, ctx ends or the server is shut down.
// It returns nil in all these cases; ctx itself tells of its end. Whatever else
// the process prints goes to standard error meanwhile.
func (s *Server) ServeStdio(ctx context.Context) error {
	return s.servePipe(ctx, stdio.Serve)
}

// ServeStreams is [Server.ServeStdio] for other streams of bytes, such as the two
// directions of a socket. Both are closed when it returns.
func (s *Server) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return s.servePipe(ctx, func(ctx context.Context, pipe peer.Handler, opts *stdio.ServeOptions) error {
		return stdio.ServeStreams(ctx, in, out, pipe, opts)
	})
}

func (s *Server) servePipe(ctx context.Context, serve func(context.Context, peer.Handler, *stdio.ServeOptions) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h := &pipeHost{end: cancel, over: make(chan struct{})}
	if !s.hosts.add(h) {
		return ErrShutdown
	}
	defer s.hosts.remove(h)
	defer close(h.over)
	opts := s.opts.Stdio
	ready := opts.Ready
	opts.Ready = func(conn *jsonrpc.Conn) {
		h.open(conn)
		if ready != nil {
			ready(conn)
		}
	}
	err := serve(ctx, s.newPipe(), &opts)
	if errors.Is(err, context.Cause(ctx)) { // the end that the program wanted
		return nil
	}
	return err
}

// newPipe returns the handler of one pipe.
func (s *Server) newPipe() *connection.Pipe {
	return connection.NewPipe(s.Dispatcher(), &connection.Options{Outgoing: s.opts.Outgoing, Logger: s.opts.Logger})
}

// InProcess returns the client's end of a connection to the server in this process:
// no message is written down, unless the options want it. The options are those
// of the client's end; nil is none. Closing either end closes the connection.
func (s *Server) InProcess(opts *jsonrpc.Options) *jsonrpc.InProcessConn {
	pipe := s.newPipe()
	own := s.opts.Stdio.JSONRPC
	own.Handler, own.OnRequest = pipe, pipe.OnRequest
	own.InterceptNotification = func(in *peer.Inbound) bool {
		looks := s.opts.Stdio.JSONRPC.InterceptNotification
		consumed := looks != nil && looks(in)
		return pipe.InterceptNotification(in) || consumed
	}
	own.Frame, own.Transport = pipe.Frame, nil
	own.Strict = opts != nil && opts.Strict
	client, server := jsonrpc.InProcessPair(opts, &own)
	pipe.Attach(server, server.InFlight())
	h := &directHost{server, make(chan struct{})}
	if !s.hosts.add(h) {
		server.Close()
	}
	go func() { // ends when the connection does
		defer close(h.over)
		<-server.Done()
		pipe.Close(context.Background())
		s.hosts.remove(h)
	}()
	return client
}

// Shutdown ends everything that serves clients: it ends tasks, and subscriptions
// with their results, refuses new requests, waits until those that are being handled
// have been answered, at most until ctx ends, and closes the connections. It returns
// the cause of the context's end if that came first, a few seconds later where
// handlers do not heed the end of theirs; those are left behind. A server that
// has been shut down does not serve again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.audience.close()
	s.mu.Lock()
	if s.leave != nil {
		s.leave()
		s.leave = nil
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, h := range s.hosts.close() {
		all.Go(func() { h.Shutdown(ctx) }) // ends with ctx
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// host is something that serves clients.
type host interface {
	// Shutdown stops serving, with patience until ctx ends.
	Shutdown(ctx context.Context) error
}

// hosts are what serves the clients of a server.
type hosts struct {
	mu     sync.Mutex
	list   map[host]struct{}
	closed bool
}

// add adds a host, unless the server has been shut down.
func (h *hosts) add(x host) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = make(map[host]struct{})
	}
	if !h.closed {
		h.list[x] = struct{}{}
	}
	return !h.closed
}

func (h *hosts) remove(x host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.list, x)
}

// close lets no more hosts in and returns those that there are.
func (h *hosts) close() (list []host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for x := range h.list {
		list = append(list, x)
	}
	return list
}

var (
	errOrderly = errors.New("the server is shutting down")
	errClosing = &peer.Error{Code: mcp.CodeInternal, Message: "Server is shutting down"}
)

// pipeHost serves one pipe.
type pipeHost struct {
	end  context.CancelCauseFunc
	over chan struct{} // closed when the pipe has been served

	mu   sync.Mutex
	conn *jsonrpc.Conn // nil until it is open
}

func (h *pipeHost) open(conn *jsonrpc.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conn = conn
}

// Shutdown implements host.
func (h *pipeHost) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn != nil {
		conn.RefuseRequests(errClosing)
		idle(ctx, conn.InFlight())
	}
	h.end(errOrderly)
	<-h.over
	return nil
}

// directHost serves one client in this process.
type directHost struct {
	*jsonrpc.InProcessConn
	over chan struct{} // closed when the connection has been torn down
}

// Shutdown implements host.
func (h *directHost) Shutdown(ctx context.Context) error {
	h.RefuseRequests(errClosing)
	idle(ctx, h.InFlight())
	h.Close() // those who heed the end of their contexts get a while for it
	<-h.over
	return nil
}

// idle waits until no request is being handled, at most until ctx ends.
func idle(ctx context.Context, requests connection.InFlight) {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for len(requests.IDs()) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
