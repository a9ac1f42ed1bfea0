package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// provider completes arguments with their context.
type provider struct{}

func (provider) CompletePromptArgument(_ context.Context, prompt string, argument mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	switch argument.Value {
	case "none":
		return nil, nil
	case "fail":
		return nil, errors.New("it failed")
	}
	return &mcp.Completion{Values: []string{fmt.Sprint(prompt, argument, known.Arguments)}, Total: 7, HasMore: true}, nil
}

func (provider) CompleteResourceArgument(_ context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return &mcp.Completion{Values: []string{fmt.Sprint(uri, argument)}}, nil
}

// completing returns a server with completion.
func completing(opts ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("test", "1.0.0", opts...)
	s.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name")), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	s.AddResourceTemplate(mcp.NewResourceTemplate("file:///{path}", "files"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return nil, nil
	})
	return s
}

// complete returns the values for the argument of the prompt, or the error.
func complete(t *testing.T, c *mcpclient.Client, value string) string {
	t.Helper()
	res, err := c.Complete(t.Context(), &kit.CompleteRequest{
		Ref: &kit.PromptReference{Name: "greet"}, Argument: kit.CompletionArgument{Name: "name", Value: value},
		Context: &kit.CompletionContext{Arguments: map[string]string{"a": "b"}},
	})
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(res.Completion.Values, " ")
}

func TestCompletionProviders(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		c := connect(completing(server.WithPromptCompletionProvider(provider{}), server.WithResourceCompletionProvider(provider{})))
		known := "map[a:b]"
		if c.Revision() == kit.Revision20241105 {
			known = "map[]" // the revision has no context
		}
		equal(t, complete(t, c, "A"), "greet{name A} "+known)
		equal(t, complete(t, c, "none"), "")
		if got := complete(t, c, "fail"); !strings.Contains(got, "it failed") {
			t.Errorf("got %s", got)
		}
		res, err := c.Complete(t.Context(), &kit.CompleteRequest{
			Ref: &kit.ResourceTemplateReference{URI: "file:///{path}"}, Argument: kit.CompletionArgument{Name: "path", Value: "x"},
		})
		check(t, err)
		equal(t, res.Completion.Values[0], "file:///{path}{path x}")
	})
}

// Without a provider there are no values, and without the option there is no completion.
func TestCompletionWithoutProviders(t *testing.T) {
	equal(t, complete(t, handshake(t, completing(server.WithCompletions())), "A"), "")
	if got := complete(t, handshake(t, completing()), "A"); !strings.HasPrefix(got, "error") {
		t.Errorf("got %s", got)
	}
}

// Hooks of completion can change the request and the result, in each revision.
func TestHooksOfCompletion(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		hooks := &server.Hooks{}
		hooks.AddBeforeComplete(func(_ context.Context, _ any, req *mcp.CompleteRequest) { req.Params.Argument.Value = "changed" })
		hooks.AddAfterComplete(func(_ context.Context, _ any, _ *mcp.CompleteRequest, result *mcp.CompleteResult) {
			result.Completion.Values = append(result.Completion.Values, "added")
		})
		c := connect(completing(server.WithHooks(hooks), server.WithPromptCompletionProvider(provider{})))
		got := complete(t, c, "sent")
		if !strings.HasPrefix(got, "greet{name changed}") || !strings.HasSuffix(got, " added") {
			t.Errorf("got %s", got)
		}
	})
}

func TestHooksOfDiscover(t *testing.T) {
	var seen events
	hooks := &server.Hooks{}
	hooks.AddBeforeDiscover(func(_ context.Context, _ any, req *mcp.DiscoverRequest) { seen.add("before %s", req.Method) })
	hooks.AddAfterDiscover(func(_ context.Context, _ any, _ *mcp.DiscoverRequest, result *mcp.DiscoverResult) {
		seen.add("after %t", slices.Contains(result.SupportedVersions, "2026-07-28"))
		result.Instructions = "added"
	})
	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks))
	c := connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20260728})
	equal(t, seen.take(), "before server/discover\nafter true")
	equal(t, c.Instructions(), "added")
}

// The hook after a subscription is called when the server ends its stream. If the client ends it, the
// hook for errors is called.
func TestHooksOfSubscriptions(t *testing.T) {
	var seen events
	ended := make(chan struct{}, 1)
	hooks := &server.Hooks{}
	hooks.AddBeforeSubscriptionsListen(func(_ context.Context, _ any, req *mcp.SubscriptionsListenRequest) {
		seen.add("before %v", req.Params.Notifications.ToolsListChanged)
	})
	hooks.AddAfterSubscriptionsListen(func(context.Context, any, *mcp.SubscriptionsListenRequest, *mcp.SubscriptionsListenResult) {
		seen.add("after")
		ended <- struct{}{}
	})
	hooks.AddOnError(func(_ context.Context, _ any, method mcp.MCPMethod, _ any, err error) {
		seen.add("error %s", method)
		ended <- struct{}{}
	})
	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks), server.WithToolCapabilities(true))
	c := connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20260728})
	sub, err := c.Listen(t.Context(), kit.SubscriptionFilter{ToolsListChanged: true})
	check(t, err)
	sub.Close()
	<-ended
	equal(t, seen.take(), "before true\nerror subscriptions/listen")
	_, err = c.Listen(t.Context(), kit.SubscriptionFilter{ToolsListChanged: true})
	check(t, err)
	equal(t, seen.take(), "before true")
	check(t, s.Kit().Shutdown(t.Context()))
	<-ended
	equal(t, seen.take(), "after")
}

// The client waits for its poll interval, which takes no time in a bubble.
func TestHooksOfTasks(t *testing.T) { synctest.Test(t, testHooksOfTasks) }

func testHooksOfTasks(t *testing.T) {
	var seen events
	canceled := make(chan struct{}, 2)
	hooks := &server.Hooks{}
	hooks.AddBeforeGetTask(func(_ context.Context, _ any, req *mcp.GetTaskRequest) { seen.add("before get %s", req.Params.TaskId) })
	hooks.AddAfterGetTask(func(_ context.Context, _ any, _ *mcp.GetTaskRequest, result *mcp.GetTaskResult) {
		seen.add("after get %s", result.Status)
	})
	hooks.AddBeforeListTasks(func(_ context.Context, _ any, req *mcp.ListTasksRequest) { seen.add("before list %s", req.Method) })
	hooks.AddAfterListTasks(func(_ context.Context, _ any, _ *mcp.ListTasksRequest, result *mcp.ListTasksResult) {
		seen.add("after list %d", len(result.Tasks))
	})
	hooks.AddBeforeTaskResult(func(_ context.Context, _ any, req *mcp.TaskResultRequest) {
		seen.add("before result %s", req.Params.TaskId)
	})
	hooks.AddAfterTaskResult(func(_ context.Context, _ any, _ *mcp.TaskResultRequest, result *mcp.TaskResultResult) {
		seen.add("after result %s", result.Content[0].(mcp.TextContent).Text)
	})
	hooks.AddBeforeCancelTask(func(_ context.Context, _ any, req *mcp.CancelTaskRequest) {
		seen.add("before cancel %s", req.Params.TaskId)
		canceled <- struct{}{}
	})
	hooks.AddAfterCancelTask(func(_ context.Context, _ any, _ *mcp.CancelTaskRequest, result *mcp.CancelTaskResult) {
		seen.add("after cancel %s", result.Status)
		canceled <- struct{}{}
	})
	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks), server.WithTaskCapabilities(true, true, true))
	s.AddTool(mcp.NewTool("echo", mcp.WithTaskSupport(mcp.TaskSupportRequired)), echo)
	waiting := make(chan struct{})
	s.AddTool(mcp.NewTool("wait", mcp.WithTaskSupport(mcp.TaskSupportRequired)), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(waiting)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20251125, Tasks: true})
	res, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{"text":"a"}`), Task: &kit.TaskMetadata{}})
	check(t, err)
	equal(t, res.Content[0].(*kit.TextContent).Text, "a")
	list, err := c.ListTasks(t.Context(), nil)
	check(t, err)
	id := list.Tasks[0].TaskID
	equal(t, seen.take(), fmt.Sprintf("before get %s\nafter get completed\nbefore result %s\nafter result a\nbefore list tasks/list\nafter list 1", id, id))
	_, err = c.GetTask(t.Context(), &kit.GetTaskRequest{TaskID: id})
	check(t, err)
	equal(t, seen.take(), fmt.Sprintf("before get %s\nafter get completed", id))

	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan struct{})
	go func() { // ends when the call is canceled
		_, _ = c.CallTool(ctx, &kit.CallToolRequest{Name: "wait", Task: &kit.TaskMetadata{}})
		close(called)
	}()
	<-waiting
	seen.take()
	cancel() // the client cancels the task
	<-called
	for range 2 {
		<-canceled
	}
	if got := seen.take(); !strings.Contains(got, "before cancel ") || !strings.HasSuffix(got, "after cancel cancelled") {
		t.Errorf("got %s", got)
	}
}

func TestTaskTools(t *testing.T) { synctest.Test(t, testTaskTools) }

func testTaskTools(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0", server.WithTaskCapabilities(true, true, true))
	s.AddTaskTool(mcp.NewTool("render"), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
		switch text := req.GetString("text", ""); text {
		case "":
			return nil, nil
		case "fail":
			return nil, errors.New("it failed")
		default:
			return &mcp.CreateTaskResult{
				Content: []mcp.Content{mcp.NewTextContent(text)}, StructuredContent: map[string]any{"n": 1}, IsError: text == "bad",
			}, nil
		}
	})
	c := connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20251125, Tasks: true})
	for _, task := range []*kit.TaskMetadata{nil, {}} {
		res, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: "render", Arguments: json.RawMessage(`{"text":"a"}`), Task: task})
		check(t, err)
		equal(t, res.Content[0].(*kit.TextContent).Text, "a")
		equal(t, string(res.StructuredContent), `{"n":1}`)
		res, err = c.CallTool(t.Context(), &kit.CallToolRequest{Name: "render", Arguments: json.RawMessage(`{"text":"bad"}`), Task: task})
		check(t, err)
		equal(t, res.IsError, true)
		_, err = c.CallTool(t.Context(), &kit.CallToolRequest{Name: "render", Arguments: json.RawMessage(`{"text":"fail"}`), Task: task})
		equal(t, strings.Contains(fmt.Sprint(err), "it failed"), true)
		res, err = c.CallTool(t.Context(), &kit.CallToolRequest{Name: "render", Task: task})
		check(t, err)
		equal(t, res.IsError, true) // the handler returned nothing
	}
	list, err := c.ListTasks(t.Context(), nil)
	check(t, err)
	equal(t, len(list.Tasks), 4)
}
