package main

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// addPrompts registers the prompts.
func addPrompts(s *mcpserver.Server) {
	fixedPrompt(s, "test_simple_prompt", "Has one message.", mcp.Text("a simple prompt"))
	fixedPrompt(s, "test_prompt_with_image", "Has an image.", mcp.Image(pixel(), "image/png"), mcp.Text("What is it?"))
	prompt(s, "test_prompt_with_arguments", "Has arguments.", func(_ context.Context, _ *mcp.ServerSession, in struct {
		First  string `json:"arg1" jsonschema:"the first value"`
		Second string `json:"arg2" jsonschema:"the second value"`
	}) (*mcp.GetPromptResult, error) {
		return messages(mcp.Text(fmt.Sprintf("arg1 is %q and arg2 is %q", in.First, in.Second))), nil
	})
	s.AddPromptCompleter("test_prompt_with_arguments", "arg1", mcpserver.CompleteFrom("testing", "tested", "other"))
	prompt(s, "test_prompt_with_embedded_resource", "Has an embedded resource.", func(_ context.Context, _ *mcp.ServerSession, in struct {
		URI string `json:"resourceUri" jsonschema:"the resource"`
	}) (*mcp.GetPromptResult, error) {
		return messages(embedded(in.URI, "text/plain", "embedded text"), mcp.Text("What is its text?")), nil
	})
	prompt(s, "test_input_required_result_prompt", "Elicits a text first.", func(ctx context.Context, s *mcp.ServerSession, _ none) (*mcp.GetPromptResult, error) {
		about, err := elicitText(ctx, s, "user_context", "What is it about?", "context")
		if err != nil {
			return nil, err
		}
		return messages(mcp.Text("It is about " + about)), nil
	})
}

// prompt registers a prompt.
func prompt[Args any](s *mcpserver.Server, name, description string, h func(context.Context, *mcp.ServerSession, Args) (*mcp.GetPromptResult, error)) {
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: name, Description: description}, h)
}

// fixedPrompt registers a prompt that always has the same messages.
func fixedPrompt(s *mcpserver.Server, name, description string, blocks ...mcp.ContentBlock) {
	prompt(s, name, description, func(context.Context, *mcp.ServerSession, none) (*mcp.GetPromptResult, error) {
		return messages(blocks...), nil
	})
}

// messages returns a prompt with a message of the user for each block.
func messages(blocks ...mcp.ContentBlock) *mcp.GetPromptResult {
	res := new(mcp.GetPromptResult)
	for _, block := range blocks {
		res.Messages = append(res.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: block})
	}
	return res
}
