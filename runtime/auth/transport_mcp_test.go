package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// newMCPServer adds an MCP server with one tool that requires a token.
func newMCPServer(w *fakeNetwork) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "hello", nil
	})
	handler := streamable.NewHandler(server, &streamable.Options{Hosts: []string{"mcp.test"}})
	unauthorized := w.server
	w.hosts["mcp.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, valid := w.issuer.scopesOf(r.Header.Get("Authorization")[min(len(r.Header.Get("Authorization")), len("Bearer ")):])
		if !valid {
			unauthorized.ServeHTTP(rw, r)
			return
		}
		handler.ServeHTTP(rw, r)
	})
	return server
}

func connect(t *testing.T, tr *Transport, mode mcpclient.Mode) (*mcpclient.Client, error) {
	at := mcpclient.URL(serverURL)
	at.HTTP.HTTPClient = &http.Client{Transport: tr}
	return mcpclient.Connect(t.Context(), at, &mcpclient.Options{Mode: mode, Logger: slog.New(slog.DiscardHandler)})
}

func TestClientWaitsForUserInEveryRevision(t *testing.T) {
	for _, mode := range []mcpclient.Mode{mcpclient.Auto, mcpclient.NoHandshake, mcpclient.Handshake} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeNetwork(t)
			server := newMCPServer(w)
			tr := w.transport(func(o *TransportOptions) {
				user := w.user()
				user.Authorize = func(ctx context.Context, page string) (string, error) {
					time.Sleep(4 * time.Minute)
					return w.consent(ctx, page)
				}
				o.Grant = user
			})
			client, err := connect(t, tr, mode)
			require.NoError(t, err)
			res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, "hello", mcp.TextOf(res.Content))
			if mode == mcpclient.Auto {
				require.Equal(t, mcp.LatestRevision.String(), client.Revision().String(), "the wait for the user must not cause a fallback to an older revision")
			}

			w.issuer.revoke(true) // during the session
			res, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, "hello", mcp.TextOf(res.Content))
			require.Equal(t, 2, w.count(authorizeRequest))
			require.NoError(t, client.Close())
			require.NoError(t, server.Shutdown(t.Context()))
		})
	}
}

func TestClientConnectFailsIfUserRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.issuer.changeRedirect = func(a url.Values) { a.Set("error", "access_denied") }
		_, err := connect(t, w.transport(nil), mcpclient.Auto)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "access_denied", refused.Code)
		require.Equal(t, 1, w.count(authorizeRequest))
	})
}

// guardedServer adds an MCP server behind a guard. Its tool requires a further scope.
func guardedServer(t *testing.T, w *fakeNetwork) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "remove"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		if err := RequireScopes(ctx, "write"); err != nil {
			return "", err
		}
		return "removed for " + CallerFromContext(ctx).Subject, nil
	})
	guard, err := NewGuard(&GuardOptions{
		Resource:             serverURL,
		AuthorizationServers: []string{issuerURL},
		Scopes:               []string{"use"},
		Verify: func(_ context.Context, token string) (*Caller, error) {
			scopes, valid := w.issuer.scopesOf(token)
			if !valid {
				return nil, ErrInvalidToken
			}
			return &Caller{Subject: "ada", Audience: []string{serverURL}, Scopes: scopes, Expiry: time.Now().Add(time.Hour)}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(streamable.NewHandler(server, &streamable.Options{Hosts: []string{"mcp.test"}, Principal: Principal})))
	w.hosts["mcp.test"] = mux
	return server
}

func TestClientGetsScopesOfGuardedServer(t *testing.T) {
	for _, mode := range []mcpclient.Mode{mcpclient.NoHandshake, mcpclient.Handshake} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeNetwork(t)
			server := guardedServer(t, w)
			tr := w.transport(nil)
			client, err := connect(t, tr, mode)
			require.NoError(t, err)
			require.Equal(t, []string{"use"}, tr.tokens.current.Scopes)
			res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "remove"})
			require.NoError(t, err)
			require.Equal(t, "removed for ada", mcp.TextOf(res.Content))
			require.Equal(t, []string{"use", "write"}, tr.tokens.current.Scopes)
			require.Equal(t, 2, w.count(authorizeRequest))
			require.NoError(t, client.Close())
			require.NoError(t, server.Shutdown(t.Context()))
		})
	}
}
