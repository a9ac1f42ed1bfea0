package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeparate(t *testing.T) {
	for name, test := range map[string]struct {
		schema, shape string
		restrictions  map[string]string // by pointer below the schema
	}{
		"no restriction":         {`{"type": "string", "format": "uri"}`, `{"type": "string", "format": "uri"}`, nil},
		"a length":               {`{"type": "string", "minLength": 1}`, `{"type": "string"}`, map[string]string{"": `{"minLength": 1}`}},
		"a length without type":  {`{"minLength": 1}`, `{}`, map[string]string{"": `{"minLength": 1}`}},
		"a bound of a string":    {`{"type": "string", "minimum": 1}`, `{"type": "string"}`, map[string]string{"": `{"minimum": 1}`}},
		"members without type":   {`{"properties": {"a": {"minLength": 1}}}`, `{}`, map[string]string{"": `{"properties": {"a": {"minLength": 1}}}`}},
		"beside a reference":     {`{"$ref": "#/$defs/B", "required": ["b"]}`, `{"$ref": "#/$defs/B"}`, map[string]string{"": `{"required": ["b"]}`}},
		"beside a constant":      {`{"const": "a", "type": "string", "format": "uri", "enum": ["a"]}`, `{"const": "a", "type": "string"}`, map[string]string{"": `{"enum": ["a"]}`}},
		"undeclared members":     {`{"type": "object", "properties": {"a": {}}, "required": ["a", "b"]}`, `{"type": "object", "properties": {"a": {}}, "required": ["a"]}`, map[string]string{"": `{"required": ["b"]}`}},
		"only undeclared":        {`{"type": "object", "required": ["b"]}`, `{"type": "object"}`, map[string]string{"": `{"required": ["b"]}`}},
		"closed":                 {`{"type": "object", "properties": {"a": {}}, "additionalProperties": false}`, `{"type": "object", "properties": {"a": {}}, "additionalProperties": false}`, nil},
		"types of other members": {`{"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}`, `{"type": "object", "properties": {"a": {}}}`, map[string]string{"": `{"properties": {"a": true}, "additionalProperties": {"type": "string"}}`}},
		"patterns of names": {`{"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": false}`, `{"type": "object"}`,
			map[string]string{"": `{"patternProperties": {"^a": {}}, "properties": {}, "additionalProperties": false}`}},
		"any name":            {`{"type": "object", "propertyNames": {"type": "string"}}`, `{"type": "object"}`, nil},
		"members":             {`{"type": "object", "properties": {"a/b": {"type": "string", "pattern": "a"}, "c": false}}`, `{"type": "object", "properties": {"a/b": {"type": "string"}, "c": {}}}`, map[string]string{"/properties/a~1b": `{"pattern": "a"}`, "/properties/c": `{"not": {}}`}},
		"elements":            {`{"type": "array", "items": {"type": "string", "minLength": 1}}`, `{"type": "array", "items": {"type": "string"}}`, map[string]string{"/items": `{"minLength": 1}`}},
		"first elements":      {`{"type": "array", "prefixItems": [{}], "items": {"type": "string"}}`, `{"type": "array"}`, map[string]string{"": `{"prefixItems": [{}], "items": {"type": "string"}}`}},
		"an alternative":      {`{"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}`, `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, map[string]string{"": `{"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}`}},
		"one of":              {`{"oneOf": [{"$ref": "#/$defs/B"}, {"type": "object", "required": ["c"]}]}`, `{"anyOf": [{"$ref": "#/$defs/B"}, {"type": "object"}]}`, map[string]string{"": `{"oneOf": [{"$ref": "#/$defs/B"}, {"type": "object", "required": ["c"]}]}`}},
		"one of references":   {`{"oneOf": [{"$ref": "#/$defs/B"}, {"type": "string"}]}`, `{"anyOf": [{"$ref": "#/$defs/B"}, {"type": "string"}]}`, nil},
		"one of kinds":        {`{"oneOf": [` + withKind("a", "kind") + `, ` + withKind("b", "kind") + `]}`, `{"anyOf": [` + withKind("a", "kind") + `, ` + withKind("b", "kind") + `]}`, nil},
		"one of equal kinds":  {`{"oneOf": [` + withKind("a", "kind") + `, ` + withKind("a", "kind") + `]}`, `{"anyOf": [` + withKind("a", "kind") + `, ` + withKind("a", "kind") + `]}`, map[string]string{"": `{"oneOf": [` + withKind("a", "kind") + `, ` + withKind("a", "kind") + `]}`}},
		"one of absent kinds": {`{"oneOf": [` + withKind("a", "name") + `, ` + withKind("b", "name") + `]}`, `{"anyOf": [` + withKind("a", "name") + `, ` + withKind("b", "name") + `]}`, map[string]string{"": `{"oneOf": [` + withKind("a", "name") + `, ` + withKind("b", "name") + `]}`}},
		"one of constants":    {`{"oneOf": [{"const": "a"}, {"const": "b"}]}`, `{"anyOf": [{"const": "a"}, {"const": "b"}]}`, nil},
		"one of equal values": {`{"oneOf": [{"const": "a"}, {"const": "a"}]}`, `{"anyOf": [{"const": "a"}, {"const": "a"}]}`, map[string]string{"": `{"oneOf": [{"const": "a"}, {"const": "a"}]}`}},
		"one of types":        {`{"oneOf": [{"type": "string"}, {"type": "null"}]}`, `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, nil},
		"one of numbers":      {`{"oneOf": [{"type": "number"}, {"type": "integer"}]}`, `{"anyOf": [{"type": "number"}, {"type": "integer"}]}`, map[string]string{"": `{"oneOf": [{"type": "number"}, {"type": "integer"}]}`}},
		"conditions":          {`{"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{"type": "object", "properties": {"a": {}}}`, map[string]string{"": `{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`}},
		"a type of a union":   {`{"type": "object", "anyOf": [{"$ref": "#/$defs/B"}]}`, `{"anyOf": [{"$ref": "#/$defs/B"}]}`, map[string]string{"": `{"type": "object"}`}},
		"beside allOf":        {`{"allOf": [{"$ref": "#/$defs/B"}], "type": "object", "properties": {"a": {}}}`, `{"allOf": [{"$ref": "#/$defs/B"}, {"type": "object", "properties": {"a": {}}}]}`, nil},
		"a part": {`{"allOf": [{"$ref": "#/$defs/B"}, {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "minProperties": 1}]}`,
			`{"allOf": [{"$ref": "#/$defs/B"}, {"type": "object", "properties": {"a": {"type": "string"}}}]}`,
			map[string]string{"": `{"allOf": [{"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}, "minProperties": 1}]}`, "/allOf/1/properties/a": `{"minLength": 1}`}},
		"the only part": {`{"allOf": [{"type": "string", "minLength": 1}], "maxLength": 2}`, `{"allOf": [{"type": "string"}]}`, map[string]string{"/allOf/0": `{"allOf": [{"minLength": 1}, {"maxLength": 2}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			file := func(schema string) any {
				tree, err := parse("x.json", newFile(`{"A": `+schema+`, "B": {"type": "object"}}`))
				require.NoError(t, err)
				return tree
			}
			require.NoError(t, check("x.json", "", file(test.schema), false))
			shapes, restrictions := separate(file(test.schema))
			require.Equal(t, string(format(file(test.shape))), string(format(shapes)))
			want := make(map[string]any)
			for pointer, text := range test.restrictions {
				tree, err := parse("x.json", []byte(text))
				require.NoError(t, err)
				want["/$defs/A"+pointer] = tree
			}
			require.Equal(t, want, restrictions)
		})
	}
}

// withKind returns an object with a constant member "kind" that requires a member.
func withKind(value, required string) string {
	return `{"type": "object", "required": ["` + required + `"], "properties": {"kind": {"const": "` + value + `"}, "name": {"type": "string"}}}`
}

// Draft 7 ignores keywords next to a reference, and has fewer of them.
func TestSeparateDraft7(t *testing.T) {
	file := func(schema string) string {
		return `{"$schema": "` + dialects[0] + `", "definitions": {"A": ` + schema + `, "B": {}}}`
	}
	f, err := parseFile("x.json", Entry{}, []byte(file(`{"$ref": "#/definitions/B", "minLength": 1}`)))
	require.NoError(t, err)
	require.Empty(t, f.Restrictions)
	f, err = parseFile("x.json", Entry{}, []byte(file(`{"type": "string", "minLength": 1}`)))
	require.NoError(t, err)
	require.Contains(t, f.Restrictions, "/$defs/A")
	_, err = parseFile("x.json", Entry{}, []byte(file(`{"type": "array", "prefixItems": [{}]}`)))
	require.ErrorContains(t, err, `/prefixItems: unsupported keyword "prefixItems"`)
}
