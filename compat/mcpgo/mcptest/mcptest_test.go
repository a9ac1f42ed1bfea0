package mcptest_test

import (
	"context"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/mcptest"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func textOf(content []mcp.Content) string { return content[0].(mcp.TextContent).Text }

func greet(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("Hello, " + req.GetString("name", "") + "!"), nil
}

func callGreet(t *testing.T, s *mcptest.Server) string {
	t.Helper()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = "greet", map[string]any{"name": "Ada"}
	res, err := s.Client().CallTool(t.Context(), req)
	check(t, err)
	return textOf(res.Content)
}

func TestServerWithTools(t *testing.T) {
	s, err := mcptest.NewServer(t, server.ServerTool{Tool: mcp.NewTool("greet", mcp.WithString("name")), Handler: greet})
	check(t, err)
	t.Cleanup(s.Close) // the context of the test has ended then
	if text := callGreet(t, s); text != "Hello, Ada!" {
		t.Errorf("text = %q", text)
	}
	t.Run("subtest", func(t *testing.T) { callGreet(t, s) })
	s.Close()
	if s.Client() != nil {
		t.Error("closed server has a client")
	}
}

func TestUnstartedServer(t *testing.T) {
	var client mcp.Implementation
	s := mcptest.NewUnstartedServer(t)
	s.Close() // does nothing
	s.AddTool(mcp.NewTool("greet"), greet)
	s.AddPrompt(mcp.NewPrompt("p"), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "a prompt"}, nil
	})
	read := func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "text"}}, nil
	}
	s.AddResource(mcp.NewResource("file:///a", "a"), read)
	s.AddResourceTemplate(mcp.NewResourceTemplate("file:///of/{name}", "of"), read)
	s.AddServerOptions(server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			client = server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo).GetClientInfo()
			return next(ctx, req)
		}
	}))
	s.SetClientInfo(mcp.Implementation{Name: "me", Version: "2"})
	check(t, s.Start(t.Context()))
	defer s.Close()

	callGreet(t, s)
	if client.Name != "me" {
		t.Errorf("client = %v", client)
	}
	var prompt mcp.GetPromptRequest
	prompt.Params.Name = "p"
	got, err := s.Client().GetPrompt(t.Context(), prompt)
	check(t, err)
	if got.Description != "a prompt" {
		t.Errorf("prompt = %v", got)
	}
	for _, uri := range []string{"file:///a", "file:///of/b"} {
		var req mcp.ReadResourceRequest
		req.Params.URI = uri
		res, err := s.Client().ReadResource(t.Context(), req)
		check(t, err)
		if len(res.Contents) != 1 {
			t.Errorf("contents of %q = %v", uri, res.Contents)
		}
	}
}

// Close waits for a handler that runs.
func TestCloseEndsHandlers(t *testing.T) {
	began, ended := make(chan struct{}), false
	s, err := mcptest.NewServer(t, server.ServerTool{Tool: mcp.NewTool("wait"), Handler: func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(began)
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	}})
	check(t, err)
	failed := make(chan error, 1)
	go func() { // ends with the server
		var req mcp.CallToolRequest
		req.Params.Name = "wait"
		_, err := s.Client().CallTool(context.Background(), req)
		failed <- err
	}()
	<-began
	s.Close()
	if err := <-failed; err == nil || !ended {
		t.Errorf("error %v, handler ended %v", err, ended)
	}
}

func TestServerThatCannotStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := mcptest.NewUnstartedServer(t)
	if err := s.Start(ctx); err == nil {
		t.Error("no error")
	}
	s.Close()
}
