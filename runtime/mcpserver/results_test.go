package mcpserver_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// media are content blocks that older revisions do not define.
var media = []mcp.ContentBlock{
	mcp.Text("a"),
	mcp.Audio([]byte("x"), "audio/wav"),
	&mcp.ResourceLink{URI: "test:x", Name: "x", Title: "The X"},
	&mcp.ResourceLink{URI: "test:y", Name: "y"},
}

func TestOlderClientsGetClosestContent(t *testing.T) {
	s := tool(nil, &mcp.Tool{}, returns(&mcp.CallToolResult{Content: media, StructuredContent: json.RawMessage(`[1]`)}, nil))
	s.AddRawPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		res := &mcp.GetPromptResult{}
		for _, block := range media {
			res.Messages = append(res.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: block})
		}
		return res, nil
	})
	sound := map[string]any{"type": "audio", "data": "eA==", "mimeType": "audio/wav"}
	embedded := map[string]any{"type": "resource", "resource": map[string]any{"uri": "mcp:content/1", "blob": "eA==", "mimeType": "audio/wav"}}
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		res := c.call("tools/call", `{"name":"t"}`)
		blocks := res["content"].([]any)
		var spoken []any
		for _, m := range c.call("prompts/get", `{"name":"p"}`)["messages"].([]any) {
			spoken = append(spoken, m.(map[string]any)["content"])
		}
		require.Equal(t, blocks, spoken)
		if revision == "2024-11-05" {
			require.Equal(t, embedded, blocks[1])
		} else {
			require.Equal(t, sound, blocks[1])
		}
		if revision < "2025-06-18" {
			require.Equal(t, map[string]any{"type": "text", "text": "The X: test:x"}, blocks[2])
			require.Equal(t, map[string]any{"type": "text", "text": "y: test:y"}, blocks[3])
		} else {
			require.Equal(t, "resource_link", blocks[2].(map[string]any)["type"])
		}
		if !handshakes(revision) {
			require.Equal(t, []any{1.0}, res["structuredContent"])
		} else {
			require.NotContains(t, res, "structuredContent")
		}
	})
}

func TestStrictContentRejectsNewerContent(t *testing.T) {
	strict := &mcpserver.Options{StrictContent: true}
	for revision, res := range map[string]*mcp.CallToolResult{
		"2024-11-05": {Content: media[1:2]},
		"2025-03-26": {Content: media[2:3]},
		"2025-11-25": {StructuredContent: json.RawMessage(` [1]`)},
	} {
		require.Equal(t, true, connect(t, tool(strict, &mcp.Tool{}, returns(res, nil)), revision).call("tools/call", `{"name":"t"}`)["isError"])
		require.NotContains(t, connect(t, tool(nil, &mcp.Tool{}, returns(res, nil)), revision).call("tools/call", `{"name":"t"}`), "isError")
	}
	s := mcpserver.New(info, strict)
	s.AddRawPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: media[1]}}}, nil
	})
	connect(t, s, "2024-11-05").refused("prompts/get", `{"name":"p"}`, mcp.CodeInternal)
}

func TestUnknownContentIsToolError(t *testing.T) {
	for _, block := range []mcp.ContentBlock{nil, &mcp.UnknownContentBlock{Raw: json.RawMessage(`{"type":"smell"}`)}} {
		s := tool(nil, &mcp.Tool{}, returns(&mcp.CallToolResult{Content: []mcp.ContentBlock{block}}, nil))
		require.Equal(t, true, connect(t, s, "2025-11-25").call("tools/call", `{"name":"t"}`)["isError"])
	}
}
