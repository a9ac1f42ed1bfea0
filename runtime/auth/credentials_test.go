package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

func TestAProgramGetsInOnItsOwnAccount(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string // that the issuer takes
		method  string   // that the registration says
		basic   string
		secret  string
	}{
		"as by default":     {nil, "", "cli%3Aent:s%2Bcret", ""},
		"in the header":     {[]string{"client_secret_post", "client_secret_basic"}, "", "cli%3Aent:s%2Bcret", ""},
		"in the form":       {[]string{"client_secret_post"}, "", "", "s+cret"},
		"as it was told to": {[]string{"client_secret_basic"}, "client_secret_post", "", "s+cret"},
		"not at all":        {nil, "none", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.server.hint = "use"
			w.issuer.meta.TokenEndpointAuthMethodsSupported = c.methods
			w.issuer.clients["cli:ent"] = ""
			grant := &ClientCredentials{Client: Registration{Issuer: issuerURL, ClientID: "cli:ent", ClientSecret: "s+cret", Method: c.method}}
			w.enters(w.transport(func(o *TransportOptions) { o.Grant = grant }))
			f := w.issuer.lastForm()
			require.Equal(t, "client_credentials", f.Get("grant_type"))
			require.Equal(t, "use", f.Get("scope"))
			require.Equal(t, serverURL, f.Get("resource"))
			require.Equal(t, c.basic, f.Get("basic"))
			require.Equal(t, c.secret, f.Get("client_secret"))
			w.issuer.refuse(false)
			w.enters(w.transport(func(o *TransportOptions) { o.Grant = grant }))
		})
	}
}

func TestAProgramProvesWhoItIsWithAKey(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for alg, key := range map[string]crypto.Signer{"ES256": ec, "RS256": rs, "EdDSA": ed} {
		w := newWorld(t)
		w.server.hint = "use"
		w.issuer.clients["c"] = ""
		grant := &ClientCredentials{Client: Registration{Issuer: issuerURL, ClientID: "c", Key: key, KeyID: "k1"}}
		w.enters(w.transport(func(o *TransportOptions) { o.Grant = grant }))
		f := w.issuer.lastForm()
		require.Equal(t, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", f.Get("client_assertion_type"))
		proof, err := jwt.Parse(f.Get("client_assertion"), func(*jwt.Token) (any, error) { return key.Public(), nil },
			jwt.WithValidMethods([]string{alg}), jwt.WithAudience(issuerURL), jwt.WithIssuer("c"), jwt.WithSubject("c"), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
		require.NoError(t, err)
		require.Equal(t, "k1", proof.Header["kid"])
		require.NotEmpty(t, proof.Claims.(jwt.MapClaims)["jti"])
		end, err := proof.Claims.GetExpirationTime()
		require.NoError(t, err)
		require.LessOrEqual(t, time.Until(end.Time), 5*time.Minute)
	}
	strange, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	w := newWorld(t)
	_, err = w.post(t.Context(), w.transport(func(o *TransportOptions) {
		o.Grant = &ClientCredentials{Client: Registration{Issuer: issuerURL, ClientID: "c", Key: strange}}
	}))
	require.ErrorContains(t, err, `proof that the client is "c": no method to sign`)
}

func TestASecretGoesToItsIssuerOnly(t *testing.T) {
	vouch := func(context.Context, *Need) (string, error) { return "x", nil }
	for _, grant := range []Grant{
		&ClientCredentials{Client: Registration{ClientID: "c", ClientSecret: "s"}},
		&Assertion{Client: Registration{ClientID: "c"}, Assert: vouch},
	} {
		w := newWorld(t)
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
		require.ErrorIs(t, err, errNoIssuer)
		require.Zero(t, w.count(askedToken))
	}
	need := &Need{Server: &ServerMetadata{Issuer: issuerURL, TokenEndpoint: issuerURL + "/token"}, fetch: &fetcher{}}
	_, err := need.Exchange(t.Context(), &Registration{Issuer: "https://other.test", ClientID: "c"}, url.Values{})
	require.ErrorContains(t, err, `client "c" is known to "https://other.test", not to "https://login.test"`)
	_, err = need.Exchange(t.Context(), &Registration{Issuer: issuerURL, ClientID: "c", Method: "tls"}, url.Values{})
	require.ErrorContains(t, err, `method "tls" is none of this package's`)
}

func TestASecretIsNotTakenAlongByARedirect(t *testing.T) {
	w := newWorld(t)
	w.issuer.token = func(rw http.ResponseWriter, _ url.Values) bool {
		rw.Header().Set("Location", "https://evil.test/token")
		rw.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	evil := w.found("evil.test")
	_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) {
		o.Grant = &ClientCredentials{Client: Registration{Issuer: issuerURL, ClientID: "c", ClientSecret: "s", Method: "client_secret_post"}}
	}))
	require.ErrorContains(t, err, "status 307")
	require.Empty(t, evil.forms)
}

func TestSomebodyVouchesForAProgram(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	w.issuer.clients["c"], w.issuer.clients["at-home"] = "", ""
	home := w.found("idp.test")
	home.token = func(rw http.ResponseWriter, f url.Values) bool {
		_ = json.NewEncoder(rw).Encode(map[string]string{"access_token": "jag for " + f.Get("audience"), "issued_token_type": f.Get("requested_token_type"), "token_type": "N_A"})
		return true
	}
	provider := &IDJAG{
		TokenEndpoint: "https://idp.test/token",
		Client:        Registration{Issuer: "https://idp.test", ClientID: "at-home", ClientSecret: "hs"},
		IDToken:       func(context.Context) (string, error) { return "ada", nil },
	}
	grant := &Assertion{Client: Registration{Issuer: issuerURL, ClientID: "c"}, Assert: provider.Assert}
	w.enters(w.transport(func(o *TransportOptions) { o.Grant = grant }))
	f := home.lastForm()
	require.Equal(t, "urn:ietf:params:oauth:grant-type:token-exchange", f.Get("grant_type"))
	require.Equal(t, "urn:ietf:params:oauth:token-type:id-jag", f.Get("requested_token_type"))
	require.Equal(t, "ada", f.Get("subject_token"))
	require.Equal(t, serverURL, f.Get("resource"))
	require.Equal(t, "at-home:hs", f.Get("basic"))
	f = w.issuer.lastForm()
	require.Equal(t, "urn:ietf:params:oauth:grant-type:jwt-bearer", f.Get("grant_type"))
	require.Equal(t, "jag for "+issuerURL, f.Get("assertion"))

	for want, change := range map[string]func(){
		"identity token: not logged in": func() {
			provider.IDToken = func(context.Context) (string, error) { return "", errors.New("not logged in") }
		},
		"IDJAG.IDToken is missing":    func() { provider.IDToken = nil },
		"Assertion.Assert is missing": func() { grant.Assert = nil },
	} {
		change()
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
		require.ErrorContains(t, err, want)
		provider.IDToken = func(context.Context) (string, error) { return "ada", nil }
		grant.Assert = provider.Assert
	}
	home.token = func(rw http.ResponseWriter, _ url.Values) bool {
		_, _ = io.WriteString(rw, `{"access_token":"for the provider only","issued_token_type":"x"}`)
		return true
	}
	asked := len(w.issuer.forms)
	_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
	require.ErrorContains(t, err, `it has issued "x", which is no statement`)
	require.Len(t, w.issuer.forms, asked)
}

func TestWhatATokenEndpointSays(t *testing.T) {
	for body, want := range map[string]string{
		``:                    "unexpected end of JSON",
		`{}`:                  "there is none in the response",
		`{"access_token":""}`: "there is none in the response",
		`{"access_token":"a","token_type":"DPoP"}`: `its type is "DPoP"`,
		`{"access_token":true}`:                    "cannot unmarshal",
	} {
		_, err := parseToken("https://login.test/token", []byte(body))
		require.ErrorContains(t, err, want, body)
		require.ErrorContains(t, err, `token of "https://login.test/token"`)
	}
	_, err := parseToken("https://login.test/token", []byte(`{"error":"bad_verification_code"}`))
	require.Equal(t, &Error{Endpoint: "https://login.test/token", Code: "bad_verification_code"}, err)
	for body, life := range map[string]time.Duration{
		`{"access_token":"a"}`:                       0,
		`{"access_token":"a","expires_in":60}`:       time.Minute,
		`{"access_token":"a","expires_in":"60"}`:     time.Minute,
		`{"access_token":"a","expires_in":59.6}`:     time.Minute,
		`{"access_token":"a","expires_in":-5}`:       0,
		`{"access_token":"a","expires_in":""}`:       0,
		`{"access_token":"a","expires_in":"soon"}`:   0,
		`{"access_token":"a","expires_in":"NaN"}`:    0,
		`{"access_token":"a","expires_in":true}`:     0,
		`{"access_token":"a","expires_in":null}`:     0,
		`{"access_token":"a","expires_in":1e300}`:    0,
		`{"access_token":"a","token_type":"BEARER"}`: 0,
	} {
		token, err := parseToken("", []byte(body))
		require.NoError(t, err, body)
		require.Equal(t, "Bearer", token.TokenType)
		require.Equal(t, life == 0, token.Expiry.IsZero(), body)
		if life != 0 {
			require.InDelta(t, life, time.Until(token.Expiry), float64(time.Second), body)
		}
	}
}

func TestAnIssuerThatWantsProofsOfAClientWithoutAKeyGetsNone(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	w.hosts["login.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/register" {
			w.issuer.clients["c"] = ""
			_, _ = io.WriteString(rw, `{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}`)
			return
		}
		w.issuer.ServeHTTP(rw, r)
	})
	store := &memory{}
	_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Store = store }))
	require.ErrorContains(t, err, `proof that the client is "c": Registration.Key is missing`)
	require.Empty(t, store.values, "nobody could use it")
}
