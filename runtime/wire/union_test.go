package wire

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	oldRevision = NewRevision(0, "2020-01-01")
	newRevision = NewRevision(1, "2021-01-01")
)

const sinceNew = Always &^ (1<<1 - 1)

// decodeWith decodes data with a function and returns the text of the failure, if
// any.
func decodeWith[T any](data string, r Revision, decode func(*Decoder) T) (T, string) {
	d := newDecoder([]byte(data), &Frame{Revision: r})
	v := decode(d)
	if err := d.finish(); err != nil {
		return v, err.Error()
	}
	return v, ""
}

// encodeWith encodes with a function and returns the output and the text of the
// failure, if any.
func encodeWith(r Revision, put func([]byte, *Encoder) []byte) (string, string) {
	e := newEncoder(&Frame{Revision: r}, nil, 0)
	out, err := e.finish(nil, put(nil, e))
	if err != nil {
		return "", err.Error()
	}
	return string(out), ""
}

func TestDiscriminator(t *testing.T) {
	for _, c := range []struct {
		data, key, err string
		optional       bool
	}{
		{data: `{"a":1,"type":"text"}`, key: "text"},
		{data: `{"a":1}`, err: `U: missing member "type"`},
		{data: `{"a":1}`, optional: true},
		{data: `{"type":7}`, err: `U: member "type" is not a string`},
		{data: `[]`, err: "U: want an object"},
	} {
		key, err := decodeWith(c.data, newRevision, func(d *Decoder) string {
			key := d.Discriminator("U", "type", c.optional)
			d.Skip()
			return key
		})
		require.Equal(t, c.key, key, c.data)
		require.Contains(t, err, c.err, c.data)
		require.Equal(t, c.err == "", err == "", c.data)
	}
}

func TestOneOrMany(t *testing.T) {
	decode := func(d *Decoder) []string { return OneOrMany(d, sinceNew, (*Decoder).String) }
	one, err := decodeWith(`"a"`, oldRevision, decode)
	require.Empty(t, err)
	require.Equal(t, []string{"a"}, one)
	many, err := decodeWith(`["a","b"]`, newRevision, decode)
	require.Empty(t, err)
	require.Equal(t, []string{"a", "b"}, many)
	_, err = decodeWith(`["a","b"]`, oldRevision, decode)
	require.Contains(t, err, "want a string")

	put := func(list ...string) func([]byte, *Encoder) []byte {
		return func(b []byte, e *Encoder) []byte {
			return AppendOneOrMany(b, e, list, sinceNew, func(b []byte, _ *Encoder, s string) []byte { return AppendString(b, s) })
		}
	}
	out, err := encodeWith(oldRevision, put("a"))
	require.Empty(t, err)
	require.Equal(t, `"a"`, out)
	out, err = encodeWith(newRevision, put())
	require.Empty(t, err)
	require.Equal(t, `[]`, out)
	_, err = encodeWith(oldRevision, put("a", "b"))
	require.Contains(t, err, "one value here, not 2")
}

func TestPrimitive(t *testing.T) {
	decode := func(d *Decoder) any { return d.Primitive(sinceNew, true) }
	for data, want := range map[string]any{`"a"`: "a", `true`: true, `7`: int64(7), `1e2`: int64(100), `1.5`: 1.5, `["a"]`: []string{"a"}, `1e300`: 1e300} {
		v, err := decodeWith(data, newRevision, decode)
		require.Empty(t, err, data)
		require.Equal(t, want, v, data)
		out, err := encodeWith(newRevision, func(b []byte, e *Encoder) []byte { return e.Primitive(b, v, sinceNew) })
		require.Empty(t, err, data)
		again, err := decodeWith(out, newRevision, decode)
		require.Empty(t, err, data)
		require.Equal(t, v, again, data)
	}
	for _, data := range []string{`null`, `{}`, `[1]`} {
		_, err := decodeWith(data, newRevision, decode)
		require.NotEmpty(t, err, data)
	}
	_, err := decodeWith(`["a"]`, oldRevision, decode)
	require.NotEmpty(t, err)
	_, err = decodeWith(`1.5`, newRevision, func(d *Decoder) any { return d.Primitive(sinceNew, false) })
	require.Contains(t, err, "want an integer")
	_, err = encodeWith(newRevision, func(b []byte, e *Encoder) []byte { return e.Primitive(b, struct{}{}, sinceNew) })
	require.Contains(t, err, "unsupported type struct {}")
	_, err = encodeWith(oldRevision, func(b []byte, e *Encoder) []byte { return e.Primitive(b, []string{"a"}, sinceNew) })
	require.Contains(t, err, "revision has no list of strings")
}

func TestRawInRequiresObjectByRevision(t *testing.T) {
	decode := func(d *Decoder) json.RawMessage { return d.RawIn(1) }
	_, err := decodeWith(`[1]`, oldRevision, decode)
	require.Contains(t, err, "want an object")
	raw, err := decodeWith(`[1]`, newRevision, decode)
	require.Empty(t, err)
	require.JSONEq(t, `[1]`, string(raw))
	_, err = encodeWith(oldRevision, func(b []byte, e *Encoder) []byte { return e.RawIn(b, raw, "", 1) })
	require.Contains(t, err, "object")
	out, err := encodeWith(newRevision, func(b []byte, e *Encoder) []byte { return e.RawIn(b, raw, "", 1) })
	require.Empty(t, err)
	require.Equal(t, `[1]`, out)
}

func TestUnmarshalUnion(t *testing.T) {
	var v string
	decode := func(d *Decoder) { v = d.String() }
	require.NoError(t, UnmarshalUnion([]byte(`"a"`), decode))
	require.Equal(t, "a", v)
	err := UnmarshalUnion([]byte(`"a" 1`), decode)
	_, ok := errors.AsType[*DecodeError](err)
	require.True(t, ok)
}

func TestOpenEnum(t *testing.T) {
	m := &Enum{Type: "E", List: []EnumValue{{Name: "a", In: Always}}}
	for data, want := range map[string]string{`"a"`: "a", `"b"`: "b", `"\u0061"`: "a", `""`: ""} {
		v, err := decodeWith(data, newRevision, func(d *Decoder) string { return d.OpenEnum(m) })
		require.Empty(t, err, data)
		require.Equal(t, want, v, data)
	}
	_, err := decodeWith(`7`, newRevision, func(d *Decoder) string { return d.OpenEnum(m) })
	require.Contains(t, err, "want a string")
}

func TestDiscriminatorOf(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":7}`: "7", `{"type":7.0}`: "7", `{"type":"text"}`: `"text"`, `{"type":"te\u0078t"}`: `"text"`, `{"type":true}`: "true",
		`{"type":"7"}`: `"7"`, `{"type":""}`: "",
	} {
		key, _ := decodeWith(data, newRevision, func(d *Decoder) string { return d.DiscriminatorOf("U", "type", false, "7", `"text"`, "true") })
		require.Equal(t, want, key, data)
	}
	for data, want := range map[string]string{
		`{"type":8}`: `member "type" is not a string or a constant`, `{"type":null}`: "is not a string", `{}`: `missing member "type"`, `7`: "want an object",
		`{"type":`: "unexpected end", `{"type":7`: "unexpected end",
	} {
		_, err := decodeWith(data, newRevision, func(d *Decoder) json.RawMessage { d.DiscriminatorOf("U", "type", false, "7"); return d.Raw() })
		require.Contains(t, err, want, data)
	}
	key, err := decodeWith(`{}`, newRevision, func(d *Decoder) string { k := d.DiscriminatorOf("U", "type", true, "7"); d.Skip(); return k })
	require.Empty(t, err+key)
}

func TestInRevisions(t *testing.T) {
	older := func(d *Decoder) string { return d.String() }
	newer := func(d *Decoder) string { return string(d.Raw()) }
	var all Revision
	for _, x := range []struct {
		revision        Revision
		data, want, err string
	}{
		{oldRevision, `"a"`, "a", ""}, {oldRevision, `7`, "", "want a string"},
		{newRevision, `"a"`, `"a"`, ""}, {newRevision, `7`, "7", ""},
		{all, `"a"`, "a", ""}, {all, `7`, "7", ""},
	} {
		v, err := decodeWith(x.data, x.revision, func(d *Decoder) string { return InRevisions(d, sinceNew, older, newer) })
		require.Equal(t, x.want, v, x.data)
		require.Contains(t, err, x.err, x.data)
		require.Equal(t, x.err == "", err == "", err)
	}
}

func TestConstant(t *testing.T) {
	required := &Constant{Name: "type", Closed: Always, Required: Always,
		Values: Enum{Type: "T.type", List: []EnumValue{{Name: `"text"`, In: 1}, {Name: `"prose"`, In: sinceNew}, {Name: `"verse"`, In: sinceNew}}}}
	changed := &Constant{Name: "type", Closed: Always, Required: Always,
		Values: Enum{Type: "T.type", List: []EnumValue{{Name: `"text"`, In: 1}, {Name: `"prose"`, In: sinceNew}}}}
	optional := &Constant{Name: "type", Closed: 1, Required: 1, Values: Enum{Type: "T.type", List: []EnumValue{{Name: `"text"`, In: Always}}}}
	number := &Constant{Name: "type", Closed: Always, Required: Always,
		Values: Enum{Type: "T.type", List: []EnumValue{{Name: `"text"`, In: 1}, {Name: `7`, In: sinceNew}}}}
	var all Revision
	for name, x := range map[string]struct {
		table          *Constant
		from, to       Revision
		data, out, err string
		readErr        bool
	}{
		"own":                        {changed, oldRevision, oldRevision, `{"type":"text"}`, `{"type":"text"}`, "", false},
		"another":                    {changed, newRevision, newRevision, `{"type":"prose"}`, `{"type":"prose"}`, "", false},
		"from an older revision":     {changed, oldRevision, newRevision, `{"type":"text"}`, `{"type":"prose"}`, "", false},
		"from a newer revision":      {changed, newRevision, oldRevision, `{"type":"prose"}`, `{"type":"text"}`, "", false},
		"from all revisions":         {changed, all, oldRevision, `{"type":"prose"}`, `{"type":"text"}`, "", false},
		"in all revisions":           {changed, all, all, `{"type":"prose"}`, `{"type":"prose"}`, "", false},
		"a newer value":              {changed, oldRevision, all, `{"type":"prose"}`, "", `revision has no T.type "prose"`, true},
		"an older value":             {changed, newRevision, all, `{"type":"text"}`, "", `revision has no T.type "text"`, true},
		"an unknown value":           {changed, all, all, `{"type":"other"}`, "", `T.type has no value "other"`, true},
		"a number":                   {changed, all, all, `{"type":1}`, "", "T.type has no value 1", true},
		"a constant number":          {number, newRevision, newRevision, `{"type":7}`, `{"type":7}`, "", false},
		"a number in another form":   {number, newRevision, newRevision, `{"type":7.0}`, `{"type":7}`, "", false},
		"a number to older":          {number, newRevision, oldRevision, `{"type":7}`, `{"type":"text"}`, "", false},
		"an older string":            {number, newRevision, all, `{"type":"text"}`, "", `revision has no T.type "text"`, true},
		"a newer number":             {number, oldRevision, all, `{"type":7}`, "", "revision has no T.type 7", true},
		"its digits":                 {number, all, all, `{"type":"7"}`, "", `T.type has no value "7"`, true},
		"an object":                  {number, all, all, `{"type":{}}`, "", `T.type has no value {}`, true},
		"a string with escapes":      {changed, oldRevision, oldRevision, `{"type":"te\u0078t"}`, `{"type":"text"}`, "", false},
		"one of several":             {required, newRevision, newRevision, `{"type":"verse"}`, `{"type":"verse"}`, "", false},
		"one of several, older":      {required, newRevision, oldRevision, `{"type":"verse"}`, "", `revision has no T.type "verse"`, false},
		"none of several":            {required, oldRevision, newRevision, `{"type":"text"}`, "", "type is required and not set", false},
		"any string":                 {optional, newRevision, newRevision, `{"type":"other"}`, `{"type":"other"}`, "", false},
		"the constant as any string": {optional, newRevision, newRevision, `{"type":"text"}`, `{"type":"text"}`, "", false},
		"the constant to older":      {optional, newRevision, oldRevision, `{"type":"text"}`, `{"type":"text"}`, "", false},
		"any string to older":        {optional, newRevision, oldRevision, `{"type":"other"}`, "", `T.type has no value "other"`, false},
		"absent":                     {optional, newRevision, newRevision, `{}`, `{}`, "", false},
		"absent to older":            {optional, newRevision, oldRevision, `{}`, `{"type":"text"}`, "", false},
		"the constant from older":    {optional, oldRevision, newRevision, `{"type":"text"}`, `{}`, "", false},
		"any string in all":          {optional, all, all, `{"type":"other"}`, `{"type":"other"}`, "", false},
	} {
		extra, err := decodeWith(x.data, x.from, func(d *Decoder) (extra map[string]json.RawMessage) {
			o := d.Object(&Members{Type: "T", List: []Member{{Name: "type", In: Always}}})
			for o.Next() {
				extra = o.Constant(extra, x.table)
			}
			return extra
		})
		if x.readErr {
			require.Contains(t, err, x.err, name)
			continue
		}
		require.Empty(t, err, name)
		out, err := encodeWith(x.to, func(b []byte, e *Encoder) []byte { return CloseObject(e.Constant(b, extra, x.table), 0) })
		if x.err != "" {
			require.Contains(t, err, x.err, name)
			continue
		}
		require.Empty(t, err, name)
		require.Equal(t, x.out, out, name)
	}
	_, err := encodeWith(newRevision, func(b []byte, e *Encoder) []byte {
		return e.Constant(b, map[string]json.RawMessage{"type": json.RawMessage("1")}, changed)
	})
	require.Contains(t, err, `T.type has no value 1`)
}
