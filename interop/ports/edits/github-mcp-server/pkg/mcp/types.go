// Package mcp has the names of the official Go SDK that this server uses, on the packages of
// github.com/mcpwright/mcp.
package mcp

import (
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// These types have the fields that this server uses in both SDKs.
type (
	ClientCapabilities      = mcp.ClientCapabilities
	CompleteContext         = mcp.CompletionContext
	CompleteResult          = mcp.CompleteResult
	CompletionResultDetails = mcp.Completion
	Content                 = mcp.ContentBlock
	ElicitationCapabilities = mcp.ElicitationCapability
	ElicitResult            = mcp.ElicitResult
	EmbeddedResource        = mcp.EmbeddedResource
	GetPromptResult         = mcp.GetPromptResult
	Icon                    = mcp.Icon
	Implementation          = mcp.Implementation
	Prompt                  = mcp.Prompt
	PromptArgument          = mcp.PromptArgument
	PromptCapabilities      = mcp.PromptsCapability
	PromptMessage           = mcp.PromptMessage
	Resource                = mcp.Resource
	ResourceCapabilities    = mcp.ResourcesCapability
	ResourceLink            = mcp.ResourceLink
	ResourceTemplate        = mcp.ResourceTemplate
	ServerCapabilities      = mcp.ServerCapabilities
	TextContent             = mcp.TextContent
	ToolCapabilities        = mcp.ToolsCapability
)

const IconThemeDark, IconThemeLight = mcp.IconThemeDark, mcp.IconThemeLight

// Meta contains metadata by key.
type Meta map[string]any

func (m Meta) kit() (kit mcp.Meta) {
	for key, value := range m {
		if err := kit.Set(key, value); err != nil {
			panic(err)
		}
	}
	return kit
}

// Tool is a tool whose schemas are values that encode to JSON.
type Tool struct {
	Meta         Meta             `json:"_meta,omitempty"`
	Annotations  *ToolAnnotations `json:"annotations,omitempty"`
	Description  string           `json:"description,omitempty"`
	InputSchema  any              `json:"inputSchema"`
	Name         string           `json:"name"`
	OutputSchema any              `json:"outputSchema,omitempty"`
	Title        string           `json:"title,omitempty"`
	Icons        []Icon           `json:"icons,omitempty"`
}

func (t *Tool) kit() *mcp.Tool {
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, Annotations: t.Annotations.kit(), Icons: t.Icons, Meta: t.Meta.kit(),
		InputSchema: encode(t.InputSchema), OutputSchema: encode(t.OutputSchema),
	}
}

// ToolAnnotations contains hints. Two of them are also sent if they are false.
type ToolAnnotations struct {
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  bool   `json:"idempotentHint"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	Title           string `json:"title,omitempty"`
}

func (a *ToolAnnotations) kit() (kit *mcp.ToolAnnotations) {
	if a != nil {
		kit = new(mcp.ToolAnnotations)
		if err := wire.Decode(encode(a), &wire.Frame{KeepFalse: true}, kit); err != nil {
			panic(err)
		}
	}
	return kit
}

// encode returns a value as JSON, or nil for nil.
func encode(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// ResourceContents is the contents of a resource, as text or as bytes.
type ResourceContents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Text     string `json:"text,omitempty"`
	Blob     []byte `json:"blob,omitempty"`
	Meta     Meta   `json:"_meta,omitempty"`
}

// Kit returns the contents for a result.
func (c *ResourceContents) Kit() mcp.ResourceContents {
	if c.Blob != nil {
		return &mcp.BlobResourceContents{URI: c.URI, MIMEType: c.MIMEType, Blob: c.Blob, Meta: c.Meta.kit()}
	}
	return &mcp.TextResourceContents{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Meta: c.Meta.kit()}
}

// The requests of handlers, and their results.
type (
	CallToolRequest struct {
		Session *ServerSession
		Params  *CallToolParamsRaw
	}
	CallToolParamsRaw struct {
		Name           string
		Arguments      json.RawMessage
		InputResponses InputResponseMap
		RequestState   string
		ProgressToken  any
	}
	CallToolResult struct {
		Meta              Meta            `json:"_meta,omitempty"`
		Content           []Content       `json:"content"`
		StructuredContent any             `json:"structuredContent,omitempty"`
		IsError           bool            `json:"isError,omitempty"`
		InputRequests     InputRequestMap `json:"inputRequests,omitempty"`
		RequestState      string          `json:"requestState,omitempty"`
	}
	InputRequestMap  map[string]any
	InputResponseMap map[string]mcp.InputResponse

	GetPromptRequest    struct{ Params *GetPromptParams }
	GetPromptParams     struct{ Arguments map[string]string }
	ReadResourceRequest struct{ Params *ReadResourceParams }
	ReadResourceParams  struct{ URI string }
	ReadResourceResult  struct{ Contents []*ResourceContents }

	CompleteRequest struct{ Params *CompleteParams }
	CompleteParams  struct {
		Ref      *CompleteReference
		Argument CompleteParamsArgument
		Context  *CompleteContext
	}
	CompleteReference      struct{ Type, URI, Name string }
	CompleteParamsArgument struct{ Name, Value string }
)

// The functions that handle requests.
type (
	ToolHandler               func(context.Context, *CallToolRequest) (*CallToolResult, error)
	ToolHandlerFor[In, O any] func(context.Context, *CallToolRequest, In) (*CallToolResult, O, error)
	PromptHandler             func(context.Context, *GetPromptRequest) (*GetPromptResult, error)
	ResourceHandler           func(context.Context, *ReadResourceRequest) (*ReadResourceResult, error)
)

// GetProgressToken returns the token, or nil if there is none.
func (p *CallToolParamsRaw) GetProgressToken() any { return p.ProgressToken }

// ProtocolVersion returns the revision of the request, or the empty string without a session.
func (r *CallToolRequest) ProtocolVersion() string {
	return r.Session.InitializeParams().ProtocolVersion
}

// ClientCapabilities returns the capabilities of the client, or nil.
func (r *CallToolRequest) ClientCapabilities() *ClientCapabilities {
	return r.Session.InitializeParams().Capabilities
}

func (r *CallToolResult) kit() (*mcp.CallToolResult, error) {
	if len(r.InputRequests) > 0 {
		ask := &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{}, RequestState: &r.RequestState}
		for key, params := range r.InputRequests {
			question, err := params.(*ElicitParams).kit()
			if err != nil {
				return nil, err
			}
			ask.InputRequests[key] = &mcp.ElicitRequest{Params: question}
		}
		return nil, &mcp.InputRequiredError{Result: ask}
	}
	result := &mcp.CallToolResult{Content: r.Content, IsError: r.IsError, StructuredContent: encode(r.StructuredContent)}
	if len(r.Meta) > 0 {
		result.Meta = &mcp.ResultMeta{Extra: r.Meta.kit()}
	}
	return result, nil
}
