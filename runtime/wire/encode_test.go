package wire_test

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestEncodeTool(t *testing.T) {
	x := &Tool{
		Name: "greet", Title: "Greet", Icons: []Icon{{Src: "a", Sizes: []string{}}, {Src: "b"}},
		Extra: map[string]json.RawMessage{"z": json.RawMessage("1"), "a": json.RawMessage("\n[ 2,\r\n3 ] "), "name": json.RawMessage("4")},
	}
	for revision, want := range map[wire.Revision]string{
		rev2024: `{"name":"greet","inputSchema":{"type":"object"},"a":[ 2,  3 ],"z":1}`,
		rev2025: `{"name":"greet","inputSchema":{"type":"object"},"title":"Greet","icons":[{"src":"a","sizes":[]},{"src":"b"}],"a":[ 2,  3 ],"z":1}`,
		{}:      `{"name":"greet","inputSchema":{"type":"object"},"title":"Greet","icons":[{"src":"a","sizes":[]},{"src":"b"}],"a":[ 2,  3 ],"z":1}`,
	} {
		b, err := wire.Append([]byte("before "), frame(revision), x)
		require.NoError(t, err)
		require.Equal(t, "before "+want, string(b))
	}
}

func TestExtraNamesOfOtherRevisionsAreKept(t *testing.T) {
	x := &Tool{Name: "a", Extra: map[string]json.RawMessage{"title": json.RawMessage("7")}}
	b, err := wire.Append(nil, frame(rev2024), x)
	require.NoError(t, err)
	require.Equal(t, `{"name":"a","inputSchema":{"type":"object"},"title":7}`, string(b))
	b, err = wire.Append(nil, frame(rev2025), x)
	require.NoError(t, err)
	require.Equal(t, `{"name":"a","inputSchema":{"type":"object"}}`, string(b))
}

func TestEncodeErrors(t *testing.T) {
	half, nan := 1.5, math.NaN()
	text := func(x *Annotations) *CallToolResult {
		return &CallToolResult{Content: []Content{&TextContent{}, &TextContent{Annotations: x}}}
	}
	raw := func(s string) *CallToolResult { return &CallToolResult{StructuredContent: json.RawMessage(s)} }
	extra := func(name, s string) *CallToolResult {
		return &CallToolResult{Extra: map[string]json.RawMessage{name: json.RawMessage(s)}}
	}
	for _, x := range []struct {
		v    wire.Value
		f    *wire.Frame
		want string
	}{
		{&CallToolResult{Content: []Content{&TextContent{}, &AudioContent{}}}, frame(rev2024), `encode /content/1 for 2024-11-05: revision has no content type "audio"`},
		{&CallToolResult{Content: []Content{nil}}, nil, `encode /content/0: Content is required and not set`},
		{&CallToolResult{Content: []Content{&UnknownContent{}}}, nil, `encode /content/0: a required value is not set`},
		{&CallToolResult{Content: []Content{&UnknownContent{Raw: json.RawMessage(" []")}}}, nil, `encode /content/0: want an object, have an array`},
		{text(&Annotations{Audience: []string{"user", "me"}}), nil, `encode /content/1/annotations/audience/1: Role has no value "me"`},
		{text(&Annotations{Audience: []string{"critic"}}), frame(rev2025), `encode /content/1/annotations/audience/0 for 2025-06-18: revision has no Role "critic"`},
		{text(&Annotations{Priority: &half}), nil, `encode /content/1/annotations/priority: want a number from 0 to 1, have 1.5`},
		{text(&Annotations{Priority: &nan}), nil, `encode /content/1/annotations/priority: JSON has no number NaN`},
		{text(&Annotations{Size: -1}), nil, `encode /content/1/annotations/size: want at least 0, have -1`},
		{raw(`{"a":[1,{"b":1,"b":2}]}`), nil, `encode /structuredContent/a/1/b: duplicate member "b"`},
		{raw(`{} {}`), nil, `encode /structuredContent: unexpected data after the value`},
		{raw(`"\ud800"`), nil, `encode /structuredContent: surrogate without its partner`},
		{raw(`1e999`), nil, `encode /structuredContent: number beyond the range of float64`},
		{raw("\"\xff\""), nil, `encode /structuredContent: invalid UTF-8`},
		{raw(`[[]]`), &wire.Frame{MaxDepth: 1}, `encode /structuredContent/0: nested deeper than 1 levels`},
		{raw(` `), nil, `encode /structuredContent: unexpected end`},
		{extra("a/b", `tru`), nil, `encode /a~1b: unexpected 't'`},
		{extra("a", ``), nil, `encode /a: an empty text is no JSON value`},
		{&CallToolResult{Extra: map[string]json.RawMessage{"a": nil}}, nil, `encode /a: a required value is not set`},
		{extra("\xff", `1`), nil, `encode /` + "\uFFFD" + `: member name "\xff" is not UTF-8`},
		{&CallToolResult{Meta: &Meta{Extra: map[string]json.RawMessage{"k": json.RawMessage("{")}}}, frame(rev2025), `encode /_meta/k for 2025-06-18: unexpected end`},
	} {
		given := []byte("given")
		b, err := wire.Append(given, x.f, x.v)
		require.EqualError(t, err, x.want)
		require.Equal(t, "given", string(b))
		var e *wire.EncodeError
		require.ErrorAs(t, err, &e)
	}
}

func TestEncoderFailuresStick(t *testing.T) {
	_, err := encode(func(b []byte, e *wire.Encoder) []byte {
		e.FailWith(b, nil)
		require.NoError(t, e.Err())
		e.FailWith(b, io.ErrShortWrite)
		e.Fail(b, "second %d", 2)
		e.MaxItems(b, 2, 1)
		require.ErrorIs(t, e.Err(), io.ErrShortWrite)
		b = e.ID(b, wire.RequestID{})
		b = e.Token(b, wire.ProgressToken{})
		b = e.Raw(b, json.RawMessage("x"), "")
		return e.RawObject(b, json.RawMessage("{}"), "")
	})
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.EqualError(t, err, "encode: short write")
}

func TestEncodeMisuse(t *testing.T) {
	for want, f := range map[string]func([]byte, *wire.Encoder) []byte{
		`encode: request id is required and not set`:     func(b []byte, e *wire.Encoder) []byte { return e.ID(b, wire.RequestID{}) },
		`encode: progress token is required and not set`: func(b []byte, e *wire.Encoder) []byte { return e.Token(b, wire.ProgressToken{}) },
		`encode: have 3 items, at most 2 are allowed`:    func(b []byte, e *wire.Encoder) []byte { e.MaxItems(b, 3, 2); return b },
		`encode: JSON has no number +Inf`:                func(b []byte, e *wire.Encoder) []byte { return e.Number(b, math.Inf(1), math.Inf(-1), math.Inf(1)) },
		`encode: want at most 5, have 6`:                 func(b []byte, e *wire.Encoder) []byte { return e.Int(b, 6, math.MinInt64, 5) },
		`encode: want a number from 1 to 5, have 6`:      func(b []byte, e *wire.Encoder) []byte { return e.Int(b, 6, 1, 5) },
	} {
		_, err := encode(f)
		require.EqualError(t, err, want)
	}
}

// measured holds numbers that the revisions since 2025 bound.
type measured struct {
	whole int64
	real  float64
}

func (m *measured) AppendJSON(b []byte, e *wire.Encoder) []byte {
	b = e.IntIn(append(b, '['), m.whole, since2025, 1, 9)
	return append(e.NumberIn(append(b, ','), m.real, since2025, 0, math.MaxFloat64), ']')
}

func (m *measured) DecodeJSON(d *wire.Decoder) {
	var reads int
	wire.List(d, func(d *wire.Decoder) bool {
		if reads++; reads == 1 {
			m.whole = d.IntIn(since2025, 1, 9)
		} else {
			m.real = d.NumberIn(since2025, 0, math.MaxFloat64)
		}
		return true
	})
}

func TestBoundsHoldInTheRevisionsThatHaveThem(t *testing.T) {
	for text, want := range map[string]string{
		`[9,0]`:    "",
		`[10,0]`:   "want a number from 1 to 9, have 10",
		`[1,-0.5]`: "want at least 0, have -0.5",
	} {
		m := new(measured)
		require.NoError(t, wire.Decode([]byte(text), frame(rev2024), m))
		out, err := wire.Append(nil, frame(rev2024), m)
		require.NoError(t, err)
		require.Equal(t, text, string(out))

		_, unwritten := wire.Append(nil, frame(rev2025), m)
		unread := wire.Decode([]byte(text), frame(rev2025), new(measured))
		if want == "" {
			require.NoError(t, unread)
			require.NoError(t, unwritten)
			continue
		}
		require.ErrorContains(t, unread, want)
		require.ErrorContains(t, unwritten, want)
	}
}

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

func TestAppendCollections(t *testing.T) {
	have, err := encode(func(b []byte, e *wire.Encoder) []byte {
		b = wire.AppendList(b, e, []int64{1, 2}, appendInt)
		b = wire.AppendList(b, e, nil, appendInt)
		b = wire.AppendStructs(b, e, []Icon(nil))
		b = wire.AppendStrings(b, nil)
		b = wire.AppendMap(b, e, map[string]int64{"b": 2, "a": 1, "": 3}, appendInt)
		b = wire.AppendMap(b, e, nil, appendInt)
		b = wire.AppendNamed(b, e, []wire.Named[int64]{{Name: "b", Value: 2}, {Name: "a", Value: 1}}, appendInt)
		return wire.AppendNamed(b, e, nil, appendInt)
	})
	require.NoError(t, err)
	require.Equal(t, `[1,2][][][]{"":3,"a":1,"b":2}{}{"b":2,"a":1}{}`, have)

	_, err = encode(func(b []byte, e *wire.Encoder) []byte {
		return wire.AppendNamed(b, e, []wire.Named[int64]{{Name: "b"}, {Name: "a"}, {Name: "b"}}, appendInt)
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

func TestHasAndNeeds(t *testing.T) {
	type fact struct{ has, needs bool }
	windows := []wire.Window{always, since2025, until2025, 0}
	for revision, want := range map[wire.Revision][]fact{
		rev2024: {{true, true}, {false, false}, {true, true}, {false, false}},
		rev2026: {{true, true}, {true, true}, {false, false}, {false, false}},
		{}:      {{true, true}, {true, false}, {true, false}, {false, false}},
	} {
		for i, w := range windows {
			require.Equal(t, want[i].has, w.Has(revision))
			_, err := wire.Append(nil, frame(revision), &value{append: func(b []byte, e *wire.Encoder) []byte {
				require.Equal(t, want[i], fact{e.Has(w), e.Needs(w)})
				require.Equal(t, revision, e.Revision())
				return b
			}})
			require.NoError(t, err)
			require.NoError(t, wire.Decode([]byte("0"), frame(revision), &value{decode: func(d *wire.Decoder) {
				require.Equal(t, want[i], fact{d.Has(w), d.Needs(w)})
				require.Equal(t, revision, d.Revision())
				d.Skip()
			}}))
		}
	}
}

func TestRevision(t *testing.T) {
	require.Equal(t, "2025-06-18", rev2025.String())
	require.Equal(t, 1, rev2025.Index())
	require.Equal(t, "all revisions", wire.Revision{}.String())
	require.Equal(t, -1, wire.Revision{}.Index())
	require.Equal(t, rev2025, wire.NewRevision(1, "2025-06-18"))
	require.True(t, wire.Window(1<<63).Has(wire.NewRevision(63, "last")))
	require.Panics(t, func() { wire.NewRevision(64, "x") })
	require.Panics(t, func() { wire.NewRevision(-1, "x") })
	require.Panics(t, func() { wire.NewRevision(0, "") })
}

func TestTables(t *testing.T) {
	require.Equal(t, "Icon", iconMembers.Type())
	var names []string
	for m := range iconMembers.All() {
		names = append(names, m.Name)
	}
	require.Equal(t, []string{"src", "sizes"}, names)
	require.Equal(t, "Role", roles.Type())
	names = nil
	for v := range roles.All() {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"user", "assistant", "critic"}, names)

	require.Panics(t, func() { wire.NewMembers("x", wire.Member{Name: "a"}, wire.Member{Name: "a"}) })
	require.Panics(t, func() { wire.NewMembers("x", wire.Member{Name: "a", In: 1, Required: 2}) })
	require.Panics(t, func() { wire.NewMembers("x", make([]wire.Member, 65)...) })
	require.Panics(t, func() { wire.NewEnum("x", wire.EnumValue{Name: "a"}, wire.EnumValue{Name: "a"}) })
}

func TestEncodersAreReusedClean(t *testing.T) {
	bad := &CallToolResult{StructuredContent: json.RawMessage(`{"a":{"b":1,"b":2}}`)}
	good := &CallToolResult{StructuredContent: json.RawMessage(`{"a":{"b":1,"c":2}}`)}
	for range 100 {
		_, err := wire.Marshal(bad)
		require.Error(t, err)
		b, err := wire.Marshal(good)
		require.NoError(t, err)
		require.Equal(t, `{"content":[],"structuredContent":{"a":{"b":1,"c":2}}}`, string(b))
	}
}
