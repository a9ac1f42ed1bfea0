package docs

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// protected returns a handler that requires a token.
func protected(server *mcpserver.Server, issuer string) (http.Handler, error) {
	verify, err := auth.JWT(&auth.JWTOptions{Issuer: issuer})
	if err != nil {
		return nil, err
	}
	guard, err := auth.NewGuard(&auth.GuardOptions{
		Resource:             "https://mcp.example.com/mcp",
		AuthorizationServers: []string{issuer},
		Verify:               verify,
		Scopes:               []string{"mcp:use"},
		ScopesSupported:      []string{"files:read", "files:write"},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(streamable.NewHandler(server, nil)))
	return mux, nil
}

// remover returns a server with a tool that requires scopes.
func remover(opts *mcpserver.Options) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, opts)
	mcpserver.AddTool(server, &mcp.Tool{Name: "remove"}, func(ctx context.Context, _ *mcp.ServerSession, in city) (string, error) {
		if err := auth.RequireScopes(ctx, "files:read", "files:write"); err != nil {
			return "", err
		}
		return "removed for " + auth.CallerFromContext(ctx).Subject, nil
	})
	return server
}

// hiding returns a server that hides the tool from callers without the scope.
func hiding() *mcpserver.Server {
	return remover(&mcpserver.Options{
		Filter: func(ctx context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool {
			return item.Name != "remove" || auth.HasScopes(ctx, "files:write")
		},
	})
}

// byPrefix makes "files" include "files:read" and so on.
func byPrefix(opts *auth.GuardOptions) *auth.GuardOptions {
	opts.Implies = func(has, needs string) bool { return strings.HasPrefix(needs, has+":") }
	return opts
}

// bound only accepts tokens that are bound to a key.
func bound(opts *auth.GuardOptions) *auth.GuardOptions {
	opts.DPoP = &auth.DPoPOptions{Required: true, RequireNonce: true}
	return opts
}

func TestGuardRequiresBoundToken(t *testing.T) {
	const resource = "https://mcp.example.com/mcp"
	guard, err := auth.NewGuard(bound(&auth.GuardOptions{
		Resource: resource, AuthorizationServers: []string{"https://login.example.com"}, Verify: oneToken("s3cret", resource), AllowNoExpiry: true,
	}))
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, resource, nil)
	r.Header.Set("Authorization", "Bearer s3cret")
	w := httptest.NewRecorder()
	guard.Protect(http.NotFoundHandler()).ServeHTTP(w, r)
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.True(t, strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "DPoP "))
}

// scoped returns a server with a tool that requires a scope.
func scoped() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, &mcpserver.Options{
		ToolScopes:       map[string][]string{"remove": {"files:write"}},
		HideToolsByScope: true,
	})
	return server
}

// keys returns a guard for keys whose hashes are known.
func keys(callers map[[sha256.Size]byte]*auth.Caller) (*auth.Guard, error) {
	return auth.NewKeyGuard(&auth.KeyGuardOptions{
		Header: "X-API-Key",
		Verify: func(_ context.Context, key string) (*auth.Caller, error) {
			caller, ok := callers[sha256.Sum256([]byte(key))]
			if !ok {
				return nil, auth.ErrInvalidToken
			}
			return caller, nil
		},
	})
}

func TestKeysAndScopedTools(t *testing.T) {
	require.Equal(t, []string{"files:write"}, scoped().Scopes())
	guard, err := keys(map[[sha256.Size]byte]*auth.Caller{sha256.Sum256([]byte("k1")): {Subject: "ada"}})
	require.NoError(t, err)
	for key, status := range map[string]int{"k1": http.StatusNotFound, "k2": http.StatusUnauthorized} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		guard.Protect(http.NotFoundHandler()).ServeHTTP(w, r)
		require.Equal(t, status, w.Code)
	}
}

// oneToken returns a verifier for one token that the client and the server have in their configuration.
func oneToken(secret, resource string) auth.Verifier {
	return func(_ context.Context, token string) (*auth.Caller, error) {
		if subtle.ConstantTimeCompare([]byte(token), []byte(secret)) == 0 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.Caller{Subject: "ci", Audience: []string{resource}, Scopes: []string{"mcp:use"}}, nil
	}
}

func TestGuardRequiresToken(t *testing.T) {
	handler, err := protected(hiding(), "https://login.example.com")
	require.NoError(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", nil))
	require.Equal(t, http.StatusUnauthorized, w.Code)
	w = httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", nil))
	require.Equal(t, http.StatusOK, w.Code)

	const resource = "https://mcp.example.com/mcp"
	guard, err := auth.NewGuard(byPrefix(&auth.GuardOptions{
		Resource: resource, AuthorizationServers: []string{"https://login.example.com"}, Verify: oneToken("s", resource), AllowNoExpiry: true, Scopes: []string{"mcp:use"},
	}))
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer s")
	w = httptest.NewRecorder()
	guard.Protect(http.NotFoundHandler()).ServeHTTP(w, r)
	require.Equal(t, http.StatusNotFound, w.Code)
}

// connectWithOAuth connects to a protected server.
func connectWithOAuth(ctx context.Context, url string, store auth.Store) (*mcpclient.Client, error) {
	transport, err := auth.NewTransport(url, &auth.TransportOptions{
		Grant: &auth.AuthorizationCode{ClientName: "Weather Desk", OpenBrowser: auth.OpenBrowser},
		Store: store,
	})
	if err != nil {
		return nil, err
	}
	at := mcpclient.URL(url)
	at.HTTP.HTTPClient = &http.Client{Transport: transport}
	return mcpclient.Connect(ctx, at, &mcpclient.Options{
		Cache: mcpclient.CacheOptions{Context: transport.AuthorizationID},
	})
}

func TestConnectReportsOAuthError(t *testing.T) {
	_, err := connectWithOAuth(t.Context(), "http://mcp.example.com/mcp", nil)
	require.ErrorContains(t, err, "without TLS")
}

// TestCallAsUser calls a tool in process, as a user.
func TestCallAsUser(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "whoami"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return auth.CallerFromContext(ctx).Subject, nil
	})
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), nil)
	require.NoError(t, err)
	defer client.Close()
	ctx := auth.ContextWithCaller(t.Context(), &auth.Caller{Subject: "ada"})
	name, err := mcpclient.CallTool[string](ctx, client, "whoami", nil)
	require.NoError(t, err)
	require.Equal(t, "ada", name)
}
