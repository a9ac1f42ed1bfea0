package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/auth"
)

// protectedRequest sends a request of ada to a handler behind a guard.
func protectedRequest(t *testing.T, opts *auth.GuardOptions, handle http.HandlerFunc) *http.Response {
	t.Helper()
	listener := httptest.NewServer(newGuard(t, opts).Protect(handle))
	t.Cleanup(listener.Close)
	return post(t, listener.URL, "good", "")
}

func requireScopes(t *testing.T, r *http.Request, missing []string, scopes ...string) {
	t.Helper()
	require.Equal(t, missing == nil, auth.HasScopes(r.Context(), scopes...))
	err := auth.RequireScopes(r.Context(), scopes...)
	if missing == nil {
		require.NoError(t, err)
		return
	}
	var short *auth.ScopeError
	require.ErrorAs(t, err, &short)
	require.Equal(t, missing, short.Missing)
}

func TestRequireScopes(t *testing.T) {
	for name, c := range map[string]struct {
		handle    http.HandlerFunc
		status    int
		challenge string
		text      string
	}{
		"sufficient": {func(w http.ResponseWriter, r *http.Request) {
			requireScopes(t, r, nil, "mcp:use")
			io.WriteString(w, "done")
		}, 200, "", "done"},
		"no scopes": {func(_ http.ResponseWriter, r *http.Request) { requireScopes(t, r, nil) }, 200, "", ""},
		"insufficient": {func(w http.ResponseWriter, r *http.Request) {
			requireScopes(t, r, []string{"files:write"}, "files:write", "mcp:use")
			io.WriteString(w, "no")
		}, 403, scopeChallengePrefix + `"mcp:use files:write"`, "no"},
		"other status": {func(w http.ResponseWriter, r *http.Request) {
			requireScopes(t, r, []string{"a"}, "a")
			http.Error(w, "no", http.StatusNotFound)
		}, 403, scopeChallengePrefix + `"mcp:use a"`, "no\n"},
		"scopes in one string": {func(_ http.ResponseWriter, r *http.Request) { requireScopes(t, r, []string{"a", "b"}, "a b") }, 403, scopeChallengePrefix + `"mcp:use a b"`, ""},
		"several calls": {func(_ http.ResponseWriter, r *http.Request) {
			requireScopes(t, r, nil, "mcp:use")
			requireScopes(t, r, []string{"a"}, "a")
			requireScopes(t, r, []string{"b"}, "b", "mcp:use")
			requireScopes(t, r, nil, "mcp:use")
		}, 403, scopeChallengePrefix + `"mcp:use a b"`, ""},
		"after early hints": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			requireScopes(t, r, []string{"a"}, "a")
		}, 403, scopeChallengePrefix + `"mcp:use a"`, ""},
		"after a write": {func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a")
			requireScopes(t, r, []string{"a"}, "a")
			io.WriteString(w, "b")
		}, 200, "", "ab"},
		"after the header": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			requireScopes(t, r, []string{"a"}, "a")
		}, 202, "", ""},
		"between two headers": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			requireScopes(t, r, []string{"a"}, "a")
			w.WriteHeader(http.StatusOK)
			require.Empty(t, w.Header(), "the header may be in use")
		}, 202, "", ""},
		"after a flush": {func(w http.ResponseWriter, r *http.Request) {
			require.NoError(t, http.NewResponseController(w).Flush())
			requireScopes(t, r, []string{"a"}, "a")
		}, 200, "", ""},
		"before a flush": {func(w http.ResponseWriter, r *http.Request) {
			requireScopes(t, r, []string{"a"}, "a")
			w.(http.Flusher).Flush()
		}, 403, scopeChallengePrefix + `"mcp:use a"`, ""},
		"scopes that must not be in a challenge": {func(_ http.ResponseWriter, r *http.Request) {
			requireScopes(t, r, []string{"offline_access", `"`, "a"}, "offline_access", `"`, "a")
		}, 403, scopeChallengePrefix + `"mcp:use a"`, ""},
		"HasScopes": {func(_ http.ResponseWriter, r *http.Request) { require.False(t, auth.HasScopes(r.Context(), "a")) }, 200, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := protectedRequest(t, guardOptions(tokenVerifier("good", ada())), c.handle)
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.challenge, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.text, body(t, res))
		})
	}
}

func TestRequireScopesWithImplies(t *testing.T) {
	caller := ada()
	caller.Scopes = append(caller.Scopes, "files")
	opts := guardOptions(tokenVerifier("good", caller))
	opts.Implies = includesPrefix
	res := protectedRequest(t, opts, func(_ http.ResponseWriter, r *http.Request) { requireScopes(t, r, nil, "files:write", "mcp:use") })
	require.Equal(t, http.StatusOK, res.StatusCode)
	res = protectedRequest(t, opts, func(_ http.ResponseWriter, r *http.Request) {
		requireScopes(t, r, []string{"mail:read"}, "files:write", "mail:read")
	})
	require.Equal(t, scopeChallengePrefix+`"mcp:use files:write mail:read"`, res.Header.Get("WWW-Authenticate"))
}

func TestMiddlewareAddsScopes(t *testing.T) {
	opts := guardOptions(tokenVerifier("good", ada()))
	opts.Implies = includesPrefix
	res := protectedRequest(t, opts, func(_ http.ResponseWriter, r *http.Request) {
		admin := *auth.CallerFromContext(r.Context())
		admin.Scopes = append(admin.Scopes, "admin")
		r = r.WithContext(auth.ContextWithCaller(r.Context(), &admin))
		requireScopes(t, r, nil, "admin:users")
		requireScopes(t, r, []string{"files:write"}, "files:write")
	})
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.Equal(t, scopeChallengePrefix+`"mcp:use admin:users files:write"`, res.Header.Get("WWW-Authenticate"))
}

func TestGuardedWriterFlush(t *testing.T) {
	read := make(chan struct{})
	res := protectedRequest(t, guardOptions(tokenVerifier("good", ada())), func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		require.NoError(t, control.SetWriteDeadline(time.Now().Add(time.Minute)))
		io.WriteString(w, "first ")
		require.NoError(t, control.Flush())
		<-read
		io.WriteString(w, "second")
	})
	first := make([]byte, 6)
	_, err := io.ReadFull(res.Body, first)
	require.NoError(t, err)
	close(read)
	require.Equal(t, "first second", string(first)+body(t, res))
}

func TestRequireScopesWithoutGuard(t *testing.T) {
	require.NoError(t, auth.RequireScopes(t.Context()))
	err := auth.RequireScopes(t.Context(), "a")
	require.EqualError(t, err, `insufficient scope: required ["a"], missing ["a"]`)
	require.False(t, auth.HasScopes(t.Context(), "a"))
	ctx := auth.ContextWithCaller(t.Context(), &auth.Caller{Scopes: []string{"a"}})
	require.NoError(t, auth.RequireScopes(ctx, "a"))
	err = auth.RequireScopes(ctx, "a", "b")
	short, ok := errors.AsType[*auth.ScopeError](err)
	require.True(t, ok)
	require.Equal(t, &auth.ScopeError{Required: []string{"a", "b"}, Missing: []string{"b"}}, short)
	require.Contains(t, short.ModelText(), `"b"`)
	require.Error(t, auth.RequireScopes(auth.ContextWithCaller(ctx, nil), "a"))
}

func TestRequireScopesConcurrently(t *testing.T) {
	res := protectedRequest(t, guardOptions(tokenVerifier("good", ada())), func(w http.ResponseWriter, r *http.Request) {
		done := make(chan error)
		for range 8 {
			go func() { done <- auth.RequireScopes(r.Context(), "a") }() // ends when its result is received
		}
		w.WriteHeader(http.StatusOK)
		for range 8 {
			require.Error(t, <-done)
		}
	})
	require.Contains(t, []int{200, 403}, res.StatusCode)
}

func TestGuardedWriterUnwrap(t *testing.T) {
	handler := newGuard(t, guardOptions(tokenVerifier("good", ada()))).Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		require.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
		require.ErrorIs(t, http.NewResponseController(w).SetWriteDeadline(time.Now()), http.ErrNotSupported)
	}))
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil).WithContext(context.Background())
	r.Header.Set("Authorization", "Bearer good")
	handler.ServeHTTP(plainWriter{httptest.NewRecorder()}, r)
}

// plainWriter is a writer without optional methods.
type plainWriter struct{ http.ResponseWriter }
