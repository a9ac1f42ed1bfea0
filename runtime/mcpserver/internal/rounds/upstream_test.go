package rounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// handing forwards requests as part of the round.
type handing struct{ peer.Outbound }

func (h handing) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return roundOf(ctx).Call(ctx, h.Outbound, req, res, opts...)
}

// upstream returns a client's view of an upstream server that does not answer questions. Its
// results are in the newest revision.
func upstream(t testing.TB, h tool) peer.Outbound {
	return connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, h)).servers[0]
}

// gateways returns handlers that forward a call in both possible ways.
func gateways(t testing.TB, to peer.Outbound) map[string]tool {
	plain, view := mcp.ServerPeer{Outbound: to}, mcp.ServerPeer{Outbound: handing{to}}
	return map[string]tool{
		"a line": func(ctx context.Context, _ *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return plain.CallTool(ctx, req)
		},
		"a view": func(ctx context.Context, _ *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return view.CallTool(ctx, &mcp.CallToolRequest{Name: "renamed", Arguments: req.Arguments})
		},
	}
}

func TestGatewayAsksClientInEveryRevision(t *testing.T) {
	for _, r := range revisions {
		for name, h := range gateways(t, upstream(t, straight)) {
			t.Run(r.String()+" by "+name, func(t *testing.T) {
				c := connect(t, r, newDispatcher(t, rounds.Options{}, h))
				got, err := c.call(`{"a":1}`)
				require.NoError(t, err)
				require.Equal(t, `the name: wrote the wish{"a":1}`, got)
				require.Equal(t, []string{"name", "wish", "write the wish"}, c.questions())
			})
		}
	}
}

// noting records the ids of the requests that it sends.
type noting struct {
	peer.Outbound
	ids []wire.RequestID
}

func (n *noting) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	n.ids = append(n.ids, o.ID)
	return n.Outbound.Call(ctx, req, res, opts...)
}

func TestRequestIDOfGatewayIsUsedOnce(t *testing.T) {
	out := &noting{Outbound: upstream(t, straight)}
	to := mcp.ServerPeer{Outbound: handing{out}}
	c := connect(t, mcp.Revision20251125, newDispatcher(t, rounds.Options{}, func(ctx context.Context, _ *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return to.With(peer.WithID(wire.StringID("mine"))).CallTool(ctx, req)
	}))
	_, err := c.call(`{}`)
	require.NoError(t, err)
	require.Greater(t, len(out.ids), 1)
	require.Equal(t, wire.StringID("mine"), out.ids[0])
	require.NotContains(t, out.ids[1:], wire.StringID("mine"))
}

func TestGatewayForwardsPromptsAndResources(t *testing.T) {
	to := mcp.ServerPeer{Outbound: handing{upstream(t, straight)}}
	rules, err := rounds.New(rounds.Options{})
	require.NoError(t, err)
	var mux peer.Mux
	mcp.HandleGetPrompt(&mux, to.GetPrompt)
	mcp.HandleReadResource(&mux, to.ReadResource)
	k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Rounds: rules})
	for _, r := range revisions {
		c := connect(t, r, k)
		prompt := &mcp.GetPromptRequest{Name: "p"}
		got, err := complete(c, prompt, func(answers mcp.InputResponses, state *string) {
			prompt.InputResponses, prompt.RequestState = answers, state
		})
		require.NoError(t, err)
		require.Equal(t, `p"made"the name`, got.Description)

		page := &mcp.ReadResourceRequest{URI: "x:y"}
		_, err = complete(c, page, func(answers mcp.InputResponses, state *string) {
			page.InputResponses, page.RequestState = answers, state
		})
		require.NoError(t, err)
	}
}

func TestChainOfGatewaysKeepsStateOfEach(t *testing.T) {
	to := upstream(t, remembering)
	for range 3 {
		to = upstream(t, gateways(t, to)["a view"])
		to = upstream(t, gateways(t, to)["a line"])
	}
	for _, r := range revisions {
		got, err := connect(t, r, newDispatcher(t, rounds.Options{}, gateways(t, to)["a line"])).call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `"made"the name`, got)
	}
}

func TestHandlerAsksAndForwardsToSeveralServers(t *testing.T) {
	a := mcp.ServerPeer{Outbound: handing{upstream(t, remembering)}}
	b := mcp.ServerPeer{Outbound: handing{upstream(t, straight)}}
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			own, err := named(ctx, s, "name", "whose")
			if err != nil {
				return nil, err
			}
			memo := func(name string, p mcp.ServerPeer) (text string, err error) {
				raw, err := roundOf(ctx).Once(ctx, name, func(ctx context.Context, _ string) (json.RawMessage, error) {
					res, err := p.CallTool(ctx, &mcp.CallToolRequest{Name: "x", Arguments: json.RawMessage(`{}`)})
					if err != nil {
						return nil, err
					}
					return json.Marshal(said(res))
				})
				return string(raw), err
			}
			one, err := memo("one", a)
			if err != nil {
				return nil, err
			}
			two, err := memo("two", b)
			if err != nil {
				return nil, err
			}
			return mcp.TextResult(fmt.Sprint(own.Content["whose"], one, two)), nil
		}))
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `the whose"\"made\"the name""the name: wrote the wish{}"`, got)
		require.Equal(t, []string{"whose", "name", "name", "wish", "write the wish"}, c.questions())
	}
}

func TestUnusedUpstreamResponseIsKept(t *testing.T) {
	for name, behind := range map[string]tool{"with state": remembering, "without": straight} {
		to := mcp.ServerPeer{Outbound: handing{upstream(t, behind)}}
		run := 0
		c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			run++
			if run == 2 {
				_, err := named(ctx, s, "own", "own")
				return nil, err
			}
			return to.CallTool(ctx, &mcp.CallToolRequest{Name: "x", Arguments: json.RawMessage(`{}`)})
		}))
		_, err := c.call(`{}`)
		require.NoError(t, err, name)
		asked := c.questions()
		require.Equal(t, []string{"name", "own"}, asked[:2], name)
		require.NotContains(t, asked[2:], "name", name)
	}
}

func TestUpstreamResponseIsUsedOnce(t *testing.T) {
	var seen []int
	behind := upstream(t, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seen = append(seen, len(req.InputResponses))
		_, err := s.ElicitForm(ctx, form("name", "name"))
		return mcp.TextResult(""), err
	})
	to := mcp.ServerPeer{Outbound: handing{behind}}
	for _, carries := range []bool{false, true} {
		seen = nil
		c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if carries {
				_, err := roundOf(ctx).Once(ctx, "m", func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(`1`), nil })
				require.NoError(t, err)
			}
			if res, err := to.CallTool(ctx, &mcp.CallToolRequest{Name: "x", Arguments: json.RawMessage(`{}`)}); err != nil {
				return res, err
			}
			_, err := named(ctx, s, "own", "own") // like all steps, the call is repeated in each round
			return mcp.TextResult(""), err
		}))
		_, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, []string{"name", "own", "name"}, c.questions())
		require.Equal(t, []int{0, 1, 0, 1}, seen)
	}
}

func TestResponsesAreSentToAskingServerOnly(t *testing.T) {
	var seen []mcp.InputResponses
	spy := upstream(t, func(_ context.Context, _ *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		seen = append(seen, req.InputResponses)
		return mcp.TextResult("seen"), nil
	})
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := s.ElicitForm(ctx, form("secret", "secret")); err != nil {
			return nil, err
		}
		return mcp.ServerPeer{Outbound: handing{spy}}.CallTool(ctx, req)
	}))
	_, err := c.call(`{}`)
	require.NoError(t, err)
	require.Equal(t, []mcp.InputResponses{nil}, seen)
}

func TestGatewayChecksCapabilitiesOfClient(t *testing.T) {
	to := upstream(t, straight)
	for name, h := range gateways(t, to) {
		k := newDispatcher(t, rounds.Options{}, h)
		conn := connection.NewForRequest(mcp.Revision20260728, nil, &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}, nil)
		_, err := k.Serve(t.Context(), conn, &peer.Inbound{Method: "tools/call", ID: wire.IntID(1), Value: arguments(`{}`)})
		require.EqualValues(t, mcp.CodeMissingRequiredClientCapability, peer.AsError(err).Code, name)
	}
}

// byHand returns questions and state in its result, one for each round.
func byHand(asks ...*mcp.InputRequiredResult) tool {
	n := 0
	return func(_ context.Context, _ *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n++
		if n <= len(asks) {
			return nil, fmt.Errorf("by hand: %w", &mcp.InputRequiredError{Result: asks[n-1]})
		}
		state := "none"
		if req.RequestState != nil {
			state = *req.RequestState
		}
		return mcp.TextResult(fmt.Sprint(len(req.InputResponses), " ", state)), nil
	}
}

func visit(url string) mcp.InputRequests {
	return mcp.InputRequests{"v": &mcp.ElicitRequest{Params: &mcp.ElicitRequestURLParams{Message: "go", URL: url}}}
}

func TestHandlerReturnsQuestions(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		for want, ask := range map[string]*mcp.InputRequiredResult{
			"1 none":  {InputRequests: visit("https://a.example/x")},
			"1 state": {InputRequests: visit("https://a.example/x"), RequestState: new("state")},
			"1 ":      {InputRequests: visit("https://a.example/x"), RequestState: new("")},
			"0 only":  {RequestState: new("only")},
		} {
			synctest.Test(t, func(t *testing.T) {
				c := connect(t, r, newDispatcher(t, rounds.Options{}, byHand(ask)))
				got, err := c.call(`{}`)
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
		}
	}
}

func TestEmptyRequestForInputIsError(t *testing.T) {
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, byHand(&mcp.InputRequiredResult{})))
		_, err := c.call(`{}`)
		require.EqualValues(t, mcp.CodeInternal, peer.AsError(err).Code)
		c = connect(t, r, newDispatcher(t, rounds.Options{}, byHand(&mcp.InputRequiredResult{
			InputRequests: mcp.InputRequests{"x": &mcp.UnknownInputRequest{Raw: json.RawMessage(`{"method":"x"}`)}},
		})))
		_, err = c.call(`{}`)
		require.EqualValues(t, mcp.CodeInternal, peer.AsError(err).Code)
	}
}

func TestForwardingEndsAfterMaxRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		endless := func(context.Context, *mcp.ServerSession, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			n++
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("more")}}
		}
		began := time.Now()
		_, err := connect(t, mcp.Revision20251125, newDispatcher(t, rounds.Options{}, endless)).call(`{}`)
		require.EqualError(t, peer.AsError(err), "Too many rounds of questions (code -32603)")
		require.Equal(t, 11, n)
		require.Equal(t, 50*time.Millisecond+100*time.Millisecond+200*time.Millisecond+7*250*time.Millisecond, time.Since(began))
	})
}

func TestForwardingEndsWithRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the client has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		k := newDispatcher(t, rounds.Options{}, func(context.Context, *mcp.ServerSession, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			cancel(gone)
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("more")}}
		})
		conn := connection.New(nil, nil)
		conn.State().SetInitialized()
		_, err := k.Serve(ctx, conn, &peer.Inbound{Method: "tools/call", ID: wire.IntID(1), Value: arguments(`{}`)})
		require.ErrorIs(t, err, gone)
	})
}

func TestForwardingEndsWithClientError(t *testing.T) {
	for name, h := range gateways(t, upstream(t, straight)) {
		k := newDispatcher(t, rounds.Options{}, h)
		conn := connection.New(nil, nil)
		conn.State().SetClient(new(mcp.Implementation), everything())
		conn.State().SetInitialized()
		back := refusing{}
		_, err := k.Serve(t.Context(), conn, &peer.Inbound{
			Method: "tools/call", ID: wire.IntID(1), Value: arguments(`{}`), Back: back,
			Transport: peer.NewTransportContext("pipe", true, nil, ""),
		})
		require.EqualError(t, peer.AsError(err), "no (code -1)", name)
	}
}

type refusing struct{ outbound.None }

func (refusing) Call(context.Context, peer.Message, wire.Value, ...peer.CallOption) error {
	return &peer.Error{Code: -1, Message: "no"}
}

func TestUpstreamProgressIsForwarded(t *testing.T) {
	total := 3.0
	to := upstream(t, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult("done"), s.ReportProgress(ctx, peer.Progress{Progress: 1, Total: &total, Message: "on it"})
	})
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, gateways(t, to)["a view"]))
		var reports []peer.Progress
		_, err := peer.SendRequest(t.Context(), c.next(), arguments(`{}`), peer.OnProgress(func(p peer.Progress) {
			reports = append(reports, p)
		}))
		require.NoError(t, err)
		require.Equal(t, []peer.Progress{{Progress: 1, Total: &total, Message: "on it"}}, reports)
	}
}

func TestErrorsAndOtherRequestsAreForwarded(t *testing.T) {
	failing := upstream(t, func(context.Context, *mcp.ServerSession, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &peer.Error{Code: 7, Message: "seven"}
	})
	for _, r := range revisions {
		for name, h := range gateways(t, failing) {
			_, err := connect(t, r, newDispatcher(t, rounds.Options{}, h)).call(`{}`)
			require.EqualError(t, peer.AsError(err), "seven (code 7)", name)
		}
		got, err := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, _ *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := mcp.ServerPeer{Outbound: handing{failing}}.Discover(ctx, &mcp.DiscoverRequest{})
			return mcp.TextResult(fmt.Sprint(err)), nil
		})).call(`{}`)
		require.NoError(t, err)
		require.Equal(t, "<nil>", got)
	}
}

// ownRequest is a tool call with a type of the program.
type ownRequest struct{ mcp.CallToolRequest }

func TestRequestOfProgramTypeHasResponses(t *testing.T) {
	rules, err := rounds.New(rounds.Options{})
	require.NoError(t, err)
	var mux peer.Mux
	peer.Handle(&mux, func(ctx context.Context, req *ownRequest) (*mcp.CallToolResult, error) {
		if req.Name == "by hand" {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: visit("https://a.example/x")}}
		}
		return remembering(ctx, mcp.SessionFromContext(ctx), nil)
	})
	k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Rounds: rules})
	for _, r := range revisions {
		c := connect(t, r, k)
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `"made"the name`, got)
	}
	_, err = connect(t, mcp.Revision20251125, k).try(&mcp.CallToolRequest{Name: "by hand"})
	require.EqualValues(t, mcp.CodeInternal, peer.AsError(err).Code)
}

func TestReplacedContextIsError(t *testing.T) {
	rules, err := rounds.New(rounds.Options{})
	require.NoError(t, err)
	_, err = rules.Serve(t.Context(), new(peer.Inbound), &mcp.CallToolRequest{}, func(context.Context, peer.Message) (wire.Value, error) {
		return mcp.TextResult("x"), nil
	})
	require.ErrorContains(t, err, "middleware replaced the context")

	k := newDispatcher(t, rounds.Options{}, func(ctx context.Context, _ *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, roundOf(ctx).Call(context.Background(), asksByHand{}, req, new(mcp.CallToolResult))
	})
	conn := connection.New(nil, nil)
	conn.State().SetInitialized()
	_, err = k.Serve(t.Context(), conn, &peer.Inbound{Method: "tools/call", ID: wire.IntID(1), Value: arguments(`{}`)})
	require.ErrorContains(t, err, "middleware replaced the context")
}

// asksByHand is an upstream server that asks for a URL elicitation.
type asksByHand struct{ outbound.None }

func (asksByHand) Call(context.Context, peer.Message, wire.Value, ...peer.CallOption) error {
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: visit("https://a.example/x")}}
}
