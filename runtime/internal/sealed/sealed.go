// Package sealed encrypts the records that replicas share, and writes them to an engine.
package sealed

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
)

const (
	// minKey is the minimum length of a key.
	minKey = 32
	// version is the first byte of sealed data.
	version   = 1
	keyIDSize = 8
)

var (
	// ErrUnknownKey is the error for data that was sealed with a key that the ring does not have.
	ErrUnknownKey = errors.New("sealed with an unknown key")
	// ErrForged is the error for data that no ring has sealed with the binding.
	ErrForged = errors.New("data in the engine was changed, or belongs to another session or task")
)

// Ring seals data and signs texts. The first key is used for new data, and all keys for existing
// data.
type Ring []key

type key struct {
	id   string
	aead cipher.AEAD
	mac  []byte
}

// NewRing derives the keys of a ring from secrets. Rings with different uses are independent.
func NewRing(use string, secrets [][]byte) (Ring, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no keys")
	}
	var ring Ring
	for i, secret := range secrets {
		if len(secret) < minKey {
			return nil, fmt.Errorf("key %d has %d bytes, want at least %d", i, len(secret), minKey)
		}
		k, err := newKey(use, secret)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		ring = append(ring, k)
	}
	return ring, nil
}

func newKey(use string, secret []byte) (k key, err error) {
	derive := func(purpose string, size int) (b []byte) {
		if err == nil {
			b, err = hkdf.Key(sha256.New, secret, nil, "mcpwright "+use+", "+purpose, size)
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

// Seal encrypts content. The same binding is required to decrypt it. Two results are never equal.
func (ring Ring) Seal(content []byte, binding string) []byte {
	k := &ring[0]
	b := make([]byte, 0, 1+keyIDSize+len(content)+k.aead.Overhead())
	b = append(append(b, version), k.id...)
	return k.aead.Seal(b, nil, content, []byte(binding))
}

// Open decrypts content that was encrypted with one of the keys and the binding.
func (ring Ring) Open(sealed []byte, binding string) ([]byte, error) {
	if len(sealed) < 1+keyIDSize || sealed[0] != version {
		return nil, ErrForged
	}
	id, sealed := string(sealed[1:1+keyIDSize]), sealed[1+keyIDSize:]
	for i := range ring {
		if ring[i].id != id {
			continue
		}
		content, err := ring[i].aead.Open(nil, nil, sealed, []byte(binding))
		if err != nil {
			return nil, ErrForged
		}
		return content, nil
	}
	return nil, ErrUnknownKey
}

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// sign returns a short signature of a text for a purpose.
func (k *key) sign(purpose, text string) string {
	h := hmac.New(sha256.New, k.mac)
	h.Write([]byte(purpose + "\x00" + text))
	return encoding.EncodeToString(h.Sum(nil)[:8])
}

// Sign signs a text with the first key.
func (ring Ring) Sign(purpose, text string) string { return ring[0].sign(purpose, text) }

// Signed reports whether one of the keys has signed a text.
func (ring Ring) Signed(purpose, text, signature string) bool {
	for i := range ring {
		if hmac.Equal([]byte(ring[i].sign(purpose, text)), []byte(signature)) {
			return true
		}
	}
	return false
}

const (
	firstDelay = 10 * time.Millisecond // before an operation is repeated; doubled each time
	maxDelay   = 500 * time.Millisecond
)

// Put writes a record until ctx ends. If the engine leaves open whether the record was written, Put
// reads it. Data must be different from all other data, as sealed data is.
func Put(ctx context.Context, table engine.Table, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		version, err := table.Put(ctx, key, data, prev, keep)
		if err == nil {
			return version, nil
		}
		switch r, getErr := table.Get(ctx, key); {
		case getErr == nil && bytes.Equal(r.Data, data):
			return r.Version, nil
		case getErr == nil && r.Version != prev, errors.Is(getErr, engine.ErrNone) && prev != 0:
			return 0, engine.ErrConflict
		}
		if !Sleep(ctx, delay) {
			return 0, err
		}
	}
}

// Sleep waits for a time. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
