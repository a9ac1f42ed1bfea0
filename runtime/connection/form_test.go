package connection_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
)

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

func TestFormOf(t *testing.T) {
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

// colour implements encoding.TextUnmarshaler.
type colour int

func (c *colour) UnmarshalText(text []byte) error {
	*c = colour(len(text))
	return nil
}

// customJSON implements json.Unmarshaler, which forms do not support.
type customJSON int

func (o *customJSON) UnmarshalJSON([]byte) error { return nil }

func TestFormOfTextUnmarshaler(t *testing.T) {
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

func TestFormOfErrors(t *testing.T) {
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
		//lint:ignore SA5008 the test needs an invalid tag
		A string `json:"it's"`
	}
	type quoted struct {
		A int `json:"a,string"`
	}
	type own struct{ A customJSON }
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
	require.Contains(t, check(connection.FormOf[nested]()), `field "A": type struct`)
	require.Contains(t, check(connection.FormOf[own]()), `field "A": type connection_test.customJSON not allowed in forms`)
	require.Contains(t, check(connection.FormOf[list]()), `field "A": type []string not allowed in forms`)
	require.Contains(t, check(connection.FormOf[badTag]()), `field "A": tag minLength: strconv.ParseInt`)
	require.Contains(t, check(connection.FormOf[badDefault]()), `field "A": default: want 3 or less, have 7`)
	require.Contains(t, check(connection.FormOf[badOptions]()), `field "A": type []int not allowed in forms`)
	require.Contains(t, check(connection.FormOf[badName]()), `field "A": invalid name in json tag "it's"`)
	require.Contains(t, check(connection.FormOf[quoted]()), `field "A": want a json tag without the option "string"`)
	require.Contains(t, check(connection.FormOf[twoBadTags]()), `field "A": tag minLength`)
	require.Contains(t, check(connection.FormOf[stars]()), `field "A": tag enum not allowed for a field of type int`)
	require.Contains(t, check(connection.FormOf[pattern]()), `field "A": tag pattern not allowed for a field of type string`)
	require.Contains(t, check(connection.FormOf[fewest]()), `field "A": tag minLength not allowed for a field of type *time.Time`)
	type Booking booking
	type exported struct{ Booking }
	require.Contains(t, check(connection.FormOf[exported]()), "embedded structs are not allowed in forms")
	_, err := connection.FormOf[embedded]()
	require.Error(t, err)
}

func TestFormOfNumbers(t *testing.T) {
	got, err := connection.FormOf[struct {
		A uint64  `json:"a,omitempty"`
		B float64 `json:"b"`
	}]()
	require.NoError(t, err)
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, `{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740991,"minimum":0},"b":{"type":"number"}},"required":["b"]}`, string(raw))
}

func TestFormOfIntegerLimits(t *testing.T) {
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
		Name   string
		Schema struct{ Minimum, Maximum *json.Number }
	}
	require.NoError(t, json.Unmarshal(raw, &fields))
	var got []string
	for _, f := range fields {
		limits := f.Name
		for _, n := range []*json.Number{f.Schema.Minimum, f.Schema.Maximum} {
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
