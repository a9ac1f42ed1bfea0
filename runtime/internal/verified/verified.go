// Package verified passes the verified caller of a request from package auth to the
// transports, so that transports do not import package auth.
package verified

import (
	"context"
	"sync/atomic"
)

// Caller is the verified sender of a request.
type Caller interface {
	// Principal returns the name of the caller, empty if it has none.
	Principal() string
	// RequireScopes returns an error if the caller lacks scopes. Then the response to its
	// request has them in a challenge, unless a part of it has been sent.
	RequireScopes(scopes []string) error
	// HasScopes reports whether the caller has the scopes.
	HasScopes(scopes []string) bool
}

// key is the context key of the [Caller].
type key struct{}

// inUse is set by the first call of ContextWithCaller in this process. Until then
// [Principal] does not search the context.
var inUse atomic.Bool

// ContextWithCaller returns a context that contains a caller.
func ContextWithCaller(ctx context.Context, c Caller) context.Context {
	inUse.Store(true)
	return context.WithValue(ctx, key{}, c)
}

// CallerFromContext returns the caller in a context, or nil.
func CallerFromContext(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}

// Principal returns the name of the caller in the context of a request, empty if it has no caller.
func Principal(ctx context.Context) string {
	if !inUse.Load() {
		return ""
	}
	if c := CallerFromContext(ctx); c != nil {
		return c.Principal()
	}
	return ""
}
