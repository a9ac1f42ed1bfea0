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

// issuer is an authorization server without a network: a transport that has its
// documents. It is safe for concurrent use.
type issuer struct {
	mu        sync.Mutex
	documents map[string]string // by URL
	asked     []string
	wait      chan struct{} // nil, or what an answer waits for
	failure   error
}

// at begins with the keys of an issuer, and with the metadata that lead there.
func at(keys ...map[string]any) *issuer {
	i := &issuer{documents: map[string]string{
		login + "/.well-known/oauth-authorization-server": fmt.Sprintf(`{"issuer":%q,"jwks_uri":"%s/keys"}`, login, login),
	}}
	i.publish(keys...)
	return i
}

func (i *issuer) publish(keys ...map[string]any) {
	data, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	i.set(login+"/keys", string(data))
}

func (i *issuer) set(url, document string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.documents[url] = document
}

func (i *issuer) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failure = err
}

// times tells how often a URL was asked for.
func (i *issuer) times(url string) (n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range i.asked {
		if a == url {
			n++
		}
	}
	return n
}

// RoundTrip implements [http.RoundTripper].
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked = append(i.asked, r.URL.String())
	wait := i.wait
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
	switch to, moved := strings.CutPrefix(document, "-> "); {
	case i.failure != nil:
		return nil, i.failure
	case !known:
		res.StatusCode = http.StatusNotFound
	case moved:
		res.StatusCode = http.StatusFound
		res.Header.Set("Location", to)
	}
	return res, nil
}

// verifier verifies the tokens of an issuer.
func (i *issuer) verifier(t *testing.T, change ...func(*auth.JWTOptions)) auth.Verifier {
	t.Helper()
	opts := auth.JWTOptions{Issuer: login, Client: &http.Client{Transport: i}, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&opts)
	}
	verify, err := auth.JWT(opts)
	require.NoError(t, err)
	return verify
}

// The keys of the tests.
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

// published is a key as issuers publish it.
func published(id string, key crypto.Signer, more map[string]any) map[string]any {
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

// claims are those of ada, with changes; nil takes one away.
func claims(change map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": login, "sub": "ada", "client_id": "app", "aud": resource, "scope": "mcp:use files:read",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// sign makes a token. The header may be changed.
func sign(method jwt.SigningMethod, key any, c jwt.MapClaims, header map[string]any) string {
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = "1"
	maps.Copy(token.Header, header)
	maps.DeleteFunc(token.Header, func(_ string, v any) bool { return v == nil })
	return must(token.SignedString(key))
}

// good is a token that is all right.
func good() string { return sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), nil) }

func TestASignedTokenTellsWhoCalls(t *testing.T) {
	expiry := time.Unix(time.Now().Add(time.Hour).Unix(), 0)
	for name, c := range map[string]struct {
		claims map[string]any
		want   func(*auth.Caller)
	}{
		"as usual":               {nil, func(*auth.Caller) {}},
		"several audiences":      {map[string]any{"aud": []string{"a", resource}}, func(c *auth.Caller) { c.Audience = []string{"a", resource} }},
		"no audience":            {map[string]any{"aud": nil}, func(c *auth.Caller) { c.Audience = nil }},
		"an odd audience":        {map[string]any{"aud": []any{1, nil, "a"}}, func(c *auth.Caller) { c.Audience = []string{"a"} }},
		"scp":                    {map[string]any{"scope": nil, "scp": "a b"}, func(c *auth.Caller) { c.Scopes = []string{"a", "b"} }},
		"scp as a list":          {map[string]any{"scope": nil, "scp": []string{"a", "b"}}, func(c *auth.Caller) { c.Scopes = []string{"a", "b"} }},
		"both":                   {map[string]any{"scope": "a b", "scp": []string{"b", "c"}}, func(c *auth.Caller) { c.Scopes = []string{"a", "b", "c"} }},
		"no scope":               {map[string]any{"scope": nil}, func(c *auth.Caller) { c.Scopes = nil }},
		"an odd scope":           {map[string]any{"scope": 1}, func(c *auth.Caller) { c.Scopes = nil }},
		"azp":                    {map[string]any{"client_id": nil, "azp": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"client_id, not azp":     {map[string]any{"azp": "other"}, func(*auth.Caller) {}},
		"client_id of a number":  {map[string]any{"client_id": 1, "azp": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"appid":                  {map[string]any{"client_id": nil, "appid": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"cid":                    {map[string]any{"client_id": nil, "cid": "other"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"client_id, not cid":     {map[string]any{"appid": "1", "cid": "2"}, func(*auth.Caller) {}},
		"azp, not cid":           {map[string]any{"client_id": nil, "azp": "other", "appid": "1", "cid": "2"}, func(c *auth.Caller) { c.ClientID = "other" }},
		"cid, no subject":        {map[string]any{"sub": nil, "client_id": nil, "appid": "1", "cid": "2"}, func(c *auth.Caller) { c.Subject, c.ClientID = "", "" }},
		"no subject":             {map[string]any{"sub": nil}, func(c *auth.Caller) { c.Subject = "" }},
		"no expiry":              {map[string]any{"exp": nil}, func(c *auth.Caller) { c.Expiry = time.Time{} }},
		"a number of many digit": {map[string]any{"tenant": json.Number("9007199254740993")}, func(*auth.Caller) {}},
	} {
		t.Run(name, func(t *testing.T) {
			all := claims(c.claims)
			if all["exp"] != nil {
				all["exp"] = expiry.Unix()
			}
			caller, err := at(published("1", rsaKey(), nil)).verifier(t)(t.Context(), sign(jwt.SigningMethodRS256, rsaKey(), all, nil))
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

func TestEveryAlgorithmWithAPublicKeyIsKnown(t *testing.T) {
	verify := at(published("rsa", rsaKey(), nil), published("p256", p256Key(), nil), published("p384", p384Key(), nil),
		published("p521", p521Key(), nil), published("ed", edKey(), map[string]any{"alg": "Ed25519"})).verifier(t)
	for method, key := range map[jwt.SigningMethod]crypto.Signer{
		jwt.SigningMethodRS256: rsaKey(), jwt.SigningMethodRS384: rsaKey(), jwt.SigningMethodRS512: rsaKey(),
		jwt.SigningMethodPS256: rsaKey(), jwt.SigningMethodPS384: rsaKey(), jwt.SigningMethodPS512: rsaKey(),
		jwt.SigningMethodES256: p256Key(), jwt.SigningMethodES384: p384Key(), jwt.SigningMethodES512: p521Key(),
		jwt.SigningMethodEdDSA: edKey(),
	} {
		_, err := verify(t.Context(), sign(method, key, claims(nil), map[string]any{"kid": nil}))
		require.NoError(t, err, method.Alg())
	}
}

// raw is a token with whatever header and signature.
func raw(header string, c jwt.MapClaims, signature func(signed string) []byte) string {
	signed := b64([]byte(header)) + "." + b64(must(json.Marshal(c)))
	return signed + "." + b64(signature(signed))
}

func unsigned(string) []byte { return nil }

// withPublicKey is the signature of somebody who knows only what is public, in
// the hope that a server takes the public key for a secret.
func withPublicKey(form []byte) func(string) []byte {
	return func(signed string) []byte {
		mac := hmac.New(sha256.New, form)
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
}

func TestTokensThatAreNotOfTheIssuerAreInvalid(t *testing.T) {
	der := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own := map[string]any{"jwk": published("1", otherRSA(), nil), "jku": "https://evil.example.com/keys", "x5u": "https://evil.example.com/cert"}
	rs256 := jwt.SigningMethodRS256
	flipped := []byte(good())
	flipped[len(flipped)-10] ^= 1
	padded := []byte(good()) // 256 bytes are 2,048 of the 2,052 bits that their text has
	padded[len(padded)-1]++
	parts := strings.Split(good(), ".")
	mallory := strings.Split(sign(rs256, otherRSA(), claims(map[string]any{"sub": "mallory"}), nil), ".")
	for name, token := range map[string]string{
		"alg none":                     raw(`{"alg":"none","kid":"1"}`, claims(nil), unsigned),
		"alg None":                     raw(`{"alg":"None","kid":"1"}`, claims(nil), unsigned),
		"alg none, typed":              sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil), nil),
		"no alg":                       raw(`{"kid":"1"}`, claims(nil), unsigned),
		"alg of a number":              raw(`{"alg":1,"kid":"1"}`, claims(nil), unsigned),
		"two algs":                     raw(`{"alg":"RS256","alg":"none","kid":"1"}`, claims(nil), unsigned),
		"HS256 with the public DER":    raw(`{"alg":"HS256","kid":"1"}`, claims(nil), withPublicKey(der)),
		"HS256 with the public PEM":    raw(`{"alg":"HS256","kid":"1"}`, claims(nil), withPublicKey(asPEM)),
		"HS256 with the modulus":       raw(`{"alg":"HS256","kid":"1"}`, claims(nil), withPublicKey(rsaKey().N.Bytes())),
		"HS256 with nothing":           raw(`{"alg":"HS256","kid":"1"}`, claims(nil), withPublicKey(nil)),
		"RS256 without a signature":    raw(`{"alg":"RS256","kid":"1"}`, claims(nil), unsigned),
		"the algorithm of another key": sign(jwt.SigningMethodES256, p256Key(), claims(nil), nil),
		"another key":                  sign(rs256, otherRSA(), claims(nil), nil),
		"another key, named nowhere":   sign(rs256, otherRSA(), claims(nil), map[string]any{"kid": nil}),
		"a key that came along":        sign(rs256, otherRSA(), claims(nil), own),
		"a key that came along only":   sign(rs256, otherRSA(), claims(nil), map[string]any{"kid": nil, "jwk": own["jwk"], "jku": own["jku"]}),
		"an unknown key":               sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "2"}),
		"a key by a path":              sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "../1"}),
		"a key by a list":              sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": []string{"1"}}),
		"a key for encryption":         sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "enc"}),
		"a key for nothing":            sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "ops"}),
		"a key for PS256":              sign(rs256, rsaKey(), claims(nil), map[string]any{"kid": "ps"}),
		"extensions":                   sign(rs256, rsaKey(), claims(nil), map[string]any{"crit": []string{"b64"}, "b64": false}),
		"extensions that are none":     sign(rs256, rsaKey(), claims(nil), map[string]any{"crit": json.RawMessage("null")}),
		"of another type":              sign(rs256, rsaKey(), claims(nil), map[string]any{"typ": "logout+jwt"}),
		"of no type":                   sign(rs256, rsaKey(), claims(nil), map[string]any{"typ": 1}),
		"another issuer":               sign(rs256, rsaKey(), claims(map[string]any{"iss": "https://other.example.com"}), nil),
		"a longer issuer":              sign(rs256, rsaKey(), claims(map[string]any{"iss": login + "/"}), nil),
		"issuers":                      sign(rs256, rsaKey(), claims(map[string]any{"iss": []string{login}}), nil),
		"no issuer":                    sign(rs256, rsaKey(), claims(map[string]any{"iss": nil}), nil),
		"a subject of a number":        sign(rs256, rsaKey(), claims(map[string]any{"sub": 1001}), nil),
		"subjects":                     sign(rs256, rsaKey(), claims(map[string]any{"sub": []string{"ada"}}), nil),
		"expired":                      sign(rs256, rsaKey(), claims(map[string]any{"exp": time.Now().Add(-31 * time.Second).Unix()}), nil),
		"expired long ago":             sign(rs256, rsaKey(), claims(map[string]any{"exp": 0}), nil),
		"expiry as text":               sign(rs256, rsaKey(), claims(map[string]any{"exp": "never"}), nil),
		"not valid yet":                sign(rs256, rsaKey(), claims(map[string]any{"nbf": time.Now().Add(40 * time.Second).Unix()}), nil),
		"a bit flipped":                string(flipped),
		"a bit flipped of no byte":     string(padded),
		"other claims":                 parts[0] + "." + mallory[1] + "." + parts[2],
		"four parts":                   good() + ".a",
		"two parts":                    parts[0] + "." + parts[1],
		"one part":                     "opaque",
		"nothing":                      "",
		"dots":                         "..",
		"padding":                      good() + "=",
		"no JSON":                      b64([]byte("a")) + "." + b64([]byte("b")) + "." + b64([]byte("c")),
		"null":                         b64([]byte("null")) + "." + b64([]byte("null")) + "." + b64([]byte("null")),
		"deep":                         b64([]byte(strings.Repeat("[", 9000))) + ".e30.e30",
	} {
		t.Run(name, func(t *testing.T) {
			i := at(published("1", rsaKey(), nil), published("enc", rsaKey(), map[string]any{"use": "enc"}),
				published("ops", rsaKey(), map[string]any{"key_ops": []string{"encrypt"}}), published("ps", rsaKey(), map[string]any{"alg": "PS256"}))
			verify := i.verifier(t)
			caller, err := verify(t.Context(), token)
			require.ErrorIs(t, err, auth.ErrInvalidToken)
			require.Nil(t, caller)
			require.Zero(t, i.times("https://evil.example.com/keys"))
			_, err = verify(t.Context(), good())
			require.NoError(t, err)
		})
	}
}

func TestTokensOfOtherMakesAreValidAsWell(t *testing.T) {
	for name, token := range map[string]string{
		"at+jwt":             sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"typ": "at+jwt"}),
		"application/at+jwt": sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"typ": "application/AT+JWT"}),
		"no type":            sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"typ": nil}),
		"no key named":       sign(jwt.SigningMethodRS256, rsaKey(), claims(nil), map[string]any{"kid": nil}),
		"in the leeway":      sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"exp": time.Now().Add(-20 * time.Second).Unix()}), nil),
		"before the leeway":  sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"nbf": time.Now().Add(20 * time.Second).Unix()}), nil),
	} {
		_, err := at(published("0", otherRSA(), nil), published("1", rsaKey(), nil)).verifier(t)(t.Context(), token)
		require.NoError(t, err, name)
	}
	strict := func(o *auth.JWTOptions) { o.Leeway = -1 }
	_, err := at(published("1", rsaKey(), nil)).verifier(t, strict)(t.Context(), sign(jwt.SigningMethodRS256, rsaKey(), claims(map[string]any{"exp": time.Now().Add(-2 * time.Second).Unix()}), nil))
	require.ErrorIs(t, err, auth.ErrInvalidToken)
}

func TestAlgorithmsCanBeFewer(t *testing.T) {
	verify := at(published("1", rsaKey(), nil)).verifier(t, func(o *auth.JWTOptions) { o.Algorithms = []string{"PS256"} })
	_, err := verify(t.Context(), good())
	require.ErrorIs(t, err, auth.ErrInvalidToken)
	_, err = verify(t.Context(), sign(jwt.SigningMethodPS256, rsaKey(), claims(nil), nil))
	require.NoError(t, err)
}

func TestAGuardChecksSignedTokensInFull(t *testing.T) {
	opts := guardOptions(at(published("1", rsaKey(), nil)).verifier(t))
	for name, c := range map[string]struct {
		claims map[string]any
		status int
	}{
		"all right":         {nil, 200},
		"for others":        {map[string]any{"aud": "https://other.example.com"}, 401},
		"for the client":    {map[string]any{"aud": "app"}, 401},
		"for nobody":        {map[string]any{"aud": nil}, 401},
		"for ever":          {map[string]any{"exp": nil}, 401},
		"beyond all time":   {map[string]any{"exp": 1e300}, 401},
		"just expired":      {map[string]any{"exp": time.Now().Add(-5 * time.Second).Unix()}, 200},
		"expired":           {map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}, 401},
		"of another":        {map[string]any{"iss": "https://other.example.com"}, 401},
		"without the scope": {map[string]any{"scope": "files:read"}, 403},
	} {
		res, through := ask(t, opts, "/mcp", "Bearer "+sign(jwt.SigningMethodRS256, rsaKey(), claims(c.claims), nil))
		require.Equal(t, c.status, res.StatusCode, name)
		require.Equal(t, c.status == 200, through, name)
	}
}

func TestJWTRefusesOptionsThatCannotBeMeant(t *testing.T) {
	for want, opts := range map[string]auth.JWTOptions{
		`verify signed tokens: option Issuer: "" is no absolute URL of HTTP`:                                                              {},
		`verify signed tokens: option Issuer: "http://a" is without TLS, so that everybody on the way could read it`:                      {Issuer: "http://a"},
		`verify signed tokens: option JWKS: "keys" is no absolute URL of HTTP`:                                                            {Issuer: login, JWKS: "keys"},
		`verify signed tokens: option Algorithms "none": there are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA`:  {Issuer: login, Algorithms: []string{"none"}},
		`verify signed tokens: option Algorithms "HS256": there are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA`: {Issuer: login, Algorithms: []string{"RS256", "HS256"}},
	} {
		_, err := auth.JWT(opts)
		require.EqualError(t, err, want)
	}
	_, err := auth.JWT(auth.JWTOptions{Issuer: "http://127.0.0.1:1", JWKS: "http://127.0.0.1:1/keys?a=b"})
	require.NoError(t, err)
}

var errDown = errors.New("connection refused")
