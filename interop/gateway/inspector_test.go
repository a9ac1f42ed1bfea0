package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// inspected returns a server with everything that the Inspector can list and use.
func inspected() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "inspected", Title: "Inspected", Version: "1.2.3"}, &mcpserver.Options{
		Instructions: "Call weather first.",
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
	})
	type place struct{ City string }
	type report struct {
		Degrees float64 `json:"degrees"`
		More    bool    `json:"more"`
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "weather", Title: "Weather"}, func(context.Context, *mcp.ServerSession, place) (report, error) {
		return report{Degrees: 21.5}, nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "days"}, func(context.Context, *mcp.ServerSession, place) ([]string, error) {
		return []string{"Friday", "Saturday"}, nil // an output schema that handshake revisions do not have
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "fails"}, func(context.Context, *mcp.ServerSession, place) (string, error) {
		return "", mcpserver.Errorf("no such city")
	})
	s.AddRawTool(&mcp.Tool{Name: "link", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.ResourceLink{URI: "note:1", Name: "note"}}}, nil
	})
	s.AddRawPrompt(&mcp.Prompt{Name: "greet", Title: "Greet", Arguments: []mcp.PromptArgument{{Name: "name", Required: true}}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("Greet " + req.Arguments["name"])}}}, nil
	})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, MIMEType: "text/plain", Text: "a note"}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "note:1", Name: "note", Title: "Note"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note:{id}", Name: "notes"}, func(ctx context.Context, req *mcp.ReadResourceRequest, _ mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return read(ctx, req)
	})
	return s
}

// inspections are the arguments of the Inspector, and a part of its output.
var inspections = []struct {
	args []string
	want string
}{
	{[]string{"initialize"}, `"Call weather first."`},
	{[]string{"tools/list"}, `"weather"`},
	{[]string{"tools/call", "--tool-name=weather", "--tool-arg=City=Ulm"}, `"structuredContent":{"degrees":21.5,"more":false}`},
	{[]string{"tools/call", "--tool-name=days", "--tool-arg=City=Ulm"}, `Saturday`},
	{[]string{"tools/call", "--tool-name=fails", "--tool-arg=City=Ulm"}, `no such city`},
	{[]string{"tools/call", "--tool-name=link"}, `"resource_link"`},
	{[]string{"prompts/list"}, `"required":true`},
	{[]string{"prompts/get", "--prompt-name=greet", "--prompt-args=name=Ada"}, `Greet Ada`},
	{[]string{"resources/list"}, `"note:1"`},
	{[]string{"resources/templates/list"}, `"note:{id}"`},
	{[]string{"resources/read", "--uri=note:7"}, `a note`},
}

// inspect runs the Inspector and returns its output.
func inspect(t *testing.T, program, url, kind string, args ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{program, "--cli", url, "--transport=http", "--format=json", "--quiet", "--protocol-era=" + kind, "--method"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if out.Len() == 0 {
		require.NoError(t, err, "%s", &errs)
	}
	return out.String()
}

// TestInspectorBehindGateway runs the Inspector with a server that speaks 2026-07-28 to the gateway,
// directly and through the gateway. The output is the same.
func TestInspectorBehindGateway(t *testing.T) {
	program := filepath.Join(npm.Install(t, "inspector"), "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	server := httptest.NewServer(streamable.NewHandler(inspected(), nil))
	t.Cleanup(server.Close) // after the gateway has ended, which has an open subscription
	url := startGateway(t, server.URL)
	for _, kind := range []string{"legacy", "modern"} { // the Inspector's words for revisions with and without a handshake
		for _, run := range inspections {
			t.Run(kind+"/"+run.args[0], func(t *testing.T) {
				direct, through := inspect(t, program, server.URL, kind, run.args...), inspect(t, program, url, kind, run.args...)
				require.Contains(t, through, run.want)
				require.JSONEq(t, direct, through)
			})
		}
	}
	require.Equal(t, `{"result":{}}`+"\n", inspect(t, program, url, "legacy", "logging/setLevel", "--log-level=error"))
}
