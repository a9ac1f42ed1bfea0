package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// misuse is a small program around the statements of a test.
func misuse(statements string) map[string][]byte {
	return map[string][]byte{"misuse.go": []byte(`package misuse

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

func use(ctx context.Context, out peer.Outbound, mux *peer.Mux, session *mcp.ServerSession) {
	` + statements + `
}
`)}
}

func TestWhatIsRightCompiles(t *testing.T) {
	c := newChecker(t)
	c.mustCheck(t, printed(t, model(t, 5)))
	require.NoError(t, c.check("misuse", misuse(`
	res, err := peer.SendRequest(ctx, out, &mcp.CreateMessageRequest{})
	var _ *mcp.CreateMessageResult = res
	_, _ = session.ElicitForm(ctx, &mcp.ElicitRequestFormParams{})
	_ = peer.SendNotification(ctx, out, &mcp.CancelledNotification{})
	mcp.HandleCallTool(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err })
	mcp.HandleCallTool(mux, mcp.ServerPeer{Outbound: out}.CallTool)
	peer.Handle(mux, mcp.ClientPeer{Outbound: out}.Elicit)
	_ = &mcp.SamplingMessage{Content: []mcp.SamplingMessageContentBlock{mcp.Text("a"), &mcp.ToolUseContent{}}}`)))
}

func TestMistakesDoNotCompile(t *testing.T) {
	c := newChecker(t)
	c.mustCheck(t, printed(t, model(t, 5)))
	for statements, want := range map[string]string{
		`_, _ = peer.SendRequest(ctx, out, &mcp.CancelledNotification{})`:                                                        "cannot infer R",
		`_ = peer.SendNotification(ctx, out, &mcp.CallToolRequest{})`:                                                            "missing method IsNotification",
		`var res *mcp.CallToolResult; res, _ = peer.SendRequest(ctx, out, &mcp.CreateMessageRequest{}); _ = res`:                 "CreateMessageResult",
		`_, _ = peer.SendRequest(ctx, out, mcp.CallToolRequest{})`:                                                               "CallToolRequest",
		`mcp.HandleCallTool(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.ListToolsResult, error) { return nil, nil })`: "cannot use",
		`mcp.HandleCancelled(mux, func(context.Context, *mcp.ProgressNotification) error { return nil })`:                        "cannot use",
		`peer.Handle(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.ListToolsResult, error) { return nil, nil })`:        "wrong type for method NewResult",
		`_ = &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.ToolUseContent{}}}`:                                            "missing method isContentBlock",
		`_ = &mcp.CallToolResult{Content: []mcp.ContentBlock{mcp.TextContent{}}}`:                                                "pointer receiver",
		`_ = &mcp.ElicitRequest{Params: &mcp.CallToolRequest{}}`:                                                                 "missing method isElicitRequestParams",
		`_, _ = session.ElicitForm(ctx, &mcp.ElicitRequestURLParams{})`:                                                          "cannot use",
		`_ = &mcp.TextContent{Type: "text"}`:                                                                                     "unknown field Type",
		`_ = mcp.ServerPeer{Outbound: out}.With(peer.WithID)`:                                                                    "cannot use",
		`type mine struct{ mcp.UnknownContentBlock }; var _ mcp.ContentBlock = mine{}`:                                           "pointer receiver",
	} {
		require.ErrorContains(t, c.check("misuse", misuse(statements)), want, statements)
	}
}
