package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/client"
	"github.com/mcpwright/mcp/compat/mcpgo/client/transport"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

func newServer(opts ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("test", "1.0.0", append(opts, server.WithPaginationLimit(1), server.WithInstructions("Call a."))...)
	for _, name := range []string{"a", "b"} {
		s.AddTool(mcp.NewTool(name), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(req.Params.Name + req.GetString("text", "") + req.Header.Get("User")), nil
		})
		s.AddPrompt(mcp.NewPrompt(name), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("described", nil), nil
		})
		s.AddResource(mcp.NewResource("x:"+name, name), func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: "read"}}, nil
		})
		s.AddResourceTemplate(mcp.NewResourceTemplate(name+":{path}", name), nil)
	}
	return s
}

// TestMain serves standard input and output in the child process of a test.
func TestMain(m *testing.M) {
	if os.Getenv("CLIENT_TEST_SERVER") != "" {
		if err := server.ServeStdio(newServer()); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRequests(t *testing.T) {
	srv := server.NewTestStreamableHTTPServer(newServer())
	t.Cleanup(srv.Close)
	sse := server.NewTestServer(newServer())
	t.Cleanup(sse.Close)
	for name, connect := range map[string]func() (*client.Client, error){
		"in process": func() (*client.Client, error) { return client.NewInProcessClient(newServer()) },
		"http": func() (*client.Client, error) {
			return client.NewStreamableHttpClient(srv.URL, transport.WithHTTPHeaders(map[string]string{"User": "me"}))
		},
		"sse": func() (*client.Client, error) {
			return client.NewSSEMCPClient(sse.URL+"/sse", client.WithHeaders(map[string]string{"User": "me"}), client.WithHTTPClient(sse.Client()))
		},
		"streams": func() (*client.Client, error) { return overStreams(t, newServer()), nil },
		"stdio": func() (*client.Client, error) {
			return client.NewStdioMCPClient(os.Args[0], []string{"CLIENT_TEST_SERVER=1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := connect()
			check(t, err)
			ctx := t.Context()
			check(t, c.Start(ctx))
			init, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "c", Version: "1"}}})
			check(t, err)
			equal(t, init.ServerInfo.Name, "test")
			equal(t, init.Instructions, "Call a.")
			equal(t, init.Capabilities.Tools != nil, true)
			check(t, c.Ping(ctx))
			tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
			check(t, err)
			equal(t, len(tools.Tools), 2)
			equal(t, *tools.Tools[0].Annotations.DestructiveHint, true)
			call := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "a", Arguments: map[string]any{"text": "!"}}}
			result, err := c.CallTool(ctx, call)
			check(t, err)
			user := map[bool]string{true: "me"}[name == "http" || name == "sse"]
			equal(t, result.Content[0].(mcp.TextContent).Text, "a!"+user)
			prompts, err := c.ListPrompts(ctx, mcp.ListPromptsRequest{})
			check(t, err)
			equal(t, len(prompts.Prompts), 2)
			prompt, err := c.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: "a"}})
			check(t, err)
			equal(t, prompt.Description, "described")
			resources, err := c.ListResources(ctx, mcp.ListResourcesRequest{})
			check(t, err)
			equal(t, len(resources.Resources), 2)
			templates, err := c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
			check(t, err)
			equal(t, templates.ResourceTemplates[1].URITemplate.Raw(), "b:{path}")
			read, err := c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "x:a"}})
			check(t, err)
			equal(t, read.Contents[0].(mcp.TextResourceContents).Text, "read")
			if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err == nil {
				t.Error("the client is initialized already")
			}
			check(t, c.Close())
		})
	}
}

// overStreams returns a client of a server that serves two pipes.
func overStreams(t *testing.T, s *server.MCPServer) *client.Client {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan struct{})
	go func() { // ends when the client closes its stream, or with the test
		defer close(served)
		_ = server.NewStdioServer(s).Listen(t.Context(), serverIn, serverOut)
	}()
	t.Cleanup(func() { <-served })
	to := transport.NewIO(clientIn, clientOut, nil)
	check(t, to.Start(t.Context()))
	t.Cleanup(func() { check(t, to.Close()) })
	return client.NewClient(to)
}

func TestOnNotification(t *testing.T) {
	s := newServer(server.WithLogging())
	srv := server.NewTestStreamableHTTPServer(s)
	t.Cleanup(srv.Close)
	s.AddTool(mcp.NewTool("more"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("added"), nil)
		return mcp.NewToolResultText("done"), s.SendNotificationToClient(ctx, "notifications/message", map[string]any{"level": "error", "data": "full"})
	})
	c, err := client.NewStreamableHttpClient(srv.URL, transport.WithContinuousListening())
	check(t, err)
	got := make(chan mcp.JSONRPCNotification, 9)
	c.OnNotification(func(n mcp.JSONRPCNotification) { got <- n })
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	check(t, err)
	_, err = c.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "more"}})
	check(t, err)
	all := map[string]mcp.JSONRPCNotification{}
	for range 2 {
		n := <-got
		all[n.Method] = n
	}
	if _, ok := all[mcp.MethodNotificationToolsListChanged]; !ok {
		t.Errorf("got %v", all)
	}
	equal(t, all["notifications/message"].Params.AdditionalFields["data"], any("full"))
	check(t, c.Close())
}

func TestErrors(t *testing.T) {
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refuse.Close)
	to, err := transport.NewStreamableHTTP(refuse.URL, transport.WithHTTPBasicClient(refuse.Client()))
	check(t, err)
	c := client.NewClient(to)
	if _, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err == nil {
		t.Error("the client is not initialized")
	}
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	if _, ok := errors.AsType[*transport.AuthorizationRequiredError](err); !ok {
		t.Errorf("got %v", err)
	}
	check(t, c.Close())
}

// A gateway passes on the hints of tools, which are true by default or false by default.
func TestHintsThatAreFalse(t *testing.T) {
	srv := server.NewMCPServer("test", "1.0.0")
	srv.AddTool(mcp.NewTool("a", mcp.WithDestructiveHintAnnotation(false), mcp.WithReadOnlyHintAnnotation(false)), nil)
	c, err := client.NewInProcessClient(srv)
	check(t, err)
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	check(t, err)
	defer c.Close()
	for _, list := range []func(context.Context, mcp.ListToolsRequest) (*mcp.ListToolsResult, error){c.ListTools, c.ListToolsByPage} {
		result, err := list(t.Context(), mcp.ListToolsRequest{})
		check(t, err)
		hints := result.Tools[0].Annotations
		for _, hint := range []*bool{hints.DestructiveHint, hints.ReadOnlyHint, hints.IdempotentHint} {
			equal(t, hint != nil && !*hint, true)
		}
		equal(t, *hints.OpenWorldHint, true)
	}
}
