package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// form returns a request of a form with one text field.
func form(name string) *mcp.ElicitRequest {
	return &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{
		Message: "which " + name + "?",
		RequestedSchema: mcp.RequestedSchema{
			Properties: []mcp.FormField{{Name: name, Schema: &mcp.StringSchema{}}},
		},
	}}
}

// accept returns a handler that accepts each form with one value.
func accept(name, text string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{name: text}}, nil
	}
}

func ask(questions mcp.InputRequests, state *string) error {
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: questions, RequestState: state}}
}

// asker returns a server whose tool is a function of the request and the number of the attempt. It
// records the requests.
func asker(tool func(req *mcp.CallToolRequest, attempt int) (*mcp.CallToolResult, error)) (*server, *[]mcp.CallToolRequest) {
	s := newServer()
	var attempts []mcp.CallToolRequest
	mcp.HandleCallTool(&s.mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		attempts = append(attempts, *req)
		return tool(req, len(attempts))
	})
	return s, &attempts
}

func callTool(t testing.TB, c *mcpclient.Client) (*mcp.CallToolResult, error) {
	return c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask", Arguments: json.RawMessage(`{"a":1}`)})
}

func TestInputRequestsAreHandledConcurrently(t *testing.T) {
	leaks.Check(t)
	state := "sealed \u2028 state"
	s, attempts := asker(func(req *mcp.CallToolRequest, n int) (*mcp.CallToolResult, error) {
		if n == 1 {
			return nil, ask(mcp.InputRequests{
				"form": form("color"),
				"text": &mcp.CreateMessageRequest{MaxTokens: 5, Messages: []mcp.SamplingMessage{}},
				"dirs": &mcp.ListRootsRequest{},
			}, &state)
		}
		return mcp.TextResult("thanks"), nil
	})
	for way, to := range s.ways(t) {
		t.Run(way, func(t *testing.T) {
			*attempts = nil
			var both sync.WaitGroup
			both.Add(2)
			meet := func() { both.Done(); both.Wait() }
			c := connect(t, to, &mcpclient.Options{
				OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					meet()
					return accept("color", "red")(ctx, req)
				},
				OnCreateMessage: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					meet()
					return &mcp.CreateMessageResult{
						Role: mcp.RoleAssistant, Model: "m",
						Content: []mcp.SamplingMessageContentBlock{mcp.Text("hi")},
					}, nil
				},
				Roots: []mcp.Root{{URI: "file:///project"}},
			})
			res, err := callTool(t, c)
			require.NoError(t, err)
			require.Equal(t, "thanks", mcp.TextOf(res.Content))

			first, second := (*attempts)[0], (*attempts)[1]
			require.Nil(t, first.InputResponses)
			require.Nil(t, first.RequestState)
			require.Equal(t, state, *second.RequestState)
			require.Equal(t, first.Name, second.Name)
			require.JSONEq(t, string(first.Arguments), string(second.Arguments))
			require.Equal(t, []string{"dirs", "form", "text"}, slices.Sorted(maps.Keys(second.InputResponses)))
			require.Equal(t, map[string]any{"color": "red"}, second.InputResponses["form"].(*mcp.ElicitResult).Content)
			require.Equal(t, "file:///project", second.InputResponses["dirs"].(*mcp.ListRootsResult).Roots[0].URI)
			require.Equal(t, "m", second.InputResponses["text"].(*mcp.CreateMessageResult).Model)
		})
	}
}

func TestRequestState(t *testing.T) {
	leaks.Check(t)
	heard := &script{}
	states := []string{`,"requestState":"a\u0000b/\"ü"`, `,"requestState":""`, ``}
	calls := 0
	heard.answer = func(m message) string {
		switch m.Method {
		case "server/discover":
			return ok(discovered)
		case "tools/call":
			if calls++; calls <= len(states) {
				return ok(`{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}` + states[calls-1] + `}`)
			}
			return ok(`{"content":[]}`) // without resultType the result is complete
		}
		return ""
	}
	c := connect(t, heard.endpoint(t), &mcpclient.Options{Roots: []mcp.Root{}})
	res, err := callTool(t, c)
	require.NoError(t, err)
	require.Empty(t, res.ResultType, "the result has nothing of the input requests")

	ids := map[string]bool{}
	var got []string
	for _, m := range heard.messages()[1:] {
		ids[string(m.ID)] = true
		got = append(got, string(m.Params["requestState"]))
	}
	require.Len(t, ids, 4, "each attempt has a new id")
	require.Empty(t, got[0])
	require.JSONEq(t, `"a\u0000b/\"ü"`, got[1])
	require.Equal(t, `""`, got[2])
	require.Empty(t, got[3])
	require.JSONEq(t, `{"k":{"roots":[]}}`, string(heard.messages()[4].Params["inputResponses"]))
}

func TestInputRequestsOfPromptsAndResources(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	mcp.HandleGetPrompt(&s.mux, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req.InputResponses == nil {
			return nil, ask(mcp.InputRequests{"q": form("x")}, nil)
		}
		return &mcp.GetPromptResult{Description: "asked"}, nil
	})
	mcp.HandleReadResource(&s.mux, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.InputResponses == nil {
			return nil, ask(mcp.InputRequests{"q": form("x")}, nil)
		}
		return &mcp.ReadResourceResult{TTLMs: 60_000, CacheScope: mcp.CacheScopePublic}, nil
	})
	asked := 0
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
		OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			return accept("x", "y")(ctx, req)
		},
	})
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptRequest{Name: "p"})
	require.NoError(t, err)
	require.Equal(t, "asked", prompt.Description)
	for range 2 {
		_, err = c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: "file:///x"})
		require.NoError(t, err)
	}
	require.Equal(t, 3, asked, "results of later rounds are not cached")
}

func TestMaxRounds(t *testing.T) {
	leaks.Check(t)
	s, attempts := asker(func(*mcp.CallToolRequest, int) (*mcp.CallToolResult, error) {
		return nil, ask(mcp.InputRequests{"q": form("x")}, nil)
	})
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{OnElicit: accept("x", "y"), MaxRounds: 3})
	_, err := callTool(t, c)
	var rounds *mcpclient.RoundsError
	require.ErrorAs(t, err, &rounds)
	require.Equal(t, 3, rounds.Rounds)
	require.Len(t, *attempts, 4)
	require.ErrorContains(t, err, "after 3 rounds")
}

func TestMaxQuestions(t *testing.T) {
	leaks.Check(t)
	many := make(mcp.InputRequests)
	for i := range 20_000 {
		many[fmt.Sprint(i)] = form("x")
	}
	for name, c := range map[string]struct {
		first, next mcp.InputRequests
		handled     int64
		want        string
	}{
		"in one response": {many, many, 0, "too many questions: 20000 in 1 rounds"},
		"in several":      {mcp.InputRequests{"a": form("x"), "b": form("x")}, mcp.InputRequests{"a": form("x"), "b": form("x")}, 4, "too many questions: 6 in 3 rounds"},
	} {
		t.Run(name, func(t *testing.T) {
			var handled atomic.Int64
			s, _ := asker(func(_ *mcp.CallToolRequest, n int) (*mcp.CallToolResult, error) {
				if n == 1 {
					return nil, ask(c.first, nil)
				}
				return nil, ask(c.next, nil)
			})
			conn := connect(t, mcpclient.InProcess(s), &mcpclient.Options{MaxQuestions: 5, OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				handled.Add(1)
				return accept("x", "y")(ctx, req)
			}})
			_, err := callTool(t, conn)
			var rounds *mcpclient.RoundsError
			require.ErrorAs(t, err, &rounds)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, c.handled, handled.Load())
		})
	}
}

func TestNegativeMaxRounds(t *testing.T) {
	leaks.Check(t)
	s, attempts := asker(func(_ *mcp.CallToolRequest, n int) (*mcp.CallToolResult, error) {
		if n <= 100 {
			return nil, ask(mcp.InputRequests{"q": form("x")}, nil)
		}
		return mcp.TextResult("done"), nil
	})
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{OnElicit: accept("x", "y"), MaxRounds: -1, MaxQuestions: -1})
	_, err := callTool(t, c)
	require.NoError(t, err)
	require.Len(t, *attempts, 101)
}

func TestDelayOfRoundsWithoutInputRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := "later"
		s, attempts := asker(func(_ *mcp.CallToolRequest, n int) (*mcp.CallToolResult, error) {
			if n <= 5 {
				return nil, ask(nil, &state)
			}
			return mcp.TextResult("now"), nil
		})
		c := connect(t, mcpclient.InProcess(s), nil)
		begun := time.Now()
		_, err := callTool(t, c)
		require.NoError(t, err)
		require.Len(t, *attempts, 6)
		require.Equal(t, (50+100+200+250+250)*time.Millisecond, time.Since(begun))

		*attempts = nil
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err = c.CallTool(ctx, &mcp.CallToolRequest{Name: "ask"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestFailedInputRequestFailsCall(t *testing.T) {
	leaks.Check(t)
	no := errors.New("test refuses")
	for name, c := range map[string]struct {
		question mcp.InputRequest
		opts     mcpclient.Options
		want     string
	}{
		"the handler fails": {form("x"), mcpclient.Options{
			OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, no },
		}, "test refuses"},
		"the handler panics": {form("x"), mcpclient.Options{
			OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { panic("oh") },
		}, "panicked"},
		"the handler callText nothing": {form("x"), mcpclient.Options{
			OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil },
		}, "returned no result"},
		"there is no handler": {form("x"), mcpclient.Options{}, "did not declare elicitation/create"},
		"the model rejects": {&mcp.CreateMessageRequest{MaxTokens: 1, Messages: []mcp.SamplingMessage{}}, mcpclient.Options{
			OnCreateMessage: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return nil, mcpclient.ErrRejected
			},
		}, "rejected"},
		"the request is unknown": {&mcp.UnknownInputRequest{Raw: json.RawMessage(`{"method":"tea/make","params":{}}`)},
			mcpclient.Options{}, "unknown input request"},
	} {
		t.Run(name, func(t *testing.T) {
			s, attempts := asker(func(*mcp.CallToolRequest, int) (*mcp.CallToolResult, error) {
				return nil, ask(mcp.InputRequests{"first": c.question}, nil)
			})
			c.opts.Logger = silent
			client := connect(t, mcpclient.InProcess(s), &c.opts)
			_, err := callTool(t, client)
			var question *mcpclient.QuestionError
			require.ErrorAs(t, err, &question)
			require.Equal(t, "first", question.Key)
			require.ErrorContains(t, err, c.want)
			require.Len(t, *attempts, 1, "there is no second attempt")
		})
	}
}

func TestEachRoundHasNewID(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	var ids []wire.RequestID
	mcp.HandleCallTool(&s.mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ids = append(ids, ctx.Value(idKey{}).(wire.RequestID))
		if req.InputResponses == nil {
			return nil, ask(mcp.InputRequests{"q": form("x")}, nil)
		}
		return mcp.TextResult("fine"), nil
	})
	c := connect(t, s.overPipe(t), &mcpclient.Options{OnElicit: accept("x", "y")})
	mine := wire.StringID("mine")
	_, err := c.With(peer.WithID(mine)).CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
	require.NoError(t, err)
	require.Len(t, ids, 2)
	require.Equal(t, mine, ids[0])
	require.NotEqual(t, mine, ids[1])
}

func TestMaxInFlightLimitsInputRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 1000
		questions := mcp.InputRequests{}
		for i := range many {
			questions[fmt.Sprint(i)] = &mcp.ListRootsRequest{}
		}
		s, _ := asker(func(_ *mcp.CallToolRequest, attempt int) (*mcp.CallToolResult, error) {
			if attempt == 1 {
				return nil, ask(questions, nil)
			}
			return &mcp.CallToolResult{}, nil
		})
		var now, most, all atomic.Int32
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
			MaxQuestions: -1,
			OnListRoots: func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				all.Add(1)
				return &mcp.ListRootsResult{Roots: []mcp.Root{}}, nil
			},
		})
		_, err := callTool(t, c)
		require.NoError(t, err)
		require.EqualValues(t, many, all.Load())
		require.EqualValues(t, 256, most.Load())
	})
}

func TestFailedInputRequestCancelsOthers(t *testing.T) {
	leaks.Check(t)
	s, _ := asker(func(*mcp.CallToolRequest, int) (*mcp.CallToolResult, error) {
		return nil, ask(mcp.InputRequests{"a": form("x"), "b": &mcp.ListRootsRequest{}}, nil)
	})
	no := errors.New("no")
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
		OnElicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		},
		OnListRoots: func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) { return nil, no },
	})
	_, err := callTool(t, c)
	require.ErrorIs(t, err, no)
}

func TestManualInput(t *testing.T) {
	leaks.Check(t)
	state := "s"
	s, attempts := asker(func(req *mcp.CallToolRequest, _ int) (*mcp.CallToolResult, error) {
		if len(req.InputResponses) < 2 {
			return nil, ask(mcp.InputRequests{"q": form("x")}, &state)
		}
		return mcp.TextResult("fine"), nil
	})
	opts := &mcpclient.Options{OnElicit: accept("x", "y")}
	byHand := *opts
	byHand.ManualInput = true
	manual := connect(t, mcpclient.InProcess(s), &byHand)
	automatic := connect(t, mcpclient.InProcess(s), opts)

	for name, view := range map[string]mcp.ServerPeer{
		"by option":  manual.ServerPeer,
		"forwarding": automatic.Forward(),
	} {
		t.Run(name, func(t *testing.T) {
			*attempts = nil
			_, err := view.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
			var ask *mcp.InputRequiredError
			require.ErrorAs(t, err, &ask)
			require.Equal(t, state, *ask.Result.RequestState)
			require.Len(t, *attempts, 1)
		})
	}

	// A caller that provides responses also handles the next rounds.
	_, err := automatic.CallTool(t.Context(), &mcp.CallToolRequest{
		Name: "ask", InputResponses: mcp.InputResponses{"q": &mcp.ElicitResult{Action: mcp.ElicitActionDecline}},
	})
	require.ErrorAs(t, err, new(*mcp.InputRequiredError))
}

func TestRoundsOfConcurrentCalls(t *testing.T) {
	leaks.Check(t)
	s := newServer()
	mcp.HandleCallTool(&s.mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Name == "plain" {
			if req.InputResponses != nil || req.RequestState != nil {
				return nil, errors.New("wrong state")
			}
			return mcp.TextResult("plain"), nil
		}
		if req.RequestState == nil {
			return nil, ask(mcp.InputRequests{"q": form("x")}, &req.Name)
		}
		return mcp.TextResult(*req.RequestState), nil
	})
	for way, to := range s.ways(t) {
		t.Run(way, func(t *testing.T) {
			c := connect(t, to, &mcpclient.Options{OnElicit: accept("x", "y")})
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					name := fmt.Sprint("tool", i)
					if i%4 == 0 {
						name = "plain"
					}
					// The id of a call is used for its first attempt only.
					res, err := peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: name}, peer.WithID(wire.IntID(int64(1000+i))))
					if err != nil || mcp.TextOf(res.Content) != name {
						t.Error(name, err)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestCloseCancelsInputRequests(t *testing.T) {
	leaks.Check(t)
	asked := make(chan struct{})
	c := connect(t, mcpclient.InProcess(newKit(nil)), &mcpclient.Options{
		Logger: silent, OnElicit: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		},
	})
	require.True(t, c.NoHandshake())
	failed := make(chan error, 1)
	go func() { // ends with the client
		_, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
		failed <- err
	}()
	<-asked
	require.NoError(t, c.Close())
	require.ErrorAs(t, <-failed, new(*peer.ClosedError))
}

func TestHandlerExitsGoroutine(t *testing.T) {
	leaks.Check(t)
	var asked atomic.Int64
	c := connect(t, mcpclient.InProcess(newKit(nil)), &mcpclient.Options{
		Logger: silent, OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			runtime.Goexit()
			return nil, nil
		},
	})
	_, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
	require.ErrorAs(t, err, new(*mcpclient.QuestionError))
	require.EqualValues(t, 1, asked.Load())
}
