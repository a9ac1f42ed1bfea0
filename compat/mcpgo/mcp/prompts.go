package mcp

import (
	"encoding/json"
	"net/http"
)

// Prompt is the definition of a prompt.
type Prompt struct {
	Meta        *Meta            `json:"_meta,omitempty"`
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
}

// GetName returns the name of the prompt.
func (p Prompt) GetName() string { return p.Name }

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptOption changes the definition of a prompt.
type PromptOption func(*Prompt)

// ArgumentOption changes an argument of a prompt.
type ArgumentOption func(*PromptArgument)

// NewPrompt returns the definition of a prompt.
func NewPrompt(name string, opts ...PromptOption) Prompt {
	p := Prompt{Name: name}
	for _, opt := range opts {
		opt(&p)
	}
	return p
}

// WithPromptDescription sets the description of a prompt.
func WithPromptDescription(description string) PromptOption {
	return func(p *Prompt) { p.Description = description }
}

// WithPromptTitle sets the title of a prompt.
func WithPromptTitle(title string) PromptOption { return func(p *Prompt) { p.Title = title } }

// WithPromptIcons sets the icons of a prompt.
func WithPromptIcons(icons ...Icon) PromptOption { return func(p *Prompt) { p.Icons = icons } }

// WithArgument adds an argument to a prompt.
func WithArgument(name string, opts ...ArgumentOption) PromptOption {
	return func(p *Prompt) {
		arg := PromptArgument{Name: name}
		for _, opt := range opts {
			opt(&arg)
		}
		p.Arguments = append(p.Arguments, arg)
	}
}

// ArgumentDescription sets the description of an argument.
func ArgumentDescription(desc string) ArgumentOption {
	return func(a *PromptArgument) { a.Description = desc }
}

// ArgumentTitle sets the title of an argument.
func ArgumentTitle(title string) ArgumentOption { return func(a *PromptArgument) { a.Title = title } }

// RequiredArgument makes an argument required. A request without it is refused before the handler
// is called; mcp-go leaves this check to the handler.
func RequiredArgument() ArgumentOption { return func(a *PromptArgument) { a.Required = true } }

// GetPromptRequest asks for the messages of a prompt.
type GetPromptRequest struct {
	Request
	Params GetPromptParams `json:"params"`
	// Header contains the HTTP headers of the request, or is nil.
	Header http.Header `json:"-"`
}

// GetPromptParams are the params of a [GetPromptRequest].
type GetPromptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
	Meta      *Meta             `json:"_meta,omitempty"`
}

// GetPromptResult contains the messages of a prompt.
type GetPromptResult struct {
	Result
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
}

// NewGetPromptResult returns a result with messages.
func NewGetPromptResult(description string, messages []PromptMessage) *GetPromptResult {
	return &GetPromptResult{Description: description, Messages: messages}
}

// PromptMessage is a message of a prompt.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// NewPromptMessage returns a message of a prompt.
func NewPromptMessage(role Role, content Content) PromptMessage { return PromptMessage{role, content} }

// UnmarshalJSON implements [json.Unmarshaler].
func (m *PromptMessage) UnmarshalJSON(data []byte) error {
	var v struct {
		Role    Role
		Content json.RawMessage
	}
	err := json.Unmarshal(data, &v)
	if err == nil {
		m.Role = v.Role
		m.Content, err = UnmarshalContent(v.Content)
	}
	return err
}
