package main

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// addAsking registers the tools that ask the client for something while they run.
func addAsking(s *mcpserver.Server) {
	tool(s, "test_sampling", "Asks the client's model.", func(ctx context.Context, s *mcp.ServerSession, in struct {
		Prompt string `json:"prompt" jsonschema:"what to ask the model"`
	}) (string, error) {
		return sample(ctx, s, in.Prompt)
	})
	tool(s, "test_elicitation", "Asks the client's user.", func(ctx context.Context, s *mcp.ServerSession, in struct {
		Message string `json:"message" jsonschema:"what to ask the user"`
	}) (string, error) {
		return elicit(ctx, s, form(in.Message, field("username", &mcp.StringSchema{}), field("email", &mcp.StringSchema{})))
	})
	tool(s, "test_elicitation_sep1034_defaults", "Asks with defaults.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return elicit(ctx, s, form("Please check what is filled in.", defaults()...))
	})
	tool(s, "test_elicitation_sep1330_enums", "Asks for choices.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return elicit(ctx, s, form("Please choose.", choices()...))
	})
}

// sample asks the client's model.
func sample(ctx context.Context, s *mcp.ServerSession, prompt string) (string, error) {
	res, err := s.CreateMessage(ctx, question(prompt))
	if err != nil {
		return "", err
	}
	return said(res), nil
}

func question(prompt string) *mcp.CreateMessageRequest {
	return &mcp.CreateMessageRequest{
		MaxTokens: 100,
		Messages:  []mcp.SamplingMessage{mcp.UserText(prompt)},
	}
}

// said is what the model said, as far as it is text.
func said(res *mcp.CreateMessageResult) string {
	text := "LLM response:"
	for _, block := range res.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			text += " " + t.Text
		}
	}
	return text
}

// elicit asks the client's user.
func elicit(ctx context.Context, s *mcp.ServerSession, params *mcp.ElicitRequestFormParams) (string, error) {
	res, err := s.ElicitForm(ctx, params)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the user did %s: %v", res.Action, res.Content), nil
}

func form(message string, fields ...mcp.FormField) *mcp.ElicitRequestFormParams {
	return &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: mcp.RequestedSchema{Properties: fields}}
}

func field(name string, schema mcp.PrimitiveSchemaDefinition) mcp.FormField {
	return mcp.FormField{Name: name, Value: schema}
}

func defaults() []mcp.FormField {
	return []mcp.FormField{
		field("name", &mcp.StringSchema{Default: new("John Doe")}),
		field("age", &mcp.NumberSchema{Type: mcp.NumberTypeInteger, Default: new(30.0)}),
		field("score", &mcp.NumberSchema{Type: mcp.NumberTypeNumber, Default: new(95.5)}),
		field("status", &mcp.UntitledSingleSelectEnumSchema{Enum: []string{"active", "inactive", "pending"}, Default: new("active")}),
		field("verified", &mcp.BooleanSchema{Default: new(true)}),
	}
}

// choices are fields of every kind with options, which are those that the suite's
// client chooses from.
func choices() []mcp.FormField {
	options, legacy := []string{"option1", "option2", "option3"}, []string{"opt1", "opt2", "opt3"}
	labels := []string{"The first", "The second", "The third"}
	titled := make([]mcp.EnumOption, len(labels))
	for i, label := range labels {
		titled[i] = mcp.EnumOption{Const: fmt.Sprintf("value%d", i+1), Title: label}
	}
	return []mcp.FormField{
		field("untitledSingle", &mcp.UntitledSingleSelectEnumSchema{Enum: options}),
		field("titledSingle", &mcp.TitledSingleSelectEnumSchema{OneOf: titled}),
		field("legacyEnum", &mcp.LegacyTitledEnumSchema{Enum: legacy, EnumNames: labels}),
		field("untitledMulti", &mcp.UntitledMultiSelectEnumSchema{Items: mcp.UntitledMultiSelectEnumSchemaItems{Enum: options}}),
		field("titledMulti", &mcp.TitledMultiSelectEnumSchema{Items: mcp.TitledMultiSelectEnumSchemaItems{AnyOf: titled}}),
	}
}
