package typed_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
)

// leaves are types that accept all values that their schemas accept.
var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[Word](), reflect.TypeFor[int](), reflect.TypeFor[int16](),
	reflect.TypeFor[uint8](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[json.Number](),
}

func (r random) typ(depth int) reflect.Type {
	switch n := r.IntN(9); {
	case n < 4 || depth == 0:
		return leaves[r.IntN(len(leaves))]
	case n == 4:
		return reflect.PointerTo(r.typ(depth - 1))
	case n == 5:
		return reflect.SliceOf(reflect.PointerTo(r.typ(depth - 1)))
	case n == 6:
		return reflect.ArrayOf(r.IntN(3), r.typ(depth-1))
	case n == 7:
		return reflect.MapOf(reflect.TypeFor[Word](), r.typ(depth-1))
	}
	return r.structType(depth - 1)
}

func (r random) structType(depth int) reflect.Type {
	var fields []reflect.StructField
	if r.IntN(4) == 0 {
		fields = append(fields, reflect.StructField{Name: "Inner", Type: reflect.TypeFor[Inner](), Anonymous: true})
	}
	for _, name := range []string{"A", "B", "C"}[r.IntN(3):] {
		tag := r.of(``, `json:",omitempty"`, `json:"x/<`+name+`>,omitzero"`, `json:"ö`+name+`"`)
		fields = append(fields, reflect.StructField{Name: name, Type: r.typ(depth), Tag: reflect.StructTag(tag)})
	}
	return reflect.StructOf(fields)
}

// documentFor returns a document that is almost valid for a type.
func (r random) documentFor(t reflect.Type) string {
	if r.IntN(30) == 0 {
		return r.value(2)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.of("null", r.documentFor(t.Elem()))
	case reflect.Slice, reflect.Array:
		items := make([]string, r.IntN(3))
		for i := range items {
			items[i] = r.documentFor(t.Elem())
		}
		return "[" + strings.Join(items, ",") + "]"
	case reflect.Map:
		return r.object(1, map[string]func() string{"a": func() string { return r.documentFor(t.Elem()) }})
	case reflect.Struct:
		members := map[string]func() string{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if !f.Anonymous {
				members[name] = func() string { return r.documentFor(f.Type) }
			}
		}
		return r.object(1, members)
	}
	return r.scalarFor(t)
}

func (r random) scalarFor(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return r.of("true", "false")
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return r.of("1.50", "-0", "1e400")
		}
		return r.of(`"a"`, `""`, `"\ud83d\ude00"`)
	case reflect.Interface:
		return r.value(2)
	case reflect.Float32, reflect.Float64:
		return r.of("0.1", "3.4028235e38", "-1e-30")
	}
	return r.of("0", "7", "255", "256", "-1", "1.5")
}

func TestPlanAgreesWithSchemaAndJSONForRandomTypes(t *testing.T) {
	r := random{rand.New(rand.NewPCG(3, 4))}
	accepted := 0
	for range 200 {
		typ := r.structType(3)
		schema, in := validatorOf(t, typ, &typed.Options{Input: true})
		_, out := validatorOf(t, typ, &typed.Options{Open: true})
		plan, err := typed.NewPlan(typ, schema)
		require.NoError(t, err, typ)
		require.True(t, plan.Validates(), "%s", schema)
		same, inferred, err := typed.InferPlan(typ, &typed.Options{Input: true})
		require.NoError(t, err, typ)
		require.Equal(t, schema, same)
		require.True(t, inferred.Validates(), "%s", schema)
		for range 30 {
			doc := json.RawMessage(r.documentFor(typ))
			got, want := reflect.New(typ), reflect.New(typ)
			read, judged := plan.Read(doc, got.Interface()), in.Validate(doc)
			require.Equal(t, judged == nil, read == nil, "%s\n%s\n%s\nplan: %v\nschema: %v", typ, schema, doc, read, judged)
			require.Equal(t, read, inferred.Read(doc, reflect.New(typ).Interface()), "the plan of the text and the plan of the type")
			if read != nil || json.Unmarshal(doc, want.Interface()) != nil {
				continue
			}
			accepted++
			require.Equal(t, want.Interface(), got.Interface(), "%s\n%s", typ, doc)
			text, err := json.Marshal(got.Interface())
			require.NoError(t, err)
			require.NoError(t, out.Validate(text), "%s\n%s", typ, text)
		}
	}
	require.Greater(t, accepted, 1000)
}

// validatorOf returns the schema of a type, and its validator.
func validatorOf(t *testing.T, typ reflect.Type, opts *typed.Options) (json.RawMessage, *validate.Schema) {
	schema, err := typed.Infer(typ, opts)
	require.NoError(t, err, typ)
	j, err := validate.Compile(schema)
	require.NoError(t, err, "%s", schema)
	return schema, j
}
