package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInvalidJSON(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"empty":                 {"", `x.json#: file is empty`},
		"white space":           {" \n\t", `x.json#: file is empty`},
		"cut off":               {`{"a": [1, `, `x.json#/a/1: line 1: invalid JSON: the document ends too early`},
		"cut off in key":        {`{"a`, `x.json#: line 1: invalid JSON: the document ends too early`},
		"no colon":              {"{\n\"a\" 1}", `x.json#/a: line 2: invalid JSON: `},
		"no comma":              {`{"a": 1 "b": 2}`, `x.json#: line 1: invalid JSON: `},
		"extra comma":           {`[1,]`, `x.json#/1: line 1: invalid JSON: `},
		"wrong bracket":         {`{"a": [1}`, `x.json#/a: line 1: invalid JSON: `},
		"not JSON":              {`hello`, `x.json#: line 1: invalid JSON: `},
		"two documents":         {"{}\n{}", `x.json#: line 2: text after the JSON document`},
		"trailing bracket":      {"{}]", `x.json#: line 1: text after the JSON document`},
		"duplicate":             {`{"a": {"b/c": 1, "b/c": 1}}`, `x.json#/a/b~1c: line 1: duplicate key`},
		"duplicate with escape": {`{"a": 1, "\u0061": 1}`, `x.json#/a: line 1: duplicate key`},
		"invalid UTF-8":         {"{\"\xff\": 1}", `x.json#: file is not valid UTF-8`},
		"half a surrogate":      {`{"a": "\ud800"}`, `x.json#/a: line 1: string contains half a surrogate pair`},
		"too deep":              {strings.Repeat("[", 200), `nested deeper than 128`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.json", []byte(test.data))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestUnsupportedSchemas(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"unknown keyword":                {`{"unevaluatedItems": {}}`, `/unevaluatedItems: unsupported keyword "unevaluatedItems"`},
		"unknown, nested":                {`{"properties": {"oneOf": {"items": {"$defs": {}}}}}`, `/properties/oneOf/items/$defs: unsupported keyword "$defs"`},
		"expression of another language": {`{"pattern": "(?<=a)b"}`, `/pattern: pattern must be a regular expression that Go supports`},
		"names of another language":      {`{"patternProperties": {"(?=a)": {}}}`, `/patternProperties: patternProperties must be a regular expression that Go supports`},
		"negative length":                {`{"minLength": -1}`, `/minLength: minLength is -1; want an integer that is not negative`},
		"multiple of zero":               {`{"multipleOf": 0}`, `/multipleOf: multipleOf is 0; want a number greater than 0`},
		"lists of members":               {`{"dependentRequired": {"a": ["b", 1]}}`, `/dependentRequired: dependentRequired must contain only strings`},
		"root keyword":                   {`{"$defs": {}}`, `/$defs: unsupported keyword "$defs"`},
		"description":                    {`{"properties": {"description": {"description": "x"}}}`, `/properties/description/description: a description is not allowed here`},
		"annotation of wrong kind":       {`{"readOnly": "yes"}`, `/readOnly: readOnly must be a boolean, not a string`},
		"examples of wrong kind":         {`{"examples": {}}`, `/examples: examples must be an array, not an object`},
		"annotation":                     {`{"x-order": 1}`, `/x-order: a x-order is not allowed here`},
		"identifier and reference":       {`{"$id": "a", "items": {"$ref": "#/$defs/A"}}`, `/$id: a schema with an $id cannot contain a $ref`},
		"description of wrong kind":      {`{"description": {}}`, `/description: description must be a string, not an object`},
		"not a schema":                   {`{"items": 5}`, `/items: a schema must be an object, not a number`},
		"tuple":                          {`{"items": [{}]}`, `/items: a schema must be an object, not an array`},
		"properties is an array":         {`{"properties": []}`, `/properties: properties must be an object, not an array`},
		"empty union":                    {`{"anyOf": []}`, `/anyOf: anyOf must be an array with at least one schema`},
		"invalid alternative":            {`{"anyOf": [{}, null]}`, `/anyOf/1: a schema must be an object, not null`},
		"unknown type":                   {`{"type": "date"}`, `/type: type has the unknown type "date"`},
		"type twice":                     {`{"type": ["string", "string"]}`, `/type: type contains "string" twice`},
		"no type":                        {`{"type": []}`, `/type: type must contain at least one type`},
		"null const":                     {`{"const": null}`, `/const: const must not be null in a transcription`},
		"const with a large number":      {`{"const": {"a": [9007199254740993]}}`, `/const: const is 9007199254740993; want a decimal number`},
		"const with many digits":         {`{"const": 1.0000000000000001}`, `/const: const is 1.0000000000000001; want a number with fewer digits, like 1`},
		"const too large":                {`{"const": 9007199254740993}`, `/const: const is 9007199254740993; want a decimal number`},
		"exponent":                       {`{"minimum": 1e9000000}`, `/minimum: minimum is 1e9000000; want a decimal number`},
		"bound is a string":              {`{"maximum": "1"}`, `/maximum: maximum must be a number, not a string`},
		"empty enum":                     {`{"enum": []}`, `/enum: enum must be an array with at least one value`},
		"enum object twice":              {`{"enum": ["a", {}, {}]}`, `/enum: enum contains map[] twice`},
		"enum value twice":               {`{"enum": ["a", "b", "a"]}`, `/enum: enum contains a twice`},
		"maxItems zero":                  {`{"maxItems": 0}`, `/maxItems: maxItems is 0; want an integer greater than 0`},
		"maxItems a fraction":            {`{"maxItems": 1.5}`, `/maxItems: maxItems is 1.5`},
		"format empty":                   {`{"format": ""}`, `/format: format must be a string that is not empty`},
		"required twice":                 {`{"properties": {"a": {}}, "required": ["a", "a"]}`, `/required: required contains "a" twice`},
		"required is a string":           {`{"required": "a"}`, `/required: required must be an array of strings, not a string`},
		"reference without definition":   {`{"$ref": "#/$defs/B"}`, `/$ref: $ref "#/$defs/B" has no definition "B"`},
		"reference to a file":            {`{"$ref": "file:///etc/passwd"}`, `/$ref: $ref "file:///etc/passwd" must have the form #/$defs/<name>`},
		"reference too deep":             {`{"$ref": "#/$defs/A/items"}`, `/$ref: $ref "#/$defs/A/items" must have the form`},
		"reference to definitions":       {`{"$ref": "#/definitions/A"}`, `/$ref: $ref "#/definitions/A" must have the form #/$defs/<name>`},
		"reference to itself":            {`{"$ref": "#/$defs/A"}`, `x.json#/$defs/A: `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseFile("x.json", Entry{}, newFile(`{"A": `+test.schema+`}`))
			if strings.HasPrefix(test.want, "/") {
				test.want = "x.json#/$defs/A" + test.want
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestInvalidSchemaFiles(t *testing.T) {
	const dialect = `"$schema": "https://json-schema.org/draft/2020-12/schema"`
	for data, want := range map[string]string{
		`[]`:                            `x.json#: a schema must be an object, not an array`,
		`true`:                          `x.json#: a schema must be an object, not a boolean`,
		`{"$defs": {}}`:                 `x.json#: $schema is missing`,
		`{"$schema": "x", "$defs": {}}`: `x.json#/$schema: $schema must be one of http`,
		`{` + dialect + `}`:             `x.json#: must have either $defs or definitions`,
		`{` + dialect + `, "$defs": 1}`: `x.json#/$defs: $defs must be an object, not a number`,
		`{` + dialect + `, "$defs": {}, "definitions": {}}`: `x.json#: must have either $defs or definitions`,
		`{` + dialect + `, "$defs": {}, "type": "object"}`:  `x.json#/type: unsupported keyword "type"`,
		`{` + dialect + `, "$defs": {"a b": {}}}`:           `x.json#/$defs/a b: the name of a definition must consist of letters`,
	} {
		_, err := parseFile("x.json", Entry{}, []byte(data))
		require.ErrorContains(t, err, want, data)
	}
}

func TestParseReportsAllProblems(t *testing.T) {
	_, err := parseFile("x.json", Entry{}, newFile(`{"A": {"$defs": {}}, "B": {"$ref": "#/$defs/C"}}`))
	require.ErrorContains(t, err, "x.json#/$defs/A/$defs: ")
	require.ErrorContains(t, err, "\nx.json#/$defs/B/$ref: ")
}

// A transcription has no annotations, wherever the official file has them.
func TestTranscribeRemovesAnnotations(t *testing.T) {
	const annotated = `"$comment": "a", "$id": "a", "$anchor": "a", "title": "a", "description": "a", "default": 1, "examples": [1],
		"deprecated": true, "readOnly": true, "writeOnly": false, "contentMediaType": "a/b", "contentEncoding": "base64", "x-order": {"a": 1}`
	official := `{"$schema": "https://json-schema.org/draft/2020-12/schema", ` + annotated + `, "$defs": {"A": {` + annotated + `,
		"type": "object", "properties": {"a": {"const": "a", ` + annotated + `}, "title": {"$ref": "#/$defs/B"}}}, "B": {"anyOf": [{"type": "string", ` + annotated + `}]}}}`
	_, err := transcribe("x.json", []byte(official))
	require.ErrorContains(t, err, "x.json#/$defs/A/$id: a schema with an $id cannot contain a $ref")
	official = strings.Replace(official, `{"$ref": "#/$defs/B"}`, `{"$ref": "#/$defs/B", "$comment": "a", "deprecated": true}`, 1)
	official = strings.Replace(official, `"$defs": {"A": {"$comment": "a", "$id": "a",`, `"$defs": {"A": {`, 1)
	ours, err := transcribe("x.json", []byte(official))
	require.NoError(t, err)
	plain := newFile(`{"A": {"type": "object", "properties": {"a": {"const": "a"}, "title": {"$ref": "#/$defs/B"}}}, "B": {"anyOf": [{"type": "string"}]}}`)
	want, err := transcribe("x.json", plain)
	require.NoError(t, err)
	require.Equal(t, string(want), string(ours))
}

func TestTranscribeNullConstant(t *testing.T) {
	ours, err := transcribe("x.json", newFile(`{"A": {"const": null}}`))
	require.NoError(t, err)
	want, err := transcribe("x.json", newFile(`{"A": {"enum": [null]}}`))
	require.NoError(t, err)
	require.Equal(t, string(want), string(ours))
}

// Keywords may be names of members, and any string may be a value.
func TestKeywordsAsNames(t *testing.T) {
	var members []string
	for _, name := range []string{"title", "enum", "const", "properties", "default", "oneOf", "items", "required", "$ref", "not", "description"} {
		members = append(members, fmt.Sprintf(`%q: {"type": "string"}`, name))
	}
	all := strings.Join(members, ", ")
	raw := newFile(`{"A": {"type": "object", "properties": {` + all + `}, "required": ["description"]}, "enum": {"const": "description"}}`)
	ours, err := transcribe("x.json", raw)
	require.NoError(t, err)
	f, err := parseFile("x.json", Entry{}, ours)
	require.NoError(t, err)
	require.Len(t, f.Defs["A"].Properties, len(members))
	require.Contains(t, f.Defs, "enum")
}
