package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestDecodeTool(t *testing.T) {
	data := `{"name":"greet","x":[1, 2],"inputSchema":{"type":"object"},"te\u0078t":0,"title":"Greet",` +
		`"icons":[{"src":"a","sizes":["1x1","2x2"]},{"src":"b"}],"Name":1,"name\u0000":2}`
	var x Tool
	require.NoError(t, wire.Decode([]byte(data), frame(rev2025), &x))
	require.Equal(t, Tool{
		Name:        "greet",
		Title:       "Greet",
		InputSchema: json.RawMessage(`{"type":"object"}`),
		Icons:       []Icon{{Src: "a", Sizes: []string{"1x1", "2x2"}}, {Src: "b"}},
		Extra: map[string]json.RawMessage{
			"x": json.RawMessage(`[1, 2]`), "text": json.RawMessage(`0`),
			"Name": json.RawMessage(`1`), "name\x00": json.RawMessage(`2`),
		},
	}, x)
}

func TestMembersInAnyOrderAndSpelling(t *testing.T) {
	for _, data := range []string{
		`{"inputSchema":{},"name":"a"}`, `{"title":"t","inputSchema":{},"name":"a"}`, `{"n\u0061me":"a","inputSchema":{}}`,
		" {\n\"name\" : \"a\" ,\t\"inputSchema\" : { } } ",
	} {
		var x Tool
		require.NoError(t, wire.Unmarshal([]byte(data), &x), data)
		require.Equal(t, "a", x.Name)
	}
}

func TestMembersOutsideTheirWindowAreExtra(t *testing.T) {
	data := []byte(`{"name":"a","inputSchema":{},"title":7}`)
	var x Tool
	require.NoError(t, wire.Decode(data, frame(rev2024), &x))
	require.Equal(t, map[string]json.RawMessage{"title": json.RawMessage("7")}, x.Extra)
	require.EqualError(t, wire.Decode(data, frame(rev2025), &x), `decode /title: want a string, have a number`)

	twice := []byte(`{"name":"a","inputSchema":{},"title":7,"title":8}`)
	require.ErrorContains(t, wire.Decode(twice, frame(rev2024), &x), `decode /title: duplicate member "title"`)
}

func TestRequiredMembersByRevision(t *testing.T) {
	data := []byte(`{"tools":[]}`)
	require.NoError(t, wire.Decode(data, frame(rev2025), new(ListToolsResult)))
	require.NoError(t, wire.Decode(data, nil, new(ListToolsResult)))
	require.EqualError(t, wire.Decode(data, frame(rev2026), new(ListToolsResult)), `decode: missing member "ttlMs"`)
	require.EqualError(t, wire.Decode([]byte(`{"tools":[{"title":"t"}]}`), nil, new(ListToolsResult)),
		`decode /tools/0: missing members "name", "inputSchema"`)
}

func TestDecodeErrors(t *testing.T) {
	for _, x := range []struct {
		data, want string
		syntax     bool
	}{
		{`{"content":[{"type":"text","text":7}]}`, `decode /content/0/text: want a string, have a number`, false},
		{`{"content":[{"type":"text"}]}`, `decode /content/0: missing member "text"`, false},
		{`{"content":[{"text":"a","type":"text","text":"b"}]}`, `decode /content/0/text: duplicate member "text" at byte 44`, true},
		{`{"content":[{"text":"a","type":"text","type":"text"}]}`, `decode /content/0/type: duplicate member "type" at byte 44`, true},
		{`{"content":{}}`, `decode /content: want an array, have an object`, false},
		{`{"content":[],"isError":null}`, `decode /isError: want a boolean, have null`, false},
		{`{"content":[5]}`, `decode /content/0: want an object, have a number`, false},
		{`[]`, `decode: want an object, have an array`, false},
		{`x`, `decode: unexpected 'x' at byte 0`, true},
		{``, `decode: unexpected end at byte 0`, true},
		{`{"content":[]} x`, `decode: unexpected data after the value at byte 15`, true},
		{`{"content":[],"isError":tru}`, `decode /isError: unexpected 't' at byte 24`, true},
		{`{"content":5,"b":tru}`, `decode /b: unexpected 't' at byte 17`, true}, // no JSON, whatever its shape
		{`{"content":[],"a/b":{"~":[1,{"x":1,"x":2}]}}`, `decode /a~1b/~0/1/x: duplicate member "x" at byte 38`, true},
		{`{"content":[],"q":1,"q":2}`, `decode /q: duplicate member "q" at byte 23`, true},
		{`{"content":[{"type":"text","text":"a","annotations":{"audience":["user","me"]}}]}`, `decode /content/0/annotations/audience/1: Role has no value "me"`, false},
		{`{"content":[{"type":"text","text":"a","annotations":{"priority":1.5}}]}`, `decode /content/0/annotations/priority: want a number from 0 to 1, have 1.5`, false},
		{`{"content":[{"type":"text","text":"a","annotations":{"size":-1}}]}`, `decode /content/0/annotations/size: want at least 0, have -1`, false},
		{`{"content":[{"type":"text","text":"a","annotations":{"size":1.5}}]}`, `decode /content/0/annotations/size: want an integer, have 1.5`, false},
		{`{"content":[{"type":"audio","data":"a"}]}`, `decode /content/0/data: want base64, have something else`, false},
	} {
		err := wire.Decode([]byte(x.data), nil, new(CallToolResult))
		require.EqualError(t, err, x.want, x.data)
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e)
		require.Equal(t, x.syntax, e.Syntax, x.data)
	}
}

func TestEnumByRevision(t *testing.T) {
	data := []byte(`{"audience":["\u0063ritic"]}`)
	require.NoError(t, wire.Decode(data, frame(rev2026), new(Annotations)))
	require.EqualError(t, wire.Decode(data, frame(rev2025), new(Annotations)), `decode /audience/0: revision has no Role "critic"`)
}

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

func TestRawKeepsAllBytesButLineBreaks(t *testing.T) {
	for _, checked := range []bool{false, true} {
		var have json.RawMessage
		data := []byte(" [ 1,\n\t{\"a\\n\" :\r\n 1.50E+2}\n] ")
		kept := string(data)
		err := wire.Decode(data, &wire.Frame{Checked: checked}, &value{decode: func(d *wire.Decoder) { have = d.Raw() }})
		require.NoError(t, err)
		require.Equal(t, "[ 1, \t{\"a\\n\" :   1.50E+2} ]", string(have))
		require.Equal(t, kept, string(data), "the input is not written to")
		for i := range data {
			data[i] = 'x'
		}
		require.Equal(t, "[ 1, \t{\"a\\n\" :   1.50E+2} ]", string(have), "nothing aliases the input")
	}
}

func TestCheckedBytesNeedNotBeJSON(t *testing.T) {
	for _, data := range []string{``, `{`, `{"content"`, `{"content":`, `{"x":[`, `{"x":"`, `{"x":"\`, `{"x":}`, `{"x":,}`, `{"x":]}`, `{"x":1`, "{\"x\":\"\n"} {
		err := wire.Decode([]byte(data), &wire.Frame{Checked: true}, new(CallToolResult))
		require.Error(t, err, data)
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

func TestPeek(t *testing.T) {
	for _, x := range []struct {
		data, value string
		kind        byte
	}{
		{`{"type":"text"}`, "text", '"'},
		{` { "a" : [{"type":"x"},"}"] , "type" : "text" } `, "text", '"'},
		{`{"t\u0079pe":"te\u0078t"}`, "text", '"'},
		{`{"type":5}`, "", '0'},
		{`{"type":{}}`, "", '{'},
		{`{"Type":"text"}`, "", 0},
		{`{}`, "", 0},
		{`[]`, "", 0},
		{`{"a":{"type":"no"}}`, "", 0},
	} {
		require.NoError(t, decode(x.data, func(d *wire.Decoder) {
			value, kind := d.Peek("type")
			require.Equal(t, x.value, value, x.data)
			require.Equal(t, x.kind, kind, x.data)
			d.Skip()
		}))
	}
	for _, data := range []string{``, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":{`, `{"a":1`, `{"a":1,`, `{"a":1 "type":"x"}`, `{"type":`, `{"type":"x`, `{"type":"\x"}`, `{,}`} {
		require.Error(t, decode(data, func(d *wire.Decoder) { d.Peek("type"); d.Probe("a", "b"); d.Skip() }), data)
	}
}

func TestProbe(t *testing.T) {
	require.NoError(t, decode(`{"x":1,"a":{"b":{"c":null}}}`, func(d *wire.Decoder) {
		require.True(t, d.Probe())
		require.True(t, d.Probe("a"))
		require.True(t, d.Probe("a", "b", "c"))
		require.False(t, d.Probe("a", "c"))
		require.False(t, d.Probe("x", "y"))
		d.Skip()
	}))
}

// node is told apart at every level by a member that comes last.
type node struct{ kids []*node }

func decodeNode(d *wire.Decoder) *node {
	if kind, _ := d.Peek("type"); kind != "node" {
		d.Fail("want a node, have %q", kind)
	}
	x := new(node)
	for o := d.Object(nil); o.Next(); {
		if d.Kind() == '[' {
			x.kids = wire.List(d, decodeNode)
		} else {
			d.Skip()
		}
	}
	return x
}

// Ten times the levels take nowhere near a hundred times the time.
func TestNestedPeekIsLinear(t *testing.T) {
	nested := func(levels int) func() {
		filler := `"pad":"` + strings.Repeat("x", 1000) + `",`
		whole := strings.Repeat(`{`+filler+`"kids":[`, levels) + strings.Repeat(`],"type":"node"}`, levels)
		broken := []string{whole[:len(whole)-1], strings.ReplaceAll(whole, `],"type":"node"}`, ``)}
		f := &wire.Frame{MaxDepth: 3 * levels}
		return func() {
			for _, data := range broken {
				_ = wire.Decode([]byte(data), f, &value{decode: func(d *wire.Decoder) { decodeNode(d) }})
			}
			require.NoError(t, wire.Decode([]byte(whole), f, &value{decode: func(d *wire.Decoder) { decodeNode(d) }}))
		}
	}
	notSteeper(t, "levels", 50, nested(300), nested(3000))
}

func TestFailuresStick(t *testing.T) {
	cause := errors.New("cause")
	err := decode(`{"a":[1,2,3]}`, func(d *wire.Decoder) {
		for o := d.Object(nil); o.Next(); {
			d.FailWith(nil)
			require.NoError(t, d.Err())
			d.FailWith(fmt.Errorf("first: %w", cause))
			d.Fail("second %d", 2)
			require.ErrorIs(t, d.Err(), cause)
			require.Empty(t, d.String())
			require.False(t, d.Bool())
			require.False(t, d.Null())
			require.Zero(t, d.Int(0, 9))
			require.Zero(t, d.Number(0, 9))
			require.Nil(t, d.Bytes())
			require.Nil(t, d.Raw())
			require.Nil(t, d.RawObject())
			require.True(t, d.ID().IsZero())
			require.True(t, d.Token().IsZero())
			require.Empty(t, d.Enum(roles))
			require.Zero(t, d.Kind())
			require.False(t, d.Probe("a"))
			require.Empty(t, d.Strings())
			require.Empty(t, wire.Map(d, (*wire.Decoder).String))
			require.Empty(t, wire.NamedList(d, (*wire.Decoder).String))
			require.Empty(t, wire.Structs[Icon](d))
			require.NotNil(t, wire.New[Icon](d))
			require.Nil(t, o.Extra(nil))
			require.False(t, d.Try((*wire.Decoder).Skip))
			d.Const("x")
			d.Skip()
			d.MaxItems(2, 1)
		}
	})
	require.EqualError(t, err, `decode /a: first: cause`)
	require.ErrorIs(t, err, cause)
}

func TestFailPointsAtWhatWasRead(t *testing.T) {
	type reader func(d *wire.Decoder)
	skip := (*wire.Decoder).Skip
	for _, x := range []struct {
		data    string
		read    reader
		pointer string
	}{
		{`{"a":[1,2]}`, func(d *wire.Decoder) {
			d.MaxItems(len(wire.List(d, func(d *wire.Decoder) int64 { return d.Int(0, 9) })), 1)
		}, "/a"},
		{`{"a":[1,2],"b":3}`, func(d *wire.Decoder) { skip(d); d.Fail("no") }, "/a"},
		{`{"a" : 5 , "b":3}`, func(d *wire.Decoder) { skip(d); d.Fail("no") }, "/a"},
		{`{"a":{"b":[{"c":1}]}}`, func(d *wire.Decoder) { d.Fail("no") }, "/a"},
		{`{"a":{"b":1,"c":2}}`, func(d *wire.Decoder) { skip(d); d.Fail("no") }, "/a"},
		{`{"":1}`, func(d *wire.Decoder) { d.Fail("no") }, "/"},
		{`{"\u00e9~/":1}`, func(d *wire.Decoder) { d.Fail("no") }, "/é~0~1"},
	} {
		err := decode(x.data, func(d *wire.Decoder) {
			for o := d.Object(nil); o.Next(); {
				x.read(d)
			}
		})
		var e *wire.DecodeError
		require.ErrorAs(t, err, &e, x.data)
		require.Equal(t, x.pointer, e.Pointer, x.data)
	}
}

func TestMaps(t *testing.T) {
	var m map[string]int64
	small := func(d *wire.Decoder) int64 { return d.Int(0, 99) }
	require.NoError(t, decode(`{"b":1,"a":2,"":3}`, func(d *wire.Decoder) { m = wire.Map(d, small) }))
	require.Equal(t, map[string]int64{"a": 2, "b": 1, "": 3}, m)
	require.NoError(t, decode(`{}`, func(d *wire.Decoder) { m = wire.Map(d, small) }))
	require.NotNil(t, m)
	require.EqualError(t, decode(`{"b":1,"\u0062":2}`, func(d *wire.Decoder) { wire.Map(d, small) }), `decode /b: duplicate member "b" at byte 15`)

	var list []wire.Named[int64]
	require.NoError(t, decode(`{"b":1,"\u0061":2}`, func(d *wire.Decoder) { list = wire.NamedList(d, small) }))
	require.Equal(t, []wire.Named[int64]{{Name: "b", Value: 1}, {Name: "a", Value: 2}}, list)
	require.Error(t, decode(`{"b":1,"b":2}`, func(d *wire.Decoder) { wire.NamedList(d, small) }))
}

func TestEmptyListsAreNotNil(t *testing.T) {
	require.NoError(t, decode(`[]`, func(d *wire.Decoder) { require.NotNil(t, d.Strings()) }))
	require.NoError(t, decode(`[ ]`, func(d *wire.Decoder) { require.NotNil(t, wire.Structs[Icon](d)) }))
	for _, data := range []string{`[`, `["a"`, `["a",`, `["a",]`, `["a" "b"]`, `[,]`, `{}`} {
		require.Error(t, decode(data, func(d *wire.Decoder) { d.Strings() }), data)
	}
}

func TestTry(t *testing.T) {
	iconOrRaw := func(d *wire.Decoder) any {
		var icon Icon
		if d.Try(icon.DecodeJSON) {
			return icon
		}
		return d.Raw()
	}
	var have []any
	data := `[ {"x":{"y":[1]},"src":7,"z":{"z":1}}, {"src":"s"}, "rest"]`
	require.NoError(t, decode(data, func(d *wire.Decoder) { have = wire.List(d, iconOrRaw) }))
	require.Equal(t, []any{raw(`{"x":{"y":[1]},"src":7,"z":{"z":1}}`), Icon{Src: "s"}, raw(`"rest"`)}, have)

	err := decode(`[{"src":"a","src":"b"}]`, func(d *wire.Decoder) { wire.List(d, iconOrRaw) })
	require.EqualError(t, err, `decode /0/src: duplicate member "src" at byte 17`)
}

func TestDecodersAreReusedClean(t *testing.T) {
	for range 100 {
		require.Error(t, wire.Unmarshal([]byte(`{"a":{"a":1,"a":1}}`), new(Tool)))
		require.NoError(t, wire.Unmarshal([]byte(`{"name":"a","inputSchema":{"a":1}}`), new(Tool)))
	}
}

func TestErrorIsWrapped(t *testing.T) {
	err := decode(`1`, func(d *wire.Decoder) { d.Fail("read: %w", io.ErrUnexpectedEOF) })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "decode: read: unexpected EOF")
}
