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

// signed is a token that is all right but for the id of its key.
func signed(id string) string {
	return sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"kid": id})
}

func TestKeysAreFetchedOnceForAllWhoWait(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := at(published("1", rsaKey(), nil))
		i.wait = make(chan struct{})
		verify := i.verifier(t)
		token := good()
		verdicts := make(chan error)
		for range 100 {
			go func() { // ends when its verdict is received
				_, err := verify(t.Context(), token)
				verdicts <- err
			}()
		}
		hasty, cancel := context.WithCancelCause(t.Context())
		go func() { // the same
			_, err := verify(hasty, token)
			verdicts <- err
		}()
		synctest.Wait()
		cancel(errors.New("gone"))
		err := <-verdicts
		require.ErrorContains(t, err, "gone")
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		close(i.wait)
		for range 100 {
			require.NoError(t, <-verdicts)
		}
		require.Equal(t, 1, i.times(keysURL))
	})
}

func TestAFetchOutlivesTheRequestThatBeganIt(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := at(published("1", rsaKey(), nil))
		i.wait = make(chan struct{})
		verify := i.verifier(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := verify(ctx, good())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(i.wait)
		synctest.Wait()
		_, err = verify(t.Context(), good())
		require.NoError(t, err)
		require.Equal(t, 1, i.times(keysURL))
	})
}

func TestStrangersCannotMakeTheServerAskForKeys(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := at(published("1", rsaKey(), nil))
		verify := i.verifier(t)
		_, err := verify(t.Context(), good())
		require.NoError(t, err)
		unknown := func(n int) {
			for k := range n {
				_, err := verify(t.Context(), raw(fmt.Sprintf(`{"alg":"RS256","kid":"unknown %d"}`, k), claims(nil), unsigned))
				require.ErrorIs(t, err, auth.ErrInvalidToken)
			}
		}
		unknown(500)
		require.Equal(t, 1, i.times(keysURL), "right after a fetch")
		time.Sleep(10 * time.Second)
		unknown(500)
		require.Equal(t, 2, i.times(keysURL))
		for range 60 {
			time.Sleep(time.Second)
			unknown(17)
		}
		require.Equal(t, 8, i.times(keysURL))
		other := sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"iss": "https://a.example"}), map[string]any{"kid": "2"})
		time.Sleep(10 * time.Second)
		_, err = verify(t.Context(), other)
		require.ErrorIs(t, err, auth.ErrInvalidToken)
		_, err = verify(t.Context(), raw(`{"alg":"HS256","kid":"2"}`, claims(nil), unsigned))
		require.ErrorIs(t, err, auth.ErrInvalidToken)
		require.Equal(t, 8, i.times(keysURL), "tokens that no key could make valid")
	})
}

func TestNewKeysAreFoundAndOldOnesForgotten(t *testing.T) {
	for _, key := range []crypto.Signer{rsaKey(), otherRSA()} {
		require.NotNil(t, key)
	}
	synctest.Test(t, func(t *testing.T) {
		i := at(published("1", rsaKey(), nil))
		verify := i.verifier(t)
		old := func() string { return good() }
		fresh := func() string {
			return sign(jwt.SigningMethodRS256, otherRSA(), claims(nil), map[string]any{"kid": "2"})
		}
		_, err := verify(t.Context(), old())
		require.NoError(t, err)
		i.publish(published("2", otherRSA(), nil))
		_, err = verify(t.Context(), fresh())
		require.ErrorIs(t, err, auth.ErrInvalidToken, "keys were asked for a moment ago")
		time.Sleep(10 * time.Second)
		_, err = verify(t.Context(), fresh())
		require.NoError(t, err)
		_, err = verify(t.Context(), old())
		require.ErrorIs(t, err, auth.ErrInvalidToken)

		i.publish(published("3", rsaKey(), nil)) // and nobody uses it
		time.Sleep(10 * time.Minute)
		_, err = verify(t.Context(), fresh())
		require.NoError(t, err, "while the keys are fetched anew")
		synctest.Wait()
		_, err = verify(t.Context(), fresh())
		require.ErrorIs(t, err, auth.ErrInvalidToken)
	})
}

func TestKeysServeForAWhileWhereTheIssuerIsDown(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		i := at(published("1", rsaKey(), nil))
		verify := i.verifier(t, func(o *auth.JWTOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		_, err := verify(t.Context(), good())
		require.NoError(t, err)
		require.Empty(t, log.String())
		i.fail(errDown)
		for range 59 {
			time.Sleep(time.Minute)
			_, err = verify(t.Context(), good())
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Contains(t, log.String(), "level=WARN")
		require.Contains(t, log.String(), login)
		_, err = verify(t.Context(), signed("2"))
		require.ErrorIs(t, err, errDown, "a key that may be there")
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		time.Sleep(time.Minute)
		_, err = verify(t.Context(), good())
		require.ErrorIs(t, err, errDown)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		i.fail(nil)
		_, err = verify(t.Context(), good())
		require.ErrorIs(t, err, errDown, "it was asked a moment ago")
		time.Sleep(10 * time.Second)
		_, err = verify(t.Context(), good())
		require.NoError(t, err)
	})
}

func TestAnIssuerThatDoesNotAnswerIsTrouble(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		i := at(published("1", rsaKey(), nil))
		i.wait = make(chan struct{})
		verify := i.verifier(t)
		begin := time.Now()
		_, err := verify(t.Context(), good())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, auth.ErrInvalidToken)
		require.Equal(t, 10*time.Second, time.Since(begin))
		close(i.wait)
		synctest.Wait()
	})
}

func TestKeysThatCannotBeReadAreTroubleOfTheServer(t *testing.T) {
	rsaKey()
	many := strings.TrimSuffix(strings.Repeat(string(must(jsonOf(published("1", rsaKey(), nil))))+",", 101), ",")
	for name, c := range map[string]struct{ document, err string }{
		"ten megabytes":  {`{"keys":[],"x":"` + strings.Repeat("a", 10<<20) + `"}`, "longer than 1048576 bytes"},
		"101 keys":       {`{"keys":[` + many + `]}`, "101 keys are more than 100"},
		"no keys":        {`{"keys":[]}`, "none of 0 keys"},
		"nothing":        {``, "unexpected end"},
		"no object":      {`[]`, "cannot unmarshal"},
		"HTML":           {`<html>`, "invalid character"},
		"secrets":        {`{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"1"}]}`, "none of 1 keys"},
		"a redirect":     {"-> " + login + "/elsewhere", "status 302"},
		"deep":           {strings.Repeat(`{"keys":[`, 20000), "exceeded max depth"},
		"a kind of null": {`{"keys":[null,1,"a",{}]}`, "none of 4 keys"},
	} {
		t.Run(name, func(t *testing.T) {
			i := at()
			i.set(keysURL, c.document)
			i.set(login+"/elsewhere", `{"keys":[]}`)
			_, err := i.verifier(t)(t.Context(), good())
			require.ErrorContains(t, err, c.err)
			require.NotErrorIs(t, err, auth.ErrInvalidToken)
			require.Less(t, len(err.Error()), 500)
			require.Zero(t, i.times(login+"/elsewhere"))
		})
	}
}

func TestAFetchThatDoesNotEndIsTheOnlyOne(t *testing.T) {
	rsaKey()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		var asked atomic.Int32
		verify, err := auth.JWT(auth.JWTOptions{
			Issuer: login, JWKS: keysURL, Logger: slog.New(slog.DiscardHandler),
			Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				asked.Add(1)
				<-stuck
				return nil, errDown
			})},
		})
		require.NoError(t, err)
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := verify(ctx, good())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		require.EqualValues(t, 1, asked.Load())
		close(stuck)
		synctest.Wait()
	})
}

func TestAPanicOfTheTransportEndsNothing(t *testing.T) {
	verify, err := auth.JWT(auth.JWTOptions{Issuer: login, Client: &http.Client{Transport: panics{}}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	_, err = verify(t.Context(), good())
	require.ErrorContains(t, err, "what fetches keys panicked: oh")
}

type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("oh") }

func TestOnlyGoodKeysOfASetAreUsed(t *testing.T) {
	weak := map[string]any{"kty": "RSA", "kid": "1", "n": b64(bytes.Repeat([]byte{0xff}, 128)), "e": "AQAB"}
	huge := map[string]any{"kty": "RSA", "kid": "1", "n": b64(bytes.Repeat([]byte{0xff}, 4096)), "e": "AQAB"}
	even := published("1", rsaKey(), map[string]any{"e": "BA"})
	one := published("1", rsaKey(), map[string]any{"e": "AQ"})
	none := published("1", rsaKey(), map[string]any{"e": ""})
	long := published("1", rsaKey(), map[string]any{"e": b64([]byte{1, 0, 0, 0, 1})})
	off := published("1", p256Key(), map[string]any{"y": b64(make([]byte, 32))})
	short := published("1", p256Key(), map[string]any{"y": "AA"})
	crossed := published("1", p256Key(), map[string]any{"crv": "P-384"})
	curve := published("1", p256Key(), map[string]any{"crv": "P-224"})
	edge := published("1", edKey(), map[string]any{"x": "AA"})
	x25519 := published("1", edKey(), map[string]any{"crv": "X25519"})
	coded := published("1", rsaKey(), map[string]any{"n": "!"})
	typed := published("1", rsaKey(), map[string]any{"kid": 1})
	secret := published("1", rsaKey(), map[string]any{"alg": "HS256"})
	for n, bad := range []map[string]any{weak, huge, even, one, none, long, off, short, crossed, curve, edge, x25519, coded, typed, secret} {
		_, err := at(bad).verifier(t)(t.Context(), good())
		require.ErrorContains(t, err, "none of 1 keys can be used", n)
		_, err = at(bad, published("1", rsaKey(), map[string]any{"use": "sig", "key_ops": []string{"verify"}, "alg": "RS256"})).verifier(t)(t.Context(), good())
		require.NoError(t, err, n)
	}
}

func TestTheKeysAreWhereTheIssuerSays(t *testing.T) {
	keys := `{"keys":[` + string(must(jsonOf(published("1", rsaKey(), nil)))) + `]}`
	describe := func(issuer, keys string) string { return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys) }
	const deep = login + "/tenant/a"
	for name, c := range map[string]struct {
		issuer    string
		documents map[string]string
		err       string
	}{
		"in the metadata of OAuth":   {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, keysURL)}, ""},
		"in those of OpenID":         {login, map[string]string{login + "/.well-known/openid-configuration": describe(login, keysURL)}, ""},
		"with a slash":               {login + "/", map[string]string{login + "/.well-known/openid-configuration": describe(login+"/", keysURL)}, ""},
		"behind a path, OAuth":       {deep, map[string]string{login + "/.well-known/oauth-authorization-server/tenant/a": describe(deep, keysURL)}, ""},
		"behind a path, OpenID":      {deep, map[string]string{login + "/.well-known/openid-configuration/tenant/a": describe(deep, keysURL)}, ""},
		"behind a path, old OpenID":  {deep, map[string]string{deep + "/.well-known/openid-configuration": describe(deep, keysURL)}, ""},
		"in the second place":        {login, map[string]string{login + "/.well-known/oauth-authorization-server": "<html>", login + "/.well-known/openid-configuration": describe(login, keysURL)}, ""},
		"nowhere":                    {login, nil, "status 404"},
		"in another's":               {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe("https://evil.example.com", keysURL)}, `it is about "https://evil.example.com"`},
		"in those with a slash":      {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login+"/", keysURL)}, `it is about "https://login.example.com/"`},
		"in those of a tenant":       {deep, map[string]string{login + "/.well-known/oauth-authorization-server": describe(deep, keysURL)}, "status 404"},
		"nowhere in the metadata":    {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, "")}, `no jwks_uri`},
		"in the clear":               {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, "http://login.example.com/keys")}, "without TLS"},
		"in a file":                  {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, "file:///etc/passwd")}, "is no absolute URL of HTTP"},
		"behind a redirect":          {login, map[string]string{login + "/.well-known/oauth-authorization-server": "-> " + login + "/x", login + "/x": describe(login, keysURL)}, "status 302"},
		"nowhere in ten megabytes":   {login, map[string]string{login + "/.well-known/oauth-authorization-server": describe(login, keysURL) + strings.Repeat(" ", 10<<20)}, "longer than 1048576 bytes"},
		"where the options say they": {login, map[string]string{"options": keysURL}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := &issuer{documents: map[string]string{keysURL: keys}}
			for url, document := range c.documents {
				i.set(url, document)
			}
			verify := i.verifier(t, func(o *auth.JWTOptions) { o.Issuer, o.JWKS = c.issuer, c.documents["options"] })
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
