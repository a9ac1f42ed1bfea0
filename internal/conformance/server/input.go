package main

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// addInputTools registers the tools that request input from the client.
func addInputTools(s *mcpserver.Server) {
	tool(s, "test_sampling", "Requests sampling.", func(ctx context.Context, s *mcp.ServerSession, in struct {
		Prompt string `json:"prompt" jsonschema:"the message to the model"`
	}) (string, error) {
		return sample(ctx, s, in.Prompt)
	})
	tool(s, "test_elicitation", "Elicits a user name and an address.", func(ctx context.Context, s *mcp.ServerSession, in struct {
		Message string `json:"message" jsonschema:"the message to the user"`
	}) (string, error) {
		return elicit(ctx, s, form(in.Message, field("username", &mcp.StringSchema{}), field("email", &mcp.StringSchema{})))
	})
	tool(s, "test_elicitation_sep1034_defaults", "Elicits values with defaults.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return elicit(ctx, s, form("Please check the values.", defaults()...))
	})
	tool(s, "test_elicitation_sep1330_enums", "Elicits choices.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return elicit(ctx, s, form("Please choose.", choices()...))
	})
}

// addInputRequiredTools registers the tools that request input with results. The suite
// defines the keys of the input requests.
func addInputRequiredTools(s *mcpserver.Server) {
	tool(s, "test_input_required_result_elicitation", "Elicits a name.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		name, err := elicitText(ctx, s, "user_name", "What is your name?", "name")
		return "Hello, " + name + "!", err
	})
	tool(s, "test_input_required_result_sampling", "Requests sampling.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return sample(ctx, s.With(peer.WithKey("capital_question")), "What is the capital of France?")
	})
	tool(s, "test_input_required_result_list_roots", "Requests the roots.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		res, err := s.With(peer.WithKey("client_roots")).ListRoots(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d roots, %v", len(res.Roots), uris(res)), nil
	})
	tool(s, "test_input_required_result_request_state", "Elicits a confirmation, with state.", confirm)
	tool(s, "test_input_required_result_tampered_state", "Elicits a confirmation, with state that the client must not change.", confirm)
	tool(s, "test_input_required_result_multiple_inputs", "Sends three input requests in one result.", requestThree)
	tool(s, "test_input_required_result_multi_round", "Sends two input requests, one after the other.", elicitTwice)
	tool(s, "test_input_required_result_capabilities", "Requests only input that the client supports.", requestSupported)
}

// sample requests sampling, and returns the text of the response.
func sample(ctx context.Context, s *mcp.ServerSession, prompt string) (string, error) {
	res, err := s.CreateMessage(ctx, samplingRequest(prompt))
	if err != nil {
		return "", err
	}
	return textOf(res), nil
}

// samplingRequest returns a sampling request with one message.
func samplingRequest(prompt string) *mcp.CreateMessageRequest {
	return &mcp.CreateMessageRequest{
		MaxTokens: 100,
		Messages:  []mcp.SamplingMessage{mcp.UserText(prompt)},
	}
}

// textOf returns the text of a sampling result.
func textOf(res *mcp.CreateMessageResult) string {
	text := "LLM response:"
	for _, block := range res.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			text += " " + t.Text
		}
	}
	return text
}

// elicit elicits a form, and returns a text with the response.
func elicit(ctx context.Context, s *mcp.ServerSession, params *mcp.ElicitRequestFormParams) (string, error) {
	res, err := s.ElicitForm(ctx, params)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("action %s: %v", res.Action, res.Content), nil
}

func form(message string, fields ...mcp.FormField) *mcp.ElicitRequestFormParams {
	return &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: mcp.RequestedSchema{Properties: fields}}
}

func field(name string, schema mcp.PrimitiveSchemaDefinition) mcp.FormField {
	return mcp.FormField{Name: name, Schema: schema}
}

// defaults returns a field with a default for each type.
func defaults() []mcp.FormField {
	return []mcp.FormField{
		field("name", &mcp.StringSchema{Default: new("John Doe")}),
		field("age", &mcp.NumberSchema{Type: mcp.NumberTypeInteger, Default: new(30.0)}),
		field("score", &mcp.NumberSchema{Type: mcp.NumberTypeNumber, Default: new(95.5)}),
		field("status", &mcp.UntitledSingleSelectEnumSchema{Enum: []string{"active", "inactive", "pending"}, Default: new("active")}),
		field("verified", &mcp.BooleanSchema{Default: new(true)}),
	}
}

// choices returns a field of each kind with options. The suite's client chooses from
// these options.
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

// keepState stores a state that the client returns with its responses.
func keepState(ctx context.Context) error {
	_, err := mcpserver.Once(ctx, "begin", func(context.Context, string) (string, error) { return "begun", nil })
	return err
}

// elicitText elicits one text.
func elicitText(ctx context.Context, s *mcp.ServerSession, key, message, name string) (string, error) {
	params := form(message, field(name, &mcp.StringSchema{}))
	params.RequestedSchema.Required = []string{name}
	res, err := s.With(peer.WithKey(key)).ElicitForm(ctx, params)
	if err != nil {
		return "", err
	}
	text, _ := res.Content[name].(string)
	return text, nil
}

// confirm elicits a confirmation, with state.
func confirm(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	if err := keepState(ctx); err != nil {
		return "", err
	}
	params := form("Is this correct?", field("ok", &mcp.BooleanSchema{}))
	params.RequestedSchema.Required = []string{"ok"}
	if _, err := s.With(peer.WithKey("confirm")).ElicitForm(ctx, params); err != nil {
		return "", err
	}
	return "state-ok", nil
}

// requestThree sends three input requests in one result.
func requestThree(ctx context.Context, _ *mcp.ServerSession, _ none) (string, error) {
	if err := keepState(ctx); err != nil {
		return "", err
	}
	params := form("What is your name?", field("name", &mcp.StringSchema{}))
	name := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: params}, peer.WithKey("user_name"))
	greeting := mcpserver.NewQuestion(samplingRequest("Think of a greeting."), peer.WithKey("greeting"))
	roots := mcpserver.NewQuestion(&mcp.ListRootsRequest{}, peer.WithKey("client_roots"))
	if err := mcpserver.Ask(ctx, name, greeting, roots); err != nil {
		return "", err
	}
	return fmt.Sprintf("%v, %s, %v", name.Answer.Content["name"], textOf(greeting.Answer), uris(roots.Answer)), nil
}

// elicitTwice elicits two texts, one after the other.
func elicitTwice(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	if err := keepState(ctx); err != nil {
		return "", err
	}
	name, err := elicitText(ctx, s, "step1", "What is your name?", "name")
	if err != nil {
		return "", err
	}
	color, err := elicitText(ctx, s, "step2", "Which colour do you like?", "color")
	return name + " likes " + color, err
}

// requestSupported sends the input requests that the client supports, in one result.
func requestSupported(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	var questions []mcpserver.Asker
	if s.HasClientCapability(&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}) {
		questions = append(questions, mcpserver.NewQuestion(samplingRequest("What is the capital of France?"), peer.WithKey("capital_question")))
	}
	if s.HasClientCapability(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}) {
		params := form("What is your name?", field("name", &mcp.StringSchema{}))
		questions = append(questions, mcpserver.NewQuestion(&mcp.ElicitRequest{Params: params}, peer.WithKey("user_name")))
	}
	if err := mcpserver.Ask(ctx, questions...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d responses", len(questions)), nil
}

func uris(res *mcp.ListRootsResult) []string {
	var list []string
	for _, r := range res.Roots {
		list = append(list, r.URI)
	}
	return list
}
