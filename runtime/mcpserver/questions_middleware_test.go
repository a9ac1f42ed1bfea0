package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// signedIn is the transport of an authenticated client.
type signedIn struct{ peer.TransportContext }

func (signedIn) Principal() string { return "ann" }

// rewriting is middleware that changes tool calls.
func rewriting(change func(in *peer.Inbound)) peer.Middleware {
	return func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodCallTool {
				other := *in
				change(&other)
				in = &other
			}
			return next.Handle(ctx, in)
		})
	}
}

func TestMiddlewareChangesRequestInEachRound(t *testing.T) {
	for name, change := range map[string]func(in *peer.Inbound){
		"other arguments": func(in *peer.Inbound) {
			in.Message = nil
			in.Params = bytes.Replace(in.Params, []byte(`"arguments":{}`), []byte(`"arguments":{"tenant":"acme"}`), 1)
		},
		"a principal": func(in *peer.Inbound) { in.Transport = signedIn{in.Transport} },
	} {
		for _, revision := range asking {
			t.Run(name+" "+revision, func(t *testing.T) {
				server := mcpserver.New(info, &mcpserver.Options{Middleware: []peer.Middleware{rewriting(change)}})
				mcpserver.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, s *mcp.ServerSession, in struct {
					Tenant string `json:"tenant,omitempty"`
				}) (string, error) {
					n, err := mcpserver.Once(ctx, "number", func(context.Context, string) (int, error) { return 7, nil })
					if err != nil {
						return "", err
					}
					a, err := s.ElicitForm(ctx, textForm("a", "a"))
					if err != nil {
						return "", err
					}
					return fmt.Sprint(in.Tenant, n, a.Content["a"]), nil
				})
				u := userOf(t, server, revision)
				got, err := u.use("tool", `{}`)
				require.NoError(t, err)
				require.Contains(t, []string{"acme7yes", "7yes"}, got)
				require.Equal(t, name == "other arguments", got == "acme7yes")
			})
		}
	}
}

// userOf connects a user who answers "yes".
func userOf(t *testing.T, server *mcpserver.Server, revision string) *user {
	t.Helper()
	r, known := mcp.ParseRevision(revision)
	require.True(t, known)
	u := newUser(server, r, answerAll(`{"a":"yes"}`))
	t.Cleanup(func() { u.Close() })
	return u
}

func TestHandlerThatReturnsQuestionsReadsResponses(t *testing.T) {
	for _, revision := range asking {
		t.Run(revision, func(t *testing.T) {
			server := mcpserver.New(info, nil)
			mcpserver.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
				req := connection.RequestFromContext(ctx).(*mcp.CallToolRequest)
				if a, ok := req.InputResponses["mine"].(*mcp.ElicitResult); ok && req.RequestState != nil {
					return fmt.Sprint(a.Content["a"], " ", *req.RequestState), nil
				}
				state := "my state"
				return "", &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
					RequestState: &state, InputRequests: mcp.InputRequests{"mine": &mcp.ElicitRequest{Params: textForm("a", "a")}},
				}}
			})
			got, err := userOf(t, server, revision).use("tool", `{}`)
			require.NoError(t, err)
			require.Equal(t, "yes my state", got)
		})
	}
}

func TestInvalidResponsesAreLogged(t *testing.T) {
	for _, revision := range asking {
		var said strings.Builder
		server := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
		mcpserver.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
			_, err := s.ElicitForm(ctx, textForm("b", "b"))
			return "", err
		})
		_, err := userOf(t, server, revision).use("tool", `{}`)
		require.ErrorContains(t, err, "Too many rounds")
		require.Equal(t, 1, strings.Count(said.String(), "level=WARN"), said.String())
		require.Contains(t, said.String(), "request abandoned while it asked for input")
		require.Regexp(t, `\bb\b.*required|required.*\bb\b|missing.*\bb\b`, said.String())
	}
}

func TestOpenQuestionIsNotLogged(t *testing.T) {
	for _, wrap := range []string{"ask: %w", "ask: %v"} {
		t.Run(wrap, func(t *testing.T) {
			var said strings.Builder
			server := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
			mcpserver.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
				a, err := s.ElicitForm(ctx, textForm("a", "a"))
				if err != nil {
					return "", fmt.Errorf(wrap, err)
				}
				return "", fmt.Errorf("really: %w", errors.New(a.Content["a"].(string)))
			})
			_, err := userOf(t, server, "2026-07-28").use("tool", `{}`)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(said.String(), "level=ERROR"), said.String())
			require.Contains(t, said.String(), "really: yes")
		})
	}
}
