// Package verified is where a guard leaves the name of whom it has let in, for
// transports, which know of no guard.
package verified

import "context"

// Key is that of the context's [Caller].
type Key struct{}

// Caller is who sends a request.
type Caller interface {
	// Principal is his name, empty for nobody.
	Principal() string
}

// Principal returns the name of the caller of a context, empty for nobody.
func Principal(ctx context.Context) string {
	if c, ok := ctx.Value(Key{}).(Caller); ok {
		return c.Principal()
	}
	return ""
}
