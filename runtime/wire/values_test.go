package wire_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestDecodeIntegers(t *testing.T) {
	for data, want := range map[string]int64{
		`0`: 0, `-0`: 0, `7`: 7, `1.0`: 1, `1e2`: 100, `1.50e1`: 15, `10e-1`: 1, `-12.00`: -12, `0e99999`: 0, `0e99999999999999999999`: 0, `0.0e-5`: 0,
		`9223372036854775807`: math.MaxInt64, `-9223372036854775808`: math.MinInt64, `922337203685477580.7e1`: math.MaxInt64,
		`0.` + strings.Repeat("0", 399) + `1e400`: 1,
	} {
		var have int64
		require.NoError(t, decode(data, func(d *wire.Decoder) { have = d.Int(math.MinInt64, math.MaxInt64) }), data)
		require.Equal(t, want, have, data)
	}
	for data, want := range map[string]string{
		`1.5`:                     `want an integer, have 1.5`,
		`1e-99999999999999999999`: `want an integer, have 1e-99999999999999999999`,
		`1e-1`:                    `want an integer, have 1e-1`,
		`9223372036854775808`:     `9223372036854775808 does not fit 64 bits`,
		`1e19`:                    `1e19 does not fit 64 bits`,
		`1e300`:                   `1e300 does not fit 64 bits`,
		`"1"`:                     `want an integer, have a string`,
		`-9223372036854775809`:    `-9223372036854775809 does not fit 64 bits`,
	} {
		err := decode(data, func(d *wire.Decoder) { d.Int(math.MinInt64, math.MaxInt64) })
		require.EqualError(t, err, "decode: "+want, data)
	}
	require.EqualError(t, decode(`11`, func(d *wire.Decoder) { d.Int(0, 10) }), `decode: want a number from 0 to 10, have 11`)
	require.EqualError(t, decode(`11`, func(d *wire.Decoder) { d.Int(math.MinInt64, 10) }), `decode: want at most 10, have 11`)
}

func TestDecodeNumbers(t *testing.T) {
	for _, want := range []float64{0, 1, -1, 0.1, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 123456789012345, 12345678901234567} {
		var have float64
		b := wire.AppendFloat(nil, want)
		require.NoError(t, decode(string(b), func(d *wire.Decoder) { have = d.Number(math.Inf(-1), math.Inf(1)) }))
		require.Equal(t, want, have)
	}
	var have float64
	require.NoError(t, decode(`-0`, func(d *wire.Decoder) { have = d.Number(math.Inf(-1), math.Inf(1)) }))
	require.True(t, math.Signbit(have))
	require.EqualError(t, decode(`-1`, func(d *wire.Decoder) { d.Number(0, math.Inf(1)) }), `decode: want at least 0, have -1`)
}

func TestDecodeBytes(t *testing.T) {
	for data, want := range map[string]string{
		`""`: "", `"aGk="`: "hi", `"aGkh"`: "hi!", `"\/\/\/\/"`: "\xff\xff\xff", `"\u0061Gk="`: "hi",
	} {
		var have []byte
		require.NoError(t, decode(data, func(d *wire.Decoder) { have = d.Bytes() }), data)
		require.NotNil(t, have)
		require.Equal(t, want, string(have))
	}
	for _, data := range []string{`"aGk"`, `"aGl="`, `"aG\nk="`, `"a Gk="`, `"_w=="`, `"="`, `null`, `5`} {
		require.Error(t, decode(data, func(d *wire.Decoder) { d.Bytes() }), data)
	}
}

func TestDecodeStrings(t *testing.T) {
	for data, want := range map[string]string{
		`""`: "", `"plain"`: "plain", `"a\nb\u00e9\ud83d\ude00\/"`: "a\nbé😀/", `"é and more than eight bytes \\"`: "é and more than eight bytes \\",
		`"\u0000"`: "\x00",
	} {
		var have string
		require.NoError(t, decode(data, func(d *wire.Decoder) { have = d.String() }), data)
		require.Equal(t, want, have)
	}
}

// textValue is a string.
type textValue struct {
	wire.ReadOnly
	text string
}

func (v *textValue) DecodeJSON(d *wire.Decoder) { v.text = d.String() }

// A decoder may return a string that it read before, but only for the same text.
func TestInternedStringsMatchDocument(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var texts []string
	read := map[int]string{}
	for i := range 3000 {
		text := make([]byte, random.IntN(40))
		for j := range text {
			text[j] = "abc/"[random.IntN(4)]
		}
		var v textValue
		doc := strconv.AppendQuote(nil, string(text))
		require.NoError(t, wire.Decode(doc, nil, &v))
		clear(doc) // the string must not alias the document
		texts, read[i] = append(texts, string(text)), v.text
	}
	for i, text := range texts {
		require.Equal(t, text, read[i])
	}
}

func TestRawReplacesLineBreaks(t *testing.T) {
	for _, checked := range []bool{false, true} {
		var have json.RawMessage
		data := []byte(" [ 1,\n\t{\"a\\n\" :\r\n 1.50E+2}\n] ")
		kept := string(data)
		err := wire.Decode(data, &wire.Frame{Checked: checked}, &value{decode: func(d *wire.Decoder) { have = d.Raw() }})
		require.NoError(t, err)
		require.Equal(t, "[ 1, \t{\"a\\n\" :   1.50E+2} ]", string(have))
		require.Equal(t, kept, string(data), "the input must not change")
		for i := range data {
			data[i] = 'x'
		}
		require.Equal(t, "[ 1, \t{\"a\\n\" :   1.50E+2} ]", string(have), "the result must not alias the input")
	}
}

func TestKindAndNull(t *testing.T) {
	for data, want := range map[string]byte{
		`{}`: '{', `[]`: '[', `""`: '"', `true`: 't', `false`: 'f', `null`: 'n', `0`: '0', `-1`: '0', ` 9`: '0',
	} {
		require.NoError(t, decode(data, func(d *wire.Decoder) {
			require.Equal(t, want, d.Kind(), data)
			require.Equal(t, want == 'n', d.Null())
			if want != 'n' {
				d.Skip()
			}
		}))
	}
	require.Error(t, decode(`x`, func(d *wire.Decoder) { require.Zero(t, d.Kind()); d.Skip() }))
	require.Error(t, decode(`nul`, func(d *wire.Decoder) { require.False(t, d.Null()) }))
}

func TestMaps(t *testing.T) {
	var m map[string]int64
	small := func(d *wire.Decoder) int64 { return d.Int(0, 99) }
	require.NoError(t, decode(`{"b":1,"a":2,"":3}`, func(d *wire.Decoder) { m = wire.Map(d, small) }))
	require.Equal(t, map[string]int64{"a": 2, "b": 1, "": 3}, m)
	require.NoError(t, decode(`{}`, func(d *wire.Decoder) { m = wire.Map(d, small) }))
	require.NotNil(t, m)
	require.EqualError(t, decode(`{"b":1,"\u0062":2}`, func(d *wire.Decoder) { wire.Map(d, small) }), `decode /b: duplicate member "b" at byte 15`)

	var list []member
	read := func(d *wire.Decoder, name string, m *member) { m.name, m.value = name, small(d) }
	require.NoError(t, decode(`{"b":1,"\u0061":2}`, func(d *wire.Decoder) { list = wire.OrderedMap(d, read) }))
	require.Equal(t, []member{{"b", 1}, {"a", 2}}, list)
	require.Error(t, decode(`{"b":1,"b":2}`, func(d *wire.Decoder) { wire.OrderedMap(d, read) }))
}

func TestEmptyListsAreNotNil(t *testing.T) {
	require.NoError(t, decode(`[]`, func(d *wire.Decoder) { require.NotNil(t, d.Strings()) }))
	require.NoError(t, decode(`[ ]`, func(d *wire.Decoder) { require.NotNil(t, wire.Structs[Icon](d)) }))
	for _, data := range []string{`[`, `["a"`, `["a",`, `["a",]`, `["a" "b"]`, `[,]`, `{}`} {
		require.Error(t, decode(data, func(d *wire.Decoder) { d.Strings() }), data)
	}
}
