package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

type reviewArgs struct {
	Language string `json:"language" title:"Language" jsonschema:"what it is written in"`
	Style    string `json:"style,omitempty"`
}

func review(_ context.Context, s *mcp.ServerSession, args reviewArgs) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Text(fmt.Sprintf("review my %s, %q", args.Language, args.Style))},
	}}, nil
}

func TestPromptInEveryRevision(t *testing.T) {
	s := mcpserver.New(info, nil)
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: "review"}, review)
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		arguments := c.call("prompts/list", `{}`)["prompts"].([]any)[0].(map[string]any)["arguments"].([]any)
		require.Equal(t, "what it is written in", arguments[0].(map[string]any)["description"])
		require.Equal(t, true, arguments[0].(map[string]any)["required"])
		require.NotContains(t, arguments[1], "required")
		res := c.call("prompts/get", `{"name":"review","arguments":{"language":"Go","more":"x"}}`)
		content := res["messages"].([]any)[0].(map[string]any)["content"].(map[string]any)
		require.Equal(t, `review my Go, ""`, content["text"])
	})
}

func TestPromptRequiresItsArguments(t *testing.T) {
	s := mcpserver.New(info, nil)
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: "review"}, review)
	s.AddRawPrompt(&mcp.Prompt{Name: "none"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
	c := connect(t, s, modern)
	m := c.refused("prompts/get", `{"name":"review"}`, mcp.CodeInvalidParams)
	require.Contains(t, m.Error.Message, `"language"`)
	c.refused("prompts/get", `{"name":"nobody"}`, mcp.CodeInvalidParams)
	c.refused("prompts/get", `{"name":"none"}`, mcp.CodeInternal)
}

func TestInvalidPromptsPanic(t *testing.T) {
	s := mcpserver.New(info, nil)
	require.Panics(t, func() {
		s.AddRawPrompt(&mcp.Prompt{Name: "a", Meta: map[string]json.RawMessage{"a": json.RawMessage(`{`)}}, noPrompt)
	})
	require.Panics(t, func() { s.AddRawPrompt(&mcp.Prompt{Name: "a"}, nil) })
	require.PanicsWithError(t, `mcpserver: prompt "a": handler is nil`, func() {
		mcpserver.AddPrompt[struct{}](s, &mcp.Prompt{Name: "a"}, nil)
	})
	require.Panics(t, func() {
		mcpserver.AddPrompt(s, &mcp.Prompt{Name: "a"}, func(context.Context, *mcp.ServerSession, struct{ N int }) (*mcp.GetPromptResult, error) {
			return nil, nil
		})
	})
	require.Panics(t, func() {
		mcpserver.AddPrompt(s, &mcp.Prompt{Name: "a"}, func(context.Context, *mcp.ServerSession, int) (*mcp.GetPromptResult, error) { return nil, nil })
	})
}

func TestArgumentsAreCompleted(t *testing.T) {
	s := mcpserver.New(info, nil)
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: "review"}, review)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "file:///{+path}", Name: "files"}, noTemplate)
	s.AddResource(&mcp.Resource{URI: "file:///x", Name: "x"}, noRead)
	s.AddPromptCompleter("review", "language", mcpserver.CompleteFrom("go", "gleam", "rust"))
	s.AddTemplateCompleter("file:///{+path}", "path", func(context.Context, *mcp.CompleteRequest) ([]string, error) {
		return make([]string, 250), nil
	})
	ask := func(c *client, ref, argument, value string) message {
		return c.ask("completion/complete", fmt.Sprintf(`{"ref":%s,"argument":{"name":%q,"value":%q}}`, ref, argument, value))
	}
	prompt, template := `{"type":"ref/prompt","name":"review"}`, `{"type":"ref/resource","uri":"file:///{+path}"}`
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		var res struct{ Completion mcp.Completion }
		require.NoError(t, json.Unmarshal(ask(c, prompt, "language", "g").Result, &res))
		require.Equal(t, []string{"go", "gleam"}, res.Completion.Values)
		require.NoError(t, json.Unmarshal(ask(c, template, "path", "").Result, &res))
		require.Len(t, res.Completion.Values, 100)
		require.True(t, res.Completion.HasMore)
		require.Equal(t, int64(250), *res.Completion.Total)
		require.NoError(t, json.Unmarshal(ask(c, prompt, "style", "").Result, &res))
		require.Empty(t, res.Completion.Values)
	})
	c := connect(t, s, modern)
	for _, m := range []message{
		ask(c, prompt, "nothing", ""), ask(c, template, "nothing", ""),
		ask(c, `{"type":"ref/prompt","name":"nobody"}`, "a", ""), ask(c, `{"type":"ref/resource","uri":"no:where"}`, "a", ""),
		ask(c, `{"type":"ref/resource","uri":"file:///x"}`, "a", ""),
	} {
		require.Equal(t, int64(mcp.CodeInvalidParams), m.Error.Code)
	}
	s.HandleCompletion(func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{"any " + req.Argument.Name}}}, nil
	})
	require.Contains(t, string(ask(c, prompt, "nothing", "").Result), "any nothing")
	require.Contains(t, string(ask(c, prompt, "language", "r").Result), "rust")
	s.HandleCompletion(func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) { return nil, nil })
	require.Contains(t, string(ask(c, prompt, "nothing", "").Result), `"values":[]`, "nil means no completions")
	s.HandleCompletion(func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: make([]string, 101)}}, nil
	})
	inEveryRevision(t, func(t *testing.T, revision string) {
		var res struct{ Completion mcp.Completion }
		require.NoError(t, json.Unmarshal(ask(connect(t, s, revision), prompt, "nothing", "").Result, &res))
		require.Len(t, res.Completion.Values, 100)
		require.True(t, res.Completion.HasMore)
	})
}

func TestNilCompleterPanics(t *testing.T) {
	s := mcpserver.New(info, nil)
	require.PanicsWithError(t, `mcpserver: prompt "p": complete "a": handler is nil`, func() { s.AddPromptCompleter("p", "a", nil) })
	require.PanicsWithError(t, `mcpserver: resource template "x:{a}": complete "a": handler is nil`, func() { s.AddTemplateCompleter("x:{a}", "a", nil) })
	require.PanicsWithError(t, `mcpserver: method "completion/complete": handler is nil`, func() { s.HandleCompletion(nil) })
	connect(t, s, modern).refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`, mcp.CodeMethodNotFound)
}

func TestCompleterErrorIsNotSent(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddRawPrompt(&mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, noPrompt)
	s.AddPromptCompleter("p", "a", func(context.Context, *mcp.CompleteRequest) ([]string, error) { return nil, fmt.Errorf("hunter2") })
	m := connect(t, s, modern).refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`, mcp.CodeInternal)
	require.NotContains(t, m.Error.Message, "hunter2")
}

func TestErrorTextsOfHandlersReachClient(t *testing.T) {
	var log bytes.Buffer
	s := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	meant := fmt.Errorf("outer: %w", mcpserver.Errorf("not on %s", "Sundays"))
	s.AddRawPrompt(&mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, meant })
	s.AddPromptCompleter("p", "a", func(context.Context, *mcp.CompleteRequest) ([]string, error) { return nil, meant })
	s.AddResource(&mcp.Resource{Name: "r", URI: "file:///r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, meant })
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		for method, params := range map[string]string{
			"prompts/get":         `{"name":"p"}`,
			"completion/complete": `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
			"resources/read":      `{"uri":"file:///r"}`,
		} {
			require.Equal(t, "not on Sundays", c.refused(method, params, mcp.CodeInternal).Error.Message, method)
		}
	})
	require.Empty(t, log.String())
}
