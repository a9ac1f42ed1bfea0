package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	keyRefreshInterval = 10 * time.Minute // until keys are fetched again
	keyLifetime        = time.Hour        // until keys are unusable if they cannot be fetched
	keyFetchInterval   = 5 * time.Second  // minimum time between two fetches; clients wait twice as long for their first response
	verifierTimeout    = 10 * time.Second // for a request to the issuer
)

// keySet caches the keys of an issuer. It is safe for concurrent use.
type keySet struct {
	fetch  func(context.Context) ([]publicKey, error)
	logger *slog.Logger

	mu          sync.Mutex
	keys        []publicKey
	fetchedAt   time.Time     // start of the last successful fetch, zero if there is none
	attemptedAt time.Time     // start of the last fetch
	lastErr     error         // error of the last fetch, nil if it succeeded
	fetching    chan struct{} // closed at the end of the current fetch, nil if there is none
}

// find returns the keys with an id that can verify an algorithm. With an empty id it
// returns all keys for the algorithm. If the issuer does not have the key, the error is
// [ErrInvalidToken]. It is a [retryError] if the keys were fetched before the call, and it
// is too early to fetch them again: the issuer may have published the key since.
func (s *keySet) find(ctx context.Context, id, alg string) ([]jwt.VerificationKey, error) {
	start := time.Now()
	found, fetching, err := s.lookup(id, alg, start)
	if found != nil || fetching == nil {
		return found, err
	}
	select {
	case <-fetching:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for keys: %w", context.Cause(ctx))
	}
	found, _, err = s.lookup(id, alg, start)
	return found, err
}

// errUnknownKey is returned for a key that the issuer may have published since the last
// fetch.
var errUnknownKey = errors.New("issuer had no key")

// lookup returns the cached keys, and starts a fetch if it is due. If no key is found,
// the caller can wait until the channel fetching is closed, and then look again. The
// channel is nil if no fetch is running. The keys only prove that the issuer does not
// have a key if they were fetched after the time since.
func (s *keySet) lookup(id, alg string, since time.Time) (found []jwt.VerificationKey, fetching <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Since(s.fetchedAt)
	if age >= keyLifetime {
		s.keys = nil
	}
	for _, key := range s.keys {
		if key.canVerify(id, alg) {
			found = append(found, key.key)
		}
	}
	stale := found == nil || age >= keyRefreshInterval
	if stale && s.fetching == nil && time.Since(s.attemptedAt) >= keyFetchInterval {
		s.attemptedAt, s.fetching = time.Now(), make(chan struct{})
		go s.refresh() // ends with the fetch, after verifierTimeout at the latest
	}
	switch {
	case found != nil:
		return found, s.fetching, nil
	case s.lastErr != nil:
		err = s.lastErr
	case s.fetchedAt.Before(since):
		err = &retryError{
			fmt.Errorf("%w %q for %s at %s", errUnknownKey, id, alg, s.fetchedAt.Format(time.TimeOnly)),
			time.Until(s.attemptedAt.Add(keyFetchInterval)),
		}
	default:
		err = fmt.Errorf("%w: issuer has no key %q for %s", ErrInvalidToken, id, alg)
	}
	return nil, s.fetching, err
}

// refresh fetches the keys. It does not depend on the context of the request that
// started it.
func (s *keySet) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), verifierTimeout)
	defer cancel()
	keys, err := s.fetchRecovered(ctx)
	if err != nil {
		s.logger.Warn("auth: keys could not be fetched", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastErr = err; err == nil {
		s.keys, s.fetchedAt = keys, s.attemptedAt
	}
	close(s.fetching)
	s.fetching = nil
}

// fetchRecovered calls fetch. A panic of the HTTP client becomes an error.
func (s *keySet) fetchRecovered(ctx context.Context) (keys []publicKey, err error) {
	defer recoverPanic("fetching keys", &err)
	return s.fetch(ctx)
}

// keySource fetches the published keys of an issuer.
type keySource struct {
	*fetcher
	issuer string
	url    string // empty if it is in the issuer's metadata
}

func (s *keySource) fetch(ctx context.Context) ([]publicKey, error) {
	at := s.url
	if at == "" {
		m, err := s.issuerMetadata(ctx, s.issuer)
		if err != nil {
			return nil, err
		}
		if at = m.JWKSURI; at == "" {
			return nil, fmt.Errorf("keys of issuer %q: no jwks_uri in its metadata", s.issuer)
		}
	}
	data, err := s.get(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("keys of issuer %q: %w", s.issuer, err)
	}
	keys, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("keys of issuer %q: %w", s.issuer, err)
	}
	return keys, nil
}

// publicKey is a key of an issuer.
type publicKey struct {
	id   string
	algs []string // the algorithms that the key may be used with
	key  jwt.VerificationKey
}

// canVerify reports whether the key may be used for a token with this key id and
// algorithm. The id is empty if the token has none.
func (k *publicKey) canVerify(id, alg string) bool {
	return (id == "" || id == k.id) && slices.Contains(k.algs, alg)
}

// maxKeys limits the number of keys of an issuer, because a token without a key id is
// verified with each of them.
const maxKeys = 100

// parseKeys parses a JSON Web Key Set. It skips keys that are not for signatures or are
// not supported, and returns an error if no key remains.
func parseKeys(data []byte) ([]publicKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys exceed the limit of %d", len(set.Keys), maxKeys)
	}
	var keys []publicKey
	for _, raw := range set.Keys {
		var k jwk
		if json.Unmarshal(raw, &k) != nil || !k.isForSignatures() {
			continue
		}
		key, algs := k.publicKey()
		if algs = k.permitted(algs); algs != nil {
			keys = append(keys, publicKey{k.ID, algs, key})
		}
	}
	if keys == nil {
		return nil, fmt.Errorf("none of %d keys is usable", len(set.Keys))
	}
	return keys, nil
}

// jwk is a JSON Web Key (RFC 7517).
type jwk struct {
	ID         string    `json:"kid"`
	Type       string    `json:"kty"`
	Use        string    `json:"use"`
	Operations []string  `json:"key_ops"`
	Algorithm  string    `json:"alg"`
	Curve      string    `json:"crv"`
	N          base64URL `json:"n"`
	E          base64URL `json:"e"`
	X          base64URL `json:"x"`
	Y          base64URL `json:"y"`
}

// base64URL is a member of a key that is encoded in base64url without padding.
type base64URL []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *base64URL) UnmarshalText(text []byte) (err error) {
	*b, err = base64.RawURLEncoding.DecodeString(string(text))
	return err
}

// isForSignatures reports whether the key may verify signatures.
func (k *jwk) isForSignatures() bool {
	return (k.Use == "" || k.Use == "sig") && (k.Operations == nil || slices.Contains(k.Operations, "verify"))
}

// permitted returns the algorithms of algs that the member alg of the key permits. Both
// names of EdDSA permit both.
func (k *jwk) permitted(algs []string) []string {
	switch {
	case k.Algorithm == "", slices.Contains(algs, k.Algorithm) && slices.Contains(algs, algEdDSA):
		return algs
	case slices.Contains(algs, k.Algorithm):
		return []string{k.Algorithm}
	}
	return nil
}

// publicKey returns the key and the algorithms for its type, or nil if the key is not
// supported.
func (k *jwk) publicKey() (jwt.VerificationKey, []string) {
	switch k.Type {
	case "RSA":
		if key := k.rsa(); key != nil {
			return key, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
		}
	case "EC":
		return k.ec()
	case "OKP":
		if k.Curve == "Ed25519" && len(k.X) == ed25519.PublicKeySize {
			return ed25519.PublicKey(k.X), []string{algEdDSA, algEd25519}
		}
	}
	return nil, nil
}

// rsa returns an RSA key. It returns nil if the key is weak, or so long that verification
// would be slow.
func (k *jwk) rsa() *rsa.PublicKey {
	n, e := new(big.Int).SetBytes(k.N), new(big.Int).SetBytes(k.E)
	exponent := e.Int64()
	if n.BitLen() < 2048 || n.BitLen() > 8192 || e.BitLen() > 31 || exponent < 3 || exponent%2 == 0 {
		return nil
	}
	return &rsa.PublicKey{N: n, E: int(exponent)}
}

func (k *jwk) ec() (jwt.VerificationKey, []string) {
	curves := map[string]struct {
		curve elliptic.Curve
		alg   string
	}{"P-256": {elliptic.P256(), "ES256"}, "P-384": {elliptic.P384(), "ES384"}, "P-521": {elliptic.P521(), "ES512"}}
	c, known := curves[k.Curve]
	if !known {
		return nil, nil
	}
	key, err := ecdsa.ParseUncompressedPublicKey(c.curve, slices.Concat([]byte{4}, k.X, k.Y))
	if err != nil { // the coordinates are too short, too long, or not on the curve
		return nil, nil
	}
	return key, []string{c.alg}
}
