package rounds

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// state is the state that the client carries from one round to the next.
type state struct {
	rounds   uint64 // number of rounds so far
	expires  time.Time
	chain    string           // random name of the chain of rounds; empty until it is needed
	asked    map[string]entry // the questions by key
	memos    map[string]json.RawMessage
	upstream map[string]string // states of upstream servers
}

// entry is a question and its response, or nil.
type entry struct {
	sum    digest // zero if only the key is known
	answer json.RawMessage
}

// digest is a hash of the method and params of a message.
type digest [16]byte

// digestOf returns the digest of a message in a scope. The order of members, white space and
// the escapes of strings do not matter. The spelling of numbers does, so that no digit is
// lost.
func digestOf(scope, method string, params []byte) (digest, error) {
	canonical, err := canonical(params)
	if err != nil {
		return digest{}, err
	}
	h := sha256.New()
	h.Write(appendText(appendText(nil, scope), method))
	h.Write(canonical)
	return digest(h.Sum(nil)[:len(digest{})]), nil
}

// String returns the digest as the key of a question.
func (d digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// canonical returns JSON in canonical form. The JSON has been validated: member names are
// unique, and strings are valid.
func canonical(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// nth returns the key of the nth of several equal questions.
func nth(key string, n int) string {
	if n == 1 {
		return key
	}
	return key + "#" + strconv.Itoa(n)
}

// upstreamState returns the state of an upstream server, or nil.
func (s *state) upstreamState(whose string) *string {
	if text, has := s.upstream[whose]; has {
		return &text
	}
	return nil
}

// setUpstreamState stores the state of an upstream server for the next round. Nil removes it.
func (s *state) setUpstreamState(whose string, text *string) {
	delete(s.upstream, whose)
	if text != nil {
		put(&s.upstream, whose, *text)
	}
}

// needed reports whether the state contains anything that the client does not send anyway.
func (s *state) needed() bool {
	for _, e := range s.asked {
		if e.answer != nil {
			return true
		}
	}
	return s.chain != "" || len(s.upstream) > 0
}

// fresh returns an error if the state has expired, or expires later than state that is made
// now, which means that a clock was wrong.
func (s *state) fresh(now time.Time, expiry time.Duration) error {
	if now.After(s.expires) || s.expires.Sub(now) > expiry+maxClockSkew {
		return errExpired
	}
	return nil
}

// stateVersion is the first byte of the encoding.
const stateVersion = 1

// maxClockSkew limits the difference between the clocks of two replicas.
const maxClockSkew = time.Minute

var (
	errMalformed = errors.New("malformed state")
	errExpired   = errors.New("state has expired")
)

// append encodes the state: integers of variable length, texts with their length before them,
// maps sorted by name.
func (s *state) append(b []byte) []byte {
	b = append(b, stateVersion)
	b = binary.AppendUvarint(b, s.rounds)
	b = binary.AppendUvarint(b, uint64(s.expires.Add(time.Second-1).Unix())) // round up
	b = appendText(b, s.chain)
	b = appendMap(b, s.asked, func(b []byte, e entry) []byte {
		return appendText(append(b, e.sum[:]...), e.answer)
	})
	b = appendMap(b, s.memos, appendText[json.RawMessage])
	return appendMap(b, s.upstream, appendText[string])
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendMap[T any](b []byte, m map[string]T, elem func([]byte, T) []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b = elem(appendText(b, name), m[name])
	}
	return b
}

// parse decodes the state.
func parse(b []byte) (*state, error) {
	if len(b) == 0 || b[0] != stateVersion {
		return nil, errMalformed
	}
	r := &reader{rest: b[1:]}
	s := &state{rounds: r.uvarint(), expires: time.Unix(int64(r.uvarint()), 0), chain: string(r.text())}
	s.asked = readMap(r, func() (e entry) {
		copy(e.sum[:], r.take(uint64(len(e.sum))))
		e.answer = r.text()
		return e
	})
	s.memos = readMap(r, func() json.RawMessage { return r.text() })
	s.upstream = readMap(r, func() string { return string(r.text()) })
	if r.bad || len(r.rest) > 0 {
		return nil, errMalformed
	}
	return s, nil
}

// reader decodes a state. After the end of the bytes, bad is true and all values are empty.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.rest, r.bad = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// text returns nil for an empty text.
func (r *reader) text() []byte {
	if b := r.take(r.uvarint()); len(b) > 0 {
		return b
	}
	return nil
}

// readMap stops at an error, whatever number of elements the bytes announce.
func readMap[T any](r *reader, elem func() T) map[string]T {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	m := make(map[string]T)
	for ; n > 0 && !r.bad; n-- {
		name := string(r.text())
		m[name] = elem()
	}
	return m
}

const (
	// minKey is the minimum length of a key, and the length of a generated one.
	minKey = 32
	// sealVersion is the first byte of encrypted state.
	sealVersion = 1
	keyIDSize   = 8
)

// Why state cannot be decrypted. Clients receive the same error for both.
var (
	errUnknownKey = errors.New("unknown key")
	errForged     = errors.New("state was changed, or belongs to another request")
)

// processSealer is the sealer of servers without configured keys. Its key is made when a server
// first needs it.
var processSealer = sync.OnceValue(func() *sealer {
	secret := make([]byte, minKey)
	rand.Read(secret) // never fails
	s, err := newSealer([][]byte{secret})
	if err != nil {
		panic(err) // the length is valid
	}
	return s
})

// text is the encoding of encrypted state. It has one form for equal bytes.
var text = base64.RawURLEncoding.Strict()

// sealer encrypts and decrypts the state that clients carry:
//
//	version | key id | nonce | AES-256-GCM of the content
//
// The encryption keys are derived from the configured keys for this purpose.
type sealer struct{ keys []key }

type key struct {
	id   string
	aead cipher.AEAD
}

func newSealer(secrets [][]byte) (*sealer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("questions: no keys")
	}
	s := new(sealer)
	for i, secret := range secrets {
		if len(secret) < minKey {
			return nil, fmt.Errorf("questions: key %d has %d bytes, want at least %d", i, len(secret), minKey)
		}
		k, err := newKey(secret)
		if err != nil {
			return nil, fmt.Errorf("questions: key %d: %w", i, err)
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

// seal encrypts content. The same binding is required to decrypt it.
func (s *sealer) seal(content, binding []byte) string {
	k := &s.keys[0]
	b := make([]byte, 0, 1+keyIDSize+len(content)+k.aead.Overhead())
	b = append(append(b, sealVersion), k.id...)
	return text.EncodeToString(k.aead.Seal(b, nil, content, binding))
}

// open decrypts content that was encrypted with one of the keys and the binding.
func (s *sealer) open(sealed string, binding []byte) ([]byte, error) {
	if strings.ContainsAny(sealed, "\r\n") {
		return nil, errForged // the decoder ignores them
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
