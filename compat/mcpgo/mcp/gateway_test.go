package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
)

func TestResultsOfGateways(t *testing.T) {
	capabilities := mcp.ServerCapabilities{Logging: &struct{}{}}
	for _, c := range []struct {
		result any
		want   string
	}{
		{mcp.NewListPromptsResult([]mcp.Prompt{{Name: "a"}}, "x"), `{"nextCursor":"x","prompts":[{"name":"a"}]}`},
		{mcp.NewListResourcesResult([]mcp.Resource{{URI: "x:a", Name: "a"}}, ""), `{"resources":[{"uri":"x:a","name":"a"}]}`},
		{
			mcp.NewListResourceTemplatesResult([]mcp.ResourceTemplate{mcp.NewResourceTemplate("x:{a}", "a")}, ""),
			`{"resourceTemplates":[{"uriTemplate":"x:{a}","name":"a"}]}`,
		},
		{mcp.NewReadResourceResult("text"), `{"contents":[{"uri":"","text":"text"}]}`},
		{
			mcp.NewInitializeResult("1", capabilities, mcp.Implementation{Name: "s", Version: "2"}, "Call a."),
			`{"protocolVersion":"1","capabilities":{"logging":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"Call a."}`,
		},
	} {
		got, err := json.Marshal(c.result)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
	tools := mcp.NewListToolsResult([]mcp.Tool{mcp.NewTool("a")}, "x")
	if tools.Tools[0].Name != "a" || tools.NextCursor != "x" {
		t.Errorf("got %v", tools)
	}
}

func TestParseResults(t *testing.T) {
	call := json.RawMessage(`{"content":[{"type":"text","text":"a"}],"isError":true}`)
	if res, err := mcp.ParseCallToolResult(&call); err != nil || !res.IsError || res.Content[0].(mcp.TextContent).Text != "a" {
		t.Errorf("got %v, %v", res, err)
	}
	prompt := json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}`)
	if res, err := mcp.ParseGetPromptResult(&prompt); err != nil || res.Messages[0].Content.(mcp.TextContent).Text != "a" {
		t.Errorf("got %v, %v", res, err)
	}
	read := json.RawMessage(`{"contents":[{"uri":"x:a","text":"a"}]}`)
	if res, err := mcp.ParseReadResourceResult(&read); err != nil || res.Contents[0].(mcp.TextResourceContents).Text != "a" {
		t.Errorf("got %v, %v", res, err)
	}
	if res, err := mcp.ParseCallToolResult(nil); err == nil || res != nil {
		t.Errorf("got %v, %v", res, err)
	}
	wrong := json.RawMessage(`[]`)
	if res, err := mcp.ParseCallToolResult(&wrong); err == nil || res != nil {
		t.Errorf("got %v, %v", res, err)
	}
}
