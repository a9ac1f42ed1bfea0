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

// serve puts documents at paths of a host, in place of what was there.
func (w *world) serve(host string, documents map[string]any) {
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

func TestWhereMetadataAreLookedFor(t *testing.T) {
	about := func(resource string) *ResourceMetadata {
		return &ResourceMetadata{Resource: resource, AuthorizationServers: []string{issuerURL}}
	}
	for name, c := range map[string]struct {
		at        string
		documents map[string]any
		resource  string // empty: none is found
		err       string
	}{
		"below the path":        {"", map[string]any{resourceWellKnown + "/mcp": about(serverURL)}, serverURL, ""},
		"at the root":           {"", map[string]any{resourceWellKnown: about("https://mcp.test")}, "https://mcp.test", ""},
		"where the server says": {"https://mcp.test/meta", map[string]any{"/meta": about("https://mcp.test/"), resourceWellKnown + "/mcp": about(serverURL)}, "https://mcp.test/", ""},
		"nowhere":               {"", nil, "", ""},
		"not there after all":   {"https://mcp.test/meta", map[string]any{resourceWellKnown + "/mcp": about(serverURL)}, "", `"https://mcp.test/meta": there is none (status 404)`},
		"a page for people":     {"", map[string]any{resourceWellKnown + "/mcp": "<html>", resourceWellKnown: about("https://mcp.test")}, "https://mcp.test", ""},
		"broken":                {"", map[string]any{resourceWellKnown + "/mcp": 500, resourceWellKnown: about("https://mcp.test")}, "", "status 500"},
		"busy":                  {"", map[string]any{resourceWellKnown + "/mcp": 429, resourceWellKnown: about("https://mcp.test")}, "", "status 429"},
		"about another host":    {"", map[string]any{resourceWellKnown + "/mcp": about("https://evil.test/mcp")}, "", `it is about "https://evil.test/mcp", not about "https://mcp.test/mcp"`},
		"about another path":    {"", map[string]any{resourceWellKnown + "/mcp": about("https://mcp.test/mc")}, "", `it is about "https://mcp.test/mc"`},
		"about a part":          {"", map[string]any{resourceWellKnown + "/mcp": about("https://mcp.test/mcp/more")}, "", `it is about`},
		"about nothing":         {"", map[string]any{resourceWellKnown + "/mcp": about("")}, "", `it is about ""`},
		"without TLS":           {"http://mcp.test/meta", nil, "", "is without TLS"},
		"on this machine":       {"https://127.0.0.1/meta", nil, "", "leads to this machine"},
		"of another kind":       {"file:///etc/passwd", nil, "", "is no absolute URL of HTTP"},
		"no issuer":             {"", map[string]any{resourceWellKnown + "/mcp": &ResourceMetadata{Resource: serverURL}}, "", "names nobody who issues tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve("mcp.test", c.documents)
			m, err := w.transport(nil).found.resource(t.Context(), c.at)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.resource, m.Resource)
		})
	}
}

func TestWhereAnIssuerIsLookedFor(t *testing.T) {
	meta := func(issuer string) *ServerMetadata {
		return &ServerMetadata{Issuer: issuer, TokenEndpoint: issuerURL + "/token"}
	}
	for name, c := range map[string]struct {
		issuer    string
		documents map[string]any
		err       string
		places    int
	}{
		"OAuth":              {issuerURL, map[string]any{serverWellKnown: meta(issuerURL)}, "", 1},
		"OpenID":             {issuerURL, map[string]any{openIDWellKnown: meta(issuerURL)}, "", 2},
		"with a path":        {issuerURL + "/t", map[string]any{serverWellKnown + "/t": meta(issuerURL + "/t")}, "", 1},
		"OpenID with a path": {issuerURL + "/t", map[string]any{openIDWellKnown + "/t": meta(issuerURL + "/t")}, "", 2},
		"below the path":     {issuerURL + "/t", map[string]any{"/t" + openIDWellKnown: meta(issuerURL + "/t")}, "", 3},
		"with a slash":       {issuerURL + "/t/", map[string]any{"/t" + openIDWellKnown: meta(issuerURL + "/t/")}, "", 3},
		"nowhere":            {issuerURL, map[string]any{serverWellKnown + "/t": meta(issuerURL)}, "there is none", 2},
		"of another":         {issuerURL, map[string]any{serverWellKnown: meta("https://evil.test")}, `it is about "https://evil.test"`, 1},
		"nearly":             {issuerURL, map[string]any{serverWellKnown: meta(issuerURL + "/")}, `it is about "https://login.test/"`, 1},
		"broken":             {issuerURL, map[string]any{serverWellKnown: 503}, "status 503", 1},
		"busy":               {issuerURL, map[string]any{serverWellKnown: 429}, "status 429", 1},
		"without TLS":        {"http://login.test", nil, "is without TLS", 0},
		"on this machine":    {"https://localhost", nil, "leads to this machine", 0},
		"no token":           {issuerURL, map[string]any{serverWellKnown: &ServerMetadata{Issuer: issuerURL}}, "no token_endpoint", 1},
		"an endpoint here":   {issuerURL, map[string]any{serverWellKnown: &ServerMetadata{Issuer: issuerURL, TokenEndpoint: "http://localhost/token"}}, "token_endpoint: \"http://localhost/token\" leads to this machine", 1},
		"a strange page":     {issuerURL, map[string]any{serverWellKnown: &ServerMetadata{Issuer: issuerURL, TokenEndpoint: issuerURL, AuthorizationEndpoint: "javascript:alert(1)"}}, "authorization_endpoint", 1},
		"long":               {issuerURL, map[string]any{serverWellKnown: string(make([]byte, mostFetched+1))}, "longer than 1048576 bytes", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serve("login.test", c.documents)
			f := w.transport(nil).found.fetch
			m, err := f.issuer(t.Context(), c.issuer)
			if err == nil {
				err = f.endpoints(m)
			}
			require.Len(t, w.asked(), c.places)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.issuer, m.Issuer)
		})
	}
}

func TestTheFirstIssuerThatAnswersIsUsed(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	w.server.about.AuthorizationServers = []string{"https://down.test", issuerURL}
	w.enters(w.transport(nil))
	w = newWorld(t)
	w.server.about.AuthorizationServers = []string{"https://down.test", "https://off.test"}
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, "down.test")
	require.ErrorContains(t, err, "off.test")
}

func TestATokenIsRenewedWhereItIsFrom(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	w.server.about.AuthorizationServers = []string{"https://first.test", issuerURL}
	tr := w.transport(nil)
	w.enters(tr)
	w.found("first.test") // it was down
	w.issuer.refuse(false)
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedToken))
	require.Zero(t, w.count("GET first.test/authorize"))
}

func TestAServerDoesNotLeadItsClientsToEverybody(t *testing.T) {
	w := newWorld(t)
	w.server.about.AuthorizationServers = nil
	for i := range 10_000 {
		w.server.about.AuthorizationServers = append(w.server.about.AuthorizationServers, fmt.Sprintf("https://victim.test/%d", i))
	}
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, "https://victim.test/19")
	require.NotContains(t, err.Error(), "https://victim.test/20")
}

func TestAServerOf20250326IssuesItsOwnTokens(t *testing.T) {
	for name, published := range map[string]any{
		"nothing published": nil,
		"metadata": &ServerMetadata{
			Issuer: "https://mcp.test/", AuthorizationEndpoint: "https://mcp.test/authorize", TokenEndpoint: "https://mcp.test/token",
			RegistrationEndpoint: "https://mcp.test/register", CodeChallengeMethodsSupported: []string{"S256"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.server.about, w.server.quiet, w.server.scopes = nil, true, nil
			w.issuer.url, w.issuer.meta.Issuer = "https://mcp.test", "https://mcp.test"
			w.issuer.answer = func(a url.Values) { a.Del("iss") }
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
			w.enters(w.transport(nil))
		})
	}
	w := newWorld(t)
	w.server.about, w.server.quiet = nil, true
	w.serve("mcp.test", map[string]any{"/mcp": http.StatusUnauthorized, serverWellKnown: &ServerMetadata{Issuer: "https://evil.test", TokenEndpoint: "https://evil.test/token"}})
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `it is about "https://evil.test"`)
	w.serve("mcp.test", map[string]any{"/mcp": http.StatusUnauthorized, serverWellKnown: &ServerMetadata{Issuer: "https://mcp.test", TokenEndpoint: "http://mcp.test/token"}})
	_, err = w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `token_endpoint: "http://mcp.test/token" is without TLS`)
}

func TestNothingIsLookedForTwice(t *testing.T) {
	w := newWorld(t)
	w.serve("mcp.test", nil)
	d := discovery{server: &url.URL{Scheme: "https", Host: "mcp.test"}, fetch: newFetcher(&http.Client{Transport: w})}
	_, err := d.resource(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"GET mcp.test" + resourceWellKnown}, w.asked())
}
