package oauth

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// TestZitadel covers an issuer that registers no clients, does not support resource indicators, and
// issues opaque tokens: discovery, PKCE, a client secret, introspection, rotation of refresh tokens, and
// a scope that the issuer does not grant.
func TestZitadel(t *testing.T) {
	var handler http.Handler
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	defer listener.Close()
	issuer := listener.URL
	storage.RegisterClients(storage.WebClient("files", "s3cret", "http://127.0.0.1:7777/callback"))
	handler = exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), slog.New(slog.DiscardHandler), false)

	known := auth.OAuthClient{Issuer: issuer, ClientID: "files", ClientSecret: "s3cret"}
	var revoked sync.Map // tokens
	var last string
	var s *server
	s = serve(t, issuer, &auth.DPoPOptions{}, func() (auth.Verifier, error) {
		introspect, err := auth.Introspection(&auth.IntrospectionOptions{Issuer: issuer, Endpoint: issuer + "/oauth/introspect", Client: known})
		return func(ctx context.Context, token string) (*auth.Caller, error) {
			if _, is := revoked.Load(token); is {
				return nil, fmt.Errorf("%w: revoked", auth.ErrInvalidToken)
			}
			c, err := introspect(ctx, token)
			if err == nil {
				last, c.Audience = token, []string{s.url} // the endpoint only accepts tokens for its client
			}
			return c, err
		}, err
	}, "openid", "custom_scope")
	user := &browser{}
	c, err := connect(t.Context(), s.url, &auth.TransportOptions{
		Grant: &auth.AuthorizationCode{Client: &known, Authorize: user.authorize, RedirectURL: "http://127.0.0.1:7777/callback"},
	})
	require.NoError(t, err)
	defer c.Close()
	require.Contains(t, call(t, c, "read"), "id2|openid custom_scope")
	for range 3 {
		revoked.Store(last, true)
		require.Contains(t, call(t, c, "read"), "id2|openid custom_scope")
	}
	require.Equal(t, 1, user.pages, "the token was refreshed")
	count, schemes := s.seen()
	require.Equal(t, 4, count)
	require.Equal(t, map[string]bool{"Bearer": true}, schemes, "the issuer does not support DPoP")

	for range 3 {
		_, err = mcpclient.CallTool[string](t.Context(), c, "write", nil)
		require.ErrorContains(t, err, "insufficient_scope")
	}
	require.Equal(t, 2, user.pages, "the user is asked once for a scope that the issuer does not grant")
}
