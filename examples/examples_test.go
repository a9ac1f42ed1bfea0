// Package examples has small complete programs, each in a folder of its own.
package examples

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheClientCallsTheServer(t *testing.T) {
	bin := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "./hello", "./call").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), filepath.Join(bin, "call"), filepath.Join(bin, "hello")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "Hello, gopher in 2026-07-28\n", string(out))
}
