package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/verified"
)

// RequireScopes returns nil if the caller has the scopes. Otherwise it returns a
// [*ScopeError], which the handler should return.
//
// If no part of the response has been sent, the response gets status 403. Its challenge
// has all scopes that the request has required so far, so that the client can get a
// token with these scopes and send the request again. For this reason, call
// RequireScopes before the handler has side effects, with all scopes at once. If a part
// of the response has been sent, the client only receives the error.
//
// Without a caller in ctx, RequireScopes always returns an error unless scopes is empty;
// see [ContextWithCaller].
func RequireScopes(ctx context.Context, scopes ...string) error {
	return callerContextFrom(ctx).RequireScopes(scopes)
}

// RequireScopes implements [verified.Caller].
func (c callerContext) RequireScopes(scopes []string) error {
	required := splitScopes(strings.Join(scopes, " "))
	missing := c.missingScopes(required)
	if c.required != nil {
		c.required.add(required, missing != nil)
	}
	if missing == nil {
		return nil
	}
	return &ScopeError{Required: required, Missing: missing}
}

// HasScopes reports whether the caller has the scopes. Unlike [RequireScopes] it does
// not change the response. Use it to omit items that the caller may not use.
func HasScopes(ctx context.Context, scopes ...string) bool {
	return callerContextFrom(ctx).HasScopes(scopes)
}

// HasScopes implements [verified.Caller].
func (c callerContext) HasScopes(scopes []string) bool {
	return c.missingScopes(splitScopes(strings.Join(scopes, " "))) == nil
}

// ScopeError is the error of [RequireScopes] if the caller lacks scopes.
type ScopeError struct {
	// Required are the scopes that RequireScopes was called with.
	Required []string
	// Missing are the required scopes that the caller does not have.
	Missing []string
}

// Error implements error.
func (e *ScopeError) Error() string {
	return fmt.Sprintf("insufficient scope: required %q, missing %q", e.Required, e.Missing)
}

// ModelText returns the text that a model receives if its call fails with the error.
// Package mcpserver calls it.
func (e *ScopeError) ModelText() string {
	return fmt.Sprintf("This call is not permitted: it requires the scope %q, which the user has not granted to this client. Do not retry the call before the user grants it.",
		strings.Join(e.Missing, " "))
}

// callerContext is the value in the context of a request.
type callerContext struct {
	caller   *Caller         // nil if the request has no caller
	guard    *Guard          // the guard that accepted the request, or nil
	required *requiredScopes // nil if guard is nil
}

func callerContextFrom(ctx context.Context) callerContext {
	c, _ := verified.CallerFromContext(ctx).(callerContext)
	return c
}

func (c callerContext) missingScopes(required []string) []string {
	return c.guard.missingScopes(c.caller, required)
}

// requiredScopes collects the scopes that the handlers of a request require. It is safe
// for concurrent use.
type requiredScopes struct {
	mu           sync.Mutex
	scopes       []string
	insufficient bool // the caller lacks some of them
}

func (r *requiredScopes) add(scopes []string, insufficient bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scopes, r.insufficient = union(r.scopes, scopes), r.insufficient || insufficient
}

// unmet returns all required scopes if the caller lacks any of them, otherwise nil.
func (r *requiredScopes) unmet() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.insufficient {
		return nil
	}
	return slices.Clone(r.scopes)
}

// offlineAccess is a scope for authorization servers: with it, clients request a refresh
// token.
const offlineAccess = "offline_access"

// isScope reports whether s is a single scope in the syntax of OAuth.
func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// splitScopes splits a list of scopes, which OAuth separates by spaces.
func splitScopes(s string) []string { return strings.Fields(s) }

// union returns the strings of a, followed by the strings of b that a does not contain.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// isSubset reports whether b contains all strings of a.
func isSubset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}
