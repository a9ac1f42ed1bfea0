package mcp

import (
	"encoding/json"
	"fmt"
)

// Tool is the definition of a tool.
type Tool struct {
	Meta        *Meta  `json:"_meta,omitempty"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// InputSchema is the schema of the arguments, unless RawInputSchema is set.
	InputSchema ToolInputSchema `json:"inputSchema"`
	// RawInputSchema replaces InputSchema, whose Type must then be empty.
	RawInputSchema json.RawMessage `json:"-"`
	// OutputSchema is the schema of the structured content, unless RawOutputSchema is set. There
	// is none if its Type is empty.
	OutputSchema ToolOutputSchema `json:"outputSchema,omitzero"`
	// RawOutputSchema replaces OutputSchema, whose Type must then be empty.
	RawOutputSchema json.RawMessage `json:"-"`
	Annotations     ToolAnnotation  `json:"annotations"`
	// DeferLoading is sent as the member "defer_loading".
	DeferLoading bool   `json:"defer_loading,omitempty"`
	Icons        []Icon `json:"icons,omitempty"`
	// Execution describes how the tool can be run, or is nil.
	Execution *ToolExecution `json:"execution,omitempty"`
}

// GetName returns the name of the tool.
func (t Tool) GetName() string { return t.Name }

// MarshalJSON implements [json.Marshaler]. It fails if a schema is given in both forms.
func (t Tool) MarshalJSON() ([]byte, error) {
	var input, output any = t.InputSchema, nil
	if t.RawInputSchema != nil {
		if t.InputSchema.Type != "" {
			return nil, fmt.Errorf("mcp: tool %q has both InputSchema and RawInputSchema", t.Name)
		}
		input = t.RawInputSchema
	}
	switch {
	case t.RawOutputSchema != nil && t.OutputSchema.Type != "":
		return nil, fmt.Errorf("mcp: tool %q has both OutputSchema and RawOutputSchema", t.Name)
	case t.RawOutputSchema != nil:
		output = t.RawOutputSchema
	case t.OutputSchema.Type != "":
		output = t.OutputSchema
	}
	type plain Tool
	return json.Marshal(struct {
		plain
		InputSchema  any `json:"inputSchema"`
		OutputSchema any `json:"outputSchema,omitempty"`
	}{plain(t), input, output})
}

// ToolAnnotation contains hints about the behaviour of a tool. A hint that is nil is not sent.
type ToolAnnotation struct {
	Title string `json:"title,omitempty"`
	// ReadOnlyHint is true if the tool changes nothing.
	ReadOnlyHint *bool `json:"readOnlyHint,omitempty"`
	// DestructiveHint is true if the tool may delete or overwrite data.
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	// IdempotentHint is true if a repeated call changes nothing more.
	IdempotentHint *bool `json:"idempotentHint,omitempty"`
	// OpenWorldHint is true if the tool interacts with external systems.
	OpenWorldHint *bool `json:"openWorldHint,omitempty"`
}

// ToolExecution describes how a tool can be run.
type ToolExecution struct {
	TaskSupport TaskSupport `json:"taskSupport,omitempty"`
}

// TaskSupport reports whether calls of a tool can be tasks.
type TaskSupport string

// The kinds of support for tasks.
const (
	TaskSupportForbidden TaskSupport = "forbidden"
	TaskSupportOptional  TaskSupport = "optional"
	TaskSupportRequired  TaskSupport = "required"
)

// ToolArgumentsSchema is a JSON Schema of an object.
type ToolArgumentsSchema struct {
	Defs map[string]any `json:"$defs,omitempty"`
	// Type is "object".
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required,omitempty"`
	// AdditionalProperties is a boolean, a schema, or nil.
	AdditionalProperties any `json:"additionalProperties,omitempty"`
}

// ToolInputSchema is the schema of the arguments of a tool.
type ToolInputSchema ToolArgumentsSchema

// ToolOutputSchema is the schema of the structured content of a tool's results.
type ToolOutputSchema ToolArgumentsSchema

// MarshalJSON implements [json.Marshaler]. The members "properties" and "required" are always
// present.
func (s ToolArgumentsSchema) MarshalJSON() ([]byte, error) {
	if s.Properties == nil {
		s.Properties = map[string]any{}
	}
	if s.Required == nil {
		s.Required = []string{}
	}
	return json.Marshal(struct {
		Defs                 map[string]any `json:"$defs,omitempty"`
		AdditionalProperties any            `json:"additionalProperties,omitempty"`
		Properties           map[string]any `json:"properties"`
		Required             []string       `json:"required"`
		Type                 string         `json:"type"`
	}{s.Defs, s.AdditionalProperties, s.Properties, s.Required, s.Type})
}

// UnmarshalJSON implements [json.Unmarshaler]. Definitions may be in "$defs" or "definitions".
func (s *ToolArgumentsSchema) UnmarshalJSON(data []byte) error {
	type plain ToolArgumentsSchema
	v := struct {
		*plain
		Definitions map[string]any `json:"definitions"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	if s.Defs == nil {
		s.Defs = v.Definitions
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (s ToolInputSchema) MarshalJSON() ([]byte, error) {
	return ToolArgumentsSchema(s).MarshalJSON()
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *ToolInputSchema) UnmarshalJSON(data []byte) error {
	return (*ToolArgumentsSchema)(s).UnmarshalJSON(data)
}

// MarshalJSON implements [json.Marshaler].
func (s ToolOutputSchema) MarshalJSON() ([]byte, error) {
	return ToolArgumentsSchema(s).MarshalJSON()
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *ToolOutputSchema) UnmarshalJSON(data []byte) error {
	return (*ToolArgumentsSchema)(s).UnmarshalJSON(data)
}

// ToolOption changes the definition of a tool.
type ToolOption func(*Tool)

// NewTool returns the definition of a tool. Its schema is an object without properties, and its
// hints have the values that the protocol defines for absent hints, until options change them.
func NewTool(name string, opts ...ToolOption) Tool {
	tool := Tool{
		Name:        name,
		InputSchema: ToolInputSchema{Type: "object", Properties: map[string]any{}},
		Annotations: ToolAnnotation{
			ReadOnlyHint:    ToBoolPtr(false),
			DestructiveHint: ToBoolPtr(true),
			IdempotentHint:  ToBoolPtr(false),
			OpenWorldHint:   ToBoolPtr(true),
		},
	}
	for _, opt := range opts {
		opt(&tool)
	}
	return tool
}

// NewToolWithRawSchema returns the definition of a tool with a given schema.
func NewToolWithRawSchema(name, description string, schema json.RawMessage) Tool {
	return Tool{Name: name, Description: description, RawInputSchema: schema}
}

// WithDescription sets the description of a tool.
func WithDescription(description string) ToolOption {
	return func(t *Tool) { t.Description = description }
}

// WithToolTitle sets the title of a tool.
func WithToolTitle(title string) ToolOption { return func(t *Tool) { t.Title = title } }

// WithToolIcons sets the icons of a tool.
func WithToolIcons(icons ...Icon) ToolOption { return func(t *Tool) { t.Icons = icons } }

// WithDeferLoading sets DeferLoading of a tool.
func WithDeferLoading(deferLoading bool) ToolOption {
	return func(t *Tool) { t.DeferLoading = deferLoading }
}

// WithTaskSupport sets whether calls of a tool can be tasks.
func WithTaskSupport(support TaskSupport) ToolOption {
	return func(t *Tool) {
		if t.Execution == nil {
			t.Execution = &ToolExecution{}
		}
		t.Execution.TaskSupport = support
	}
}

// WithToolAnnotation sets all annotations of a tool.
func WithToolAnnotation(annotation ToolAnnotation) ToolOption {
	return func(t *Tool) { t.Annotations = annotation }
}

// WithTitleAnnotation sets the title in the annotations of a tool.
func WithTitleAnnotation(title string) ToolOption {
	return func(t *Tool) { t.Annotations.Title = title }
}

// WithReadOnlyHintAnnotation sets the hint that a tool changes nothing.
func WithReadOnlyHintAnnotation(value bool) ToolOption {
	return func(t *Tool) { t.Annotations.ReadOnlyHint = &value }
}

// WithDestructiveHintAnnotation sets the hint that a tool may delete or overwrite data.
func WithDestructiveHintAnnotation(value bool) ToolOption {
	return func(t *Tool) { t.Annotations.DestructiveHint = &value }
}

// WithIdempotentHintAnnotation sets the hint that a repeated call changes nothing more.
func WithIdempotentHintAnnotation(value bool) ToolOption {
	return func(t *Tool) { t.Annotations.IdempotentHint = &value }
}

// WithOpenWorldHintAnnotation sets the hint that a tool interacts with external systems.
func WithOpenWorldHintAnnotation(value bool) ToolOption {
	return func(t *Tool) { t.Annotations.OpenWorldHint = &value }
}

// WithSchemaAdditionalProperties sets "additionalProperties" of the schema of the arguments: a
// boolean or a schema.
func WithSchemaAdditionalProperties(schema any) ToolOption {
	return func(t *Tool) { t.InputSchema.AdditionalProperties = schema }
}

// WithRawInputSchema sets the schema of the arguments. It does not remove properties that other
// options have set: they must not be used together.
func WithRawInputSchema(schema json.RawMessage) ToolOption {
	return func(t *Tool) {
		t.RawInputSchema = schema
		t.InputSchema.Type = ""
	}
}

// WithRawOutputSchema sets the schema of the structured content.
func WithRawOutputSchema(schema json.RawMessage) ToolOption {
	return func(t *Tool) {
		t.RawOutputSchema = schema
		t.OutputSchema.Type = ""
	}
}
