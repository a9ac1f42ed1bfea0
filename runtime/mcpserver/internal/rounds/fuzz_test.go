package rounds

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func someState() *state {
	return &state{
		rounds: 3, expires: time.Unix(1_800_000_000, 0), chain: "chain",
		asked: map[string]entry{
			"open":     {sum: digest{1}},
			"answered": {sum: digest{2}, answer: json.RawMessage(`{"action":"decline"}`)},
		},
		memos:    map[string]json.RawMessage{"m": json.RawMessage(`1`)},
		upstream: map[string]string{"": "", "to:x/": "theirs"},
	}
}

func TestStateRoundTrip(t *testing.T) {
	for _, s := range []*state{someState(), {expires: time.Unix(0, 0)}} {
		written := s.append(nil)
		got, err := parse(written)
		require.NoError(t, err)
		require.Equal(t, s, got)
		for i := range written {
			_, err := parse(written[:i])
			require.ErrorIs(t, err, errMalformed, "cut off after %d bytes", i)
		}
		_, err = parse(append(written, 0))
		require.ErrorIs(t, err, errMalformed)
	}
	require.Equal(t, someState().append(nil), someState().append(nil), "the same bytes each time")
}

func TestStateOfOtherVersionIsRejected(t *testing.T) {
	written := someState().append(nil)
	written[0]++
	_, err := parse(written)
	require.ErrorIs(t, err, errMalformed)
}

func TestFalseLengthsAllocateNothing(t *testing.T) {
	for _, lie := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, err := parse([]byte("\x01\x00\x00" + lie))
		require.ErrorIs(t, err, errMalformed)
		_, err = parse([]byte("\x01\x00\x00\x00" + lie))
		require.ErrorIs(t, err, errMalformed)
	}
	require.ErrorIs(t, (&state{expires: time.Unix(math.MaxInt64, 0)}).fresh(time.Now(), time.Minute), errExpired)
}

// FuzzParse decodes states that could be encrypted with the key.
func FuzzParse(f *testing.F) {
	f.Add(someState().append(nil))
	f.Add((&state{}).append(nil))
	f.Add([]byte("\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse(data)
		if err != nil {
			return
		}
		again, err := parse(s.append(nil))
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

// FuzzOpen decrypts arbitrary texts.
func FuzzOpen(f *testing.F) {
	s, err := newSealer([][]byte{[]byte(strings.Repeat("k", minKey))})
	require.NoError(f, err)
	binding := []byte("binding")
	hasState := s.seal([]byte("content"), binding)
	f.Add(hasState)
	f.Add(hasState[:len(hasState)-1])
	f.Add("\n" + hasState)
	f.Add("")
	f.Add(base64.RawURLEncoding.EncodeToString(append([]byte{sealVersion}, s.keys[0].id...)))
	f.Fuzz(func(t *testing.T, hostile string) {
		content, err := s.open(hostile, binding)
		if err != nil {
			require.Nil(t, content)
			return
		}
		// Only text that was encrypted with the key is accepted.
		require.Equal(t, "content", string(content))
		_, err = s.open(hostile, []byte("another"))
		require.ErrorIs(t, err, errForged)
	})
}

// FuzzCanonical compares the canonical form with its input.
func FuzzCanonical(f *testing.F) {
	f.Add(`{"b":1,"a":[1.0,"é",null]}`)
	f.Add(`"\ud83d\ude00 <"`)
	f.Fuzz(func(t *testing.T, text string) {
		one, err := canonical([]byte(text))
		if err != nil {
			return
		}
		two, err := canonical(one)
		require.NoError(t, err)
		require.Equal(t, string(one), string(two))
		require.True(t, json.Valid(one))
	})
}
