package auth_test

import (
	"context"
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

func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// introspection returns a verifier that hears the same about every token.
func introspection(t *testing.T, status int, answer string) auth.Verifier {
	t.Helper()
	verify, err := auth.Introspection(auth.IntrospectionOptions{
		URL: login + "/introspect", ClientID: "mcp server", ClientSecret: "a:b%", Issuer: login,
		Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			require.Equal(t, login+"/introspect", r.URL.String())
			w := httptest.NewRecorder()
			w.Header().Set("Location", "https://evil.example.com")
			w.WriteHeader(status)
			io.WriteString(w, answer)
			return w.Result(), nil
		})},
	})
	require.NoError(t, err)
	return verify
}

func TestTheIssuerTellsAboutATokenThatSaysNothing(t *testing.T) {
	expiry := time.Unix(time.Now().Add(time.Hour).Unix(), 0)
	caller, err := introspection(t, 200, string(must(jsonOf(map[string]any{
		"active": true, "sub": "ada", "client_id": "app", "aud": []string{resource}, "scope": "a b", "exp": expiry.Unix(), "tenant": json.Number("9007199254740993"),
	}))))(t.Context(), "opaque")
	require.NoError(t, err)
	require.Equal(t, json.Number("9007199254740993"), caller.Claims["tenant"])
	caller.Claims = nil
	require.Equal(t, &auth.Caller{
		Subject: "ada", Issuer: login, ClientID: "app", Audience: []string{resource}, Scopes: []string{"a", "b"}, Expiry: expiry,
	}, caller)
}

func TestUsersOfOneClientAreToldApart(t *testing.T) {
	for answer, subject := range map[string]string{
		`{"active":true,"client_id":"app","username":"ada"}`:               "ada",
		`{"active":true,"client_id":"app","username":"ada","sub":""}`:      "ada",
		`{"active":true,"client_id":"app","username":"ada","sub":"f81d4"}`: "f81d4",
		`{"active":true,"client_id":"app"}`:                                "",
	} {
		caller, err := introspection(t, 200, answer)(t.Context(), "opaque")
		require.NoError(t, err)
		require.Equal(t, subject, caller.Subject, answer)
	}
}

func TestTheServerNamesItselfToTheIssuer(t *testing.T) {
	asked := false
	verify, err := auth.Introspection(auth.IntrospectionOptions{
		URL: login + "/introspect", ClientID: "mcp server", ClientSecret: "a:b%", Issuer: login,
		Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = true
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
	require.True(t, asked)
}

func TestOnlyAnActiveTokenOfTheIssuerIsValid(t *testing.T) {
	for answer, invalid := range map[string]bool{
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
		_, err := introspection(t, 200, answer)(t.Context(), "opaque")
		if invalid {
			require.ErrorIs(t, err, auth.ErrInvalidToken, answer)
		} else {
			require.NoError(t, err, answer)
		}
	}
}

func TestATokenOfSomebodyElseIsShownToNobody(t *testing.T) {
	var asked []string
	verify, err := auth.Introspection(auth.IntrospectionOptions{
		URL: "https://partner.example.com/introspect", ClientID: "a", Issuer: "https://partner.example.com",
		Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.PostFormValue("token"))
			w := httptest.NewRecorder()
			io.WriteString(w, `{"active":false}`)
			return w.Result(), nil
		})},
	})
	require.NoError(t, err)
	caller, err := auth.Any(verify, at(published("1", rsaKey(), nil)).verifier(t))(t.Context(), good())
	require.NoError(t, err)
	require.Equal(t, login, caller.Issuer)
	require.Empty(t, asked)

	ours := sign(jwt.SigningMethodRS256, otherRSA(), claims(map[string]any{"iss": "https://partner.example.com"}), nil)
	nobodys := sign(jwt.SigningMethodRS256, otherRSA(), claims(map[string]any{"iss": nil}), nil)
	for _, token := range []string{"opaque", "a.b.c", ours, nobodys} {
		_, err = verify(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	}
	require.Equal(t, []string{"opaque", "a.b.c", ours, nobodys}, asked)
}

func TestAnIssuerThatCannotTellIsTroubleOfTheServer(t *testing.T) {
	for status, answer := range map[int]string{
		200: "<html>", 302: `{"active":true}`, 401: `{"active":true}`, 500: `{"active":true}`, 203: `{"active":true}`,
	} {
		_, err := introspection(t, status, answer)(t.Context(), "opaque")
		require.Error(t, err)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		require.NotContains(t, err.Error(), "opaque")
	}
	_, err := introspection(t, 400, `{"error":"invalid_token","error_description":"Access token expired: opaque"}`)(t.Context(), "opaque")
	require.EqualError(t, err, `introspect a token: https://login.example.com/introspect refuses: "invalid_token" ("Access token expired: ...")`)
	_, err = introspection(t, 200, `{"active":true,"x":"`+strings.Repeat("a", 1<<20)+`"}`)(t.Context(), "opaque")
	require.ErrorContains(t, err, "longer than 1048576 bytes")
}

func TestAnIssuerIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		verify, err := auth.Introspection(auth.IntrospectionOptions{
			URL: login, ClientID: "a", Issuer: login,
			Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
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

func TestIntrospectionRefusesOptionsThatCannotBeMeant(t *testing.T) {
	for want, opts := range map[string]auth.IntrospectionOptions{
		`introspect tokens: option URL: "" is`:                            {ClientID: "a", Issuer: login},
		`introspect tokens: option URL: "http://a.example/i" is`:          {URL: "http://a.example/i", ClientID: "a", Issuer: login},
		`introspect tokens: option Issuer: "" is`:                         {URL: login, ClientID: "a"},
		`introspect tokens: option ClientID is empty: an issuer does not`: {URL: login, Issuer: login},
	} {
		_, err := auth.Introspection(opts)
		require.ErrorContains(t, err, want)
	}
}
