package docs

import (
	"context"
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
)

// protected is a server that only those with a token reach.
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
	mux.Handle("/mcp", guard.Protect(server.Handler(nil)))
	return mux, nil
}

// remover has a tool that not everybody may use.
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

// hiding leaves out of lists what a caller may not use.
func hiding() *mcpserver.Server {
	return remover(&mcpserver.Options{
		Filter: func(ctx context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool {
			return item.Name != "remove" || auth.HasScopes(ctx, "files:write")
		},
	})
}

// byPrefix is a hierarchy of scopes.
func byPrefix(opts *auth.GuardOptions) *auth.GuardOptions {
	opts.Implies = func(has, needs string) bool { return strings.HasPrefix(needs, has+":") }
	return opts
}

// oneToken knows a program by a token that both have been configured with.
func oneToken(secret, resource string) auth.Verifier {
	return func(_ context.Context, token string) (*auth.Caller, error) {
		if subtle.ConstantTimeCompare([]byte(token), []byte(secret)) == 0 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.Caller{Subject: "ci", Audience: []string{resource}, Scopes: []string{"mcp:use"}}, nil
	}
}

func TestAProtectedServerIsForThoseWithAToken(t *testing.T) {
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

// getIn connects to a server that wants to see a token.
func getIn(ctx context.Context, url string, store auth.Store) (*mcpclient.Client, error) {
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

func TestAClientThatCannotGetInSaysWhy(t *testing.T) {
	_, err := getIn(t.Context(), "http://mcp.example.com/mcp", nil)
	require.ErrorContains(t, err, "without TLS")
}
