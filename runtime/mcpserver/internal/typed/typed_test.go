package typed_test

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
)

type address struct {
	Street string `json:"street" minLength:"1"`
	No     uint16 `json:"no,omitempty" default:"1"`
}

type order struct {
	Name    string            `json:"name" jsonschema:"who orders" minLength:"2" maxLength:"5"`
	Size    string            `json:"size,omitempty" enum:"s,m,l" default:"m"`
	Count   int               `json:"count" minimum:"1" maximum:"10"`
	Price   float64           `json:"price,omitempty" minimum:"0.5"`
	Fast    bool              `json:"fast,omitempty"`
	Tags    []string          `json:"tags,omitempty" maxItems:"2" enum:"a,b"`
	To      *address          `json:"to"`
	Labels  map[string]int8   `json:"labels,omitempty"`
	Big     uint64            `json:"big,omitempty"`
	Pair    [2]int            `json:"pair,omitempty"`
	When    time.Time         `json:"when,omitzero"`
	Data    []byte            `json:"data,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Any     any               `json:"any,omitempty"`
	Nested  []address         `json:"nested,omitempty"`
	Strings map[string]string `json:"strings,omitempty"`
	hidden  int
	Region  string `json:"region,omitempty" header:"Region"`
	Left    string `json:"-"`
}

var _ = order{}.hidden

func planOf[T any](t *testing.T) (*typed.Plan, json.RawMessage) {
	t.Helper()
	schema, err := typed.Infer(reflect.TypeFor[T](), &typed.Options{Input: true})
	require.NoError(t, err)
	plan, err := typed.NewPlan(reflect.TypeFor[T](), schema)
	require.NoError(t, err)
	return plan, schema
}

func TestInferFromTypeAndTags(t *testing.T) {
	plan, schema := planOf[order](t)
	require.True(t, plan.Validates())
	require.JSONEq(t, `{
		"type": "object", "additionalProperties": false, "required": ["name", "count"],
		"properties": {
			"name": {"type": "string", "description": "who orders", "minLength": 2, "maxLength": 5},
			"size": {"type": "string", "enum": ["s", "m", "l"], "default": "m"},
			"count": {"type": "integer", "minimum": 1, "maximum": 10},
			"price": {"type": "number", "minimum": 0.5},
			"fast": {"type": "boolean"},
			"tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b"]}},
			"to": {"type": ["null", "object"], "additionalProperties": false, "required": ["street"], "properties": {
				"street": {"type": "string", "minLength": 1}, "no": {"type": "integer", "minimum": 0, "maximum": 65535, "default": 1}
			}},
			"labels": {"type": "object", "additionalProperties": {"type": "integer", "minimum": -128, "maximum": 127}},
			"big": {"type": "integer", "minimum": 0},
			"pair": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
			"when": {"type": "string", "format": "date-time"},
			"data": {"type": "string", "contentEncoding": "base64"},
			"raw": {"description": "any JSON value"}, "any": {"description": "any JSON value"},
			"nested": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["street"], "properties": {
				"street": {"type": "string", "minLength": 1}, "no": {"type": "integer", "minimum": 0, "maximum": 65535, "default": 1}
			}}},
			"strings": {"type": "object", "additionalProperties": {"type": "string"}},
			"region": {"type": "string", "x-mcp-header": "Region"}
		}
	}`, string(schema))
}

func TestFieldsAlwaysWrittenAreRequired(t *testing.T) {
	schema, err := typed.Infer(reflect.TypeFor[struct {
		A int  `json:"a" default:"1"`
		B *int `json:"b"`
		C int  `json:"c,omitempty" default:"1"`
	}](), &typed.Options{Open: true})
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","required":["a","b"],"properties":{
		"a":{"type":"integer","default":1},"b":{"type":["null","integer"]},"c":{"type":"integer","default":1}}}`, string(schema))
}

func TestReadSetsFields(t *testing.T) {
	plan, _ := planOf[order](t)
	var o order
	require.NoError(t, plan.Read(json.RawMessage(`{
		"name":"Ann","count":2.0,"price":1e1,"fast":true,"tags":["b"],"to":{"street":"x"},"labels":{"a":-1},"big":18446744073709551615,
		"pair":[1,2],"when":"2026-07-28T00:00:00Z","data":"aGk=","raw":{"x":1.0},"any":[1],"nested":[{"street":"y","no":7}],"strings":{"k":"v"}
	}`), &o))
	require.Equal(t, order{
		Name: "Ann", Size: "m", Count: 2, Price: 10, Fast: true, Tags: []string{"b"}, To: &address{"x", 1},
		Labels: map[string]int8{"a": -1}, Big: math.MaxUint64, Pair: [2]int{1, 2},
		When: time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC), Data: []byte("hi"), Raw: json.RawMessage(`{"x":1.0}`),
		Any: []any{1.0}, Nested: []address{{"y", 7}}, Strings: map[string]string{"k": "v"},
	}, o)
}

func TestConformingTypesMatchSchema(t *testing.T) {
	opts := &typed.Options{Open: true}
	type open struct {
		List    []string         `json:"list"`
		Map     map[string][]int `json:"map"`
		Pointer *[]float32       `json:"pointer"`
		Data    []byte           `json:"data"`
		Hash    hash             `json:"hash"`
		When    time.Time        `json:"when"`
		Any     any              `json:"any"`
		Array   [2]map[string]any
		Maybe   *struct{ N uint8 } `json:"maybe,omitempty"`
		Base
	}
	typ := reflect.TypeFor[open]()
	require.True(t, typed.Conforms(typ, opts))
	schema, err := typed.Infer(typ, opts)
	require.NoError(t, err)
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	for _, v := range []open{
		{},
		{
			List: []string{"a"}, Map: map[string][]int{"a": nil}, Pointer: new([]float32), Data: []byte("x"), Hash: hash{1}, When: time.Now(),
			Any: []any{nil}, Array: [2]map[string]any{{"a": 1}}, Maybe: &struct{ N uint8 }{255}, Base: Base{&Inner{"x"}},
		},
	} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, j.Validate(text), "%s", text)
	}
}

// Types whose underlying type is a slice of bytes.
type (
	hash  []octet
	octet byte
)

// grade is a byte that is encoded as a JSON string.
type grade byte

func (g grade) MarshalText() ([]byte, error) { return []byte{byte(g)}, nil }

func (g *grade) UnmarshalText(text []byte) error {
	*g = grade(text[0])
	return nil
}

// mcp-go rejects a list if the output schema of a tool has several types at its root.
func TestRootHasOneTypeOrNone(t *testing.T) {
	for of, want := range map[reflect.Type]string{
		reflect.TypeFor[[]int]():          `{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"integer"}}]}`,
		reflect.TypeFor[[]byte]():         `{"anyOf":[{"type":"null"},{"type":"string","contentEncoding":"base64"}]}`,
		reflect.TypeFor[[][]int]():        `{"anyOf":[{"type":"null"},{"type":"array","items":{"type":["null","array"],"items":{"type":"integer"}}}]}`,
		reflect.TypeFor[[1]int]():         `{"type":"array","items":{"type":"integer"},"maxItems":1,"minItems":1}`,
		reflect.TypeFor[map[string]int](): `{"type":"object","additionalProperties":{"type":"integer"}}`,
	} {
		schema, err := typed.Infer(of, &typed.Options{})
		require.NoError(t, err)
		require.JSONEq(t, want, string(schema), of)
	}
}

func TestNamedBytesAreBase64(t *testing.T) {
	type in struct {
		Hash   hash    `json:"hash"`
		Grades []grade `json:"grades"`
	}
	plan, schema := planOf[in](t)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["hash","grades"],"properties":{
		"hash":{"type":"string","contentEncoding":"base64"},"grades":{"type":"array","items":{"type":"string"}}}}`, string(schema))
	want := in{hash("hi"), []grade{'a', 'b'}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got in
	require.NoError(t, plan.Read(text, &got), "%s", text)
	require.Equal(t, want, got)
}

func TestBytesAsList(t *testing.T) {
	type in struct {
		Hash hash `json:"hash"`
	}
	plan, err := typed.NewPlan(reflect.TypeFor[in](), json.RawMessage(`{"type":"object","properties":{"hash":{"type":"array","items":{"type":"integer"},"maxItems":2}}}`))
	require.NoError(t, err)
	require.True(t, plan.Validates())
	var got in
	require.NoError(t, plan.Read(json.RawMessage(`{"hash":[1,255]}`), &got))
	require.Equal(t, in{hash{1, 255}}, got)
	for _, doc := range []string{`{"hash":"aGk="}`, `{"hash":[256]}`, `{"hash":[1,2,3]}`} {
		require.Error(t, plan.Read(json.RawMessage(doc), new(in)), doc)
	}
}

func TestDefaultsApplyIfValidationIsDelegated(t *testing.T) {
	type in struct {
		List []address          `json:"list"`
		Map  map[string]address `json:"map"`
	}
	const inner = `{"type":"object","properties":{"no":{"type":"integer","default":7}}}`
	for property, want := range map[string]in{
		`"list":{"type":"array","uniqueItems":true,"items":` + inner + `}`:                                  {List: []address{{No: 7}}},
		`"list":{"items":` + inner + `}`:                                                                    {List: []address{{No: 7}}},
		`"list":{"type":"array","prefixItems":[{"type":"object"}],"items":` + inner + `}`:                   {List: []address{{}}},
		`"map":{"type":"object","minProperties":1,"additionalProperties":` + inner + `}`:                    {Map: map[string]address{"a": {No: 7}}},
		`"map":{"type":"object","properties":{"a":{}},"additionalProperties":` + inner + `}`:                {Map: map[string]address{"a": {}}},
		`"map":{"type":"object","patternProperties":{"a":{}},"additionalProperties":{"type":"integer"}}`:    {Map: map[string]address{"a": {}}},
		`"list":{"type":"array","prefixItems":[{"type":"object"}],"items":{"type":"integer"},"minItems":1}`: {List: []address{{}}},
	} {
		plan, err := typed.NewPlan(reflect.TypeFor[in](), json.RawMessage(`{"type":"object","properties":{`+property+`}}`))
		require.NoError(t, err, property)
		require.False(t, plan.Validates(), property)
		doc := `{"list":[{}]}`
		if want.Map != nil {
			doc = `{"map":{"a":{}}}`
		}
		var got in
		require.NoError(t, plan.Read(json.RawMessage(doc), &got), property)
		require.Equal(t, want, got, property)
	}
}

func TestPointerWithEnumMayBeNull(t *testing.T) {
	type choice struct {
		Size *string  `json:"size" enum:"s,m"`
		No   *int     `json:"no" enum:"1,2"`
		Tags []*uint8 `json:"tags,omitempty" enum:"1,2"`
	}
	typ := reflect.TypeFor[choice]()
	for _, opts := range []*typed.Options{{Input: true}, {}} {
		schema, err := typed.Infer(typ, opts)
		require.NoError(t, err)
		j, err := validate.Compile(schema)
		require.NoError(t, err)
		for doc, fits := range map[string]bool{
			`{"size":null,"no":null,"tags":[null]}`: true, `{"size":"s","no":2,"tags":[1]}`: true,
			`{"size":"","no":null}`: false, `{"size":null,"no":0}`: false, `{"size":null,"no":null,"tags":[0]}`: false,
		} {
			require.Equal(t, fits, j.Validate(json.RawMessage(doc)) == nil, "%s: %s", schema, doc)
		}
	}
	plan, _ := planOf[choice](t)
	c := choice{Size: new("s"), No: new(1)}
	require.NoError(t, plan.Read(json.RawMessage(`{"size":null,"no":null}`), &c))
	require.Equal(t, choice{}, c)
}

func TestTypesThatDoNotConform(t *testing.T) {
	opts := &typed.Options{Schemas: map[reflect.Type]json.RawMessage{reflect.TypeFor[address](): json.RawMessage(`{}`)}}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[address](), reflect.TypeFor[[]address](), reflect.TypeFor[map[string]big.Int](), reflect.TypeFor[level](),
		reflect.TypeFor[struct{ Word }](), reflect.TypeFor[struct {
			S string `enum:"a"`
		}](),
	} {
		require.False(t, typed.Conforms(typ, opts), typ)
	}
}

func TestEmptyEnumAcceptsAll(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"street":{"type":"string","enum":[]}}}`)
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	plan, err := typed.NewPlan(reflect.TypeFor[address](), schema)
	require.NoError(t, err)
	doc := json.RawMessage(`{"street":"x"}`)
	require.NoError(t, j.Validate(doc))
	require.NoError(t, plan.Read(doc, new(address)))
}

func TestPointerMethodsOfMapValuesAreError(t *testing.T) {
	type part struct{ N big.Rat }
	for typ, missing := range map[reflect.Type]string{
		reflect.TypeFor[map[string]big.Rat]():             "*big.Rat",
		reflect.TypeFor[map[string]big.Int]():             "*big.Int",
		reflect.TypeFor[struct{ M map[string][1]part }](): "*big.Rat",
		reflect.TypeFor[*map[string]map[string]big.Rat](): "*big.Rat",
		reflect.TypeFor[map[string]*big.Rat]():            "",
		reflect.TypeFor[map[string]struct{ *part }]():     "",
		reflect.TypeFor[map[string][]part]():              "",
		reflect.TypeFor[struct{ R []big.Rat }]():          "",
		reflect.TypeFor[[1]part]():                        "",
		reflect.TypeFor[map[string]time.Time]():           "",
		reflect.TypeFor[map[string]color]():               "",
	} {
		_, err := typed.Infer(typ, &typed.Options{})
		if missing == "" {
			require.NoError(t, err, typ)
		} else {
			require.ErrorContains(t, err, "encoding/json does not call methods of "+missing, typ)
		}
		_, err = typed.Infer(typ, &typed.Options{Input: true})
		require.NoError(t, err, typ)
	}
}

func TestJSONNumberIsNumber(t *testing.T) {
	schema, err := typed.Infer(reflect.TypeFor[struct{ N *big.Int }](), &typed.Options{})
	require.NoError(t, err)
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	text, err := json.Marshal(struct{ N *big.Int }{big.NewInt(7)})
	require.NoError(t, err)
	require.NoError(t, j.Validate(text), "%s %s", schema, text)
}
