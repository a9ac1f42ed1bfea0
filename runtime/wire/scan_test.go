package wire_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestCheckAcceptsJSON(t *testing.T) {
	for _, data := range []string{
		`null`, `true`, `false`, `0`, `-0`, `12.5e-3`, `1E+2`, `""`, `"é"`, `"\u00e9\ud83d\ude00"`, `{}`, `[]`,
		" \t\r\n[ 1 , { \"a\" : [ ] } ] \n", `{"a":1,"A":1,"a\u0000":1}`, `"\/\b\f\n\r\t\"\\"`,
		`1e-400`, `-1e-99999999999999999999`, `0e999999`, `1.7976931348623157e308`, `123456789012345678901234567890`,
		"\"\u2028\x7f\"", `{"":{"":""}}`, strings.Repeat("[", 256) + strings.Repeat("]", 256),
		"0." + strings.Repeat("0", 1000) + "1", "1" + strings.Repeat("0", 308),
	} {
		require.NoError(t, wire.Check([]byte(data), 0), data)
	}
}

func TestCheckRejectsInvalidJSON(t *testing.T) {
	for _, x := range []struct{ data, want string }{
		{``, `decode: unexpected end at byte 0`},
		{` `, `decode: unexpected end at byte 1`},
		{`tru`, `decode: unexpected 't' at byte 0`},
		{`nulls`, `decode: unexpected data after the value at byte 4`},
		{`{} {}`, `decode: unexpected data after the value at byte 3`},
		{"\xef\xbb\xbf{}", `decode: unexpected '\ufeff' at byte 0`},
		{`NaN`, `decode: unexpected 'N' at byte 0`},
		{`-Infinity`, `decode: missing digit in a number at byte 1`},
		{`01`, `decode: unexpected data after the value at byte 1`},
		{`[01]`, `decode /0: unexpected '1' at byte 2`},
		{`+1`, `decode: unexpected '+' at byte 0`},
		{`1.`, `decode: missing digit in a number at byte 2`},
		{`.5`, `decode: unexpected '.' at byte 0`},
		{`1e`, `decode: missing digit in a number at byte 2`},
		{`1e+`, `decode: missing digit in a number at byte 3`},
		{`[1,]`, `decode /1: unexpected ']' at byte 3`},
		{`[,1]`, `decode /0: unexpected ',' at byte 1`},
		{`[1 2]`, `decode /0: unexpected '2' at byte 3`},
		{`{"a":1,}`, `decode: unexpected '}' at byte 7`},
		{`{"a" 1}`, `decode /a: unexpected '1' at byte 5`},
		{`{a:1}`, `decode: unexpected 'a' at byte 1`},
		{`{"a":}`, `decode /a: unexpected '}' at byte 5`},
		{`{"a":1`, `decode /a: unexpected end at byte 6`},
		{`/* */1`, `decode: unexpected '/' at byte 0`},
		{`[1e309]`, `decode /0: number beyond the range of float64 at byte 1`},
		{`-1e309`, `decode: number beyond the range of float64 at byte 0`},
		{"1" + strings.Repeat("0", 309), `decode: number beyond the range of float64 at byte 0`},
		{`"a`, `decode: unterminated string at byte 2`},
		{`"a\`, `decode: unterminated string at byte 2`},
		{"\"a\nb\"", `decode: control character in a string at byte 2`},
		{`"\x"`, `decode: invalid escape in a string at byte 1`},
		{`"\u12g4"`, `decode: invalid escape in a string at byte 1`},
		{`"\ud83d"`, `decode: unpaired surrogate in a string at byte 1`},
		{`"\ude00\ud83d"`, `decode: unpaired surrogate in a string at byte 1`},
		{`"\ud83d\u0041"`, `decode: unpaired surrogate in a string at byte 1`},
		{"\"ab\xff\"", `decode: invalid UTF-8 at byte 3`},
		{"\"\xed\xa0\x80\"", `decode: invalid UTF-8 at byte 1`},
		{"{\"\xc0\x80\":1}", `decode: invalid UTF-8 at byte 2`},
		{`{"a":1,"a":2}`, `decode /a: duplicate member "a" at byte 10`},
		{`{"a":1,"\u0061":2}`, `decode /a: duplicate member "a" at byte 15`},
		{`[{"x":{"a/b~":1,"a\/b~":2}}]`, `decode /0/x/a~1b~0: duplicate member "a/b~" at byte 23`},
		{strings.Repeat("[", 257), `decode` + " " + strings.Repeat("/0", 100) + "…: nested deeper than 256 levels at byte 256"},
	} {
		err := wire.Check([]byte(x.data), 0)
		require.EqualError(t, err, x.want, x.data)
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e)
		require.True(t, e.Syntax)
	}
}

func TestCheckLimitsDepth(t *testing.T) {
	require.NoError(t, wire.Check([]byte(`[[]]`), 2))
	require.Error(t, wire.Check([]byte(`[{"a":[]}]`), 2))
	deep := strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000)
	require.NoError(t, wire.Check([]byte(deep), 1<<30))
	require.Error(t, wire.Check([]byte(`[`+deep+`]`), 1<<30), "MaxDepth must not exceed 10,000")
}

// The cost of each of these documents would be quadratic in a naive scanner. The
// test requires that a document of 16 times the size takes much less than 256 times
// the time, so that it passes on slow machines too.
func TestCheckIsLinear(t *testing.T) {
	for name, document := range map[string]func(n int) string{
		"many names":    func(n int) string { return manyNames(n, `"%d":0,`) },
		"escaped names": func(n int) string { return manyNames(n, `"\u0030%d":0,`) },
		"large then small": func(n int) string {
			small := `{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"o":0,"p":0,"q":0,"r":0},`
			return `[` + manyNames(n, `"%d":0,`) + `,` + strings.Repeat(small, n/20) + `0]`
		},
		"open arrays":     func(n int) string { return strings.Repeat("[", 20*n) },
		"open objects":    func(n int) string { return strings.Repeat(`{"":`, 10*n) },
		"a long number":   func(n int) string { return strings.Repeat("9", 20*n) },
		"a long fraction": func(n int) string { return "0." + strings.Repeat("9", 20*n) + "e308" },
		"a long exponent": func(n int) string { return "1e" + strings.Repeat("9", 20*n) },
		"a long text":     func(n int) string { return `"` + strings.Repeat(`\u00e9`, 5*n) + `"` },
	} {
		const n = 5_000
		small, large := []byte(document(n)), []byte(document(16*n))
		requireLinear(t, name, 80, func() { _ = wire.Check(small, 0) }, func() { _ = wire.Check(large, 0) })
	}
}

// requireLinear fails the test unless the time of large is at most factor times the
// time of small. Each time is the best of several runs. A busy machine gets more
// attempts, which do not help if the time really is not linear.
func requireLinear(t *testing.T, name string, factor time.Duration, small, large func()) {
	t.Helper()
	best := func(work func()) time.Duration {
		shortest := time.Duration(math.MaxInt64)
		for range 5 {
			start := time.Now()
			work()
			shortest = min(shortest, time.Since(start))
		}
		return shortest
	}
	var s, l time.Duration
	for range 10 {
		if s, l = best(small), best(large); l < factor*s+20*time.Millisecond {
			return
		}
	}
	require.Fail(t, "time grows faster than size", "%s: %v, %v", name, s, l)
}

// manyNames returns an object with n members.
func manyNames(n int, format string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return strings.TrimSuffix(b.String(), ",") + "}"
}

func TestCheckFindsDuplicatesAmongManyNames(t *testing.T) {
	many := strings.TrimSuffix(manyNames(400_000, `"%d":0,`), "}")
	require.NoError(t, wire.Check([]byte(many+"}"), 0))
	require.ErrorContains(t, wire.Check([]byte(many+`,"77":0}`), 0), `duplicate member "77"`)
	require.ErrorContains(t, wire.Check([]byte(many+`,"\u00377":0}`), 0), `duplicate member "77"`)
}

func TestCheckFindsDuplicatesInObjectsOfEverySize(t *testing.T) {
	for n := 1; n < 70; n++ {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"n%d":{"n%d":0}`, i, i))
		}
		data := `{` + strings.Join(members, ",") + `}`
		require.NoError(t, wire.Check([]byte(data), 0))
		for i := range n {
			again := data[:len(data)-1] + fmt.Sprintf(`,"n%d":0}`, i)
			require.ErrorContains(t, wire.Check([]byte(again), 0), "duplicate", again)
		}
	}
}

func TestErrorTextsAreShort(t *testing.T) {
	long := strings.Repeat("long", 1<<18)
	err := wire.Check([]byte(`{"`+long+`":1,"`+long+`":2}`), 0)
	require.Less(t, len(err.Error()), 1000)
	var e *wire.DecodeError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "/"+long, e.Pointer, "Pointer must not be cut")
}

func TestCompact(t *testing.T) {
	out, err := wire.Compact([]byte(" {\n \"a b\" : [ 1 ,\r\n \"\\\" x\" ] } "))
	require.NoError(t, err)
	require.Equal(t, `{"a b":[1,"\" x"]}`, string(out))

	_, err = wire.Compact([]byte(`{"a":1,"a":1}`))
	require.Error(t, err)
}

func TestKindOfDocument(t *testing.T) {
	for doc, kind := range map[string]byte{
		" \t\r\n[": '[', "{}": '{', `"`: '"', "-1": '0', "7": '0', "true": 't', "false": 'f', "null": 'n',
		"": 0, " ": 0, "x[": 0, "\v[": 0, "\xef\xbb\xbf[": 0,
	} {
		require.Equal(t, kind, wire.Kind([]byte(doc)), doc)
	}
}
