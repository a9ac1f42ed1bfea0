package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpwright/mcp/compat/mcpgo/client"
	"github.com/mcpwright/mcp/compat/mcpgo/client/transport"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/mcptest"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// responder responds to the questions of servers, or returns err.
type responder struct{ err error }

func (r responder) CreateMessage(_ context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	text := request.Messages[0].Content.(mcp.TextContent).Text + " " + request.SystemPrompt
	return &mcp.CreateMessageResult{
		SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent(text)}, Model: "m", StopReason: "endTurn",
	}, r.err
}

func (r responder) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	response := mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept}
	if request.Params.Mode != mcp.ElicitationModeURL {
		response.Content = map[string]any{"city": request.Params.Message}
	}
	return &mcp.ElicitationResult{ElicitationResponse: response}, r.err
}

func (r responder) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work", Name: "work"}}}, r.err
}

// ask is a tool that asks all questions.
func ask(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := server.ServerFromContext(ctx)
	message, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{
		Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Why?")}}, SystemPrompt: "Be brief.", MaxTokens: 9,
	}})
	if err != nil {
		return nil, err
	}
	form, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
		Message: "Bern", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
	}})
	if err != nil {
		return nil, err
	}
	visit, err := s.RequestURLElicitation(ctx, server.ClientSessionFromContext(ctx), "1", "https://a.example/", "Log in")
	if err != nil {
		return nil, err
	}
	roots, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(fmt.Sprint(
		mcp.GetTextFromContent(message.Content), " ", message.Model, ", ", form.Content.(map[string]any)["city"], ", ", visit.Action, ", ", roots.Roots[0].Name)), nil
}

func TestHandlers(t *testing.T) {
	for _, err := range []error{nil, errors.New("it failed")} {
		s := mcptest.NewUnstartedServer(t)
		s.AddTool(mcp.NewTool("ask"), ask)
		s.SetSamplingHandler(responder{err})
		s.SetElicitationHandler(responder{err})
		s.SetRootsHandler(responder{err})
		check(t, s.Start(t.Context()))
		defer s.Close()
		res, got := s.Client().CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "ask"}})
		if err != nil {
			equal(t, got != nil && strings.Contains(got.Error(), "it failed"), true)
			continue
		}
		check(t, got)
		equal(t, res.Content[0].(mcp.TextContent).Text, "Why? Be brief. m, Bern, accept, work")
	}
	srv := newServer()
	srv.AddTool(mcp.NewTool("sample"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := srv.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Why?")}}, MaxTokens: 9,
		}})
		return mcp.NewToolResultText("sampled"), err
	})
	c, err := client.NewInProcessClientWithSamplingHandler(srv, responder{})
	check(t, err)
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	check(t, err)
	_, err = c.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "sample"}})
	check(t, err)
	check(t, c.Close())
}

func TestPagesAndState(t *testing.T) {
	s := newServer(server.WithPromptCompletionProvider(completions{}))
	to := transport.NewIO(nil, nil, nil)
	equal(t, client.NewClient(to).GetTransport(), transport.Interface(to))
	c, err := client.NewInProcessClient(s)
	check(t, err)
	equal(t, fmt.Sprint(c.IsInitialized(), c.ProtocolVersion(), c.GetSessionId(), c.GetServerCapabilities().Tools, c.Kit() == nil), "false<nil> true")
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	check(t, err)
	equal(t, c.IsInitialized(), true)
	equal(t, c.ProtocolVersion(), kit.Revision20260728.String())
	equal(t, c.GetServerCapabilities().Tools != nil, true)

	var tools mcp.ListToolsRequest
	for _, want := range []string{"a", "b"} {
		page, err := c.ListToolsByPage(t.Context(), tools)
		check(t, err)
		equal(t, page.Tools[0].Name, want)
		equal(t, len(page.Tools), 1)
		tools.Params.Cursor = page.NextCursor
	}
	equal(t, tools.Params.Cursor, "")
	prompts, err := c.ListPromptsByPage(t.Context(), mcp.ListPromptsRequest{})
	check(t, err)
	resources, err := c.ListResourcesByPage(t.Context(), mcp.ListResourcesRequest{})
	check(t, err)
	templates, err := c.ListResourceTemplatesByPage(t.Context(), mcp.ListResourceTemplatesRequest{})
	check(t, err)
	equal(t, fmt.Sprint(len(prompts.Prompts), len(resources.Resources), len(templates.ResourceTemplates)), "1 1 1")
	completed, err := c.Complete(t.Context(), mcp.CompleteRequest{Params: mcp.CompleteParams{
		Ref: mcp.PromptReference{Type: "ref/prompt", Name: "a"}, Argument: mcp.CompleteArgument{Name: "x", Value: "v"},
	}})
	check(t, err)
	equal(t, strings.Join(completed.Completion.Values, ","), "v1,v2")
	check(t, c.Close())
}

type completions struct{}

func (completions) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{argument.Value + "1", argument.Value + "2"}}, nil
}

type userKey struct{}

func TestHeaderFunc(t *testing.T) {
	srv := server.NewTestStreamableHTTPServer(newServer())
	t.Cleanup(srv.Close)
	sse := server.NewTestServer(newServer())
	t.Cleanup(func() { sse.CloseClientConnections(); sse.Close() })
	header := func(ctx context.Context) map[string]string {
		user, _ := ctx.Value(userKey{}).(string)
		return map[string]string{"User": user, "Content-Type": "text/plain", "Mcp-Protocol-Version": "1"}
	}
	for _, connect := range []func() (*client.Client, error){
		func() (*client.Client, error) {
			return client.NewStreamableHttpClient(srv.URL, transport.WithHTTPHeaderFunc(header), transport.WithHTTPTimeout(time.Minute))
		},
		func() (*client.Client, error) {
			return client.NewSSEMCPClient(sse.URL+"/sse", client.WithHeaderFunc(header), client.WithHTTPClient(sse.Client()))
		},
	} {
		c, err := connect()
		check(t, err)
		_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
		check(t, err)
		ctx := context.WithValue(t.Context(), userKey{}, "me")
		result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "a"}})
		check(t, err)
		equal(t, result.Content[0].(mcp.TextContent).Text, "ame")
		check(t, c.Close())
	}
}

func TestHTTPTimeout(t *testing.T) {
	ended := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(ended) })
	c, err := client.NewStreamableHttpClient(silent.URL, transport.WithHTTPTimeout(10*time.Millisecond))
	check(t, err)
	_, err = c.Initialize(t.Context(), mcp.InitializeRequest{})
	if _, ok := errors.AsType[*peer.TimeoutError](err); !ok {
		t.Errorf("got %v", err)
	}
}

func TestConnectionLost(t *testing.T) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go server.NewStdioServer(newServer()).Listen(t.Context(), serverIn, serverOut) // ends when the client closes
	c := client.NewClient(transport.NewIO(clientIn, clientOut, nil))
	lost := make(chan error, 1)
	c.OnConnectionLost(func(err error) { lost <- err })
	_, err := c.Initialize(t.Context(), mcp.InitializeRequest{})
	check(t, err)
	serverOut.Close()
	equal(t, <-lost != nil, true)
	c.Close()
}
