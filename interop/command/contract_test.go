package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContractOfEverythingServer writes what a server offers twice, and compares it with changed files.
func TestContractOfEverythingServer(t *testing.T) {
	program, server, dir := build(t), everything(t), t.TempDir()
	run := func(status int, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Stderr = t.Output()
		out, _ := cmd.Output()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), "%s", out)
		return string(out)
	}
	lock := append([]string{"lock", "--"}, server...)
	written := run(0, lock...)
	require.Equal(t, written, run(0, lock...), "the file does not depend on the run")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "now.json"), []byte(written), 0o600))
	require.Equal(t, "There are no changes.\n", run(0, append([]string{"diff", "now.json", "--"}, server...)...))

	// An older version, in which echo needed no message, and a resource and a tool had other names.
	require.Equal(t, 1, strings.Count(written, `"name": "echo"`))
	old := change(t, written, func(tool map[string]any) {
		switch tool["name"] {
		case "echo":
			delete(tool["inputSchema"].(map[string]any), "required")
		case "get-sum":
			tool["name"] = "sum"
		}
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old.json"), []byte(old), 0o600))
	for _, to := range [][]string{{"now.json"}, append([]string{"--"}, server...)} {
		out := run(1, append([]string{"diff", "old.json"}, to...)...)
		require.Contains(t, out, "breaking    tool echo argument message: required: no → yes\n")
		require.Contains(t, out, "breaking    tool sum: removed\n")
		require.Contains(t, out, "compatible  tool get-sum: added\n")
	}
	back := run(1, "diff", "now.json", "old.json")
	require.Contains(t, back, "compatible  tool echo argument message: required: yes → no\n")
	require.Contains(t, back, "breaking    tool get-sum: removed\n")

	// The contract in an older revision.
	older := run(0, append([]string{"lock", "-revision", "2024-11-05", "--"}, server...)...)
	require.Contains(t, older, `"revision": "2024-11-05"`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "older.json"), []byte(older), 0o600))
	require.NotContains(t, run(0, append([]string{"diff", "-revision", "2024-11-05", "older.json", "--"}, server...)...), "breaking")
}

// change changes the tools of a contract.
func change(t *testing.T, lock string, f func(tool map[string]any)) string {
	var all map[string]any
	require.NoError(t, json.Unmarshal([]byte(lock), &all))
	tools, ok := all["tools"].([]any)
	require.True(t, ok)
	for _, tool := range tools {
		f(tool.(map[string]any))
	}
	data, err := json.Marshal(all)
	require.NoError(t, err)
	return string(data)
}
