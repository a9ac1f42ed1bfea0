package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestAnAnswerThatIsNotTheIssuersToOurQuestionGetsNoToken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a url.Values)
		silent bool // the issuer does not promise to name itself
		want   string
	}{
		"another state":          {func(a url.Values) { a.Set("state", "x") }, false, "another question"},
		"no state":               {func(a url.Values) { a.Del("state") }, false, "another question"},
		"another issuer":         {func(a url.Values) { a.Set("iss", "https://evil.test") }, false, `it comes from "https://evil.test"`},
		"another, unpromised":    {func(a url.Values) { a.Set("iss", "https://evil.test") }, true, `it comes from "https://evil.test"`},
		"nearly the issuer":      {func(a url.Values) { a.Set("iss", issuerURL+"/") }, false, `it comes from "https://login.test/"`},
		"no issuer":              {func(a url.Values) { a.Del("iss") }, false, `it comes from ""`},
		"an empty issuer":        {func(a url.Values) { a.Set("iss", "") }, true, `it comes from ""`},
		"no code":                {func(a url.Values) { a.Del("code") }, false, "there is no code in it"},
		"an error":               {func(a url.Values) { a.Set("error", "server_error") }, false, `refuses: "server_error"`},
		"an error of an unnamed": {func(a url.Values) { a.Set("error", "a lure"); a.Set("iss", "https://evil.test") }, true, `it comes from "https://evil.test"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.issuer.meta.AuthorizationResponseIssParameterSupported = !c.silent
			w.issuer.answer = c.change
			_, err := w.post(t.Context(), w.transport(nil))
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "lure")
			require.Zero(t, w.count(askedToken))
		})
	}
	w := newWorld(t)
	w.server.hint = "use"
	w.issuer.meta.AuthorizationResponseIssParameterSupported = false
	w.issuer.answer = func(a url.Values) { a.Del("iss") }
	w.enters(w.transport(nil))
}

func TestAPageSaysWhatTheTokenIsFor(t *testing.T) {
	w := newWorld(t)
	w.server.about.ScopesSupported = []string{"use", "write"}
	w.issuer.meta.ScopesSupported = []string{"use", "offline_access"}
	var page *url.URL
	tr := w.transport(func(o *TransportOptions) {
		user := w.user()
		user.Authorize = func(ctx context.Context, p string) (string, error) {
			page, _ = url.Parse(p)
			return w.agree(ctx, p)
		}
		o.Grant = user
	})
	w.enters(tr)
	q := page.Query()
	require.Equal(t, "1", q.Get("tenant"), "what the endpoint has of its own stays")
	require.Equal(t, "code", q.Get("response_type"))
	require.Equal(t, "use write offline_access", q.Get("scope"))
	require.Equal(t, serverURL, q.Get("resource"))
	require.Equal(t, "S256", q.Get("code_challenge_method"))
	require.Equal(t, "http://127.0.0.1:7777/callback", q.Get("redirect_uri"))
	require.Greater(t, len(q.Get("state")), 20)
}

func TestAnIssuerThatRefusesResourcesIsToldOfNone(t *testing.T) {
	w := newWorld(t)
	w.server.hint, w.issuer.bare = "use", true
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, "invalid_target")
	tr := w.transport(func(o *TransportOptions) { o.OmitResource = true })
	w.enters(tr)
	w.issuer.refuse(false)
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedToken))
	require.Zero(t, w.count(askedAuthorize), "nor is it when a token is renewed")
}

func TestWithoutScopesToAskForNoneAre(t *testing.T) {
	w := newWorld(t)
	w.server.scopes = nil
	w.issuer.meta.ScopesSupported = []string{"offline_access"}
	user := w.user()
	user.Authorize = func(ctx context.Context, page string) (string, error) {
		require.NotContains(t, page, "scope")
		return w.agree(ctx, page)
	}
	w.enters(w.transport(func(o *TransportOptions) { o.Grant = user }))
	require.False(t, w.issuer.lastForm().Has("scope"))

	own := newWorld(t)
	own.enters(own.transport(func(o *TransportOptions) { o.Scopes = []string{"use"} }))
	own.server.hint = "use" // which goes before what the program would like
	own.enters(own.transport(func(o *TransportOptions) { o.Scopes = []string{"write"} }))
}

func TestAnIssuerThatTiesNoCodeToItsClientIsNotAsked(t *testing.T) {
	for _, methods := range [][]string{nil, {}, {"plain"}} {
		w := newWorld(t)
		w.issuer.meta.CodeChallengeMethodsSupported = methods
		_, err := w.post(t.Context(), w.transport(nil))
		require.ErrorContains(t, err, "S256 is needed (AuthorizationCode.AssumePKCE goes on regardless)")
		require.Zero(t, w.count(askedAuthorize)+w.count(askedRegister))
		w.server.hint = "use"
		w.enters(w.transport(func(o *TransportOptions) {
			user := w.user()
			user.AssumePKCE = true
			o.Grant = user
		}))
	}
	w := newWorld(t)
	w.issuer.meta.AuthorizationEndpoint = ""
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `issuer "https://login.test" has no authorization_endpoint`)
}

func TestHowAClientIsKnown(t *testing.T) {
	const document = "https://client.test/about.json"
	for name, c := range map[string]struct {
		change func(w *world, g *AuthorizationCode)
		id     string
		asks   int // to be registered
	}{
		"beforehand": {func(w *world, g *AuthorizationCode) {
			g.Client = &Registration{Issuer: issuerURL, ClientID: "known", ClientSecret: "s"}
			g.MetadataURL = document
			w.issuer.meta.ClientIDMetadataDocumentSupported = true
		}, "known", 0},
		"by a document": {func(w *world, g *AuthorizationCode) {
			g.MetadataURL = document
			w.issuer.meta.ClientIDMetadataDocumentSupported = true
		}, document, 0},
		"by a document that nobody reads": {func(_ *world, g *AuthorizationCode) { g.MetadataURL = document }, "", 1},
		"on the spot":                     {func(*world, *AuthorizationCode) {}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.server.hint = "use"
			user := w.user()
			c.change(w, user)
			w.issuer.clients[c.id] = ""
			tr := w.transport(func(o *TransportOptions) { o.Grant = user })
			w.enters(tr)
			w.issuer.refuse(true)
			w.enters(tr)
			require.Equal(t, c.asks, w.count(askedRegister))
			for _, q := range w.issuer.codes {
				if c.id != "" {
					require.Equal(t, c.id, q.Get("client_id"))
				}
			}
		})
	}
}

func TestADocumentAboutAClientHasAURLOfItsOwn(t *testing.T) {
	for _, document := range []string{"https://client.test", "https://client.test/", "http://client.test/about.json", "http://localhost/about.json", "about.json", "https://client.test/about.json#x", "https://ada:secret@client.test/about.json"} {
		w := newWorld(t)
		user := w.user()
		user.MetadataURL = document
		w.issuer.meta.ClientIDMetadataDocumentSupported = true
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = user }))
		require.ErrorContains(t, err, "AuthorizationCode.MetadataURL is no client id")
		require.Zero(t, w.count(askedAuthorize)+w.count(askedRegister), document)
	}
}

func TestAClientThatNoIssuerKnowsIsToldSo(t *testing.T) {
	w := newWorld(t)
	w.issuer.meta.RegistrationEndpoint = ""
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `"https://login.test": the issuer does not know this client, and registers none`)

	w = newWorld(t)
	_, err = w.post(t.Context(), w.transport(func(o *TransportOptions) {
		user := w.user()
		user.Client = &Registration{Issuer: "https://other.test", ClientID: "known", ClientSecret: "hidden"}
		o.Grant = user
	}))
	require.ErrorContains(t, err, `the server takes tokens of ["https://login.test"], the client is known to "https://other.test" only`)
	require.Zero(t, w.count(askedAuthorize)+w.count(askedToken))
}

func TestAUserIsNotLedToAnIssuerThatTheClientIsNotKnownTo(t *testing.T) {
	for issuer, want := range map[string]string{
		"":        "Registration.Issuer is missing",
		issuerURL: `the server takes tokens of ["https://mcp.test"], the client is known to "https://login.test" only`,
	} {
		w := newWorld(t)
		w.server.about, w.server.quiet = nil, true // as in 2025-03-26: the server's own tokens
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) {
			o.Grant = &AuthorizationCode{
				Client:      &Registration{Issuer: issuer, ClientID: "known"},
				RedirectURL: "http://127.0.0.1:7777/callback",
				Authorize: func(context.Context, string) (string, error) {
					t.Error("the user was led there")
					return "", errors.New("closed")
				},
			}
		}))
		require.ErrorContains(t, err, want)
	}
}

func TestARegistrationThatIsRefusedOrEmptyIsAnError(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"invalid_redirect_uri","error_description":"no","error_uri":"https://x"}`: `registration: https://login.test/register refuses: "invalid_redirect_uri" ("no"), see "https://x"`,
		`{}`:   `registration: POST "https://login.test/register": status 400`,
		`oops`: `registration: POST "https://login.test/register": status 400`,
	} {
		w := newWorld(t)
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
	for body, want := range map[string]string{`{}`: "there is no client id in the response", `[`: "registration at"} {
		w := newWorld(t)
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

func TestARegistrationThatTheIssuerHasForgottenIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &memory{}
	share := func(o *TransportOptions) { o.Store = store }
	tr := w.transport(share)
	w.enters(tr)
	for _, tr := range []*Transport{tr, w.transport(share)} {
		clear(w.issuer.clients)
		w.issuer.refuse(false)
		w.asked()
		w.enters(tr) // the renewal finds out
		require.Equal(t, 1, w.count(askedRegister))
	}
}

func TestAUserWhoIsNotSentBackDoesNotMeetTheSamePageForEver(t *testing.T) {
	for name, lost := range map[string]func(ctx context.Context, w *world, page string) (string, error){
		"an error page": func(ctx context.Context, _ *world, _ string) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		},
		"an error": func(ctx context.Context, w *world, page string) (string, error) { return w.agree(ctx, page) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.server.hint = "use"
				user := w.user()
				tr := w.transport(func(o *TransportOptions) { o.Grant = user })
				w.enters(tr)
				clear(w.issuer.clients) // without a word
				w.issuer.refuse(true)
				require.NoError(t, tr.Logout(t.Context()))
				user.Authorize = func(ctx context.Context, page string) (string, error) { return lost(ctx, w, page) }
				require.Error(t, tr.Login(t.Context()))
				user.Authorize = w.agree
				w.asked()
				require.NoError(t, tr.Login(t.Context()))
				require.Equal(t, 1, w.count(askedRegister))

				w.issuer.refuse(true)
				require.NoError(t, tr.Logout(t.Context()))
				w.issuer.answer = func(a url.Values) { a.Set("error", "access_denied") }
				require.Error(t, tr.Login(t.Context()))
				w.issuer.answer = nil
				require.NoError(t, tr.Login(t.Context()))
				require.Equal(t, 1, w.count(askedRegister), "the issuer has answered")
			})
		})
	}
}

func TestARegistrationThatHasExpiredOrIsForAnotherRedirectIsMadeAnew(t *testing.T) {
	for name, change := range map[string]func(*enrolled){
		"expired":          func(r *enrolled) { r.Expires = 1 },
		"another redirect": func(r *enrolled) { r.Redirect = "http://127.0.0.1:1/callback" },
		"another issuer":   func(r *enrolled) { r.Issuer = "https://other.test" },
		"nameless":         func(r *enrolled) { r.ClientID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.server.hint = "use"
			store := &memory{}
			share := func(o *TransportOptions) { o.Store = store }
			w.enters(w.transport(share))
			var r enrolled
			require.NoError(t, json.Unmarshal(store.values["client "+issuerURL], &r))
			change(&r)
			data, err := json.Marshal(r)
			require.NoError(t, err)
			store.values["client "+issuerURL] = data
			w.issuer.refuse(true)
			w.asked()
			w.enters(w.transport(share))
			require.Equal(t, 1, w.count(askedRegister))
		})
	}
}

func TestARegistrationSaysWhenItExpiresInOneWayOrAnother(t *testing.T) {
	for text, want := range map[string]seconds{
		`0`: 0, `1700000000`: 1.7e9, `1.7e9`: 1.7e9, `"1700000000"`: 1.7e9, `""`: 0, `null`: 0, `"never"`: 0, `{}`: 0, `"Inf"`: 0,
	} {
		r := enrolled{Registration: &Registration{}}
		require.NoError(t, json.Unmarshal([]byte(`{"client_id":"a","client_secret_expires_at":`+text+`}`), &r), text)
		require.Equal(t, want, r.Expires, text)
		data, err := json.Marshal(&r)
		require.NoError(t, err)
		again := enrolled{Registration: &Registration{}}
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, r, again)
	}
}

func TestAnIssuerThatTheServerHasLeftSeesNothingOfTheNext(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(func(o *TransportOptions) {
		user := w.user()
		user.MetadataURL = "https://client.test/about.json" // every issuer knows it
		o.Grant = user
	})
	w.issuer.meta.ClientIDMetadataDocumentSupported = true
	w.issuer.clients["https://client.test/about.json"] = ""
	w.enters(tr)
	next := w.found("next.test")
	next.meta.ClientIDMetadataDocumentSupported = true
	next.clients["https://client.test/about.json"] = ""
	next.tokens, w.server.issuer = w.issuer.tokens, next
	w.server.about.AuthorizationServers = []string{"https://next.test"}
	w.issuer.refuse(false)
	w.asked()
	w.enters(tr)
	log := w.asked()
	require.Contains(t, log, "POST next.test/token")
	require.NotContains(t, log, askedToken)
	require.Len(t, next.forms, 1)
	for _, f := range next.forms {
		require.NotEqual(t, "refresh_token", f.Get("grant_type"))
	}
}

func TestWhatAClientRegistersAs(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	w.issuer.meta.TokenEndpointAuthMethodsSupported = nil
	w.enters(w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{Authorize: w.agree, RedirectURL: "https://app.test/callback", HomePage: "https://app.test"}
	}))
	require.Equal(t, "web", w.issuer.registry[0]["application_type"])
	require.Equal(t, "https://app.test", w.issuer.registry[0]["client_uri"])
	require.Regexp(t, `^auth\.test`, w.issuer.registry[0]["client_name"])
	require.NotContains(t, w.issuer.registry[0], "token_endpoint_auth_method")
}

func TestAnOpenThatFailsIsAnError(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		user *AuthorizationCode
		want string
	}{
		{&AuthorizationCode{}, "AuthorizationCode has neither Open nor Authorize"},
		{&AuthorizationCode{Open: func(string) error { return errors.New("no screen") }}, "show a page: no screen"},
		{&AuthorizationCode{Open: func(string) error { panic("no screen") }}, "show a page: AuthorizationCode.Open panicked: no screen"},
		{&AuthorizationCode{Open: Browse, RedirectURL: "https://app.test/callback"}, `no user can be awaited at "https://app.test/callback"`},
		{&AuthorizationCode{Open: Browse, RedirectURL: "http://app.test/callback"}, `the user cannot be sent back: "http://app.test/callback" is without TLS`},
		{&AuthorizationCode{Authorize: w.agree, RedirectURL: "http://app.test/callback"}, `the user cannot be sent back: "http://app.test/callback" is without TLS`},
		{&AuthorizationCode{Authorize: w.agree, RedirectURL: "app://callback"}, `the user cannot be sent back: "app://callback" is no absolute URL of HTTP`},
		{&AuthorizationCode{Authorize: w.agree, RedirectURL: "/callback"}, `the user cannot be sent back: "/callback" is no absolute URL of HTTP`},
		{&AuthorizationCode{Authorize: func(context.Context, string) (string, error) { return "", errors.New("closed") }}, `consent of the user at "https://login.test": closed`},
		{&AuthorizationCode{Authorize: func(context.Context, string) (string, error) { return "http://127.0.0.1:x/?code=s3cret", nil }}, "where the user was sent back to is no URL"},
	} {
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = c.user }))
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestAClientThatTheProgramNamesIsNotRegisteredAnew(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	w.issuer.clients["known"] = ""
	user := w.user()
	text := `{"issuer":"https://login.test","client_id":"known","redirect_uri":"http://127.0.0.1/callback"}`
	require.NoError(t, json.Unmarshal([]byte(text), &user.Client))
	w.enters(w.transport(func(o *TransportOptions) { o.Grant = user }))
	require.Equal(t, "known", w.issuer.lastForm().Get("client_id"))
}
