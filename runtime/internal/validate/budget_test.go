package validate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// generator generates random schemas and values.
type generator struct{ *rand.Rand }

func oneOf[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

func (g generator) value(depth int) any {
	kind := g.IntN(9)
	switch {
	case kind < 2 && depth > 0:
		object := map[string]any{}
		for range g.IntN(4) {
			object[oneOf(g, "a", "b", "c", "xa")] = g.value(depth - 1)
		}
		return object
	case kind < 4 && depth > 0:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		return list
	case kind < 7:
		return json.Number(oneOf(g, "1", "1.0", "2", "0.5"))
	}
	return oneOf[any](g, "a", "xyz", nil, true)
}

func (g generator) schema(depth int) any {
	if depth == 0 || g.IntN(12) == 0 {
		return g.IntN(3) > 0
	}
	s := map[string]any{}
	for range 1 + g.IntN(3) {
		keyword := oneOf(g, "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties", "patternProperties", "additionalProperties",
			"unevaluatedProperties", "propertyNames", "dependentSchemas", "prefixItems", "items", "unevaluatedItems", "contains",
			"uniqueItems", "type", "enum", "const", "required", "$ref", "$dynamicRef")
		switch keyword {
		case "allOf", "anyOf", "oneOf", "prefixItems":
			s[keyword] = []any{g.schema(depth - 1), g.schema(depth - 1)}
		case "properties", "patternProperties", "dependentSchemas":
			s[keyword] = map[string]any{"a": g.schema(depth - 1), "b": g.schema(depth - 1)}
		case "uniqueItems":
			s[keyword] = true
		case "type":
			s[keyword] = oneOf(g, "object", "array", "string", "number", "integer", "null")
		case "enum":
			s[keyword] = []any{g.value(2), g.value(1), "a"}
		case "const":
			s[keyword] = g.value(1)
		case "required":
			s[keyword] = []string{"a"}
		case "$ref":
			s[keyword] = oneOf(g, "#/$defs/x", "#/$defs/y")
		case "$dynamicRef":
			s[keyword] = "#it"
		default:
			s[keyword] = g.schema(depth - 1)
		}
	}
	return s
}

func TestBudgetDoesNotChangeResults(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	valid := map[bool]int{}
	for range 200 {
		text, err := json.Marshal(map[string]any{"allOf": []any{g.schema(3)}, "$defs": map[string]any{
			"x": g.schema(2), "y": map[string]any{"$dynamicAnchor": "it", "allOf": []any{g.schema(1)}},
		}})
		require.NoError(t, err)
		s, err := Compile(text)
		if err != nil {
			require.ErrorContains(t, err, "infinite loop")
			continue
		}
		c, err := newCompiler(text)
		require.NoError(t, err)
		unlimited := new(validator)
		unlimited.compiled, err = compile(c, address)
		require.NoError(t, err)
		for range 20 {
			v := g.value(3)
			want := unlimited.validate(v) == nil
			require.Equal(t, want, s.validate(v, 1000) == nil, "%s: %v", text, v)
			valid[want]++
		}
	}
	require.Greater(t, min(valid[true], valid[false]), 500)
}

// list returns a list of n equal items.
func list(item string, n int) string { return "[" + item + strings.Repeat(","+item, n-1) + "]" }

// manyOf returns an object with n members; name is a format for their names.
func manyOf(n int, name, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"`+name+`":%s`, i, value)
	}
	return "{" + b.String()[1:] + "}"
}

func TestExpensiveValidationsExceedTheBudget(t *testing.T) {
	const draft = `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("%q", fmt.Sprint("name", i)))
	}
	for name, c := range map[string]struct{ schema, few, many string }{
		"problems":     {`{"items":{"type":"string"}}`, `["a"]`, list("1", 5000)},
		"no values":    {`{"items":false}`, `[]`, list("1", 5000)},
		"values":       {`{"items":{"type":"integer"}}`, list("1", 5000), list("1", 25_000)},
		"patterns":     {`{"patternProperties":` + manyOf(200, "^(a|b)+%d[a-z]{1,5}$", `{}`) + `}`, manyOf(50, "ababab%d", "1"), manyOf(2000, "ababab%d", "1")},
		"a pattern":    {`{"items":{"pattern":"^([a-z]{1,30} ?){1,30}$"}}`, `["abc"]`, list(`"`+strings.Repeat("abcde ", 100)+`!"`, 50)},
		"constants":    {`{"items":{"const":` + list("1", 1000) + `}}`, `[]`, list(list("1", 999), 500)},
		"numbers":      {`{"items":{"enum":` + list("5", 1000) + `}}`, list("5", 10), list("5", 1000)},
		"names":        {`{"items":{"required":[` + strings.Join(names, ",") + `],"type":"object"}}`, `[]`, list("{}", 1000)},
		"long names":   {`{"additionalProperties":{"items":{"type":"integer"}}}`, `{"a":[1]}`, `{"` + strings.Repeat("n", 50_000) + `":` + list("1", 2000) + `}`},
		"depth":        {`{"type":["object","array"],"properties":{"x":{"$ref":"#"}},"items":{"type":"string"}}`, `{"x":{}}`, strings.Repeat(`{"x":`, 60) + list("1", 1000) + strings.Repeat("}", 60)},
		"schemas":      {draft, `{"type":"string"}`, `{"properties":` + manyOf(2000, "p%d", `{"type":"string"}`) + `}`},
		"dynamic refs": {`{"$defs":{"x":{"$dynamicAnchor":"it","type":"string"}},"items":{"$dynamicRef":"#it"}}`, `["a"]`, list("1", 5000)},
	} {
		v, err := newValidator([]byte(c.schema))
		require.NoError(t, err, name)
		for _, doc := range []struct {
			text string
			want error
		}{{c.few, nil}, {c.many, newError("", errOverBudget.Error())}, {c.few, nil}} {
			value, err := parse(json.RawMessage(doc.text))
			require.NoError(t, err, name)
			v.budget = newBudget(0)
			require.Equal(t, doc.want, v.validate(value), name)
		}
	}
}

func TestBudgetGrowsWithTheDocument(t *testing.T) {
	require.Equal(t, minWork, newBudget(0).left)
	require.Greater(t, newBudget(1000).left, minWork)
	require.Equal(t, maxWork, newBudget(1<<20).left)
	require.ErrorContains(t, compiled(t, `{"items":false}`).Validate(json.RawMessage(list("1", 150_000))), "too long")
}

func TestProblemsUseLittleMemory(t *testing.T) {
	s := compiled(t, `{"items":{"type":"string"}}`)
	doc := json.RawMessage(list("1", 400_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Error(t, s.Validate(doc))
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(150))
}

func TestDynamicReferencesResolveToTheOutermostAnchor(t *testing.T) {
	s := compiled(t, `{"$id":"https://example.org/strings","$ref":"list","$defs":{
		"string":{"$dynamicAnchor":"item","type":"string"},
		"list":{"$id":"list","items":{"$dynamicRef":"#item"},"$defs":{"any":{"$dynamicAnchor":"item"}}}}}`)
	require.NoError(t, s.Validate(json.RawMessage(`["a"]`)))
	require.Equal(t, "/0", problems(t, s, `[5]`)[0].Pointer)
	require.NoError(t, compiled(t, `{"$schema":"http://json-schema.org/draft-07/schema#","$dynamicAnchor":"none"}`).Validate(json.RawMessage(`5`)))
	old := compiled(t, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://example.org/tree","$recursiveAnchor":true,
		"$ref":"node","unevaluatedProperties":false,
		"$defs":{"node":{"$id":"node","$recursiveAnchor":true,"properties":{"child":{"$recursiveRef":"#"}}}}}`)
	require.NoError(t, old.Validate(json.RawMessage(`{"child":{"child":{}}}`)))
	require.Equal(t, "/child", problems(t, old, `{"child":{"chidl":{}}}`)[0].Pointer)
}

func TestUnevaluatedPropertiesAndItems(t *testing.T) {
	s := compiled(t, `{"$ref":"#/$defs/a","if":{"required":["b"]},"then":{"properties":{"b":true}},"unevaluatedProperties":false,
		"$defs":{"a":{"properties":{"a":{"prefixItems":[true],"contains":{"const":5},"unevaluatedItems":false}}}}}`)
	require.NoError(t, s.Validate(json.RawMessage(`{"a":[1,5,5],"b":1}`)))
	require.Error(t, s.Validate(json.RawMessage(`{"a":[1,5,6]}`)))
	require.Error(t, s.Validate(json.RawMessage(`{"a":[1,5],"c":1}`)))
}

func TestMetaSchemasAreNotChanged(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s, err := Compile(json.RawMessage(`{"properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`))
			if err != nil || s.Validate(json.RawMessage(`{"schema":{"type":"string"}}`)) != nil || s.Validate(json.RawMessage(`{"schema":{"type":5}}`)) == nil {
				t.Error("wrong result")
			}
		})
	}
	all.Wait()
}
