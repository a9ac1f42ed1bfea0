package command

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// recorded is a line of a recording.
type recorded struct {
	Kind, Method string
	RespondsTo   int
	Violations   []json.RawMessage
}

// TestTraceOfEverythingServer puts mcpwright trace between our client and server-everything, and
// replays the recording to both sides.
func TestTraceOfEverythingServer(t *testing.T) {
	program, server := build(t), everything(t)
	out := filepath.Join(t.TempDir(), "trace.jsonl")
	client, err := mcpclient.Connect(t.Context(), mcpclient.Command(program, append([]string{"trace", "-quiet", "-out", out, "--"}, server...)...),
		&mcpclient.Options{Info: mcp.Implementation{Name: "trace", Version: "1"}})
	require.NoError(t, err)
	_, err = client.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	res, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{"message":"gopher"}`)})
	require.NoError(t, err)
	require.Equal(t, "Echo: gopher", res.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, client.Close())
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	responses := map[string]int{}
	for line := range bytes.Lines(data) {
		var e recorded
		require.NoError(t, json.Unmarshal(line, &e))
		require.Empty(t, e.Violations, "%s", line)
		if e.Kind == "response" {
			require.NotZero(t, e.RespondsTo)
			responses[e.Method]++
		}
	}
	require.Positive(t, responses[mcp.MethodListTools])
	require.Equal(t, 1, responses[mcp.MethodCallTool])

	replayed, err := exec.CommandContext(t.Context(), program, append([]string{"replay", out, "--"}, server...)...).CombinedOutput()
	require.NoError(t, err, "%s", replayed)
	require.Equal(t, "0 differences\n", string(replayed))

	var errs strings.Builder
	to := mcpclient.Command(program, "replay", "-serve", out)
	to.Start.Stderr = &errs
	client, err = mcpclient.Connect(t.Context(), to, &mcpclient.Options{Info: mcp.Implementation{Name: "trace", Version: "1"}})
	require.NoError(t, err)
	_, err = client.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	res, err = client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{"message":"gopher"}`)})
	require.NoError(t, err)
	require.Equal(t, "Echo: gopher", res.Content[0].(*mcp.TextContent).Text)
	require.NoError(t, client.Close())
	require.Equal(t, "0 differences\n", errs.String())
}
