// Package command runs the command mcpwright against servers that were written elsewhere.
package command

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// root is the folder of the repository.
const root = "../.."

// build builds the command and returns its path.
func build(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "mcpwright")
	work, err := filepath.Abs(filepath.Join(root, "go.work"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join(root, "cmd", "mcpwright")
	cmd.Env = append(cmd.Environ(), "GOWORK="+work)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// install installs the servers of npm and returns their folder.
func install(t testing.TB) string { return npm.Install(t, "servers") }

// everything returns the words that start server-everything.
func everything(t testing.TB) []string { return subjects[0].words(t, install(t), "") }

// outputs are parts of the output of the examples.
var outputs = map[string]string{
	"list": "echo(message)", "call": "Hello, gopher", "read": "Everything Server", "prompt": "Bern", "complete": "Engineering",
	"watch": "", "info": "web", "ping": "median", "servers": "", "test": "0 errors, 0 warnings", "lock": `"web"`, "diff": "",
	"client": "package everything", "trace": `"serverInfo"`, "replay": "0 differences",
	"completion": "complete -o default -F _mcpwright mcpwright",
}

// initialize is the first message of a client.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"

// TestExamplesOfHelp runs the example in the help of each subcommand. Those of login and logout need
// an authorization server. The example of inspect does not end: package inspect tests it.
func TestExamplesOfHelp(t *testing.T) {
	program, server := build(t), everything(t)
	web := httptest.NewServer(streamable.NewHandler(mcpserver.New(mcp.Implementation{Name: "web", Version: "1"}, nil), nil))
	defer web.Close()
	lock := filepath.Join(t.TempDir(), "mcp.lock.json")    // written by lock, and read by diff
	recording := filepath.Join(t.TempDir(), "trace.jsonl") // written by trace, and read by replay
	run := func(t *testing.T, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = root
		cmd.Stderr = t.Output()
		if args[0] == "trace" {
			cmd.Stdin = strings.NewReader(initialize)
		}
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	names := regexp.MustCompile(`(?m)^  mcpwright (\w+) `).FindAllStringSubmatch(run(t, "-h"), -1)
	require.Greater(t, len(names), 8)
	for _, match := range names {
		name := match[1]
		want, ok := outputs[name]
		if !ok {
			require.Contains(t, []string{"login", "logout", "inspect"}, name, "a subcommand without an expected output")
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, example, ok := strings.Cut(run(t, name, "-h"), "\nexample:\n  mcpwright ")
			require.True(t, ok)
			example, _, _ = strings.Cut(example, "\n")
			var args []string
			line, npx := strings.CutSuffix(example, "-- npx -y @modelcontextprotocol/server-everything")
			line, _, writes := strings.Cut(line, " > mcp.lock.json")
			for _, word := range strings.Fields(line) {
				args = append(args, strings.NewReplacer("https://example.com/mcp", web.URL, "mcp.lock.json", lock, "trace.jsonl", recording).Replace(word))
			}
			if npx {
				args = append(append(args, "--"), server...)
			}
			out := run(t, args...)
			require.Contains(t, out, want)
			if writes {
				require.NoError(t, os.WriteFile(lock, []byte(out), 0o600))
			}
		})
	}
}

func TestCommandUsesEverythingServer(t *testing.T) {
	program, server := build(t), everything(t)
	for _, test := range []struct {
		args   string
		status int
		out    string
		errs   string
	}{
		{"call get-sum a=1 b=2.5", 0, "3.5", ""},
		{"call get-sum a=x b=1", 2, "", `argument "a": "x" is not a number`},
		{"call get-structured-content location=Bern", 2, "", "is not one of New York, Chicago, Los Angeles"},
		{"call get-tiny-image", 0, "[image image/png, 4033 bytes: ", ""},
		{"call -json trigger-long-running-operation duration=0.1 steps=1", 0, `"content"`, ""},
		{"call nothing", 1, "", "nothing"},
		{"read demo://resource/dynamic/text/1", 0, "Resource 1", ""},
		{"read demo://none", 1, "", "demo://none"},
		{"list -revision 2024-11-05 prompts", 0, "simple-prompt", ""},
	} {
		t.Run(test.args, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, append(append(strings.Fields(test.args), "--"), server...)...)
			var errs strings.Builder
			cmd.Stderr = &errs
			out, _ := cmd.Output()
			require.Equal(t, test.status, cmd.ProcessState.ExitCode(), "%s%s", out, errs.String())
			require.Contains(t, string(out), test.out)
			require.Contains(t, errs.String(), test.errs)
		})
	}
}
