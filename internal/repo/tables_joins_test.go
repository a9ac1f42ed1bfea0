package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// joinTable returns the first two columns of the table of joins in the compiler.
func joinTable(t *testing.T) string {
	path := filepath.Join(root, "gen/internal/ir/joins.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	lines := []string{"| change | Go type |", "|---|---|"}
	for _, row := range file.Scope.Lookup("Joins").Decl.(*ast.ValueSpec).Values[0].(*ast.CompositeLit).Elts {
		texts := row.(*ast.KeyValueExpr).Value.(*ast.CompositeLit).Elts
		change, err := strconv.Unquote(texts[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		goType, err := strconv.Unquote(texts[1].(*ast.BasicLit).Value)
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("| %s | %s |", change, goType))
	}
	return strings.Join(lines, "\n") + "\n"
}
