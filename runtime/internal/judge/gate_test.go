package judge

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// maker makes schemas and values at random.
type maker struct{ *rand.Rand }

func oneOf[T any](m maker, list ...T) T { return list[m.IntN(len(list))] }

func (m maker) value(depth int) any {
	kind := m.IntN(9)
	switch {
	case kind < 2 && depth > 0:
		object := map[string]any{}
		for range m.IntN(4) {
			object[oneOf(m, "a", "b", "c", "xa")] = m.value(depth - 1)
		}
		return object
	case kind < 4 && depth > 0:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.value(depth-1))
		}
		return list
	case kind < 7:
		return json.Number(oneOf(m, "1", "1.0", "2", "0.5"))
	}
	return oneOf[any](m, "a", "xyz", nil, true)
}

func (m maker) schema(depth int) any {
	if depth == 0 || m.IntN(12) == 0 {
		return m.IntN(3) > 0
	}
	s := map[string]any{}
	for range 1 + m.IntN(3) {
		keyword := oneOf(m, "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties", "patternProperties", "additionalProperties",
			"unevaluatedProperties", "propertyNames", "dependentSchemas", "prefixItems", "items", "unevaluatedItems", "contains",
			"uniqueItems", "type", "enum", "const", "required", "$ref", "$dynamicRef")
		switch keyword {
		case "allOf", "anyOf", "oneOf", "prefixItems":
			s[keyword] = []any{m.schema(depth - 1), m.schema(depth - 1)}
		case "properties", "patternProperties", "dependentSchemas":
			s[keyword] = map[string]any{"a": m.schema(depth - 1), "b": m.schema(depth - 1)}
		case "uniqueItems":
			s[keyword] = true
		case "type":
			s[keyword] = oneOf(m, "object", "array", "string", "number", "integer", "null")
		case "enum":
			s[keyword] = []any{m.value(2), m.value(1), "a"}
		case "const":
			s[keyword] = m.value(1)
		case "required":
			s[keyword] = []string{"a"}
		case "$ref":
			s[keyword] = oneOf(m, "#/$defs/x", "#/$defs/y")
		case "$dynamicRef":
			s[keyword] = "#it"
		default:
			s[keyword] = m.schema(depth - 1)
		}
	}
	return s
}

func TestGatesChangeNoVerdict(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	valid := map[bool]int{}
	for range 200 {
		text, err := json.Marshal(map[string]any{"allOf": []any{m.schema(3)}, "$defs": map[string]any{
			"x": m.schema(2), "y": map[string]any{"$dynamicAnchor": "it", "allOf": []any{m.schema(1)}},
		}})
		require.NoError(t, err)
		s, err := Compile(text)
		if err != nil {
			require.ErrorContains(t, err, "infinite loop")
			continue
		}
		c, err := newCompiler(text)
		require.NoError(t, err)
		open := new(validator)
		open.compiled, err = compile(c, address)
		require.NoError(t, err)
		for range 20 {
			v := m.value(3)
			want := open.validate(v) == nil
			require.Equal(t, want, s.judge(v, 1000) == nil, "%s: %v", text, v)
			valid[want]++
		}
	}
	require.Greater(t, min(valid[true], valid[false]), 500)
}
