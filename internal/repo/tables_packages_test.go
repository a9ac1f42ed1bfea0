package repo

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// public lists the packages that programs import, the most used first.
var public = []string{
	"runtime/mcpserver", "runtime/mcpserver/schema", "runtime/health", "runtime/mcpclient", "runtime/mcptest", "generated/mcp", "generated/tasks", "generated/apps", "generated/skills", "runtime/auth", "runtime/tasks", "runtime/apps", "runtime/skills", "runtime/streamable", "runtime/streamable/client", "runtime/stdio", "runtime/budget",
	"runtime/connection", "runtime/jsonrpc", "runtime/peer", "runtime/wire", "runtime/scale", "runtime/engine", "runtime/engine/enginetest", "schema",
}

// packageTable returns the first sentence of each package comment.
func packageTable(t *testing.T) string {
	lines := []string{"| package | |", "|---|---|"}
	said := map[string]string{}
	for _, p := range packages(t, "linux") {
		inner := strings.Contains(p.ImportPath+"/", "/internal/") || p.Name == "main" || p.path() == ""
		require.True(t, inner || slices.Contains(public, p.path()) || owner(p.path(), programs) != "", "%s is not in the list of public packages", p.path())
		said[p.path()] = p.Doc
	}
	for _, name := range public {
		require.Contains(t, said, name)
		text := strings.TrimPrefix(said[name], "Package "+path.Base(name)+" ")
		lines = append(lines, fmt.Sprintf("| `%s` | %s |", name, text))
	}
	return strings.Join(lines, "\n") + "\n"
}

// exampleTable returns the first sentence of each example.
func exampleTable(t *testing.T) string {
	lines := []string{"| program | |", "|---|---|"}
	for _, p := range packages(t, "linux") {
		if within(p.path(), "examples") && p.Name == "main" {
			text := strings.TrimRight(strings.TrimPrefix(p.Doc, "Command "+path.Base(p.path())+" "), ".:") + "."
			lines = append(lines, fmt.Sprintf("| [%s](../%[1]s) | %s |", p.path(), text))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
