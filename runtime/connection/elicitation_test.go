package connection_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func form(t *testing.T, properties string, required ...string) mcp.RequestedSchema {
	t.Helper()
	var schema mcp.RequestedSchema
	require.NoError(t, json.Unmarshal([]byte(`{"type":"object","properties":`+properties+`}`), &schema))
	schema.Required = required
	return schema
}

func TestModesHaveToBeDeclared(t *testing.T) {
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
		s, _, related := session(t, "2025-11-25", c.caps)
		related.answer = `{"action":"cancel"}`
		check := func(err error, missing string) {
			if missing == "" {
				require.NoError(t, err)
				related.take()
				return
			}
			require.Equal(t, missing, refused[*connection.CapabilityError](t, related, err).Capability)
		}
		_, err := s.ElicitForm(t.Context(), fields)
		check(err, c.form)
		_, err = s.ElicitURL(t.Context(), address)
		check(err, c.url)
	}
	s, _, related := session(t, "2025-11-25", only("elicitation"))
	_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?", Task: &mcp.TaskMetadata{}})
	require.Equal(t, "tasks.requests.elicitation.create", refused[*connection.CapabilityError](t, related, err).Capability)
}

func TestAddressesAreAbsolute(t *testing.T) {
	for _, address := range []string{"", "example.com", "/x", "//example.com/x", "https://", "%zz://x"} {
		s, _, related := session(t, "2025-11-25", allCapabilities())
		_, err := s.ElicitURL(t.Context(), &mcp.ElicitRequestURLParams{Message: "?", URL: address, ElicitationID: "e"})
		refused[*connection.InvalidError](t, related, err)
	}
	s, _, related := session(t, "2025-11-25", allCapabilities())
	_, err := s.ElicitURL(t.Context(), &mcp.ElicitRequestURLParams{Message: "?", URL: "https://a.b"})
	require.EqualError(t, refused[*connection.InvalidError](t, related, err), `send "elicitation/create": the elicitation needs an id`)
	related.answer = `{"action":"cancel"}`
	_, err = s.ElicitURL(t.Context(), &mcp.ElicitRequestURLParams{Message: "?", URL: "mailto:a@b.c", ElicitationID: "e"})
	require.NoError(t, err)
	later := connection.NewForRequest("2026-07-28", nil, allCapabilities(), nil)
	require.NoError(t, later.Check(&mcp.ElicitRequest{Params: &mcp.ElicitRequestURLParams{URL: "https://a.b"}}), "ids are gone by then")
}

func TestFormsAreFlat(t *testing.T) {
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
		`{"a":{"type":"object","properties":{}}}`:                                                             `field "a": its schema is of no type that forms have`,
		`{"a":{"type":"string","$ref":"#/x"}}`:                                                                `field "a": forms have no member "$ref"`,
		`{"a":{"type":"string","pattern":"x"}}`:                                                               `field "a": forms have no member "pattern"`,
		`{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}],"properties":{}}}}`:                `field "a": forms have no member "properties"`,
		`{"a":{"type":"array","items":{"type":"string","enum":["x"],"$ref":"#/x"}}}`:                          `field "a": forms have no member "$ref"`,
		`{"a":{"type":"string","minLength":2,"maxLength":1}}`:                                                 `field "a": the least length, 2, is above the most, 1`,
		`{"a":{"type":"integer","minimum":2,"maximum":1}}`:                                                    `field "a": the least value, 2, is above the most, 1`,
		`{"a":{"type":"integer","default":1.5}}`:                                                              `field "a": default: want an integer, have 1.5`,
		`{"a":{"type":"string","enum":[]}}`:                                                                   `field "a": there are no options to choose from`,
		`{"a":{"type":"string","enum":["x","x"]}}`:                                                            `field "a": an option is there twice`,
		`{"a":{"type":"string","enum":["x"],"default":"y"}}`:                                                  `field "a": default: "y" is none of the options`,
		`{"a":{"type":"string","enum":["x"],"enumNames":["X","Y"]}}`:                                          `field "a": 1 options have 2 titles`,
		`{"a":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":2,"default":["x"]}}`:          `field "a": default: want 2 options or more, have 1`,
		`{"a":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":2,"maxItems":1}}`:             `field "a": the least number of options, 2, is above the most, 1`,
	} {
		s, _, related := session(t, "2025-11-25", allCapabilities())
		related.answer = `{"action":"cancel"}`
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?", RequestedSchema: form(t, properties)})
		if want == "" {
			require.NoError(t, err, properties)
			continue
		}
		require.EqualError(t, refused[*connection.InvalidError](t, related, err), `send "elicitation/create": `+want)
	}
}

func TestFormsMadeByHandAreChecked(t *testing.T) {
	field := func(name string, v mcp.PrimitiveSchemaDefinition) mcp.FormField {
		return mcp.FormField{Name: name, Value: v}
	}
	for want, schema := range map[string]mcp.RequestedSchema{
		`field "a": it has no schema`:                    {Properties: []mcp.FormField{field("a", nil)}},
		`field "a": a second one of that name`:           {Properties: []mcp.FormField{field("a", &mcp.BooleanSchema{}), field("a", &mcp.BooleanSchema{})}},
		`field "b" is required but not part of the form`: {Required: []string{"b"}},
		`forms have no member "$defs"`:                   {Extra: map[string]json.RawMessage{"$defs": nil}},
		`field "a": forms have no format "ipv4"`:         {Properties: []mcp.FormField{field("a", &mcp.StringSchema{Format: "ipv4"})}},
	} {
		require.EqualError(t, connection.CheckForm(&schema), want)
	}
	require.NoError(t, connection.CheckForm(&mcp.RequestedSchema{Properties: []mcp.FormField{
		field("a", &mcp.LegacyTitledEnumSchema{Enum: []string{"x", "y"}}), // titles are optional
	}}))
}

func TestAnAnswerHasToFitItsForm(t *testing.T) {
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
		`{"action":"accept"}`:                                            `field "name": it is required and missing`,
		`{"action":"accept","content":{"name":"a"}}`:                     `field "name": want 2 characters or more, have 1`,
		`{"action":"accept","content":{"name":"abcd"}}`:                  `field "name": want 3 characters or fewer, have 4`,
		`{"action":"accept","content":{"name":1}}`:                       `field "name": want text, have int64`,
		`{"action":"accept","content":{"name":"ab","n":0}}`:              `field "n": want 1 or more, have 0`,
		`{"action":"accept","content":{"name":"ab","n":10}}`:             `field "n": want 9 or less, have 10`,
		`{"action":"accept","content":{"name":"ab","n":1.5}}`:            `field "n": want an integer, have 1.5`,
		`{"action":"accept","content":{"name":"ab","n":"1"}}`:            `field "n": want a number, have string`,
		`{"action":"accept","content":{"name":"ab","yes":"y"}}`:          `field "yes": want true or false, have string`,
		`{"action":"accept","content":{"name":"ab","one":"c"}}`:          `field "one": "c" is none of the options`,
		`{"action":"accept","content":{"name":"ab","one":1}}`:            `field "one": want one of the options, have int64`,
		`{"action":"accept","content":{"name":"ab","some":"a"}}`:         `field "some": want a list of options, have string`,
		`{"action":"accept","content":{"name":"ab","some":["c"]}}`:       `field "some": "c" is none of the options`,
		`{"action":"accept","content":{"name":"ab","some":["a","b"]}}`:   `field "some": want 1 options or fewer, have 2`,
		`{"action":"accept","content":{"name":"ab","many":[]}}`:          `field "many": want 1 options or more, have 0`,
		`{"action":"accept","content":{"name":"ab","mail":"A <a@b.c>"}}`: `field "mail": not of the format "email": it is more than an address`,
		`{"action":"accept","content":{"name":"ab","link":"b"}}`:         `field "link": not of the format "uri": it has no scheme`,
	} {
		s, _, related := session(t, "2025-11-25", allCapabilities())
		related.answer = answer
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{
			Message: "?", RequestedSchema: form(t, properties, "name"),
		})
		if want == "" {
			require.NoError(t, err, answer)
			continue
		}
		require.EqualError(t, err, `answer to "elicitation/create": `+want)
		require.Len(t, related.take(), 1)
	}
	for _, content := range []string{`{"name":"ab","day":"31.1."}`, `{"name":"ab","at":"2026-01-31"}`, `{"name":"ab","mail":"x"}`} {
		s, _, related := session(t, "2025-11-25", allCapabilities())
		related.answer = `{"action":"accept","content":` + content + `}`
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?", RequestedSchema: form(t, properties)})
		require.ErrorContains(t, err, "not of the format")
	}
}

type booking struct {
	Name    string    `json:"name" jsonschema:"Who is coming" title:"Name" minLength:"1" maxLength:"40" default:"me"`
	Mail    string    `json:",omitempty" format:"email"`
	Guests  int       `json:"guests" minimum:"1" maximum:"12" default:"2"`
	Budget  *float32  `json:"budget"`
	Inside  bool      `json:"inside,omitzero" default:"true"`
	At      time.Time `json:"at"`
	Menu    string    `json:"menu" enum:"fish,meat"`
	Extras  []string  `json:"extras,omitempty" enum:"wine,bread" minItems:"0" maxItems:"2" default:"bread"`
	Skipped string    `json:"-"`
	hidden  func()
}

func TestFormOfAStruct(t *testing.T) {
	got, err := connection.FormOf[booking]()
	require.NoError(t, err)
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{`+
		`"name":{"type":"string","default":"me","description":"Who is coming","maxLength":40,"minLength":1,"title":"Name"},`+
		`"Mail":{"type":"string","format":"email"},`+
		`"guests":{"type":"integer","default":2,"maximum":12,"minimum":1},`+
		`"budget":{"type":"number"},`+
		`"inside":{"type":"boolean","default":true},`+
		`"at":{"type":"string","format":"date-time"},`+
		`"menu":{"type":"string","enum":["fish","meat"]},`+
		`"extras":{"type":"array","items":{"type":"string","enum":["wine","bread"]},"default":["bread"],"maxItems":2,"minItems":0}`+
		`},"required":["name","guests","at","menu"]}`, string(raw))
	_ = booking{hidden: nil}
}

// colour reads itself from text.
type colour int

func (c *colour) UnmarshalText(text []byte) error {
	*c = colour(len(text))
	return nil
}

// odd has JSON of its own making, which no form knows.
type odd int

func (o *odd) UnmarshalJSON([]byte) error { return nil }

func TestWhatReadsItselfFromTextIsTextInAForm(t *testing.T) {
	got, err := connection.FormOf[struct {
		Any  colour   `json:"any" maxLength:"9"`
		One  *colour  `json:"one" enum:"red,green" default:"red"`
		Some []colour `json:"some" enum:"red,green"`
	}]()
	require.NoError(t, err)
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","required":["any","some"],"properties":{"any":{"type":"string","maxLength":9},`+
		`"one":{"type":"string","enum":["red","green"],"default":"red"},"some":{"type":"array","items":{"type":"string","enum":["red","green"]}}}}`, string(raw))
}

func TestStructsThatAreNoForms(t *testing.T) {
	type nested struct{ A struct{ B string } }
	type embedded struct{ booking }
	type list struct{ A []string }
	type badTag struct {
		A string `minLength:"x"`
	}
	type badDefault struct {
		A int `default:"7" maximum:"3"`
	}
	type badOptions struct {
		A []int `enum:"1,2"`
	}
	type twoBadTags struct {
		A string `minLength:"x" maxLength:"y"`
	}
	type badName struct {
		//lint:ignore SA5008 that is what is refused
		A string `json:"it's"`
	}
	type quoted struct {
		A int `json:"a,string"`
	}
	type own struct{ A odd }
	type stars struct {
		A int `enum:"1,2,3"`
	}
	type pattern struct {
		A string `pattern:"^a"`
	}
	type fewest struct {
		A *time.Time `minLength:"3"`
	}
	check := func(_ mcp.RequestedSchema, err error) string {
		require.Error(t, err)
		return err.Error()
	}
	require.Contains(t, check(connection.FormOf[int]()), "form of int: want a struct")
	require.Contains(t, check(connection.FormOf[nested]()), `field "A": forms have no fields of type struct`)
	require.Contains(t, check(connection.FormOf[own]()), `field "A": forms have no fields of type connection_test.odd`)
	require.Contains(t, check(connection.FormOf[list]()), `field "A": forms have no fields of type []string`)
	require.Contains(t, check(connection.FormOf[badTag]()), `field "A": tag minLength: strconv.ParseInt`)
	require.Contains(t, check(connection.FormOf[badDefault]()), `field "A": default: want 3 or less, have 7`)
	require.Contains(t, check(connection.FormOf[badOptions]()), `field "A": forms have no fields of type []int`)
	require.Contains(t, check(connection.FormOf[badName]()), `field "A": invalid name in json tag "it's"`)
	require.Contains(t, check(connection.FormOf[quoted]()), `field "A": want a json tag without the option "string"`)
	require.Contains(t, check(connection.FormOf[twoBadTags]()), `field "A": tag minLength`)
	require.Contains(t, check(connection.FormOf[stars]()), `field "A": forms have no enum for a field of type int`)
	require.Contains(t, check(connection.FormOf[pattern]()), `field "A": forms have no pattern for a field of type string`)
	require.Contains(t, check(connection.FormOf[fewest]()), `field "A": forms have no minLength for a field of type *time.Time`)
	type Booking booking
	type exported struct{ Booking }
	require.Contains(t, check(connection.FormOf[exported]()), "forms are flat")
	_, err := connection.FormOf[embedded]()
	require.Error(t, err)
}

func TestParamsOfNoKnownTypeAreChecked(t *testing.T) {
	s, _, related := session(t, "2025-11-25", only("elicitation"))
	send := func(raw string) error {
		related.answer = `{"action":"cancel"}`
		_, err := peer.SendRequest(t.Context(), s, &mcp.ElicitRequest{
			Params: &mcp.UnknownElicitRequestParams{Raw: json.RawMessage(raw)},
		})
		return err
	}
	refused[*connection.CapabilityError](t, related, send(`{"mode":"url","message":"?","url":"https://a.b","elicitationId":"e"}`))
	e := refused[*connection.InvalidError](t, related, send(`{"mode":"voice","message":"?"}`))
	require.EqualError(t, e, `send "elicitation/create": revision 2025-11-25 has no elicitation of that mode`)
	e = refused[*connection.InvalidError](t, related, send(`{"mode":"form"}`))
	var decode *wire.DecodeError
	require.ErrorAs(t, e, &decode)
	require.NoError(t, send(`{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}`))
}

func TestNumbersOfAnyWidthAreFields(t *testing.T) {
	got, err := connection.FormOf[struct {
		A uint64  `json:"a,omitempty"`
		B float64 `json:"b"`
	}]()
	require.NoError(t, err)
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740991,"minimum":0},"b":{"type":"number"}},"required":["b"]}`, string(raw))
}

func TestAnIntegerHasTheLimitsOfItsType(t *testing.T) {
	form, err := connection.FormOf[struct {
		A int8
		B uint8
		C int16
		D uint16
		E int32
		F uint32
		G int64
		H uint
		I int
		J uint8 `minimum:"1" maximum:"6"`
		K uint8 `minimum:"-1" maximum:"256"`
		L int64 `minimum:"-1e18" maximum:"0"`
	}]()
	require.NoError(t, err)
	raw, err := json.Marshal(form.Properties)
	require.NoError(t, err)
	var fields []struct {
		Name  string
		Value struct{ Minimum, Maximum *json.Number }
	}
	require.NoError(t, json.Unmarshal(raw, &fields))
	var got []string
	for _, f := range fields {
		limits := f.Name
		for _, n := range []*json.Number{f.Value.Minimum, f.Value.Maximum} {
			limits += " " + n.String()
		}
		got = append(got, limits)
	}
	require.Equal(t, []string{
		"A -128 127", "B 0 255", "C -32768 32767", "D 0 65535", "E -2147483648 2147483647", "F 0 4294967295",
		"G -9007199254740991 9007199254740991", "H 0 9007199254740991", "I -9007199254740991 9007199254740991", "J 1 6",
		"K 0 255", "L -9007199254740991 0",
	}, got)
}
