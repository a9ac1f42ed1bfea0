package auth_test

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/auth"
)

const keysURL = login + "/keys"

// tokenWithKeyID returns a token that is valid if the issuer has a key with this id.
func tokenWithKeyID(id string) string {
	return sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"kid": id})
}

func TestKeysAreFetchedOnce(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		i.gate = make(chan struct{})
		verify := i.verifier(t)
		token := validToken()
		results := make(chan error)
		for range 100 {
			go func() { // ends when its result is received
				_, err := verify(t.Context(), token)
				results <- err
			}()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { // ends when its result is received
			_, err := verify(ctx, token)
			results <- err
		}()
		synctest.Wait()
		cancel(errors.New("gone"))
		err := <-results
		require.ErrorContains(t, err, "gone")
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		close(i.gate)
		for range 100 {
			require.NoError(t, <-results)
		}
		require.Equal(t, 1, i.count(keysURL))
	})
}

func TestKeyFetchContinuesAfterRequestEnds(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		i.gate = make(chan struct{})
		verify := i.verifier(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := verify(ctx, validToken())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(i.gate)
		synctest.Wait()
		_, err = verify(t.Context(), validToken())
		require.NoError(t, err)
		require.Equal(t, 1, i.count(keysURL))
	})
}

func TestKeyFetchesAreLimited(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		verify := i.verifier(t)
		_, err := verify(t.Context(), validToken())
		require.NoError(t, err)
		unknown := func(n int) {
			for k := range n {
				_, err := verify(t.Context(), rawToken(fmt.Sprintf(`{"alg":"RS256","kid":"unknown %d"}`, k), claims(nil), noSignature))
				require.Error(t, err)
			}
		}
		unknown(500)
		require.Equal(t, 1, i.count(keysURL), "within five seconds of the last fetch")
		time.Sleep(5 * time.Second)
		unknown(500)
		require.Equal(t, 2, i.count(keysURL))
		for range 60 {
			time.Sleep(time.Second)
			unknown(17)
		}
		require.Equal(t, 14, i.count(keysURL))
		other := sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"iss": "https://a.example"}), map[string]any{"kid": "2"})
		time.Sleep(10 * time.Second)
		_, err = verify(t.Context(), other)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
		_, err = verify(t.Context(), rawToken(`{"alg":"HS256","kid":"2"}`, claims(nil), noSignature))
		require.ErrorIs(t, err, auth.ErrInvalidToken)
		require.Equal(t, 14, i.count(keysURL), "these tokens are invalid with any key")
	})
}

func TestKeyRotation(t *testing.T) {
	for _, key := range []crypto.Signer{rsaKey(), otherRSA()} {
		require.NotNil(t, key)
	}
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		verify := i.verifier(t)
		old := func() string { return validToken() }
		fresh := func() string {
			return sign(jwt.SigningMethodRS256, otherRSA(), claims(nil), map[string]any{"kid": "2"})
		}
		_, err := verify(t.Context(), old())
		require.NoError(t, err)
		i.publish(publicJWK("2", otherRSA(), nil))
		time.Sleep(time.Second)
		_, err = verify(t.Context(), fresh())
		require.ErrorContains(t, err, `issuer had no key "2" for RS256`)
		require.NotErrorIs(t, err, auth.ErrInvalidToken, "within ten seconds of the last fetch the issuer may have published the key")
		time.Sleep(9 * time.Second)
		_, err = verify(t.Context(), fresh())
		require.NoError(t, err)
		_, err = verify(t.Context(), old())
		require.ErrorIs(t, err, auth.ErrInvalidToken)

		i.publish(publicJWK("3", rsaKey(), nil)) // no token uses this key
		time.Sleep(10 * time.Minute)
		_, err = verify(t.Context(), fresh())
		require.NoError(t, err, "the old keys are used during the fetch")
		synctest.Wait()
		_, err = verify(t.Context(), fresh())
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	})
}

func TestKeysAreUsedWhileIssuerIsDown(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		verify := i.verifier(t, func(o *auth.JWTOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		_, err := verify(t.Context(), validToken())
		require.NoError(t, err)
		require.Empty(t, log.String())
		i.fail(errDown)
		for range 59 {
			time.Sleep(time.Minute)
			_, err = verify(t.Context(), validToken())
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Contains(t, log.String(), "level=WARN")
		require.Contains(t, log.String(), login)
		_, err = verify(t.Context(), tokenWithKeyID("2"))
		require.ErrorIs(t, err, errDown, "the issuer may have this key")
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		time.Sleep(time.Minute)
		_, err = verify(t.Context(), validToken())
		require.ErrorIs(t, err, errDown)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		i.fail(nil)
		_, err = verify(t.Context(), validToken())
		require.ErrorIs(t, err, errDown, "within ten seconds of the last fetch")
		time.Sleep(10 * time.Second)
		_, err = verify(t.Context(), validToken())
		require.NoError(t, err)
	})
}

func TestKeyFetchTimeout(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		i.gate = make(chan struct{})
		verify := i.verifier(t)
		begin := time.Now()
		_, err := verify(t.Context(), validToken())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		require.Equal(t, 10*time.Second, time.Since(begin))
		close(i.gate)
		synctest.Wait()
	})
}

func TestMalformedKeySets(t *testing.T) {
	rsaKey()
	many := strings.TrimSuffix(strings.Repeat(string(must(marshalJSON(publicJWK("1", rsaKey(), nil))))+",", 101), ",")
	for name, c := range map[string]struct{ document, err string }{
		"ten megabytes":  {`{"keys":[],"x":"` + strings.Repeat("a", 10<<20) + `"}`, "longer than 1048576 bytes"},
		"101 keys":       {`{"keys":[` + many + `]}`, "101 keys exceed the limit of 100"},
		"no keys":        {`{"keys":[]}`, "none of 0 keys"},
		"empty":          {``, "unexpected end"},
		"array":          {`[]`, "cannot unmarshal"},
		"HTML":           {`<html>`, "invalid character"},
		"symmetric key":  {`{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"1"}]}`, "none of 1 keys"},
		"redirect":       {"-> " + login + "/elsewhere", "status 302"},
		"deep nesting":   {strings.Repeat(`{"keys":[`, 20000), "exceeded max depth"},
		"malformed keys": {`{"keys":[null,1,"a",{}]}`, "none of 4 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer()
			i.set(keysURL, c.document)
			i.set(login+"/elsewhere", `{"keys":[]}`)
			_, err := i.verifier(t)(t.Context(), validToken())
			require.ErrorContains(t, err, c.err)
			require.NotErrorIs(t, err, auth.ErrInvalidToken)
			require.Less(t, len(err.Error()), 500)
			require.Zero(t, i.count(login+"/elsewhere"))
		})
	}
}

func TestHangingKeyFetchIsNotRepeated(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		var requests atomic.Int32
		verify, err := auth.JWT(&auth.JWTOptions{
			Issuer: login, JWKSURI: keysURL, Logger: slog.New(slog.DiscardHandler),
			HTTPClient: &http.Client{Transport: roundTripFunc(func(*http.Request) (*http.Response, error) {
				requests.Add(1)
				<-block
				return nil, errDown
			})},
		})
		require.NoError(t, err)
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := verify(ctx, validToken())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		require.EqualValues(t, 1, requests.Load())
		close(block)
		synctest.Wait()
	})
}

func TestKeyFetchPanic(t *testing.T) {
	verify, err := auth.JWT(&auth.JWTOptions{Issuer: login, HTTPClient: &http.Client{Transport: panickingTransport{}}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = verify(t.Context(), validToken())
	require.ErrorContains(t, err, "fetching keys panicked: oh")
}

type panickingTransport struct{}

func (panickingTransport) RoundTrip(*http.Request) (*http.Response, error) { panic("oh") }

func TestUnusableKeysAreSkipped(t *testing.T) {
	weak := map[string]any{"kty": "RSA", "kid": "1", "n": b64(bytes.Repeat([]byte{0xff}, 128)), "e": "AQAB"}
	huge := map[string]any{"kty": "RSA", "kid": "1", "n": b64(bytes.Repeat([]byte{0xff}, 4096)), "e": "AQAB"}
	even := publicJWK("1", rsaKey(), map[string]any{"e": "BA"})
	one := publicJWK("1", rsaKey(), map[string]any{"e": "AQ"})
	none := publicJWK("1", rsaKey(), map[string]any{"e": ""})
	long := publicJWK("1", rsaKey(), map[string]any{"e": b64([]byte{1, 0, 0, 0, 1})})
	off := publicJWK("1", p256Key(), map[string]any{"y": b64(make([]byte, 32))})
	short := publicJWK("1", p256Key(), map[string]any{"y": "AA"})
	crossed := publicJWK("1", p256Key(), map[string]any{"crv": "P-384"})
	curve := publicJWK("1", p256Key(), map[string]any{"crv": "P-224"})
	edge := publicJWK("1", edKey(), map[string]any{"x": "AA"})
	x25519 := publicJWK("1", edKey(), map[string]any{"crv": "X25519"})
	coded := publicJWK("1", rsaKey(), map[string]any{"n": "!"})
	typed := publicJWK("1", rsaKey(), map[string]any{"kid": 1})
	secret := publicJWK("1", rsaKey(), map[string]any{"alg": "HS256"})
	for n, bad := range []map[string]any{weak, huge, even, one, none, long, off, short, crossed, curve, edge, x25519, coded, typed, secret} {
		_, err := newIssuer(bad).verifier(t)(t.Context(), validToken())
		require.ErrorContains(t, err, "none of 1 keys is usable", n)
		_, err = newIssuer(bad, publicJWK("1", rsaKey(), map[string]any{"use": "sig", "key_ops": []string{"verify"}, "alg": "RS256"})).verifier(t)(t.Context(), validToken())
		require.NoError(t, err, n)
	}
}

func TestKeyDiscovery(t *testing.T) {
	keys := `{"keys":[` + string(must(marshalJSON(publicJWK("1", rsaKey(), nil)))) + `]}`
	describe := func(issuer, keys string) string { return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys) }
	const deep = login + "/tenant/a"
	for name, c := range map[string]struct {
		issuer    string
		documents map[string]string
		err       string
	}{
		"OAuth metadata":                {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, keysURL)}, ""},
		"OpenID metadata":               {login, map[string]string{login + "/.well-known/openid-configuration": describe(login, keysURL)}, ""},
		"issuer with slash":             {login + "/", map[string]string{login + "/.well-known/openid-configuration": describe(login+"/", keysURL)}, ""},
		"OAuth metadata with path":      {deep, map[string]string{login + "/.well-known/oauth-authorization-server/tenant/a": describe(deep, keysURL)}, ""},
		"OpenID metadata with path":     {deep, map[string]string{login + "/.well-known/openid-configuration/tenant/a": describe(deep, keysURL)}, ""},
		"OpenID metadata below path":    {deep, map[string]string{deep + "/.well-known/openid-configuration": describe(deep, keysURL)}, ""},
		"HTML at the first URL":         {login, map[string]string{login + "/.well-known/oauth-authorization-server": "<html>", login + "/.well-known/openid-configuration": describe(login, keysURL)}, ""},
		"no metadata":                   {login, nil, "status 404"},
		"metadata of other issuer":      {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe("https://evil.example.com", keysURL)}, `issuer is "https://evil.example.com"`},
		"metadata of issuer with slash": {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login+"/", keysURL)}, ""},
		"issuer with slash after path":  {deep + "/", map[string]string{login + "/.well-known/oauth-authorization-server/tenant/a": describe(deep, keysURL)}, `issuer is "` + deep + `"`},
		"metadata of tenant at root":    {deep, map[string]string{login + "/.well-known/oauth-authorization-server": describe(deep, keysURL)}, "status 404"},
		"no jwks_uri":                   {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, "")}, `no jwks_uri`},
		"http":                          {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, "http://login.example.com/keys")}, "without TLS"},
		"file":                          {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, "file:///etc/passwd")}, "is not an absolute HTTP URL"},
		"redirect":                      {login, map[string]string{login + "/.well-known/oauth-authorization-server": "-> " + login + "/x", login + "/x": describe(login, keysURL)}, "status 302"},
		"ten megabytes":                 {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, keysURL) + strings.Repeat(" ", 10<<20)}, "longer than 1048576 bytes"},
		"option JWKSURI":                {login, map[string]string{"options": keysURL}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := &fakeIssuer{documents: map[string]string{keysURL: keys}}
			for url, document := range c.documents {
				i.set(url, document)
			}
			verify := i.verifier(t, func(o *auth.JWTOptions) { o.Issuer, o.JWKSURI = c.issuer, c.documents["options"] })
			_, err := verify(t.Context(), sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"iss": c.issuer}), nil))
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.err)
			require.NotErrorIs(t, err, auth.ErrInvalidToken)
		})
	}
}

func TestGuardRespondsWith503AfterKeyRotation(t *testing.T) {
	for _, key := range []crypto.Signer{rsaKey(), otherRSA()} {
		require.NotNil(t, key)
	}
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(publicJWK("1", rsaKey(), nil))
		opts := guardOptions(i.verifier(t))
		res, _ := send(t, opts, "/mcp", "Bearer "+validToken())
		require.Equal(t, http.StatusOK, res.StatusCode)
		i.publish(publicJWK("2", otherRSA(), nil))
		fresh := sign(jwt.SigningMethodRS256, otherRSA(), claims(nil), map[string]any{"kid": "2"})
		time.Sleep(3500 * time.Millisecond)
		res, _ = send(t, opts, "/mcp", "Bearer "+fresh)
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
		require.Equal(t, "2", res.Header.Get("Retry-After"))
		require.Empty(t, res.Header.Get("WWW-Authenticate"), "the client must not ask its user")
		time.Sleep(2 * time.Second)
		res, called := send(t, opts, "/mcp", "Bearer "+fresh)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.True(t, called)
	})
}
