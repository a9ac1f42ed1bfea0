package streamable

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
)

// shutdownTimeout limits how long requests may continue after the context of
// [ListenAndServe] has ended.
const shutdownTimeout = 5 * time.Second

// ListenAndServe serves a server over HTTP, at the path /mcp of an address such as
// "localhost:8080". When ctx ends, it refuses new requests, waits up to 5 seconds for those in
// flight, and returns nil. When the server is shut down, it returns nil too; the context of that
// shutdown then limits the wait. Nil options mean the defaults.
//
// Use [NewHandler] to serve another path, or other handlers at the same address.
func ListenAndServe(ctx context.Context, addr string, server Server, opts *Options) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return serveListener(ctx, l, server.Dispatcher(), opts, shutdownTimeout)
}

func serveListener(ctx context.Context, l net.Listener, d *connection.Dispatcher, opts *Options, timeout time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &addressServer{newHandler(withLogger(opts, d)), cancel, make(chan struct{})}
	h.backend = h.newBackend(d)
	if err := d.Attach(h); err != nil {
		return errors.Join(err, l.Close())
	}
	defer d.Detach(h)
	defer close(h.done)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	httpServer := NewHTTPServer(l.Addr().String(), mux)
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
	*Handler
	cancel context.CancelFunc
	done   chan struct{} // closed when the address has been released
}

// Shutdown implements [connection.Endpoint].
func (h *addressServer) Shutdown(ctx context.Context) error {
	err := h.Handler.Shutdown(ctx)
	h.cancel()
	<-h.done
	return err
}
