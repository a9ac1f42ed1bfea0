package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// styles are schemas as libraries print them, with declarations in the generated code.
var styles = map[string]struct {
	defs string
	want []string
}{
	"names of generic types": {
		`"Page<Day[]>": {"type": "object", "properties": {"next": {"$ref": "#/definitions/Page%3CDay%5B%5D%3E"}, "all": {"$ref": "#/definitions/Record%3Cstring%2Cnumber%3E"}}},
		"Record<string,number>": {"type": "object", "additionalProperties": {"type": "number"}}`,
		[]string{"type PageDay struct {", "Next *PageDay", "All map[string]float64"},
	},
	"a tuple": {
		`"Line": {"type": "object", "properties": {"from": {"type": "array", "items": [{"type": "number"}, {"type": "string"}], "minItems": 2, "additionalItems": false}}}`,
		[]string{"From []json.RawMessage", "First: []*wire.Schema{&wire.Schema{Types: []string{\"number\"}}, &wire.Schema{Types: []string{\"string\"}}}"},
	},
	"a path to a schema": {
		`"Line": {"type": "object", "properties": {"name": {"type": "string", "minLength": 3}}}, "Area": {"type": "object", "properties": {"title": {"$ref": "#/definitions/Line/properties/name", "description": "is the title."}}}`,
		[]string{"// Title is the title.\n\tTitle string", "checkAreaTitle"},
	},
	"objects inside unions": {
		`"Shape": {"anyOf": [` + needsConst("round") + `, ` + needsConst("a-square") + `]}, "Line": {"type": "object", "properties": {"ends": {"type": "array", "items": {"oneOf": [` + needsConst("arrow") + `, {"$ref": "#/definitions/Dot"}]}}}},
		"Dot": ` + needsConst("dot"),
		[]string{"type Shape interface {", "type ShapeRound struct {", "type ShapeASquare struct {", "Ends []LineEnds", "type LineEndsArrow struct {", "func (*Dot) isLineEnds()"},
	},
	"values of several kinds": {
		`"Line": {"type": "object", "required": ["id"], "properties": {"id": {"type": ["string", "number"]}, "style": {"anyOf": [{"enum": ["solid", "dotted"]}, {"type": "null"}]}, "flag": {"const": true},
			"spot": {"oneOf": [{"$ref": "#/definitions/Dot"}, {"type": "null"}]}, "blocks": {"anyOf": [{"$ref": "#/definitions/ContentBlock"}, {"type": "string"}]}}}, "Dot": ` + needsConst("dot"),
		[]string{"ID json.RawMessage", "Style json.RawMessage", "Flag json.RawMessage", "Spot json.RawMessage", `Types: []string{"string", "number"}`, `Name: "text", Required: true`},
	},
	"keywords beside a reference": {
		`"Line": {"type": "object", "properties": {"name": {"$ref": "#/definitions/Text", "minLength": 3}}}, "Text": {"type": "string"}`,
		[]string{"type Text = string", "!minLength", "!checkLineName"},
	},
	"keywords in an allOf": {
		`"Line": {"type": "object", "properties": {"name": {"allOf": [{"type": "string"}, {"minLength": 2}, {"maxLength": 3}]}, "style": {"allOf": [{"$ref": "#/definitions/Text"}, {"minLength": 4}]},
			"parts": {"allOf": [{"type": "array", "items": {"type": "string"}}, {"minItems": 5}]}}}, "Text": {"type": "string"}`,
		[]string{"Name string", "Style string", "Parts []string", "Length: &wire.Range{Min: 2, Max: 3}", "Length: &wire.Range{Min: 4, ", "Count: &wire.Range{Min: 5, "},
	},
	"members that depend on others": {
		`"Line": {"type": "object", "properties": {"end": {"$ref": "#/definitions/End"}, "dots": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/definitions/Dot"}}}},
		"End": {"type": "object", "properties": {"a": {"type": "string"}}, "minProperties": 1}, "Dot": {"type": "object", "properties": {"x": {"type": "number"}}}`,
		[]string{"End *End", "Dots json.RawMessage", "type Dot struct"},
	},
	"containers of any JSON": {
		`"Line": {"type": "object", "properties": {"points": {"type": "array", "minItems": 2}, "names": {"type": "object", "minProperties": 2}}}`,
		[]string{`Types: []string{"array"}, Items: &wire.Schema{}}`, `Types: []string{"object"}, Others: &wire.Schema{}}`},
	},
	"optional constants": {
		`"Line": {"type": "object", "properties": {"style": {"allOf": [{"const": "dotted"}, {"maxItems": 1}]}}}, "Shape": {"oneOf": [{"$ref": "#/definitions/Dot"}, {"$ref": "#/definitions/Ring"}]},
		"Dot": {"type": "object", "properties": {"kind": {"const": "dot"}}}, "Ring": {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "ring"}, "fill": {"const": "gold"}, "rest": {"not": {"const": null}}}}`,
		[]string{"Style LineStyle", "Fill RingFill", `LineStyleDotted LineStyle = "dotted"`, "type Shape interface {", "!DotKind"},
	},
	"alternatives without a constant": {
		`"Shape": {"oneOf": [{"type": "object", "required": ["r"], "properties": {"r": {"type": "number"}}}, {"type": "object", "required": ["w"], "properties": {"w": {"type": "number"}}}]}`,
		[]string{"type Shape interface {", "type Shape1 struct {", "type Shape2 struct {"},
	},
	"annotations": {
		`"Line": {"type": "object", "x-order": ["name"], "properties": {"name": {"type": "string", "contentEncoding": "base64", "examples": ["a"]}}}`,
		[]string{"Name string"},
	},
	"a description that is code": {
		`"Line": {"type": "object", "description": "a line\u0000\n//go:embed x\n/* */ func init() {}", "properties": {"name": {"type": "string"}}}`,
		[]string{"// //go:embed x", "// /* */ func init() {}"},
	},
}

// needsConst returns an object with a constant kind.
func needsConst(kind string) string {
	return `{"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "const": "` + kind + `"}, "size": {"type": "number"}}}`
}

func TestStylesOfSchemas(t *testing.T) {
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			text := `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {` + style.defs + `}}`
			files, _, err := compiled(t, text)
			require.NoError(t, err)
			code := string(files["types.go"]) + string(files["codec.go"])
			for _, want := range style.want {
				if unwanted, ok := strings.CutPrefix(want, "!"); ok {
					require.NotContains(t, code, unwanted)
				} else {
					require.Contains(t, code, want)
				}
			}
			c := newChecker(t)
			c.mustCheck(t, printed(t, modelOf(t, 5)))
			require.NoError(t, c.check("weather", files))
		})
	}
}

func TestNoticeOfRawMember(t *testing.T) {
	text := strings.Replace(weather, `{"type": "number"}, {"type": "null"}`, `{"type": "number"}, {"$ref": "#/$defs/Units"}`, 1)
	_, summary, err := compiled(t, text)
	require.NoError(t, err)
	require.Contains(t, summary, "\n  #/$defs/Day/properties/wind: the Go type is json.RawMessage, because no other has exactly these values\n")
}
