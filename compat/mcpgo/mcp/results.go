package mcp

import (
	"encoding/json"
	"fmt"
)

// CallToolResult is the result of a tool. An error of the tool is a result with IsError, so that
// the model receives it.
type CallToolResult struct {
	Result
	Content []Content `json:"content"`
	// StructuredContent is any value that can be encoded as JSON, or nil.
	StructuredContent any `json:"structuredContent,omitempty"`
	// RawStructuredContent replaces StructuredContent. It is set if the result was decoded.
	RawStructuredContent json.RawMessage `json:"-"`
	IsError              bool            `json:"isError,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (r CallToolResult) MarshalJSON() ([]byte, error) {
	if r.Content == nil {
		r.Content = []Content{}
	}
	if r.RawStructuredContent != nil {
		r.StructuredContent = r.RawStructuredContent
	}
	type plain CallToolResult
	return json.Marshal(plain(r))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *CallToolResult) UnmarshalJSON(data []byte) error {
	type plain CallToolResult
	v := struct {
		*plain
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent"`
	}{plain: (*plain)(r)}
	err := json.Unmarshal(data, &v)
	if err != nil {
		return err
	}
	if r.Content, err = unmarshalContents(v.Content); err != nil {
		return err
	}
	r.RawStructuredContent, r.StructuredContent = v.StructuredContent, nil
	if v.StructuredContent == nil {
		return nil
	}
	return json.Unmarshal(v.StructuredContent, &r.StructuredContent)
}

func result(content ...Content) *CallToolResult { return &CallToolResult{Content: content} }

// NewToolResultText returns a result that is text.
func NewToolResultText(text string) *CallToolResult { return result(NewTextContent(text)) }

// NewToolResultError returns a result that reports an error to the model.
func NewToolResultError(text string) *CallToolResult {
	r := NewToolResultText(text)
	r.IsError = true
	return r
}

// NewToolResultErrorf is like [NewToolResultError] with a format of package fmt.
func NewToolResultErrorf(format string, a ...any) *CallToolResult {
	return NewToolResultError(fmt.Sprintf(format, a...))
}

// NewToolResultErrorFromErr is like [NewToolResultError] and appends the text of err, which may be
// nil.
func NewToolResultErrorFromErr(text string, err error) *CallToolResult {
	if err != nil {
		text = fmt.Sprintf("%s: %v", text, err)
	}
	return NewToolResultError(text)
}

// NewToolResultStructured returns a result with structured content, and with text for clients that
// do not support it.
func NewToolResultStructured(structured any, fallbackText string) *CallToolResult {
	r := NewToolResultText(fallbackText)
	r.StructuredContent = structured
	return r
}

// NewToolResultStructuredOnly returns a result with structured content, whose text is its JSON.
func NewToolResultStructuredOnly(structured any) *CallToolResult {
	data, err := json.Marshal(structured)
	if err != nil {
		return NewToolResultErrorFromErr("encode structured content", err)
	}
	return NewToolResultStructured(structured, string(data))
}

// NewToolResultJSON is like [NewToolResultStructuredOnly] but returns the error of the encoding.
func NewToolResultJSON[T any](data T) (*CallToolResult, error) {
	encoded, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("mcp: encode result: %w", err)
	}
	return NewToolResultStructured(data, string(encoded)), nil
}

// NewToolResultImage returns a result with text and an image, whose data is base64.
func NewToolResultImage(text, imageData, mimeType string) *CallToolResult {
	return result(NewTextContent(text), NewImageContent(imageData, mimeType))
}

// NewToolResultAudio returns a result with text and a recording, whose data is base64.
func NewToolResultAudio(text, audioData, mimeType string) *CallToolResult {
	return result(NewTextContent(text), NewAudioContent(audioData, mimeType))
}

// NewToolResultResource returns a result with text and the contents of a resource.
func NewToolResultResource(text string, resource ResourceContents) *CallToolResult {
	return result(NewTextContent(text), NewEmbeddedResource(resource))
}
