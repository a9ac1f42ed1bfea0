package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/verified"
)

// NeedScopes returns nil if the caller has the scopes, else a [*ScopeError], which
// is for the handler to return.
//
// The client learns how to go on: as long as nothing of the answer has been sent,
// the answer becomes one of HTTP status 403 that asks for all that has been needed
// so far, so that a client comes back with a token that goes further. Ask before
// anything else is done, since all of the request will be done again, and ask for
// all at once. After that the error is that of the call and no more. Without a
// caller nobody has scopes, see [WithCaller].
func NeedScopes(ctx context.Context, scopes ...string) error {
	needed := splitScopes(strings.Join(scopes, " "))
	v := visitOf(ctx)
	missing := v.lacks(needed)
	if v.demand != nil {
		v.demand.add(needed, missing != nil)
	}
	if missing == nil {
		return nil
	}
	return &ScopeError{Needed: needed, Missing: missing}
}

// HasScopes tells whether the caller has the scopes, and leads to nothing else: for
// what is left out where they are missing.
func HasScopes(ctx context.Context, scopes ...string) bool {
	return visitOf(ctx).lacks(splitScopes(strings.Join(scopes, " "))) == nil
}

// ScopeError says that a caller has not been given what something needs.
type ScopeError struct {
	// Needed are the scopes that were asked for.
	Needed []string
	// Missing are those of them that the caller does not have.
	Missing []string
}

// Error implements error.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("use scopes %q: the caller has no %q", e.Needed, e.Missing)
}

// ModelText is what a model is told whose call failed, as package mcpserver asks
// errors for it.
func (e *ScopeError) ModelText() string {
	return fmt.Sprintf("This is not permitted yet: it takes the scope %q, which the user has not granted to this client. Trying again does not help before that.",
		strings.Join(e.Missing, " "))
}

// offlineAccess is a scope by which clients ask their authorization server for
// more than a resource has to do with.
const offlineAccess = "offline_access"

// isScope tells whether s is one scope in the notation of OAuth.
func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// visit is what the context of a request has of its caller.
type visit struct {
	caller *Caller // nil where there is none
	guard  *Guard  // nil where no guard has let him in
	demand *demand // nil as well then
}

func visitOf(ctx context.Context) visit {
	v, _ := ctx.Value(verified.Key{}).(visit)
	return v
}

func (v visit) lacks(needed []string) []string { return v.guard.lacks(v.caller, needed) }

// demand is the scopes that a request has turned out to need. It is safe for
// concurrent use.
type demand struct {
	mu     sync.Mutex
	scopes []string
	short  bool // the caller lacks some of them
}

func (d *demand) add(needed []string, short bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.scopes, d.short = union(d.scopes, needed), d.short || short
}

// unmet returns the scopes, nil if the caller has them all.
func (d *demand) unmet() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.short {
		return nil
	}
	return slices.Clone(d.scopes)
}
