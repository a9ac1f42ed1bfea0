package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An overlay shows a freshly printed package to the go command in place of
// the one in the repository, without writing a byte there: what imports the
// package's path gets the printed one.
type overlay struct{ file string }

func newOverlay(t *testing.T, printed string) overlay {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	replace := make(map[string]string)
	mcp := filepath.Join(root, "generated", "mcp")
	for name := range contents(t, mcp) {
		replace[filepath.Join(mcp, name)] = "" // gone, unless it is printed
	}
	for name := range contents(t, printed) {
		replace[filepath.Join(mcp, name)] = filepath.Join(printed, name)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	o := overlay{filepath.Join(t.TempDir(), "overlay.json")}
	require.NoError(t, os.WriteFile(o.file, data, 0o600))
	return o
}

// program builds and runs one of the programs below testdata/drill and gives
// what it printed.
func program(t *testing.T, name string, flags ...string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), name)
	goRun(t, exec.Command("go", append(append([]string{"build"}, flags...), "-o", exe, "./testdata/drill/"+name)...))
	return goRun(t, exec.Command(exe))
}

// goRun runs a command that must succeed.
func goRun(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s\n%s", cmd, &stderr)
	return stdout.String()
}
