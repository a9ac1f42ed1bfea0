package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

// publicKey is a key of an issuer.
type publicKey struct {
	id   string
	algs []string // in which it may sign
	key  jwt.VerificationKey
}

// fits tells whether the key may have signed in an algorithm. An empty id is that
// of a token which names no key.
func (k *publicKey) fits(id, alg string) bool {
	return (id == "" || id == k.id) && slices.Contains(k.algs, alg)
}

// maxKeys is how many keys an issuer may have: a token that names none is tried
// with each of them.
const maxKeys = 100

// parseKeys reads a set of keys, without those that sign nothing or cannot be read.
func parseKeys(data []byte) ([]publicKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys are more than %d", len(set.Keys), maxKeys)
	}
	var keys []publicKey
	for _, raw := range set.Keys {
		var k jwk
		if json.Unmarshal(raw, &k) != nil || !k.signs() {
			continue
		}
		key, algs := k.public()
		if algs = k.only(algs); algs != nil {
			keys = append(keys, publicKey{k.ID, algs, key})
		}
	}
	if keys == nil {
		return nil, fmt.Errorf("none of %d keys can be used", len(set.Keys))
	}
	return keys, nil
}

// jwk is a key as issuers publish it.
type jwk struct {
	ID         string   `json:"kid"`
	Type       string   `json:"kty"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  string   `json:"alg"`
	Curve      string   `json:"crv"`
	N          octets   `json:"n"`
	E          octets   `json:"e"`
	X          octets   `json:"x"`
	Y          octets   `json:"y"`
}

// octets are bytes in the encoding of keys.
type octets []byte

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *octets) UnmarshalText(text []byte) (err error) {
	*o, err = base64.RawURLEncoding.DecodeString(string(text))
	return err
}

// signs tells whether the key is for signatures.
func (k *jwk) signs() bool {
	return (k.Use == "" || k.Use == "sig") && (k.Operations == nil || slices.Contains(k.Operations, "verify"))
}

// only returns what the key itself lets be of algs. An issuer may call EdDSA by the
// name of the curve.
func (k *jwk) only(algs []string) []string {
	switch {
	case k.Algorithm == "", k.Algorithm == "Ed25519" && slices.Contains(algs, "EdDSA"):
		return algs
	case slices.Contains(algs, k.Algorithm):
		return []string{k.Algorithm}
	}
	return nil
}

// public returns the key, and the algorithms that go with one of its kind.
func (k *jwk) public() (jwt.VerificationKey, []string) {
	switch k.Type {
	case "RSA":
		if key := k.rsa(); key != nil {
			return key, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
		}
	case "EC":
		return k.ec()
	case "OKP":
		if k.Curve == "Ed25519" && len(k.X) == ed25519.PublicKeySize {
			return ed25519.PublicKey(k.X), []string{"EdDSA"}
		}
	}
	return nil, nil
}

// rsa returns a key that is neither weak nor so long that it wears out the server.
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
	if err != nil { // it is too short, too long, or not on its curve
		return nil, nil
	}
	return key, []string{c.alg}
}
