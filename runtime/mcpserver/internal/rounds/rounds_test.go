package rounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// straight asks three questions, one after another.
func straight(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	who, err := s.ElicitForm(ctx, form("name", "name"))
	if err != nil {
		return nil, err
	}
	what, err := s.ElicitForm(ctx, form("wish", "wish"))
	if err != nil {
		return nil, fmt.Errorf("wish: %w", err)
	}
	text, err := s.CreateMessage(ctx, message(fmt.Sprint(what.Content["wish"])))
	if err != nil {
		return nil, errors.New("no text") // not sent: a question is open
	}
	return mcp.TextResult(fmt.Sprint(who.Content["name"], ": ", text.Content[0].(*mcp.TextContent).Text, string(req.Arguments))), nil
}

func TestHandlerHasSameResultInEveryRevision(t *testing.T) {
	for _, r := range revisions {
		t.Run(r.String(), func(t *testing.T) {
			k := newDispatcher(t, rounds.Options{}, straight)
			for _, c := range []*client{connect(t, r, k), pipe(t, r, k)} {
				got, err := c.call(`{"a":1}`)
				require.NoError(t, err)
				require.Equal(t, `the name: wrote the wish{"a":1}`, got)
				require.Equal(t, []string{"name", "wish", "write the wish"}, c.questions())
			}
		})
	}
}

func TestReplicasWithSameKeyContinueRounds(t *testing.T) {
	o := rounds.Options{Keys: [][]byte{key}}
	c := connect(t, mcp.Revision20260728, newDispatcher(t, o, straight), newDispatcher(t, o, straight))
	got, err := c.call(`{}`)
	require.NoError(t, err)
	require.Equal(t, `the name: wrote the wish{}`, got)
	require.Equal(t, []string{"name", "wish", "write the wish"}, c.questions())
}

func TestPromptsAndResourcesAsk(t *testing.T) {
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, straight))
		prompt := &mcp.GetPromptRequest{Name: "p"}
		got, err := complete(c, prompt, func(answers mcp.InputResponses, state *string) {
			prompt.InputResponses, prompt.RequestState = answers, state
		})
		require.NoError(t, err)
		require.Equal(t, `p"made"the name`, got.Description)

		page := &mcp.ReadResourceRequest{URI: "x:y"}
		read, err := complete(c, page, func(answers mcp.InputResponses, state *string) {
			page.InputResponses, page.RequestState = answers, state
		})
		require.NoError(t, err)
		require.Equal(t, `"made"the name`, read.Contents[0].(*mcp.TextResourceContents).Text)
		require.Equal(t, []string{"name", "name"}, c.questions())
	}
}

func TestHandlerReceivesUserAction(t *testing.T) {
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, err := s.ElicitForm(ctx, form("name", "name"))
			if err != nil {
				return nil, err
			}
			return mcp.TextResult(string(answer.Action)), nil
		}))
		c.answers = func(string) string { return `{"action":"decline"}` }
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, "decline", got)
	}
}

func TestResponseContainsOpenQuestions(t *testing.T) {
	for name, outcome := range map[string]func(error) (*mcp.CallToolResult, error){
		"the error":         func(err error) (*mcp.CallToolResult, error) { return nil, err },
		"wrapped":           func(err error) (*mcp.CallToolResult, error) { return nil, fmt.Errorf("x: %w", err) },
		"another":           func(error) (*mcp.CallToolResult, error) { return nil, errors.New("boom") },
		"one for the wire":  func(error) (*mcp.CallToolResult, error) { return nil, &peer.Error{Code: 1, Message: "no"} },
		"a value":           func(error) (*mcp.CallToolResult, error) { return mcp.TextResult("done"), nil },
		"a failure":         func(error) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{IsError: true}, nil },
		"nothing":           func(error) (*mcp.CallToolResult, error) { return nil, nil },
		"the error's cause": func(err error) (*mcp.CallToolResult, error) { return nil, errors.Unwrap(fmt.Errorf("%w", err)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				_, err := s.ElicitForm(ctx, form("a", "a"))
				_, _ = s.ListRoots(ctx)
				if err == nil {
					return mcp.TextResult("answered"), nil
				}
				return outcome(err)
			}))
			ask, err := c.try(&mcp.CallToolRequest{Name: "tool"})
			require.NoError(t, err)
			require.Len(t, ask.InputRequests, 2)
			require.Nil(t, ask.RequestState, "nothing is to be carried yet")
			got, err := c.call(`{}`)
			require.NoError(t, err)
			require.Equal(t, "answered", got)
		})
	}
}

func TestConcurrentQuestionsTakeTwoRounds(t *testing.T) {
	const n = 8
	k := newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var all sync.WaitGroup
		texts := make([]string, 2*n)
		for i := range 2 * n { // each question twice
			all.Go(func() {
				text, err := s.CreateMessage(ctx, message(fmt.Sprint(i/2)))
				if err != nil {
					cancel() // as errgroup does
					return
				}
				texts[i] = text.Content[0].(*mcp.TextContent).Text
			})
		}
		all.Wait()
		return mcp.TextResult(fmt.Sprint(texts)), nil
	})
	c := connect(t, mcp.Revision20260728, k)
	for range 20 {
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, "[wrote 0 wrote 0 wrote 1 wrote 1 wrote 2 wrote 2 wrote 3 wrote 3 "+
			"wrote 4 wrote 4 wrote 5 wrote 5 wrote 6 wrote 6 wrote 7 wrote 7]", got)
		require.Equal(t, 2, c.calls)
		require.Len(t, c.questions(), 2*n)
	}
}

func TestUnusedResponseIsNotRequestedAgain(t *testing.T) {
	run := 0
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		run++
		// In the second run a goroutine ended before it asked b.
		for _, q := range [][]string{{"z"}, {"z", "a", "b"}, {"z", "a", "c"}, {"z", "b", "a", "c"}}[run-1] {
			if _, err := s.ElicitForm(ctx, form(q, q)); err != nil && (run == 1 || q == "c") {
				return nil, err
			}
		}
		return mcp.TextResult("done"), nil
	}))
	got, err := c.call(`{}`)
	require.NoError(t, err)
	require.Equal(t, "done", got)
	asked := c.questions()
	slices.Sort(asked)
	require.Equal(t, []string{"a", "b", "c", "z"}, asked)
}

func TestUnusedResponseIsKept(t *testing.T) {
	for _, second := range [][]string{{"a", "c"}, {"c"}} { // the responses to a and b came without state
		runs := [][]string{{"a", "b"}, second, {"a", "b", "c"}}
		c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, q := range runs[0] {
				_, _ = s.ElicitForm(ctx, form(q, q))
			}
			runs = runs[1:]
			return mcp.TextResult("done"), nil
		}))
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, "done", got)
		asked := c.questions()
		slices.Sort(asked)
		require.Equal(t, []string{"a", "b", "c"}, asked)
	}
}

func TestInvalidKeptResponseIsRequestedAgain(t *testing.T) {
	run := 0
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		run++
		question := []string{"first", "other", "second", "second"}[run-1]
		_, err := named(ctx, s, question[:1], question) // the key is the first letter
		return mcp.TextResult("done"), err
	}))
	req := &mcp.CallToolRequest{Name: "tool", InputResponses: mcp.InputResponses{"s": &mcp.ListRootsResult{}}}
	for range 3 {
		ask, err := c.try(req)
		require.NoError(t, err)
		req = c.again(req, ask)
	}
	require.Equal(t, []string{"first", "other", "second"}, c.questions())
	_, err := c.try(req)
	require.EqualError(t, err, "answered: done")
}

func TestInvalidResponseIsRequestedAgain(t *testing.T) {
	k := newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := s.ElicitForm(ctx, form("name", "name"))
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(fmt.Sprint(answer.Content["name"])), nil
	})
	c := connect(t, mcp.Revision20260728, k)
	tries := []string{
		`{"action":"accept","content":{"name":7}}`,
		`{"action":"accept","content":{"name":""}}`,
		`{"action":"accept","content":{}}`,
		`{"roots":[]}`,
		`{"role":"assistant","model":"m","content":[]}`,
		`{"action":"accept","content":{"name":"Ada"}}`,
	}
	c.answers = func(string) string {
		next := tries[0]
		tries = tries[1:]
		return next
	}
	got, err := c.call(`{}`)
	require.NoError(t, err)
	require.Equal(t, "Ada", got)
	require.Equal(t, 7, c.calls)
}

func TestUnrequestedResponsesAreIgnored(t *testing.T) {
	nonsense := &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"x": "y"}}
	logged := new(testlog.Recorder)
	enough := false
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{Logger: logged.Logger()}, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if enough {
			return mcp.TextResult("enough"), nil
		}
		return straight(ctx, s, req)
	}))
	req := &mcp.CallToolRequest{Name: "tool", InputResponses: mcp.InputResponses{"wrong_key": nonsense}}
	ask, err := c.try(req)
	require.NoError(t, err)
	require.Len(t, ask.InputRequests, 1)
	for range 2 {
		req = c.again(req, ask)
		req.InputResponses["nonsense"] = nonsense
		ask, err = c.try(req)
		require.NoError(t, err)
		require.Len(t, ask.InputRequests, 1)
	}
	require.NotContains(t, logged.String(), "ignored")

	enough = true // two responses are in the state, one is in the request, and two are nonsense
	req = c.again(req, ask)
	req.InputResponses["nonsense"] = nonsense
	_, err = c.try(req)
	require.EqualError(t, err, "answered: enough")
	require.Contains(t, logged.String(), `msg="unrequested responses ignored" method=tools/call count=5`)
}

func TestHandlerMayReuseMessage(t *testing.T) {
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		q := form("a", "a")
		_, _ = s.ElicitForm(ctx, q)
		q.Message = "b"
		_, _ = s.ElicitForm(ctx, q)
		return mcp.TextResult("done"), nil
	}))
	ask, err := c.try(&mcp.CallToolRequest{Name: "tool"})
	require.NoError(t, err)
	var asked []string
	for _, q := range ask.InputRequests {
		asked = append(asked, spoken(q))
	}
	slices.Sort(asked)
	require.Equal(t, []string{"a", "b"}, asked)
}

func TestUndeclaredQuestionsAreNotAsked(t *testing.T) {
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		q := message("x")
		q.Tools = []mcp.Tool{{Name: "t"}}
		_, err := s.CreateMessage(ctx, q)
		return nil, err
	}))
	_, err := c.try(&mcp.CallToolRequest{Name: "tool"})
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapability, peer.AsError(err).Code)
}

func TestInvalidQuestionIsError(t *testing.T) {
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		q := message("x")
		q.Metadata = map[string]json.RawMessage{"x": json.RawMessage("{")}
		_, err := s.CreateMessage(ctx, q)
		return mcp.TextResult(fmt.Sprint(err)), nil
	}))
	got, err := c.call(`{}`)
	require.NoError(t, err)
	require.Contains(t, got, `ask "sampling/createMessage"`)
	require.Contains(t, got, "metadata")
}

func TestAskFailsAfterHandlerReturned(t *testing.T) {
	var session *mcp.ServerSession
	var round *rounds.Round
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session, round = s, connection.RoundFromContext(ctx).(*rounds.Round)
		return mcp.TextResult("done"), nil
	}))
	_, err := c.call(`{}`)
	require.NoError(t, err)
	_, err = session.ElicitForm(t.Context(), form("late", "late"))
	none, ok := errors.AsType[*peer.NoBackChannelError](err)
	require.True(t, ok && none.Returned, "%v", err)
	_, err = round.Once(t.Context(), "late", nil)
	require.EqualError(t, err, "handler has returned")
	err = round.Call(t.Context(), outbound.None{}, &mcp.CallToolRequest{}, &mcp.CallToolResult{})
	require.EqualError(t, err, "handler has returned")
}

func TestPanicEndsRound(t *testing.T) {
	var session *mcp.ServerSession
	k := newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session = s
		_, _ = s.ElicitForm(ctx, form("a", "a"))
		panic("boom")
	})
	conn := connection.NewForRequest(mcp.Revision20260728, nil, everything(), nil)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = k.Serve(t.Context(), conn, &peer.Inbound{Method: "tools/call", ID: wire.IntID(1), Value: arguments(`{}`)})
	})
	_, err := session.ElicitForm(t.Context(), form("late", "late"))
	none, ok := errors.AsType[*peer.NoBackChannelError](err)
	require.True(t, ok && none.Returned, "%v", err)
}
