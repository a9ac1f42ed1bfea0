package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

func TestOutputSchema(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0", server.WithOutputSchemaValidation())
	type weather struct {
		Degrees int `json:"degrees"`
	}
	for name, result := range map[string]*mcp.CallToolResult{
		"right":   mcp.NewToolResultStructured(weather{7}, "7 degrees"),
		"wrong":   mcp.NewToolResultStructured(map[string]any{"degrees": "cold"}, "cold"),
		"missing": mcp.NewToolResultText("7 degrees"),
		"error":   mcp.NewToolResultError("no weather"),
	} {
		s.AddTool(mcp.NewTool(name, mcp.WithOutputSchema[weather]()), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return result, nil
		})
	}
	c := handshake(t, s)
	equal(t, call(t, c, "right", "{}"), "7 degrees")
	equal(t, call(t, c, "error", "{}"), "tool error: no weather")
	for _, name := range []string{"wrong", "missing"} {
		equal(t, strings.HasPrefix(call(t, c, name, "{}"), "tool error: Internal error (id "), true)
	}
}
