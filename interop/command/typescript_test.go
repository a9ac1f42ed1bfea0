package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

// runTypeScript runs the client of the official TypeScript SDK, and returns what it prints.
func runTypeScript(t *testing.T, args ...string) []string {
	folder := t.TempDir()
	script, err := os.ReadFile("tsclient.mjs")
	require.NoError(t, err)
	path := filepath.Join(folder, "tsclient.mjs")
	require.NoError(t, os.WriteFile(path, script, 0o600))
	require.NoError(t, os.Symlink(filepath.Join(install(t), "node_modules"), filepath.Join(folder, "node_modules")))
	cmd := exec.CommandContext(t.Context(), "node", append([]string{path}, args...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// requireTraced checks the recording of the messages of the client, and what the client has printed.
func requireTraced(t *testing.T, printed []string, recording string) {
	require.Len(t, printed, 3)
	require.Contains(t, printed[0], "Echo: first")
	require.Contains(t, printed[1], "enough")
	require.Contains(t, printed[2], "Echo: second")
	data, err := os.ReadFile(recording)
	require.NoError(t, err)
	calls, responses, cancelled, progress := []int{}, []int{}, 0, 0
	for line := range bytes.Lines(data) {
		var e struct {
			recorded
			N    int
			From string
		}
		require.NoError(t, json.Unmarshal(line, &e))
		require.Empty(t, e.Violations, "%s", line)
		switch {
		case e.Kind == "request" && e.Method == mcp.MethodCallTool:
			calls = append(calls, e.N)
		case e.Kind == "response" && e.Method == mcp.MethodCallTool:
			responses = append(responses, e.RespondsTo)
		case e.Method == mcp.MethodCancelled:
			require.Equal(t, "client", e.From)
			cancelled = e.RespondsTo
		case e.Method == mcp.MethodProgress:
			progress = e.RespondsTo
		}
	}
	require.Len(t, calls, 3)
	require.Equal(t, calls[1], cancelled, "the cancellation belongs to the second call")
	require.Equal(t, calls[1], progress)
	require.Equal(t, []int{calls[0], calls[2]}, responses, "a cancelled call has no response")
}

// TestTraceOfTypeScriptClient puts mcpwright trace between the client of the official TypeScript SDK and
// server-everything, over standard input and output. A call is cancelled.
func TestTraceOfTypeScriptClient(t *testing.T) {
	program, server, out := build(t), everything(t), filepath.Join(t.TempDir(), "trace.jsonl")
	printed := runTypeScript(t, slices.Concat([]string{"stdio", program, "trace", "-quiet", "-out", out, "--"}, server)...)
	requireTraced(t, printed, out)

	replayed, err := exec.CommandContext(t.Context(), program, append([]string{"replay", "-no-notifications", out, "--"}, server...)...).CombinedOutput()
	require.NoError(t, err, "%s", replayed)
	require.Equal(t, "0 differences\n", string(replayed))
}

// TestTraceOfTypeScriptClientOverHTTP does the same over Streamable HTTP.
func TestTraceOfTypeScriptClientOverHTTP(t *testing.T) {
	program, server, out := build(t), everything(t), filepath.Join(t.TempDir(), "trace.jsonl")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	remote := exec.Command(server[0], append(server[1:], "streamableHttp")...)
	remote.Env = append(remote.Environ(), "PORT="+port)
	remote.Stderr = t.Output()
	require.NoError(t, remote.Start())
	t.Cleanup(func() {
		require.NoError(t, remote.Process.Kill())
		_ = remote.Wait() // reports the signal
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond, "the server does not listen")

	trace := exec.Command(program, "trace", "-quiet", "-out", out, "-listen", "127.0.0.1:0", "http://localhost:"+port+"/mcp")
	errs, err := trace.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, trace.Start())
	lines := bufio.NewReader(errs)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	printed := runTypeScript(t, "http", strings.Fields(line)[2])
	require.NoError(t, trace.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, trace.Wait())
	require.Empty(t, string(rest), "no violations")
	requireTraced(t, printed, out)
}
