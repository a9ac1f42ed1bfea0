package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

var discard = slog.New(slog.DiscardHandler)

func TestHooks(t *testing.T) {
	var seen events
	hooks := &server.Hooks{}
	hooks.AddOnRequestInitialization(func(_ context.Context, id, message any) error {
		seen.add("request")
		if req, ok := message.(*mcp.CallToolRequest); ok && req.Params.Name == "refused" {
			return errors.New("refused by a hook")
		}
		return nil
	})
	hooks.AddBeforeAny(func(_ context.Context, _ any, method mcp.MCPMethod, message any) { seen.add("before any %s", method) })
	hooks.AddBeforeCallTool(func(_ context.Context, _ any, req *mcp.CallToolRequest) {
		seen.add("before %s %v", req.Params.Name, req.GetArguments())
	})
	hooks.AddAfterCallTool(func(_ context.Context, _ any, req *mcp.CallToolRequest, result any) {
		seen.add("after %s %s", req.Params.Name, result.(*mcp.CallToolResult).Content[0].(mcp.TextContent).Text)
	})
	hooks.AddOnSuccess(func(_ context.Context, _ any, method mcp.MCPMethod, _, result any) {
		seen.add("success %s %T", method, result)
	})
	hooks.AddOnError(func(_ context.Context, _ any, method mcp.MCPMethod, _ any, err error) {
		seen.add("error %s %v", method, err)
	})

	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks))
	s.AddTool(mcp.NewTool("echo"), echo)
	c := handshake(t, s)
	equal(t, seen.take(), "request\nbefore any initialize\nsuccess initialize *mcp.InitializeResult")
	equal(t, call(t, c, "echo", `{"text":"a"}`), "a")
	equal(t, seen.take(), "request\nbefore any tools/call\nbefore echo map[text:a]\nafter echo a\nsuccess tools/call *mcp.CallToolResult")
	call(t, c, "echo", `{"text":"fail"}`)
	equal(t, seen.take(), "request\nbefore any tools/call\nbefore echo map[text:fail]\nerror tools/call it failed")
	if got := call(t, c, "refused", `{}`); !strings.Contains(got, "refused by a hook") {
		t.Errorf("got %s", got)
	}
	equal(t, seen.take(), "request")
}

// A hook can change a request and a result, on each transport and in each revision.
func TestHooksChangeMessages(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		hooks := &server.Hooks{}
		hooks.AddBeforeCallTool(func(_ context.Context, _ any, req *mcp.CallToolRequest) {
			req.Params.RawArguments = json.RawMessage(`{"text":"changed"}`)
		})
		hooks.AddAfterCallTool(func(_ context.Context, _ any, _ *mcp.CallToolRequest, result any) {
			content := &result.(*mcp.CallToolResult).Content
			*content = append(*content, mcp.NewTextContent("added"))
		})
		hooks.AddAfterListTools(func(_ context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
			result.Tools = result.Tools[:1]
		})
		s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks))
		s.AddTool(mcp.NewTool("echo"), echo)
		s.AddTool(mcp.NewTool("other"), echo)
		c := connect(s)
		res, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{"text":"sent"}`)})
		check(t, err)
		equal(t, len(res.Content), 2)
		equal(t, res.Content[0].(*kit.TextContent).Text, "changed")
		equal(t, toolNames(t, c), "echo")
	})
}

// The errors of hooks contain the reason for which the server refuses a request, also for items that filters hide.
func TestReasonsOfErrors(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		var got []error
		hooks := &server.Hooks{}
		hooks.AddOnError(func(_ context.Context, _ any, _ mcp.MCPMethod, _ any, err error) { got = append(got, err) })
		s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks),
			server.WithToolFilter(func(context.Context, []mcp.Tool) []mcp.Tool { return nil }))
		s.AddTool(mcp.NewTool("hidden"), echo)
		s.AddResource(mcp.NewResource("test:r", "r"), nil)
		c := connect(s)
		var texts []string
		for _, name := range []string{"absent", "hidden"} {
			_, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: name})
			texts = append(texts, strings.ReplaceAll(err.Error(), name, "x"))
		}
		equal(t, texts[0], texts[1])
		_, err := c.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: "test:absent"})
		equal(t, err != nil, true)
		_, err = peer.SendRequest(t.Context(), c, &kit.GetPromptRequest{Name: "absent"})
		equal(t, err != nil, true)
		s.AddPrompt(mcp.NewPrompt("p"), nil)
		_, err = peer.SendRequest(t.Context(), c, &kit.GetPromptRequest{Name: "absent"})
		equal(t, err != nil, true)
		for i, want := range []error{
			server.ErrToolNotFound, server.ErrToolNotFound, server.ErrResourceNotFound, server.ErrUnsupported, server.ErrPromptNotFound,
		} {
			equal(t, errors.Is(got[i], want), true)
		}
	})
}

func TestUnparsableMessage(t *testing.T) {
	var got error
	hooks := &server.Hooks{}
	hooks.AddOnError(func(_ context.Context, _ any, _ mcp.MCPMethod, _ any, err error) { got = err })
	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks), server.WithToolCapabilities(true))
	s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`))
	unparsable, ok := errors.AsType[*server.UnparsableMessageError](got)
	if !ok {
		t.Fatalf("got %v", got)
	}
	equal(t, unparsable.GetMethod(), mcp.MethodToolsCall)
	equal(t, strings.Contains(string(unparsable.GetMessage()), `{"name":7}`), true)
	equal(t, strings.Contains(unparsable.Error(), "tools/call"), true)
}
