package auth_test

import (
	"context"
	"crypto"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/auth"
)

func marshalJSON(v any) ([]byte, error) { return json.Marshal(v) }

// roundTripFunc is a function that implements [http.RoundTripper].
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// introspection returns a verifier whose endpoint always returns the same response.
func introspection(t *testing.T, status int, response string) auth.Verifier {
	t.Helper()
	verify, err := auth.Introspection(&auth.IntrospectionOptions{
		Endpoint: login + "/introspect", Client: auth.OAuthClient{ClientID: "mcp server", ClientSecret: "a:b%"}, Issuer: login,
		HTTPClient: &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			require.Equal(t, login+"/introspect", r.URL.String())
			w := httptest.NewRecorder()
			w.Header().Set("Location", "https://evil.example.com")
			w.WriteHeader(status)
			io.WriteString(w, response)
			return w.Result(), nil
		})},
	})
	require.NoError(t, err)
	return verify
}

func TestIntrospection(t *testing.T) {
	expiry := time.Unix(time.Now().Add(time.Hour).Unix(), 0)
	caller, err := introspection(t, 200, string(must(marshalJSON(map[string]any{
		"active": true, "sub": "ada", "client_id": "app", "aud": []string{resource}, "scope": "a b", "exp": expiry.Unix(), "tenant": json.Number("9007199254740993"),
	}))))(t.Context(), "opaque")
	require.NoError(t, err)
	require.Equal(t, json.Number("9007199254740993"), caller.Claims["tenant"])
	caller.Claims = nil
	require.Equal(t, &auth.Caller{
		Subject: "ada", Issuer: login, ClientID: "app", Audience: []string{resource}, Scopes: []string{"a", "b"}, Expiry: expiry,
	}, caller)
}

func TestIntrospectionUsername(t *testing.T) {
	for response, subject := range map[string]string{
		`{"active":true,"client_id":"app","username":"ada"}`:               "ada",
		`{"active":true,"client_id":"app","username":"ada","sub":""}`:      "ada",
		`{"active":true,"client_id":"app","username":"ada","sub":"f81d4"}`: "f81d4",
		`{"active":true,"client_id":"app"}`:                                "",
	} {
		caller, err := introspection(t, 200, response)(t.Context(), "opaque")
		require.NoError(t, err)
		require.Equal(t, subject, caller.Subject, response)
	}
}

func TestIntrospectionRequest(t *testing.T) {
	called := false
	verify, err := auth.Introspection(&auth.IntrospectionOptions{
		Endpoint: login + "/introspect", Client: auth.OAuthClient{ClientID: "mcp server", ClientSecret: "a:b%"}, Issuer: login,
		HTTPClient: &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			called = true
			user, password, ok := r.BasicAuth()
			require.True(t, ok)
			require.Equal(t, []string{"mcp+server", "a%3Ab%25"}, []string{user, password})
			require.NoError(t, r.ParseForm())
			require.Equal(t, http.MethodPost, r.Method)
			require.Equal(t, "a+/=", r.PostForm.Get("token"))
			require.Empty(t, r.URL.RawQuery)
			w := httptest.NewRecorder()
			io.WriteString(w, `{"active":false}`)
			return w.Result(), nil
		})},
	})
	require.NoError(t, err)
	_, err = verify(t.Context(), "a+/=")
	require.ErrorIs(t, err, auth.ErrInvalidToken)
	require.True(t, called)
}

func TestIntrospectionInvalidTokens(t *testing.T) {
	for response, invalid := range map[string]bool{
		`{"active":false,"sub":"ada"}`:                               true,
		`{"sub":"ada"}`:                                              true,
		`{"active":"true","sub":"ada"}`:                              true,
		`{"active":1,"sub":"ada"}`:                                   true,
		`{"active":true,"iss":"https://other.example.com"}`:          true,
		`{"active":true,"iss":["https://login.example.com"]}`:        true,
		`{"active":true,"iss":""}`:                                   true,
		`{"active":true,"sub":1001,"client_id":"app"}`:               true,
		`{"active":true,"sub":null,"client_id":"app"}`:               false,
		`{"active":true,"exp":"never"}`:                              true,
		`{"active":true,"exp":"NaN"}`:                                true,
		`{"active":true,"exp":"4102444800"}`:                         true,
		`{"active":true,"exp":-1}`:                                   true,
		`{"active":true,"exp":1e300}`:                                true,
		`{"active":true,"exp":null}`:                                 true,
		`null`:                                                       true,
		`{"active":true,"iss":"https://login.example.com"}`:          false,
		`{"active":true}`:                                            false,
		`{"active":true,"exp":` + "4102444800" + `,"sub":"someone"}`: false,
	} {
		_, err := introspection(t, 200, response)(t.Context(), "opaque")
		if invalid {
			require.ErrorIs(t, err, auth.ErrInvalidToken, response)
		} else {
			require.NoError(t, err, response)
		}
	}
}

func TestIntrospectionDoesNotSendTokensOfOtherIssuers(t *testing.T) {
	var sent []string
	verify, err := auth.Introspection(&auth.IntrospectionOptions{
		Endpoint: "https://partner.example.com/introspect", Client: auth.OAuthClient{ClientID: "a"}, Issuer: "https://partner.example.com",
		HTTPClient: &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.PostFormValue("token"))
			w := httptest.NewRecorder()
			io.WriteString(w, `{"active":false}`)
			return w.Result(), nil
		})},
	})
	require.NoError(t, err)
	caller, err := auth.AnyVerifier(verify, newIssuer(publicJWK("1", rsaKey(), nil)).verifier(t))(t.Context(), validToken())
	require.NoError(t, err)
	require.Equal(t, login, caller.Issuer)
	require.Empty(t, sent)

	partner := sign(jwt.SigningMethodRS256, otherRSA(), claims(map[string]any{"iss": "https://partner.example.com"}), nil)
	noIssuer := sign(jwt.SigningMethodRS256, otherRSA(), claims(map[string]any{"iss": nil}), nil)
	for _, token := range []string{"opaque", "a.b.c", partner, noIssuer} {
		_, err = verify(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	}
	require.Equal(t, []string{"opaque", "a.b.c", partner, noIssuer}, sent)
}

func TestIntrospectionErrors(t *testing.T) {
	for status, response := range map[int]string{
		200: "<html>", 302: `{"active":true}`, 401: `{"active":true}`, 500: `{"active":true}`, 203: `{"active":true}`,
	} {
		_, err := introspection(t, status, response)(t.Context(), "opaque")
		require.Error(t, err)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		require.NotContains(t, err.Error(), "opaque")
	}
	_, err := introspection(t, 400, `{"error":"invalid_token","error_description":"Access token expired: opaque"}`)(t.Context(), "opaque")
	require.EqualError(t, err, `introspect a token: https://login.example.com/introspect returned error "invalid_token" ("Access token expired: ...")`)
	_, err = introspection(t, 200, `{"active":true,"x":"`+strings.Repeat("a", 1<<20)+`"}`)(t.Context(), "opaque")
	require.ErrorContains(t, err, "longer than 1048576 bytes")
}

func TestIntrospectionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		verify, err := auth.Introspection(&auth.IntrospectionOptions{
			Endpoint: login, Client: auth.OAuthClient{ClientID: "a"}, Issuer: login,
			HTTPClient: &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})},
		})
		require.NoError(t, err)
		begin := time.Now()
		_, err = verify(t.Context(), "opaque")
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
	})
}

func TestIntrospectionOptionErrors(t *testing.T) {
	for want, opts := range map[string]*auth.IntrospectionOptions{
		`auth: introspection verifier: option Endpoint is required`:                                {Client: auth.OAuthClient{ClientID: "a"}, Issuer: login},
		`auth: introspection verifier: option Endpoint: "http://a.example/i" is a URL without TLS`: {Endpoint: "http://a.example/i", Client: auth.OAuthClient{ClientID: "a"}, Issuer: login},
		`auth: introspection verifier: option Issuer is required`:                                  {Endpoint: login, Client: auth.OAuthClient{ClientID: "a"}},
		`auth: introspection verifier: option Client.ClientID is required`:                         {Endpoint: login, Issuer: login},
	} {
		_, err := auth.Introspection(opts)
		require.ErrorContains(t, err, want)
	}
}

func TestIntrospectionWithPrivateKeyJWT(t *testing.T) {
	for alg, key := range map[string]crypto.Signer{"ES256": p256Key(), "PS256": rsaKey(), "EdDSA": edKey()} {
		verify, err := auth.Introspection(&auth.IntrospectionOptions{
			Endpoint: login + "/introspect", Issuer: login,
			Client: auth.OAuthClient{ClientID: "mcp", Key: key, KeyID: "k", SigningAlgorithm: alg},
			HTTPClient: &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				require.Empty(t, r.Header.Get("Authorization"))
				require.Equal(t, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", r.PostFormValue("client_assertion_type"))
				_, err := jwt.Parse(r.PostFormValue("client_assertion"), func(*jwt.Token) (any, error) { return key.Public(), nil },
					jwt.WithValidMethods([]string{alg}), jwt.WithAudience(login), jwt.WithIssuer("mcp"))
				require.NoError(t, err)
				w := httptest.NewRecorder()
				io.WriteString(w, `{"active":true,"sub":"ada"}`)
				return w.Result(), nil
			})},
		})
		require.NoError(t, err)
		_, err = verify(t.Context(), "opaque")
		require.NoError(t, err)
	}
	for want, client := range map[string]auth.OAuthClient{
		`option Client: registered at "https://other.example.com", not at "https://login.example.com"`: {ClientID: "a", Issuer: "https://other.example.com"},
		`cannot sign with algorithm "RS256"`: {ClientID: "a", Key: edKey(), SigningAlgorithm: "RS256"},
	} {
		_, err := auth.Introspection(&auth.IntrospectionOptions{Endpoint: login, Issuer: login, Client: client})
		require.ErrorContains(t, err, want)
	}
}

func TestIntrospectionIssuerDiffersByASlash(t *testing.T) {
	caller, err := introspection(t, 200, `{"active":true,"sub":"ada","iss":"https://login.example.com/"}`)(t.Context(), "opaque")
	require.NoError(t, err)
	require.Equal(t, login, caller.Issuer)
}
