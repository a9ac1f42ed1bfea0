package rounds

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
)

const (
	// minKey is the least length of a key, that of what is derived from it.
	minKey = 32
	// sealVersion begins whatever is sealed in this way.
	sealVersion = 1
	keyIDSize   = 8
)

// Why a seal is not opened. A client is not told which it was.
var (
	errUnknownKey = errors.New("sealed with a key that is not among the keys")
	errForged     = errors.New("not sealed here, or not for this request")
)

// processKey is the key of servers that have no keys of their own.
var processKey = sync.OnceValue(func() []byte {
	key := make([]byte, minKey)
	rand.Read(key) // never fails
	return key
})

// text is how sealed bytes travel. It has one form for the same bytes.
var text = base64.RawURLEncoding.Strict()

// sealer closes and opens what passes through the hands of clients:
//
//	version | key id | nonce | AES-256-GCM of the content
//
// The keys themselves are never used, only what is derived from them for this
// purpose.
type sealer struct{ keys []key }

type key struct {
	id   string
	aead cipher.AEAD
}

func newSealer(secrets [][]byte) (*sealer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("asking: there are no keys")
	}
	s := new(sealer)
	for i, secret := range secrets {
		if len(secret) < minKey {
			return nil, fmt.Errorf("asking: key %d has %d bytes, want %d or more", i, len(secret), minKey)
		}
		k, err := newKey(secret)
		if err != nil {
			return nil, fmt.Errorf("asking: key %d: %w", i, err)
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

func newKey(secret []byte) (key, error) {
	id, err := hkdf.Key(sha256.New, secret, nil, "mcpwright request state, key id", keyIDSize)
	if err != nil {
		return key{}, err
	}
	derived, err := hkdf.Key(sha256.New, secret, nil, "mcpwright request state, AES-256-GCM", 32)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return key{string(id), aead}, err
}

// seal closes content. It opens only with the same binding.
func (s *sealer) seal(content, binding []byte) string {
	k := &s.keys[0]
	b := make([]byte, 0, 1+keyIDSize+len(content)+k.aead.Overhead())
	b = append(append(b, sealVersion), k.id...)
	return text.EncodeToString(k.aead.Seal(b, nil, content, binding))
}

// open returns what was closed with one of the keys and the binding.
func (s *sealer) open(sealed string, binding []byte) ([]byte, error) {
	if strings.ContainsAny(sealed, "\r\n") {
		return nil, errForged // the decoder steps over them
	}
	b, err := text.DecodeString(sealed)
	if err != nil || len(b) < 1+keyIDSize || b[0] != sealVersion {
		return nil, errForged
	}
	id, b := string(b[1:1+keyIDSize]), b[1+keyIDSize:]
	for i := range s.keys {
		if s.keys[i].id != id {
			continue
		}
		content, err := s.keys[i].aead.Open(nil, nil, b, binding)
		if err != nil {
			return nil, errForged
		}
		return content, nil
	}
	return nil, errUnknownKey
}
