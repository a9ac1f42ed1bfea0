package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// DeclinedError says that the user did not answer a question. A tool that
// returns it tells the model so.
type DeclinedError struct {
	// Action says whether the user said no, or closed the question.
	Action mcp.ElicitAction
}

// Error implements error.
func (e *DeclinedError) Error() string {
	return fmt.Sprintf("the user did not answer the question: action %q", e.Action)
}

// ModelText is what a model is told.
func (e *DeclinedError) ModelText() string {
	if e.Action == mcp.ElicitActionDecline {
		return "The user declined to answer."
	}
	return "The user closed the question without an answer."
}

// Elicit asks the user to fill in a form, one field for each field of T, and
// returns it filled in:
//
//	type table struct {
//		Guests int    `json:"guests" minimum:"1" maximum:"12" default:"2"`
//		Name   string `json:"name" jsonschema:"Who is coming?"`
//	}
//
//	t, err := mcpserver.Elicit[table](ctx, session, "Which table?")
//
// See [connection.FormOf] for what T may be. The error is a [*DeclinedError]
// where the user did not answer; [mcp.ServerSession.ElicitForm] returns all
// outcomes alike. The options are those of the request.
func Elicit[T any](ctx context.Context, s *mcp.ServerSession, message string, opts ...peer.CallOption) (T, error) {
	var out T
	form, err := connection.FormOf[T]()
	if err != nil {
		return out, err
	}
	res, err := s.With(opts...).ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: form})
	if err != nil {
		return out, err
	}
	if res.Action != mcp.ElicitActionAccept {
		return out, &DeclinedError{Action: res.Action}
	}
	raw, err := json.Marshal(filledIn(&form, res.Content))
	if err != nil {
		return out, fmt.Errorf("read the answer to %q: %w", message, err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("read the answer to %q: %w", message, err)
	}
	return out, nil
}

// filledIn is what the fields of a form were filled in with. What else came back
// has not been judged by it, and [json.Unmarshal] would take it for a field that
// differs in case only.
func filledIn(form *mcp.RequestedSchema, content map[string]any) map[string]any {
	fields := make(map[string]any, len(form.Properties))
	for _, field := range form.Properties {
		if value, has := content[field.Name]; has {
			fields[field.Name] = value
		}
	}
	return fields
}
