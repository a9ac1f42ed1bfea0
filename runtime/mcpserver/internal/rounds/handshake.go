package rounds

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/request"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// askAndRepeat continues a request of a handshake revision whose handler has returned
// questions. It sends them as requests and calls the handler again with the responses.
func (r *Round) askAndRepeat(ctx context.Context, req peer.Message, ask *mcp.InputRequiredResult, handler Handler) (res wire.Value, err error) {
	err = r.repeatRequest(ctx, req, ask, func(req peer.Message) (err error) {
		request.Set(ctx, req)
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

// The pauses before a request without questions is repeated.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// repeatRequest answers the questions of a request, and calls it again with the responses,
// until there are no more questions.
func (r *Round) repeatRequest(ctx context.Context, req peer.Message, ask *mcp.InputRequiredResult, call func(peer.Message) error) error {
	pause := firstPause
	for range r.rules.opts.MaxRounds {
		switch {
		case !isRepeatable(req):
			return fmt.Errorf("%q asks for input, but a request of type %T cannot carry responses", req.Method(), req)
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

// collect sends the questions as requests, one after another.
func (r *Round) collect(ctx context.Context, questions mcp.InputRequests) (mcp.InputResponses, error) {
	session := mcp.SessionFromContext(ctx)
	if session == nil {
		return nil, errLost
	}
	var answers mcp.InputResponses
	keys := slices.Collect(maps.Keys(questions))
	sort.Strings(keys)
	for _, key := range keys {
		answer, err := ask(ctx, session, key, questions[key])
		if err != nil {
			return nil, err
		}
		put(&answers, key, answer)
	}
	return answers, nil
}

// ask sends one question as a request.
func ask(ctx context.Context, session *mcp.ServerSession, key string, question mcp.InputRequest) (mcp.InputResponse, error) {
	switch q := question.(type) {
	case *mcp.ElicitRequest:
		return peer.SendRequest(ctx, session, withElicitationID(q))
	case *mcp.CreateMessageRequest:
		return peer.SendRequest(ctx, session, q)
	case *mcp.ListRootsRequest:
		return peer.SendRequest(ctx, session, q)
	}
	return nil, fmt.Errorf("ask %q: cannot send a question of type %T", key, question)
}

// withElicitationID sets the elicitation id, which a URL elicitation requires if it is sent as
// a request.
func withElicitationID(q *mcp.ElicitRequest) *mcp.ElicitRequest {
	visit, ok := q.Params.(*mcp.ElicitRequestURLParams)
	if !ok || visit.ElicitationID != "" {
		return q
	}
	named := *visit
	named.ElicitationID = rand.Text()
	return &mcp.ElicitRequest{Params: &named}
}
