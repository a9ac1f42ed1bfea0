// Package verified is where a guard leaves the name of whom it has let in, for
// transports, which know of no guard.
package verified

import "net/http"

// Key is that of the context's [Caller].
type Key struct{}

// Caller is who sends a request.
type Caller interface {
	// Principal is his name, empty for nobody.
	Principal() string
}

// Principal returns the name of who sends a request, empty for nobody.
func Principal(r *http.Request) string {
	if c, ok := r.Context().Value(Key{}).(Caller); ok {
		return c.Principal()
	}
	return ""
}
