package docs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// program is a code block with a complete file: its first line has the name of the file.
var program = regexp.MustCompile("(?ms)^```go ([a-z_]+\\.go)\n(.*?)^```$")

// TestProgramsOfPages checks that each complete file in a page is a file in testdata, and that each
// file in testdata is in a page.
func TestProgramsOfPages(t *testing.T) {
	files := map[string]string{} // by content
	names, err := filepath.Glob("testdata/*/*.go")
	require.NoError(t, err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		files[string(data)] = name
	}
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range program.FindAllStringSubmatch(string(text), -1) {
			name := files[m[2]]
			require.NotEmpty(t, name, "%s: no file in testdata contains exactly:\n%s", page, m[2])
			require.Equal(t, m[1], filepath.Base(name), page)
			shown[name] = true
		}
	}
	for _, name := range names {
		require.True(t, shown[name], "no page shows %s", name)
	}
}

// TestPrograms builds the programs of the pages, and runs those that need no port.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short builds no programs")
	}
	bin := t.TempDir()
	build(t, "off", bin, "revisions", "clients", "questions", "subscriptions", "tasks", "apps", "http", "authserver", "authclient", "middleware", "gateway", "security", "migrated")
	build(t, "../go.work", bin, "gosdk", "mcpgo", "telemetry") // other modules need what these import
	goTool(t, "off", "build", "-o", bin, "../examples/hello")
	goTool(t, "off", "test", "./testdata/testing")

	require.Equal(t, `2024-11-05 handshake: true
2025-03-26 handshake: true
2025-06-18 handshake: true
2025-11-25 handshake: true
2026-07-28 handshake: false
`, run(t, bin, "revisions"))
	require.Equal(t, "tool: greet\nHello, gopher\n", run(t, bin, "clients", filepath.Join(bin, "hello")))
	require.Equal(t, "Reserved for Ada, 2 guests.", call[string](t, bin, "questions", "reserve", nil))
	require.Equal(t, "2 frames", call[string](t, bin, "tasks", "render", map[string]int{"frames": 2}))
	require.Regexp(t, "^The user rolled [1-6]$", call[string](t, bin, "apps", "roll", nil))
	require.Equal(t, "Hello", call[string](t, bin, "middleware", "greet", nil))
	require.Equal(t, "Hello", call[string](t, bin, "telemetry", "greet", nil))
	for _, sdk := range []string{"migrated", "gosdk", "mcpgo"} {
		require.Equal(t, Out{Seats: 3}, call[Out](t, bin, sdk, "find", In{Day: "Monday"}), sdk)
	}
}

// build builds programs of testdata into a folder.
func build(t *testing.T, workspace, bin string, programs ...string) {
	args := []string{"build", "-o", bin + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "./testdata/"+name)
	}
	goTool(t, workspace, args...)
}

func goTool(t *testing.T, workspace string, args ...string) {
	if workspace != "off" {
		path, err := filepath.Abs(workspace)
		require.NoError(t, err)
		workspace = path
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK="+workspace)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %q: %s", args, out)
}

// run runs a program and returns its output.
func run(t *testing.T, bin, name string, args ...string) string {
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...).Output()
	require.NoError(t, err, name)
	return string(out)
}

// call starts a server on standard input and output, and calls one of its tools.
func call[T any](t *testing.T, bin, server, tool string, arguments any) T {
	client, err := mcpclient.Connect(t.Context(), mcpclient.Command(filepath.Join(bin, server)), &mcpclient.Options{
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada", "guests": 2}}, nil
		},
	})
	require.NoError(t, err, server)
	defer client.Close()
	result, err := mcpclient.CallTool[T](t.Context(), client, tool, arguments)
	require.NoError(t, err, server)
	return result
}
