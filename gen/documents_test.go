package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// constants are members with constants of all JSON types.
var constants = combine(
	member("ToolAnnotations", "readOnlyHint", `{"type": "boolean", "const": true}`),
	member("ToolAnnotations", "title", `{"const": null}`),
	member("Tool", "size", `{"type": "number", "const": 1.5}`),
	member("Tool", "level", `{"type": ["integer", "string"], "enum": [1, 2, "high", null]}`),
	member("Prompt", "shape", `{"const": {"a": [1, null]}}`), requireMembers("Prompt", "shape"),
)

// TestDocumentsOfFutureRevision decodes documents for the newest revision and the one before it, in
// a program with the code for a made-up schema.
func TestDocumentsOfFutureRevision(t *testing.T) {
	skipIfShort(t)
	j := importFuture(t, constants)
	compile(t, j)
	exe := filepath.Join(t.TempDir(), "documents")
	goRun(t, exec.Command("go", "build", "-overlay", newOverlay(t, j.out).file, "-o", exe, "./testdata/future/documents"))
	input, err := os.Open("testdata/future/documents/documents.txt")
	require.NoError(t, err)
	defer input.Close()
	cmd := exec.Command(exe)
	cmd.Stdin = input
	out := goRun(t, cmd)
	golden(t, "testdata/future/documents/want.txt", out)
}
