package auth

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
)

const (
	dpopScheme      = "DPoP" // of the Authorization header, and the type of bound tokens
	dpopHeader      = "Dpop" // the header of a proof, in Go's spelling
	dpopNonceHeader = "Dpop-Nonce"
	dpopProofType   = "dpop+jwt"
	dpopAlgorithm   = "ES256" // of the proofs of a client
	errUseDPoPNonce = "use_dpop_nonce"
	errInvalidProof = "invalid_dpop_proof"
	bearerScheme    = "Bearer"
)

// proofKey is the key of a client that a token is bound to (RFC 9449). Its JSON is the
// private key.
type proofKey struct {
	private *ecdsa.PrivateKey
	jwk     map[string]string // the public key
}

func newProofKey() (*proofKey, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	k := &proofKey{}
	return k, k.set(private)
}

func (k *proofKey) set(private *ecdsa.PrivateKey) error {
	point, err := private.PublicKey.Bytes()
	if err != nil {
		return err
	}
	half := (len(point) - 1) / 2
	x, y := point[1:1+half], point[1+half:]
	k.private = private
	k.jwk = map[string]string{"kty": "EC", "crv": "P-256", "x": base64.RawURLEncoding.EncodeToString(x), "y": base64.RawURLEncoding.EncodeToString(y)}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (k *proofKey) MarshalJSON() ([]byte, error) {
	data, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, err
	}
	return json.Marshal(data)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (k *proofKey) UnmarshalJSON(data []byte) error {
	var der []byte
	if err := json.Unmarshal(data, &der); err != nil {
		return err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return err
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return errors.New("key of a token is not for ES256")
	}
	return k.set(private)
}

// thumbprint returns the name of the key in tokens that are bound to it.
func (k *proofKey) thumbprint() string { return thumbprint(k.jwk) }

// proof returns a proof for one request. The token is empty in a token request, and the
// nonce is empty if the server has sent none.
func (k *proofKey) proof(method string, u *url.URL, token, nonce string) (string, error) {
	target := redacted(u)
	target.Path = cmp.Or(target.Path, "/")
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": target.String(), "iat": time.Now().Unix()}
	if token != "" {
		claims["ath"] = hashText(token)
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	proof, err := signJWT(k.private, dpopAlgorithm, map[string]any{"typ": dpopProofType, "jwk": k.jwk}, claims)
	if err != nil {
		return "", fmt.Errorf("auth: DPoP proof: %w", err)
	}
	return proof, nil
}

// thumbprint returns the SHA-256 thumbprint of a key (RFC 7638). The map only has the
// members that define the key.
func thumbprint(jwk map[string]string) string {
	text, _ := json.Marshal(jwk) // no error; the members are sorted
	return hashText(string(text))
}

// hashText returns the SHA-256 hash of a text in base64url.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// supportsDPoP reports whether a list of signature algorithms has the algorithm of our
// proofs.
func supportsDPoP(algorithms []string) bool {
	return slices.Contains(algorithms, dpopAlgorithm)
}

// serverNonces has the last nonce of each server. It is safe for concurrent use.
type serverNonces struct {
	mu     sync.Mutex
	nonces map[string]string // by origin
}

const (
	maxServerNonces = 100  // the MCP server and its authorization servers are only a few
	maxNonceBytes   = 2048 // longer ones are ignored
)

// of returns the last nonce of the server with a URL, or the empty string.
func (s *serverNonces) of(u *url.URL) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonces[originOf(u)]
}

// update saves the nonce in a response. It reports whether the response has one.
func (s *serverNonces) update(u *url.URL, h http.Header) bool {
	nonce := h.Get(dpopNonceHeader)
	if nonce == "" || len(nonce) > maxNonceBytes {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nonces == nil || len(s.nonces) >= maxServerNonces {
		s.nonces = map[string]string{}
	}
	s.nonces[originOf(u)] = nonce
	return true
}

// originOf returns the origin of a URL, in one spelling.
func originOf(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + portOf(u)
}

// maxNonceRetries limits how often a request is sent again with another nonce. Another
// nonce may have expired meanwhile, or may be of another replica of the server.
const maxNonceRetries = 2

// send sends a request with a token, and with a proof if the token is bound to a key. If
// the server requires another nonce in the proof, send repeats the request with it.
func (t *Transport) send(req *http.Request, token *tokenRecord) (*http.Response, error) {
	if token == nil || token.Key == nil {
		return t.opts.Base.RoundTrip(withToken(req, token))
	}
	for retries := 0; ; retries++ {
		proof, err := token.Key.proof(req.Method, req.URL, token.Token.AccessToken, t.nonces.of(req.URL))
		if err != nil {
			closeBody(req)
			return nil, err
		}
		proved := withToken(req, token)
		proved.Header.Set(dpopHeader, proof)
		res, err := t.opts.Base.RoundTrip(proved)
		if err != nil {
			return nil, err
		}
		hasNonce := t.nonces.update(req.URL, res.Header)
		if !hasNonce || !requiresNonce(res) || retries == maxNonceRetries || req.Body != nil && req.GetBody == nil {
			return res, nil
		}
		_ = res.Body.Close() // without reading it, because it may not end
		if req, err = withNewBody(req); err != nil {
			return nil, err
		}
	}
}

// requiresNonce reports whether a server rejects a request because its proof needs another
// nonce.
func requiresNonce(res *http.Response) bool {
	return res.StatusCode == http.StatusUnauthorized && challenge.Find(res.Header, dpopScheme).Params["error"] == errUseDPoPNonce
}
