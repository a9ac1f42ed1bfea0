package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryExportedNameHasAText(t *testing.T) {
	var bare []string
	for _, p := range packages(t, "linux") {
		fset := token.NewFileSet()
		r := &reader{fset: fset, strict: p.path() == "generated/mcp"}
		for _, name := range p.files() {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			r.file(f)
		}
		if !r.documented && len(p.GoFiles) > 0 {
			bare = append(bare, "package "+p.path())
		}
		bare = append(bare, r.bare...)
	}
	require.Empty(t, bare)
}

// A reader looks for exported names without a text. A strict one wants a text
// for each field, and for each constant of a group.
type reader struct {
	fset       *token.FileSet
	strict     bool
	documented bool
	bare       []string
}

func (r *reader) want(id *ast.Ident, texts ...*ast.CommentGroup) {
	if !id.IsExported() {
		return
	}
	for _, text := range texts {
		if strings.TrimSpace(text.Text()) != "" {
			return
		}
	}
	at := r.fset.Position(id.Pos())
	r.bare = append(r.bare, id.Name+" ("+at.String()+")")
}

func (r *reader) file(f *ast.File) {
	r.documented = r.documented || f.Doc.Text() != ""
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if exportedReceiver(d) {
				r.want(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			r.group(d)
		}
	}
}

// exportedReceiver tells whether a function belongs to no type or to an
// exported one.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}

func (r *reader) group(d *ast.GenDecl) {
	outer := d.Doc
	if d.Lparen.IsValid() && r.strict {
		outer = nil
	}
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			r.want(s.Name, s.Doc, s.Comment, outer)
			r.members(s)
		case *ast.ValueSpec:
			for _, id := range s.Names {
				r.want(id, s.Doc, s.Comment, outer)
			}
		}
	}
}

// members looks at the fields of a struct.
func (r *reader) members(s *ast.TypeSpec) {
	st, ok := s.Type.(*ast.StructType)
	if !ok || !r.strict || !s.Name.IsExported() {
		return
	}
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			r.want(id, f.Doc, f.Comment)
		}
	}
}
