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

// through has a request of ada's handled behind a guard.
func through(t *testing.T, opts auth.GuardOptions, handle http.HandlerFunc) *http.Response {
	t.Helper()
	listener := httptest.NewServer(newGuard(t, opts).Protect(handle))
	t.Cleanup(listener.Close)
	return post(t, listener.URL, "good", "")
}

func need(t *testing.T, r *http.Request, missing []string, scopes ...string) {
	t.Helper()
	require.Equal(t, missing == nil, auth.HasScopes(r.Context(), scopes...))
	err := auth.NeedScopes(r.Context(), scopes...)
	if missing == nil {
		require.NoError(t, err)
		return
	}
	var short *auth.ScopeError
	require.ErrorAs(t, err, &short)
	require.Equal(t, missing, short.Missing)
}

func TestWhoLacksAScopeIsToldOfAllThatIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		handle    http.HandlerFunc
		status    int
		challenge string
		text      string
	}{
		"enough": {func(w http.ResponseWriter, r *http.Request) {
			need(t, r, nil, "mcp:use")
			io.WriteString(w, "done")
		}, 200, "", "done"},
		"nothing needed": {func(_ http.ResponseWriter, r *http.Request) { need(t, r, nil) }, 200, "", ""},
		"too little": {func(w http.ResponseWriter, r *http.Request) {
			need(t, r, []string{"files:write"}, "files:write", "mcp:use")
			io.WriteString(w, "no")
		}, 403, tooFewBegin + `"mcp:use files:write"`, "no"},
		"another status": {func(w http.ResponseWriter, r *http.Request) {
			need(t, r, []string{"a"}, "a")
			http.Error(w, "no", http.StatusNotFound)
		}, 403, tooFewBegin + `"mcp:use a"`, "no\n"},
		"in one word": {func(_ http.ResponseWriter, r *http.Request) { need(t, r, []string{"a", "b"}, "a b") }, 403, tooFewBegin + `"mcp:use a b"`, ""},
		"in several steps": {func(_ http.ResponseWriter, r *http.Request) {
			need(t, r, nil, "mcp:use")
			need(t, r, []string{"a"}, "a")
			need(t, r, []string{"b"}, "b", "mcp:use")
			need(t, r, nil, "mcp:use")
		}, 403, tooFewBegin + `"mcp:use a b"`, ""},
		"something to read meanwhile": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			need(t, r, []string{"a"}, "a")
		}, 403, tooFewBegin + `"mcp:use a"`, ""},
		"after the begin": {func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a")
			need(t, r, []string{"a"}, "a")
			io.WriteString(w, "b")
		}, 200, "", "ab"},
		"after the header": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			need(t, r, []string{"a"}, "a")
		}, 202, "", ""},
		"after the header, and another": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			need(t, r, []string{"a"}, "a")
			w.WriteHeader(http.StatusOK)
			require.Empty(t, w.Header(), "which somebody may be sending")
		}, 202, "", ""},
		"after a flush": {func(w http.ResponseWriter, r *http.Request) {
			require.NoError(t, http.NewResponseController(w).Flush())
			need(t, r, []string{"a"}, "a")
		}, 200, "", ""},
		"before a flush": {func(w http.ResponseWriter, r *http.Request) {
			need(t, r, []string{"a"}, "a")
			w.(http.Flusher).Flush()
		}, 403, tooFewBegin + `"mcp:use a"`, ""},
		"what no client may be asked for": {func(_ http.ResponseWriter, r *http.Request) {
			need(t, r, []string{"offline_access", `"`, "a"}, "offline_access", `"`, "a")
		}, 403, tooFewBegin + `"mcp:use a"`, ""},
		"by the way": {func(_ http.ResponseWriter, r *http.Request) { require.False(t, auth.HasScopes(r.Context(), "a")) }, 200, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := through(t, guardOptions(knows("good", ada())), c.handle)
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.challenge, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.text, body(t, res))
		})
	}
}

func TestABroadScopeCountsAsTheNarrowOnes(t *testing.T) {
	caller := ada()
	caller.Scopes = append(caller.Scopes, "files")
	opts := guardOptions(knows("good", caller))
	opts.Implies = covers
	res := through(t, opts, func(_ http.ResponseWriter, r *http.Request) { need(t, r, nil, "files:write", "mcp:use") })
	require.Equal(t, http.StatusOK, res.StatusCode)
	res = through(t, opts, func(_ http.ResponseWriter, r *http.Request) {
		need(t, r, []string{"mail:read"}, "files:write", "mail:read")
	})
	require.Equal(t, tooFewBegin+`"mcp:use files:write mail:read"`, res.Header.Get("WWW-Authenticate"))
}

func TestMiddlewareMayKnowMoreOfACaller(t *testing.T) {
	opts := guardOptions(knows("good", ada()))
	opts.Implies = covers
	res := through(t, opts, func(_ http.ResponseWriter, r *http.Request) {
		admin := *auth.CallerOf(r.Context())
		admin.Scopes = append(admin.Scopes, "admin")
		r = r.WithContext(auth.WithCaller(r.Context(), &admin))
		need(t, r, nil, "admin:users")
		need(t, r, []string{"files:write"}, "files:write")
	})
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.Equal(t, tooFewBegin+`"mcp:use admin:users files:write"`, res.Header.Get("WWW-Authenticate"))
}

func TestWhatIsFlushedBehindAGuardLeavesAtOnce(t *testing.T) {
	read := make(chan struct{})
	res := through(t, guardOptions(knows("good", ada())), func(w http.ResponseWriter, r *http.Request) {
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

func TestWithoutAGuardScopesAreThoseOfTheContext(t *testing.T) {
	require.NoError(t, auth.NeedScopes(t.Context()))
	err := auth.NeedScopes(t.Context(), "a")
	require.EqualError(t, err, `use scopes ["a"]: the caller has no ["a"]`)
	require.False(t, auth.HasScopes(t.Context(), "a"))
	ctx := auth.WithCaller(t.Context(), &auth.Caller{Scopes: []string{"a"}})
	require.NoError(t, auth.NeedScopes(ctx, "a"))
	err = auth.NeedScopes(ctx, "a", "b")
	short, ok := errors.AsType[*auth.ScopeError](err)
	require.True(t, ok)
	require.Equal(t, &auth.ScopeError{Needed: []string{"a", "b"}, Missing: []string{"b"}}, short)
	require.Contains(t, short.ModelText(), `"b"`)
	require.Error(t, auth.NeedScopes(auth.WithCaller(ctx, nil), "a"))
}

func TestScopesMayBeAskedForBySeveralAtOnce(t *testing.T) {
	res := through(t, guardOptions(knows("good", ada())), func(w http.ResponseWriter, r *http.Request) {
		done := make(chan error)
		for range 8 {
			go func() { done <- auth.NeedScopes(r.Context(), "a") }() // ends when it is received
		}
		w.WriteHeader(http.StatusOK)
		for range 8 {
			require.Error(t, <-done)
		}
	})
	require.Contains(t, []int{200, 403}, res.StatusCode)
}

func TestTheWriterBehindAGuardIsTheOneInFront(t *testing.T) {
	handler := newGuard(t, guardOptions(knows("good", ada()))).Protect(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		require.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
		require.ErrorIs(t, http.NewResponseController(w).SetWriteDeadline(time.Now()), http.ErrNotSupported)
	}))
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil).WithContext(context.Background())
	r.Header.Set("Authorization", "Bearer good")
	handler.ServeHTTP(bare{httptest.NewRecorder()}, r)
}

// bare is a writer that can do nothing else.
type bare struct{ http.ResponseWriter }
