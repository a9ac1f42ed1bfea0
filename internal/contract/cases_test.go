package contract

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// rareChanges are changes that break users, and that random schemas rarely have. The document is valid
// by the old schema and not by the new one.
var rareChanges = []struct{ old, new, document string }{
	// A value that the old schema lists.
	{`{"const":1}`, `{"type":"string"}`, `1`},
	{`{"const":1}`, `{"$ref":"#/$defs/x","$defs":{"x":{"type":"string"}}}`, `1`},
	{`{"const":1}`, `{"$ref":"#/$defs/x","minimum":2,"$defs":{"x":{"type":"integer"}}}`, `1`},
	{`{"const":1}`, `{"minimum":2}`, `1`},
	{`{"const":1}`, `{"maximum":0}`, `1`},
	{`{"const":1}`, `{"exclusiveMinimum":1}`, `1`},
	{`{"const":1}`, `{"exclusiveMaximum":1}`, `1`},
	{`{"const":1}`, `{"multipleOf":2}`, `1`},
	{`{"const":"ab"}`, `{"minLength":3}`, `"ab"`},
	{`{"const":"ab"}`, `{"maxLength":1}`, `"ab"`},
	{`{"const":"ab"}`, `{"pattern":"^b"}`, `"ab"`},
	{`{"const":[1]}`, `{"minItems":2}`, `[1]`},
	{`{"const":[1]}`, `{"maxItems":0}`, `[1]`},
	{`{"const":[1]}`, `{"prefixItems":[{"type":"string"}]}`, `[1]`},
	{`{"const":[1,1]}`, `{"uniqueItems":true}`, `[1,1]`},
	{`{"const":{"a":1}}`, `{"properties":{"a":{"type":"string"}}}`, `{"a":1}`},
	{`{"const":{"a":1}}`, `{"required":["b"]}`, `{"a":1}`},
	{`{"const":{"a":1}}`, `{"minProperties":2}`, `{"a":1}`},
	{`{"const":{"a":1}}`, `{"maxProperties":0}`, `{"a":1}`},
	{`{"const":{"a":1}}`, `{"additionalProperties":false}`, `{"a":1}`},
	{`{"const":{"a":1}}`, `{"patternProperties":{"a":{"type":"string"}}}`, `{"a":1}`},
	{`{"const":"a"}`, `{"oneOf":[{"type":"string"},{"enum":["a"]}]}`, `"a"`},
	{`{"const":"2026-01-02"}`, `{"oneOf":[{"format":"date"},{"type":"string"}]}`, `"2026-01-02"`},
	{`{"type":["null","boolean"]}`, `{"type":"null"}`, `true`},
	// A value that the new schema refuses.
	{`{"type":"integer","minimum":5}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"integer","minimum":4}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"integer","maximum":5}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"integer","maximum":6}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"integer","exclusiveMinimum":4}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"integer","exclusiveMaximum":6}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"integer","multipleOf":1}`, `{"type":"integer","not":{"const":5}}`, `5`},
	{`{"type":"string","minLength":1}`, `{"type":"string","not":{"const":"a"}}`, `"a"`},
	{`{"type":"string","maxLength":1}`, `{"type":"string","not":{"const":"a"}}`, `"a"`},
	{`{"type":"string","pattern":"a"}`, `{"type":"string","not":{"const":"a"}}`, `"a"`},
	{`{"type":["object","string"],"required":["a"],"properties":{"a":{"const":1}}}`,
		`{"not":{"required":["a"],"properties":{"a":{"const":2}}}}`, `"s"`},
	{`{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]}}}`,
		`{"type":"object","not":{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"array"}]}}}}`, `{"a":"s"}`},
	{`{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
		`{"type":"object","not":{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"array"},{"type":"string"}]}}}}`, `{"a":"s"}`},
	{`{"type":"object","required":["a"]}`, `{"type":"object","not":{"const":{"a":1}}}`, `{"a":1}`},
	// Alternatives, limits and lists.
	{`{"type":["null","string"]}`, `{"anyOf":[{"type":"string"},{"type":"string","minLength":1}]}`, `null`},
	{`{"allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"integer"}}}`, `{"allOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"string"}}}`, `1`},
	{`{"type":["null","string"]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `null`},
	{`{"type":"integer","maximum":5}`, `{"type":"integer","maximum":4}`, `5`},
	{`{"type":"number","maximum":5}`, `{"type":"number","exclusiveMaximum":5}`, `5`},
	{`{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `{"type":"array","items":{"type":"string"}}`, `[1]`},
	{`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":{"type":"string"}}`, `{"type":"array","items":{"type":"string"}}`, `["a",1]`},
	{`{"type":"string"}`, `{"type":"string","minLength":1}`, `""`},
	{`{"type":"array"}`, `{"type":"array","minItems":1}`, `[]`},
	{`{"type":"array"}`, `{"type":"array","uniqueItems":true}`, `[1,1]`},
	{`{"type":"number"}`, `{"type":"number","multipleOf":0.5}`, `0.3`},
	{`{"type":"integer"}`, `{"type":"integer","multipleOf":2}`, `1`},
	{`{"type":"string"}`, `{"type":"string","contentMediaType":"application/json"}`, `"x"`},
	// Members that another part of the old schema allows.
	{`{"type":"object","properties":{"a":{}},"patternProperties":{"z":{}}}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":1}`},
	{`{"type":"object","properties":{"a":{}},"unevaluatedProperties":{"type":"integer"}}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":1}`},
	{`{"type":"object","properties":{"a":{}},"additionalProperties":true}`, `{"type":"object","properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":1}`},
	{`{"type":"object","properties":{"a":{}},"$ref":"#/$defs/x","$defs":{"x":{"additionalProperties":{"type":"integer"}}}}`,
		`{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":1}`},
	{`{"allOf":[{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}},{"$ref":"#/$defs/x"}],"$defs":{"x":{"type":"object"}}}`,
		`{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":1}`},
	{`{"type":"object","patternProperties":{"^b":{}},"additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, `{"b":1}`},
	{`{"type":"object","patternProperties":{"^b":{}},"additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`, `{"b":1}`},
	// Draft 7, in which the keywords next to a reference have no effect.
	{draft7Schema + `"$ref":"#/definitions/x","maxLength":0,"definitions":{"x":{"type":"string"}}}`,
		draft7Schema + `"type":"string","not":{"const":"a"}}`, `"a"`},
	{draft7Schema + `"$ref":"#/definitions/x","minimum":5,"definitions":{"x":{"type":"integer"}}}`, draft7Schema + `"type":"integer","minimum":5}`, `1`},
	{draft7Schema + `"$ref":"#/definitions/x","minimum":5,"definitions":{"x":{"type":"integer"}}}`,
		`{"$ref":"#/definitions/x","minimum":5,"definitions":{"x":{"type":"integer"}}}`, `1`},
	{draft7Schema + `"type":"array","contains":{"$ref":"#/definitions/x","minimum":5},"definitions":{"x":{"type":"integer"}}}`,
		`{"type":"array","contains":{"$ref":"#/definitions/x","minimum":5},"definitions":{"x":{"type":"integer"}}}`, `[1]`},
	{draft7Schema + `"type":"array"}`, draft7Schema + `"type":"array","items":{"type":"string"}}`, `[1]`},
	{draft7Schema + `"type":"array"}`, draft7Schema + `"type":"array","items":[{}],"additionalItems":{"type":"string"}}`, `["a",1]`},
	{draft7Schema + `"const":[1,1]}`, draft7Schema + `"items":[{}],"additionalItems":{"type":"string"}}`, `[1,1]`},
}

const draft7Schema = `{"$schema":"http://json-schema.org/draft-07/schema#",`

func TestRareChangesAreNotCompatible(t *testing.T) {
	for _, c := range rareChanges {
		before, after := read(t, c.old), read(t, c.new)
		old, err := compile(before)
		require.NoError(t, err, c.old)
		new, err := compile(after)
		require.NoError(t, err, c.new)
		value := read(t, c.document)
		require.NoError(t, old.Validate(value), "%s\n%s", c.old, c.document)
		require.Error(t, new.Validate(value), "%s\n%s", c.new, c.document)
		require.NotEmpty(t, implies(parsed(t, before), parsed(t, after), false), "%s\n%s", c.old, c.new)
	}
}

// TestInvalidSchemasAreNotCompatible compares with schemas that no validator accepts.
func TestInvalidSchemasAreNotCompatible(t *testing.T) {
	for _, schema := range []string{`{"minimum":"1"}`, `{"required":"a"}`, `{"properties":[]}`, `{"pattern":1}`, `{"enum":[]}`, `{"uniqueItems":1}`} {
		require.NotEmpty(t, implies(parsed(t, true), parsed(t, read(t, schema)), false), schema)
	}
}

func read(t *testing.T, text string) any {
	value, err := decode([]byte(text))
	require.NoError(t, err)
	return value
}
