package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCorrectProgramCompiles(t *testing.T) {
	c := newChecker(t)
	c.mustCheck(t, printed(t, modelOf(t, 5)))
	require.NoError(t, c.check("use", programWith(`
	res, err := peer.SendRequest(ctx, out, &mcp.CreateMessageRequest{})
	var _ *mcp.CreateMessageResult = res
	_, _ = session.ElicitForm(ctx, &mcp.ElicitRequestFormParams{})
	_ = peer.SendNotification(ctx, out, &mcp.CancelledNotification{})
	mcp.HandleCallTool(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err })
	mcp.HandleCallTool(mux, mcp.ServerPeer{Outbound: out}.CallTool)
	peer.Handle(mux, mcp.ClientPeer{Outbound: out}.Elicit)
	_ = &mcp.SamplingMessage{Content: []mcp.SamplingMessageContentBlock{mcp.Text("a"), &mcp.ToolUseContent{}}}`)))
}

func TestIncorrectProgramsDoNotCompile(t *testing.T) {
	c := newChecker(t)
	c.mustCheck(t, printed(t, modelOf(t, 5)))
	for statements, want := range map[string]string{
		`_, _ = peer.SendRequest(ctx, out, &mcp.CancelledNotification{})`:                                                        "missing method NewResult",
		`_ = peer.SendNotification(ctx, out, &mcp.CallToolRequest{})`:                                                            "missing method IsNotification",
		`var res *mcp.CallToolResult; res, _ = peer.SendRequest(ctx, out, &mcp.CreateMessageRequest{}); _ = res`:                 "CreateMessageResult",
		`_, _ = peer.SendRequest(ctx, out, mcp.CallToolRequest{})`:                                                               "CallToolRequest",
		`mcp.HandleCallTool(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.ListToolsResult, error) { return nil, nil })`: "cannot use",
		`mcp.HandleCancelled(mux, func(context.Context, *mcp.ProgressNotification) error { return nil })`:                        "cannot use",
		`peer.Handle(mux, func(context.Context, *mcp.CallToolRequest) (*mcp.ListToolsResult, error) { return nil, nil })`:        "wrong type for method NewResult",
		`_ = &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.ToolUseContent{}}}`:                                            "missing method isContentBlock",
		`_ = &mcp.CallToolResult{Content: []mcp.ContentBlock{mcp.TextContent{}}}`:                                                "pointer receiver",
		`_ = &mcp.ElicitRequest{Params: &mcp.CallToolRequest{}}`:                                                                 "missing method isElicitRequestParams",
		`_, _ = session.ElicitForm(ctx, &mcp.ElicitRequestURLParams{})`:                                                          "cannot use",
		`_ = &mcp.TextContent{Type: "text"}`:                                                                                     "unknown field Type",
		`_ = mcp.ServerPeer{Outbound: out}.With(peer.WithID)`:                                                                    "cannot use",
		`type mine struct{ mcp.UnknownContentBlock }; var _ mcp.ContentBlock = mine{}`:                                           "pointer receiver",
	} {
		require.ErrorContains(t, c.check("use", programWith(statements)), want, statements)
	}
}

// programWith returns a small program with the statements of a test.
func programWith(statements string) map[string][]byte {
	return map[string][]byte{"use.go": []byte(`package use

import (
	"context"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

func run(ctx context.Context, out peer.Outbound, mux *peer.Mux, session *mcp.ServerSession) {
	` + statements + `
}
`)}
}

// mcpPath is the import path of the generated package.
const mcpPath = "github.com/mcpwright/mcp/generated/mcp"

// exportData returns the files with the export data of every package that generated
// code and its users may import.
var exportData = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-f", "{{.ImportPath}} {{.Export}}", "-deps",
		"../runtime/peer", "../runtime/wire", "context", "encoding/json", "errors", "fmt", "iter", "log", "maps", "math", "regexp", "slices", "strings", "sync", "time")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	found := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[path] = file
		}
	}
	return found, nil
})

// imports returns packages that a test type-checked, or compiled ones.
type imports struct {
	made map[string]*types.Package
	next types.Importer
}

func (i imports) Import(path string) (*types.Package, error) {
	if p := i.made[path]; p != nil {
		return p, nil
	}
	return i.next.Import(path)
}

// A checker type-checks Go source. Packages of one checker may import each other.
type checker struct {
	fset    *token.FileSet
	imports imports
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	data, err := exportData()
	require.NoError(t, err)
	c := &checker{fset: token.NewFileSet()}
	c.imports.made = make(map[string]*types.Package)
	c.imports.next = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if data[path] == "" {
			return nil, fmt.Errorf("no export data of %q", path)
		}
		return os.Open(data[path])
	})
	return c
}

// check type-checks the files of a package without its tests and returns all errors.
func (c *checker) check(path string, files map[string][]byte) error {
	var list []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(c.fset, name, files[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		list = append(list, f)
	}
	var errs []error
	conf := types.Config{Importer: c.imports, Error: func(err error) { errs = append(errs, err) }}
	p, _ := conf.Check(path, c.fset, list, nil)
	c.imports.made[path] = p
	return errors.Join(errs...)
}

// mustCheck type-checks a generated package.
func (c *checker) mustCheck(t *testing.T, files map[string][]byte) *types.Package {
	t.Helper()
	require.NoError(t, c.check(mcpPath, files))
	return c.imports.made[mcpPath]
}
