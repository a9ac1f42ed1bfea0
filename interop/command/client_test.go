package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// callsEcho is a program that calls a tool with the client that was written for it. The words of its
// command start the server.
const callsEcho = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/command/made/everything"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func main() {
	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.Command(os.Args[1], os.Args[2:]...), nil)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	tools := everything.New(c)
	said, err := tools.Echo(ctx, everything.EchoInput{Message: "tea"})
	if err != nil {
		panic(err)
	}
	weather, err := tools.GetStructuredContent(ctx, everything.GetStructuredContentInput{Location: everything.GetStructuredContentInputLocationChicago})
	if err != nil {
		panic(err)
	}
	fmt.Println(mcp.TextOf(said.Content), weather.Conditions)
}
`

// TestClientOfEverythingServer compiles the client that was written for a server, and calls the server
// with it.
func TestClientOfEverythingServer(t *testing.T) {
	program, server := build(t), everything(t)
	dir := t.TempDir()
	client := filepath.Join(dir, "everything.go")
	for _, check := range []string{"-check=false", "-check"} {
		out, err := exec.CommandContext(t.Context(), program, append([]string{"client", check, "-package", "everything", "-out", client, "--"}, server...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	main := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(main, []byte(callsEcho), 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(here, "made", "everything", "everything.go"): client, filepath.Join(here, "made", "main.go"): main,
	}})
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"run", "-overlay", list, "./made"}, server...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `(?m)^Echo: tea \S+`, string(out))
}
