package rounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
)

func roundOf(ctx context.Context) *rounds.Round {
	return connection.RoundFromContext(ctx).(*rounds.Round)
}

// ledger records the keys of the steps that run.
type ledger struct{ keys []string }

// step is a step that records its run.
func (l *ledger) step(ctx context.Context, name string) (string, error) {
	made, err := roundOf(ctx).Once(ctx, name, func(_ context.Context, key string) (json.RawMessage, error) {
		l.keys = append(l.keys, key)
		return json.RawMessage(fmt.Sprintf(`"%s %d"`, name, len(l.keys))), nil
	})
	return string(made), err
}

func TestStepRunsOnce(t *testing.T) {
	for _, r := range revisions {
		l := new(ledger)
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			order, err := l.step(ctx, "order")
			if err != nil {
				return nil, err
			}
			again, err := l.step(ctx, "order")
			if err != nil {
				return nil, err
			}
			res, err := straight(ctx, s, req)
			if err != nil {
				return nil, err
			}
			pay, err := l.step(ctx, "pay")
			if err != nil {
				return nil, err
			}
			return mcp.TextResult(order + again + pay + said(res)), nil
		}))
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `"order 1""order 1""pay 2"the name: wrote the wish{}`, got)
		require.Len(t, l.keys, 2)
		require.NotEqual(t, l.keys[0], l.keys[1])
	}
}

func TestFailedStepRunsAgainWithSameKey(t *testing.T) {
	var seen []string
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		made, failed := roundOf(ctx).Once(ctx, "order", func(_ context.Context, key string) (json.RawMessage, error) {
			seen = append(seen, key)
			if len(seen) < 3 {
				return nil, errors.New("busy")
			}
			return json.RawMessage(`1`), nil
		})
		for i := range 3 {
			if _, err := s.ElicitForm(ctx, form(fmt.Sprint(i), fmt.Sprint(i))); err != nil {
				return nil, err
			}
		}
		return mcp.TextResult(fmt.Sprint(string(made), failed)), nil
	}))
	got, err := c.call(`{}`)
	require.NoError(t, err)
	require.Equal(t, "1<nil>", got)
	require.Equal(t, []string{seen[0], seen[0], seen[0]}, seen)
}

func TestStepThatAsksSucceedsWhenAnswered(t *testing.T) {
	for _, r := range revisions {
		runs := 0
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			made, err := roundOf(ctx).Once(ctx, "m", func(ctx context.Context, _ string) (json.RawMessage, error) {
				answer, err := s.ElicitForm(ctx, form("a", "a"))
				if err != nil {
					return nil, err
				}
				runs++
				return json.Marshal(answer.Content["a"])
			})
			if err != nil {
				return nil, err
			}
			if _, err := s.ElicitForm(ctx, form("b", "b")); err != nil {
				return nil, err
			}
			return mcp.TextResult(string(made)), nil
		}))
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `"the a"`, got)
		require.Equal(t, 1, runs)
	}
}

func TestStepThatDropsErrorOfQuestionIsNotStored(t *testing.T) {
	to := mcp.ServerPeer{Outbound: handing{upstream(t, remembering)}}
	questions := map[string]func(context.Context, *mcp.ServerSession) string{
		"its own": func(ctx context.Context, s *mcp.ServerSession) string {
			answer, err := s.ElicitForm(ctx, form("a", "a"))
			if err != nil {
				return "nobody"
			}
			return fmt.Sprint(answer.Content["a"])
		},
		"another server's": func(ctx context.Context, _ *mcp.ServerSession) string {
			res, err := to.CallTool(ctx, &mcp.CallToolRequest{Name: "x", Arguments: json.RawMessage(`{}`)})
			if err != nil {
				return "nobody"
			}
			return said(res)
		},
	}
	for _, r := range revisions {
		for whose, question := range questions {
			c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				made, err := roundOf(ctx).Once(ctx, "outer", func(ctx context.Context, _ string) (json.RawMessage, error) {
					return roundOf(ctx).Once(ctx, "inner", func(ctx context.Context, _ string) (json.RawMessage, error) {
						return json.Marshal(question(ctx, s))
					})
				})
				if err != nil {
					return nil, err
				}
				return mcp.TextResult(string(made)), nil
			}))
			got, err := c.call(`{}`)
			require.NoError(t, err)
			require.NotContains(t, got, "nobody", "%s, %s", r, whose)
		}
	}
}

func TestStepMustNotContainItself(t *testing.T) {
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, _ *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var nest func(names ...string) func(context.Context, string) (json.RawMessage, error)
			nest = func(names ...string) func(context.Context, string) (json.RawMessage, error) {
				return func(ctx context.Context, _ string) (json.RawMessage, error) {
					if len(names) == 0 {
						return json.RawMessage(`1`), nil
					}
					return roundOf(ctx).Once(ctx, names[0], nest(names[1:]...))
				}
			}
			_, err := nest("a", "b", "a")(ctx, "")
			require.EqualError(t, err, `step "a": contains itself`)
			made, err := nest("a", "b", "c")(ctx, "")
			return mcp.TextResult(string(made)), err
		}))
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `1`, got)
	}
}

func TestRepeatedRoundHasSameKeys(t *testing.T) {
	l := new(ledger)
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if _, err := l.step(ctx, "first"); err != nil {
			return nil, err
		}
		if _, err := s.ElicitForm(ctx, form("a", "a")); err != nil {
			return nil, err
		}
		_, err := l.step(ctx, "second")
		return mcp.TextResult("done"), err
	}))
	req := second(t, c, arguments(`{}`))
	for range 2 { // the client sends the second round twice
		_, err := c.try(req)
		require.EqualError(t, err, "answered: done")
	}
	require.Len(t, l.keys, 3)
	require.Equal(t, l.keys[1], l.keys[2])

	second(t, c, arguments(`{}`)) // and starts again
	require.NotEqual(t, l.keys[0], l.keys[3])
}

func TestStepAfterQuestionsHasKeyOfChain(t *testing.T) {
	for questions := 1; questions <= 2; questions++ {
		for _, r := range revisions {
			l := new(ledger)
			c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				for i := range questions {
					if _, err := s.ElicitForm(ctx, form(fmt.Sprint(i), fmt.Sprint(i))); err != nil {
						return nil, err
					}
				}
				_, err := l.step(ctx, "pay")
				if err != nil {
					return nil, err
				}
				_, err = l.step(ctx, "send")
				return mcp.TextResult("done"), err
			}))
			req := arguments(`{}`)
			for {
				ask, err := c.try(req)
				if err != nil {
					require.EqualError(t, err, "answered: done")
					break
				}
				req = c.again(req, ask)
			}
			require.Len(t, c.questions(), questions)
			if !mcp.Revisions[r.Index()].Handshake { // the result is lost, and the client repeats the last round
				_, err := c.try(req)
				require.EqualError(t, err, "answered: done")
				require.Len(t, l.keys, 4)
				require.Equal(t, l.keys[:2], l.keys[2:])
			}
		}
	}
}

func TestConcurrentCallersShareStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, free := 0, make(chan struct{})
		c := connect(t, mcp.Revision20251125, newDispatcher(t, rounds.Options{}, func(ctx context.Context, _ *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got := make(chan string, 2)
			for range 2 {
				go func() { // ends when free is closed
					made, err := roundOf(ctx).Once(ctx, "m", func(context.Context, string) (json.RawMessage, error) {
						<-free
						runs++
						if runs == 1 {
							return nil, errors.New("busy")
						}
						return json.RawMessage(`1`), nil
					})
					got <- fmt.Sprint(string(made), err)
				}()
			}
			synctest.Wait()
			ended, cancel := context.WithCancelCause(ctx)
			cancel(errors.New("no time"))
			_, err := roundOf(ctx).Once(ended, "m", nil)
			require.EqualError(t, err, "no time")
			close(free)
			return mcp.TextResult(strings.Join(slices.Sorted(slices.Values([]string{<-got, <-got})), " ")), nil
		}))
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, "1<nil> busy", got)
		require.Equal(t, 2, runs, "the one that waited tries itself")
	})
}

func TestQuestionsInStepsAreSeparate(t *testing.T) {
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			sure := func(ctx context.Context) (string, error) {
				answer, err := s.ElicitForm(ctx, form("sure", "sure"))
				if err != nil {
					return "", err
				}
				return fmt.Sprint(answer.Content["sure"]), nil
			}
			made, err := roundOf(ctx).Once(ctx, "first", func(ctx context.Context, _ string) (json.RawMessage, error) {
				answer, err := sure(ctx)
				if err != nil {
					return nil, err
				}
				return json.Marshal(answer)
			})
			if err != nil {
				return nil, err
			}
			then, err := sure(ctx)
			if err != nil {
				return nil, err
			}
			return mcp.TextResult(string(made) + then), nil
		}))
		n := 0
		c.answers = func(string) string {
			n++
			return fmt.Sprintf(`{"action":"accept","content":{"sure":"%d"}}`, n)
		}
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `"1"2`, got)
	}
}

func TestStepFailsAfterHandlerReturned(t *testing.T) {
	for _, r := range revisions {
		var left context.Context
		k := newDispatcher(t, rounds.Options{}, func(ctx context.Context, _ *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			left = ctx
			return mcp.TextResult("answered"), nil
		})
		_, err := connect(t, r, k).call(`{}`)
		require.NoError(t, err)
		_, err = roundOf(left).Once(left, "m", func(context.Context, string) (json.RawMessage, error) {
			t.Error("made")
			return nil, nil
		})
		require.ErrorContains(t, err, "handler has returned")
	}
}
