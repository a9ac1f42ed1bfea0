package wire_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"":                                    `""`,
		"plain":                               `"plain"`,
		"<b>&\u2028\x7f":                      "\"<b>&\u2028\x7f\"",
		"a\n\r\t\"\\\b\f\x00\x1f":             `"a\n\r\t\"\\\u0008\u000c\u0000\u001f"`,
		"é\xffé\xc0\xaf\xed\xa0\x80":          `"é` + "\uFFFD" + `é` + strings.Repeat("\uFFFD", 5) + `"`,
		"eight by\ntes and é then \xff\n end": `"eight by\ntes and é then ` + "\uFFFD" + `\n end"`,
	} {
		require.Equal(t, want, string(wire.AppendString(nil, s)))
	}
}

func TestAppendStringAgreesWithEncodingJSON(t *testing.T) {
	for n := range 40 {
		for _, c := range []string{"\"", "\\", "\n", "\x01", "\x7f", "\x80", "é", "😀", "\xf0\x9f", "<", "\u2028"} {
			s := strings.Repeat("x", n) + c + strings.Repeat("y", n%9)
			std, err := json.Marshal(s)
			require.NoError(t, err)
			var want, have string
			require.NoError(t, json.Unmarshal(std, &want))
			ours := wire.AppendString(nil, s)
			require.NoError(t, json.Unmarshal(ours, &have))
			require.Equal(t, want, have)
			require.NoError(t, decode(string(ours), func(d *wire.Decoder) { have = d.String() }))
			require.Equal(t, want, have)
		}
	}
}

// TestAppendLongStrings appends texts with escapes at all distances from the ends of words and blocks, and in
// parts that differ from the rest.
func TestAppendLongStrings(t *testing.T) {
	parts := []string{"plain text", "\n", "\"", "\x02", "\\", "größer", "😀", "\xff", "\xe2\x82", strings.Repeat("p", 300), strings.Repeat("\x00", 300)}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		kinds := 1 + r.IntN(len(parts)-1)
		var text strings.Builder
		for n := r.IntN(60) * r.IntN(20); n >= 0; n-- {
			text.WriteString(parts[r.IntN(kinds)])
		}
		std, err := json.Marshal(text.String())
		require.NoError(t, err)
		var want, have string
		require.NoError(t, json.Unmarshal(std, &want))
		out := wire.AppendString([]byte("before"), text.String())
		require.Equal(t, "before", string(out[:6]))
		require.NoError(t, json.Unmarshal(out[6:], &have))
		require.Equal(t, want, have)
	}
}

func TestAppendScalars(t *testing.T) {
	b := wire.AppendBytes(nil, []byte("hi"))
	b = wire.AppendBool(b, true)
	b = wire.AppendInt(b, math.MinInt64)
	require.Equal(t, `"aGk="true-9223372036854775808`, string(b))
	for v, want := range map[float64]string{5: "5", 0.5: "0.5", 1e21: "1e+21", 1e-7: "1e-07", 1e20: "100000000000000000000", -2.5: "-2.5", 0: "0"} {
		require.Equal(t, want, string(wire.AppendFloat(nil, v)))
		require.NoError(t, wire.Check([]byte(want), 0))
	}
}

func appendInt(b []byte, e *wire.Encoder, n int64) []byte { return e.Int(b, n, 0, 99) }

// member is a member of an ordered map.
type member struct {
	name  string
	value int64
}

func appendMembers(b []byte, e *wire.Encoder, list []member) []byte {
	return wire.AppendOrderedMap(b, e, list,
		func(m *member) string { return m.name },
		func(b []byte, e *wire.Encoder, m *member) []byte { return appendInt(b, e, m.value) })
}

func TestAppendCollections(t *testing.T) {
	have, err := encode(func(b []byte, e *wire.Encoder) []byte {
		b = wire.AppendList(b, e, []int64{1, 2}, appendInt)
		b = wire.AppendList(b, e, nil, appendInt)
		b = wire.AppendStructs(b, e, []Icon(nil))
		b = wire.AppendStrings(b, nil)
		b = wire.AppendMap(b, e, map[string]int64{"b": 2, "a": 1, "": 3}, appendInt)
		b = wire.AppendMap(b, e, nil, appendInt)
		b = appendMembers(b, e, []member{{"b", 2}, {"a", 1}})
		return appendMembers(b, e, nil)
	})
	require.NoError(t, err)
	require.Equal(t, `[1,2][][][]{"":3,"a":1,"b":2}{}{"b":2,"a":1}{}`, have)

	_, err = encode(func(b []byte, e *wire.Encoder) []byte {
		return appendMembers(b, e, []member{{"b", 1}, {"a", 2}, {"b", 3}})
	})
	require.EqualError(t, err, `encode /b: duplicate member "b"`)

	_, err = encode(func(b []byte, e *wire.Encoder) []byte {
		return wire.AppendMap(b, e, map[string]int64{"a": 1, "b": 100}, appendInt)
	})
	require.EqualError(t, err, `encode /b: want a number from 0 to 99, have 100`)
}

func TestNestedMaps(t *testing.T) {
	type inner = map[string]int64
	have, err := encode(func(b []byte, e *wire.Encoder) []byte {
		return wire.AppendMap(b, e, map[string]inner{"y": {"b": 2, "a": 1, "c": 3}, "x": {"d": 4}, "z": nil},
			func(b []byte, e *wire.Encoder, m inner) []byte { return wire.AppendMap(b, e, m, appendInt) })
	})
	require.NoError(t, err)
	require.Equal(t, `{"x":{"d":4},"y":{"a":1,"b":2,"c":3},"z":{}}`, have)
}

func TestLongTextAllocatesItsSize(t *testing.T) {
	if raceEnabled {
		t.Skip("slices.Grow allocates twice with the race detector")
	}
	for name, line := range map[string]string{"escapes": "a line of a file, with a \"quote\"\n", "plain": "only plain text ", "UTF-8": "größer\n"} {
		text := strings.Repeat(line, (4<<20)/len(line))
		size := len(wire.AppendString(nil, text))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = append(wire.AppendString([]byte(`{"text":`), text), `}]}}`...)
		runtime.ReadMemStats(&after)
		require.Less(t, float64(after.TotalAlloc-before.TotalAlloc), 1.3*float64(size), name)
	}
}
