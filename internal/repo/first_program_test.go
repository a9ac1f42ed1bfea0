package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirstProgram checks that the program in the comment of the root package is the example that
// the tests run.
func TestFirstProgram(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "doc.go"))
	require.NoError(t, err)
	program, err := os.ReadFile(filepath.Join(root, "examples", "hello", "main.go"))
	require.NoError(t, err)
	var text strings.Builder
	for line := range strings.Lines(string(doc)) {
		text.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "\t"))
	}
	_, code, found := strings.Cut(string(program), "\npackage main")
	require.True(t, found)
	require.Contains(t, tight(text.String()), tight("package main"+code), "doc.go has another program")
}
