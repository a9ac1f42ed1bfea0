package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wideSchema returns a schema with n properties, so it has n+1 subschemas.
func wideSchema(n int) json.RawMessage {
	return json.RawMessage(`{"properties":` + manyOf(n, "property%d", `{"type":"string"}`) + `}`)
}

// chainedSchema returns a schema with n references, each to the next.
func chainedSchema(n int) json.RawMessage {
	var b strings.Builder
	fmt.Fprintf(&b, `{"$ref":"#/$defs/d0","$defs":{"d%d":{"type":"integer"}`, n-1)
	for i := range n - 1 {
		fmt.Fprintf(&b, `,"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
	}
	return json.RawMessage(b.String() + "}}")
}

func TestLargeSchemas(t *testing.T) {
	s := compiled(t, string(wideSchema(MaxSubschemas-1)))
	require.NoError(t, s.Validate(json.RawMessage(`{"property99998":"a"}`)))
	require.Equal(t, []Problem{{"/property99998", "expected string, but got number"}}, problems(t, s, `{"property99998":1}`))
	_, err := Compile(wideSchema(MaxSubschemas))
	require.EqualError(t, err, "compile schema: schema has more than 100000 subschemas")
	s = compiled(t, string(chainedSchema(20_000)))
	require.NoError(t, s.Validate(json.RawMessage(`5`)))
	require.Error(t, s.Validate(json.RawMessage(`"a"`)))
}

// The time of each of these schemas would be quadratic if names were searched.
func TestCompileIsLinear(t *testing.T) {
	const n = 20_000
	for name, text := range map[string]string{
		"references":        `{"$defs":` + manyOf(n, "d%d", `true`) + `,"allOf":` + list(fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, n-1), n) + `}`,
		"items":             `{"$defs":{"x":{"allOf":` + list(`{}`, n) + `}},"anyOf":` + list(fmt.Sprintf(`{"$ref":"#/$defs/x/allOf/%d"}`, n-1), n) + `}`,
		"anchors":           `{"$defs":` + strings.ReplaceAll(manyOf(n, "d%d", `{"$anchor":"a"}`), `"a"`, `"aa"`) + `,"allOf":` + list(`{"$ref":"#aa"}`, n) + `}`,
		"dynamic anchors":   `{"$defs":` + manyOf(n, "d%d", `{"$dynamicAnchor":"a"}`) + `,"allOf":` + list(`{"$dynamicRef":"#a"}`, n) + `}`,
		"required":          `{"required":` + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(manyOf(n, "r%d", ""), ":", ""), "{", "["), "}", "]") + `}`,
		"unknown locations": `{"more":` + manyOf(n, "d%d", `{}`) + `,"allOf":` + list(`{"$ref":"#/more/d19999"}`, n) + `}`,
	} {
		start := time.Now()
		compiled(t, text)
		require.Less(t, time.Since(start), 2*time.Second, name) // about 20 ms, minutes if it were quadratic
	}
}

func TestCompileStopsWhenTheContextIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := CompileContext(ctx, json.RawMessage(`{}`))
	require.ErrorIs(t, err, context.Canceled)
	_, err = CompileContext(&expiring{Context: t.Context(), checks: 2}, wideSchema(50_000))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = CompileContext(t.Context(), json.RawMessage(`{}`))
	require.NoError(t, err)
}

// expiring is a context that expires when its error was read a number of times.
type expiring struct {
	context.Context
	checks int
}

func (e *expiring) Err() error {
	if e.checks--; e.checks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestSchemaErrorsHavePointers(t *testing.T) {
	const old = `"$schema":"http://json-schema.org/draft-04/schema#"`
	for text, want := range map[string]string{
		`{"properties":{"a":5}}`:       `/properties/a: expected object or boolean, but got number`,
		`{"properties":[]}`:            `/properties: expected object, but got array`,
		`{"items":[{}]}`:               `/items: expected object or boolean, but got array`,
		`{"allOf":[]}`:                 `/allOf: minimum 1 items required, but found 0 items`,
		`{"allOf":{}}`:                 `/allOf: expected array, but got object`,
		`{"type":[]}`:                  `/type: minimum 1 items required, but found 0 items`,
		`{"type":["string","string"]}`: `/type: items at index 0 and 1 are equal`,
		`{"type":"strin"}`:             `/type: value must be one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"type":5}`:                   `/type: expected string or array, but got number`,
		`{"maxLength":-1,"minItems":1.5,"maxItems":"1"}`: `/maxItems: expected number, but got string; /maxLength: must be >= 0 but found -1; /minItems: expected integer, but got number`,
		`{"multipleOf":0}`:                                         `/multipleOf: must be > 0 but found 0`,
		`{"multipleOf":-1e-3}`:                                     `/multipleOf: must be > 0 but found -1e-3`,
		`{"minimum":"1"}`:                                          `/minimum: expected number, but got string`,
		`{"uniqueItems":1}`:                                        `/uniqueItems: expected boolean, but got number`,
		`{"required":["a",1]}`:                                     `/required/1: expected string, but got number`,
		`{"required":["a","a"]}`:                                   `/required: items at index 0 and 1 are equal`,
		`{"dependentRequired":{"a":5}}`:                            `/dependentRequired/a: expected array, but got number`,
		`{"pattern":"("}`:                                          "/pattern: '(' is not a valid regular expression: missing closing ): `(`",
		`{"pattern":"(?=a)"}`:                                      "/pattern: '(?=a)' is not a valid regular expression: invalid or unsupported Perl syntax: `(?=`",
		`{"patternProperties":{"[":{}}}`:                           "/patternProperties/[: '[' is not a valid regular expression: missing closing ]: `[`",
		`{"$ref":"#/$defs/none"}`:                                  `/$ref: "#/$defs/none" not found`,
		`{"not":{"$ref":"#none"}}`:                                 `/not/$ref: "#none" not found`,
		`{"$ref":"other.json"}`:                                    `/$ref: "other.json" is not part of the schema, and other schemas are not loaded`,
		`{"$ref":"%zz"}`:                                           `/$ref: '%zz' is not a valid URI reference`,
		`{"$ref":"#/type","type":"object"}`:                        `/type: expected object or boolean, but got string`,
		`{"$id":"a#b"}`:                                            `/$id: 'a#b' has a fragment, which $id must not have`,
		`{"$anchor":"1"}`:                                          `/$anchor: '1' is not a valid anchor`,
		`{"$schema":"x"}`:                                          `/$schema: 'x' is not a valid URI`,
		`{"$schema":5}`:                                            `/$schema: expected string, but got number`,
		`{"$vocabulary":{"https://example.org/v":true}}`:           `/$vocabulary/https:~1~1example.org~1v: vocabulary is not supported`,
		`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`:              `/$defs/b/$id: 'mem:///x' is the URL of another schema too`,
		`{"anyOf":[{"allOf":[{"$ref":"#/anyOf/0"}]}]}`:             `/anyOf/0: infinite loop: the schema refers to itself for the same value`,
		`{` + old + `,"enum":[]}`:                                  `/enum: minimum 1 items required, but found 0 items`,
		`{` + old + `,"enum":[1,1.0]}`:                             `/enum: items at index 0 and 1 are equal`,
		`{` + old + `,"required":[]}`:                              `/required: minimum 1 items required, but found 0 items`,
		`{` + old + `,"exclusiveMaximum":true}`:                    `property 'maximum' is required, if 'exclusiveMaximum' property exists`,
		`{` + old + `,"not":true}`:                                 `/not: expected object, but got boolean`,
		`{"patternProperties":{"((a{99}){99}){99}":{}}}`:           "/patternProperties/((a{99}){99}){99}: '((a{99}){99}){99}' is not a valid regular expression: invalid repeat count: `{99}`",
		`{"allOf":` + list(`{"pattern":"(a{30}){30}"}`, 600) + `}`: `the patterns of the schema are too large`,
	} {
		_, err := Compile(json.RawMessage(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		schema         string
		valid, invalid []string
	}{
		{`{"minimum":0.1}`, []string{"0.1", "1e-1", "0.10000000000000000001", "12345678901234567890"}, []string{"0.0999999999999999999999", "0", "-1", "-0.1", "1e-2"}},
		{`{"exclusiveMaximum":9007199254740993}`, []string{"9007199254740992", "-9007199254740993"}, []string{"9007199254740993", "9007199254740993.0", "9007199254740994", "1e16"}},
		{`{"maximum":-1e2}`, []string{"-100", "-100.0", "-1e3"}, []string{"-99.9", "0", "100"}},
		{`{"multipleOf":0.01}`, []string{"0", "19.99", "4.35", "1e20", "-0.07", "12345678901234567890.12"}, []string{"0.001", "19.995", "12345678901234567890.123"}},
		{`{"multipleOf":1e-400}`, []string{"1", "0.5", "3e-400"}, []string{"1.5e-400"}},
		{`{"multipleOf":3e300}`, []string{"6e300", "0"}, []string{"7e300", "3"}},
		{`{"type":"integer"}`, []string{"1.0", "-0", "0.0", "1e3", "10e-1", "123456789012345678901234567890"}, []string{"0.5", "1e-1", "1.0000000000000000000001"}},
		{`{"const":1.0}`, []string{"1", "1.00", "10e-1", "0.1e1"}, []string{"1.0000000000000000000000001", "-1", "0"}},
		{`{"minLength":99999999999999999999}`, []string{"1"}, []string{`"a"`}},
		{`{"maxLength":1e2}`, []string{`"a"`}, []string{`"` + strings.Repeat("a", 101) + `"`}},
	} {
		s := compiled(t, c.schema)
		for _, doc := range c.valid {
			require.NoError(t, s.Validate(json.RawMessage(doc)), "%s %s", c.schema, doc)
		}
		for _, doc := range c.invalid {
			require.Error(t, s.Validate(json.RawMessage(doc)), "%s %s", c.schema, doc)
		}
	}
}

func TestMessages(t *testing.T) {
	for _, c := range []struct{ schema, doc, want string }{
		{`{"enum":["a",1,null,{"b": [true]}]}`, `"x"`, `value must be one of "a", 1, null, {"b":[true]}`},
		{`{"enum":["a"]}`, `5`, `value must be "a"`},
		{`{"const":[1, "a"]}`, `5`, `value must be [1,"a"]`},
		{`{"maximum":1000000}`, `1000001`, `must be <= 1000000 but found 1000001`},
		{`{"multipleOf":2}`, `3`, `must be a multiple of 2 but found 3`},
		{`{"type":["string","null"]}`, `5`, `expected string or null, but got number`},
		{`{"pattern":"^\\d'$"}`, `"x"`, `does not match pattern '^\d\'$'`},
		{`{"minLength":2,"maxLength":1}`, `"\ud83d\ude00"`, `length must be >= 2, but got 1`},
		{`{"maxLength":1}`, `"\u00e9e"`, `length must be <= 1, but got 2`},
		{`{"contains":{"type":"string"}}`, `[]`, `must contain at least 1 matching items, but found 0`},
		{`{"contains":{"type":"string"}}`, `[1]`, `/0: expected string, but got number`},
		{`{"contains":{},"maxContains":1}`, `[1,2]`, `must contain at most 1 matching items, but found 2`},
		{`{"oneOf":[{},{}]}`, `5`, `must match exactly one schema in oneOf, but matches those at indexes 0 and 1`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `/ab: length must be <= 1, but got 2`},
		{`{"unevaluatedProperties":false,"properties":{"a":{}}}`, `{"a":1,"b":2}`, `/b: not allowed`},
		{`{"prefixItems":[{}],"unevaluatedItems":false}`, `[1,2]`, `/1: not allowed`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}],"additionalItems":false}`, `[1,2]`, `only 1 items are allowed, but found 2 items`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","contentEncoding":"base64"}`, `"!"`, `value is not base64 encoded`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","contentMediaType":"application/json"}`, `"{"`, `value is not of mediatype 'application/json'`},
		{`{"properties":{"s":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, `{"s":{"items":{"type":5}}}`, `/s/items/type: expected string or array, but got number`},
		{`{"additionalProperties":false}`, `{"a\nb":1}`, `additionalProperties 'a\nb' not allowed`},
	} {
		require.EqualError(t, compiled(t, c.schema).Validate(json.RawMessage(c.doc)), c.want, c.schema)
	}
}

func TestRareKeywords(t *testing.T) {
	const old = `"$schema":"http://json-schema.org/draft-04/schema#",`
	manyTexts := `"t0"`
	for i := range 20 {
		manyTexts += fmt.Sprintf(`,"t%d"`, i+1)
	}
	for _, c := range []struct{ schema, valid, invalid string }{
		{`{` + old + `"minimum":1,"exclusiveMinimum":true}`, `1.1`, `1`},
		{`{` + old + `"minimum":1,"exclusiveMinimum":false}`, `1`, `0`},
		{`{` + old + `"maximum":1,"exclusiveMaximum":true}`, `0`, `1`},
		{`{` + old + `"id":"http://example.org/a","definitions":{"b":{"id":"#b","type":"null"}},"items":{"$ref":"http://example.org/a#b"}}`, `[null]`, `[1]`},
		{`{"enum":[` + manyTexts + `]}`, `"t\u0031\u0030"`, `"t21"`},
		{`{"enum":[` + manyTexts + `]}`, `"t20"`, `5`},
		{`{"const":` + manyOf(30, "p%d", "1") + `}`, manyOf(30, "p%d", "1.0"), manyOf(30, "q%d", "1")},
		{`{"const":` + manyOf(30, "p%d", "1") + `}`, manyOf(30, "p%d", "1.0"), manyOf(30, "p%d", "2")},
		{`{"const":"a\u0062"}`, `"\u0061b"`, `"a"`},
		{`{"required":["a\u0062"],"properties":{"\u0061b":{"type":"null"}}}`, `{"\u0061\u0062":null}`, `{"ab":1}`},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema","unevaluatedProperties":false}`, `{"type":"object"}`, `{"typ":"object"}`},
		{`{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, `{"c":1}`},
		{`{"anyOf":[{"items":{"type":"integer"}},{"prefixItems":[{}]}],"unevaluatedItems":false}`, `[1,2]`, `["a",2]`},
		{`{"$id":"urn:a","$defs":{"b":{"$id":"urn:b","type":"null"},"c":{"$anchor":"c","type":"string"}},"properties":{"b":{"$ref":"urn:b"},"c":{"$ref":"#c"},"d":{"$ref":"urn:a#/$defs/c"}}}`, `{"b":null,"c":"x"}`, `{"d":1}`},
		{`{"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/unevaluated":true,"https://example.org/v":false},"type":"null"}`, `null`, `1`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$vocabulary":{"https://json-schema.org/draft/2019-09/vocab/format":true},"type":"null"}`, `null`, `1`},
		{`{"$id":"http://[::1]/a","type":"null"}`, `null`, `1`},
		{`{"$ref":"#/x/1","x":[5,{"type":"null"}]}`, `null`, `1`},
	} {
		s := compiled(t, c.schema)
		require.NoError(t, s.Validate(json.RawMessage(c.valid)), c.schema)
		require.Error(t, s.Validate(json.RawMessage(c.invalid)), c.schema)
	}
	for _, text := range []string{`{"$id":"http://::1/a"}`, `{"$ref":"#/x/2","x":[5,{}]}`, `{"$ref":"#/x/01","x":[5,{}]}`, `{"$ref":"#/x/y","x":"y"}`, `{"$id":"http://[::1"}`, `{"$ref":"#/%"}`} {
		_, err := Compile(json.RawMessage(text))
		require.Error(t, err, text)
	}
}

func TestCheckFindsWhatIsCommonlyWrong(t *testing.T) {
	for text, message := range map[string]string{
		`{"type":"strng"}`:                          "/type",
		`{"type":"object","properties":[]}`:         "/properties",
		`{"type":"object","required":"a"}`:          "/required",
		`{"properties":{"a":{"minimum":"1"}}}`:      "/properties/a/minimum",
		`{"properties":{"a":{"pattern":"("}}}`:      "/properties/a/pattern",
		`{"$schema":"https://example.com/dialect"}`: "dialect",
		`{"type":"object"`:                          "read schema",
	} {
		_, err := Check(json.RawMessage(text))
		require.ErrorContains(t, err, message, text)
	}
	got, err := Check(json.RawMessage(`{"properties":{"a":{"$ref":"#/$defs/b"}},"type":"object"}`))
	require.NoError(t, err)
	require.Equal(t, Outline{ForObjects: true, HasReferences: true}, got)
	got, err = Check(json.RawMessage(`{"type":["object"],"default":{"$ref":"x"},"Type":"object"}`))
	require.NoError(t, err)
	require.Equal(t, Outline{}, got)
}
