package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
)

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestToolBuilder(t *testing.T) {
	tool := mcp.NewTool("plan",
		mcp.WithDescription("Plans."),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("city", mcp.Required(), mcp.Enum("Rome", "Oslo")),
		mcp.WithNumber("days", mcp.Min(1), mcp.Max(7), mcp.DefaultNumber(2)),
		mcp.WithArray("tags", mcp.WithStringItems(mcp.MinLength(1), mcp.Required())),
		mcp.WithObject("extra", mcp.Properties(map[string]any{"a": map[string]any{"type": "string"}})))
	equal(t, encode(t, tool.InputSchema), `{"properties":{`+
		`"city":{"enum":["Rome","Oslo"],"type":"string"},`+
		`"days":{"default":2,"maximum":7,"minimum":1,"type":"number"},`+
		`"extra":{"properties":{"a":{"type":"string"}},"type":"object"},`+
		`"tags":{"items":{"minLength":1,"type":"string"},"type":"array"}},`+
		`"required":["city"],"type":"object"}`)
	equal(t, encode(t, tool.Annotations),
		`{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`)

	raw := mcp.NewToolWithRawSchema("raw", "", json.RawMessage(`{"type":"object","x":1}`))
	equal(t, encode(t, raw), `{"name":"raw","annotations":{},"inputSchema":{"type":"object","x":1}}`)
	if _, err := json.Marshal(mcp.NewTool("both", mcp.WithRawInputSchema(raw.RawInputSchema))); err != nil {
		t.Errorf("a raw schema must replace the builder's: %v", err)
	}
	var read mcp.Tool
	if err := json.Unmarshal([]byte(encode(t, tool)), &read); err != nil {
		t.Fatal(err)
	}
	equal(t, encode(t, read), encode(t, tool))
}

func TestSchemaOfResultAcceptsNull(t *testing.T) {
	type result struct {
		Names []string `json:"names"`
	}
	tool := mcp.NewTool("a", mcp.WithInputSchema[result](), mcp.WithOutputSchema[result]())
	for schema, want := range map[string]bool{string(tool.RawInputSchema): false, string(tool.RawOutputSchema): true} {
		if strings.Contains(schema, `"null"`) != want {
			t.Errorf("got %s", schema)
		}
	}
}

func TestInferredSchemas(t *testing.T) {
	type in struct {
		City string `json:"city" jsonschema:"the city"`
	}
	tool := mcp.NewTool("a", mcp.WithInputSchema[in](), mcp.WithOutputSchema[in]())
	var schema struct {
		Properties map[string]struct{ Description string }
		Required   []string
	}
	for _, raw := range []json.RawMessage{tool.RawInputSchema, tool.RawOutputSchema} {
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		equal(t, schema.Properties["city"].Description, "the city")
		equal(t, len(schema.Required), 1)
	}
	none := mcp.NewTool("a", mcp.WithInputSchema[chan int](), mcp.WithOutputSchema[chan int]())
	equal(t, encode(t, none), encode(t, mcp.NewTool("a")))
}

func TestArguments(t *testing.T) {
	var req mcp.CallToolRequest
	params := `{"name":"x","arguments":{"s":"a","n":"3","f":2.5,"b":"true","l":["x","y"],"big":9007199254740993,"mix":[1,"z"]}}`
	if err := json.Unmarshal([]byte(params), &req.Params); err != nil {
		t.Fatal(err)
	}
	equal(t, req.GetString("s", ""), "a")
	equal(t, req.GetString("n", ""), "3")
	equal(t, req.GetString("f", "none"), "none")
	equal(t, req.GetInt("n", 0), 3)
	equal(t, req.GetInt("f", 0), 2)
	equal(t, req.GetFloat("f", 0), 2.5)
	equal(t, req.GetBool("b", false), true)
	equal(t, len(req.GetStringSlice("l", nil)), 2)
	equal(t, mcp.ParseInt8(req, "big", 7), 7)
	equal(t, mcp.ParseUInt16(req, "n", 0), 3)
	for _, negative := range []any{-1, -1.0, -1.5, "-1"} {
		req := mcp.CallToolRequest{Params: mcp.CallToolParams{Arguments: map[string]any{"n": negative}}}
		equal(t, mcp.ParseUInt64(req, "n", 7), 7)
		equal(t, mcp.ParseUInt(req, "n", 7), 7)
		equal(t, mcp.ParseInt64(req, "n", 7), -1)
	}
	equal(t, mcp.ParseString(req, "f", ""), "2.5")
	if _, err := req.RequireString("absent"); err == nil || err.Error() != `required argument "absent" not found` {
		t.Error(err)
	}
	if _, err := req.RequireStringSlice("mix"); err == nil || err.Error() != `argument "mix" is not a string slice` {
		t.Error(err)
	}
	var args struct{ Big int64 }
	if err := req.BindArguments(&args); err != nil {
		t.Fatal(err)
	}
	equal(t, args.Big, 9007199254740993)
	equal(t, encode(t, req.Params), params)
}

func TestResults(t *testing.T) {
	for _, result := range []*mcp.CallToolResult{
		mcp.NewToolResultText("a"),
		mcp.NewToolResultErrorFromErr("b", errors.New("failed")),
		mcp.NewToolResultStructuredOnly(map[string]int{"n": 1}),
		mcp.NewToolResultImage("c", "aGk=", "image/png"),
		mcp.NewToolResultResource("d", &mcp.TextResourceContents{URI: "a:b", Text: "e"}),
	} {
		data := encode(t, result)
		var read mcp.CallToolResult
		if err := json.Unmarshal([]byte(data), &read); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		equal(t, encode(t, read), data)
	}
	equal(t, encode(t, mcp.CallToolResult{}), `{"content":[]}`)
	text, ok := mcp.AsTextContent(&mcp.TextContent{Text: "p"})
	equal(t, ok && text.Text == "p", true)
}

func TestRequestId(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "string:a", "9007199254740993": "int64:9007199254740993", "1.5": "float64:1.5", "null": "<nil>"} {
		var id mcp.RequestId
		if err := json.Unmarshal([]byte(text), &id); err != nil {
			t.Fatal(err)
		}
		equal(t, id.String(), want)
		equal(t, encode(t, id), text)
	}
	if err := json.Unmarshal([]byte("{}"), &mcp.RequestId{}); err == nil {
		t.Error("an object is no id")
	}
}
