// Package examples has small complete programs, each in its own folder.
package examples

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCallHello(t *testing.T) {
	bin := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "./hello", "./call").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), filepath.Join(bin, "call"), filepath.Join(bin, "hello")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "Hello, gopher in 2026-07-28\n", string(out))
}
