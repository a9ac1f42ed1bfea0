package connection_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func formOfJSON(t *testing.T, properties string, required ...string) mcp.RequestedSchema {
	t.Helper()
	var schema mcp.RequestedSchema
	require.NoError(t, json.Unmarshal([]byte(`{"type":"object","properties":`+properties+`}`), &schema))
	schema.Required = required
	return schema
}

func TestElicitationModesRequireCapabilities(t *testing.T) {
	address := &mcp.ElicitRequestURLParams{Message: "?", URL: "https://example.com/x", ElicitationID: "e"}
	fields := &mcp.ElicitRequestFormParams{Message: "?"}
	for _, c := range []struct {
		caps      *mcp.ClientCapabilities
		form, url string
	}{
		{nil, "elicitation", "elicitation"},
		{only("sampling"), "elicitation", "elicitation"},
		{only("elicitation"), "", "elicitation.url"},
		{only("elicitation.url"), "elicitation.form", ""},
		{allCapabilities(), "", ""},
	} {
		s, _, related := newSession(t, "2025-11-25", c.caps)
		related.answer = `{"action":"cancel"}`
		check := func(err error, missing string) {
			if missing == "" {
				require.NoError(t, err)
				related.take()
				return
			}
			require.Equal(t, missing, requireRefused[*connection.CapabilityError](t, related, err).Capability)
		}
		_, err := s.ElicitForm(t.Context(), fields)
		check(err, c.form)
		_, err = s.ElicitURL(t.Context(), address)
		check(err, c.url)
	}
	s, _, related := newSession(t, "2025-11-25", only("elicitation"))
	_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?", Task: &mcp.TaskMetadata{}})
	require.Equal(t, "tasks.requests.elicitation.create", requireRefused[*connection.CapabilityError](t, related, err).Capability)
}

func TestElicitationURLs(t *testing.T) {
	for _, address := range []string{"", "example.com", "/x", "//example.com/x", "https://", "%zz://x"} {
		s, _, related := newSession(t, "2025-11-25", allCapabilities())
		_, err := s.ElicitURL(t.Context(), &mcp.ElicitRequestURLParams{Message: "?", URL: address, ElicitationID: "e"})
		requireRefused[*connection.InvalidError](t, related, err)
	}
	s, _, related := newSession(t, "2025-11-25", allCapabilities())
	_, err := s.ElicitURL(t.Context(), &mcp.ElicitRequestURLParams{Message: "?", URL: "https://a.b"})
	require.EqualError(t, requireRefused[*connection.InvalidError](t, related, err), `send "elicitation/create": no elicitation id`)
	related.answer = `{"action":"cancel"}`
	_, err = s.ElicitURL(t.Context(), &mcp.ElicitRequestURLParams{Message: "?", URL: "mailto:a@b.c", ElicitationID: "e"})
	require.NoError(t, err)
	later := connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), nil)
	require.NoError(t, later.Check(&mcp.ElicitRequest{Params: &mcp.ElicitRequestURLParams{URL: "https://a.b"}}), "the revision has no elicitation ids")
}

func TestCheckFormOfJSON(t *testing.T) {
	for properties, want := range map[string]string{
		`{"a":{"type":"string","minLength":1,"maxLength":1,"format":"email"}}`:                                "",
		`{"a":{"type":"number","minimum":1,"maximum":2,"default":1.5},"b":{"type":"boolean","default":true}}`: "",
		`{"a":{"type":"string","enum":["x","y"],"default":"x"}}`:                                              "",
		`{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}`:                                         "",
		`{"a":{"type":"string","enum":["x"],"enumNames":["X"]}}`:                                              "",
		`{"a":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":0,"maxItems":1}}`:             "",
		`{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]}}`:                "",
		`{"a":{"type":"string","x-hint":1}}`:                                                                  "",
		`{"a":{"type":"integer","minimum":3,"default":8}}`:                                                    "",
		`{"a":{"type":"object","properties":{}}}`:                                                             `field "a": type of schema not allowed in forms`,
		`{"a":{"type":"string","$ref":"#/x"}}`:                                                                `field "a": member "$ref" not allowed in forms`,
		`{"a":{"type":"string","pattern":"x"}}`:                                                               `field "a": member "pattern" not allowed in forms`,
		`{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}],"properties":{}}}}`:                `field "a": member "properties" not allowed in forms`,
		`{"a":{"type":"array","items":{"type":"string","enum":["x"],"$ref":"#/x"}}}`:                          `field "a": member "$ref" not allowed in forms`,
		`{"a":{"type":"string","minLength":2,"maxLength":1}}`:                                                 `field "a": minimum length 2 exceeds the maximum 1`,
		`{"a":{"type":"integer","minimum":2,"maximum":1}}`:                                                    `field "a": minimum value 2 exceeds the maximum 1`,
		`{"a":{"type":"integer","default":1.5}}`:                                                              `field "a": default: want an integer, have 1.5`,
		`{"a":{"type":"string","enum":[]}}`:                                                                   `field "a": no options`,
		`{"a":{"type":"string","enum":["x","x"]}}`:                                                            `field "a": duplicate option`,
		`{"a":{"type":"string","enum":["x"],"default":"y"}}`:                                                  `field "a": default: "y" is not an option`,
		`{"a":{"type":"string","enum":["x"],"enumNames":["X","Y"]}}`:                                          `field "a": 1 options have 2 titles`,
		`{"a":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":2,"default":["x"]}}`:          `field "a": default: want 2 options or more, have 1`,
		`{"a":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":2,"maxItems":1}}`:             `field "a": minimum number of options 2 exceeds the maximum 1`,
	} {
		s, _, related := newSession(t, "2025-11-25", allCapabilities())
		related.answer = `{"action":"cancel"}`
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?", RequestedSchema: formOfJSON(t, properties)})
		if want == "" {
			require.NoError(t, err, properties)
			continue
		}
		require.EqualError(t, requireRefused[*connection.InvalidError](t, related, err), `send "elicitation/create": `+want)
	}
}

func TestCheckForm(t *testing.T) {
	field := func(name string, v mcp.PrimitiveSchemaDefinition) mcp.FormField {
		return mcp.FormField{Name: name, Schema: v}
	}
	for want, schema := range map[string]mcp.RequestedSchema{
		`field "a": no schema`:                          {Properties: []mcp.FormField{field("a", nil)}},
		`field "a": duplicate name`:                     {Properties: []mcp.FormField{field("a", &mcp.BooleanSchema{}), field("a", &mcp.BooleanSchema{})}},
		`required field "b": not part of the form`:      {Required: []string{"b"}},
		`member "$defs" not allowed in forms`:           {Extra: map[string]json.RawMessage{"$defs": nil}},
		`field "a": format "ipv4" not allowed in forms`: {Properties: []mcp.FormField{field("a", &mcp.StringSchema{Format: "ipv4"})}},
	} {
		require.EqualError(t, connection.CheckForm(&schema), want)
	}
	require.NoError(t, connection.CheckForm(&mcp.RequestedSchema{Properties: []mcp.FormField{
		field("a", &mcp.LegacyTitledEnumSchema{Enum: []string{"x", "y"}}), // titles are optional
	}}))
}

func TestElicitationContentIsChecked(t *testing.T) {
	const properties = `{"name":{"type":"string","minLength":2,"maxLength":3},"n":{"type":"integer","minimum":1,"maximum":9},` +
		`"yes":{"type":"boolean"},"one":{"type":"string","enum":["a","b"]},` +
		`"some":{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":1},` +
		`"titled":{"type":"string","oneOf":[{"const":"x","title":"X"}]},"old":{"type":"string","enum":["a"],"enumNames":["A"]},` +
		`"many":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"minItems":1},` +
		`"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},` +
		`"mail":{"type":"string","format":"email"},"link":{"type":"string","format":"uri"}}`
	for answer, want := range map[string]string{
		`{"action":"decline"}`: "",
		`{"action":"accept","content":{"name":"héé","more":1}}`:                      "",
		`{"action":"accept","content":{"name":"abc","n":1.0,"yes":false,"one":"b"}}`: "",
		`{"action":"accept","content":{"name":"abc","n":9,"some":["b"]}}`:            "",
		`{"action":"accept","content":{"name":"abc","some":["a"],"many":["x"]}}`:     "",
		`{"action":"accept","content":{"name":"abc","titled":"x","old":"a"}}`:        "",
		`{"action":"accept","content":{"name":"abc","day":"2026-01-31"}}`:            "",
		`{"action":"accept","content":{"name":"abc","at":"2026-01-31T10:00:00Z"}}`:   "",
		`{"action":"accept","content":{"name":"abc","mail":"a@b.c","link":"a:b"}}`:   "",
		`{"action":"accept"}`:                                            `field "name": missing and required`,
		`{"action":"accept","content":{"name":"a"}}`:                     `field "name": want 2 characters or more, have 1`,
		`{"action":"accept","content":{"name":"abcd"}}`:                  `field "name": want 3 characters or fewer, have 4`,
		`{"action":"accept","content":{"name":1}}`:                       `field "name": want text, have int64`,
		`{"action":"accept","content":{"name":"ab","n":0}}`:              `field "n": want 1 or more, have 0`,
		`{"action":"accept","content":{"name":"ab","n":10}}`:             `field "n": want 9 or less, have 10`,
		`{"action":"accept","content":{"name":"ab","n":1.5}}`:            `field "n": want an integer, have 1.5`,
		`{"action":"accept","content":{"name":"ab","n":"1"}}`:            `field "n": want a number, have string`,
		`{"action":"accept","content":{"name":"ab","yes":"y"}}`:          `field "yes": want true or false, have string`,
		`{"action":"accept","content":{"name":"ab","one":"c"}}`:          `field "one": "c" is not an option`,
		`{"action":"accept","content":{"name":"ab","one":1}}`:            `field "one": want one of the options, have int64`,
		`{"action":"accept","content":{"name":"ab","some":"a"}}`:         `field "some": want a list of options, have string`,
		`{"action":"accept","content":{"name":"ab","some":["c"]}}`:       `field "some": "c" is not an option`,
		`{"action":"accept","content":{"name":"ab","some":["a","b"]}}`:   `field "some": want 1 options or fewer, have 2`,
		`{"action":"accept","content":{"name":"ab","many":[]}}`:          `field "many": want 1 options or more, have 0`,
		`{"action":"accept","content":{"name":"ab","mail":"A <a@b.c>"}}`: `field "mail": format "email": invalid text in front of the @`,
		`{"action":"accept","content":{"name":"ab","link":"b"}}`:         `field "link": format "uri": no scheme`,
	} {
		s, _, related := newSession(t, "2025-11-25", allCapabilities())
		related.answer = answer
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{
			Message: "?", RequestedSchema: formOfJSON(t, properties, "name"),
		})
		if want == "" {
			require.NoError(t, err, answer)
			continue
		}
		require.EqualError(t, err, `response to "elicitation/create": `+want)
		require.Len(t, related.take(), 1)
	}
	for _, content := range []string{`{"name":"ab","day":"31.1."}`, `{"name":"ab","at":"2026-01-31"}`, `{"name":"ab","mail":"x"}`} {
		s, _, related := newSession(t, "2025-11-25", allCapabilities())
		related.answer = `{"action":"accept","content":` + content + `}`
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?", RequestedSchema: formOfJSON(t, properties)})
		require.ErrorContains(t, err, "format ")
	}
}

func TestUnknownElicitParamsAreChecked(t *testing.T) {
	s, _, related := newSession(t, "2025-11-25", only("elicitation"))
	send := func(raw string) error {
		related.answer = `{"action":"cancel"}`
		_, err := peer.SendRequest(t.Context(), s, &mcp.ElicitRequest{
			Params: &mcp.UnknownElicitRequestParams{Raw: json.RawMessage(raw)},
		})
		return err
	}
	requireRefused[*connection.CapabilityError](t, related, send(`{"mode":"url","message":"?","url":"https://a.b","elicitationId":"e"}`))
	e := requireRefused[*connection.InvalidError](t, related, send(`{"mode":"voice","message":"?"}`))
	require.EqualError(t, e, `send "elicitation/create": revision 2025-11-25 has no elicitation of that mode`)
	e = requireRefused[*connection.InvalidError](t, related, send(`{"mode":"form"}`))
	var decode *wire.DecodeError
	require.ErrorAs(t, e, &decode)
	require.NoError(t, send(`{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}`))
}
