package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// Handler returns an [http.Handler] that serves the server at one URL, in every revision:
//
//	http.Handle("/mcp", server.Handler(nil))
//
// Nil options mean the defaults. [Server.Shutdown] also shuts the handler down.
func (s *Server) Handler(opts *streamable.Options) *streamable.Handler {
	h := streamable.NewHandler(s.Dispatcher(), s.httpOptions(opts))
	if !s.shutdowners.add(h) {
		h.Close()
	}
	return h
}

// HandlerFor is like [Server.Handler] for several servers, for example one for each customer, or one
// with the tools that the caller of a request may use:
//
//	http.Handle("/mcp", mcpserver.HandlerFor(func(r *http.Request) *mcpserver.Server {
//		return servers[r.PathValue("customer")]
//	}, nil))
//
// The function choose is called for each request of a stateless revision, and for the request that
// begins a session; all further requests of the session have the same server. It may return a new
// server for each call, and may be called concurrently. If it returns nil, or a server that has
// been shut down, the client gets the status 404. Middleware in front of the handler can verify
// the caller.
//
// The program shuts the handler down, which ends the sessions of all servers. Servers that have
// tasks, subscriptions, or a Bus must be used for more than one request, and are shut down by the
// program, too. The handler lists the sessions; [Server.Sessions] does not contain them.
func HandlerFor(choose func(*http.Request) *Server, opts *streamable.Options) *streamable.Handler {
	return streamable.NewChoosingHandler(backendFor(choose, opts), opts)
}

// backendFor returns the function that chooses backends for one that chooses servers.
func backendFor(choose func(*http.Request) *Server, opts *streamable.Options) func(*http.Request) *streamable.Backend {
	return func(r *http.Request) *streamable.Backend {
		s := choose(r)
		if s == nil || s.ShuttingDown() {
			return nil
		}
		b := &streamable.Backend{Dispatcher: s.Dispatcher(), Outgoing: s.opts.Outgoing}
		if opts != nil && opts.Connection.Outgoing != nil {
			b.Outgoing = opts.Connection.Outgoing
		}
		return b
	}
}

// LegacySSEHandler returns an [http.Handler] that serves the server over the HTTP+SSE
// transport of revision 2024-11-05, for clients that support no other. Nil options mean the
// defaults. [Server.Shutdown] also shuts the handler down.
func (s *Server) LegacySSEHandler(opts *streamable.Options) *streamable.LegacySSEHandler {
	h := streamable.NewLegacySSEHandler(s.Dispatcher(), s.httpOptions(opts))
	if !s.shutdowners.add(h) {
		h.Close()
	}
	return h
}

// LegacySSEHandlerFor is like [Server.LegacySSEHandler] for several servers. The function choose is
// called for the request that begins a session, see [HandlerFor].
func LegacySSEHandlerFor(choose func(*http.Request) *Server, opts *streamable.Options) *streamable.LegacySSEHandler {
	return streamable.NewChoosingLegacySSEHandler(backendFor(choose, opts), opts)
}

// httpOptions returns the options of a handler. Those that are not set are taken from the
// server.
func (s *Server) httpOptions(opts *streamable.Options) *streamable.Options {
	var o streamable.Options
	if opts != nil {
		o = *opts
	}
	if o.Connection.Outgoing == nil {
		o.Connection.Outgoing = s.opts.Outgoing
	}
	if o.Logger == nil {
		o.Logger = s.opts.Logger
	}
	return &o
}

// shutdownTimeout limits how long requests may continue after the context of
// [Server.ListenAndServe] has ended.
const shutdownTimeout = 5 * time.Second

// ListenAndServe serves the server over HTTP, at the path /mcp of an address such as
// "localhost:8080". When ctx ends, it refuses new requests, waits up to 5 seconds for those in
// flight, and returns nil. When the server is shut down, it returns nil too; the context of
// [Server.Shutdown] then limits the wait. Nil options mean the defaults.
//
// Use [Server.Handler] to serve another path, or other handlers at the same address.
func (s *Server) ListenAndServe(ctx context.Context, addr string, opts *streamable.Options) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return s.serveListener(ctx, l, opts, shutdownTimeout)
}

func (s *Server) serveListener(ctx context.Context, l net.Listener, opts *streamable.Options, timeout time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &addressServer{streamable.NewHandler(s.Dispatcher(), s.httpOptions(opts)), cancel, make(chan struct{})}
	if !s.shutdowners.add(h) {
		return errors.Join(ErrShutdown, l.Close())
	}
	defer s.shutdowners.remove(h)
	defer close(h.done)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	httpServer := streamable.NewHTTPServer(l.Addr().String(), mux)
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(l) }() // ends when httpServer is shut down
	select {
	case err := <-served:
		return errors.Join(err, h.Close())
	case <-ctx.Done():
	}
	within := func(d time.Duration, shutdown func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
		defer cancel()
		return shutdown(ctx)
	}
	_ = within(timeout, h.Handler.Shutdown) // the error reports that requests had to be cancelled
	err := within(time.Second, httpServer.Shutdown)
	if errors.Is(err, context.DeadlineExceeded) { // a client does not read its response
		return httpServer.Close()
	}
	return err
}

// addressServer serves the clients of one address.
type addressServer struct {
	*streamable.Handler
	cancel context.CancelFunc
	done   chan struct{} // closed when the address has been released
}

// Shutdown implements shutdowner.
func (h *addressServer) Shutdown(ctx context.Context) error {
	err := h.Handler.Shutdown(ctx)
	h.cancel()
	<-h.done
	return err
}
