package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

// start serves the demo until the end of the test and returns its URL.
func start(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l) }() // returns when ctx ends
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return "http://" + l.Addr().String() + "/mcp"
}

func TestEveryRevision(t *testing.T) {
	url := start(t)
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			client, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{
				Revision: r.Revision,
				OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada", "guests": 2}}, nil
				},
				OnCreateMessage: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: []mcp.SamplingMessageContentBlock{mcp.Text("Short.")}}, nil
				},
			})
			require.NoError(t, err)
			defer client.Close()
			callTools(t, client)
		})
	}
}

func callTools(t *testing.T, client *mcpclient.Client) {
	call := func(tool string, arguments any, opts ...peer.CallOption) string {
		text, err := mcpclient.CallTool[string](t.Context(), client, tool, arguments, opts...)
		require.NoError(t, err)
		return text
	}
	require.Equal(t, "Hello, gopher", call("greet", map[string]string{"name": "gopher"}))
	require.Equal(t, "Short.", call("summarise", map[string]string{"text": "long"}))
	if client.Revision().Index() >= mcp.Revision20250618.Index() {
		require.Equal(t, "Reserved for Ada, 2 guests.", call("reserve", nil))
	}
	var steps []float64
	require.Contains(t, call("count", nil, peer.OnProgress(func(p peer.Progress) { steps = append(steps, p.Progress) })), "The counter is at")
	require.Equal(t, []float64{1, 2, 3}, steps)
	res, err := client.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: counterURI})
	require.NoError(t, err)
	require.NotEqual(t, "0", res.Contents[0].(*mcp.TextResourceContents).Text)
}

// TestBannerCommands runs the printed curl commands in a shell.
func TestBannerCommands(t *testing.T) {
	for _, program := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	var text bytes.Buffer
	banner(&text, start(t))
	blocks := strings.Split(text.String(), "\ncurl, ")
	require.Len(t, blocks, 3)
	for _, block := range blocks[1:] {
		var script strings.Builder
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "    ") {
				_, err := io.WriteString(&script, line)
				require.NoError(t, err)
			}
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", script.String()).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "Hello, curl", script.String())
	}
}
