package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/schema"
)

func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(text))
	require.NoError(t, err)
	return s
}

// problems returns the problems of an invalid document.
func problems(t *testing.T, s *Schema, doc string) []Problem {
	t.Helper()
	e, ok := errors.AsType[*Error](s.Validate(json.RawMessage(doc)))
	require.True(t, ok)
	require.NotEmpty(t, e.Problems)
	return e.Problems
}

const booking = `{
	"type": "object",
	"properties": {
		"name": {"type": "string", "minLength": 1},
		"guests": {"type": "integer", "minimum": 1, "maximum": 12},
		"a/b~c%d é": {"type": "boolean"}
	},
	"required": ["name"],
	"additionalProperties": false
}`

func TestValidate(t *testing.T) {
	s := compiled(t, booking)
	require.NoError(t, s.Validate(json.RawMessage(`{"name":"Ada","guests":2}`)))
	require.NoError(t, s.Validate(json.RawMessage(`{"name":"Ada","guests":2.0}`)))
	for doc, want := range map[string]string{
		`{"name":5}`:                         `/name: expected string, but got number`,
		`{"name":"Ada","guests":13}`:         `/guests: must be <= 12 but found 13`,
		`{}`:                                 `missing properties: 'name'`,
		`[]`:                                 `expected object, but got array`,
		`{"name":"Ada","a/b~c%d é":1}`:       `/a~1b~0c%d é: expected boolean, but got number`,
		`{"name":"","guests":0}`:             `/guests: must be >= 1 but found 0; /name: length must be >= 1, but got 0`,
		`{"name":"Ada","name":"Eve"}`:        `/name: duplicate member "name"`,
		`{"name":"Ada","g":1}`:               `additionalProperties 'g' not allowed`,
		`{"name":"Ada"} trailing`:            `unexpected data after the value`,
		`{"name":"\ud800"}`:                  `/name: unpaired surrogate in a string`,
		`{"name":"Ada","guests":1e99999999}`: `/guests: number beyond the range of float64`,
	} {
		require.EqualError(t, s.Validate(json.RawMessage(doc)), want)
	}
}

func TestLongErrorsAreTruncated(t *testing.T) {
	s := compiled(t, `{"items":{"type":"string"},"additionalProperties":false}`)
	require.Len(t, problems(t, s, `[1`+strings.Repeat(`,1`, 100)+`]`), 20)
	text := problems(t, s, `{"`+strings.Repeat("é", 5000)+`":1}`)[0].String()
	require.Less(t, len(text), 400)
	require.True(t, utf8.ValidString(text))
}

func TestErrorsAreTheSameEachTime(t *testing.T) {
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `,"n%d":"x"`, i)
	}
	for _, c := range []struct{ schema, doc, want string }{
		{booking, `{"name":"Ada","d":1,"b', 'z":2,"a":3,"c\\":4,"":5}`,
			`additionalProperties '', 'a', 'b\', \'z', 'c\', 'd' not allowed`},
		{`{"dependentRequired":{"a":["x"],"b":["y"],"c":["z"]}}`, `{"a":1,"b":2,"c":3}`,
			`property 'x' is required, if 'a' property exists; property 'y' is required, if 'b' property exists; property 'z' is required, if 'c' property exists`},
		{`{"patternProperties":{"a":{"type":"string"},"b":{"type":"boolean"},"c":{"type":"object"}}}`, `{"abc":1}`,
			`/abc: expected boolean, but got number; /abc: expected object, but got number; /abc: expected string, but got number`},
		{`{"anyOf":[{"properties":{"a":{"const":1},"b":{"const":1},"c":{"const":1}}}]}`, `{"a":2,"b":2,"c":2}`,
			`/a: value must be 1`},
		{`{"additionalProperties":{"type":"integer"}}`, `{"m":0` + many.String() + `}`,
			`/n0: expected integer, but got string; /n1: expected integer, but got string; /n2: `},
		{`{"items":{"type":"string"}}`, `[1` + strings.Repeat(`,1`, 30) + `]`,
			`/0: expected string, but got number; /1: expected string, but got number; /2: `},
	} {
		s := compiled(t, c.schema)
		first := s.Validate(json.RawMessage(c.doc))
		require.ErrorContains(t, first, c.want)
		for range 50 {
			require.Equal(t, first, s.Validate(json.RawMessage(c.doc)))
		}
	}
}

func TestErrorsOfAUnionAreOfTheClosestAlternative(t *testing.T) {
	s := compiled(t, `{"anyOf":[
		{"properties":{"type":{"const":"text"},"text":{"type":"string"}},"required":["type","text"]},
		{"properties":{"type":{"const":"image"},"data":{"type":"string"}},"required":["type","data"]}
	]}`)
	require.Equal(t, []Problem{{"/text", "expected string, but got number"}}, problems(t, s, `{"type":"text","text":5}`))
	require.Equal(t, []Problem{{"", "missing properties: 'data'"}}, problems(t, s, `{"type":"image"}`))
	require.Equal(t, []Problem{{"/type", `value must be "text", or value must be "image"`}}, problems(t, s, `{"type":"video"}`))
}

func TestSchemaSelectsTheDialect(t *testing.T) {
	const tuple = `"items":[{"type":"string"}]`
	old := compiled(t, `{"$schema":"http://json-schema.org/draft-07/schema#",`+tuple+`}`)
	require.Error(t, old.Validate(json.RawMessage(`[5]`)))
	_, err := Compile(json.RawMessage(`{` + tuple + `}`))
	require.Error(t, err, "2020-12 has prefixItems for this")
	s := compiled(t, `{"prefixItems":[{"type":"string"}]}`)
	require.Error(t, s.Validate(json.RawMessage(`[5]`)))
	_, err = Compile(json.RawMessage(`{"$schema":"https://example.org/my-own"}`))
	require.ErrorContains(t, err, `"https://example.org/my-own" is not part of the schema`)
}

func TestFormatsAreAnnotations(t *testing.T) {
	for _, dialect := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"} {
		s := compiled(t, `{"$schema":"`+dialect+`","format":"date"}`)
		require.NoError(t, s.Validate(json.RawMessage(`"someday"`)))
	}
}

func TestCompileBooleansAndSchemasWithID(t *testing.T) {
	require.NoError(t, compiled(t, `{"$id":"https://example.org/x"}`).Validate(json.RawMessage(`5`)))
	require.NoError(t, compiled(t, `true`).Validate(json.RawMessage(`{}`)))
	require.Error(t, compiled(t, `false`).Validate(json.RawMessage(`{}`)))
}

func TestInvalidSchemasDoNotCompile(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "read schema: ",
		`{"type":"strin"}`:                      "/type: ",
		`{"properties":{"a":{"minLength":-1}}}`: "/properties/a/minLength: ",
		`5`:                                     "expected object or boolean",
		`{"type":"object","type":"object"}`:     "read schema: ",
		`{"minimum":1e1000000}`:                 "read schema: /minimum: ",
		`{"minimum":1e-1000000}`:                "read schema: /minimum: the number has too many digits",
		`{"pattern":"("}`:                       "/pattern: ",
		`{"$ref":"#/$defs/none"}`:               "",
		strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat(`}`, 300): "read schema: ",
	} {
		_, err := Compile(json.RawMessage(text))
		require.ErrorContains(t, err, want)
	}
}

func TestOtherSchemasAreNotLoaded(t *testing.T) {
	for _, ref := range []string{"file:///etc/passwd", "http://localhost/schema.json", "https://example.org/x#/y", "other.json", "/etc/passwd", "mem:///other"} {
		for _, text := range []string{`{"$ref":"` + ref + `"}`, `{"$defs":{"a":{"$dynamicRef":"` + ref + `"}},"$ref":"#/$defs/a"}`, `{"$id":"` + ref + `","$ref":"more.json"}`, `{"$schema":"` + ref + `"}`} {
			_, err := Compile(json.RawMessage(text))
			require.Error(t, err, text)
			require.NotContains(t, err.Error(), "no such file")
		}
	}
}

func TestInfiniteLoopsDoNotCompile(t *testing.T) {
	for _, text := range []string{
		`{"$ref":"#"}`,
		`{"allOf":[{"$ref":"#"}]}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		`{"$dynamicAnchor":"x","$dynamicRef":"#x"}`,
		`{"$dynamicAnchor":"x","allOf":[{"$dynamicRef":"#x"}]}`,
		`{"$dynamicAnchor":"x","if":{"not":{"$dynamicRef":"#x"}}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"anyOf":[{"$recursiveRef":"#"}]}`,
	} {
		_, err := Compile(json.RawMessage(text))
		require.ErrorContains(t, err, "infinite loop", text)
	}
}

func TestRecursiveSchemasCompile(t *testing.T) {
	s := compiled(t, `{"type":"object","additionalProperties":{"$ref":"#"}}`)
	require.NoError(t, s.Validate(json.RawMessage(`{"a":{"b":{}}}`)))
	require.Equal(t, "/a/b", problems(t, s, `{"a":{"b":5}}`)[0].Pointer)
}

func TestValidationThatTakesTooLongFails(t *testing.T) {
	nested := strings.Repeat(`{"x":`, 60) + `0` + strings.Repeat(`}`, 60)
	deep := compiled(t, `{"properties":{"x":{"$ref":"#"}},"patternProperties":{"x":{"$ref":"#"}}}`)
	require.ErrorContains(t, deep.Validate(json.RawMessage(nested)), "too long")
	require.NoError(t, deep.Validate(json.RawMessage(`{"x":{"x":0}}`)), "each validation has its own budget")

	var wide strings.Builder
	wide.WriteString(`{"$defs":{"d0":{"type":"object"}`)
	for i := range 40 {
		fmt.Fprintf(&wide, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	wide.WriteString(`},"$ref":"#/$defs/d40"}`)
	require.ErrorContains(t, compiled(t, wide.String()).Validate(json.RawMessage(`{}`)), "too long")
}

func TestLongDocumentsMayTakeLong(t *testing.T) {
	s := compiled(t, `{"items":{"anyOf":[{"type":"string"},{"type":"null"},{"allOf":[{"type":"integer"}]}]}}`)
	require.NoError(t, s.Validate(json.RawMessage("[1"+strings.Repeat(",1", 20_000)+"]")))
}

func TestLongNumbersAreRejected(t *testing.T) {
	for _, text := range []string{`{"type":"integer"}`, `{"enum":[1]}`, `{"const":1}`, `{"multipleOf":3}`, `{"uniqueItems":true}`} {
		s := compiled(t, text)
		for _, number := range []string{"1e9000000", "1e1000000", "1e-1000000", "-1E-401", "1e99999999999999999999", "0." + strings.Repeat("1", 2000)} {
			err := s.Validate(json.RawMessage(`[` + number + `]`))
			require.ErrorContains(t, err, "/0: ", "%s %s", text, number)
			require.Error(t, s.Validate(json.RawMessage(number)))
		}
		require.Error(t, s.Validate(json.RawMessage(`[1,`)))
	}
	require.NoError(t, compiled(t, `{"type":"integer"}`).Validate(json.RawMessage(`9007199254740993`)))
	require.Error(t, compiled(t, `{"const":9007199254740992}`).Validate(json.RawMessage(`9007199254740993`)), "numbers are exact")
	require.NoError(t, compiled(t, `{}`).Validate(json.RawMessage(`1e+300`)))
}

func TestBundle(t *testing.T) {
	for _, r := range schema.Revisions() {
		data, err := schema.Bytes(r.Revision)
		require.NoError(t, err)
		b, err := NewBundle(data)
		require.NoError(t, err)
		s, err := b.Compile("CallToolResult")
		require.NoError(t, err)
		again, err := b.Compile("CallToolResult")
		require.NoError(t, err)
		require.Same(t, s, again)
		doc := `{"resultType":"complete","content":[{"type":"text","text":%s}]}`
		require.NoError(t, s.Validate(fmt.Appendf(nil, doc, `"hi"`)))
		require.Equal(t, []Problem{{"/content/0/text", "expected string, but got null"}}, problems(t, s, fmt.Sprintf(doc, "null")))
		_, err = b.Compile("NoSuchThing")
		require.ErrorContains(t, err, `no definition "NoSuchThing"`)
	}
	for _, none := range []string{`{`, `true`, `{}`, `{"$defs":5}`} {
		_, err := NewBundle(json.RawMessage(none))
		require.ErrorContains(t, err, "read schema: ", none)
	}
	b, err := NewBundle(json.RawMessage(`{"definitions":{"a/b~c d%":{"type":"null"}}}`))
	require.NoError(t, err)
	s, err := b.Compile("a/b~c d%")
	require.NoError(t, err)
	require.Error(t, s.Validate(json.RawMessage(`5`)))
	b, err = NewBundle(json.RawMessage(`{"definitions":{"a":{"type":"nil"}}}`))
	require.NoError(t, err)
	require.True(t, b.Has("a"))
	require.False(t, b.Has("b"))
	for range 2 {
		_, err = b.Compile("a")
		require.ErrorContains(t, err, "/definitions/a/type: ")
	}
	b, err = NewBundle(json.RawMessage(`{"definitions":{"a":{"items":{"$ref":"#/definitions/b"},"not":{"$ref":"#/none"}},"b":{"type":"null"},"c":{"$ref":"#/definitions/a"}}}`))
	require.NoError(t, err)
	for _, name := range []string{"a", "c", "a"} {
		_, err = b.Compile(name)
		require.ErrorContains(t, err, `/definitions/a/not/$ref: "#/none" not found`)
	}
	s, err = b.Compile("b")
	require.NoError(t, err)
	require.Error(t, s.Validate(json.RawMessage(`5`)))
}

func TestSchemaIsSafeForConcurrentUse(t *testing.T) {
	b, err := NewBundle(json.RawMessage(`{"$defs":{"text":{"type":"string"}}}`))
	require.NoError(t, err)
	alone := compiled(t, `{"type":"string"}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := b.Compile("text")
			if err != nil {
				t.Error(err)
				return
			}
			for _, s := range []*Schema{s, alone} {
				if s.Validate(json.RawMessage(`"x"`)) != nil || s.Validate(json.RawMessage(`5`)) == nil {
					t.Error("wrong result")
				}
			}
		})
	}
	all.Wait()
}

func TestEqualItemsWithDifferentText(t *testing.T) {
	s := compiled(t, `{"properties":{"list":{"uniqueItems":true}}}`)
	for _, items := range []string{`1,1.0`, `[1,"a"],[10e-1,"\u0061"]`, `{"a":1,"b":null},{"b":null,"a":1}`, `0,-0`, `true,true`} {
		require.Equal(t, []Problem{{"/list", "items at index 0 and 1 are equal"}}, problems(t, s, `{"list":[`+items+`]}`))
	}
	require.NoError(t, s.Validate(json.RawMessage(`{"list":[1,"1",true,"true",null,"null",[],{},[[]],["",""],["\",\""],{"a":{}},{"a":[]},0.1,{"a":1,"b":2},{"a":1}]}`)))
	long := []byte(`{"list":[`)
	for i := range 5000 {
		long = fmt.Appendf(long, `[%d],`, i)
	}
	require.NoError(t, s.Validate(append(long, `0]}`...)))
	require.Error(t, s.Validate(append(long, `[17]]}`...)))
}

func TestPanicsBecomeErrors(t *testing.T) {
	var err error
	func() {
		defer recoverError(&err)
		panic("no")
	}()
	require.EqualError(t, err, "the validator panicked: no")
}
