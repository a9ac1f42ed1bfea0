package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoPatternsAtStart fails if a package for servers compiles a regular expression when a program
// starts. Hosts start a server for each conversation, and a small pattern costs as much as a call.
func TestNoPatternsAtStart(t *testing.T) {
	var found []string
	for _, p := range packages(t, "linux") {
		if !strings.HasPrefix(p.path(), "runtime/") && !strings.HasPrefix(p.path(), "generated/") {
			continue
		}
		fset := token.NewFileSet()
		for _, name := range p.files() {
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, at := range patternsAtStart(f) {
				found = append(found, fset.Position(at).String())
			}
		}
	}
	require.Empty(t, found, "use sync.OnceValue")
}

// patternsAtStart returns the calls of package regexp that initialize variables of a package.
// Functions that a call such as sync.OnceValue receives run later.
func patternsAtStart(f *ast.File) []token.Pos {
	var found []token.Pos
	for _, d := range f.Decls {
		if _, ok := d.(*ast.GenDecl); !ok {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && isName(s.X, "regexp") {
					found = append(found, call.Pos())
				}
			}
			_, later := n.(*ast.FuncLit)
			return !later
		})
	}
	return found
}

func isName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
