package mcp

import (
	"encoding/json"
	"fmt"
)

// Role is the sender or the recipient of a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// The values of the member "type" of contents.
const (
	ContentTypeText       = "text"
	ContentTypeImage      = "image"
	ContentTypeAudio      = "audio"
	ContentTypeLink       = "resource_link"
	ContentTypeResource   = "resource"
	ContentTypeToolUse    = "tool_use"
	ContentTypeToolResult = "tool_result"
)

// Annotations are hints for clients about how to use or show a content or a resource.
type Annotations struct {
	// Audience lists who the content is for. Nil means everybody.
	Audience []Role `json:"audience,omitempty"`
	// Priority is between 0, optional, and 1, required. Nil means that there is none.
	Priority *float64 `json:"priority,omitempty"`
	// LastModified is a time in the format of RFC 3339.
	LastModified string `json:"lastModified,omitempty"`
}

// Annotated is embedded in types that have annotations.
type Annotated struct {
	// Annotations are the annotations, or nil.
	Annotations *Annotations `json:"annotations,omitempty"`
}

// Content is a part of a message or of a result. The implementations are [TextContent],
// [ImageContent], [AudioContent], [ResourceLink], [EmbeddedResource], [ToolUseContent] and
// [ToolResultContent], and pointers to them.
type Content interface{ isContent() }

// TextContent is text.
type TextContent struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeText].
	Type string `json:"type"`
	Text string `json:"text"`
}

// ImageContent is an image.
type ImageContent struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeImage].
	Type string `json:"type"`
	// Data is the image in base64.
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
}

// AudioContent is a recording.
type AudioContent struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeAudio].
	Type string `json:"type"`
	// Data is the recording in base64.
	Data     string `json:"data"`
	MIMEType string `json:"mimeType"`
}

// ResourceLink refers to a resource that the client can read.
type ResourceLink struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeLink].
	Type        string `json:"type"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
	// Size is the number of bytes, or nil.
	Size *int64 `json:"size,omitempty"`
}

// EmbeddedResource contains the contents of a resource.
type EmbeddedResource struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeResource].
	Type     string           `json:"type"`
	Resource ResourceContents `json:"resource"`
}

// ToolUseContent is a model's request to call a tool, in sampling messages.
type ToolUseContent struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeToolUse].
	Type string `json:"type"`
	// ID identifies the request; its result repeats it.
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// ToolResultContent is the result of a model's request to call a tool, in sampling messages.
type ToolResultContent struct {
	Annotated
	Meta *Meta `json:"_meta,omitempty"`
	// Type is [ContentTypeToolResult].
	Type string `json:"type"`
	// ToolUseID is the ID of the [ToolUseContent].
	ToolUseID string    `json:"toolUseId"`
	Content   []Content `json:"content"`
	IsError   bool      `json:"isError,omitempty"`
}

func (TextContent) isContent()       {}
func (ImageContent) isContent()      {}
func (AudioContent) isContent()      {}
func (ResourceLink) isContent()      {}
func (EmbeddedResource) isContent()  {}
func (ToolUseContent) isContent()    {}
func (ToolResultContent) isContent() {}

// ResourceContents are the contents of a resource. The implementations are
// [TextResourceContents] and [BlobResourceContents], and pointers to them.
type ResourceContents interface{ isResourceContents() }

// TextResourceContents are contents that are text.
type TextResourceContents struct {
	Meta     map[string]any `json:"_meta,omitempty"`
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitempty"`
	Text     string         `json:"text"`
}

// BlobResourceContents are contents that are not text.
type BlobResourceContents struct {
	Meta     map[string]any `json:"_meta,omitempty"`
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitempty"`
	// Blob contains the bytes in base64.
	Blob string `json:"blob"`
}

func (TextResourceContents) isResourceContents() {}
func (BlobResourceContents) isResourceContents() {}

// NewTextContent returns text.
func NewTextContent(text string) TextContent {
	return TextContent{Type: ContentTypeText, Text: text}
}

// NewImageContent returns an image, whose data is base64.
func NewImageContent(data, mimeType string) ImageContent {
	return ImageContent{Type: ContentTypeImage, Data: data, MIMEType: mimeType}
}

// NewAudioContent returns a recording, whose data is base64.
func NewAudioContent(data, mimeType string) AudioContent {
	return AudioContent{Type: ContentTypeAudio, Data: data, MIMEType: mimeType}
}

// NewResourceLink returns a link to a resource.
func NewResourceLink(uri, name, description, mimeType string) ResourceLink {
	return ResourceLink{Type: ContentTypeLink, URI: uri, Name: name, Description: description, MIMEType: mimeType}
}

// NewEmbeddedResource returns a content with the contents of a resource.
func NewEmbeddedResource(resource ResourceContents) EmbeddedResource {
	return EmbeddedResource{Type: ContentTypeResource, Resource: resource}
}

// NewToolUseContent returns a request to call a tool.
func NewToolUseContent(id, name string, input any) ToolUseContent {
	return ToolUseContent{Type: ContentTypeToolUse, ID: id, Name: name, Input: input}
}

// NewToolResultContent returns the result of a request to call a tool.
func NewToolResultContent(toolUseID string, content []Content, isError bool) ToolResultContent {
	return ToolResultContent{Type: ContentTypeToolResult, ToolUseID: toolUseID, Content: content, IsError: isError}
}

// as returns a value that is a T or a *T.
func as[T any](v any) (*T, bool) {
	switch v := v.(type) {
	case T:
		return &v, true
	case *T:
		return v, v != nil
	}
	return nil, false
}

// AsTextContent returns a content that is text, and reports whether it is.
func AsTextContent(content any) (*TextContent, bool) { return as[TextContent](content) }

// AsImageContent returns a content that is an image, and reports whether it is.
func AsImageContent(content any) (*ImageContent, bool) { return as[ImageContent](content) }

// AsAudioContent returns a content that is a recording, and reports whether it is.
func AsAudioContent(content any) (*AudioContent, bool) { return as[AudioContent](content) }

// AsEmbeddedResource returns a content that is an embedded resource, and reports whether it is.
func AsEmbeddedResource(content any) (*EmbeddedResource, bool) {
	return as[EmbeddedResource](content)
}

// AsToolUseContent returns a content that is a request to call a tool, and reports whether it is.
func AsToolUseContent(content any) (*ToolUseContent, bool) { return as[ToolUseContent](content) }

// AsToolResultContent returns a content that is the result of a tool, and reports whether it is.
func AsToolResultContent(content any) (*ToolResultContent, bool) {
	return as[ToolResultContent](content)
}

// AsTextResourceContents returns contents that are text, and reports whether they are.
func AsTextResourceContents(content any) (*TextResourceContents, bool) {
	return as[TextResourceContents](content)
}

// AsBlobResourceContents returns contents that are not text, and reports whether they are.
func AsBlobResourceContents(content any) (*BlobResourceContents, bool) {
	return as[BlobResourceContents](content)
}

// GetTextFromContent returns the text of a [TextContent], of a pointer to one, or of a decoded
// JSON object with a member "text". For any other value it returns the value as formatted by
// package fmt.
func GetTextFromContent(content any) string {
	if t, ok := AsTextContent(content); ok {
		return t.Text
	}
	switch c := content.(type) {
	case map[string]any:
		if text, ok := c["text"].(string); ok {
			return text
		}
	case string:
		return c
	}
	return fmt.Sprintf("%v", content)
}

// MarshalContent encodes a content as JSON.
func MarshalContent(content Content) ([]byte, error) { return json.Marshal(content) }

// UnmarshalContent decodes a content.
func UnmarshalContent(data []byte) (Content, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case ContentTypeText:
		return decode[TextContent](data)
	case ContentTypeImage:
		return decode[ImageContent](data)
	case ContentTypeAudio:
		return decode[AudioContent](data)
	case ContentTypeLink:
		return decode[ResourceLink](data)
	case ContentTypeResource:
		return decode[EmbeddedResource](data)
	case ContentTypeToolUse:
		return decode[ToolUseContent](data)
	case ContentTypeToolResult:
		return decode[ToolResultContent](data)
	}
	return nil, fmt.Errorf("mcp: unknown content type %q", head.Type)
}

func decode[T Content](data []byte) (Content, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return v, nil
}

func unmarshalContents(list []json.RawMessage) ([]Content, error) {
	contents := make([]Content, len(list))
	for i, data := range list {
		content, err := UnmarshalContent(data)
		if err != nil {
			return nil, err
		}
		contents[i] = content
	}
	return contents, nil
}

// ParseContent decodes a content from a decoded JSON object.
func ParseContent(contentMap map[string]any) (Content, error) {
	data, err := json.Marshal(contentMap)
	if err != nil {
		return nil, err
	}
	return UnmarshalContent(data)
}

// unmarshalResourceContents decodes the contents of a resource.
func unmarshalResourceContents(data []byte) (ResourceContents, error) {
	var members struct {
		URI  *string
		Text *string
		Blob *string
	}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	switch {
	case members.URI == nil:
		return nil, ErrEmbeddedResourceMissingURI
	case members.Text != nil:
		var c TextResourceContents
		err := json.Unmarshal(data, &c)
		return c, err
	case members.Blob != nil:
		var c BlobResourceContents
		err := json.Unmarshal(data, &c)
		return c, err
	}
	return nil, ErrEmbeddedResourceMissingVariant
}

// ParseResourceContents decodes the contents of a resource from a decoded JSON object.
func ParseResourceContents(contentMap map[string]any) (ResourceContents, error) {
	data, err := json.Marshal(contentMap)
	if err != nil {
		return nil, err
	}
	return unmarshalResourceContents(data)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *EmbeddedResource) UnmarshalJSON(data []byte) error {
	type plain EmbeddedResource
	v := struct {
		*plain
		Resource json.RawMessage `json:"resource"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	resource, err := unmarshalResourceContents(v.Resource)
	e.Resource = resource
	return err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *ToolResultContent) UnmarshalJSON(data []byte) error {
	type plain ToolResultContent
	v := struct {
		*plain
		Content []json.RawMessage `json:"content"`
	}{plain: (*plain)(t)}
	err := json.Unmarshal(data, &v)
	if err == nil {
		t.Content, err = unmarshalContents(v.Content)
	}
	return err
}

// ParseAnnotations returns the annotations in a decoded JSON object, without members that are
// invalid. It returns nil if data is nil.
func ParseAnnotations(data map[string]any) *Annotations {
	if data == nil {
		return nil
	}
	a := &Annotations{LastModified: ExtractString(data, "lastModified")}
	if priority, ok := number(data["priority"]); ok {
		a.Priority = &priority
	}
	audience, _ := data["audience"].([]any)
	for _, v := range audience {
		if role, _ := v.(string); role == string(RoleUser) || role == string(RoleAssistant) {
			a.Audience = append(a.Audience, Role(role))
		}
	}
	return a
}

// ExtractString returns a member of a decoded JSON object that is a string, or "".
func ExtractString(data map[string]any, key string) string {
	s, _ := data[key].(string)
	return s
}

// ExtractMap returns a member of a decoded JSON object that is an object, or nil.
func ExtractMap(data map[string]any, key string) map[string]any {
	m, _ := data[key].(map[string]any)
	return m
}
