package rounds

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
)

// stateVersion begins every state in this encoding.
const stateVersion = 1

// skew is by how much the clocks of two replicas may differ.
const skew = time.Minute

var (
	errMalformed = errors.New("not in the form of this version")
	errExpired   = errors.New("expired")
)

// state is what one round leaves to the next by way of the client. The zero
// state says nothing.
type state struct {
	rounds  uint64 // how many there were
	expires time.Time
	chain   string           // random, names the chain of rounds; empty while nobody needs it
	asked   map[string]entry // the questions, by their keys
	memos   map[string]json.RawMessage
	passed  map[string]string // states of others who asked through us
}

// entry is a question and its answer, nil while there is none.
type entry struct {
	sum    digest // zero where only the key is known
	answer json.RawMessage
}

// append writes the state: numbers of variable length, texts behind their
// length, maps in the order of their names.
func (s *state) append(b []byte) []byte {
	b = append(b, stateVersion)
	b = binary.AppendUvarint(b, s.rounds)
	b = binary.AppendUvarint(b, uint64(s.expires.Add(time.Second-1).Unix())) // not before
	b = appendText(b, s.chain)
	b = appendMap(b, s.asked, func(b []byte, e entry) []byte {
		return appendText(append(b, e.sum[:]...), e.answer)
	})
	b = appendMap(b, s.memos, appendText[json.RawMessage])
	return appendMap(b, s.passed, appendText[string])
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendMap[T any](b []byte, m map[string]T, elem func([]byte, T) []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b = elem(appendText(b, name), m[name])
	}
	return b
}

// parse reads what append wrote.
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
	s.passed = readMap(r, func() string { return string(r.text()) })
	if r.bad || len(r.rest) > 0 {
		return nil, errMalformed
	}
	return s, nil
}

// reader takes bytes from the front. Where they run out it goes bad, and gives
// nothing from then on.
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

// text returns nil where the text is empty.
func (r *reader) text() []byte {
	if b := r.take(r.uvarint()); len(b) > 0 {
		return b
	}
	return nil
}

// readMap stops at the first sign of bad bytes, however many elements they
// promise.
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

// fresh tells whether the state may still be used. One that is good for longer
// than any that is made now comes from a clock that is wrong.
func (s *state) fresh(now time.Time, expiry time.Duration) error {
	if now.After(s.expires) || s.expires.Sub(now) > expiry+skew {
		return errExpired
	}
	return nil
}
