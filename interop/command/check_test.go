package command

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckOfEverythingServer finds content of a type that the revision does not have. See
// docs/findings.md.
func TestCheckOfEverythingServer(t *testing.T) {
	program := build(t)
	args := append([]string{"test", "-json", "-revision", "2025-03-26", "-only", "message-schema", "--"}, everything(t)...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, _ := cmd.Output()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
	var report struct {
		Server, Version string
		Findings        []struct{ ID, Severity, Pointer, Rule string }
	}
	require.NoError(t, json.Unmarshal(out, &report))
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		require.Equal(t, "message-schema", f.ID)
		require.Equal(t, "error", f.Severity)
		require.True(t, strings.HasPrefix(f.Pointer, "/result/content/") && strings.HasSuffix(f.Pointer, "/type"), f.Pointer)
	}
}
