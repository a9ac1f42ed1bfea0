package load

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	older := `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {
		"Gone": {"type": "string"},
		"GoneRequest": {"type": "object", "properties": {"method": {"type": "string", "const": "gone/do"}}},
		"Level": {"type": "string", "enum": ["low", "high"]},
		"Params": {"type": "object",
			"properties": {
				"_meta": {"type": "object"},
				"limit": {"type": "number", "minimum": 0},
				"list": {"type": "array", "items": {"$ref": "#/definitions/Same"}},
				"nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
				"task": {"type": "boolean"}},
			"required": ["task", "list"]},
		"Same": {"type": "object", "properties": {"x": {"$ref": "#/definitions/Level"}}},
		"Shape": {"type": "object", "properties": {"x": {}}},
		"Union": {"anyOf": [{"$ref": "#/definitions/Same"}, {"$ref": "#/definitions/Gone"}]}}}`
	newer := newFile(`{
		"Level": {"type": "string", "enum": ["low", "middle"]},
		"NewRequest": {"type": "object", "properties": {"method": {"type": "string", "const": "new/do"}}},
		"Params": {"type": "object",
			"properties": {
				"_meta": {"type": "object"},
				"inputResponses": {"type": "object", "additionalProperties": {}},
				"limit": {"type": "integer", "minimum": 0, "maximum": 10},
				"list": {"type": "array", "maxItems": 5, "items": {"$ref": "#/$defs/Same"}},
				"nested": {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "c": {"type": "string"}}, "required": ["c"]}},
			"required": ["_meta"]},
		"Same": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Level"}}},
		"Shape": {"anyOf": [{"$ref": "#/$defs/Same"}, {"const": -1}]},
		"Union": {"anyOf": [{"$ref": "#/$defs/Same"}, {"$ref": "#/$defs/Shape"}]}}`)
	lines, err := Diff([]byte(older), newer)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(`
+ method new/do
- method gone/do
+ definition NewRequest
- definition Gone
- definition GoneRequest
Level: + enum "middle", - enum "high"
Params: + inputResponses, + nested.c required, - task, - nested.b, ~ _meta required, ~ limit number(minimum 0) -> integer(minimum 0, maximum 10), ~ list []Same -> []Same(maxItems 5), ~ list optional, ~ nested.a string -> string|null
Shape: ~ object{x?: any} -> Same | const -1
Union: + anyOf Shape, - anyOf Gone
`), strings.Join(lines, "\n"))
}

func TestDiffIgnoresLayout(t *testing.T) {
	draft7 := strings.NewReplacer("$defs", "definitions", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#").Replace(small)
	lines, err := Diff([]byte(draft7), []byte(small))
	require.NoError(t, err)
	require.Empty(t, lines)
}

func TestDiffReportsChangedOrder(t *testing.T) {
	lines, err := Diff(newFile(`{"A": {"enum": ["a", "b"]}}`), newFile(`{"A": {"enum": ["b", "a"]}}`))
	require.NoError(t, err)
	require.Equal(t, []string{`A: ~ "a" | "b" -> "b" | "a"`}, lines)
}

func TestDiffOfInvalidFile(t *testing.T) {
	_, err := Diff([]byte("{"), []byte(small))
	require.ErrorContains(t, err, "older file#: ")
}
