package mcpclient_test

import (
	"context"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// TestProgramOfPackageDoc runs the program of the package's documentation.
func TestProgramOfPackageDoc(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	s := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "weather", Description: "the weather in a city"}, func(_ context.Context, _ *mcp.ServerSession, in greeting) (string, error) {
		return "sunny in " + in.Name, nil
	})
	server := httptest.NewServer(streamable.NewHandler(s, nil))
	t.Cleanup(server.Close)

	file := filepath.Join(t.TempDir(), "main.go")
	program := strings.ReplaceAll(programOfPackageDoc(t), "http://127.0.0.1:8080/mcp", server.URL)
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "weather the weather in a city\nsunny in Bern\n", string(out))
}

// programOfPackageDoc returns the first code block of the package's documentation.
func programOfPackageDoc(t *testing.T) string {
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	var program []string
	for line := range strings.Lines(f.Doc.Text()) {
		switch text := strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(text, "\t"), text == "" && program != nil:
			program = append(program, strings.TrimPrefix(text, "\t"))
		case program != nil:
			return strings.Join(program, "\n")
		}
	}
	t.Fatal("no program")
	return ""
}
