package main

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// addStatelessTools registers the tools that the suite uses in stateless revisions.
func addStatelessTools(s *mcpserver.Server, all *replicas) {
	tool(s, "test_missing_capability", "Needs a client with sampling.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return sample(ctx, s, "Is there a model?")
	})
	tool(s, "test_streaming_elicitation", "Elicits a confirmation, in all revisions.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return elicit(ctx, s, form("Continue?", field("ok", &mcp.BooleanSchema{})))
	})
	tool(s, "test_logging_tool", "Sends log messages at any level.", sendLogs)
	tool(s, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, *mcp.ServerSession, none) (string, error) {
		all.each(func(s *mcpserver.Server) {
			s.RemoveTools("test_transient")
			content(s, "test_transient", "Added by another tool.", mcp.Text("added"))
		})
		return "changed", nil
	})
	tool(s, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, *mcp.ServerSession, none) (string, error) {
		all.each(func(s *mcpserver.Server) {
			s.RemovePrompts("test_transient")
			fixedPrompt(s, "test_transient", "Added by another tool.", mcp.Text("added"))
		})
		return "changed", nil
	})
}
