package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

func TestClientCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string // supported by the issuer
		method  string   // of the client
		basic   string
		secret  string
	}{
		"default":    {nil, "", "cli%3Aent:s%2Bcret", ""},
		"basic":      {[]string{"client_secret_post", "client_secret_basic"}, "", "cli%3Aent:s%2Bcret", ""},
		"post":       {[]string{"client_secret_post"}, "", "", "s+cret"},
		"configured": {[]string{"client_secret_basic"}, "client_secret_post", "", "s+cret"},
		"none":       {nil, "none", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.server.challengeScope = "use"
			w.issuer.metadata.TokenEndpointAuthMethodsSupported = c.methods
			w.issuer.clients["cli:ent"] = ""
			grant := &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "cli:ent", ClientSecret: "s+cret", TokenEndpointAuthMethod: c.method}}
			w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = grant }))
			f := w.issuer.lastForm()
			require.Equal(t, "client_credentials", f.Get("grant_type"))
			require.Equal(t, "use", f.Get("scope"))
			require.Equal(t, serverURL, f.Get("resource"))
			require.Equal(t, c.basic, f.Get("basic"))
			require.Equal(t, c.secret, f.Get("client_secret"))
			w.issuer.revoke(false)
			w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = grant }))
		})
	}
}

func TestPrivateKeyJWT(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	for _, c := range []struct {
		key       crypto.Signer
		option    string
		supported []string
		alg       string
	}{
		{ec, "", nil, "ES256"}, {p384, "", nil, "ES384"}, {p521, "", nil, "ES512"}, {rs, "", nil, "RS256"}, {ed, "", nil, "EdDSA"},
		{rs, "PS256", nil, "PS256"}, {rs, "", []string{"ES256", "PS256"}, "PS256"}, {rs, "RS512", []string{"PS256"}, "RS512"},
		{rs, "", []string{"ES256"}, "RS256"}, {struct{ crypto.Signer }{p521}, "", nil, "ES512"}, {struct{ crypto.Signer }{rs}, "PS384", nil, "PS384"},
		{ed, "", []string{"RS256", "Ed25519"}, "Ed25519"},
	} {
		key, alg := c.key, c.alg
		w := newFakeNetwork(t)
		w.issuer.metadata.TokenEndpointAuthSigningAlgValuesSupported = c.supported
		registerEd25519()
		w.server.challengeScope = "use"
		w.issuer.clients["c"] = ""
		grant := &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c", Key: key, KeyID: "k1", SigningAlgorithm: c.option}}
		w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = grant }))
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
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	w := newFakeNetwork(t)
	_, err = w.post(t.Context(), w.transport(func(o *TransportOptions) {
		o.Grant = &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c", Key: p224}}
	}))
	require.ErrorContains(t, err, `client assertion of "c": unsupported key`)
}

func TestSecretIsOnlySentToItsIssuer(t *testing.T) {
	assert := func(context.Context, *TokenRequest) (string, error) { return "x", nil }
	for _, grant := range []Grant{
		&ClientCredentials{Client: OAuthClient{ClientID: "c", ClientSecret: "s"}},
		&Assertion{Client: OAuthClient{ClientID: "c"}, Assert: assert},
	} {
		w := newFakeNetwork(t)
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
		require.ErrorIs(t, err, errNoIssuer)
		require.Zero(t, w.count(tokenRequest))
	}
	req := &TokenRequest{AuthorizationServer: &AuthorizationServerMetadata{Issuer: issuerURL, TokenEndpoint: issuerURL + "/token"}, fetcher: &fetcher{}}
	_, err := req.Send(t.Context(), &OAuthClient{Issuer: "https://other.test", ClientID: "c"}, url.Values{})
	require.ErrorContains(t, err, `client "c" is registered at "https://other.test", not at "https://login.test"`)
	_, err = req.Send(t.Context(), &OAuthClient{Issuer: issuerURL, ClientID: "c", TokenEndpointAuthMethod: "tls"}, url.Values{})
	require.ErrorContains(t, err, `unsupported auth method "tls"`)
}

func TestTokenEndpointRedirectIsNotFollowed(t *testing.T) {
	w := newFakeNetwork(t)
	w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
		rw.Header().Set("Location", "https://evil.test/token")
		rw.WriteHeader(http.StatusTemporaryRedirect)
		return true
	}
	evil := w.newIssuer("evil.test")
	_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) {
		o.Grant = &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c", ClientSecret: "s", TokenEndpointAuthMethod: "client_secret_post"}}
	}))
	require.ErrorContains(t, err, "status 307")
	require.Empty(t, evil.forms)
}

func TestAssertionWithIDJAG(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.clients["c"], w.issuer.clients["idp-client"] = "", ""
	idp := w.newIssuer("idp.test")
	idp.tokenHandler = func(rw http.ResponseWriter, f url.Values) bool {
		_ = json.NewEncoder(rw).Encode(map[string]string{"access_token": "jag for " + f.Get("audience"), "issued_token_type": f.Get("requested_token_type"), "token_type": "N_A"})
		return true
	}
	provider := &IDJAG{
		TokenEndpoint: "https://idp.test/token",
		Client:        OAuthClient{Issuer: "https://idp.test", ClientID: "idp-client", ClientSecret: "hs"},
		IDToken:       func(context.Context) (string, error) { return "ada", nil },
	}
	grant := &Assertion{Client: OAuthClient{Issuer: issuerURL, ClientID: "c"}, Assert: provider.Assert}
	w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = grant }))
	f := idp.lastForm()
	require.Equal(t, "urn:ietf:params:oauth:grant-type:token-exchange", f.Get("grant_type"))
	require.Equal(t, "urn:ietf:params:oauth:token-type:id-jag", f.Get("requested_token_type"))
	require.Equal(t, "ada", f.Get("subject_token"))
	require.Equal(t, serverURL, f.Get("resource"))
	require.Equal(t, "idp-client:hs", f.Get("basic"))
	f = w.issuer.lastForm()
	require.Equal(t, "urn:ietf:params:oauth:grant-type:jwt-bearer", f.Get("grant_type"))
	require.Equal(t, "jag for "+issuerURL, f.Get("assertion"))

	for want, change := range map[string]func(){
		"identity token: not logged in": func() {
			provider.IDToken = func(context.Context) (string, error) { return "", errors.New("not logged in") }
		},
		"IDJAG.IDToken is required":    func() { provider.IDToken = nil },
		"Assertion.Assert is required": func() { grant.Assert = nil },
	} {
		change()
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
		require.ErrorContains(t, err, want)
		provider.IDToken = func(context.Context) (string, error) { return "ada", nil }
		grant.Assert = provider.Assert
	}
	idp.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
		_, _ = io.WriteString(rw, `{"access_token":"for the provider only","issued_token_type":"x"}`)
		return true
	}
	requests := len(w.issuer.forms)
	_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
	require.ErrorContains(t, err, `issued_token_type is "x"`)
	require.Len(t, w.issuer.forms, requests)
}

func TestParseToken(t *testing.T) {
	for body, want := range map[string]string{
		``:                    "unexpected end of JSON",
		`{}`:                  "no access_token in the response",
		`{"access_token":""}`: "no access_token in the response",
		`{"access_token":"a","token_type":"DPoP"}`: `unsupported token_type "DPoP"`,
		`{"access_token":true}`:                    "cannot unmarshal",
	} {
		_, err := parseToken("https://login.test/token", []byte(body), false)
		require.ErrorContains(t, err, want, body)
		require.ErrorContains(t, err, `token of "https://login.test/token"`)
	}
	_, err := parseToken("https://login.test/token", []byte(`{"error":"bad_verification_code"}`), false)
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
		token, err := parseToken("", []byte(body), false)
		require.NoError(t, err, body)
		require.Equal(t, "Bearer", token.TokenType)
		require.Equal(t, life == 0, token.Expiry.IsZero(), body)
		if life != 0 {
			require.InDelta(t, life, time.Until(token.Expiry), float64(time.Second), body)
		}
	}
}

func TestRegistrationWithUnsupportedAuthMethod(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.hosts["login.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/register" {
			w.issuer.clients["c"] = ""
			_, _ = io.WriteString(rw, `{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}`)
			return
		}
		w.issuer.ServeHTTP(rw, r)
	})
	store := &memoryStore{}
	_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Store = store }))
	require.ErrorContains(t, err, `client assertion of "c": OAuthClient.Key is required`)
	require.Empty(t, store.values, "an unusable client must not be saved")
}

func TestTokenParams(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope, w.issuer.rejectResource = "use", true
	w.issuer.clients["c"] = ""
	grant := &ClientCredentials{
		Client:      OAuthClient{Issuer: issuerURL, ClientID: "c", ClientSecret: "s"},
		TokenParams: url.Values{"audience": {"https://api.test"}, "resource": nil},
	}
	w.mustPost(w.transport(func(o *TransportOptions) { o.Grant = grant }))
	f := w.issuer.lastForm()
	require.Equal(t, "https://api.test", f.Get("audience"))
	require.False(t, f.Has("resource"))
	require.Equal(t, "client_credentials", f.Get("grant_type"))
}

func TestTokenWithLineBreakIsRefused(t *testing.T) {
	for _, token := range []string{"a\nb", "a\rb", "a\x00", "a\u0085", "\u00e9"} {
		w := newFakeNetwork(t)
		w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
			_ = json.NewEncoder(rw).Encode(map[string]any{"access_token": token, "token_type": "Bearer"})
			return true
		}
		_, err := w.post(t.Context(), w.transport(nil))
		require.ErrorContains(t, err, `token of "https://login.test/token": access token contains a line break or another invalid character`)
		own := grantFunc(func() (*oauth2.Token, error) { return &oauth2.Token{AccessToken: token}, nil })
		_, err = w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = own }))
		require.ErrorIs(t, err, errTokenText)
	}
}

func TestClientCredentialsRetryAfterTemporaryFailures(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"status 503": func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusServiceUnavailable) },
		"status 429": func(rw http.ResponseWriter) {
			rw.Header().Set("Retry-After", "2")
			rw.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeNetwork(t)
				w.server.challengeScope = "use"
				w.issuer.clients["c"] = ""
				tr := w.transport(func(o *TransportOptions) {
					o.Grant = &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c", ClientSecret: "s"}}
				})
				w.mustPost(tr)
				down := time.Now().Add(3 * time.Second)
				w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
					if time.Now().Before(down) {
						fail(rw)
						return true
					}
					return false
				}
				w.issuer.revoke(true)
				w.takeLog()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				status, err := w.post(ctx, tr)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, status)
				require.LessOrEqual(t, w.count(tokenRequest), 6)

				// A request with an earlier deadline fails, and the next one tries again at once.
				down = time.Now().Add(3 * time.Second)
				w.issuer.revoke(true)
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err = w.post(ctx, tr)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, name)
				w.mustPost(tr)
			})
		})
	}
}

func TestClientCredentialsRetryIfTheIssuerIsDown(t *testing.T) {
	var dials int
	down := true
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	w.issuer.clients["c"] = ""
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c", ClientSecret: "s"}}
		o.HTTPClient = &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "login.test" && down {
				dials++
				down = dials < 3
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			return w.RoundTrip(r)
		})}
	})
	w.mustPost(tr)
	require.Equal(t, 3, dials)
}

func TestRefusedClientCredentialsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(rw, `{"error":"invalid_client"}`)
			return true
		}
		tr := w.transport(func(o *TransportOptions) {
			o.Grant = &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c", ClientSecret: "s"}}
		})
		_, err := w.post(t.Context(), tr)
		require.ErrorContains(t, err, "invalid_client")
		_, err = w.post(t.Context(), tr)
		require.ErrorContains(t, err, "no retry before")
		require.Equal(t, 1, w.count(tokenRequest))
	})
}

func TestTemporaryFailureDoesNotAskTheUserAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		tr := w.transport(nil)
		_, err := w.post(t.Context(), tr)
		require.ErrorContains(t, err, "status 503")
		_, err = w.post(t.Context(), tr)
		require.ErrorContains(t, err, "no retry before")
		require.Equal(t, 1, w.count(authorizeRequest))
	})
}

func TestTemporaryErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for err, want := range map[error]bool{
		refused:                                                    true,
		fmt.Errorf("wrapped: %w", refused):                         true,
		io.ErrUnexpectedEOF:                                        true,
		&net.DNSError{IsNotFound: true}:                            false,
		&net.DNSError{IsTimeout: true}:                             true,
		&net.OpError{Op: "dial", Err: errNotPublic}:                false,
		&net.OpError{Op: "remote error", Err: errors.New("tls")}:   false,
		&tls.CertificateVerificationError{Err: errors.New("x509")}: false,
		errors.New("other"):                                        false,
		context.Canceled:                                           false,
	} {
		require.Equal(t, want, isTemporary(err), "%v", err)
	}
}
