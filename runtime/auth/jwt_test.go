package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/auth"
)

// fakeIssuer is an authorization server in memory: an [http.RoundTripper] that serves its
// documents. It is safe for concurrent use.
type fakeIssuer struct {
	mu        sync.Mutex
	documents map[string]string // by URL
	requests  []string
	gate      chan struct{} // responses wait until it is closed, nil is no wait
	failure   error
}

// newIssuer returns an issuer with these keys, and with metadata that contain their URL.
func newIssuer(keys ...map[string]any) *fakeIssuer {
	i := &fakeIssuer{documents: map[string]string{
		login + "/.well-known/oauth-authorization-server": fmt.Sprintf(`{"issuer":%q,"jwks_uri":"%s/keys"}`, login, login),
	}}
	i.publish(keys...)
	return i
}

func (i *fakeIssuer) publish(keys ...map[string]any) {
	data, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	i.set(login+"/keys", string(data))
}

func (i *fakeIssuer) set(url, document string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.documents[url] = document
}

func (i *fakeIssuer) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failure = err
}

// count returns the number of requests for a URL.
func (i *fakeIssuer) count(url string) (n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.requests {
		if a == url {
			n++
		}
	}
	return n
}

// RoundTrip implements [http.RoundTripper].
func (i *fakeIssuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.requests = append(i.requests, r.URL.String())
	wait := i.gate
	i.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	document, known := i.documents[r.URL.String()]
	res := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(document)), Header: http.Header{}, Request: r}
	switch to, redirect := strings.CutPrefix(document, "-> "); {
	case i.failure != nil:
		return nil, i.failure
	case !known:
		res.StatusCode = http.StatusNotFound
	case redirect:
		res.StatusCode = http.StatusFound
		res.Header.Set("Location", to)
	}
	return res, nil
}

// verifier returns a verifier of the tokens of the issuer.
func (i *fakeIssuer) verifier(t *testing.T, change ...func(*auth.JWTOptions)) auth.Verifier {
	t.Helper()
	opts := &auth.JWTOptions{Issuer: login, HTTPClient: &http.Client{Transport: i}, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(opts)
	}
	verify, err := auth.JWT(opts)
	require.NoError(t, err)
	return verify
}

// Keys for tests.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p256Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edKey    = sync.OnceValue(func() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, 32)) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// publicJWK returns the JSON Web Key of a public key, with further members.
func publicJWK(id string, key crypto.Signer, more map[string]any) map[string]any {
	var k map[string]any
	switch key := key.Public().(type) {
	case *rsa.PublicKey:
		k = map[string]any{"kty": "RSA", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes())}
	case *ecdsa.PublicKey:
		point := must(key.Bytes())[1:]
		k = map[string]any{"kty": "EC", "crv": key.Params().Name, "x": b64(point[:len(point)/2]), "y": b64(point[len(point)/2:])}
	case ed25519.PublicKey:
		k = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(key)}
	}
	k["kid"] = id
	maps.Copy(k, more)
	return k
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// claims returns valid claims of ada with changes. A nil value deletes a claim.
func claims(change map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": login, "sub": "ada", "client_id": "app", "aud": resource, "scope": "mcp:use files:read",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// sign returns a signed token. A nil value in header deletes a member of the header.
func sign(method jwt.SigningMethod, key any, c jwt.MapClaims, header map[string]any) string {
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "1"
	maps.Copy(token.Header, header)
	maps.DeleteFunc(token.Header, func(_ string, v any) bool { return v == nil })
	return must(token.SignedString(key))
}

// validToken returns a valid token.
func validToken() string { return sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), nil) }

func TestJWTCaller(t *testing.T) {
	expiry := time.Unix(time.Now().Add(time.Hour).Unix(), 0)
	for name, c := range map[string]struct {
		claims map[string]any
		want   func(*auth.Caller)
	}{
		"default":            {nil, func(*auth.Caller) {}},
		"several audiences":  {map[string]any{"aud": []string{"a", resource}}, func(c *auth.Caller) { c.Audience = []string{"a", resource} }},
		"no audience":        {map[string]any{"aud": nil}, func(c *auth.Caller) { c.Audience = nil }},
		"malformed audience": {map[string]any{"aud": []any{1, nil, "a"}}, func(c *auth.Caller) { c.Audience = []string{"a"} }},
		"scp":                {map[string]any{"scope": nil, "scp": "a b"}, func(c *auth.Caller) { c.Scopes = []string{"a", "b"} }},
		"scp as a list":      {map[string]any{"scope": nil, "scp": []string{"a", "b"}}, func(c *auth.Caller) { c.Scopes = []string{"a", "b"} }},
		"scope and scp":      {map[string]any{"scope": "a b", "scp": []string{"b", "c"}}, func(c *auth.Caller) { c.Scopes = []string{"a", "b", "c"} }},
		"no scope":           {map[string]any{"scope": nil}, func(c *auth.Caller) { c.Scopes = nil }},
		"malformed scope":    {map[string]any{"scope": 1}, func(c *auth.Caller) { c.Scopes = nil }},
		"azp":                {map[string]any{"client_id": nil, "azp": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"client_id, not azp": {map[string]any{"azp": "other"}, func(*auth.Caller) {}},
		"numeric client_id":  {map[string]any{"client_id": 1, "azp": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"appid":              {map[string]any{"client_id": nil, "appid": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"cid":                {map[string]any{"client_id": nil, "cid": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"client_id, not cid": {map[string]any{"appid": "1", "cid": "2"}, func(*auth.Caller) {}},
		"azp, not cid":       {map[string]any{"client_id": nil, "azp": "other", "appid": "1", "cid": "2"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"cid, no subject":    {map[string]any{"sub": nil, "client_id": nil, "appid": "1", "cid": "2"}, func(c *auth.Caller) { c.Subject, c.ClientID = "", "" }},
		"no subject":         {map[string]any{"sub": nil}, func(c *auth.Caller) { c.Subject = "" }},
		"no expiry":          {map[string]any{"exp": nil}, func(c *auth.Caller) { c.Expiry = time.Time{} }},
		"large number":       {map[string]any{"tenant": json.Number("9007199254740993")}, func(*auth.Caller) {}},
	} {
		t.Run(name, func(t *testing.T) {
			all := claims(c.claims)
			if all["exp"] != nil {
				all["exp"] = expiry.Unix()
			}
			caller, err := newIssuer(publicJWK("1", rsaKey(), nil)).verifier(t)(t.Context(), sign(jwt.SigningMethodRS256, rsaKey(), all, nil))
			require.NoError(t, err)
			require.Len(t, caller.Claims, len(all))
			if c.claims["tenant"] != nil {
				require.Equal(t, json.Number("9007199254740993"), caller.Claims["tenant"])
			}
			want := &auth.Caller{
				Subject: "ada", Issuer: login, ClientID: "app", Audience: []string{resource}, Scopes: []string{"mcp:use", "files:read"},
				Expiry: expiry.Add(30 * time.Second), Claims: caller.Claims,
			}
			c.want(want)
			require.Equal(t, want, caller)
		})
	}
}

func TestIssuerOfTokenDiffersByASlash(t *testing.T) {
	for _, named := range []string{login, login + "/"} {
		for _, issuer := range []string{login, login + "/"} {
			verify := newIssuer(publicJWK("1", rsaKey(), nil)).verifier(t, func(o *auth.JWTOptions) { o.Issuer = issuer })
			caller, err := verify(t.Context(), sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"iss": named}), nil))
			require.NoError(t, err)
			require.Equal(t, issuer, caller.Issuer, "principals do not depend on the slash")
		}
	}
}

func TestJWTAlgorithms(t *testing.T) {
	verify := newIssuer(publicJWK("rsa", rsaKey(), nil), publicJWK("p256", p256Key(), nil), publicJWK("p384", p384Key(), nil),
		publicJWK("p521", p521Key(), nil), publicJWK("ed", edKey(), map[string]any{"alg": "Ed25519"})).verifier(t)
	for method, key := range map[jwt.SigningMethod]crypto.Signer{
		jwt.SigningMethodRS256: rsaKey(), jwt.SigningMethodRS384: rsaKey(), jwt.SigningMethodRS512: rsaKey(),
		jwt.SigningMethodPS256: rsaKey(), jwt.SigningMethodPS384: rsaKey(), jwt.SigningMethodPS512: rsaKey(),
		jwt.SigningMethodES256: p256Key(), jwt.SigningMethodES384: p384Key(), jwt.SigningMethodES512: p521Key(),
		jwt.SigningMethodEdDSA: edKey(), jwt.GetSigningMethod("Ed25519"): edKey(),
	} {
		_, err := verify(t.Context(), sign(method, key, claims(nil), map[string]any{"kid": nil}))
		require.NoError(t, err, method.Alg())
	}
}

// rawToken returns a token with any header and signature.
func rawToken(header string, c jwt.MapClaims, signature func(signed string) []byte) string {
	signed := b64([]byte(header)) + "." + b64(must(json.Marshal(c)))
	return signed + "." + b64(signature(signed))
}

func noSignature(string) []byte { return nil }

// hmacWith returns the signature of an attacker who uses the public key as secret of an
// HMAC algorithm.
func hmacWith(form []byte) func(string) []byte {
	return func(signed string) []byte {
		mac := hmac.New(sha256.New, form)
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
}

func TestInvalidJWTs(t *testing.T) {
	der := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own := map[string]any{"jwk": publicJWK("1", otherRSA(), nil), "jku": "https://evil.example.com/keys", "x5u": "https://evil.example.com/cert"}
	rs256 := jwt.SigningMethodRS256
	flipped := []byte(validToken())
	flipped[len(flipped)-10] ^= 1
	padded := []byte(validToken()) // the text of 256 bytes has 4 padding bits
	padded[len(padded)-1]++
	parts := strings.Split(validToken(), ".")
	mallory := strings.Split(sign(rs256, otherRSA(), claims(map[string]any{"sub": "mallory"}), nil), ".")
	for name, token := range map[string]string{
		"alg none":                  rawToken(`{"alg":"none","kid":"1"}`, claims(nil), noSignature),
		"alg None":                  rawToken(`{"alg":"None","kid":"1"}`, claims(nil), noSignature),
		"alg none, signed":          sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil), nil),
		"no alg":                    rawToken(`{"kid":"1"}`, claims(nil), noSignature),
		"numeric alg":               rawToken(`{"alg":1,"kid":"1"}`, claims(nil), noSignature),
		"two algs":                  rawToken(`{"alg":"RS256","alg":"none","kid":"1"}`, claims(nil), noSignature),
		"HS256 with the public DER": rawToken(`{"alg":"HS256","kid":"1"}`, claims(nil), hmacWith(der)),
		"HS256 with the public PEM": rawToken(`{"alg":"HS256","kid":"1"}`, claims(nil), hmacWith(asPEM)),
		"HS256 with the modulus":    rawToken(`{"alg":"HS256","kid":"1"}`, claims(nil), hmacWith(rsaKey().N.Bytes())),
		"HS256 with empty secret":   rawToken(`{"alg":"HS256","kid":"1"}`, claims(nil), hmacWith(nil)),
		"RS256 without a signature": rawToken(`{"alg":"RS256","kid":"1"}`, claims(nil), noSignature),
		"algorithm of other key":    sign(jwt.SigningMethodES256, p256Key(), claims(nil), nil),
		"other key":                 sign(rs256, otherRSA(), claims(nil), nil),
		"other key, no kid":         sign(rs256, otherRSA(), claims(nil), map[string]any{"kid": nil}),
		"own key in header":         sign(rs256, otherRSA(), claims(nil), own),
		"own key in header, no kid": sign(rs256, otherRSA(), claims(nil), map[string]any{"kid": nil, "jwk": own["jwk"], "jku": own["jku"]}),
		"unknown kid":               sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "2"}),
		"kid with path":             sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "../1"}),
		"kid of type list":          sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": []string{"1"}}),
		"key for encryption":        sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "enc"}),
		"key without verify":        sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "ops"}),
		"key for PS256":             sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "ps"}),
		"crit":                      sign(rs256, rsaKey(), claims(nil), map[string]any{"crit": []string{"b64"}, "b64": false}),
		"crit null":                 sign(rs256, rsaKey(), claims(nil), map[string]any{"crit": json.RawMessage("null")}),
		"other typ":                 sign(rs256, rsaKey(), claims(nil), map[string]any{"typ": "logout+jwt"}),
		"numeric typ":               sign(rs256, rsaKey(), claims(nil), map[string]any{"typ": 1}),
		"other issuer":              sign(rs256, rsaKey(), claims(map[string]any{"iss": "https://other.example.com"}), nil),
		"issuer with two slashes":   sign(rs256, rsaKey(), claims(map[string]any{"iss": login + "//"}), nil),
		"list of issuers":           sign(rs256, rsaKey(), claims(map[string]any{"iss": []string{login}}), nil),
		"no issuer":                 sign(rs256, rsaKey(), claims(map[string]any{"iss": nil}), nil),
		"numeric subject":           sign(rs256, rsaKey(), claims(map[string]any{"sub": 1001}), nil),
		"list of subjects":          sign(rs256, rsaKey(), claims(map[string]any{"sub": []string{"ada"}}), nil),
		"expired":                   sign(rs256, rsaKey(), claims(map[string]any{"exp": time.Now().Add(-31 * time.Second).Unix()}), nil),
		"expired long ago":          sign(rs256, rsaKey(), claims(map[string]any{"exp": 0}), nil),
		"expiry as text":            sign(rs256, rsaKey(), claims(map[string]any{"exp": "never"}), nil),
		"not valid yet":             sign(rs256, rsaKey(), claims(map[string]any{"nbf": time.Now().Add(40 * time.Second).Unix()}), nil),
		"flipped bit of signature":  string(flipped),
		"flipped padding bit":       string(padded),
		"other claims":              parts[0] + "." + mallory[1] + "." + parts[2],
		"four parts":                validToken() + ".a",
		"two parts":                 parts[0] + "." + parts[1],
		"one part":                  "opaque",
		"empty":                     "",
		"dots":                      "..",
		"padding":                   validToken() + "=",
		"not JSON":                  b64([]byte("a")) + "." + b64([]byte("b")) + "." + b64([]byte("c")),
		"null":                      b64([]byte("null")) + "." + b64([]byte("null")) + "." + b64([]byte("null")),
		"deep nesting":              b64([]byte(strings.Repeat("[", 9000))) + ".e30.e30",
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(publicJWK("1", rsaKey(), nil), publicJWK("enc", rsaKey(), map[string]any{"use": "enc"}),
				publicJWK("ops", rsaKey(), map[string]any{"key_ops": []string{"encrypt"}}), publicJWK("ps", rsaKey(), map[string]any{"alg": "PS256"}))
			verify := i.verifier(t)
			caller, err := verify(t.Context(), token)
			require.ErrorIs(t, err, auth.ErrInvalidToken)
			require.Nil(t, caller)
			require.Zero(t, i.count("https://evil.example.com/keys"))
			_, err = verify(t.Context(), validToken())
			require.NoError(t, err)
		})
	}
}

func TestValidJWTs(t *testing.T) {
	for name, token := range map[string]string{
		"at+jwt":                   sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"typ": "at+jwt"}),
		"application/at+jwt":       sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"typ": "application/AT+JWT"}),
		"no type":                  sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"typ": nil}),
		"no kid":                   sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"kid": nil}),
		"expired within leeway":    sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"exp": time.Now().Add(-20 * time.Second).Unix()}), nil),
		"not before within leeway": sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"nbf": time.Now().Add(20 * time.Second).Unix()}), nil),
	} {
		_, err := newIssuer(publicJWK("0", otherRSA(), nil), publicJWK("1", rsaKey(), nil)).verifier(t)(t.Context(), token)
		require.NoError(t, err, name)
	}
	strict := func(o *auth.JWTOptions) { o.Leeway = -1 }
	_, err := newIssuer(publicJWK("1", rsaKey(), nil)).verifier(t, strict)(t.Context(), sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"exp": time.Now().Add(-2 * time.Second).Unix()}), nil))
	require.ErrorIs(t, err, auth.ErrInvalidToken)
}

func TestJWTAlgorithmsOption(t *testing.T) {
	verify := newIssuer(publicJWK("1", rsaKey(), nil)).verifier(t, func(o *auth.JWTOptions) { o.Algorithms = []string{"PS256"} })
	_, err := verify(t.Context(), validToken())
	require.ErrorIs(t, err, auth.ErrInvalidToken)
	_, err = verify(t.Context(), sign(jwt.SigningMethodPS256, rsaKey(), claims(nil), nil))
	require.NoError(t, err)
}

func TestGuardWithJWT(t *testing.T) {
	opts := guardOptions(newIssuer(publicJWK("1", rsaKey(), nil)).verifier(t))
	for name, c := range map[string]struct {
		claims map[string]any
		status int
	}{
		"valid":                 {nil, 200},
		"other audience":        {map[string]any{"aud": "https://other.example.com"}, 401},
		"audience is client":    {map[string]any{"aud": "app"}, 401},
		"no audience":           {map[string]any{"aud": nil}, 401},
		"no expiry":             {map[string]any{"exp": nil}, 401},
		"expiry out of range":   {map[string]any{"exp": 1e300}, 401},
		"expired within leeway": {map[string]any{"exp": time.Now().Add(-5 * time.Second).Unix()}, 200},
		"expired":               {map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, 401},
		"other issuer":          {map[string]any{"iss": "https://other.example.com"}, 401},
		"missing scope":         {map[string]any{"scope": "files:read"}, 403},
	} {
		res, called := send(t, opts, "/mcp", "Bearer "+sign(jwt.SigningMethodRS256, rsaKey(), claims(c.claims), nil))
		require.Equal(t, c.status, res.StatusCode, name)
		require.Equal(t, c.status == 200, called, name)
	}
}

func TestJWTOptionErrors(t *testing.T) {
	for want, opts := range map[string]*auth.JWTOptions{
		`auth: JWT verifier: option Issuer is required`:                          {},
		`auth: JWT verifier: option Issuer: "http://a" is a URL without TLS`:     {Issuer: "http://a"},
		`auth: JWT verifier: option JWKSURI: "keys" is not an absolute HTTP URL`: {Issuer: login, JWKSURI: "keys"},
		`auth: JWT verifier: option Algorithms: unsupported algorithm "none", want one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519`:  {Issuer: login, Algorithms: []string{"none"}},
		`auth: JWT verifier: option Algorithms: unsupported algorithm "HS256", want one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519`: {Issuer: login, Algorithms: []string{"RS256", "HS256"}},
	} {
		_, err := auth.JWT(opts)
		require.EqualError(t, err, want)
	}
	_, err := auth.JWT(&auth.JWTOptions{Issuer: "http://127.0.0.1:1", JWKSURI: "http://127.0.0.1:1/keys?a=b"})
	require.NoError(t, err)
}

var errDown = errors.New("connection refused")
