package mcp

import "fmt"

// CreateMessageRequest asks the model of the client for a message.
type CreateMessageRequest struct {
	Request
	CreateMessageParams `json:"params"`
}

// CreateMessageParams are the params of a [CreateMessageRequest].
type CreateMessageParams struct {
	Messages         []SamplingMessage `json:"messages"`
	ModelPreferences *ModelPreferences `json:"modelPreferences,omitempty"`
	SystemPrompt     string            `json:"systemPrompt,omitempty"`
	IncludeContext   string            `json:"includeContext,omitempty"`
	Temperature      float64           `json:"temperature,omitempty"`
	MaxTokens        int               `json:"maxTokens"`
	StopSequences    []string          `json:"stopSequences,omitempty"`
	Metadata         any               `json:"metadata,omitempty"`
	// Tools and ToolChoice require a client that declares tools for sampling.
	Tools      []Tool      `json:"tools,omitempty"`
	ToolChoice *ToolChoice `json:"toolChoice,omitempty"`
}

// SamplingMessage is a message to or from a model.
type SamplingMessage struct {
	Role Role `json:"role"`
	// Content is a [Content] or a []Content.
	Content any `json:"content"`
}

// CreateMessageResult is the message of the model.
type CreateMessageResult struct {
	Result
	SamplingMessage
	Model      string `json:"model"`
	StopReason string `json:"stopReason,omitempty"`
}

// ModelPreferences describes the model that a server prefers. A priority is between 0 and 1.
type ModelPreferences struct {
	Hints                []ModelHint `json:"hints,omitempty"`
	CostPriority         float64     `json:"costPriority,omitempty"`
	SpeedPriority        float64     `json:"speedPriority,omitempty"`
	IntelligencePriority float64     `json:"intelligencePriority,omitempty"`
}

// ModelHint is a part of the name of a model.
type ModelHint struct {
	Name string `json:"name,omitempty"`
}

// ToolChoice sets whether the model uses tools.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitempty"`
}

// ToolChoiceMode is a value of [ToolChoice].
type ToolChoiceMode string

// The values of [ToolChoice].
const (
	ToolChoiceModeAuto     ToolChoiceMode = "auto"
	ToolChoiceModeRequired ToolChoiceMode = "required"
	ToolChoiceModeNone     ToolChoiceMode = "none"
)

// ParseSamplingContent returns the content of a [SamplingMessage] that was decoded from JSON: a [Content] for
// an object, and a []Content for an array. It returns other values unchanged.
func ParseSamplingContent(content any) (any, error) {
	switch content := content.(type) {
	case map[string]any:
		return ParseContent(content)
	case []any:
		all := make([]Content, len(content))
		for i, item := range content {
			object, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("item %d of the content is not an object", i)
			}
			var err error
			if all[i], err = ParseContent(object); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return content, nil
}

// ListRootsRequest asks for the folders and files in which the server should work.
type ListRootsRequest struct {
	Request
}

// ListRootsResult contains the roots of the client.
type ListRootsResult struct {
	Result
	Roots []Root `json:"roots"`
}

// Root is a folder or file in which the server should work.
type Root struct {
	Meta *Meta  `json:"_meta,omitempty"`
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}
