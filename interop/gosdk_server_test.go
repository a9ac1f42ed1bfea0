package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goServer is the official SDK's server.
func goServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: serverName, Version: "1"}, &mcp.ServerOptions{
		Capabilities:       &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler:  goComplete,
	})
	goTools(s)
	goAsking(s)
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text := noteText
		if page, ok := strings.CutPrefix(req.Params.URI, "mem://page/"); ok {
			text = "page " + page
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: text}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: noteURI, Name: "note"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "mem://page/{number}", Name: "page"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "advise", Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Advise me on " + req.Params.Arguments["topic"]}},
			}}, nil
		})
	return s
}

func goComplete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	res := new(mcp.CompleteResult)
	for _, topic := range []string{"code", "tea", "tests"} {
		if strings.HasPrefix(topic, req.Params.Argument.Value) {
			res.Completion.Values = append(res.Completion.Values, topic)
		}
	}
	return res, nil
}

type (
	nothing  struct{}
	greeting struct {
		Name string `json:"name"`
	}
)

func goText(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// goTool adds a tool without arguments.
func goTool(s *mcp.Server, name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: name}, func(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		res, err := h(ctx, req)
		return res, nil, err
	})
}

func goTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
		return goText("Hello, %s", in.Name), nil, nil
	})
	goTool(s, "fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("no such luck")
	})
	goTool(s, "count", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			p := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		return goText("done"), nil
	})
	goTool(s, "log", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return goText("done"), req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "something happened"})
	})
	goTool(s, "touch", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return goText("done"), s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI})
	})
	goTool(s, "wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

var (
	askForm = &mcp.ElicitParams{Message: "Your name?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	askModel = &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{
		{Role: "user", Content: &mcp.TextContent{Text: "Which colour?"}}}}
)

// goAsking adds the tools that send requests to the client. In this SDK a handler returns its requests
// and is called again with the responses, in every revision.
func goAsking(s *mcp.Server) {
	ask := func(name string, questions mcp.InputRequestMap, answer func(mcp.InputResponseMap) string) {
		goTool(s, name, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.InputResponses) < len(questions) {
				return &mcp.CallToolResult{InputRequests: questions}, nil
			}
			return goText("%s", answer(req.Params.InputResponses)), nil
		})
	}
	ask("ask", mcp.InputRequestMap{"name": askForm}, func(r mcp.InputResponseMap) string { return "Hello, " + goName(r) })
	ask("sample", mcp.InputRequestMap{"colour": askModel}, func(r mcp.InputResponseMap) string { return "the model says " + goColour(r) })
	ask("both", mcp.InputRequestMap{"name": askForm, "colour": askModel},
		func(r mcp.InputResponseMap) string { return goName(r) + " likes " + goColour(r) })
	ask("roots", mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}},
		func(r mcp.InputResponseMap) string { return r["roots"].(*mcp.ListRootsResult).Roots[0].URI })
}

func goName(r mcp.InputResponseMap) string {
	return fmt.Sprint(r["name"].(*mcp.ElicitResult).Content["name"])
}

func goColour(r mcp.InputResponseMap) string {
	return r["colour"].(*mcp.CreateMessageWithToolsResult).Content[0].(*mcp.TextContent).Text
}

func goStdio(ctx context.Context) error { return goServer().Run(ctx, &mcp.StdioTransport{}) }

func goHandler(revision string) (http.Handler, func(context.Context) error) {
	s := goServer()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: revision >= "2026-07-28"}), func(context.Context) error { return nil }
}
