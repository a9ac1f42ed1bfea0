package schema_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcpserver/schema"
)

func TestObject(t *testing.T) {
	require.Equal(t, `{"type":"object"}`, string(schema.Object()))
	require.Equal(t, `{"type":"object","properties":{`+
		`"city":{"type":"string","description":"a <city>","minLength":1,"maxLength":99,"pattern":"^[A-Z]","format":"name"},`+
		`"days":{"type":"integer","minimum":1,"maximum":10,"default":3},`+
		`"share":{"type":"number","title":"Share"},`+
		`"exact":{"type":"boolean","default":false},`+
		`"kind":{"type":"string","enum":["sun","rain"]},`+
		`"near":{"type":"array","items":{"type":"string","minLength":2},"minItems":1,"maxItems":5},`+
		`"ids":{"type":"array","items":{"type":"integer"}},`+
		`"place":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"],"description":"a point"},`+
		`"more":{"oneOf":[true]}},"required":["city","kind"]}`,
		string(schema.Object(
			schema.String("city", schema.Required(), schema.Description("a <city>"), schema.MinLength(1), schema.MaxLength(99), schema.Pattern("^[A-Z]"), schema.Format("name")),
			schema.Integer("days", schema.Minimum(1), schema.Maximum(10), schema.Default(2), schema.Default(3)),
			schema.Number("share", schema.Title("Share")),
			schema.Boolean("exact", schema.Default(false)),
			schema.String("kind", schema.Enum("sun", "rain"), schema.Required()),
			schema.Array("near", schema.ItemsOf(schema.String("", schema.MinLength(2))), schema.MinItems(1), schema.MaxItems(5)),
			schema.Array("ids", schema.Items(json.RawMessage(`{"type":"integer"}`))),
			schema.Nested("place", []schema.Member{schema.Number("x", schema.Required())}, schema.Description("a point")),
			schema.Any("more", schema.Keyword("oneOf", []bool{true})),
		)))
	defer func() { require.ErrorContains(t, recover().(error), "default: json: unsupported type: func()") }()
	schema.Object(schema.Any("a", schema.Default(func() {})))
}

func TestFor(t *testing.T) {
	type input struct {
		City string `json:"city" jsonschema:"a city"`
		Days int    `json:"days,omitempty" minimum:"1"`
	}
	text, err := schema.For[input]()
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","properties":{"city":{"type":"string","description":"a city"},"days":{"type":"integer","minimum":1}},"required":["city"],"additionalProperties":false}`, string(text))
	_, err = schema.For[func()]()
	require.Error(t, err)
}

func TestForResult(t *testing.T) {
	type result struct {
		Names []string       `json:"names"`
		Sizes map[string]int `json:"sizes,omitempty"`
	}
	text, err := schema.ForResult[result]()
	require.NoError(t, err)
	var got struct {
		Type       string
		Properties map[string]struct{ Type any }
		Required   []string
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, "object", got.Type)
	require.Equal(t, []any{"null", "array"}, got.Properties["names"].Type)
	require.Equal(t, []string{"names"}, got.Required)
}

func TestFromAndParse(t *testing.T) {
	text, err := schema.From(&jsonschema.Schema{Type: "object", Required: []string{"a"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","required":["a"]}`, string(text))
	_, err = schema.From(map[string]any{"type": "thing"})
	require.ErrorContains(t, err, "type")
	_, err = schema.From(func() {})
	require.ErrorContains(t, err, "encode schema")
	for _, bad := range []string{`{`, `[]`, `{"type":"object","properties":1}`, `{"$ref":"#/$defs/absent"}`} {
		_, err := schema.Parse(bad)
		require.Error(t, err, bad)
		require.Panics(t, func() { schema.Must(schema.Parse(bad)) })
	}
	require.Equal(t, `{"type":"object"}`, string(schema.Must(schema.Parse(`{"type":"object"}`))))
}

func Example() {
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	server.AddRawTool(&mcp.Tool{
		Name: "forecast",
		InputSchema: schema.Object(
			schema.String("city", schema.Required(), schema.Description("the name of a city")),
			schema.Integer("days", schema.Minimum(1), schema.Default(3)),
		),
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := mcpserver.ReadArguments(req)
		if err != nil {
			return nil, err
		}
		city, err := args.RequireString("city")
		if err != nil {
			return nil, err
		}
		days, err := args.Int("days", 3)
		return mcp.TextResult(fmt.Sprintf("%s: %d sunny days", city, days)), err
	})
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	text, err := mcpclient.CallTool[string](ctx, client, "forecast", map[string]any{"city": "Ulm"})
	fmt.Println(text, err)
	_, err = mcpclient.CallTool[string](ctx, client, "forecast", map[string]any{"days": 0})
	fmt.Println(err != nil)
	// Output:
	// Ulm: 3 sunny days <nil>
	// true
}

// A test reads the schema that a client gets.
func TestTo(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "forecast"}, func(_ context.Context, _ *mcp.ServerSession, in struct {
		City string `json:"city" jsonschema:"a city"`
		Days int    `json:"days,omitempty" minimum:"1"`
	}) (string, error) {
		return in.City, nil
	})
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), nil)
	require.NoError(t, err)
	defer client.Close()
	for tool, err := range client.Tools(t.Context()) {
		require.NoError(t, err)
		s, err := schema.To[jsonschema.Schema](tool.InputSchema)
		require.NoError(t, err)
		require.Equal(t, []string{"city"}, s.Required)
		require.Equal(t, "a city", s.Properties["city"].Description)
		require.InDelta(t, 1, *s.Properties["days"].Minimum, 0)
	}
	_, err = schema.To[jsonschema.Schema]([]byte("{"))
	require.ErrorContains(t, err, "decode schema: ")
}
