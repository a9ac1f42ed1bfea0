package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// questioner returns a server whose tools ask their client.
func questioner() *server.MCPServer {
	s := server.NewMCPServer("test", "1.0.0", server.WithRoots())
	s.EnableSampling()
	s.AddTool(mcp.NewTool("sample"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		request := mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{
			Messages:         []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Why?")}},
			ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}, SpeedPriority: 0.5},
			SystemPrompt:     "Be brief.", Temperature: 0.25, MaxTokens: 10, StopSequences: []string{"."},
		}}
		res, err := s.RequestSampling(ctx, request)
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(fmt.Sprint(res.Role, " ", res.Model, " ", res.StopReason, " ", mcp.GetTextFromContent(res.Content))), nil
	})
	s.AddTool(mcp.NewTool("roots"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(fmt.Sprint(res.Roots[0].URI, " ", res.Roots[0].Name)), nil
	})
	s.AddTool(mcp.NewTool("visit"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := s.RequestURLElicitation(ctx, server.ClientSessionFromContext(ctx), "7", "https://a.example/", "Log in")
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(res.Action)), nil
	})
	return s
}

// responder returns the options of a client that responds to all questions.
func responder() mcpclient.Options {
	return mcpclient.Options{
		OnCreateMessage: func(_ context.Context, req *kit.CreateMessageRequest) (*kit.CreateMessageResult, error) {
			text := fmt.Sprint(req.Messages[0].Content[0].(*kit.TextContent).Text, " ", req.ModelPreferences.Hints[0].Name, " ",
				*req.ModelPreferences.SpeedPriority, " ", req.SystemPrompt, " ", *req.Temperature, " ", req.MaxTokens, " ", req.StopSequences)
			return &kit.CreateMessageResult{
				Role: kit.RoleAssistant, Model: "m", StopReason: "endTurn", Content: []kit.SamplingMessageContentBlock{&kit.TextContent{Text: text}},
			}, nil
		},
		ElicitURLs: true, Roots: []kit.Root{{URI: "file:///work", Name: "work"}},
		OnElicit: func(_ context.Context, req *kit.ElicitRequest) (*kit.ElicitResult, error) {
			if params, ok := req.Params.(*kit.ElicitRequestURLParams); !ok || params.URL != "https://a.example/" || params.Message != "Log in" {
				return nil, errors.New("wrong question")
			}
			return &kit.ElicitResult{Action: kit.ElicitActionAccept}, nil
		},
	}
}

func TestQuestions(t *testing.T) {
	for name, transport := range transports {
		if name == "stateless http" || name == "sse" {
			continue // without a session, or without a stream for questions of 2024-11-05
		}
		t.Run(name, func(t *testing.T) {
			to := transport(t, questioner())
			for _, mode := range []mcpclient.Mode{mcpclient.Handshake, mcpclient.Auto} {
				opts := responder()
				opts.Mode = mode
				c := connect(t, to, opts)
				equal(t, call(t, c, "sample", "{}"), "assistant m endTurn Why? small 0.5 Be brief. 0.25 10 [.]")
				equal(t, call(t, c, "roots", "{}"), "file:///work work")
				equal(t, call(t, c, "visit", "{}"), "accept")
				if name == "pipes" {
					return // they serve one client
				}
			}
		})
	}
	c := handshake(t, questioner())
	equal(t, call(t, c, "sample", "{}"), "error: session does not support sampling (code -32603)")
	equal(t, call(t, c, "roots", "{}"), "error: session does not support roots (code -32603)")
	equal(t, call(t, c, "visit", "{}"), "error: session does not support elicitation (code -32603)")
}

func TestQuestionsWithoutSession(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	session := &ownSession{"own", make(chan mcp.JSONRPCNotification, 1)}
	for _, c := range []struct {
		ctx                    context.Context
		sampling, roots, visit string
	}{
		{t.Context(), "no active session", "no active client session", "no active session"},
		{
			s.WithContext(t.Context(), session),
			"session does not support sampling", "session does not support roots", "session does not support elicitation",
		},
	} {
		_, err := s.RequestSampling(c.ctx, mcp.CreateMessageRequest{})
		equal(t, fmt.Sprint(err), c.sampling)
		_, err = s.RequestRoots(c.ctx, mcp.ListRootsRequest{})
		equal(t, fmt.Sprint(err), c.roots)
		_, err = s.RequestURLElicitation(c.ctx, server.ClientSessionFromContext(c.ctx), "", "", "")
		equal(t, fmt.Sprint(err), c.visit)
	}
	check(t, s.SendElicitationComplete(t.Context(), session, "7"))
	equal(t, (<-session.queue).Params.AdditionalFields["elicitationId"], any("7"))
	equal(t, errors.Is(s.SendElicitationComplete(t.Context(), nil, "7"), server.ErrNoActiveSession), true)
}

func TestParseSamplingContent(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"text","text":"a"}`: "a",
		`[{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"a/b"}]`: "2 blocks",
		`[1]`:             "item 0 of the content is not an object",
		`[{"type":"no"}]`: "error",
		`"text"`:          "text",
	} {
		var content any
		check(t, json.Unmarshal([]byte(text), &content))
		parsed, err := mcp.ParseSamplingContent(content)
		got := fmt.Sprint(parsed)
		switch parsed := parsed.(type) {
		case mcp.TextContent:
			got = parsed.Text
		case []mcp.Content:
			got = fmt.Sprint(len(parsed), " blocks")
		}
		if err != nil && want == "error" {
			got = want
		} else if err != nil {
			got = err.Error()
		}
		equal(t, got, want)
	}
}
