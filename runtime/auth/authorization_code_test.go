package auth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestInvalidAuthorizationResponse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a url.Values)
		noIss  bool // the issuer does not support the parameter iss
		want   string
	}{
		"wrong state":              {func(a url.Values) { a.Set("state", "x") }, false, "wrong state"},
		"no state":                 {func(a url.Values) { a.Del("state") }, false, "wrong state"},
		"wrong issuer":             {func(a url.Values) { a.Set("iss", "https://evil.test") }, false, `iss is "https://evil.test"`},
		"wrong unsupported issuer": {func(a url.Values) { a.Set("iss", "https://evil.test") }, true, `iss is "https://evil.test"`},
		"issuer with slash":        {func(a url.Values) { a.Set("iss", issuerURL+"/") }, false, `iss is "https://login.test/"`},
		"no issuer":                {func(a url.Values) { a.Del("iss") }, false, `iss is ""`},
		"empty issuer":             {func(a url.Values) { a.Set("iss", "") }, true, `iss is ""`},
		"no code":                  {func(a url.Values) { a.Del("code") }, false, "no code"},
		"error":                    {func(a url.Values) { a.Set("error", "server_error") }, false, `returned error "server_error"`},
		"error of wrong issuer":    {func(a url.Values) { a.Set("error", "phishing"); a.Set("iss", "https://evil.test") }, true, `iss is "https://evil.test"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.issuer.metadata.AuthorizationResponseIssParameterSupported = !c.noIss
			w.issuer.changeRedirect = c.change
			_, err := w.post(t.Context(), w.transport(nil))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "phishing")
			require.Zero(t, w.count(tokenRequest))
		})
	}
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.metadata.AuthorizationResponseIssParameterSupported = false
	w.issuer.changeRedirect = func(a url.Values) { a.Del("iss") }
	w.mustPost(w.transport(nil))
}

func TestAuthorizationRequestParameters(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.metadata.ScopesSupported = []string{"use", "write"}
	w.issuer.metadata.ScopesSupported = []string{"use", "offline_access"}
	var page *url.URL
	tr := w.transport(func(o *TransportOptions) {
		user := w.user()
		user.Authorize = func(ctx context.Context, p string) (string, error) {
			page, _ = url.Parse(p)
			return w.consent(ctx, p)
		}
		o.Grant = user
	})
	w.mustPost(tr)
	q := page.Query()
	require.Equal(t, "1", q.Get("tenant"), "the query of the endpoint must be kept")
	require.Equal(t, "code", q.Get("response_type"))
	require.Equal(t, "use write offline_access", q.Get("scope"))
	require.Equal(t, "consent", q.Get("prompt"), "without it, OpenID providers issue no refresh token")
	require.Equal(t, serverURL, q.Get("resource"))
	require.Equal(t, "S256", q.Get("code_challenge_method"))
	require.Equal(t, "http://127.0.0.1:7777/callback", q.Get("redirect_uri"))
	require.Greater(t, len(q.Get("state")), 20)
}

func TestOmitResource(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope, w.issuer.rejectResource = "use", true
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, "invalid_target")
	tr := w.transport(func(o *TransportOptions) { o.OmitResource = true })
	w.mustPost(tr)
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(tokenRequest))
	require.Zero(t, w.count(authorizeRequest), "a refresh must omit the resource too")
}

func TestScopesToRequest(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.scopes = nil
	w.mustPost(w.transport(nil))
	q := w.issuer.lastAuthorization()
	require.False(t, q.Has("scope"))
	require.False(t, q.Has("prompt"))
	require.False(t, w.issuer.lastForm().Has("scope"))
	require.NotContains(t, w.issuer.registrations[0], "scope")

	w = newFakeNetwork(t)
	w.server.scopes = nil
	w.issuer.metadata.ScopesSupported = []string{"offline_access"}
	w.mustPost(w.transport(nil))
	q = w.issuer.lastAuthorization()
	require.Equal(t, "offline_access", q.Get("scope"))
	require.Equal(t, "consent", q.Get("prompt"))

	w = newFakeNetwork(t)
	w.mustPost(w.transport(func(o *TransportOptions) { o.Scopes = []string{"use"} }))
	w.server.challengeScope = "use" // has priority over the option
	w.mustPost(w.transport(func(o *TransportOptions) { o.Scopes = []string{"write"} }))
}

func TestAuthorizationParams(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.metadata.ScopesSupported = []string{"use", "offline_access"}
	user := w.user()
	user.AuthorizationParams = url.Values{"access_type": {"offline"}, "audience": {"a", "b"}, "prompt": nil}
	w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = user }))
	q := w.issuer.lastAuthorization()
	require.Equal(t, "offline", q.Get("access_type"))
	require.Equal(t, []string{"a", "b"}, q["audience"])
	require.False(t, q.Has("prompt"))
	require.Equal(t, "use offline_access", q.Get("scope"))

	for _, name := range []string{"client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "response_type"} {
		w := newFakeNetwork(t)
		user := w.user()
		user.AuthorizationParams = url.Values{name: {"x"}}
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = user }))
		require.ErrorContains(t, err, `AuthorizationCode.AuthorizationParams: parameter "`+name+`" cannot be replaced`)
		require.Zero(t, w.count(authorizeRequest)+w.count(registerRequest))
	}
}

func TestRegistrationHasScopes(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.server.metadata.ScopesSupported = []string{"use", "write", "unlisted"}
	w.issuer.metadata.ScopesSupported = []string{"use", "write", "offline_access"}
	tr := w.transport(nil)
	w.mustPost(tr)
	require.Equal(t, "use offline_access write", w.issuer.registrations[0]["scope"])

	w.server.scopes = []string{"use", "write"} // the registration has them
	w.mustPost(tr)
	require.Len(t, w.issuer.registrations, 1)
	w.server.scopes = []string{"use", "write", "admin"}
	w.mustPost(tr)
	require.Len(t, w.issuer.registrations, 2, "the registration lacks a scope")
	require.Contains(t, w.issuer.registrations[1]["scope"], "admin")
}

func TestRegistrationWithoutScopesIfTheyAreRefused(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.registrationHandler = func(rw http.ResponseWriter, client map[string]any) bool {
		if client["scope"] == nil {
			return false
		}
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":"invalid_client_metadata"}`)
		return true
	}
	tr := w.transport(nil)
	w.mustPost(tr)
	require.Len(t, w.issuer.registrations, 2)
	w.issuer.revoke(true)
	w.mustPost(tr)
	require.Len(t, w.issuer.registrations, 2, "the client is used again")
}

func TestPKCEIsRequired(t *testing.T) {
	for _, methods := range [][]string{nil, {}, {"plain"}} {
		w := newFakeNetwork(t)
		w.issuer.metadata.CodeChallengeMethodsSupported = methods
		_, err := w.post(t.Context(), w.transport(nil))
		require.ErrorContains(t, err, "want S256 (AuthorizationCode.AssumePKCE disables this check)")
		require.Zero(t, w.count(authorizeRequest)+w.count(registerRequest))
		w.server.challengeScope = "use"
		w.mustPost(w.transport(func(o *TransportOptions) {
			user := w.user()
			user.AssumePKCE = true
			o.Grant = user
		}))
	}
	w := newFakeNetwork(t)
	w.issuer.metadata.AuthorizationEndpoint = ""
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `issuer "https://login.test" has no authorization_endpoint`)
}

func TestClientIdentification(t *testing.T) {
	const document = "https://client.test/about.json"
	for name, c := range map[string]struct {
		change func(w *fakeNetwork, g *AuthorizationCode)
		id     string // expected client id, empty for a registered client
		want   int    // number of registrations
	}{
		"Client": {func(w *fakeNetwork, g *AuthorizationCode) {
			g.Client = &OAuthClient{Issuer: issuerURL, ClientID: "known", ClientSecret: "s"}
			g.ClientMetadataURL = document
			w.issuer.metadata.ClientIDMetadataDocumentSupported = true
		}, "known", 0},
		"ClientMetadataURL": {func(w *fakeNetwork, g *AuthorizationCode) {
			g.ClientMetadataURL = document
			w.issuer.metadata.ClientIDMetadataDocumentSupported = true
		}, document, 0},
		"unsupported ClientMetadataURL": {func(_ *fakeNetwork, g *AuthorizationCode) { g.ClientMetadataURL = document }, "", 1},
		"registration":                  {func(*fakeNetwork, *AuthorizationCode) {}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.server.challengeScope = "use"
			user := w.user()
			c.change(w, user)
			w.issuer.clients[c.id] = ""
			tr := w.transport(func(o *TransportOptions) { o.Grant = user })
			w.mustPost(tr)
			w.issuer.revoke(true)
			w.mustPost(tr)
			require.Equal(t, c.want, w.count(registerRequest))
			for _, q := range w.issuer.codes {
				if c.id != "" {
					require.Equal(t, c.id, q.Get("client_id"))
				}
			}
		})
	}
}

func TestInvalidClientMetadataURL(t *testing.T) {
	for _, document := range []string{"https://client.test", "https://client.test/", "http://client.test/about.json", "http://localhost/about.json", "about.json", "https://client.test/about.json#x", "https://ada:secret@client.test/about.json"} {
		w := newFakeNetwork(t)
		user := w.user()
		user.ClientMetadataURL = document
		w.issuer.metadata.ClientIDMetadataDocumentSupported = true
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = user }))
		require.ErrorContains(t, err, "invalid AuthorizationCode.ClientMetadataURL")
		require.Zero(t, w.count(authorizeRequest)+w.count(registerRequest), document)
	}
}

func TestUnknownClient(t *testing.T) {
	w := newFakeNetwork(t)
	w.issuer.metadata.RegistrationEndpoint = ""
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `issuer "https://login.test" has no registration_endpoint`)

	w = newFakeNetwork(t)
	_, err = w.post(t.Context(), w.transport(func(o *TransportOptions) {
		user := w.user()
		user.Client = &OAuthClient{Issuer: "https://other.test", ClientID: "known", ClientSecret: "hidden"}
		o.Grant = user
	}))
	require.ErrorContains(t, err, `server accepts tokens of ["https://login.test"], but the client is registered at "https://other.test"`)
	require.Zero(t, w.count(authorizeRequest)+w.count(tokenRequest))
}

func TestUserIsNotSentToOtherIssuer(t *testing.T) {
	for issuer, want := range map[string]string{
		"":        "OAuthClient.Issuer is required",
		issuerURL: `server accepts tokens of ["https://mcp.test"], but the client is registered at "https://login.test"`,
	} {
		w := newFakeNetwork(t)
		w.server.metadata, w.server.omitMetadataURL = nil, true // the server issues its own tokens, as in 2025-03-26
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) {
			o.Grant = &AuthorizationCode{
				Client:      &OAuthClient{Issuer: issuer, ClientID: "known"},
				RedirectURL: "http://127.0.0.1:7777/callback",
				Authorize: func(context.Context, string) (string, error) {
					t.Error("the user was sent to the server's authorization page")
					return "", errors.New("closed")
				},
			}
		}))
		require.ErrorContains(t, err, want)
	}
}

func TestRegistrationErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"invalid_redirect_uri","error_description":"no","error_uri":"https://x"}`: `register client: https://login.test/register returned error "invalid_redirect_uri" ("no"), see "https://x"`,
		`{}`:   `register client: POST "https://login.test/register": status 400`,
		`oops`: `register client: POST "https://login.test/register": status 400`,
	} {
		w := newFakeNetwork(t)
		inner := w.hosts["login.test"]
		w.hosts["login.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/register" {
				inner.ServeHTTP(rw, r)
				return
			}
			rw.WriteHeader(http.StatusBadRequest)
			_, _ = rw.Write([]byte(body))
		})
		_, err := w.post(t.Context(), w.transport(nil))
		require.ErrorContains(t, err, want)
	}
	for body, want := range map[string]string{`{}`: "no client_id in the response", `[`: "register client at"} {
		w := newFakeNetwork(t)
		inner := w.hosts["login.test"]
		w.hosts["login.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/register" {
				inner.ServeHTTP(rw, r)
				return
			}
			_, _ = rw.Write([]byte(body))
		})
		_, err := w.post(t.Context(), w.transport(nil))
		require.ErrorContains(t, err, want)
	}
}

func TestClientIsRegisteredAgainIfUnknown(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &memoryStore{}
	share := func(o *TransportOptions) { o.Store = store }
	tr := w.transport(share)
	w.mustPost(tr)
	for _, tr := range []*Transport{tr, w.transport(share)} {
		clear(w.issuer.clients)
		w.issuer.revoke(false)
		w.takeLog()
		w.mustPost(tr) // the refresh fails with invalid_client
		require.Equal(t, 1, w.count(registerRequest))
	}
}

func TestClientIsRegisteredAgainAfterMissingRedirect(t *testing.T) {
	for name, lost := range map[string]func(ctx context.Context, w *fakeNetwork, page string) (string, error){
		"no redirect": func(ctx context.Context, _ *fakeNetwork, _ string) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		},
		"error redirect": func(ctx context.Context, w *fakeNetwork, page string) (string, error) { return w.consent(ctx, page) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeNetwork(t)
				w.server.challengeScope = "use"
				user := w.user()
				tr := w.transport(func(o *TransportOptions) { o.Grant = user })
				w.mustPost(tr)
				clear(w.issuer.clients)
				w.issuer.revoke(true)
				require.NoError(t, tr.Logout(t.Context()))
				user.Authorize = func(ctx context.Context, page string) (string, error) { return lost(ctx, w, page) }
				require.Error(t, tr.Login(t.Context()))
				user.Authorize = w.consent
				w.takeLog()
				require.NoError(t, tr.Login(t.Context()))
				require.Equal(t, 1, w.count(registerRequest))

				w.issuer.revoke(true)
				require.NoError(t, tr.Logout(t.Context()))
				w.issuer.changeRedirect = func(a url.Values) { a.Set("error", "access_denied") }
				require.Error(t, tr.Login(t.Context()))
				w.issuer.changeRedirect = nil
				require.NoError(t, tr.Login(t.Context()))
				require.Equal(t, 1, w.count(registerRequest), "the issuer knows the client")
			})
		})
	}
}

func TestClientIsRegisteredAgainIfUnusable(t *testing.T) {
	for name, change := range map[string]func(*registeredClient){
		"expired":        func(r *registeredClient) { r.SecretExpiresAt = 1 },
		"other redirect": func(r *registeredClient) { r.RedirectURL = "http://127.0.0.1:1/callback" },
		"other issuer":   func(r *registeredClient) { r.Issuer = "https://other.test" },
		"no client id":   func(r *registeredClient) { r.ClientID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.server.challengeScope = "use"
			store := &memoryStore{}
			share := func(o *TransportOptions) { o.Store = store }
			w.mustPost(w.transport(share))
			var r registeredClient
			require.NoError(t, json.Unmarshal(store.values["client "+issuerURL], &r))
			change(&r)
			data, err := json.Marshal(r)
			require.NoError(t, err)
			store.values["client "+issuerURL] = data
			w.issuer.revoke(true)
			w.takeLog()
			w.mustPost(w.transport(share))
			require.Equal(t, 1, w.count(registerRequest))
		})
	}
}

func TestClientSecretExpiry(t *testing.T) {
	for text, want := range map[string]seconds{
		`0`: 0, `1700000000`: 1.7e9, `1.7e9`: 1.7e9, `"1700000000"`: 1.7e9, `""`: 0, `null`: 0, `"never"`: 0, `{}`: 0, `"Inf"`: 0,
	} {
		r := registeredClient{OAuthClient: &OAuthClient{}}
		require.NoError(t, json.Unmarshal([]byte(`{"client_id":"a","client_secret_expires_at":`+text+`}`), &r), text)
		require.Equal(t, want, r.SecretExpiresAt, text)
		data, err := json.Marshal(&r)
		require.NoError(t, err)
		again := registeredClient{OAuthClient: &OAuthClient{}}
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, r, again)
	}
}

func TestServerChangesItsIssuer(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(func(o *TransportOptions) {
		user := w.user()
		user.ClientMetadataURL = "https://client.test/about.json" // valid at every issuer
		o.Grant = user
	})
	w.issuer.metadata.ClientIDMetadataDocumentSupported = true
	w.issuer.clients["https://client.test/about.json"] = ""
	w.mustPost(tr)
	next := w.newIssuer("next.test")
	next.metadata.ClientIDMetadataDocumentSupported = true
	next.clients["https://client.test/about.json"] = ""
	next.tokens, w.server.issuer = w.issuer.tokens, next
	w.server.metadata.AuthorizationServers = []string{"https://next.test"}
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(tr)
	log := w.takeLog()
	require.Contains(t, log, "POST next.test/token")
	require.NotContains(t, log, tokenRequest)
	require.Len(t, next.forms, 1)
	for _, f := range next.forms {
		require.NotEqual(t, "refresh_token", f.Get("grant_type"))
	}
}

func TestClientRegistrationMetadata(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.metadata.TokenEndpointAuthMethodsSupported = nil
	w.mustPost(w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{Authorize: w.consent, RedirectURL: "https://app.test/callback", ClientURI: "https://app.test"}
	}))
	require.Equal(t, "web", w.issuer.registrations[0]["application_type"])
	require.Equal(t, "https://app.test", w.issuer.registrations[0]["client_uri"])
	require.Regexp(t, `^auth\.test`, w.issuer.registrations[0]["client_name"])
	require.NotContains(t, w.issuer.registrations[0], "token_endpoint_auth_method")
}

func TestAuthorizationCodeErrors(t *testing.T) {
	w := newFakeNetwork(t)
	for _, c := range []struct {
		user *AuthorizationCode
		want string
	}{
		{&AuthorizationCode{}, "AuthorizationCode has neither OpenBrowser nor Authorize"},
		{&AuthorizationCode{OpenBrowser: func(string) error { return errors.New("no screen") }}, "show a page: no screen"},
		{&AuthorizationCode{OpenBrowser: func(string) error { panic("no screen") }}, "show a page: AuthorizationCode.OpenBrowser panicked: no screen"},
		{&AuthorizationCode{OpenBrowser: OpenBrowser, RedirectURL: "https://app.test/callback"}, `AuthorizationCode.RedirectURL: "https://app.test/callback" is not an http URL of a loopback address`},
		{&AuthorizationCode{OpenBrowser: OpenBrowser, RedirectURL: "http://app.test/callback"}, `AuthorizationCode.RedirectURL: "http://app.test/callback" is a URL without TLS`},
		{&AuthorizationCode{Authorize: w.consent, RedirectURL: "http://app.test/callback"}, `AuthorizationCode.RedirectURL: "http://app.test/callback" is a URL without TLS`},
		{&AuthorizationCode{Authorize: w.consent, RedirectURL: "app://callback"}, `AuthorizationCode.RedirectURL: "app://callback" is not an absolute HTTP URL`},
		{&AuthorizationCode{Authorize: w.consent, RedirectURL: "/callback"}, `AuthorizationCode.RedirectURL: "/callback" is not an absolute HTTP URL`},
		{&AuthorizationCode{Authorize: func(context.Context, string) (string, error) { return "", errors.New("closed") }}, `authorization at "https://login.test": closed`},
		{&AuthorizationCode{Authorize: func(context.Context, string) (string, error) { return "http://127.0.0.1:x/?code=s3cret", nil }}, "AuthorizationCode.Authorize returned a malformed URL"},
	} {
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = c.user }))
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestConfiguredClientIsNotRegistered(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.clients["known"] = ""
	user := w.user()
	text := `{"issuer":"https://login.test","client_id":"known","redirect_uri":"http://127.0.0.1/callback"}`
	require.NoError(t, json.Unmarshal([]byte(text), &user.Client))
	w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = user }))
	require.Equal(t, "known", w.issuer.lastForm().Get("client_id"))
}
