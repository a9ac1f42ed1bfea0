package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// takes returns a client of a server with the tool "t", which returns its arguments as JSON.
func takes[In any](t *testing.T, def mcp.Tool) *client {
	s := mcpserver.New(info, nil)
	def.Name = "t"
	mcpserver.AddTool(s, &def, func(_ context.Context, _ *mcp.ServerSession, in In) (string, error) {
		data, err := json.Marshal(in)
		return string(data), err
	})
	return connect(t, s, modern)
}

func (c *client) given(arguments string) (shown string, refused bool) {
	c.t.Helper()
	res := c.call("tools/call", fmt.Sprintf(`{"name":"t","arguments":%s}`, arguments))
	return text(c.t, res), res["isError"] == true
}

func TestGivenSchemaValidatesWhatPlanCannot(t *testing.T) {
	type in struct {
		Code  string `json:"code"`
		Count int    `json:"count,omitempty"`
	}
	c := takes[in](t, mcp.Tool{InputSchema: json.RawMessage(`{
		"type": "object", "required": ["code"],
		"properties": {"code": {"type": "string", "pattern": "^[a-z]+$"}, "count": {"type": "integer", "default": 7}},
		"not": {"required": ["secret"]}
	}`)})
	shown, refused := c.given(`{"code":"abc","Code":"XYZ","more":1}`)
	require.False(t, refused, shown)
	require.JSONEq(t, `{"code":"abc","count":7}`, shown, "another spelling is another argument, and defaults are filled in")
	shown, refused = c.given(`{"code":"ABC"}`)
	require.True(t, refused)
	require.Contains(t, shown, "/code")
	_, refused = c.given(`{"code":"abc","secret":1}`)
	require.True(t, refused)
}

func TestClosedSchemaRejectsFieldsThatItDoesNotName(t *testing.T) {
	type grant struct {
		Admin bool `json:"admin"`
	}
	type in struct {
		Path  string `json:"path,omitempty"`
		Inner struct {
			Note string `json:"note,omitempty"`
			grant
		} `json:"inner"`
		grant
	}
	c := takes[in](t, mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
		"path": {"type":"string","default":"/"},
		"inner": {"type":"object","additionalProperties":false,"properties":{"note":{"type":"string","default":"none"}}}
	}}`)})
	shown, refused := c.given(`{"inner":{}}`)
	require.False(t, refused, shown)
	require.JSONEq(t, `{"path":"/","inner":{"note":"none","admin":false},"admin":false}`, shown)
	for _, arguments := range []string{`{"admin":true}`, `{"inner":{"admin":true}}`} {
		shown, refused := c.given(arguments)
		require.True(t, refused, "%s: %s", arguments, shown)
	}
	for _, schema := range []string{`{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`} {
		c := takes[in](t, mcp.Tool{InputSchema: json.RawMessage(schema)})
		shown, refused := c.given(`{"path":"x"}`)
		require.True(t, refused, shown)
	}
}

func TestNullInEnumIsNotEmptyString(t *testing.T) {
	type in struct {
		A string `json:"a"`
	}
	c := takes[in](t, mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","enum":["x",null]}}}`)})
	shown, refused := c.given(`{"a":""}`)
	require.True(t, refused, shown)
	shown, refused = c.given(`{"a":"x"}`)
	require.False(t, refused, shown)
}

func TestArgumentsThatOverflowGoTypeAreRejected(t *testing.T) {
	c := takes[struct{ N int64 }](t, mcp.Tool{})
	shown, refused := c.given(`{"N":1e18}`)
	require.False(t, refused, shown)
	shown, refused = c.given(`{"N":1e19}`)
	require.True(t, refused)
	require.Contains(t, shown, "/N: 1e19 does not fit 64 bits")
}

func TestArgumentsOfAnyType(t *testing.T) {
	for _, c := range []*client{takes[any](t, mcp.Tool{}), takes[json.RawMessage](t, mcp.Tool{}), takes[map[string]any](t, mcp.Tool{})} {
		shown, refused := c.given(`{"a":[1,{"b":null}]}`)
		require.False(t, refused)
		require.JSONEq(t, `{"a":[1,{"b":null}]}`, shown)
	}
	c := takes[*struct{ A string }](t, mcp.Tool{})
	shown, _ := c.given(`{"A":"x"}`)
	require.JSONEq(t, `{"A":"x"}`, shown)
}

func TestAbsentArgumentsAreEmptyObject(t *testing.T) {
	c := takes[struct{}](t, mcp.Tool{})
	require.Equal(t, "{}", text(t, c.call("tools/call", `{"name":"t"}`)))
	tools := c.call("tools/list", `{}`)["tools"].([]any)
	require.Equal(t, map[string]any{"type": "object", "additionalProperties": false}, tools[0].(map[string]any)["inputSchema"])
}

func TestNilPointerOrMapIsNoResult(t *testing.T) {
	for _, s := range []*mcpserver.Server{
		tool(nil, &mcp.Tool{}, returns[*place](nil, nil)), tool(nil, &mcp.Tool{}, returns[map[string]int](nil, nil)),
	} {
		c := connect(t, s, "2025-11-25")
		require.Equal(t, true, c.call("tools/call", `{"name":"t"}`)["isError"])
		tools := c.call("tools/list", `{}`)["tools"].([]any)
		require.Equal(t, "object", tools[0].(map[string]any)["outputSchema"].(map[string]any)["type"])
	}
	c := connect(t, tool(nil, &mcp.Tool{}, returns(&place{Tags: []string{}}, nil)), "2025-11-25")
	require.JSONEq(t, `{"lat":0,"tags":[]}`, text(t, c.call("tools/call", `{"name":"t"}`)))
}

func TestLongArgumentsAreRejectedWithFirstError(t *testing.T) {
	type in struct {
		List []string `json:"list"`
	}
	wrong := func(n int) string { return `{"list":[` + strings.Repeat("1,", n) + `1]}` }
	for _, def := range []mcp.Tool{
		{}, {InputSchema: json.RawMessage(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string","pattern":"^x*$"}}}}`)},
	} {
		c := takes[in](t, def)
		shown, refused := c.given(wrong(2))
		require.True(t, refused)
		require.Contains(t, shown, "/list/2")
		shown, refused = c.given(wrong(100_000))
		require.True(t, refused)
		require.Contains(t, shown, "/list/0")
		require.NotContains(t, shown, "/list/1")
		shown, refused = c.given(`{"list":["` + strings.Repeat("x", 100_000) + `"]}`)
		require.False(t, refused, shown)
		_, refused = c.given(`{"list":["` + strings.Repeat("x", 100_000) + `y"]}`)
		require.Equal(t, def.InputSchema != nil, refused, "the schema is heeded")
	}
}
