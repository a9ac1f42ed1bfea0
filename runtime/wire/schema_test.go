package wire_test

import (
	"encoding/json"
	"strings"
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

// TestSchemaKeywords validates documents with the keywords that no Go type represents. The first documents of
// each case are valid.
func TestSchemaKeywords(t *testing.T) {
	text := &wire.Schema{Types: []string{"string"}}
	begins := func(prefix string) func(string) bool {
		return func(s string) bool { return strings.HasPrefix(s, prefix) }
	}
	has := func(name string) *wire.Schema {
		return &wire.Schema{Members: []wire.SchemaPart{{Name: name, Required: true}}}
	}
	for name, test := range map[string]struct {
		schema  *wire.Schema
		valid   []string
		invalid map[string]string // with the errors
	}{
		"length": {&wire.Schema{Length: &wire.Range{Min: 1, Max: 2}}, []string{`"é"`, `"éé"`, `1`, `"\ud83d\ude00"`},
			map[string]string{`""`: "have 0 characters, at least 1 are required", `"abc"`: "have 3 characters, at most 2 are allowed"}},
		"match":      {&wire.Schema{Match: begins("a")}, []string{`"a"`, `"\u0061b"`, `[]`}, map[string]string{`"b"`: `value "b" does not match the pattern`}},
		"base64":     {&wire.Schema{Base64: true, Length: &wire.Range{Min: 4, Max: 4}}, []string{`"AA=="`}, map[string]string{`""`: "have 0 characters", `"abc"`: "base64"}},
		"above":      {&wire.Schema{Above: new(0.0), Below: new(1.0)}, []string{`0.5`, `"a"`}, map[string]string{`0`: "want more than 0, have 0", `1`: "want less than 1, have 1"}},
		"multiple":   {&wire.Schema{Multiple: "0.25"}, []string{`0`, `0.5`, `-1.25`, `1e3`, `1e30`, `25e-2`}, map[string]string{`0.3`: "want a multiple of 0.25, have 0.3", `1e-3`: "want a multiple"}},
		"multiple 7": {&wire.Schema{Multiple: "7"}, []string{`7`, `700`, `7e20`, `777777777777777777777`, `0.0`}, map[string]string{`1e20`: "want a multiple of 7", `0.7`: "want a multiple of 7"}},
		"count": {&wire.Schema{Count: &wire.Range{Min: 1, Max: 2}}, []string{`[1]`, ` [ 1 , 2 ] `, `{}`},
			map[string]string{`[]`: "have 0 items, at least 1 are required", `[1,2,3]`: "have 3 items, at most 2 are allowed"}},
		"unique": {&wire.Schema{Unique: true}, []string{`[1,"1",[1],{"a":1,"b":2},true,null,1.5]`, `["number false 1 0",1]`},
			map[string]string{`[1, 1.0]`: "element occurs twice", `[{"a":1,"b":2}, {"b":2.0,"a":1}]`: "element occurs twice", `["a","\u0061"]`: "element occurs twice", `[0,-0.0]`: "element occurs twice"}},
		"first": {&wire.Schema{First: []*wire.Schema{text}, Items: &wire.Schema{Not: new(wire.Schema)}}, []string{`[]`, `["a"]`},
			map[string]string{`[1]`: "want string, have a number", `["a","b"]`: "value has a form that is not allowed"}},
		"contains": {&wire.Schema{Contains: text, Contained: &wire.Range{Min: 1, Max: 2}}, []string{`[1,"a"]`, `["a","b",1]`},
			map[string]string{`[1]`: "have 0 items of the required form", `["a","a","a"]`: "have 3 items of the required form"}},
		"size": {&wire.Schema{Size: &wire.Range{Min: 1, Max: 2}}, []string{`{"a":1}`, `{"a":1,"b":2}`, `[]`},
			map[string]string{`{}`: "have 0 members, at least 1 are required", `{"a":1,"b":2,"c":3}`: "have 3 members, at most 2 are allowed"}},
		"names": {&wire.Schema{Names: &wire.Schema{Length: &wire.Range{Max: 1}}}, []string{`{"a":1}`, `{"é":1}`}, map[string]string{`{"ab":1}`: `name "ab" is not allowed`}},
		"patterns": {&wire.Schema{Members: []wire.SchemaPart{{Name: "x-a", Schema: &wire.Schema{Length: &wire.Range{Max: 1}}}}, Patterns: []wire.SchemaPattern{{Match: begins("x-"), Schema: text}}, Closed: true},
			[]string{`{}`, `{"x-a":"b"}`, `{"x-b":"long"}`}, map[string]string{`{"x-b":1}`: "want string", `{"x-a":"bc"}`: "have 2 characters", `{"a":1}`: `revision has no member "a"`}},
		"dependents": {&wire.Schema{Dependents: []wire.Dependent{{Name: "a", Schema: has("b")}}}, []string{`{}`, `{"b":1}`, `{"a":1,"b":[{}]}`}, map[string]string{`{"a":1}`: `missing member "b"`}},
		"all":        {&wire.Schema{AllOf: []*wire.Schema{has("a"), has("b")}, Types: []string{"object"}}, []string{`{"a":1,"b":2}`}, map[string]string{`{"a":1}`: `missing member "b"`, `1`: "want object"}},
		"one":        {&wire.Schema{OneOf: []*wire.Schema{has("a"), has("b")}}, []string{`{"a":1}`, `{"b":1}`}, map[string]string{`{}`: "value has 0 of 2 types, want one", `{"a":1,"b":1}`: "value has 2 of 2 types, want one"}},
		"not":        {&wire.Schema{Not: has("a")}, []string{`{"b":1}`}, map[string]string{`{"a":1}`: "value has a form that is not allowed", `1`: "value has a form that is not allowed"}},
		"any, equal": {&wire.Schema{AnyOf: []*wire.Schema{text, {Types: []string{"number"}}}, Equal: []string{`1`, `"a"`, `true`}}, []string{`1.0`, `"a"`}, map[string]string{`true`: "want one of 2 types", `2`: "value 2 is not one of"}},
	} {
		validate := func(document string) error {
			x := validated{test.schema}
			return wire.Decode([]byte(document), &wire.Frame{Revision: rev2025}, &x)
		}
		for _, document := range test.valid {
			require.NoError(t, validate(document), "%s: %s", name, document)
		}
		for document, want := range test.invalid {
			require.ErrorContains(t, validate(document), want, "%s: %s", name, document)
		}
	}
}

// validated is a value that a schema validates.
type validated struct{ schema *wire.Schema }

func (x *validated) AppendJSON(b []byte, _ *wire.Encoder) []byte { return b }
func (x *validated) DecodeJSON(d *wire.Decoder)                  { x.schema.Read(d) }
