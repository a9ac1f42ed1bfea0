package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // for crypto.SHA256
	_ "crypto/sha512" // for crypto.SHA384 and crypto.SHA512
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

// publicKeyAlgorithms are the signature algorithms whose verification key is not secret.
var publicKeyAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", algEdDSA, algEd25519}

// EdDSA and Ed25519 are two names of the same algorithm. The second one is the name in
// RFC 9864.
const (
	algEdDSA   = "EdDSA"
	algEd25519 = "Ed25519"
)

// signingAlgorithms returns the algorithms that a key can sign with, the preferred one
// first.
func signingAlgorithms(key crypto.PublicKey) []string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return []string{"RS256", "PS256", "RS384", "RS512", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		return map[int][]string{256: {"ES256"}, 384: {"ES384"}, 521: {"ES512"}}[key.Params().BitSize]
	case ed25519.PublicKey:
		return []string{algEdDSA, algEd25519}
	}
	return nil
}

// selectAlgorithm returns the algorithm to sign with. If want is empty, it is the first
// algorithm of the key that the peer supports. If supported has no such algorithm, it is
// the preferred algorithm of the key.
func selectAlgorithm(key crypto.Signer, want string, supported []string) (string, error) {
	possible := signingAlgorithms(key.Public())
	switch {
	case len(possible) == 0:
		return "", fmt.Errorf("unsupported key of type %T", key)
	case want == "":
		for _, alg := range possible {
			if slices.Contains(supported, alg) {
				return alg, nil
			}
		}
		return possible[0], nil
	case !slices.Contains(possible, want):
		return "", fmt.Errorf("key of type %T cannot sign with algorithm %q", key, want)
	}
	return want, nil
}

// signJWT returns a signed JWT. It adds the algorithm to the header. The key may be in
// hardware.
func signJWT(key crypto.Signer, alg string, header, claims map[string]any) (string, error) {
	header["alg"] = alg
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	signature, err := sign(key, alg, []byte(text))
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// sign returns the signature of a text as JSON Web Signatures (RFC 7518) contain it.
func sign(key crypto.Signer, alg string, text []byte) ([]byte, error) {
	if alg == algEdDSA || alg == algEd25519 {
		return key.Sign(rand.Reader, text, crypto.Hash(0))
	}
	hash := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[alg[2:]]
	h := hash.New()
	h.Write(text)
	var opts crypto.SignerOpts = hash
	if alg[:2] == "PS" {
		opts = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: hash}
	}
	signature, err := key.Sign(rand.Reader, h.Sum(nil), opts)
	if public, ok := key.Public().(*ecdsa.PublicKey); ok && err == nil {
		return joinECDSA(signature, (public.Params().BitSize+7)/8)
	}
	return signature, err
}

// joinECDSA converts an ECDSA signature from ASN.1 to two numbers of the given size.
func joinECDSA(signature []byte, size int) ([]byte, error) {
	var numbers struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(signature, &numbers); err != nil || len(rest) > 0 {
		return nil, errors.New("malformed ECDSA signature")
	}
	if max(numbers.R.BitLen(), numbers.S.BitLen()) > 8*size || min(numbers.R.Sign(), numbers.S.Sign()) <= 0 {
		return nil, errors.New("malformed ECDSA signature")
	}
	joined := make([]byte, 2*size)
	numbers.R.FillBytes(joined[:size])
	numbers.S.FillBytes(joined[size:])
	return joined, nil
}

// registerEd25519 makes the name Ed25519 known to package jwt, which only has EdDSA.
var registerEd25519 = sync.OnceFunc(func() {
	jwt.RegisterSigningMethod(algEd25519, func() jwt.SigningMethod { return &ed25519Method{} })
})

// ed25519Method is EdDSA with the name of RFC 9864.
type ed25519Method struct{ jwt.SigningMethodEd25519 }

// Alg implements [jwt.SigningMethod].
func (*ed25519Method) Alg() string { return algEd25519 }
