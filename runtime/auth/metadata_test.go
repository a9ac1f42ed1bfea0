package auth

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// serveDocuments replaces the handler of a host. It serves the documents at their paths.
func (w *fakeNetwork) serveDocuments(host string, documents map[string]any) {
	w.hosts[host] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch d := documents[r.URL.Path].(type) {
		case nil:
			http.NotFound(rw, r)
		case string:
			_, _ = io.WriteString(rw, d)
		case int:
			rw.WriteHeader(d)
		default:
			_ = json.NewEncoder(rw).Encode(d)
		}
	})
}

func TestResourceMetadata(t *testing.T) {
	metadata := func(resource string) *ResourceMetadata {
		return &ResourceMetadata{Resource: resource, AuthorizationServers: []string{issuerURL}}
	}
	for name, c := range map[string]struct {
		url       string // of the metadata, from the challenge
		documents map[string]any
		resource  string // empty if no metadata are found
		err       string
	}{
		"well-known with path": {"", map[string]any{resourceWellKnown + "/mcp": metadata(serverURL)}, serverURL, ""},
		"well-known of host":   {"", map[string]any{resourceWellKnown: metadata("https://mcp.test")}, "https://mcp.test", ""},
		"challenge":            {"https://mcp.test/meta", map[string]any{"/meta": metadata("https://mcp.test/"), resourceWellKnown + "/mcp": metadata(serverURL)}, "https://mcp.test/", ""},
		"no metadata":          {"", nil, "", ""},
		"challenge, not found": {"https://mcp.test/meta", map[string]any{resourceWellKnown + "/mcp": metadata(serverURL)}, "", `GET "https://mcp.test/meta": not found (status 404)`},
		"HTML":                 {"", map[string]any{resourceWellKnown + "/mcp": "<html>", resourceWellKnown: metadata("https://mcp.test")}, "https://mcp.test", ""},
		"status 500":           {"", map[string]any{resourceWellKnown + "/mcp": 500, resourceWellKnown: metadata("https://mcp.test")}, "", "status 500"},
		"status 429":           {"", map[string]any{resourceWellKnown + "/mcp": 429, resourceWellKnown: metadata("https://mcp.test")}, "", "status 429"},
		"other host":           {"", map[string]any{resourceWellKnown + "/mcp": metadata("https://evil.test/mcp")}, "", `metadata of server "https://mcp.test/mcp": resource is "https://evil.test/mcp"`},
		"other path":           {"", map[string]any{resourceWellKnown + "/mcp": metadata("https://mcp.test/mc")}, "", `resource is "https://mcp.test/mc"`},
		"path below":           {"", map[string]any{resourceWellKnown + "/mcp": metadata("https://mcp.test/mcp/more")}, "", `resource is`},
		"no resource":          {"", map[string]any{resourceWellKnown + "/mcp": metadata("")}, "", `resource is ""`},
		"without TLS":          {"http://mcp.test/meta", nil, "", "is a URL without TLS"},
		"loopback":             {"https://127.0.0.1/meta", nil, "", "is a loopback address"},
		"file":                 {"file:///etc/passwd", nil, "", "is not an absolute HTTP URL"},
		"no issuers":           {"", map[string]any{resourceWellKnown + "/mcp": &ResourceMetadata{Resource: serverURL}}, "", "no authorization_servers"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.serveDocuments("mcp.test", c.documents)
			m, err := w.transport(nil).discovery.resourceMetadata(t.Context(), c.url)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.resource, m.Resource)
		})
	}
}

func TestIssuerMetadata(t *testing.T) {
	meta := func(issuer string) *AuthorizationServerMetadata {
		return &AuthorizationServerMetadata{Issuer: issuer, TokenEndpoint: issuerURL + "/token"}
	}
	for name, c := range map[string]struct {
		issuer    string
		documents map[string]any
		err       string
		requests  int
	}{
		"OAuth":               {issuerURL, map[string]any{serverWellKnown: meta(issuerURL)}, "", 1},
		"OpenID":              {issuerURL, map[string]any{openIDWellKnown: meta(issuerURL)}, "", 2},
		"OAuth with path":     {issuerURL + "/t", map[string]any{serverWellKnown + "/t": meta(issuerURL + "/t")}, "", 1},
		"OpenID with path":    {issuerURL + "/t", map[string]any{openIDWellKnown + "/t": meta(issuerURL + "/t")}, "", 2},
		"OpenID below path":   {issuerURL + "/t", map[string]any{"/t" + openIDWellKnown: meta(issuerURL + "/t")}, "", 3},
		"issuer with slash":   {issuerURL + "/t/", map[string]any{"/t" + openIDWellKnown: meta(issuerURL + "/t/")}, "", 3},
		"no metadata":         {issuerURL, map[string]any{serverWellKnown + "/t": meta(issuerURL)}, "not found", 2},
		"other issuer":        {issuerURL, map[string]any{serverWellKnown: meta("https://evil.test")}, `issuer is "https://evil.test"`, 1},
		"metadata with slash": {issuerURL, map[string]any{serverWellKnown: meta(issuerURL + "/")}, "", 1},
		"resource with slash": {issuerURL + "/", map[string]any{serverWellKnown: meta(issuerURL)}, "", 1},
		"slash after path":    {issuerURL + "/t", map[string]any{serverWellKnown + "/t": meta(issuerURL + "/t/")}, `issuer is "https://login.test/t/"`, 1},
		"two slashes":         {issuerURL, map[string]any{serverWellKnown: meta(issuerURL + "//")}, `issuer is "https://login.test//"`, 1},
		"status 503":          {issuerURL, map[string]any{serverWellKnown: 503}, "status 503", 1},
		"status 429":          {issuerURL, map[string]any{serverWellKnown: 429}, "status 429", 1},
		"without TLS":         {"http://login.test", nil, "is a URL without TLS", 0},
		"loopback":            {"https://localhost", nil, "is a loopback address", 0},
		"no token endpoint":   {issuerURL, map[string]any{serverWellKnown: &AuthorizationServerMetadata{Issuer: issuerURL}}, "no token_endpoint", 1},
		"loopback endpoint":   {issuerURL, map[string]any{serverWellKnown: &AuthorizationServerMetadata{Issuer: issuerURL, TokenEndpoint: "http://localhost/token"}}, "token_endpoint: \"http://localhost/token\" is a loopback address", 1},
		"javascript endpoint": {issuerURL, map[string]any{serverWellKnown: &AuthorizationServerMetadata{Issuer: issuerURL, TokenEndpoint: issuerURL, AuthorizationEndpoint: "javascript:alert(1)"}}, "authorization_endpoint", 1},
		"too long":            {issuerURL, map[string]any{serverWellKnown: string(make([]byte, maxResponseBytes+1))}, "longer than 1048576 bytes", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.serveDocuments("login.test", c.documents)
			f := w.transport(nil).discovery.fetcher
			m, err := f.issuerMetadata(t.Context(), c.issuer)
			if err == nil {
				err = f.checkEndpoints(m)
			}
			require.Len(t, w.takeLog(), c.requests)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.True(t, sameIssuer(c.issuer, m.Issuer))
		})
	}
}

func TestIssuerDiffersByASlash(t *testing.T) {
	for _, listed := range []string{issuerURL, issuerURL + "/"} {
		for _, named := range []string{issuerURL, issuerURL + "/"} {
			w := newFakeNetwork(t)
			w.server.challengeScope = "use"
			w.server.metadata.AuthorizationServers = []string{listed}
			w.issuer.metadata.Issuer = named
			w.issuer.clients["known"] = ""
			for _, client := range []*OAuthClient{nil, {Issuer: issuerURL, ClientID: "known"}, {Issuer: issuerURL + "/", ClientID: "known"}} {
				tr := w.transport(func(o *TransportOptions) {
					user := w.user()
					user.Client = client
					o.Grant = user
				})
				w.mustPost(tr)
				w.issuer.revoke(false)
				w.takeLog()
				w.mustPost(tr)
				require.Zero(t, w.count(authorizeRequest), "the token is refreshed")
			}
		}
	}
	for _, pair := range [][2]string{
		{"https://a.test/t", "https://a.test/t/"}, {"https://a.test", "https://a.test//"}, {"https://a.test", "https://A.test"},
		{"https://a.test", "https://a.test:443"}, {"https://a.test", "http://a.test/"}, {"https://a.test", "https://a.test/?"}, {"", "/"}, {"https://", "https:///"},
	} {
		require.False(t, sameIssuer(pair[0], pair[1]), pair)
	}
}

func TestFirstAvailableIssuerIsUsed(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.server.metadata.AuthorizationServers = []string{"https://down.test", issuerURL}
	w.mustPost(w.transport(nil))
	w = newFakeNetwork(t)
	w.server.metadata.AuthorizationServers = []string{"https://down.test", "https://off.test"}
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, "down.test")
	require.ErrorContains(t, err, "off.test")
}

func TestTokenIsRefreshedAtItsIssuer(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.server.metadata.AuthorizationServers = []string{"https://first.test", issuerURL}
	tr := w.transport(nil)
	w.mustPost(tr)
	w.newIssuer("first.test") // the issuer is available again
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(tokenRequest))
	require.Zero(t, w.count("GET first.test/authorize"))
}

func TestIssuersAreLimited(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.metadata.AuthorizationServers = nil
	for i := range 10_000 {
		w.server.metadata.AuthorizationServers = append(w.server.metadata.AuthorizationServers, fmt.Sprintf("https://victim.test/%d", i))
	}
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, "https://victim.test/19")
	require.NotContains(t, err.Error(), "https://victim.test/20")
}

func TestServerOf20250326IssuesItsOwnTokens(t *testing.T) {
	for name, published := range map[string]any{
		"no metadata": nil,
		"metadata": &AuthorizationServerMetadata{
			Issuer: "https://mcp.test/", AuthorizationEndpoint: "https://mcp.test/authorize", TokenEndpoint: "https://mcp.test/token",
			RegistrationEndpoint: "https://mcp.test/register", CodeChallengeMethodsSupported: []string{"S256"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.server.metadata, w.server.omitMetadataURL, w.server.scopes = nil, true, nil
			w.issuer.url, w.issuer.metadata.Issuer = "https://mcp.test", "https://mcp.test"
			w.issuer.changeRedirect = func(a url.Values) { a.Del("iss") }
			w.hosts["mcp.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case serverWellKnown:
					if published == nil {
						http.NotFound(rw, r)
						return
					}
					_ = json.NewEncoder(rw).Encode(published)
				case "/authorize", "/token", "/register":
					w.issuer.ServeHTTP(rw, r)
				default:
					w.server.ServeHTTP(rw, r)
				}
			})
			w.mustPost(w.transport(nil))
		})
	}
	w := newFakeNetwork(t)
	w.server.metadata, w.server.omitMetadataURL = nil, true
	w.serveDocuments("mcp.test", map[string]any{"/mcp": http.StatusUnauthorized, serverWellKnown: &AuthorizationServerMetadata{Issuer: "https://evil.test", TokenEndpoint: "https://evil.test/token"}})
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `issuer is "https://evil.test"`)
	w.serveDocuments("mcp.test", map[string]any{"/mcp": http.StatusUnauthorized, serverWellKnown: &AuthorizationServerMetadata{Issuer: "https://mcp.test", TokenEndpoint: "http://mcp.test/token"}})
	_, err = w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `token_endpoint: "http://mcp.test/token" is a URL without TLS`)
}

func TestMetadataURLIsRequestedOnce(t *testing.T) {
	w := newFakeNetwork(t)
	w.serveDocuments("mcp.test", nil)
	d := discovery{server: &url.URL{Scheme: "https", Host: "mcp.test"}, fetcher: newFetcher(&http.Client{Transport: w})}
	_, err := d.resourceMetadata(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"GET mcp.test" + resourceWellKnown}, w.takeLog())
}

func TestWellKnownURL(t *testing.T) {
	for of, want := range map[string]string{
		"https://a.example":             "https://a.example/.well-known/x",
		"https://a.example/":            "https://a.example/.well-known/x",
		"https://a.example/mcp":         "https://a.example/.well-known/x/mcp",
		"https://a.example:81/b/c/":     "https://a.example:81/.well-known/x/b/c",
		"https://a.example/b%2Fc%20%7B": "https://a.example/.well-known/x/b%2Fc%20%7B",
	} {
		u, err := url.Parse(of)
		require.NoError(t, err)
		require.Equal(t, want, wellKnown(u, "/.well-known/x").String())
	}
}
