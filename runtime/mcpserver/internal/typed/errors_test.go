package typed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
)

type base struct {
	ID string `json:"id"`
}

type tree struct {
	Name     string  `json:"name"`
	Children []*tree `json:"children"`
}

// level encodes itself as a JSON string.
type level int

func (l *level) UnmarshalText(text []byte) error {
	*l = level(len(text))
	return nil
}

func TestFieldsOfEmbeddedStructs(t *testing.T) {
	type outer struct {
		Base
		Name string `json:"name"`
		Over level  `json:"over,string"` // has no effect: level is a string already
	}
	plan, schema := planOf[outer](t)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["id","name","over"],"properties":{
		"id":{"type":"string"},"name":{"type":"string"},"over":{"type":"string"}}}`, string(schema))
	var o outer
	require.NoError(t, plan.Read(json.RawMessage(`{"id":"x","name":"y","over":"four"}`), &o))
	require.Equal(t, outer{Base: Base{&Inner{"x"}}, Name: "y", Over: 4}, o)
}

// Base is an embedded struct that embeds another.
type Base struct{ *Inner }

// Inner is embedded by a pointer.
type Inner struct {
	ID string `json:"id"`
}

func TestDeeperFieldIsHidden(t *testing.T) {
	text := reflect.TypeFor[string]()
	part := func(name string) reflect.Type {
		return reflect.StructOf([]reflect.StructField{{Name: name, Type: text, Tag: `json:"y"`}})
	}
	both := func(more ...reflect.StructField) reflect.Type {
		return reflect.StructOf(append([]reflect.StructField{
			{Name: "A", Type: part("A1"), Anonymous: true}, {Name: "B", Type: part("B1"), Anonymous: true},
		}, more...))
	}
	_, err := typed.Infer(both(), &typed.Options{Input: true})
	require.ErrorContains(t, err, `"y"`, "nobody has the name")
	typ := both(reflect.StructField{Name: "C", Type: text, Tag: `json:"y"`})
	plan, err := typed.NewPlan(typ, json.RawMessage(`{"type":"object"}`))
	require.NoError(t, err)
	v := reflect.New(typ)
	require.NoError(t, plan.Read(json.RawMessage(`{"y":"mine"}`), v.Interface()))
	require.Equal(t, "mine", v.Elem().FieldByName("C").String())
}

func TestFieldHiddenOnlyByGoIsError(t *testing.T) {
	type Other struct {
		ID string `json:"other"`
	}
	type Same struct{ ID string }
	type deeper struct {
		Inner
		ID string `json:"mine"`
	}
	type equal struct {
		Inner
		Other
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[deeper](), reflect.TypeFor[equal]()} {
		_, err := typed.Infer(typ, &typed.Options{Input: true})
		require.ErrorContains(t, err, `field "ID", "id" in JSON, is hidden`)
		_, err = typed.NewPlan(typ, json.RawMessage(`{"type":"object"}`))
		require.ErrorContains(t, err, "is hidden")
	}
	plan, _ := planOf[struct {
		Same
		ID string
	}](t)
	require.True(t, plan.Validates(), "JSON hides it as well")
}

type (
	folder map[string]folder
	list   []list
)

func TestRecursiveMapAndListAreDecoded(t *testing.T) {
	type both struct {
		Folder folder `json:"folder"`
		List   list   `json:"list"`
	}
	plan, err := typed.NewPlan(reflect.TypeFor[both](), json.RawMessage(`{"type":"object"}`))
	require.NoError(t, err)
	var got both
	require.NoError(t, plan.Read(json.RawMessage(`{"folder":{"a":{"b":{}},"c":{}},"list":[[],[[]]]}`), &got))
	require.Equal(t, both{folder{"a": {"b": {}}, "c": {}}, list{{}, {{}}}}, got)
}

func TestRecursiveTypeWithGivenSchema(t *testing.T) {
	_, err := typed.Infer(reflect.TypeFor[tree](), &typed.Options{})
	require.ErrorContains(t, err, "cycle")
	schema := `{"type":"object","$ref":"#/$defs/t","$defs":{"t":{"properties":{"children":{"items":{"$ref":"#/$defs/t"}}}}}}`
	plan, err := typed.NewPlan(reflect.TypeFor[tree](), json.RawMessage(schema))
	require.NoError(t, err)
	require.False(t, plan.Validates())
	var root tree
	require.NoError(t, plan.Read(json.RawMessage(`{"name":"a","children":[{"name":"b","children":[null]}]}`), &root))
	require.Equal(t, tree{"a", []*tree{{"b", []*tree{nil}}}}, root)
}

// color is encoded as a JSON string, and decoded as a number.
type color int

func (color) MarshalText() ([]byte, error) { return []byte("red"), nil }

func TestTypeWithOneTextMethod(t *testing.T) {
	type both struct {
		Color color
		Level level
	}
	plan, schema := planOf[both](t)
	require.Contains(t, string(schema), `"properties":{"Color":{"type":"integer"},"Level":{"type":"string"}}`)
	var v both
	require.NoError(t, plan.Read(json.RawMessage(`{"Color":2,"Level":"four"}`), &v))
	require.Equal(t, both{2, 4}, v)
	schema, err := typed.Infer(reflect.TypeFor[both](), &typed.Options{})
	require.NoError(t, err)
	require.Contains(t, string(schema), `"properties":{"Color":{"type":"string"},"Level":{"type":"integer"}}`)
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, j.Validate(text), "%s", text)
}

func TestUnsupportedTypes(t *testing.T) {
	type many struct {
		A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, D0, D1, D2 int
		E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, F0, F1, F2, F3, F4, F5, F6, F7, F8, F9, G0, G1, G2, G3, G4, G5, G6, G7, G8, G9, H0, H1, H2 int
	}
	for name, typ := range map[string]reflect.Type{
		"a channel":        reflect.TypeFor[chan int](),
		"a function":       reflect.TypeFor[struct{ F func() }](),
		"keys of numbers":  reflect.TypeFor[map[int]int](),
		"a list of these":  reflect.TypeFor[[]chan int](),
		"a pointer to one": reflect.TypeFor[*chan int](),
		"a map of these":   reflect.TypeFor[map[string]chan int](),
		"an embedded name": reflect.TypeFor[struct {
			Named `json:"x"`
		}](),
		"an embedded text": reflect.TypeFor[struct{ Word }](),
		"a hidden embedded": reflect.TypeFor[struct {
			Named `json:"-"`
		}](),
		"an embedded pointer": reflect.TypeFor[struct{ *base }](), // the type is not exported
		"too many fields":     reflect.TypeFor[many](),
		"methods of anything": reflect.TypeFor[struct{ By fmt.Stringer }](),
		"its own methods":     reflect.TypeFor[json.Unmarshaler](),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := typed.NewPlan(typ, json.RawMessage(`{"type":"object"}`))
			require.Error(t, err)
		})
	}
}

// Named is embedded.
type Named struct{ N int }

// Word is not a struct.
type Word string

func TestInvalidTags(t *testing.T) {
	for tag, typ := range map[string]reflect.Type{
		`field "N": tag minimum: "x" is not a number`: reflect.TypeFor[struct {
			N int `minimum:"x"`
		}](),
		`field "N": tag maximum: "true" is not a number`: reflect.TypeFor[struct {
			N int `maximum:"true"`
		}](),
		"description is empty": reflect.TypeFor[struct {
			N int `jsonschema:""`
		}](),
		`field "N": tag maxItems: "x" is not an integer`: reflect.TypeFor[struct {
			N []int `maxItems:"x"`
		}](),
		`field "N": tag minLength: "1.5" is not an integer`: reflect.TypeFor[struct {
			N string `minLength:"1.5"`
		}](),
		`field "N": tag enum: "x" is not valid JSON: `: reflect.TypeFor[struct {
			N int `enum:"1,x"`
		}](),
		`field "N": tag default: "x" is not valid JSON: `: reflect.TypeFor[struct {
			N int `default:"x"`
		}](),
		`field "N": tag jsonschema: the tag is a description, which must not begin with "minimum="`: reflect.TypeFor[struct {
			N int `jsonschema:"minimum=1"`
		}](),
		`field "Inner": field "F": the type func() cannot be encoded as JSON`: reflect.TypeFor[struct {
			Inner struct{ F func() }
		}](),
		"embedded": reflect.TypeFor[struct{ Word }](),
		`"string"`: reflect.TypeFor[struct {
			N *int64 `json:"n,omitempty,string"`
		}](),
		`field "N": invalid name in json tag "it's,omitempty"`: reflect.TypeFor[struct {
			//lint:ignore SA5008 that is what is refused
			N int `json:"it's,omitempty"`
		}](),
	} {
		_, err := typed.Infer(typ, &typed.Options{Input: true})
		require.ErrorContains(t, err, tag)
	}
	_, err := typed.Infer(reflect.TypeFor[base](), &typed.Options{Schemas: map[reflect.Type]json.RawMessage{reflect.TypeFor[base](): json.RawMessage(`{`)}})
	require.ErrorContains(t, err, "schema of typed_test.base in TypeSchemas")
	_, err = typed.NewPlan(reflect.TypeFor[base](), json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","default":1}}}`))
	require.ErrorContains(t, err, "default")
}

// Numbers and keywords are written as the program has written them.
func TestGivenSchemasAreKept(t *testing.T) {
	type in struct {
		Base  base     `json:"base" title:"B" jsonschema:"a base"`
		Other *base    `json:"other,omitempty" title:"O"`
		Free  *address `json:"free,omitempty"`
		Least int64    `json:"least" minimum:"9007199254740993"`
	}
	schema, err := typed.Infer(reflect.TypeFor[in](), &typed.Options{Input: true, Schemas: map[reflect.Type]json.RawMessage{
		reflect.TypeFor[base]():    json.RawMessage(`{ "x-own": 1.50, "type": "object", "title": "own", "const": {"a": 9007199254740993} }`),
		reflect.TypeFor[address](): json.RawMessage(`{"enum": ["a"]}`),
	}})
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{`+
		`"base":{"x-own":1.50,"type":"object","title":"B","const":{"a":9007199254740993},"description":"a base"},`+
		`"other":{"x-own":1.50,"type":["null","object"],"title":"O","const":{"a":9007199254740993}},`+
		`"free":{"anyOf":[{"type":"null"},{"enum":["a"]}]},`+
		`"least":{"type":"integer","minimum":9007199254740993}},"required":["base","least"],"additionalProperties":false}`, string(schema))
}

func TestSchemaHasAllTags(t *testing.T) {
	type in struct {
		Text  string    `json:"text" title:"A text" pattern:"^a" format:"email" default:"abc"`
		List  []int     `json:"list" minItems:"1" enum:"1,2" default:"[1]"`
		When  time.Time `json:"when" title:"When"`
		Ratio *float32  `json:"ratio" maximum:"1"`
		Zone  *string   `json:"zone" header:"Zone" enum:"a,b"`
		Num   json.Number
	}
	_, schema := planOf[in](t)
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["when","Num"],"properties":{
		"text":{"type":"string","title":"A text","pattern":"^a","format":"email","default":"abc"},
		"list":{"type":"array","items":{"type":"integer","enum":[1,2]},"minItems":1,"default":[1]},
		"when":{"type":"string","title":"When","format":"date-time"},
		"ratio":{"type":["null","number"],"maximum":1},
		"zone":{"type":"string","enum":["a","b"],"x-mcp-header":"Zone"},
		"Num":{"type":"number"}}}`, string(schema))
}

func TestOverflowingValues(t *testing.T) {
	type in struct {
		F float32   `json:"f"`
		U uint64    `json:"u"`
		B []byte    `json:"b"`
		W time.Time `json:"w"`
		P [1]int    `json:"p"`
	}
	plan, err := typed.NewPlan(reflect.TypeFor[in](), json.RawMessage(`{"type":"object"}`))
	require.NoError(t, err)
	for _, doc := range []string{
		`{"f":1e300}`, `{"u":-1}`, `{"u":1.5}`, `{"u":"1"}`, `{"u":18446744073709551616}`, `{"u":tru}`, `{"b":"!"}`, `{"w":"x"}`, `{"w":x}`, `{"p":[1,2]}`, `[]`, `{"f":1,"f":2}`,
	} {
		require.Error(t, plan.Read(json.RawMessage(doc), new(in)), doc)
	}
	var v in
	require.NoError(t, plan.Read(json.RawMessage(`{"f":null,"u":1e3,"b":null,"p":null,"more":{}}`), &v))
	require.Equal(t, in{U: 1000}, v)
}

func TestLargestNumberRoundTrip(t *testing.T) {
	type in struct {
		F float32
		G float64
	}
	plan, _ := planOf[in](t)
	want := in{math.MaxFloat32, math.MaxFloat64}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got in
	require.NoError(t, plan.Read(text, &got), "%s", text)
	require.Equal(t, want, got)
	require.ErrorContains(t, plan.Read(json.RawMessage(`{"F":-3.4028236e38,"G":0}`), new(in)), "overflows float32")
}

func TestLargeBoundsAreDelegated(t *testing.T) {
	type in struct{ N int64 }
	schema := json.RawMessage(`{"type":"object","properties":{"N":{"type":"integer","minimum":1e20}}}`)
	plan, err := typed.NewPlan(reflect.TypeFor[in](), schema)
	require.NoError(t, err)
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	doc := json.RawMessage(`{"N":9223372036854775807}`)
	require.Error(t, j.Validate(doc))
	require.False(t, plan.Validates() && plan.Read(doc, new(in)) == nil)
}

func TestExpensiveNumbersAreRejected(t *testing.T) {
	type in struct{ U uint64 }
	plan, _ := planOf[in](t)
	for _, number := range []string{"1e-999999", "1" + strings.Repeat("0", 2000) + "e-2000", `"1"`} {
		require.ErrorContains(t, plan.Read(json.RawMessage(`{"U":`+number+`}`), new(in)), "want an integer from 0")
	}
	var v in
	require.NoError(t, plan.Read(json.RawMessage(`{"U":1844674407370955161.5e1}`), &v))
	require.Equal(t, in{math.MaxUint64}, v)
}

func TestStringsRejectsOtherFields(t *testing.T) {
	list, err := typed.Strings(reflect.TypeFor[struct {
		A string `json:"a" title:"T" jsonschema:"D"`
		B string `json:"b,omitempty"`
	}]())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "T", list[0].Title)
	require.True(t, list[1].Optional)
	for _, typ := range []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[struct{ N int }](), reflect.TypeFor[struct{ Word }](), reflect.TypeFor[struct{ *base }]()} {
		_, err := typed.Strings(typ)
		require.Error(t, err)
	}
}

func TestPointersToTypesWithOwnJSON(t *testing.T) {
	type in struct {
		When  *time.Time            `json:"when,omitempty"`
		Whens []*time.Time          `json:"whens,omitempty"`
		Named map[string]*time.Time `json:"named,omitempty"`
		Far   **time.Time           `json:"far,omitempty"`
		Over  *level                `json:"over,omitempty"`
		Raw   *json.RawMessage      `json:"raw,omitempty"`
		Num   *json.Number          `json:"num,omitempty"`
		Plain json.Number           `json:"plain,omitempty"`
	}
	plan, schema := planOf[in](t)
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	for _, doc := range []string{
		`{}`, `{"when":null,"far":null,"over":null,"num":null}`, `{"when":"2026-07-28T00:00:00Z","far":"2026-07-28T00:00:00Z","over":"four"}`,
		`{"whens":[null,"2026-07-28T00:00:00Z"],"named":{"a":null,"b":"2026-07-28T00:00:00Z"}}`,
		`{"raw":{"a":[1]},"num":12345678901234567890,"plain":1.50}`,
	} {
		var got, want in
		require.NoError(t, j.Validate(json.RawMessage(doc)), doc)
		require.NoError(t, plan.Read(json.RawMessage(doc), &got), doc)
		require.NoError(t, json.Unmarshal([]byte(doc), &want))
		require.Equal(t, want, got, doc)
	}
	for _, doc := range []string{`{"when":"soon"}`, `{"whens":[1]}`, `{"num":"5"}`, `{"plain":"5"}`, `{"plain":null}`} {
		require.Error(t, errors.Join(j.Validate(json.RawMessage(doc)), plan.Read(json.RawMessage(doc), new(in))), doc)
		if plan.Validates() {
			require.Error(t, plan.Read(json.RawMessage(doc), new(in)), doc)
		}
	}
}
