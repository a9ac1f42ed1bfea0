package arguments

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const schemaText = `{
	"type": "object", "additionalProperties": false, "required": ["place"],
	"$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": ["integer", "null"]}}, "additionalProperties": false}},
	"properties": {
		"place": {"$ref": "#/$defs/place"},
		"size": {"anyOf": [{"const": "s", "title": "small"}, {"const": "l", "title": "large"}]},
		"limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 10},
		"loop": {"$ref": "#/properties/loop"},
		"tags": {"type": "array", "items": {"type": "number"}},
		"a.b": {"type": "boolean"}
	}
}`

func TestParse(t *testing.T) {
	for words, want := range map[string]string{
		"place.city=7 place.zip=7":           `{"place":{"city":"7","zip":7}}`,
		"place.zip=null limit=null":          `{"place":{"zip":null},"limit":null}`,
		"place:={} size=l limit=3 a.b=true":  `{"place":{},"size":"l","limit":3,"a.b":true}`,
		"place:={} tags=1 tags=2.5":          `{"place":{},"tags":[1,2.5]}`,
		"place:={} tags=[3] tags=4":          `{"place":{},"tags":[4]}`,
		"place:={} limit=123456789012345678": `{"place":{},"limit":123456789012345678}`,
		`{"place":{}} loop=x`:                `{"place":{},"loop":"x"}`,
	} {
		got, err := Parse(json.RawMessage(schemaText), strings.Fields(words), nil)
		require.NoError(t, err, words)
		require.JSONEq(t, want, string(got), words)
	}
}

func TestParseRefuses(t *testing.T) {
	for words, want := range map[string]string{
		"":                       "missing required arguments: place (object)",
		"place.town=Bern":        `unknown argument "place.town"`,
		"plce:={}":               `did you mean "place"?`,
		"place:={} size=m":       `"m" is not one of s, l`,
		"place:={} a.b=yes":      `"yes" is not a boolean`,
		"place:={} limit=1.5":    `argument "limit"`,
		"place:={":               "the text after := is not JSON",
		"place:=1 place.city=x":  `"place" has a value that is not an object`,
		"place:={} tags=@/no/no": `argument "tags"`,
		"[]":                     "neither name=value nor a JSON object",
	} {
		_, err := Parse(json.RawMessage(schemaText), strings.Fields(words), nil)
		require.ErrorContains(t, err, want, words)
	}
	_, err := Parse(json.RawMessage(`{`), nil, nil)
	require.ErrorContains(t, err, "schema of the arguments is invalid")
}

func TestProperties(t *testing.T) {
	list := Properties(json.RawMessage(schemaText))
	require.Equal(t, Property{Name: "place", Type: "object", Required: true}, list[0], "required arguments are first")
	byName := map[string]Property{}
	for _, p := range list {
		byName[p.Name] = p
	}
	require.Equal(t, Property{Name: "limit", Type: "integer|null", Default: "10"}, byName["limit"])
	require.Equal(t, Property{Name: "size", Type: "s|l", Choices: []string{"s", "l"}}, byName["size"])
	require.Equal(t, "number[]", byName["tags"].Type)
	require.Equal(t, "any", byName["loop"].Type)
}
