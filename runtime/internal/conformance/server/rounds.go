package main

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// addRounds registers the tools whose questions travel in their answers. The
// names of the questions are the suite's.
func addRounds(s *mcpserver.Server) {
	tool(s, "test_input_required_result_elicitation", "Asks for a name.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		name, err := askFor(ctx, s, "user_name", "What is your name?", "name")
		return "Hello, " + name + "!", err
	})
	tool(s, "test_input_required_result_sampling", "Asks the model.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		return sample(ctx, s.With(peer.WithKey("capital_question")), "What is the capital of France?")
	})
	tool(s, "test_input_required_result_list_roots", "Asks for the roots.", func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		res, err := s.With(peer.WithKey("client_roots")).ListRoots(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d roots, %v", len(res.Roots), uris(res)), nil
	})
	tool(s, "test_input_required_result_request_state", "Asks and has something to remember.", confirm)
	tool(s, "test_input_required_result_tampered_state", "Asks and has something to remember that nobody may change.", confirm)
	tool(s, "test_input_required_result_multiple_inputs", "Asks three things at once.", askThree)
	tool(s, "test_input_required_result_multi_round", "Asks twice.", askTwice)
	tool(s, "test_input_required_result_capabilities", "Asks for no more than the client can do.", askWhatIsThere)
}

// remember makes the request carry state from round to round.
func remember(ctx context.Context) error {
	_, err := mcpserver.Once(ctx, "begin", func(context.Context, string) (string, error) { return "begun", nil })
	return err
}

// askFor asks the user for one field of text.
func askFor(ctx context.Context, s *mcp.ServerSession, key, message, name string) (string, error) {
	params := form(message, field(name, &mcp.StringSchema{}))
	params.RequestedSchema.Required = []string{name}
	res, err := s.With(peer.WithKey(key)).ElicitForm(ctx, params)
	if err != nil {
		return "", err
	}
	text, _ := res.Content[name].(string)
	return text, nil
}

func confirm(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	if err := remember(ctx); err != nil {
		return "", err
	}
	params := form("Is that all right?", field("ok", &mcp.BooleanSchema{}))
	params.RequestedSchema.Required = []string{"ok"}
	if _, err := s.With(peer.WithKey("confirm")).ElicitForm(ctx, params); err != nil {
		return "", err
	}
	return "state-ok", nil
}

func askThree(ctx context.Context, _ *mcp.ServerSession, _ none) (string, error) {
	if err := remember(ctx); err != nil {
		return "", err
	}
	params := form("What is your name?", field("name", &mcp.StringSchema{}))
	name := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: params}, peer.WithKey("user_name"))
	greeting := mcpserver.NewQuestion(question("Think of a greeting."), peer.WithKey("greeting"))
	roots := mcpserver.NewQuestion(&mcp.ListRootsRequest{}, peer.WithKey("client_roots"))
	if err := mcpserver.Ask(ctx, name, greeting, roots); err != nil {
		return "", err
	}
	return fmt.Sprintf("%v, %s, %v", name.Answer.Content["name"], said(greeting.Answer), uris(roots.Answer)), nil
}

func askTwice(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	if err := remember(ctx); err != nil {
		return "", err
	}
	name, err := askFor(ctx, s, "step1", "What is your name?", "name")
	if err != nil {
		return "", err
	}
	color, err := askFor(ctx, s, "step2", "Which colour do you like?", "color")
	return name + " likes " + color, err
}

func askWhatIsThere(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	var questions []mcpserver.Asker
	if s.HasClientCapability(&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}) {
		questions = append(questions, mcpserver.NewQuestion(question("What is the capital of France?"), peer.WithKey("capital_question")))
	}
	if s.HasClientCapability(&mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}) {
		params := form("What is your name?", field("name", &mcp.StringSchema{}))
		questions = append(questions, mcpserver.NewQuestion(&mcp.ElicitRequest{Params: params}, peer.WithKey("user_name")))
	}
	if err := mcpserver.Ask(ctx, questions...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d answers", len(questions)), nil
}

func uris(res *mcp.ListRootsResult) []string {
	var list []string
	for _, r := range res.Roots {
		list = append(list, r.URI)
	}
	return list
}
