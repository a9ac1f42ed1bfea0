package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestOutputSchema(t *testing.T) {
	type weather struct {
		Degrees int `json:"degrees"`
	}
	results := map[string]*mcp.CallToolResult{
		"right":   mcp.NewToolResultStructured(weather{7}, "7 degrees"),
		"wrong":   mcp.NewToolResultStructured(map[string]any{"degrees": "cold"}, "cold"),
		"missing": mcp.NewToolResultText("6 degrees"),
		"error":   mcp.NewToolResultError("no weather"),
	}
	connected := func(opts ...server.ServerOption) *mcpclient.Client {
		s := server.NewMCPServer("test", "1.0.0", opts...)
		for name, result := range results {
			s.AddTool(mcp.NewTool(name, mcp.WithOutputSchema[weather]()), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return result, nil
			})
		}
		return handshake(t, s)
	}
	validates := connected(server.WithOutputSchemaValidation())
	for _, c := range []*mcpclient.Client{validates, connected()} {
		equal(t, call(t, c, "right", "{}"), "7 degrees")
		equal(t, call(t, c, "error", "{}"), "tool error: no weather")
		for name, text := range map[string]string{"wrong": "cold", "missing": "6 degrees"} {
			got := call(t, c, name, "{}")
			equal(t, got == text, c != validates)
			equal(t, strings.HasPrefix(got, "tool error: Internal error (id "), c == validates)
		}
	}
}
