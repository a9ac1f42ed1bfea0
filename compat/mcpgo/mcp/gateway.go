package mcp

import (
	"encoding/json"
	"errors"
)

// NewListToolsResult returns a page of tools, for programs that respond to requests themselves.
func NewListToolsResult(tools []Tool, nextCursor Cursor) *ListToolsResult {
	return &ListToolsResult{Tools: tools, PaginatedResult: PaginatedResult{NextCursor: nextCursor}}
}

// NewListPromptsResult is like [NewListToolsResult] for prompts.
func NewListPromptsResult(prompts []Prompt, nextCursor Cursor) *ListPromptsResult {
	return &ListPromptsResult{Prompts: prompts, PaginatedResult: PaginatedResult{NextCursor: nextCursor}}
}

// NewListResourcesResult is like [NewListToolsResult] for resources.
func NewListResourcesResult(resources []Resource, nextCursor Cursor) *ListResourcesResult {
	return &ListResourcesResult{Resources: resources, PaginatedResult: PaginatedResult{NextCursor: nextCursor}}
}

// NewListResourceTemplatesResult is like [NewListToolsResult] for resource templates.
func NewListResourceTemplatesResult(templates []ResourceTemplate, nextCursor Cursor) *ListResourceTemplatesResult {
	return &ListResourceTemplatesResult{ResourceTemplates: templates, PaginatedResult: PaginatedResult{NextCursor: nextCursor}}
}

// NewReadResourceResult returns a result with a text that has no URI.
func NewReadResourceResult(text string) *ReadResourceResult {
	return &ReadResourceResult{Contents: []ResourceContents{TextResourceContents{Text: text}}}
}

// NewInitializeResult returns the response to an initialize request.
func NewInitializeResult(protocolVersion string, capabilities ServerCapabilities, serverInfo Implementation, instructions string) *InitializeResult {
	return &InitializeResult{ProtocolVersion: protocolVersion, Capabilities: capabilities, ServerInfo: serverInfo, Instructions: instructions}
}

// ParseCallToolResult decodes the result of a tool.
func ParseCallToolResult(rawMessage *json.RawMessage) (*CallToolResult, error) {
	return parse[CallToolResult](rawMessage)
}

// ParseGetPromptResult decodes the messages of a prompt.
func ParseGetPromptResult(rawMessage *json.RawMessage) (*GetPromptResult, error) {
	return parse[GetPromptResult](rawMessage)
}

// ParseReadResourceResult decodes the contents of a resource.
func ParseReadResourceResult(rawMessage *json.RawMessage) (*ReadResourceResult, error) {
	return parse[ReadResourceResult](rawMessage)
}

func parse[T any](raw *json.RawMessage) (*T, error) {
	if raw == nil {
		return nil, errors.New("mcp: no result")
	}
	result := new(T)
	if err := json.Unmarshal(*raw, result); err != nil {
		return nil, err
	}
	return result, nil
}
