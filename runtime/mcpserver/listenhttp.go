package mcpserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// goodbye is how long what is being handled may take once the context of
// [Server.ListenAndServe] has ended.
const goodbye = 5 * time.Second

// ListenAndServe serves the server over HTTP, at /mcp of an address such as
// "localhost:8080", until ctx ends: then it takes nothing new, waits up to 5
// seconds for what is being handled, and returns nil. So it does when the server
// is shut down, which has a patience of its own. It is for programs that serve
// nothing else at the address; others put [Server.Handler] where they like.
// Nil options are the default.
func (s *Server) ListenAndServe(ctx context.Context, addr string, opts *streamable.Options) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return s.serveListener(ctx, l, opts, goodbye)
}

func (s *Server) serveListener(ctx context.Context, l net.Listener, opts *streamable.Options, patience time.Duration) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	h := &listenHost{streamable.NewHandler(s.Dispatcher(), s.webOptions(opts)), end, make(chan struct{})}
	if !s.hosts.add(h) {
		return errors.Join(ErrShutdown, l.Close())
	}
	defer s.hosts.remove(h)
	defer close(h.over)
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	front := streamable.NewHTTPServer(l.Addr().String(), mux)
	failed := make(chan error, 1)
	go func() { failed <- front.Serve(l) }() // ends with the front
	select {
	case err := <-failed:
		return errors.Join(err, h.Close())
	case <-ctx.Done():
	}
	within := func(d time.Duration, shutdown func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
		defer cancel()
		return shutdown(ctx)
	}
	_ = within(patience, h.Handler.Shutdown) // the error is that something had to be cancelled
	err := within(time.Second, front.Shutdown)
	if errors.Is(err, context.DeadlineExceeded) { // somebody does not read his answer
		return front.Close()
	}
	return err
}

// listenHost serves an address.
type listenHost struct {
	*streamable.Handler
	end  context.CancelFunc
	over chan struct{} // closed when the address has been given back
}

// Shutdown implements host.
func (h *listenHost) Shutdown(ctx context.Context) error {
	err := h.Handler.Shutdown(ctx)
	h.end()
	<-h.over
	return err
}
