package typedclient_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/typedclient"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/typedclient/shop"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

var update = flag.Bool("update", false, "write the package shop")

// shopTools are the tools of the package shop.
var shopTools = []mcp.Tool{
	{Name: "list-orders", Title: "Orders", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object","properties":{
		"orders":{"type":"array","items":{"$ref":"#/$defs/order"}},"next":{"type":["string","null"]}},"required":["orders"],
		"$defs":{"order":{"type":"object","description":"An order.\nIt may have parts.","properties":{
			"id":{"type":"integer"},"url":{"type":"string"},"parts":{"type":"array","items":{"$ref":"#/$defs/order"}},"parent":{"$ref":"#/$defs/order"},
			"state":{"enum":["open","sent",null],"description":"The state."}},"required":["id"]}}}`)},
	{Name: "order", Description: "Orders goods.\n\nThe price is in cents.", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
		"goods":{"type":"array","items":{"type":"string"},"description":"The names of the goods."},"express":{"type":"boolean"},"limit":{"type":"number"},
		"count":{"type":"integer"},"size":{"enum":["s","m","l","x l"]},"to":{"anyOf":[{"type":"null"},{"type":"object","properties":{"street":{"type":"string"}},"required":["street"]}]},
		"labels":{"type":"object","additionalProperties":{"type":"integer"}},"free":{},"either":{"type":["string","integer"]},"mixed":{"oneOf":[{"type":"string"},{"type":"integer"}]}
		},"required":["goods","size","labels"]}`)},
	{Name: "echo", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":true,"properties":{"a":{"type":"string"}},"required":["a"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"it's":{"type":"string"}}}`)},
}

func TestPackageShop(t *testing.T) {
	source, notices, err := typedclient.Write(shopTools, &typedclient.Options{Package: "shop", Server: "a shop\n"})
	require.NoError(t, err)
	require.Equal(t, []string{
		`tool "echo", output schema/properties/it's: the name cannot be that of a Go field; use Extra`,
		`tool "order", input schema/properties/either: several types [string integer] have no Go type; it becomes json.RawMessage`,
		`tool "order", input schema/properties/mixed/oneOf: a union has no Go type; it becomes json.RawMessage`,
	}, notices)
	path := filepath.Join("shop", "shop.go")
	if *update {
		require.NoError(t, os.WriteFile(path, source, 0o666))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(written), string(source), "run go test -update, and read the changes")
}

// connectShop returns a client of a server with the tools of the shop.
func connectShop(t *testing.T, handle mcpserver.ToolHandler) *shop.Client {
	return shop.New(connectClient(t, handle))
}

func connectClient(t *testing.T, handle mcpserver.ToolHandler) *mcpclient.Client {
	s := mcpserver.New(mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for i := range shopTools {
		s.AddRawTool(&shopTools[i], handle)
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestExampleOfDocs(t *testing.T) {
	var got string
	c := connectClient(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = string(req.Arguments)
		return mcp.TextResult("done"), nil
	})
	require.NoError(t, order(t.Context(), c))
	require.JSONEq(t, `{"goods":["tea"],"size":"s","labels":{},"express":true}`, got)
}

func TestClientSendsArguments(t *testing.T) {
	var got string
	c := connectShop(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = string(req.Arguments)
		return mcp.TextResult("done"), nil
	})
	res, err := c.Order(t.Context(), shop.OrderInput{Size: shop.OrderInputSizeXL})
	require.NoError(t, err)
	require.Equal(t, "done", mcp.TextOf(res.Content))
	require.JSONEq(t, `{"goods":[],"size":"x l","labels":{}}`, got, "nil lists and maps are empty, optional members are absent")
	_, err = c.Order(t.Context(), shop.OrderInput{
		Goods: []string{"tea"}, Size: shop.OrderInputSizeS, Labels: map[string]int64{"a": 1}, Express: new(false), Limit: new(1.5), Count: new(int64(0)),
		To: &shop.OrderInputTo{Street: "x"}, Free: json.RawMessage(`[1]`), Either: json.RawMessage(`7`),
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"goods":["tea"],"size":"s","labels":{"a":1},"express":false,"limit":1.5,"count":0,"to":{"street":"x"},"free":[1],"either":7}`, got)
}

func TestClientReadsResults(t *testing.T) {
	result, failed := `{"orders":[{"id":1,"url":"u","state":null,"parent":{"id":2,"more":[1]},"parts":[{"id":3,"state":"sent"}]}],"next":null,"total":1.50}`, false
	c := connectShop(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "sold out"}}, StructuredContent: json.RawMessage(result), IsError: failed}, nil
	})
	out, err := c.ListOrders(t.Context())
	require.NoError(t, err)
	first := out.Orders[0]
	require.Equal(t, int64(1), first.ID)
	require.Equal(t, "u", *first.URL)
	require.Nil(t, first.State)
	require.Equal(t, shop.ListOrdersOrderStateSent, *first.Parts[0].State)
	require.JSONEq(t, `[1]`, string(first.Parent.Extra["more"]))
	require.Nil(t, out.Next)
	require.Equal(t, "1.50", string(out.Extra["total"]), "unknown members are kept")
	again, err := json.Marshal(out)
	require.NoError(t, err)
	require.JSONEq(t, `{"orders":[{"id":1,"url":"u","parent":{"id":2,"more":[1]},"parts":[{"id":3,"state":"sent"}]}],"total":1.50}`, string(again))

	failed = true
	_, err = c.ListOrders(t.Context())
	var tool *mcpclient.ToolError
	require.ErrorAs(t, err, &tool)
	require.Equal(t, "sold out", tool.Text())
}

// compiles compiles the client of tools, and checks its format.
func compiles(t *testing.T, tools []mcp.Tool) (source string, notices []string) {
	t.Helper()
	written, notices, err := typedclient.Write(tools, &typedclient.Options{Package: "made", Generate: "mcpwright client -- x", Server: tools[0].Description})
	require.NoError(t, err)
	formatted, err := format.Source(written)
	require.NoError(t, err)
	require.Equal(t, string(formatted), string(written))
	for range 3 {
		again, _, err := typedclient.Write(tools, &typedclient.Options{Package: "made", Generate: "mcpwright client -- x", Server: tools[0].Description})
		require.NoError(t, err)
		require.Equal(t, string(written), string(again))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "made.go")
	require.NoError(t, os.WriteFile(file, written, 0o666))
	here, err := filepath.Abs("made")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "made.go"): file}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o666))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "./made").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(written), notices
}

func TestHostileTools(t *testing.T) {
	const text = "x */ \n//go:build ignore\n\u202e\u2028package evil\r\n\x00\n#cgo LDFLAGS\n\n`\"\\"
	properties := map[string]any{}
	for _, name := range []string{"", "-", "type", "Type", "TYPE", "Extra", "extra", "MarshalJSON", "1", "_", "日本", "größe", "a b", "a-b", "a.b", "`", `"`, "\\", "a,b", "a\nb", text, "json", "x"} {
		properties[name] = map[string]any{"type": "string", "description": text, "enum": []any{name, text, "", "-", "1"}}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "description": text, "properties": properties, "additionalProperties": true})
	require.NoError(t, err)
	var tools []mcp.Tool
	for _, name := range []string{text, "", "client", "Client", "new", "New", "func", "a b", "a-b", "a_b", "1", "日本", "error", "string", "context", "json", "mcp", "mcpclient", "marshalWithExtra"} {
		tools = append(tools, mcp.Tool{Name: name, Title: text, Description: text, InputSchema: schema, OutputSchema: schema})
	}
	source, _ := compiles(t, tools)
	for line := range strings.Lines(source) {
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "//go:build") || strings.Contains(line, "\u202e"), line)
	}
}

func TestUnusualSchemas(t *testing.T) {
	var tools []mcp.Tool
	for i, schema := range []string{
		`true`, `false`, `{}`, `{"type":"object"}`, `{"type":"array","items":{"type":"object","properties":{"a":{"$ref":"#"}}}}`, `[]`, `{"type":7}`, `{"maxItems":1e3,"type":"array"}`,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/a"},"c":{"$ref":"https://example.com"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"],"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}},"required":["b"]},"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"l":{"$ref":"#/$defs/l"}},"required":["a"]},"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/definitions/a~1b"}},"definitions":{"a/b":{"enum":["x","X","x!",""]}},"$schema":"http://json-schema.org/draft-07/schema#"}`,
		`{"type":"object","properties":{"a":{"allOf":[{"type":"string"}]},"b":{"allOf":[{"type":"string"},{"maxLength":3}]},"c":{"const":"x"},"d":{"const":1},"e":{"enum":[1,"a"]},"f":{"enum":[]},"g":{"enum":[null]},"h":{"type":"null"},"i":{"type":[]}}}`,
		`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, `{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"array"}}}}`,
		`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object"}]}`, `{"type":["object","null"],"properties":{"a":{"type":["array","null"],"items":{"type":["integer","null"]}}}}`,
		`{"type":"object","properties":{"a":{"not":{}},"b":{"type":"object","additionalProperties":false},"c":{"type":"wrong"},"d":{"type":"object","additionalProperties":true}},"required":["zz","d","d"]}`,
		strings.Repeat(`{"type":"object","properties":{"a":`, 100) + `{"type":"string"}` + strings.Repeat(`}}`, 100),
	} {
		tools = append(tools, mcp.Tool{Name: fmt.Sprint("tool ", i), InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)})
	}
	_, notices := compiles(t, tools)
	require.NotEmpty(t, notices)
}

// Schemas never fail, whatever they contain.
func TestRandomSchemas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tools []mcp.Tool
	for i := range 300 {
		text, err := json.Marshal(randomSchema(r, 4, true))
		require.NoError(t, err)
		tools = append(tools, mcp.Tool{Name: fmt.Sprint("tool", i), InputSchema: text, OutputSchema: text})
	}
	compiles(t, tools)
}

// randomSchema returns a schema. Its references may be recursive.
func randomSchema(r *rand.Rand, depth int, root bool) any {
	names := []string{"a", "b", "c-d", "E", "e"}
	if root {
		defs := map[string]any{}
		for _, name := range names[:3] {
			defs[name] = randomSchema(r, depth-1, false)
		}
		s := map[string]any{"type": "object", "$defs": defs, "properties": map[string]any{"a": randomSchema(r, depth, false), "b": randomSchema(r, depth, false)}}
		s["required"] = names[:r.IntN(3)]
		return s
	}
	part := func() any { return randomSchema(r, depth-1, false) }
	switch n := r.IntN(15); {
	case n < 3 || depth == 0:
		return map[string]any{"type": []string{"string", "integer", "number", "boolean", "null"}[r.IntN(5)]}
	case n == 3:
		return map[string]any{"type": "array", "items": randomSchema(r, depth-1, false)}
	case n == 4:
		return map[string]any{"$ref": "#/$defs/" + names[r.IntN(3)]}
	case n == 5:
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, randomSchema(r, depth-1, false)}}
	case n == 6:
		return map[string]any{"enum": names[:1+r.IntN(4)]}
	case n == 7:
		return map[string]any{"type": "object", "additionalProperties": randomSchema(r, depth-1, false)}
	case n == 8:
		return map[string]any{"type": []string{"string", "null"}}
	case n == 9:
		return []any{true, false, map[string]any{}}[r.IntN(3)]
	case n == 10:
		return map[string]any{"allOf": []any{part(), part()}, "properties": map[string]any{"a": part()}}
	case n == 11:
		return map[string]any{"oneOf": []any{part(), part()}, "type": []string{"object", "string"}[r.IntN(2)], "properties": map[string]any{"a": part()}}
	case n == 12:
		return map[string]any{"$ref": []string{"#", "#/properties/a", "#/properties/b/items", "#/$defs/a/allOf/0"}[r.IntN(4)], "description": "d", "properties": map[string]any{"b": part()}}
	}
	properties := map[string]any{}
	for _, name := range names[:1+r.IntN(5)] {
		properties[name] = randomSchema(r, depth-1, false)
	}
	return map[string]any{"type": "object", "properties": properties, "required": names[:r.IntN(5)], "additionalProperties": r.IntN(2) == 0}
}

// typesOf returns the fields of the arguments for a schema.
func typesOf(t *testing.T, schema string) (fields, source string, notices []string) {
	source, notices = compiles(t, []mcp.Tool{{Name: "t", InputSchema: json.RawMessage(schema)}})
	_, rest, _ := strings.Cut(source, "type TInput struct {\n")
	rest, _, _ = strings.Cut(rest, "\n}")
	return strings.Join(strings.Fields(rest), " "), source, notices
}

func TestMergedSchemas(t *testing.T) {
	for name, test := range map[string]struct{ schema, fields string }{
		"objects": {`{"allOf":[{"$ref":"#/$defs/base"},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}],"$defs":{"base":{"properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			"A string `json:\"a\"` B int64 `json:\"b\"`"},
		"a reference and properties": {`{"$ref":"#/$defs/base","properties":{"b":{"type":"integer"}},"$defs":{"base":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
			"A *string `json:\"a,omitempty\"` B *int64 `json:\"b,omitempty\"`"},
		"the same property": {`{"allOf":[{"properties":{"a":{"type":"number"}}},{"properties":{"a":{"type":["integer","string"]}}}],"required":["a"]}`, "A int64 `json:\"a\"`"},
		"limits":            {`{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"maxLength":3.0},{"pattern":"x"}]}},"required":["a"]}`, "A string `json:\"a\"`"},
		"required alternatives": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			"A *string `json:\"a,omitempty\"` B *string `json:\"b,omitempty\"`"},
		"simple unions": {`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","format":"date"},{"type":"string"}]},"b":{"oneOf":[{"type":"integer"},{"type":"number"}]},"c":{"anyOf":[{"enum":["x"]},{"type":"string"},{"type":"null"}]}},"required":["a","b","c"]}`,
			"A string `json:\"a\"` B float64 `json:\"b\"` C *string `json:\"c\"`"},
		"choices with titles": {`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]}},"required":["a"]}`, "A TInputA `json:\"a\"`"},
		"a part":              {`{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}}},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#/properties/a/properties/x"}},"required":["a","b","c"]}`, "A TInputA `json:\"a\"` B TInputA `json:\"b\"` C string `json:\"c\"`"},
		"other keywords":      {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"minItems":1e0}},"dependencies":{"a":["b"]},"required":["a"]}`, "A []string `json:\"a\"`"},
	} {
		t.Run(name, func(t *testing.T) {
			fields, _, notices := typesOf(t, test.schema)
			require.Equal(t, test.fields, fields)
			require.Empty(t, notices)
		})
	}
	fields, _, notices := typesOf(t, `{"type":"object","properties":{"kind":{"type":"string"}},"required":["kind"],"oneOf":[{"properties":{"size":{"type":"integer"}}},{"properties":{"name":{"type":"string"}}}]}`)
	require.Equal(t, "Kind string `json:\"kind\"` // Extra contains the members that have no field. Extra map[string]json.RawMessage `json:\"-\"`", fields)
	require.Equal(t, []string{`tool "t", input schema: the members of the alternatives have no fields; use Extra`}, notices)
	_, _, notices = typesOf(t, `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`)
	require.Equal(t, []string{`tool "t", input schema/properties/a: the parts of allOf have no common Go type; it becomes json.RawMessage`}, notices)
}

// Merging does not grow without bounds.
func TestExponentialSchema(t *testing.T) {
	part := func(a, b string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"x":{"$ref":"#/$defs/%[1]s"},"y":{"$ref":"#/$defs/%[2]s"},"z":{"$ref":"#/$defs/%[1]s"}}}`, a, b)
	}
	source, _ := compiles(t, []mcp.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}},"$defs":{"a":` + part("a", "b") + `,"b":` + part("b", "a") + `}}`)}})
	require.Less(t, len(source), 4<<20)
}
