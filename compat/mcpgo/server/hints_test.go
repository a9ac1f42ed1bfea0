package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

// Some directories of servers require explicit hints.
func TestExplicitHints(t *testing.T) {
	hooks := &server.Hooks{}
	hooks.AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
		result.Tools[0].Description = "changed"
	})
	filter := server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool { return tools })
	for name, opts := range map[string][]server.ServerOption{"plain": nil, "hooks": {server.WithHooks(hooks)}, "filter": {filter}} {
		s := server.NewMCPServer("test", "1.0.0", opts...)
		s.AddTool(mcp.NewTool("a"), echo)
		list, err := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
		check(t, err)
		if !strings.Contains(string(list), `"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true`) {
			t.Errorf("%s: %s", name, list)
		}
	}
}
