package paramheader_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestParseReturnsPropertiesInOrder(t *testing.T) {
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

func TestParseSchemaWithoutAnnotations(t *testing.T) {
	for _, schema := range []string{`{"type":"object"}`, `true`, `{"properties":[],"$defs":1,"items":[true,{}],"type":["a"]}`} {
		params, err := paramheader.Parse(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Empty(t, params)
	}
}

func TestParseRejectsAnnotationsOutsideProperties(t *testing.T) {
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
		requirePointer(t, schema, pointer, "is allowed only on properties")
	}
}

func TestParseRejectsInvalidHeaderNames(t *testing.T) {
	for _, name := range []string{`""`, `"a b"`, `"a:b"`, `"a\r\nb"`, `"ä"`, `"a\u0000"`, `"a/b"`} {
		requirePointer(t, `{"properties":{"a":{"type":"string","x-mcp-header":`+name+`}}}`, "/properties/a/x-mcp-header", "must be a header name")
	}
	requirePointer(t, `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, "/properties/a/x-mcp-header", "want a string")
}

func TestParseRejectsDuplicateNamesIgnoringCase(t *testing.T) {
	requirePointer(t, `{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"rEGION"}}}}}`,
		"/properties/b/properties/c/x-mcp-header", "duplicate")
}

func TestParseRejectsOtherTypes(t *testing.T) {
	for _, typ := range []string{`"number"`, `"array"`, `"object"`, `"null"`, `["string","null"]`, `["string"]`, `7`} {
		requirePointer(t, `{"properties":{"a":{"x-mcp-header":"A","type":`+typ+`}}}`, "/properties/a", "requires the type")
	}
	requirePointer(t, `{"properties":{"a":{"x-mcp-header":"A"}}}`, "/properties/a", "requires the type")
}

// requirePointer requires that Parse rejects a schema with an error that has the
// pointer and contains why.
func requirePointer(t *testing.T, schema, pointer, why string) {
	t.Helper()
	_, err := paramheader.Parse(json.RawMessage(schema))
	var at *wire.DecodeError
	require.ErrorAs(t, err, &at, schema)
	require.ErrorContains(t, err, why, schema)
	require.Equal(t, pointer, at.Pointer, schema)
}

var params = []paramheader.Param{
	{Header: "Text", Path: []string{"text"}, Type: "string"},
	{Header: "Count", Path: []string{"in", "count"}, Type: "integer"},
	{Header: "On", Path: []string{"in", "on"}, Type: "boolean"},
}

func TestValues(t *testing.T) {
	for arguments, want := range map[string]string{
		``:   "",
		`{}`: "",
		`{"text":"x","in":{"count":42,"on":true}}`: "Text=x Count=42 On=true",
		`{"in":{"on":false,"count":-0},"text":""}`: "Text= Count=0 On=false",
		`{"text":null,"in":null}`:                  "",
		`{"text":"é","in":{}}`:                     "Text==?base64?w6k=?=",
		`{"te\u0078t":"a\u0062"}`:                  "Text=ab",
		`{"in":{"count":42.0}}`:                    "Count=42",
		`{"in":{"count":-1e3}}`:                    "Count=-1000",
		`{"in":{"count":9007199254740991}}`:        "Count=9007199254740991",
		`{"in":[{"count":1}],"text":"7"}`:          "Text=7",
		`{"in":"x","other":{"count":1}}`:           "",
		`{"text":7}`:                               "Text=7",
	} {
		var raw json.RawMessage
		if arguments != "" {
			raw = json.RawMessage(arguments)
		}
		headers, err := paramheader.Values(params, raw)
		require.NoError(t, err, arguments)
		var got []string
		sent := make(http.Header)
		for _, h := range headers {
			got = append(got, strings.TrimPrefix(h.Name, paramheader.Prefix)+"="+h.Value)
			sent.Add(h.Name, h.Value)
		}
		require.Equal(t, want, strings.Join(got, " "), arguments)
		require.NoError(t, paramheader.Check(params, raw, sent), "Check must accept the result of Values: %s", arguments)
	}
}

func TestArgumentsThatHeadersCannotContain(t *testing.T) {
	for _, arguments := range []string{
		`{"text":{}}`, `{"text":[1]}`, `{"in":{"count":1.5}}`, `{"in":{"count":9007199254740992}}`,
		`{"in":{"count":123456789012345678901234567890}}`, `{"in":{"count":-9007199254740993}}`,
	} {
		_, err := paramheader.Values(params, json.RawMessage(arguments))
		require.ErrorContains(t, err, "a header", arguments)
		require.ErrorContains(t, paramheader.Check(params, json.RawMessage(arguments), http.Header(nil)), "a header", arguments)
	}
	_, err := paramheader.Values(params, json.RawMessage(`{"text":"a","text":"b"}`))
	require.ErrorContains(t, err, "duplicate")
	require.ErrorContains(t, paramheader.Check(params, json.RawMessage(`{`), nil), "arguments")
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ arguments, header, want string }{
		{`{"text":"x"}`, "Mcp-Param-Text: x", ""},
		{`{"text":"x"}`, "mcp-param-TEXT:  \tx ", ""},
		{`{"text":"Hello"}`, "Mcp-Param-Text: =?base64?SGVsbG8=?=", ""},
		{`{"text":"=?base64?SGVsbG8="}`, "Mcp-Param-Text: =?base64?SGVsbG8=", ""},
		{`{"text":"SGVsbG8=?="}`, "Mcp-Param-Text: SGVsbG8=?=", ""},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 42.0", ""},
		{`{"in":{"count":42.0}}`, "Mcp-Param-Count: 42", ""},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 4.2e1", ""},
		{`{"in":{"on":true}}`, "Mcp-Param-On: true", ""},
		{`{}`, "Mcp-Param-Unknown: 1", ""},
		{`{"text":""}`, "Mcp-Param-Text:", ""},

		{`{"text":"x"}`, "", "missing"},
		{`{"text":""}`, "", "missing"},
		{`{"in":{"count":0}}`, "", "missing"},
		{`{"in":{"on":false}}`, "", "missing"},
		{`{"text":"x"}`, "Mcp-Param-Text: y", "does not match"},
		{`{"text":"x"}`, "Mcp-Param-Text: X", "does not match"},
		{`{"in":{"on":true}}`, "Mcp-Param-On: True", "does not match"},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 42.5", "does not match"},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: 0x2a", "does not match"},
		{`{"in":{"count":42}}`, "Mcp-Param-Count: +42", "does not match"},
		{`{"in":{"count":9007199254740991}}`, "Mcp-Param-Count: 9007199254740990.6", "does not match"},
		{`{"text":"42"}`, "Mcp-Param-Text: 42.0", "does not match"},
		{`{"text":"Hello"}`, "Mcp-Param-Text: =?base64?SGVsbG8?=", "base64"},
		{`{"text":"x"}`, "Mcp-Param-Text: x\nMcp-Param-Text: x", "more than once"},
		{`{}`, "Mcp-Param-Text: x", "absent"},
		{`{"text":null}`, "Mcp-Param-Text: null", "absent"},
		{`{}`, "Mcp-Param-Text: x\nMcp-Param-Text: x", "more than once"},
	} {
		header := make(http.Header)
		for line := range strings.Lines(c.header) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			header.Add(strings.TrimSuffix(name, ":"), value)
		}
		err := paramheader.Check(params, json.RawMessage(c.arguments), header)
		if c.want == "" {
			require.NoError(t, err, "%s %s", c.arguments, c.header)
		} else {
			require.ErrorContains(t, err, c.want, "%s %s", c.arguments, c.header)
		}
	}
}
