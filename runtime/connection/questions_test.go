package connection_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// servingRound is a round that also implements Serve.
type servingRound interface {
	connection.Round
	Serve(context.Context, peer.Message, func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error)
}

// roundsOf implements Rounds with the Serve of each round.
type roundsOf func() servingRound

func (f roundsOf) Begin(context.Context, *peer.Inbound) connection.Round { return f() }

func (f roundsOf) Serve(ctx context.Context, _ *peer.Inbound, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	return connection.RoundFromContext(ctx).(servingRound).Serve(ctx, req, handler)
}

// testRound answers questions from a map, and leaves the others open.
type testRound struct {
	answers map[string]string
	open    []string
	ended   bool
}

func (r *testRound) End() { r.ended = true }

func (r *testRound) Retry(_ context.Context, _ peer.Message, err error, _ func() error) error {
	return err
}

func (r *testRound) Ask(_ context.Context, q *connection.Question, res wire.Value) error {
	if a, has := r.answers[q.Method()]; has {
		if err := wire.Decode([]byte(a), nil, res); err != nil {
			return err
		}
		return q.Check(res)
	}
	r.open = append(r.open, q.Method()+q.Key)
	return &mcp.InputRequiredError{}
}

func (r *testRound) Serve(ctx context.Context, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	if have := connection.RoundFromContext(ctx); have != r {
		return nil, fmt.Errorf("unexpected round %v", have)
	}
	res, err := handler(ctx, req)
	if len(r.open) == 0 {
		return res, err
	}
	return &mcp.InputRequiredResult{RequestState: new(strings.Join(r.open, " "))}, nil
}

func TestQuestionsInResult(t *testing.T) {
	var answers map[string]string
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Rounds = roundsOf(func() servingRound { return &testRound{answers: answers} })
	})
	serve := func(conn *connection.Connection, back *channel) (wire.Value, error) {
		metadata := ""
		if conn.Revision().String() == "2026-07-28" {
			metadata = `,"_meta":{` + metadataMembers("2026-07-28") + `}`
		}
		reply, err := k.Serve(t.Context(), conn, request("tools/call", `{"name":"ask"`+metadata+`}`, back))
		return reply.Result, err
	}
	back := &channel{answer: `{"action":"accept"}`}
	modern := connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), nil)
	res, err := serve(modern, back)
	require.NoError(t, err)
	require.Equal(t, mcp.MethodElicit, *res.(*mcp.InputRequiredResult).RequestState)

	answers = map[string]string{mcp.MethodElicit: `{"action":"decline"}`}
	res, err = serve(modern, back)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("decline"), res)
	require.Empty(t, back.take())

	_, err = serve(connection.NewForRequest(mcp.Revision20260728, nil, &mcp.ClientCapabilities{}, nil), back)
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapability, peer.AsError(err).Code)

	res, err = serve(connection.NewForRequest(mcp.Revision20251125, nil, allCapabilities(), nil), back)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("accept"), res)
	require.Len(t, back.take(), 1, "a handshake revision sends a request")
}

func TestRoundBeginsOnDemand(t *testing.T) {
	var begun int
	var left context.Context
	rounds := roundsOf(func() servingRound { begun++; return new(testRound) })
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if left = ctx; req.Name == "asks" {
				require.Same(t, connection.RoundFromContext(ctx), connection.RoundFromContext(ctx))
			}
			return mcp.TextResult("done"), nil
		})
		o.Rounds = passingRounds{rounds}
	})
	for i, name := range []string{"quiet", "asks"} {
		begun = 0
		conn := connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), nil)
		in := request("tools/call", "", nil)
		in.Value, in.Params = &mcp.CallToolRequest{Name: name}, nil
		_, err := k.Serve(t.Context(), conn, in)
		require.NoError(t, err)
		require.Equal(t, i, begun)
		require.Equal(t, i == 1, connection.EndRound(left) != nil, "EndRound returns the round if it has begun")
		_, err = mcp.SessionFromContext(left).ListRoots(t.Context())
		require.ErrorAs(t, err, new(*peer.NoBackChannelError))
		require.Equal(t, i, begun)
		require.True(t, connection.RoundFromContext(left).(*testRound).ended)
	}
	require.Nil(t, connection.EndRound(t.Context()))
}

// passingRounds implements Rounds whose Serve only calls the handler.
type passingRounds struct{ connection.Rounds }

func (passingRounds) Serve(ctx context.Context, _ *peer.Inbound, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	return handler(ctx, req)
}

func TestQuestionKey(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := mcp.SessionFromContext(ctx).With(peer.WithKey("!")).ListRoots(ctx)
			return nil, err
		})
		o.Rounds = roundsOf(func() servingRound { return new(testRound) })
	})
	in := request("tools/call", `{"name":"ask"}`, nil)
	in.Value, in.Params = &mcp.CallToolRequest{Name: "ask"}, nil
	reply, err := k.Serve(t.Context(), connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), nil), in)
	require.NoError(t, err)
	require.Equal(t, "roots/list!", *reply.Result.(*mcp.InputRequiredResult).RequestState)
	require.Nil(t, connection.RoundFromContext(t.Context()))
}

// repeatingRound is a round that calls the handler a second time, with state.
type repeatingRound struct{ connection.Round }

func (repeatingRound) Serve(ctx context.Context, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	_, err := handler(ctx, req)
	ask, asks := errors.AsType[*mcp.InputRequiredError](err)
	if !asks {
		return nil, errors.New("the result asks for no input")
	}
	next := *req.(*mcp.CallToolRequest)
	next.RequestState = ask.Result.RequestState
	return handler(ctx, &next)
}

func TestRoundsMayCallTheHandlerAgain(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.RequestState == nil {
				return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new(req.Name)}}
			}
			return mcp.TextResult("got " + *req.RequestState), nil
		})
		mcp.HandleListTools(o.Mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("x")}}
		})
		o.Rounds = roundsOf(func() servingRound { return repeatingRound{} })
	})
	conn, _ := connect(t, "2025-11-25", allCapabilities())
	reply, err := k.Serve(t.Context(), conn, request("tools/call", `{"name":"one"}`, nil))
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("got one"), reply.Result)

	_, err = k.Serve(t.Context(), conn, request("tools/list", `{}`, nil))
	require.ErrorContains(t, err, "may not ask for input", "no revision has questions in this result")
}

func TestInputRequiredResultWithoutState(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
				InputRequests: map[string]mcp.InputRequest{"r": &mcp.ListRootsRequest{}},
			}}
		})
	})
	reply, err := k.ServeStateless(t.Context(), request("tools/call", `{"name":"x",`+minimalParams[1:], nil), nil)
	require.NoError(t, err)
	require.Len(t, reply.Result.(*mcp.InputRequiredResult).InputRequests, 1)
}

func TestOnlyEmbeddedMethodsAreQuestions(t *testing.T) {
	var refusals []error
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s := mcp.SessionFromContext(ctx)
			_, custom := peer.SendRequest(ctx, s, &weatherRequest{"here"})
			_, ping := peer.SendRequest(ctx, s, &mcp.PingRequest{})
			refusals = []error{custom, ping}
			return mcp.TextResult("done"), nil
		})
		o.Rounds = roundsOf(func() servingRound { return new(testRound) })
	})
	_, err := k.ServeStateless(t.Context(), request("tools/call", `{"name":"x",`+minimalParams[1:], nil), nil)
	require.NoError(t, err)
	for _, err := range refusals {
		require.ErrorAs(t, err, new(*peer.NoBackChannelError))
	}
}
