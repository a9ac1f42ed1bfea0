package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentsThatAreNoExactJSON(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"empty":                     {"", `x.json#: file is empty`},
		"white space":               {" \n\t", `x.json#: file is empty`},
		"cut off":                   {`{"a": [1, `, `x.json#/a/1: line 1: invalid JSON: the document ends too early`},
		"cut off in key":            {`{"a`, `x.json#: line 1: invalid JSON: the document ends too early`},
		"no colon":                  {"{\n\"a\" 1}", `x.json#/a: line 2: invalid JSON: `},
		"no comma":                  {`{"a": 1 "b": 2}`, `x.json#: line 1: invalid JSON: `},
		"comma too many":            {`[1,]`, `x.json#/1: line 1: invalid JSON: `},
		"wrong bracket":             {`{"a": [1}`, `x.json#/a: line 1: invalid JSON: `},
		"not JSON":                  {`hello`, `x.json#: line 1: invalid JSON: `},
		"two documents":             {"{}\n{}", `x.json#: line 2: text after the JSON document`},
		"trailing bracket":          {"{}]", `x.json#: line 1: text after the JSON document`},
		"duplicate":                 {`{"a": {"b/c": 1, "b/c": 1}}`, `x.json#/a/b~1c: line 1: duplicate key`},
		"duplicate, other spelling": {`{"a": 1, "\u0061": 1}`, `x.json#/a: line 1: duplicate key`},
		"invalid UTF-8":             {"{\"\xff\": 1}", `x.json#: file is not valid UTF-8`},
		"half a surrogate":          {`{"a": "\ud800"}`, `x.json#/a: line 1: string holds half a surrogate pair`},
		"too deep":                  {strings.Repeat("[", 200), `nested deeper than 128`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.json", []byte(test.data))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"unknown keyword":      {`{"oneOf": []}`, `/oneOf: unknown keyword "oneOf"`},
		"unknown, deep":        {`{"properties": {"oneOf": {"items": {"not": {}}}}}`, `/properties/oneOf/items/not: unknown keyword "not"`},
		"root's keyword":       {`{"$defs": {}}`, `/$defs: unknown keyword "$defs"`},
		"prose":                {`{"properties": {"description": {"description": "x"}}}`, `/properties/description/description: official prose does not belong here`},
		"prose of wrong kind":  {`{"description": {}}`, `/description: description must be a string, not an object`},
		"not a schema":         {`{"items": 5}`, `/items: a schema is an object, not a number`},
		"closed object":        {`{"additionalProperties": false}`, `/additionalProperties: false allows no value`},
		"tuple":                {`{"items": [{}]}`, `/items: a schema is an object, not an array`},
		"no members object":    {`{"properties": []}`, `/properties: properties must be an object, not an array`},
		"empty union":          {`{"anyOf": []}`, `/anyOf: anyOf must be an array with at least one schema`},
		"bad arm":              {`{"anyOf": [{}, null]}`, `/anyOf/1: a schema is an object, not null`},
		"unknown type":         {`{"type": "date"}`, `/type: type has the unknown type "date"`},
		"type twice":           {`{"type": ["string", "string"]}`, `/type: type names "string" twice`},
		"no type":              {`{"type": []}`, `/type: type must name at least one type`},
		"null const":           {`{"const": null}`, `/const: const must be a string, a boolean or a number, not null`},
		"object const":         {`{"const": {}}`, `/const: const must be a string, a boolean or a number, not an object`},
		"const too large":      {`{"const": 9007199254740993}`, `/const: const has 9007199254740993; write a plain decimal number`},
		"exponent":             {`{"minimum": 1e9000000}`, `/minimum: minimum has 1e9000000; write a plain decimal number`},
		"bound is text":        {`{"maximum": "1"}`, `/maximum: maximum must be a number, not a string`},
		"empty enum":           {`{"enum": []}`, `/enum: enum must be an array with at least one value`},
		"enum of objects":      {`{"enum": ["a", {}]}`, `/enum: enum value 1 must be a string`},
		"enum value twice":     {`{"enum": ["a", "b", "a"]}`, `/enum: enum holds a twice`},
		"maxItems zero":        {`{"maxItems": 0}`, `/maxItems: maxItems has 0; write a whole number from 1 on`},
		"maxItems a fraction":  {`{"maxItems": 1.5}`, `/maxItems: maxItems has 1.5`},
		"format empty":         {`{"format": ""}`, `/format: format must be a string that is not empty`},
		"required unknown":     {`{"properties": {"a": {}}, "required": ["a", "b"]}`, `/required/1: required member "b" is not in properties`},
		"required twice":       {`{"properties": {"a": {}}, "required": ["a", "a"]}`, `/required: required names "a" twice`},
		"required no list":     {`{"required": "a"}`, `/required: required must be an array of strings, not a string`},
		"reference dangles":    {`{"$ref": "#/$defs/B"}`, `/$ref: $ref "#/$defs/B" leads nowhere; there is no definition "B"`},
		"reference to a file":  {`{"$ref": "file:///etc/passwd"}`, `/$ref: $ref "file:///etc/passwd" leaves the definitions of this file`},
		"reference too deep":   {`{"$ref": "#/$defs/A/items"}`, `/$ref: $ref "#/$defs/A/items" leaves the definitions`},
		"reference, old place": {`{"$ref": "#/definitions/A"}`, `/$ref: $ref "#/definitions/A" leaves the definitions of this file; write #/$defs/<name>`},
		"reference, company":   {`{"items": {"$ref": "#/$defs/A", "type": "object"}}`, `/items/$ref: $ref has type beside it`},
		"fold, company":        {`{"allOf": [{}], "properties": {}, "type": "object"}`, `/allOf: allOf has properties, type beside it`},
		"union, company":       {`{"anyOf": [{}], "type": "object"}`, `/anyOf: anyOf has type beside it`},
		"const, company":       {`{"const": "a", "enum": ["a"], "type": "string"}`, `/const: const has enum beside it`},
		"enum of a list":       {`{"enum": ["a"], "type": "array"}`, `/enum: enum needs the type string or integer or number or boolean beside it`},
		"members of no object": {`{"properties": {"a": {}}}`, `/properties: properties needs the type object beside it`},
		"bounds of a string":   {`{"type": "string", "minimum": 1}`, `/minimum: minimum needs the type integer or number beside it`},
		"members of two kinds": {`{"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}`, `/additionalProperties: additionalProperties beside properties must allow anything`},
		"reference to itself":  {`{"$ref": "#/$defs/A"}`, `x.json#/$defs/A: `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.json", Entry{}, newFile(`{"A": `+test.schema+`}`))
			if strings.HasPrefix(test.want, "/") {
				test.want = "x.json#/$defs/A" + test.want
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestFilesThatAreNotSchemas(t *testing.T) {
	const dialect = `"$schema": "https://json-schema.org/draft/2020-12/schema"`
	for data, want := range map[string]string{
		`[]`:                            `x.json#: a schema is an object, not an array`,
		`true`:                          `x.json#: a schema is an object, not a boolean`,
		`{"$defs": {}}`:                 `x.json#: $schema is missing`,
		`{"$schema": "x", "$defs": {}}`: `x.json#/$schema: $schema must be one of http`,
		`{` + dialect + `}`:             `x.json#: needs either $defs or definitions`,
		`{` + dialect + `, "$defs": 1}`: `x.json#/$defs: $defs must be an object, not a number`,
		`{` + dialect + `, "$defs": {}, "definitions": {}}`: `x.json#: needs either $defs or definitions`,
		`{` + dialect + `, "$defs": {}, "type": "object"}`:  `x.json#/type: unknown keyword "type"`,
		`{` + dialect + `, "$defs": {"a b": {}}}`:           `x.json#/$defs/a b: a definition is named with letters`,
	} {
		_, err := Parse("x.json", Entry{}, []byte(data))
		require.ErrorContains(t, err, want, data)
	}
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	_, err := Parse("x.json", Entry{}, newFile(`{"A": {"oneOf": []}, "B": {"$ref": "#/$defs/C"}}`))
	require.ErrorContains(t, err, "x.json#/$defs/A/oneOf: ")
	require.ErrorContains(t, err, "\nx.json#/$defs/B/$ref: ")
}

// Every keyword is also a possible member name, and any text a plain value.
func TestNamesThatLookLikeKeywords(t *testing.T) {
	var members []string
	for _, name := range []string{"title", "enum", "const", "properties", "default", "oneOf", "items", "required", "$ref", "not", "description"} {
		members = append(members, fmt.Sprintf(`%q: {"type": "string"}`, name))
	}
	all := strings.Join(members, ", ")
	raw := newFile(`{"A": {"type": "object", "properties": {` + all + `}, "required": ["description"]}, "enum": {"const": "description"}}`)
	ours, err := Transcribe("x.json", raw)
	require.NoError(t, err)
	f, err := Parse("x.json", Entry{}, ours)
	require.NoError(t, err)
	require.Len(t, f.Defs["A"].Properties, len(members))
	require.Contains(t, f.Defs, "enum")
}
