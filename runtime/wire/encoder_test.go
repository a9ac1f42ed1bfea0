package wire_test

import (
	"encoding/json"
	"io"
	"math"
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

func TestExtraWritesNamesOfOtherRevisions(t *testing.T) {
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
		{&CallToolResult{Content: []Content{&UnknownContent{}}}, nil, `encode /content/0: required value is not set`},
		{&CallToolResult{Content: []Content{&UnknownContent{Raw: json.RawMessage(" []")}}}, nil, `encode /content/0: want an object, have an array`},
		{text(&Annotations{Audience: []string{"user", "me"}}), nil, `encode /content/1/annotations/audience/1: Role has no value "me"`},
		{text(&Annotations{Audience: []string{"critic"}}), frame(rev2025), `encode /content/1/annotations/audience/0 for 2025-06-18: revision has no Role "critic"`},
		{text(&Annotations{Priority: &half}), nil, `encode /content/1/annotations/priority: want a number from 0 to 1, have 1.5`},
		{text(&Annotations{Priority: &nan}), nil, `encode /content/1/annotations/priority: JSON cannot represent the number NaN`},
		{text(&Annotations{Size: -1}), nil, `encode /content/1/annotations/size: want at least 0, have -1`},
		{raw(`{"a":[1,{"b":1,"b":2}]}`), nil, `encode /structuredContent/a/1/b: duplicate member "b"`},
		{raw(`{} {}`), nil, `encode /structuredContent: unexpected data after the value`},
		{raw(`"\ud800"`), nil, `encode /structuredContent: unpaired surrogate in a string`},
		{raw(`1e999`), nil, `encode /structuredContent: number beyond the range of float64`},
		{raw("\"\xff\""), nil, `encode /structuredContent: invalid UTF-8`},
		{raw(`[[]]`), &wire.Frame{MaxDepth: 1}, `encode /structuredContent/0: nested deeper than 1 levels`},
		{raw(` `), nil, `encode /structuredContent: unexpected end`},
		{extra("a/b", `tru`), nil, `encode /a~1b: unexpected 't'`},
		{extra("a", ``), nil, `encode /a: empty text is not a JSON value`},
		{&CallToolResult{Extra: map[string]json.RawMessage{"a": nil}}, nil, `encode /a: required value is not set`},
		{extra("\xff", `1`), nil, `encode /` + "\uFFFD" + `: member name "\xff" is not valid UTF-8`},
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

func TestEncoderReportsFirstFailure(t *testing.T) {
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

func TestEncodeInvalidScalars(t *testing.T) {
	for want, f := range map[string]func([]byte, *wire.Encoder) []byte{
		`encode: request id is required and not set`:     func(b []byte, e *wire.Encoder) []byte { return e.ID(b, wire.RequestID{}) },
		`encode: progress token is required and not set`: func(b []byte, e *wire.Encoder) []byte { return e.Token(b, wire.ProgressToken{}) },
		`encode: have 3 items, at most 2 are allowed`:    func(b []byte, e *wire.Encoder) []byte { e.MaxItems(b, 3, 2); return b },
		`encode: JSON cannot represent the number +Inf`:  func(b []byte, e *wire.Encoder) []byte { return e.Number(b, math.Inf(1), math.Inf(-1), math.Inf(1)) },
		`encode: want at most 5, have 6`:                 func(b []byte, e *wire.Encoder) []byte { return e.Int(b, 6, math.MinInt64, 5) },
		`encode: want a number from 1 to 5, have 6`:      func(b []byte, e *wire.Encoder) []byte { return e.Int(b, 6, 1, 5) },
	} {
		_, err := encode(f)
		require.EqualError(t, err, want)
	}
}

// boundedNumbers has numbers that have bounds since the revision of 2025.
type boundedNumbers struct {
	whole int64
	real  float64
}

func (m *boundedNumbers) AppendJSON(b []byte, e *wire.Encoder) []byte {
	b = e.IntIn(append(b, '['), m.whole, since2025, 1, 9)
	return append(e.NumberIn(append(b, ','), m.real, since2025, 0, math.MaxFloat64), ']')
}

func (m *boundedNumbers) DecodeJSON(d *wire.Decoder) {
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

func TestBoundsByRevision(t *testing.T) {
	for text, want := range map[string]string{
		`[9,0]`:    "",
		`[10,0]`:   "want a number from 1 to 9, have 10",
		`[1,-0.5]`: "want at least 0, have -0.5",
	} {
		m := new(boundedNumbers)
		require.NoError(t, wire.Decode([]byte(text), frame(rev2024), m))
		out, err := wire.Append(nil, frame(rev2024), m)
		require.NoError(t, err)
		require.Equal(t, text, string(out))

		_, unwritten := wire.Append(nil, frame(rev2025), m)
		unread := wire.Decode([]byte(text), frame(rev2025), new(boundedNumbers))
		if want == "" {
			require.NoError(t, unread)
			require.NoError(t, unwritten)
			continue
		}
		require.ErrorContains(t, unread, want)
		require.ErrorContains(t, unwritten, want)
	}
}

// joined has values that the revision of 2025 restricts.
type joined struct {
	number float64
	text   string
	extra  map[string]json.RawMessage
}

var (
	words         = &wire.Enum{Type: "Word", List: []wire.EnumValue{{Name: "yes", In: wire.Always}}}
	joinedMembers = wire.NewMembers("joined", wire.Member{Name: "n", In: wire.Always}, wire.Member{Name: "t", In: wire.Always})
)

func (m *joined) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = e.Integer(append(b, `,"n":`...), m.number, m.extra["n"], since2025, -math.MaxFloat64, math.MaxFloat64)
	b = e.EnumIn(append(b, `,"t":`...), m.text, words, since2025)
	return wire.CloseObject(e.Extra(b, m.extra, joinedMembers), start)
}

func (m *joined) DecodeJSON(d *wire.Decoder) {
	o := d.Object(joinedMembers)
	for o.Next() {
		switch o.Name {
		case "n":
			m.extra = o.Integer(m.extra, since2025)
			m.number = d.Number(-math.MaxFloat64, math.MaxFloat64)
		case "t":
			m.text = d.EnumIn(words, since2025)
		default:
			m.extra = o.Extra(m.extra)
		}
	}
}

func TestJoinedValuesByRevision(t *testing.T) {
	for text, want := range map[string]string{
		`{"n":5,"t":"yes"}`:   "",
		`{"n":1.5,"t":"yes"}`: "want an integer, have 1.5",
		`{"n":5,"t":"no"}`:    `"no"`,
	} {
		m := new(joined)
		require.NoError(t, wire.Decode([]byte(text), frame(rev2024), m))
		out, err := wire.Append(nil, frame(rev2024), m)
		require.NoError(t, err)
		require.Equal(t, text, string(out))
		out, err = wire.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, text, string(out))

		_, unwritten := wire.Append(nil, frame(rev2025), m)
		unread := wire.Decode([]byte(text), frame(rev2025), new(joined))
		if want == "" {
			require.NoError(t, unread)
			require.NoError(t, unwritten)
			continue
		}
		require.ErrorContains(t, unread, want)
		require.ErrorContains(t, unwritten, want)
	}
}

func TestJoinedIntegersKeepAllDigits(t *testing.T) {
	for _, x := range []struct{ in, out, err string }{
		{"1e2", "100", ""},
		{"-0", "0", ""},
		{"9007199254740993", "9007199254740993", ""},
		{"-9223372036854775808", "-9223372036854775808", ""},
		{"9223372036854775807", "9223372036854775807", ""},
		{"9223372036854775808", "", "does not fit 64 bits"},
		{"0.99999999999999999999", "", "want an integer"},
		{`"1"`, "", "want an integer, have a string"},
	} {
		m := new(joined)
		err := wire.Decode([]byte(`{"n":`+x.in+`,"t":"yes"}`), frame(rev2025), m)
		if x.err != "" {
			require.ErrorContains(t, err, x.err)
			continue
		}
		require.NoError(t, err)
		out, err := wire.Append(nil, frame(rev2025), m)
		require.NoError(t, err)
		require.Equal(t, `{"n":`+x.out+`,"t":"yes"}`, string(out))
	}
	m := &joined{number: 7, text: "yes", extra: map[string]json.RawMessage{"n": json.RawMessage("9007199254740993")}}
	out, err := wire.Append(nil, frame(rev2025), m)
	require.NoError(t, err)
	require.Equal(t, `{"n":7,"t":"yes"}`, string(out), "the number was changed after it was decoded")
	for _, n := range []float64{1 << 63, -1.1 * (1 << 63), math.NaN(), math.Inf(1)} {
		_, err := wire.Append(nil, frame(rev2025), &joined{number: n, text: "yes"})
		require.Error(t, err)
	}
}

// open has a value that may be any JSON in the revision of 2025.
type open struct{ v any }

func (m *open) AppendJSON(b []byte, e *wire.Encoder) []byte {
	return e.PrimitiveOrAny(b, m.v, wire.Always, since2025)
}
func (m *open) DecodeJSON(d *wire.Decoder) { m.v = d.PrimitiveOrAny(wire.Always, true, since2025) }

func TestPrimitiveOrAnyByRevision(t *testing.T) {
	for text, primitive := range map[string]bool{
		`"a"`: true, `true`: true, `5`: true, `-7`: true, `0.5`: true, `["a","b"]`: true,
		`1.50`: true, `1e2`: true, `123456789012345678901234567890`: true, `9007199254740993`: true, // their digits change in 2024
		`null`: false, `{"a":[1]}`: false, `[1]`: false,
	} {
		m := new(open)
		require.NoError(t, wire.Decode([]byte(text), frame(rev2025), m))
		out, err := wire.Append(nil, frame(rev2025), m)
		require.NoError(t, err)
		require.Equal(t, text, string(out))

		require.Equal(t, primitive, wire.Decode([]byte(text), frame(rev2024), new(open)) == nil, text)
		if !primitive {
			_, err = wire.Append(nil, frame(rev2024), m)
			require.ErrorContains(t, err, "revision has no value of any kind here")
		}
	}
}

func TestPooledEncodersHaveNoState(t *testing.T) {
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
