package scale

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	// minKey is the minimum length of a key.
	minKey = 32
	// sealVersion is the first byte of sealed data.
	sealVersion = 1
	keyIDSize   = 8
)

var (
	errUnknownKey = errors.New("sealed with an unknown key")
	errForged     = errors.New("data in the engine was changed, or belongs to another session")
)

// keyring seals the data in the engine, and signs session ids and forwarded requests. The first key
// is used for new data, and all keys for existing data.
type keyring []key

type key struct {
	id   string
	aead cipher.AEAD
	mac  []byte
}

func newKeyring(secrets [][]byte) (keyring, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no keys")
	}
	var ring keyring
	for i, secret := range secrets {
		if len(secret) < minKey {
			return nil, fmt.Errorf("key %d has %d bytes, want at least %d", i, len(secret), minKey)
		}
		k, err := newKey(secret)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		ring = append(ring, k)
	}
	return ring, nil
}

func newKey(secret []byte) (k key, err error) {
	derive := func(purpose string, size int) (b []byte) {
		if err == nil {
			b, err = hkdf.Key(sha256.New, secret, nil, "mcpwright replicas, "+purpose, size)
		}
		return b
	}
	id, encryption := derive("key id", keyIDSize), derive("AES-256-GCM", 32)
	k.id, k.mac = string(id), derive("HMAC-SHA-256", 32)
	if err != nil {
		return k, err
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return k, err
	}
	k.aead, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}

// seal encrypts content. The same binding is required to decrypt it. Two results are never equal.
func (ring keyring) seal(content []byte, binding string) []byte {
	k := &ring[0]
	b := make([]byte, 0, 1+keyIDSize+len(content)+k.aead.Overhead())
	b = append(append(b, sealVersion), k.id...)
	return k.aead.Seal(b, nil, content, []byte(binding))
}

// open decrypts content that was encrypted with one of the keys and the binding.
func (ring keyring) open(sealed []byte, binding string) ([]byte, error) {
	if len(sealed) < 1+keyIDSize || sealed[0] != sealVersion {
		return nil, errForged
	}
	id, sealed := string(sealed[1:1+keyIDSize]), sealed[1+keyIDSize:]
	for i := range ring {
		if ring[i].id != id {
			continue
		}
		content, err := ring[i].aead.Open(nil, nil, sealed, []byte(binding))
		if err != nil {
			return nil, errForged
		}
		return content, nil
	}
	return nil, errUnknownKey
}

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// sign returns a short signature of a text for a purpose.
func (k *key) sign(purpose, text string) string {
	h := hmac.New(sha256.New, k.mac)
	h.Write([]byte(purpose + "\x00" + text))
	return encoding.EncodeToString(h.Sum(nil)[:8])
}

// sign signs a text with the first key.
func (ring keyring) sign(purpose, text string) string { return ring[0].sign(purpose, text) }

// signed reports whether one of the keys has signed a text.
func (ring keyring) signed(purpose, text, signature string) bool {
	for i := range ring {
		if hmac.Equal([]byte(ring[i].sign(purpose, text)), []byte(signature)) {
			return true
		}
	}
	return false
}

const (
	randomSize = 26
	tagSize    = 8
)

// newTag returns the name of a replica. It is random: each process has another one.
func newTag() string { return rand.Text()[:tagSize] }

// newSessionID returns a session id: a random text, the tag of the replica, and a signature. The
// purpose is specific to the endpoint.
func (ring keyring) newSessionID(purpose, tag string) string {
	text := rand.Text()[:randomSize] + "." + tag
	return text + "." + ring.sign(purpose, text)
}

// parseSessionID returns the tag in a session id. An id that no replica made is not ok.
func (ring keyring) parseSessionID(purpose, id string) (tag string, ok bool) {
	const size = randomSize + 1 + tagSize
	if len(id) <= size+1 || id[randomSize] != '.' || id[size] != '.' || strings.Contains(id[size+1:], ".") {
		return "", false
	}
	return id[randomSize+1 : size], ring.signed(purpose, id[:size], id[size+1:])
}

// engineKey returns the key of a session in the engine. A reader of the engine cannot use the
// session, because the key does not contain its id.
func engineKey(purpose, id string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + id))
	return "s/" + base64.RawURLEncoding.EncodeToString(sum[:])
}
