// Package verified is where a guard leaves the name of whom it has let in, for
// transports, which know of no guard.
package verified

import (
	"context"
	"net/http"
	"sync/atomic"
)

// Key is that of the context's [Caller], which With puts there.
type Key struct{}

// Caller is who sends a request.
type Caller interface {
	// Principal is his name, empty for nobody.
	Principal() string
}

// callers tells whether there has been a caller in this process. Where there has not,
// nobody need look for one.
var callers atomic.Bool

// With returns a context with a caller.
func With(ctx context.Context, c Caller) context.Context {
	callers.Store(true)
	return context.WithValue(ctx, Key{}, c)
}

// Principal returns the name of who sends a request, empty for nobody.
func Principal(r *http.Request) string {
	if !callers.Load() {
		return ""
	}
	if c, ok := r.Context().Value(Key{}).(Caller); ok {
		return c.Principal()
	}
	return ""
}
