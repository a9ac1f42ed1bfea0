package mcptest

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// maxRounds is how often a server may ask for input before it answers.
const maxRounds = 10

// answering is a way to the server that answers the questions which come in
// place of a result.
type answering struct {
	peer.Outbound
	mux *peer.Mux
}

// Call implements [peer.Outbound].
func (a *answering) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	for range maxRounds {
		err := a.Outbound.Call(ctx, req, res, opts...)
		ask, asks := errors.AsType[*mcp.InputRequiredError](err)
		if !asks {
			return err
		}
		answers, err := a.answer(ctx, ask.Result.InputRequests)
		if err != nil {
			return err
		}
		again := mcp.WithInput(req, answers, ask.Result.RequestState)
		if again == nil {
			return ask
		}
		req = again
	}
	return fmt.Errorf("call %q: the server has asked for input %d times", req.Method(), maxRounds)
}

// answer has questions answered by the client's handlers.
func (a *answering) answer(ctx context.Context, questions mcp.InputRequests) (mcp.InputResponses, error) {
	if len(questions) == 0 {
		return nil, nil // the server only wants to be asked again
	}
	answers := mcp.InputResponses{}
	for key, q := range questions {
		req, ok := q.(peer.Message)
		if !ok {
			return nil, fmt.Errorf("answer the question %q: it is of no kind that the revision knows", key)
		}
		var route peer.Route
		if a.mux != nil {
			route, _ = a.mux.Route(req.Method())
		}
		if route.Serve == nil {
			return nil, fmt.Errorf("answer the question %q: there is no handler for %q", key, req.Method())
		}
		res, err := route.Serve(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("answer the question %q: %w", key, err)
		}
		if answers[key], ok = res.(mcp.InputResponse); !ok {
			return nil, fmt.Errorf("answer the question %q: a %T is no answer", key, res)
		}
	}
	return answers, nil
}
