package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// asker returns a client, in a revision, of a server with one tool.
func asker(t *testing.T, revision string, h func(ctx context.Context, s *mcp.ServerSession) (string, error)) *user {
	t.Helper()
	server := mcpserver.New(info, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		return h(ctx, s)
	})
	r, known := mcp.ParseRevision(revision)
	require.True(t, known)
	u := newUser(server, r, func(question string) string {
		switch question {
		case "roots":
			return `{"roots":[{"uri":"file:///project"}]}`
		case "model":
			return `{"role":"assistant","model":"m","content":{"type":"text","text":"hm"}}`
		}
		return fmt.Sprintf(`{"action":"accept","content":{%q:"yes"}}`, question)
	})
	t.Cleanup(func() { u.Close() })
	return u
}

var asking = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func TestAskSendsQuestionsInOneRound(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
			a := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: textForm("a", "a")}, peer.WithKey("a"))
			text := mcpserver.NewQuestion(&mcp.CreateMessageRequest{MaxTokens: 1, Messages: []mcp.SamplingMessage{}})
			roots := mcpserver.NewQuestion(&mcp.ListRootsRequest{})
			if err := mcpserver.Ask(ctx, a, text, roots); err != nil {
				return "", err
			}
			return fmt.Sprint(a.Answer.Action, text.Answer.Model, roots.Answer.Roots[0].URI), nil
		})
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, "acceptmfile:///project", got)
		if !handshakes(revision) {
			require.Equal(t, 2, u.rounds)
		}
	}
}

func TestAskFailsIfOneQuestionFails(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
			err := mcpserver.Ask(ctx,
				mcpserver.NewQuestion(&mcp.ElicitRequest{Params: &mcp.ElicitRequestURLParams{URL: "https://a.example/x"}}),
				mcpserver.NewQuestion(&mcp.ListRootsRequest{}))
			_, lacks := errors.AsType[*connection.CapabilityError](err)
			return fmt.Sprint(lacks), nil
		})
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, "true", got)
	}
	require.EqualError(t, mcpserver.Ask(t.Context()), "ask: no session in context")
}

func TestOnceReturnsDecodedJSON(t *testing.T) {
	type made struct {
		Kept string
		lost string
	}
	for _, revision := range asking {
		runs := 0
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			m, err := mcpserver.Once(ctx, "m", func(context.Context, string) (made, error) {
				runs++
				return made{"kept", "lost"}, nil
			})
			if err != nil {
				return "", err
			}
			if _, err := s.ElicitForm(ctx, textForm("a", "a")); err != nil {
				return "", err
			}
			_, wrong := mcpserver.Once(ctx, "m", func(context.Context, string) (int, error) { return 0, nil })
			_, refused := mcpserver.Once(ctx, "n", func(context.Context, string) (func(), error) { return nil, nil })
			return fmt.Sprint(m.Kept, m.lost, wrong != nil, refused), nil
		})
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, `kepttrue step "n": json: unsupported type: func()`, got)
		require.Equal(t, 1, runs)
	}
}

func TestOnceRunsOutsideOfRound(t *testing.T) {
	for range 2 {
		var seen string
		got, err := mcpserver.Once(t.Context(), "m", func(_ context.Context, key string) (int, error) {
			seen = key
			return 1, nil
		})
		require.NoError(t, err)
		require.Equal(t, 1, got)
		require.NotEmpty(t, seen)
	}
	_, err := mcpserver.Once(t.Context(), "m", func(context.Context, string) (int, error) { return 0, errors.New("busy") })
	require.EqualError(t, err, "busy")
}

func TestProxyForwardsOutsideOfRound(t *testing.T) {
	near, far := jsonrpc.InProcessPair(nil, nil)
	defer near.Close()
	_, err := mcpserver.Proxy(forwarder{far}).CallTool(t.Context(), &mcp.CallToolRequest{Name: "x"})
	require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
}

// forwarder is an upstream client.
type forwarder struct{ peer.Outbound }

func (f forwarder) Forward() mcp.ServerPeer { return mcp.ServerPeer{Outbound: f.Outbound} }

// TestPageHasTestedExamples compares the page about questions with the examples.
func TestPageHasTestedExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/questions.md")
	require.NoError(t, err)
	source, err := os.ReadFile("questions_example_test.go")
	require.NoError(t, err)
	tested := unindented(string(source))
	snippets := strings.Split(string(page), "```go\n")[1:]
	require.NotEmpty(t, snippets)
	for _, snippet := range snippets {
		code, _, closed := strings.Cut(snippet, "```")
		require.True(t, closed)
		require.Contains(t, tested, unindented(code))
	}
}

func unindented(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

func TestInvalidResponseIsRequestedAgain(t *testing.T) {
	bad := []string{`{"action":"accept","content":{"a":1}}`, `{"action":"accept","content":{}}`, `{"action":"accept"}`, `{"roots":[]}`}
	for _, revision := range asking {
		for n := range len(bad) + 1 {
			asked := 0
			u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
				res, err := s.ElicitForm(ctx, textForm("a", "a"))
				if err != nil {
					return "", err
				}
				return fmt.Sprint(len(res.Content), res.Content["a"]), nil
			})
			good := u.answers
			u.answers = func(question string) string {
				if asked++; asked <= n {
					return bad[asked-1]
				}
				return good(question)
			}
			got, err := u.use("tool", `{}`)
			require.NoError(t, err)
			require.Equal(t, "1yes", got)
			require.Equal(t, n+1, asked)
		}
	}
}

func TestInvalidResponsesEndRequest(t *testing.T) {
	for _, revision := range asking {
		asked := 0
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			_, err := s.ElicitForm(ctx, textForm("a", "a"))
			return "", err
		})
		u.answers = func(string) string {
			asked++
			return `{"action":"accept","content":{"b":"yes"}}`
		}
		_, err := u.use("tool", `{}`)
		require.Equal(t, &peer.Error{Code: mcp.CodeInternal, Message: "Too many rounds of questions"}, peer.AsError(err), revision)
		require.Equal(t, 10, asked)
	}
}

// A step that two branches of a handler run concurrently asks once, in every revision.
func TestConcurrentStepAsksOnce(t *testing.T) {
	for _, revision := range asking {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprint(revision, " together=", together), func(t *testing.T) {
				asked := 0
				u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
					project := func() (string, error) {
						return mcpserver.Once(ctx, "project", func(ctx context.Context, _ string) (string, error) {
							res, err := s.With().ElicitForm(ctx, textForm("which", "which"))
							if err != nil {
								return "", err
							}
							return fmt.Sprint(res.Content["which"]), nil
						})
					}
					var errs [2]error
					var all sync.WaitGroup
					for i := range errs {
						branch := func() { _, errs[i] = project() }
						if together {
							all.Go(branch)
						} else {
							branch()
						}
					}
					all.Wait()
					return "done", errors.Join(errs[:]...)
				})
				good := u.answers
				u.answers = func(q string) string { asked++; return good(q) }
				got, err := u.use("tool", `{}`)
				require.NoError(t, err)
				require.Equal(t, "done", got)
				require.Equal(t, 1, asked)
			})
		}
	}
}

func TestRequestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcpserver.New(info, &mcpserver.Options{Questions: mcpserver.QuestionOptions{RoundTTL: 1500 * time.Millisecond}})
		mcpserver.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
			if _, err := mcpserver.Once(ctx, "m", func(context.Context, string) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			_, err := s.ElicitForm(ctx, textForm("a", "a"))
			return "done", err
		})
		time.Sleep(400 * time.Millisecond)
		u := newUser(server, mcp.Revision20260728, nil)
		defer u.Close()
		req := &mcp.CallToolRequest{Name: "tool", Arguments: []byte(`{}`)}
		_, err := peer.SendRequest(t.Context(), u, req)
		ask, ok := errors.AsType[*mcp.InputRequiredError](err)
		require.True(t, ok)
		time.Sleep(1200 * time.Millisecond)
		req.RequestState, req.InputResponses = ask.Result.RequestState, mcp.InputResponses{}
		for key := range ask.Result.InputRequests {
			req.InputResponses[key], err = mcp.UnmarshalInputResponse([]byte(`{"action":"accept","content":{"a":"x"}}`))
			require.NoError(t, err)
		}
		_, err = peer.SendRequest(t.Context(), u, req)
		require.NoError(t, err)
	})
}

// trip is a form with one field of each kind.
type trip struct {
	To     string    `json:"to" minLength:"1"`
	Nights int       `json:"nights" minimum:"1"`
	Rating float64   `json:"rating,omitempty"`
	Window bool      `json:"window"`
	Start  time.Time `json:"start"`
	Note   *string   `json:"note"`
}

// tripper returns a server whose tool asks for a trip and returns it. If the user declines, it
// stores the action in outcome.
func tripper(outcome *mcp.ElicitAction) *mcpserver.Server {
	return tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		t, err := mcpserver.Elicit[trip](ctx, mcp.SessionFromContext(ctx), "Where to?")
		if e, declined := errors.AsType[*mcpserver.DeclinedError](err); declined {
			*outcome = e.Action
			return "", fmt.Errorf("ask for the trip: %w", err)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %d %v %t %s %t", t.To, t.Nights, t.Rating, t.Window, t.Start.Format(time.DateOnly), t.Note == nil), nil
	})
}

func TestElicitReturnsForm(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		u := newUser(tripper(nil), r, answerAll(`{"to":"Oslo","nights":3,"rating":4.5,"window":true,"start":"2026-12-01T08:00:00Z"}`))
		got, err := u.use("t", `{}`)
		require.NoError(t, err)
		require.Equal(t, "Oslo 3 4.5 true 2026-12-01 true", got, r)
		require.NoError(t, u.Close())
	}
}

func TestElicitIgnoresUnknownFields(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			got, err := mcpserver.Elicit[struct {
				Guests int    `minimum:"1" maximum:"12"`
				Note   string `json:"Note,omitempty" maxLength:"3"`
			}](ctx, s, "?")
			return fmt.Sprintf("%d%q", got.Guests, got.Note), err
		})
		u.answers = answerAll(`{"Guests":2,"guests":-100,"note":"too long","other":1}`)
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, `2""`, got, revision)
	}
}

func TestElicitReturnsDeclinedError(t *testing.T) {
	for action, text := range map[mcp.ElicitAction]string{
		mcp.ElicitActionDecline: "The user declined to answer.",
		mcp.ElicitActionCancel:  "The user closed the question without answering.",
	} {
		var outcome mcp.ElicitAction
		u := newUser(tripper(&outcome), mcp.Revision20260728, func(string) string { return fmt.Sprintf(`{"action":%q}`, action) })
		got, err := u.use("t", `{}`)
		require.NoError(t, err)
		require.Equal(t, text, got, "the model is told")
		require.Equal(t, action, outcome)
		require.ErrorContains(t, &mcpserver.DeclinedError{Action: action}, string(action))
		require.NoError(t, u.Close())
	}
}

func TestElicitRejectsNestedTypes(t *testing.T) {
	s := tool(nil, &mcp.Tool{}, func(ctx context.Context) (string, error) {
		_, err := mcpserver.Elicit[struct{ Deep struct{ A int } }](ctx, mcp.SessionFromContext(ctx), "?")
		require.ErrorContains(t, err, "Deep")
		return "refused", nil
	})
	u := newUser(s, mcp.Revision20260728, nil)
	got, err := u.use("t", `{}`)
	require.NoError(t, err)
	require.Equal(t, "refused", got)
	require.NoError(t, u.Close())
}

func TestOverflowingNumberIsRequestedAgain(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			got, err := mcpserver.Elicit[struct{ A, B uint8 }](ctx, s, "?")
			return fmt.Sprint(got.A, got.B), err
		})
		contents := []string{`{"A":-1,"B":1}`, `{"A":1,"B":256}`, `{"A":0,"B":255}`}
		u.answers = func(string) string {
			next := contents[0]
			contents = contents[1:]
			return answerAll(next)("")
		}
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, "0 255", got, revision)
	}
}

func TestInexactIntegerIsRequestedAgain(t *testing.T) {
	for _, revision := range asking {
		u := asker(t, revision, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			got, err := mcpserver.Elicit[struct {
				A int64
				B uint64
			}](ctx, s, "?")
			return fmt.Sprint(got.A, got.B), err
		})
		contents := []string{`{"A":9007199254740993,"B":1}`, `{"A":-1,"B":18446744073709551615}`, `{"A":-9007199254740991,"B":9007199254740991}`}
		u.answers = func(string) string {
			next := contents[0]
			contents = contents[1:]
			return answerAll(next)("")
		}
		got, err := u.use("tool", `{}`)
		require.NoError(t, err)
		require.Equal(t, "-9007199254740991 9007199254740991", got, revision)
	}
}
