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

// mcpPath is the import path of the generated package.
const mcpPath = "github.com/mcpwright/mcp/generated/mcp"

// exportData finds the compiled form of every package that generated code and
// its users may import.
var exportData = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-f", "{{.ImportPath}} {{.Export}}", "-deps",
		"../runtime/peer", "../runtime/wire", "context", "encoding/json", "errors", "fmt", "iter", "log", "maps", "math", "slices", "strings", "time")
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

// imports finds packages that a test has made, then compiled ones.
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

// A checker type-checks Go source. Packages of one checker may import each
// other.
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

// check type-checks the files of a package, tests left out, and reports all
// that is wrong.
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

// mustCheck checks a generated package.
func (c *checker) mustCheck(t *testing.T, files map[string][]byte) *types.Package {
	t.Helper()
	require.NoError(t, c.check(mcpPath, files))
	return c.imports.made[mcpPath]
}
