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

// read decodes data with a function and returns the failure's text.
func read[T any](data string, r Revision, decode func(*Decoder) T) (T, string) {
	d := newDecoder([]byte(data), &Frame{Revision: r})
	v := decode(d)
	if err := d.finish(); err != nil {
		return v, err.Error()
	}
	return v, ""
}

// written encodes with a function and returns the output or the failure's text.
func written(r Revision, put func([]byte, *Encoder) []byte) (string, string) {
	e := newEncoder(&Frame{Revision: r}, nil, 0)
	out, err := e.finish(nil, put(nil, e))
	if err != nil {
		return "", err.Error()
	}
	return string(out), ""
}

func TestADiscriminatorIsFoundWithoutReading(t *testing.T) {
	for _, c := range []struct {
		data, key, err string
		optional       bool
	}{
		{data: `{"a":1,"type":"text"}`, key: "text"},
		{data: `{"a":1}`, err: `U: the member "type" is missing`},
		{data: `{"a":1}`, optional: true},
		{data: `{"type":7}`, err: `U: the member "type" is no string`},
		{data: `[]`, err: "U: want an object"},
	} {
		key, err := read(c.data, newRevision, func(d *Decoder) string {
			key := d.Discriminator("U", "type", c.optional)
			d.Skip()
			return key
		})
		require.Equal(t, c.key, key, c.data)
		require.Contains(t, err, c.err, c.data)
		require.Equal(t, c.err == "", err == "", c.data)
	}
}

func TestOneOrManyIsOneValueWhereTheRevisionKnowsNoList(t *testing.T) {
	decode := func(d *Decoder) []string { return OneOrMany(d, sinceNew, (*Decoder).String) }
	one, err := read(`"a"`, oldRevision, decode)
	require.Empty(t, err)
	require.Equal(t, []string{"a"}, one)
	many, err := read(`["a","b"]`, newRevision, decode)
	require.Empty(t, err)
	require.Equal(t, []string{"a", "b"}, many)
	_, err = read(`["a","b"]`, oldRevision, decode)
	require.Contains(t, err, "want a string")

	put := func(list ...string) func([]byte, *Encoder) []byte {
		return func(b []byte, e *Encoder) []byte {
			return AppendOneOrMany(b, e, list, sinceNew, func(b []byte, _ *Encoder, s string) []byte { return AppendString(b, s) })
		}
	}
	out, err := written(oldRevision, put("a"))
	require.Empty(t, err)
	require.Equal(t, `"a"`, out)
	out, err = written(newRevision, put())
	require.Empty(t, err)
	require.Equal(t, `[]`, out)
	_, err = written(oldRevision, put("a", "b"))
	require.Contains(t, err, "one value here, not 2")
}

func TestAPrimitiveIsOneOfAFewKinds(t *testing.T) {
	decode := func(d *Decoder) any { return d.Primitive(sinceNew, true) }
	for data, want := range map[string]any{`"a"`: "a", `true`: true, `7`: int64(7), `1e2`: int64(100), `1.5`: 1.5, `["a"]`: []string{"a"}, `1e300`: 1e300} {
		v, err := read(data, newRevision, decode)
		require.Empty(t, err, data)
		require.Equal(t, want, v, data)
		out, err := written(newRevision, func(b []byte, e *Encoder) []byte { return e.Primitive(b, v, sinceNew) })
		require.Empty(t, err, data)
		again, err := read(out, newRevision, decode)
		require.Empty(t, err, data)
		require.Equal(t, v, again, data)
	}
	for _, data := range []string{`null`, `{}`, `[1]`} {
		_, err := read(data, newRevision, decode)
		require.NotEmpty(t, err, data)
	}
	_, err := read(`["a"]`, oldRevision, decode)
	require.NotEmpty(t, err)
	_, err = read(`1.5`, newRevision, func(d *Decoder) any { return d.Primitive(sinceNew, false) })
	require.Contains(t, err, "want an integer")
	_, err = written(newRevision, func(b []byte, e *Encoder) []byte { return e.Primitive(b, struct{}{}, sinceNew) })
	require.Contains(t, err, "struct {} cannot be sent here")
	_, err = written(oldRevision, func(b []byte, e *Encoder) []byte { return e.Primitive(b, []string{"a"}, sinceNew) })
	require.Contains(t, err, "revision has no list of strings")
}

func TestRawMustBeAnObjectWhereTheRevisionSaysSo(t *testing.T) {
	decode := func(d *Decoder) json.RawMessage { return d.RawIn(1) }
	_, err := read(`[1]`, oldRevision, decode)
	require.Contains(t, err, "want an object")
	raw, err := read(`[1]`, newRevision, decode)
	require.Empty(t, err)
	require.JSONEq(t, `[1]`, string(raw))
	_, err = written(oldRevision, func(b []byte, e *Encoder) []byte { return e.RawIn(b, raw, "", 1) })
	require.Contains(t, err, "object")
	out, err := written(newRevision, func(b []byte, e *Encoder) []byte { return e.RawIn(b, raw, "", 1) })
	require.Empty(t, err)
	require.Equal(t, `[1]`, out)
}

func TestAUnionIsReadInTheFormOfAllRevisions(t *testing.T) {
	v, err := UnmarshalUnion([]byte(`"a"`), (*Decoder).String)
	require.NoError(t, err)
	require.Equal(t, "a", v)
	_, err = UnmarshalUnion([]byte(`"a" 1`), (*Decoder).String)
	_, ok := errors.AsType[*DecodeError](err)
	require.True(t, ok)
}

func TestAnOpenEnumTakesEveryString(t *testing.T) {
	m := NewEnum("E", EnumValue{Name: "a", In: Always})
	for data, want := range map[string]string{`"a"`: "a", `"b"`: "b", `"\u0061"`: "a", `""`: ""} {
		v, err := read(data, newRevision, func(d *Decoder) string { return d.OpenEnum(m) })
		require.Empty(t, err, data)
		require.Equal(t, want, v, data)
	}
	_, err := read(`7`, newRevision, func(d *Decoder) string { return d.OpenEnum(m) })
	require.Contains(t, err, "want a string")
}
