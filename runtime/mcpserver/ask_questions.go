package mcpserver

import (
	"context"
	"errors"
	"maps"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Question is a request for the client and, when [Ask] has returned without
// error, its answer. [NewQuestion] makes one.
type Question[R wire.Value] struct {
	// Request is what is asked.
	Request peer.Request[R]
	// Options are those of the request; [peer.WithKey] names the question.
	Options []peer.CallOption
	// Answer is what came back.
	Answer R
}

// NewQuestion returns a question. The type of its answer follows from the
// request.
func NewQuestion[R wire.Value](req peer.Request[R], opts ...peer.CallOption) *Question[R] {
	return &Question[R]{Request: req, Options: opts}
}

func (q *Question[R]) ask(ctx context.Context, s *mcp.ServerSession) (err error) {
	q.Answer, err = peer.SendRequest(ctx, s, q.Request, q.Options...)
	return err
}

// Asker is a [Question] with an answer of any type.
type Asker interface {
	ask(ctx context.Context, s *mcp.ServerSession) error
}

var errNoSession = errors.New("ask: the context is not that of a server's handler")

// Ask puts several questions at once, and returns when all of them have their
// answers. A client of 2026-07-28 or later gets all that it has not answered
// yet together, in one round; others get one after another.
func Ask(ctx context.Context, questions ...Asker) error {
	session := mcp.SessionFromContext(ctx)
	if session == nil {
		return errNoSession
	}
	open := make(mcp.InputRequests)
	for _, q := range questions {
		err := q.ask(ctx, session)
		if ask, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
			maps.Copy(open, ask.Result.InputRequests)
		} else if err != nil {
			return err
		}
	}
	if len(open) > 0 {
		return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: open}}
	}
	return nil
}
