package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
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

// TestTraceOfGoSDK puts mcpwright trace between the client and the server of the official Go SDK, over
// HTTP, and replays the recording to the server.
func TestTraceOfGoSDK(t *testing.T) {
	program := build(t)
	sdk := gosdk.NewServer(&gosdk.Implementation{Name: "sdk", Version: "1"}, nil)
	gosdk.AddTool(sdk, &gosdk.Tool{Name: "greet"}, func(_ context.Context, _ *gosdk.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*gosdk.CallToolResult, any, error) {
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: "Hi " + in.Name}}}, nil, nil
	})
	server := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return sdk }, nil))
	defer server.Close()

	out := filepath.Join(t.TempDir(), "trace.jsonl")
	cmd := exec.Command(program, "trace", "-quiet", "-out", out, "-listen", "127.0.0.1:0", server.URL)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(errs)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	client, err := gosdk.NewClient(&gosdk.Implementation{Name: "c", Version: "1"}, nil).
		Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: strings.Fields(line)[2]}, nil)
	require.NoError(t, err)
	res, err := client.CallTool(t.Context(), &gosdk.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}})
	require.NoError(t, err)
	require.Equal(t, "Hi Ada", res.Content[0].(*gosdk.TextContent).Text)
	require.NoError(t, client.Close())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	require.Empty(t, string(rest), "no violations")

	replayed, err := exec.CommandContext(t.Context(), program, "replay", out, server.URL).CombinedOutput()
	require.NoError(t, err, "%s", replayed)
	require.Equal(t, "0 differences\n", string(replayed))
}
