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

// mcpServer lets in who has a token to a server with one tool.
func mcpServer(w *world) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "hello", nil
	})
	handler := server.Handler(&streamable.Options{Hosts: []string{"mcp.test"}})
	door := w.server
	w.hosts["mcp.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, good := w.issuer.good(r.Header.Get("Authorization")[min(len(r.Header.Get("Authorization")), len("Bearer ")):])
		if !good {
			door.ServeHTTP(rw, r)
			return
		}
		handler.ServeHTTP(rw, r)
	})
	return server
}

func connectWith(t *testing.T, tr *Transport, mode mcpclient.Mode) (*mcpclient.Client, error) {
	at := mcpclient.URL(serverURL)
	at.HTTP.HTTPClient = &http.Client{Transport: tr}
	return mcpclient.Connect(t.Context(), at, &mcpclient.Options{Mode: mode, Logger: slog.New(slog.DiscardHandler)})
}

func TestAClientWaitsForItsUserInEveryEra(t *testing.T) {
	for _, mode := range []mcpclient.Mode{mcpclient.Auto, mcpclient.NoHandshake, mcpclient.Handshake} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			server := mcpServer(w)
			tr := w.transport(func(o *TransportOptions) {
				user := w.user()
				user.Authorize = func(ctx context.Context, page string) (string, error) {
					time.Sleep(4 * time.Minute)
					return w.agree(ctx, page)
				}
				o.Grant = user
			})
			client, err := connectWith(t, tr, mode)
			require.NoError(t, err)
			res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, "hello", mcp.TextOf(res.Content))
			if mode == mcpclient.Auto {
				require.Equal(t, mcp.LatestRevision, client.Revision().String(), "a slow user is no evidence of an old server")
			}

			w.issuer.refuse(true) // in the middle of everything
			res, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, "hello", mcp.TextOf(res.Content))
			require.Equal(t, 2, w.count(askedAuthorize))
			require.NoError(t, client.Close())
			require.NoError(t, server.Shutdown(t.Context()))
		})
	}
}

func TestAClientWhoseUserRefusesIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.issuer.answer = func(a url.Values) { a.Set("error", "access_denied") }
		_, err := connectWith(t, w.transport(nil), mcpclient.Auto)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "access_denied", refused.Code)
		require.Equal(t, 1, w.count(askedAuthorize))
	})
}

// guarded is the server behind a guard, with a tool that needs a scope of its own.
func guarded(t *testing.T, w *world) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "remove"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		if err := NeedScopes(ctx, "write"); err != nil {
			return "", err
		}
		return "removed for " + CallerOf(ctx).Subject, nil
	})
	guard, err := NewGuard(GuardOptions{
		Resource:             serverURL,
		AuthorizationServers: []string{issuerURL},
		Scopes:               []string{"use"},
		Verify: func(_ context.Context, token string) (*Caller, error) {
			scopes, good := w.issuer.good(token)
			if !good {
				return nil, ErrInvalidToken
			}
			return &Caller{Subject: "ada", Audience: []string{serverURL}, Scopes: scopes, Expiry: time.Now().Add(time.Hour)}, nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(server.Handler(&streamable.Options{Hosts: []string{"mcp.test"}, Principal: Principal})))
	w.hosts["mcp.test"] = mux
	return server
}

func TestBothEndsMeetInEveryEra(t *testing.T) {
	for _, mode := range []mcpclient.Mode{mcpclient.NoHandshake, mcpclient.Handshake} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			server := guarded(t, w)
			tr := w.transport(nil)
			client, err := connectWith(t, tr, mode)
			require.NoError(t, err)
			require.Equal(t, []string{"use"}, tr.state.held.Scopes)
			res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "remove"})
			require.NoError(t, err)
			require.Equal(t, "removed for ada", mcp.TextOf(res.Content))
			require.Equal(t, []string{"use", "write"}, tr.state.held.Scopes)
			require.Equal(t, 2, w.count(askedAuthorize))
			require.NoError(t, client.Close())
			require.NoError(t, server.Shutdown(t.Context()))
		})
	}
}
