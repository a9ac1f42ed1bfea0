package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// sized has sizes: a list of strings until 2025, and a text with a schema since then.
type sized struct {
	Sizes []string
	Extra map[string]json.RawMessage
}

var sizedMembers = wire.NewMembers("sized", wire.Member{Name: "sizes", In: wire.Always, Required: wire.Always})

func checkSizes(d *wire.Decoder) {
	(&wire.Schema{Types: []string{"string"}, Values: []string{"any", "48x48"}}).Read(d)
}

func (x *sized) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	if e.InExtra(x.Extra, "sizes", since2025) {
		b = e.FromExtra(b, x.Extra, "sizes", since2025, checkSizes, x.Sizes != nil)
	} else {
		b = wire.AppendStrings(append(b, `,"sizes":`...), x.Sizes)
	}
	b = e.Extra(b, x.Extra, sizedMembers)
	return wire.CloseObject(b, start)
}

func (x *sized) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(sizedMembers); o.Next(); {
		switch {
		case o.Name != "sizes":
			x.Extra = o.Extra(x.Extra)
		case d.Needs(since2025):
			d.Check(since2025, checkSizes)
			x.Extra = o.Extra(x.Extra)
		case !d.Has(since2025):
			x.Sizes = d.Strings()
		case !d.Try(func(d *wire.Decoder) { x.Sizes = d.Strings() }):
			x.Sizes = nil
			d.Check(wire.Always, checkSizes)
			x.Extra = o.Extra(x.Extra)
		}
	}
}

func TestMembersInExtraByRevision(t *testing.T) {
	for _, test := range []struct {
		r        wire.Revision
		document string
		err      string
	}{
		{rev2024, `{"sizes":["48x48"]}`, ""},
		{rev2024, `{"sizes":"48x48"}`, "decode /sizes: want an array, have a string"},
		{rev2025, `{"sizes":"48x48"}`, ""},
		{rev2025, `{"sizes":"4x4"}`, `decode /sizes: value "4x4" is not one of ["any" "48x48"]`},
		{rev2025, `{"sizes":["48x48"]}`, "decode /sizes: want string, have an array"},
		{rev2025, `{}`, `decode: missing member "sizes"`},
		{wire.Revision{}, `{"sizes":["48x48"]}`, ""},
		{wire.Revision{}, `{"sizes":"any"}`, ""},
		{wire.Revision{}, `{"sizes":5}`, "decode /sizes: want string, have a number"},
	} {
		x, f := new(sized), &wire.Frame{Revision: test.r}
		err := wire.Decode([]byte(test.document), f, x)
		if test.err != "" {
			require.EqualError(t, err, test.err, test.document)
			continue
		}
		require.NoError(t, err, test.document)
		out, err := wire.Append(nil, f, x)
		require.NoError(t, err, test.document)
		require.Equal(t, test.document, string(out))
	}
}

func TestEncodeMembersInExtra(t *testing.T) {
	extra := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"sizes": json.RawMessage(text)}
	}
	f := &wire.Frame{Revision: rev2025}
	for _, test := range []struct {
		value *sized
		err   string
	}{
		{&sized{Sizes: []string{"any"}}, `encode for 2025-06-18: revision has another type of "sizes"; set it in Extra`},
		{new(sized), `encode for 2025-06-18: sizes is required and not set`},
		{&sized{Extra: extra(`"big"`)}, `encode /sizes for 2025-06-18: value "big" is not one of ["any" "48x48"]`},
		{&sized{Extra: extra(`[1`)}, `encode /sizes/0 for 2025-06-18: unexpected end`},
	} {
		_, err := wire.Append(nil, f, test.value)
		require.EqualError(t, err, test.err)
	}
	both := &sized{Sizes: []string{"a"}, Extra: extra(`"any"`)}
	out, err := wire.Append(nil, f, both)
	require.NoError(t, err)
	require.Equal(t, `{"sizes":"any"}`, string(out))
	out, err = wire.Append(nil, &wire.Frame{Revision: rev2024}, both)
	require.NoError(t, err)
	require.Equal(t, `{"sizes":["a"]}`, string(out))
}

func TestSchema(t *testing.T) {
	object := &wire.Schema{Types: []string{"object"}, Members: []wire.SchemaPart{
		{Name: "id", Required: true, Schema: &wire.Schema{Types: []string{"integer"}}}, {Name: "data", Schema: &wire.Schema{Types: []string{"string"}, Base64: true}}}}
	closed := &wire.Schema{Types: []string{"object"}, Members: object.Members, Closed: true}
	texts := &wire.Schema{Types: []string{"object"}, Others: &wire.Schema{Types: []string{"string", "null"}}}
	half := &wire.Schema{Types: []string{"number"}, Min: new(0.5), Max: new(1.5)}
	list := &wire.Schema{Types: []string{"array"}, Items: half, MaxItems: 2}
	either := &wire.Schema{AnyOf: []*wire.Schema{object, half}}
	for _, test := range []struct {
		schema   *wire.Schema
		document string
		err      string
	}{
		{new(wire.Schema), `{"a":[1,null,true,"x"]}`, ""},
		{object, `{"id":1.0,"more":[]}`, ""},
		{object, `{"id":1,"data":"AAA="}`, ""},
		{object, `{"id":1.5}`, "decode /id: want an integer, have 1.5"},
		{object, `{"id":9223372036854775808}`, "decode /id: 9223372036854775808 does not fit 64 bits"},
		{object, `{"data":"AAA="}`, `decode: missing member "id"`},
		{object, `{"id":1,"data":"!"}`, "decode /data: "},
		{object, `{"id":1,"id":2}`, `decode /id: duplicate member "id"`},
		{object, `[]`, "decode: want object, have an array"},
		{closed, `{"id":1,"more":0}`, `decode /more: revision has no member "more"`},
		{texts, `{"a":"x","b":null}`, ""},
		{texts, `{"a":1}`, "decode /a: want string or null, have a number"},
		{list, `[0.5,1.5]`, ""},
		{list, `[0.4]`, "decode /0: want at least 0.5, have 0.4"},
		{list, `[1,2]`, "decode /1: want at most 1.5, have 2"},
		{list, `[1,1,1]`, "have 3 items, at most 2 are allowed"},
		{either, `1`, ""},
		{either, `{"id":3}`, ""},
		{either, `2`, "decode: want one of 2 types: want object, have a number; or want at most 1.5, have 2"},
		{either, `{"id":`, "decode"},
	} {
		err := wire.Decode([]byte(test.document), nil, &checkedJSON{schema: test.schema})
		if test.err == "" {
			require.NoError(t, err, test.document)
		} else {
			require.ErrorContains(t, err, test.err, test.document)
		}
	}
}

// checkedJSON is JSON with a schema in all revisions.
type checkedJSON struct {
	schema *wire.Schema
	raw    json.RawMessage
}

func (x *checkedJSON) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Raw(b, x.raw, "") }
func (x *checkedJSON) DecodeJSON(d *wire.Decoder) {
	d.Check(wire.Always, x.schema.Read)
	x.raw = d.Raw()
}

func TestEqual(t *testing.T) {
	equal := []string{"true", "null", "-1.5", "100", "0", `{"a":[1,"b"],"c":{}}`}
	for _, text := range []string{"true", " null ", "-1.5", "-15e-1", "-1.50", "100", "1e2", "100.0", "0", "-0", "0e9", "0.0", `{"c":{},"a":[1.0,"\u0062"]}`} {
		d := &wire.Schema{Equal: equal}
		require.NoError(t, wire.Decode([]byte(text), new(wire.Frame), &read{d}), text)
	}
	for _, text := range []string{"false", `"null"`, "1.5", "-1.5000000000000000000001", "101", "1e-99999999999999999999", `{"a":[1,"b"]}`, `{"a":["b",1],"c":{}}`, "[]", `"100"`} {
		d := &wire.Schema{Equal: equal}
		require.ErrorContains(t, wire.Decode([]byte(text), new(wire.Frame), &read{d}), "is not one of true, null, -1.5, 100, 0, ", text)
	}
}

// read is a value that a schema validates.
type read struct{ schema *wire.Schema }

func (x *read) AppendJSON(b []byte, _ *wire.Encoder) []byte { return append(b, "null"...) }
func (x *read) DecodeJSON(d *wire.Decoder)                  { x.schema.Read(d) }
