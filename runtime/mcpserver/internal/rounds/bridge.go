package rounds

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// bridge goes on with a request whose answer cannot ask: what the handler wants
// to know is asked at once, and the handler called again.
func (r *Round) bridge(ctx context.Context, req peer.Message, ask *mcp.InputRequiredResult, handler Handler) (res wire.Value, err error) {
	err = r.converse(ctx, req, ask, func(req peer.Message) (err error) {
		connection.SetRequest(ctx, req)
		res, err = handler(ctx, req)
		if ask := asks(res, err); ask != nil {
			return &mcp.InputRequiredError{Result: ask}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// The pauses where nothing is asked but that the request come again.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// converse answers what a request asks for, and calls again with the answers
// until nothing is asked any more.
func (r *Round) converse(ctx context.Context, req peer.Message, ask *mcp.InputRequiredResult, call func(peer.Message) error) error {
	pause := firstPause
	for range r.rules.opts.MaxRounds {
		switch {
		case !comesAgain(req):
			return fmt.Errorf("%q asks for input, and a request of type %T cannot bring it", req.Method(), req)
		case len(ask.InputRequests) == 0 && ask.RequestState == nil:
			return errNothing
		}
		answers, err := r.collect(ctx, ask.InputRequests)
		if err == nil && answers == nil {
			err = sleep(ctx, pause)
			pause = min(2*pause, lastPause)
		}
		if err != nil {
			return err
		}
		req = with(req, answers, ask.RequestState)
		err = call(req)
		if ask = asks(nil, err); ask == nil {
			return err
		}
	}
	return errRounds
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// collect asks the client one question after another, by requests.
func (r *Round) collect(ctx context.Context, questions mcp.InputRequests) (mcp.InputResponses, error) {
	session := mcp.SessionFromContext(ctx)
	if session == nil {
		return nil, errLost
	}
	var answers mcp.InputResponses
	for _, key := range slices.Sorted(maps.Keys(questions)) {
		answer, err := ask(ctx, session, key, questions[key])
		if err != nil {
			return nil, err
		}
		put(&answers, key, answer)
	}
	return answers, nil
}

// ask asks one question by a request.
func ask(ctx context.Context, session *mcp.ServerSession, key string, question mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := question.(type) {
	case *mcp.ElicitRequest:
		return peer.SendRequest(ctx, session, identified(q))
	case *mcp.CreateMessageRequest:
		return peer.SendRequest(ctx, session, q)
	case *mcp.ListRootsRequest:
		return peer.SendRequest(ctx, session, q)
	}
	return nil, fmt.Errorf("ask %q: a question of type %T has no way to the client", key, question)
}

// identified gives a question that is a visit the id that it needs where it
// travels on its own.
func identified(q *mcp.ElicitRequest) *mcp.ElicitRequest {
	visit, ok := q.Params.(*mcp.ElicitRequestURLParams)
	if !ok || visit.ElicitationID != "" {
		return q
	}
	named := *visit
	named.ElicitationID = rand.Text()
	return &mcp.ElicitRequest{Params: &named}
}
