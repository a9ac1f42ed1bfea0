package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
)

func TestThumbprint(t *testing.T) { // the example of RFC 7638, and of RFC 9449 for an EC key
	for want, text := range map[string]string{
		"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I": `{"kty":"EC","crv":"P-256","x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs","y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA","kid":"x"}`,
		"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs": `{"kty":"RSA","e":"AQAB","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","alg":"RS256"}`,
	} {
		var k jwk
		require.NoError(t, json.Unmarshal([]byte(text), &k))
		require.Equal(t, want, k.thumbprint())
	}
	k, err := newProofKey()
	require.NoError(t, err)
	data, err := json.Marshal(k)
	require.NoError(t, err)
	var same proofKey
	require.NoError(t, json.Unmarshal(data, &same))
	require.Equal(t, k.thumbprint(), same.thumbprint())
	require.Error(t, json.Unmarshal([]byte(`"AAAA"`), &same))
}

// boundServer is a guard for the token "bound", which is bound to key, and for the bearer
// token "free".
type boundServer struct {
	t     *testing.T
	key   *proofKey
	guard *Guard
}

func newBoundServer(t *testing.T, opts *DPoPOptions) *boundServer {
	t.Helper()
	key, err := newProofKey()
	require.NoError(t, err)
	s := &boundServer{t: t, key: key}
	verify := func(_ context.Context, token string) (*Caller, error) {
		user, bound := strings.CutPrefix(token, "bound")
		c := &Caller{Subject: "ada" + user, Audience: []string{serverURL}, Expiry: time.Now().Add(time.Hour)}
		if bound {
			c.KeyThumbprint = key.thumbprint()
		} else if token != "free" {
			return nil, ErrInvalidToken
		}
		return c, nil
	}
	s.guard, err = NewGuard(&GuardOptions{Resource: serverURL, AuthorizationServers: []string{issuerURL}, Verify: verify, DPoP: opts, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return s
}

// send sends a request to the guard.
func (s *boundServer) send(authorization string, proofs ...string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, "http://10.0.0.7:8080/mcp?a=b", nil)
	r.Header.Set("Authorization", authorization)
	for _, p := range proofs {
		r.Header.Add("DPoP", p)
	}
	return s.serve(r)
}

func (s *boundServer) serve(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	s.guard.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("DPoP") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
	})).ServeHTTP(w, r)
	return w.Result()
}

// proof returns a proof that is valid unless change makes it invalid.
func (s *boundServer) proof(change func(header, claims map[string]any)) string {
	header := map[string]any{"typ": "dpop+jwt", "jwk": s.key.jwk}
	claims := map[string]any{"jti": rand.Text(), "htm": "POST", "htu": serverURL, "iat": time.Now().Unix(), "ath": hashText("bound")}
	if change != nil {
		change(header, claims)
	}
	proof, err := signJWT(s.key.private, "ES256", header, claims)
	require.NoError(s.t, err)
	return proof
}

func dpopError(res *http.Response) string {
	return challenge.Find(res.Header, "DPoP").Params["error"]
}

func TestProofs(t *testing.T) {
	s := newBoundServer(t, &DPoPOptions{})
	claim := func(name string, value any) func(_, claims map[string]any) {
		return func(_, claims map[string]any) { claims[name] = value }
	}
	head := func(name string, value any) func(header, _ map[string]any) {
		return func(header, _ map[string]any) { header[name] = value }
	}
	for name, change := range map[string]func(header, claims map[string]any){
		"valid":         nil,
		"query":         claim("htu", serverURL+"?x=y#z"),
		"spelling":      claim("htu", "HTTPS://MCP.test:443/mcp"),
		"unknown claim": claim("more", []string{"x"}),
		"key with more": func(h, _ map[string]any) {
			key := map[string]any{"kid": "k", "alg": "ES256", "use": "sig"}
			for n, v := range s.key.jwk {
				key[n] = v
			}
			h["jwk"] = key
		},
		"slow clock": claim("iat", time.Now().Add(-50*time.Second).Unix()),
		"fast clock": claim("iat", time.Now().Add(50*time.Second).Unix()),
	} {
		res := s.send("DPoP bound", s.proof(change))
		require.Equal(t, http.StatusOK, res.StatusCode, name)
	}
	other, err := newProofKey()
	require.NoError(t, err)
	private := maps.Clone(s.key.jwk)
	private["d"] = "AAAA"
	for name, change := range map[string]func(header, claims map[string]any){
		"method":         claim("htm", "GET"),
		"method case":    claim("htm", "post"),
		"no method":      claim("htm", nil),
		"path":           claim("htu", serverURL+"/more"),
		"host":           claim("htu", "https://other.test/mcp"),
		"inner host":     claim("htu", "http://10.0.0.7:8080/mcp"),
		"scheme":         claim("htu", "http://mcp.test/mcp"),
		"no URL":         claim("htu", "%"),
		"token":          claim("ath", hashText("bound2")),
		"no token":       claim("ath", nil),
		"no id":          claim("jti", ""),
		"id is a number": claim("jti", 7),
		"time is text":   claim("iat", "now"),
		"no time":        claim("iat", nil),
		"huge time":      claim("iat", 1e300),
		"type":           head("typ", "JWT"),
		"no type":        head("typ", nil),
		"critical":       head("crit", []string{"x"}),
		"another key":    head("jwk", other.jwk),
		"no key":         head("jwk", nil),
		"key is text":    head("jwk", "x"),
		"private key":    head("jwk", private),
		"bad coordinate": head("jwk", map[string]any{"kty": "EC", "crv": "P-256", "x": 7}),
	} {
		res := s.send("DPoP bound", s.proof(change))
		require.Equal(t, http.StatusUnauthorized, res.StatusCode, name)
		require.Equal(t, "invalid_dpop_proof", dpopError(res), name)
		require.Empty(t, challenge.Find(res.Header, "Bearer").Scheme, name)
	}
	valid := s.proof(nil)
	parts := strings.Split(s.proof(nil), ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"dpop+jwt"}`))
	hs := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"dpop+jwt","jwk":{"kty":"oct","k":"AAAA"}}`))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rs256, err := signJWT(rsaKey, "RS256", map[string]any{"typ": "dpop+jwt", "jwk": s.key.jwk}, map[string]any{"jti": "a"})
	require.NoError(t, err)
	for name, proofs := range map[string][]string{
		"none":       {},
		"two":        {valid, s.proof(nil)},
		"huge":       {s.proof(claim("more", strings.Repeat("x", maxProofBytes)))},
		"garbage":    {"x.y.z"},
		"unsigned":   {none + "." + parts[1] + "."},
		"shared key": {hs + "." + parts[1] + "." + parts[2]},
		"signature":  {parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64))},
		"RS256":      {rs256},
	} {
		res := s.send("DPoP bound", proofs...)
		require.Equal(t, "invalid_dpop_proof", dpopError(res), name)
	}
	require.Equal(t, http.StatusOK, s.send("dpop bound", valid).StatusCode)
	require.Equal(t, "invalid_dpop_proof", dpopError(s.send("DPoP bound", valid)), "used before")
}

func TestProofsWithOtherKeys(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	point, err := private.PublicKey.Bytes()
	require.NoError(t, err)
	public := map[string]string{"kty": "EC", "crv": "P-384", "x": base64.RawURLEncoding.EncodeToString(point[1:49]), "y": base64.RawURLEncoding.EncodeToString(point[49:])}
	s := newBoundServer(t, &DPoPOptions{})
	s.key.jwk = public // the server reads the thumbprint in each request
	claims := map[string]any{"jti": "1", "htm": "POST", "htu": serverURL, "iat": time.Now().Unix(), "ath": hashText("bound")}
	proof, err := signJWT(private, "ES384", map[string]any{"typ": "dpop+jwt", "jwk": public}, claims)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, s.send("DPoP bound", proof).StatusCode)
}

func TestBoundTokensNeedTheirScheme(t *testing.T) {
	for name, opts := range map[string]*DPoPOptions{"not offered": nil, "offered": {}, "required": {Required: true}} {
		s := newBoundServer(t, opts)
		for authorization, ok := range map[string]bool{
			"DPoP bound":   true,
			"Bearer bound": false,
			"DPoP free":    false,
			"Bearer free":  name != "required",
		} {
			res := s.send(authorization, s.proof(nil))
			require.Equal(t, ok, res.StatusCode == http.StatusOK, name+" "+authorization)
			if !ok {
				require.Equal(t, http.StatusUnauthorized, res.StatusCode)
				require.Equal(t, name != "required", challenge.Find(res.Header, "Bearer").Params["error"] == "invalid_token", name)
				require.Equal(t, name != "not offered", dpopError(res) == "invalid_token", name)
			}
		}
		require.Equal(t, http.StatusOK, s.send("DPoP bound", s.proof(nil)).StatusCode)
		require.Equal(t, "invalid_dpop_proof", dpopError(s.send("DPoP bound")))
		w := httptest.NewRecorder()
		_, metadata := s.guard.Metadata()
		metadata.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, name != "not offered", strings.Contains(w.Body.String(), `"dpop_signing_alg_values_supported":["RS256"`))
		require.Equal(t, name == "required", strings.Contains(w.Body.String(), `"dpop_bound_access_tokens_required":true`))
	}
}

func TestProofNonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBoundServer(t, &DPoPOptions{RequireNonce: true, NonceKey: bytes.Repeat([]byte("k"), 32)})
		replica := newBoundServer(t, &DPoPOptions{RequireNonce: true, NonceKey: bytes.Repeat([]byte("k"), 32)})
		stranger := newBoundServer(t, &DPoPOptions{RequireNonce: true})
		with := func(nonce string, offset time.Duration) string {
			return s.proof(func(_, c map[string]any) { c["nonce"], c["iat"] = nonce, time.Now().Add(offset).Unix() })
		}
		first := s.send("DPoP bound", s.proof(nil))
		require.Equal(t, http.StatusUnauthorized, first.StatusCode)
		require.Equal(t, "use_dpop_nonce", dpopError(first))
		nonce := first.Header.Get("DPoP-Nonce")
		require.NotEmpty(t, nonce)

		used := with(nonce, 0)
		res := s.send("DPoP bound", used)
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.NotEmpty(t, res.Header.Get("DPoP-Nonce"), "the next nonce")
		require.Equal(t, "invalid_dpop_proof", dpopError(s.send("DPoP bound", used)), "used before")
		require.Equal(t, http.StatusOK, s.send("DPoP bound", with(nonce, -time.Hour)).StatusCode, "a wrong clock")
		for _, bad := range []string{"x", nonce + "A", "B" + nonce[1:], stranger.guard.proofs.nonce(time.Now())} {
			require.Equal(t, "use_dpop_nonce", dpopError(s.send("DPoP bound", with(bad, 0))))
		}
		replica.key = s.key
		_, ok := replica.guard.proofs.nonceTime(nonce)
		require.True(t, ok)

		time.Sleep(time.Minute)
		require.Equal(t, "use_dpop_nonce", dpopError(s.send("DPoP bound", with(nonce, 0))), "expired")
		require.Equal(t, "use_dpop_nonce", dpopError(s.send("DPoP bound", used)), "still no replay")
	})
}

func TestWrongClockGetsNonce(t *testing.T) {
	s := newBoundServer(t, &DPoPOptions{})
	for _, offset := range []time.Duration{-time.Hour, -62 * time.Second, 62 * time.Second, time.Hour} {
		at := time.Now().Add(offset).Unix()
		res := s.send("DPoP bound", s.proof(func(_, c map[string]any) { c["iat"] = at }))
		require.Equal(t, "use_dpop_nonce", dpopError(res))
		res = s.send("DPoP bound", s.proof(func(_, c map[string]any) { c["iat"], c["nonce"] = at, res.Header.Get("DPoP-Nonce") }))
		require.Equal(t, http.StatusOK, res.StatusCode)
	}
}

// One principal cannot use all the memory, and no proof is forgotten while it is valid.
func TestProofsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBoundServer(t, &DPoPOptions{MaxProofs: 8})
		send := func(user string, proof string) int {
			return s.send("DPoP bound"+user, proof).StatusCode
		}
		proofOf := func(user string) string {
			return s.proof(func(_, c map[string]any) { c["ath"] = hashText("bound" + user) })
		}
		first := proofOf("a")
		require.Equal(t, http.StatusOK, send("a", first))
		require.Equal(t, http.StatusOK, send("a", proofOf("a")))
		for range 100 {
			res := s.send("DPoP bounda", proofOf("a"))
			require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
			require.Equal(t, "1", res.Header.Get("Retry-After"))
		}
		for _, user := range []string{"b", "b", "c", "c", "d", "d"} {
			require.Equal(t, http.StatusOK, send(user, proofOf(user)))
		}
		require.Equal(t, http.StatusServiceUnavailable, send("e", proofOf("e")))
		require.Equal(t, http.StatusUnauthorized, send("a", first), "still known")
		require.Len(t, s.guard.proofs.used.seen, 8)

		time.Sleep(63 * time.Second)
		require.Equal(t, http.StatusOK, send("e", proofOf("e")))
		require.Equal(t, http.StatusUnauthorized, send("a", first), "expired")
		require.Len(t, s.guard.proofs.used.seen, 1)
		require.Len(t, s.guard.proofs.used.owners, 1)
		require.Len(t, s.guard.proofs.used.expiring, 1)
	})
}

func TestProofURLBehindProxy(t *testing.T) {
	to := func(s *boundServer, path, htu string) int {
		r := httptest.NewRequest(http.MethodPost, "http://10.0.0.7:8080"+path, nil)
		r.Header.Set("Authorization", "DPoP bound")
		r.Header.Set("DPoP", s.proof(func(_, c map[string]any) { c["htu"] = htu }))
		return s.serve(r).StatusCode
	}
	s := newBoundServer(t, nil)
	require.Equal(t, http.StatusOK, to(s, "/mcp", serverURL))
	require.Equal(t, http.StatusOK, to(s, "/mcp/a%2Fb", serverURL+"/a%2Fb"))
	require.Equal(t, http.StatusOK, to(s, "/", serverURL), "the proxy removes the path")
	require.Equal(t, http.StatusUnauthorized, to(s, "/mcp/more", serverURL))
	s = newBoundServer(t, &DPoPOptions{URL: func(r *http.Request) string { return "https://public.test/tools" + r.URL.Path }})
	require.Equal(t, http.StatusOK, to(s, "/mcp", "https://public.test/tools/mcp"))
	require.Equal(t, http.StatusUnauthorized, to(s, "/mcp", serverURL))
	s = newBoundServer(t, &DPoPOptions{URL: func(r *http.Request) string { panic("oops") }})
	require.Equal(t, http.StatusUnauthorized, to(s, "/mcp", serverURL))
}

func TestInvalidDPoPOptions(t *testing.T) {
	for want, o := range map[string]DPoPOptions{
		"must not be negative": {Window: -1}, "MaxProofs": {MaxProofs: -1}, "NonceKey has 3 bytes": {NonceKey: []byte("abc")},
	} {
		_, err := NewGuard(&GuardOptions{Resource: serverURL, AuthorizationServers: []string{issuerURL}, DPoP: &o, Verify: func(context.Context, string) (*Caller, error) { return nil, nil }})
		require.ErrorContains(t, err, want)
	}
}

func TestKeyOfClaims(t *testing.T) {
	c, err := callerFromClaims(map[string]any{"cnf": map[string]any{"jkt": "abc"}})
	require.NoError(t, err)
	require.Equal(t, "abc", c.KeyThumbprint)
	for _, bad := range []any{7, "", map[string]any{}} {
		_, err := callerFromClaims(map[string]any{"cnf": map[string]any{"jkt": bad}})
		require.ErrorIs(t, err, ErrInvalidToken, "%v", bad)
	}
}

// boundNetwork is a fake network whose issuer binds tokens to keys, and whose server is
// behind a guard.
type boundNetwork struct {
	*fakeNetwork
	guard    *Guard
	asNonce  string   // nonce that the issuer requires, or empty
	bearer   bool     // the issuer ignores proofs
	keys     sync.Map // thumbprints by access token
	refused  atomic.Int32
	asProofs *proofVerifier
}

func newBoundNetwork(t *testing.T, opts *DPoPOptions) *boundNetwork {
	n := &boundNetwork{fakeNetwork: newFakeNetwork(t)}
	n.issuer.metadata.DPoPSigningAlgValuesSupported = []string{"RS256", "ES256"}
	var err error
	n.guard, err = NewGuard(&GuardOptions{Resource: serverURL, AuthorizationServers: []string{issuerURL}, DPoP: opts, AllowNoExpiry: true, Logger: slog.New(slog.DiscardHandler),
		Verify: func(_ context.Context, token string) (*Caller, error) {
			if _, ok := n.issuer.scopesOf(token); !ok {
				return nil, ErrInvalidToken
			}
			key, _ := n.keys.LoadOrStore(token, "")
			return &Caller{Subject: "ada", Audience: []string{serverURL}, KeyThumbprint: key.(string)}, nil
		}})
	require.NoError(t, err)
	at, err := url.Parse(issuerURL + "/token")
	require.NoError(t, err)
	n.asProofs = newProofVerifier(DPoPOptions{Window: time.Minute, MaxProofs: 1000}, at)
	mux := http.NewServeMux()
	mux.Handle(n.guard.Metadata())
	mux.Handle("/mcp", n.guard.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	n.hosts["mcp.test"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, r)
		if rec.Code >= 400 {
			n.refused.Add(1)
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
	n.hosts["login.test"] = http.HandlerFunc(n.serveIssuer)
	return n
}

func (n *boundNetwork) serveIssuer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/token" || n.bearer {
		n.issuer.ServeHTTP(w, r)
		return
	}
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}
	proof := r.Header.Get("DPoP")
	var header struct{ JWK jwk }
	var claims struct{ HTU, HTM, Nonce string }
	parts := strings.Split(proof, ".")
	for i, v := range []any{&header, &claims} {
		data, _ := base64.RawURLEncoding.DecodeString(parts[min(i, len(parts)-1)])
		_ = json.Unmarshal(data, v)
	}
	if claims.HTU != issuerURL+"/token" || claims.HTM != http.MethodPost {
		fail("invalid_dpop_proof")
		return
	}
	if n.asNonce != "" && claims.Nonce != n.asNonce {
		w.Header().Set("DPoP-Nonce", n.asNonce)
		fail("use_dpop_nonce")
		return
	}
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	if code := form.Get("code"); code != "" && n.issuer.codes[code].Get("dpop_jkt") != header.JWK.thumbprint() {
		fail("invalid_grant")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	n.issuer.ServeHTTP(rec, r)
	response := map[string]any{}
	_ = json.Unmarshal(rec.Body.Bytes(), &response)
	if token, ok := response["access_token"].(string); ok {
		n.keys.Store(token, header.JWK.thumbprint())
		response["token_type"] = "dpop"
	}
	w.WriteHeader(rec.Code)
	_ = json.NewEncoder(w).Encode(response)
}

func TestTransportBindsTokens(t *testing.T) {
	store := FileStore(t.TempDir())
	n := newBoundNetwork(t, &DPoPOptions{Required: true, RequireNonce: true})
	n.asNonce = "as-1"
	tr := n.transport(func(o *TransportOptions) { o.Store = store; o.RequireDPoP = true })
	n.mustPost(tr)
	require.Equal(t, 2, n.count(tokenRequest), "once without a nonce, and once with it")
	n.takeLog()
	n.mustPost(tr)
	require.Equal(t, []string{"POST mcp.test/mcp"}, n.takeLog(), "the nonce is known")

	// Another program uses the token and its key from the store, and refreshes it.
	again := n.transport(func(o *TransportOptions) { o.Store = store })
	n.mustPost(again)
	require.Equal(t, []string{"POST mcp.test/mcp", "POST mcp.test/mcp"}, n.takeLog(), "once for the nonce")
	n.issuer.revoke(false)
	n.asNonce = "as-2"
	n.mustPost(again)
	require.Equal(t, 0, n.count(authorizeRequest))
	require.Equal(t, 2, n.count(tokenRequest))
	require.Equal(t, "refresh_token", n.issuer.lastForm().Get("grant_type"))
	data, err := store.Load(t.Context(), "token "+serverURL)
	require.NoError(t, err)
	require.Contains(t, string(data), `"key":`)
}

func TestTransportUsesBearerTokens(t *testing.T) {
	for name, change := range map[string]func(*boundNetwork){
		"not supported by the issuer": func(n *boundNetwork) { n.issuer.metadata.DPoPSigningAlgValuesSupported = nil },
		"issuer has other algorithms": func(n *boundNetwork) { n.issuer.metadata.DPoPSigningAlgValuesSupported = []string{"RS256"} },
		"issuer ignores proofs":       func(*boundNetwork) {},
	} {
		n := newBoundNetwork(t, &DPoPOptions{})
		n.bearer = true
		change(n)
		n.mustPost(n.transport(nil))

		_, err := n.post(t.Context(), n.transport(func(o *TransportOptions) { o.RequireDPoP = true }))
		require.ErrorContains(t, err, "is not bound to a key", name)
	}
	n := newBoundNetwork(t, nil)
	n.bearer = true // the server does not offer DPoP, so the client sends no proof
	n.mustPost(n.transport(nil))
	require.Empty(t, n.issuer.lastAuthorization().Get("dpop_jkt"))
}

// A server that always requires another nonce does not cause an endless loop.
func TestNonceRetriesAreLimited(t *testing.T) {
	n := newBoundNetwork(t, &DPoPOptions{})
	tr := n.transport(nil)
	n.mustPost(tr)
	n.takeLog()
	count := 0
	n.hosts["mcp.test"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count++
		w.Header().Set("DPoP-Nonce", fmt.Sprint("nonce-", count))
		w.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	status, err := n.post(t.Context(), tr)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Len(t, n.takeLog(), 1+maxNonceRetries)
}

func TestManyProofs(t *testing.T) {
	n := newBoundNetwork(t, &DPoPOptions{RequireNonce: true, Window: time.Hour})
	tr := n.transport(nil)
	n.mustPost(tr)
	n.refused.Store(0)
	count := 10_000
	if testing.Short() {
		count = 500
	}
	errs := make(chan error, count)
	for range count {
		go func() { // ends after one request
			status, err := n.post(t.Context(), tr)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("status %d", status)
			}
			errs <- err
		}()
	}
	for range count {
		require.NoError(t, <-errs)
	}
	require.Zero(t, n.refused.Load())
	require.Len(t, n.guard.proofs.used.seen, count+1)
}
