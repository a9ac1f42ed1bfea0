package paramheader_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestAnnotatedPropertiesAreFoundInOrder(t *testing.T) {
	params, err := paramheader.Parse(json.RawMessage(`{
		"type":"object",
		"properties":{
			"region":{"type":"string","x-mcp-header":"Region"},
			"plain":{"type":"number"},
			"db":{"type":"object","properties":{
				"shard":{"x-mcp-header":"Shard","type":"integer"},
				"dry/run":{"type":"boolean","x-mcp-header":"Dry-Run"}}},
			"x-mcp-header":{"type":"string","default":{"x-mcp-header":"data"}},
			"any":true
		},
		"x-other":{"x-mcp-header":1},
		"examples":[{"x-mcp-header":"data"}]}`))
	require.NoError(t, err)
	require.Equal(t, []paramheader.Param{
		{Header: "Region", Path: []string{"region"}, Type: "string"},
		{Header: "Shard", Path: []string{"db", "shard"}, Type: "integer"},
		{Header: "Dry-Run", Path: []string{"db", "dry/run"}, Type: "boolean"},
	}, params)
}

func TestASchemaWithoutAnnotationsHasNoParams(t *testing.T) {
	for _, schema := range []string{`{"type":"object"}`, `true`, `{"properties":[],"$defs":1,"items":[true,{}],"type":["a"]}`} {
		params, err := paramheader.Parse(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Empty(t, params)
	}
}

func TestAnAnnotationInTheWrongPlaceIsRefused(t *testing.T) {
	const good = `{"type":"string","x-mcp-header":"A"}`
	for schema, pointer := range map[string]string{
		`{"type":"string","x-mcp-header":"A"}`:                                            "/x-mcp-header",
		`{"properties":{"a":{"items":` + good + `}}}`:                                     "/properties/a/items/x-mcp-header",
		`{"properties":{"a":{"prefixItems":[{},` + good + `]}}}`:                          "/properties/a/prefixItems/1/x-mcp-header",
		`{"anyOf":[{"properties":{"a":` + good + `}}]}`:                                   "/anyOf/0/properties/a/x-mcp-header",
		`{"oneOf":[` + good + `]}`:                                                        "/oneOf/0/x-mcp-header",
		`{"allOf":[{"properties":{"a":` + good + `}}]}`:                                   "/allOf/0/properties/a/x-mcp-header",
		`{"not":{"properties":{"a":` + good + `}}}`:                                       "/not/properties/a/x-mcp-header",
		`{"if":{"properties":{"a":` + good + `}}}`:                                        "/if/properties/a/x-mcp-header",
		`{"then":{"properties":{"a":` + good + `}}}`:                                      "/then/properties/a/x-mcp-header",
		`{"else":{"properties":{"a":` + good + `}}}`:                                      "/else/properties/a/x-mcp-header",
		`{"$defs":{"d":` + good + `}}`:                                                    "/$defs/d/x-mcp-header",
		`{"definitions":{"d":` + good + `}}`:                                              "/definitions/d/x-mcp-header",
		`{"additionalProperties":` + good + `}`:                                           "/additionalProperties/x-mcp-header",
		`{"patternProperties":{"^a":` + good + `}}`:                                       "/patternProperties/^a/x-mcp-header",
		`{"dependentSchemas":{"a":{"properties":{"b":` + good + `}}}}`:                    "/dependentSchemas/a/properties/b/x-mcp-header",
		`{"properties":{"a":{"contains":` + good + `}}}`:                                  "/properties/a/contains/x-mcp-header",
		`{"propertyNames":` + good + `}`:                                                  "/propertyNames/x-mcp-header",
		`{"unevaluatedProperties":{"properties":{"a":` + good + `}}}`:                     "/unevaluatedProperties/properties/a/x-mcp-header",
		`{"properties":{"a":{"type":"array","items":{"properties":{"b":` + good + `}}}}}`: "/properties/a/items/properties/b/x-mcp-header",
	} {
		requirePointer(t, schema, pointer, "alone lead to")
	}
}

func TestAnAnnotationThatIsNoHeaderNameIsRefused(t *testing.T) {
	for _, name := range []string{`""`, `"a b"`, `"a:b"`, `"a\r\nb"`, `"ä"`, `"a\u0000"`, `"a/b"`} {
		requirePointer(t, `{"properties":{"a":{"type":"string","x-mcp-header":`+name+`}}}`, "/properties/a/x-mcp-header", "name of a header")
	}
	requirePointer(t, `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, "/properties/a/x-mcp-header", "want a string")
}

func TestANameIsThereOnceWhateverTheCase(t *testing.T) {
	requirePointer(t, `{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"rEGION"}}}}}`,
		"/properties/b/properties/c/x-mcp-header", "second time")
}

func TestOnlyTextIntegersAndTruthHaveHeaders(t *testing.T) {
	for _, typ := range []string{`"number"`, `"array"`, `"object"`, `"null"`, `["string","null"]`, `["string"]`, `7`} {
		requirePointer(t, `{"properties":{"a":{"x-mcp-header":"A","type":`+typ+`}}}`, "/properties/a", "needs the type")
	}
	requirePointer(t, `{"properties":{"a":{"x-mcp-header":"A"}}}`, "/properties/a", "needs the type")
}

// requirePointer requires that a schema is refused because of one place.
func requirePointer(t *testing.T, schema, pointer, why string) {
	t.Helper()
	_, err := paramheader.Parse(json.RawMessage(schema))
	var at *wire.DecodeError
	require.ErrorAs(t, err, &at, schema)
	require.ErrorContains(t, err, why, schema)
	require.Equal(t, pointer, at.Pointer, schema)
}
