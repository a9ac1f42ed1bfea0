package server

import (
	"context"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
)

// PromptCompletionProvider returns values that complete arguments of prompts. A nil completion has
// no values.
type PromptCompletionProvider interface {
	CompletePromptArgument(ctx context.Context, promptName string, argument mcp.CompleteArgument, context mcp.CompleteContext) (*mcp.Completion, error)
}

// ResourceCompletionProvider returns values that complete variables of resource templates. A nil
// completion has no values.
type ResourceCompletionProvider interface {
	CompleteResourceArgument(ctx context.Context, uri string, argument mcp.CompleteArgument, context mcp.CompleteContext) (*mcp.Completion, error)
}

// DefaultPromptCompletionProvider returns no values.
type DefaultPromptCompletionProvider struct{}

// CompletePromptArgument implements [PromptCompletionProvider].
func (*DefaultPromptCompletionProvider) CompletePromptArgument(context.Context, string, mcp.CompleteArgument, mcp.CompleteContext) (*mcp.Completion, error) {
	return nil, nil
}

// DefaultResourceCompletionProvider returns no values.
type DefaultResourceCompletionProvider struct{}

// CompleteResourceArgument implements [ResourceCompletionProvider].
func (*DefaultResourceCompletionProvider) CompleteResourceArgument(context.Context, string, mcp.CompleteArgument, mcp.CompleteContext) (*mcp.Completion, error) {
	return nil, nil
}

// provideCompletions registers the providers at the kit.
func (s *MCPServer) provideCompletions() {
	if s.promptCompletion != nil || s.resourceCompletion != nil || s.opts.Capabilities.Completions != nil {
		s.kit.HandleCompletion(s.completeArgument)
	}
}

func (s *MCPServer) completeArgument(ctx context.Context, req *kit.CompleteRequest) (*kit.CompleteResult, error) {
	var request mcp.CompleteRequest
	if err := convertRequest(ctx, req, &request); err != nil {
		return nil, err
	}
	var found *mcp.Completion
	var err error
	switch ref := request.Params.Ref.(type) {
	case mcp.PromptReference:
		if s.promptCompletion != nil {
			found, err = s.promptCompletion.CompletePromptArgument(ctx, ref.Name, request.Params.Argument, request.Params.Context)
		}
	case mcp.ResourceReference:
		if s.resourceCompletion != nil {
			found, err = s.resourceCompletion.CompleteResourceArgument(ctx, ref.URI, request.Params.Argument, request.Params.Context)
		}
	}
	switch {
	case err != nil:
		return nil, sendable(err)
	case found == nil:
		return nil, nil // no values
	}
	result := &kit.CompleteResult{Completion: kit.Completion{Values: found.Values, HasMore: found.HasMore}}
	if found.Total > 0 {
		result.Completion.Total = new(int64(found.Total))
	}
	return result, nil
}
