package main

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// addStateless registers the tools that look into requests which say themselves
// who sends them.
func addStateless(s *mcpserver.Server) {
	tool(s, "test_missing_capability", "Needs a client with a model.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return sample(ctx, s, "Is there a model?")
	})
	tool(s, "test_streaming_elicitation", "Asks in whatever way the revision has.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return elicit(ctx, s, form("Shall it go on?", field("ok", &mcp.BooleanSchema{})))
	})
	tool(s, "test_logging_tool", "Logs whether anyone listens or not.", sendLogs)
	tool(s, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, *mcp.ServerSession, none) (string, error) {
		s.RemoveTools("test_transient")
		content(s, "test_transient", "Comes and goes.", mcp.Text("still here"))
		return "changed", nil
	})
	tool(s, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, *mcp.ServerSession, none) (string, error) {
		s.RemovePrompts("test_transient")
		fixedPrompt(s, "test_transient", "Comes and goes.", mcp.Text("still here"))
		return "changed", nil
	})
}
