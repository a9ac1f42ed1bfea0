package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// defaults has the options of a package and their defaults, as found in its source.
type defaults struct {
	constants map[string]ast.Expr
	// given has the values that are assigned to fields, by name.
	given map[string][]ast.Expr
	// texts has the comments of fields, by type and name.
	texts map[string]string
}

func readDefaults(t *testing.T, dir string) defaults {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	d := defaults{map[string]ast.Expr{}, map[string][]ast.Expr{}, map[string]string{}}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, d.visit)
	}
	return d
}

// visit finds the defaults that a node sets. The forms are fill(&o.F, x), o.F = x,
// o.F = or(o.F, x) and {&o.F: x}.
func (d defaults) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.TypeSpec:
		d.document(n)
	case *ast.ValueSpec:
		for i := range n.Values {
			d.constants[n.Names[i].Name] = n.Values[i]
		}
	case *ast.CallExpr:
		if len(n.Args) == 2 {
			d.give(n.Args[0], n.Args[1])
		}
	case *ast.AssignStmt:
		if call, ok := n.Rhs[0].(*ast.CallExpr); ok && len(call.Args) == 2 {
			d.give(n.Lhs[0], call.Args[1])
		} else {
			d.give(n.Lhs[0], n.Rhs[0])
		}
	case *ast.KeyValueExpr:
		d.give(n.Key, n.Value)
	}
	return true
}

func (d defaults) document(s *ast.TypeSpec) {
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			d.texts[s.Name.Name+"."+id.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
}

func (d defaults) give(to, value ast.Expr) {
	if address, ok := to.(*ast.UnaryExpr); ok {
		to = address.X
	}
	if field, ok := to.(*ast.SelectorExpr); ok {
		d.given[field.Sel.Name] = append(d.given[field.Sel.Name], value)
	}
}

// of returns the default of a field, or the value of a constant: an int64 or a
// [time.Duration]. It returns nil if there is no value, or more than one.
func (d defaults) of(name string) any {
	var found any
	for _, e := range append(d.given[name], d.constants[name]) {
		switch n, timely := d.value(e); {
		case n == 0:
		case timely && (found == nil || found == time.Duration(n)):
			found = time.Duration(n)
		case !timely && (found == nil || found == n):
			found = n
		default:
			return nil
		}
	}
	return found
}

// value returns the value of a constant expression and whether it is a duration. It returns 0 for
// other expressions.
func (d defaults) value(e ast.Expr) (n int64, timely bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, _ = strconv.ParseInt(e.Value, 0, 64)
	case *ast.Ident:
		return d.value(d.constants[e.Name])
	case *ast.SelectorExpr:
		unit := map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}[e.Sel.Name]
		return int64(unit), unit != 0
	case *ast.BinaryExpr:
		x, one := d.value(e.X)
		y, other := d.value(e.Y)
		switch timely = one || other; e.Op {
		case token.MUL:
			n = x * y
		case token.SHL:
			n = x << y
		}
	}
	return n, timely
}

func TestDefaultsAreFoundInTheCode(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "o.go"), []byte(`package o

const most, usual = 2 << 20, 30 * time.Minute

// O has options.
type O struct {
	// A is the
	// first one.
	A int
}

func (o *O) complete() {
	fill(&o.A, most)
	o.B = or(o.B, 1_000)
	if o.C == 0 {
		o.C = usual
	}
	for n, x := range map[*int]int{&o.D: 7} {
		*n = x
	}
	o.E, o.F = 1, f()
	o.E = 2
}
`), 0o600))
	d := readDefaults(t, dir)
	for name, want := range map[string]any{
		"A": int64(2 << 20), "B": int64(1000), "C": 30 * time.Minute, "D": int64(7), "E": nil, "F": nil, "usual": 30 * time.Minute,
	} {
		require.Equal(t, want, d.of(name), name)
	}
	require.Equal(t, "A is the first one.", d.texts["O.A"])
}
