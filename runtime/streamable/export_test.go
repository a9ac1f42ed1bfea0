package streamable

import (
	"context"
	"net"
	"time"
)

// ServeListener serves on a listener like ListenAndServe, with a shorter timeout at the end.
func ServeListener(ctx context.Context, l net.Listener, s Server) error {
	return serveListener(ctx, l, s.Dispatcher(), nil, time.Second/4)
}
