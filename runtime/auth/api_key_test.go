package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/auth"
)

func keyVerifier(_ context.Context, key string) (*auth.Caller, error) {
	switch key {
	case "ada key/1":
		return &auth.Caller{Subject: "ada", Scopes: []string{"use"}}, nil
	case "bob-key":
		return &auth.Caller{Subject: "bob"}, nil
	case "no-name":
		return &auth.Caller{}, nil
	case "down":
		return nil, errors.New("no database")
	}
	return nil, auth.ErrInvalidToken
}

func TestKeyGuard(t *testing.T) {
	guard, err := auth.NewKeyGuard(&auth.KeyGuardOptions{Header: "x-service-key", Verify: keyVerifier, Scopes: []string{"use"}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	handler := guard.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(auth.CallerFromContext(r.Context()).Subject + "|" + auth.Principal(r) + "|" + r.Header.Get("X-Service-Key")))
	}))
	for _, c := range []struct {
		keys      []string
		status    int
		challenge string
	}{
		{nil, 401, `ApiKey header="X-Service-Key", scope="use"`},
		{[]string{""}, 401, `ApiKey header="X-Service-Key", scope="use"`},
		{[]string{"wrong"}, 401, `ApiKey error="invalid_token", error_description="the token is invalid or expired", header="X-Service-Key", scope="use"`},
		{[]string{"no-name"}, 401, `ApiKey error="invalid_token", error_description="the token is invalid or expired", header="X-Service-Key", scope="use"`},
		{[]string{"bob-key"}, 403, `ApiKey error="insufficient_scope", error_description="the token lacks a required scope", header="X-Service-Key", scope="use"`},
		{[]string{"ada key/1", "ada key/1"}, 400, ""},
		{[]string{"a\x01"}, 400, ""},
		{[]string{strings.Repeat("k", 16<<10+1)}, 400, ""},
		{[]string{"down"}, 503, ""},
		{[]string{"ada key/1"}, 200, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header["X-Service-Key"] = c.keys
		r.Header.Set("Authorization", "Bearer ada key/1") // not the header of keys
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, c.keys)
		if c.status != 400 {
			require.Equal(t, c.challenge, w.Header().Get("WWW-Authenticate"))
		}
		if c.status == 200 {
			require.Equal(t, "ada| sub=ada|", w.Body.String())
		}
	}
	pattern, metadata := guard.Metadata()
	w := httptest.NewRecorder()
	metadata.ServeHTTP(w, httptest.NewRequest(http.MethodGet, pattern, nil))
	require.Equal(t, http.StatusNotFound, w.Code)
}

func TestKeyInAuthorizationHeader(t *testing.T) {
	guard, err := auth.NewKeyGuard(&auth.KeyGuardOptions{Header: "authorization", Verify: keyVerifier})
	require.NoError(t, err)
	handler := guard.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for value, status := range map[string]int{"Bearer bob-key": 200, "bearer bob-key": 200, "bob-key": 401, "DPoP bob-key": 401, "Bearer x": 401} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", value)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, value)
		if status == 401 {
			require.True(t, strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer"))
		}
	}
}

func TestInvalidKeyGuardOptions(t *testing.T) {
	for want, o := range map[string]*auth.KeyGuardOptions{
		"option Verify is required": nil,
		"invalid name":              {Header: "a b", Verify: keyVerifier},
		"invalid scope":             {Scopes: []string{"a b"}, Verify: keyVerifier},
	} {
		_, err := auth.NewKeyGuard(o)
		require.ErrorContains(t, err, want)
	}
}
