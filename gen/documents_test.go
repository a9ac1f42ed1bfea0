package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented are changes whose effect on documents is in testdata/future/documents: constants of all JSON types,
// recursive definitions, keywords about which members an object has, and contents as raw JSON.
var documented = combine(
	member("ToolAnnotations", "readOnlyHint", `{"type": "boolean", "const": true}`),
	member("ToolAnnotations", "title", `{"const": null}`),
	member("Tool", "size", `{"type": "number", "const": 1.5}`),
	member("Tool", "level", `{"type": ["integer", "string"], "enum": [1, 2, "high", null]}`),
	member("Prompt", "shape", `{"const": {"a": [1, null]}}`), requireMembers("Prompt", "shape"),
	member("CallToolResult", "resultType", `{"type": "string", "const": "complete"}`),
	define("Filter", `{"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Filter"}}]}`),
	member("Tool", "filter", `{"$ref": "#/$defs/Filter"}`),
	func(defs object) {
		defs["Icon"].(object)["anyOf"] = parsed(`[{"required": ["mimeType"]}, {"required": ["theme"]}]`)
	},
	member("PromptMessage", "content", `{"anyOf": [{"$ref": "#/$defs/ContentBlock"}, {"type": "string"}]}`),
)

// TestDocumentsOfFutureRevision decodes documents for the newest revision and the one before it, in
// a program with the code for a made-up schema.
func TestDocumentsOfFutureRevision(t *testing.T) {
	skipIfShort(t)
	j := importFuture(t, documented)
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
