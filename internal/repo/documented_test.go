package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExportedNamesHaveComments(t *testing.T) {
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

// A reader finds exported names without a comment. If strict is set, each field and each constant
// of a group needs a comment of its own.
type reader struct {
	fset       *token.FileSet
	strict     bool
	documented bool
	// bare lists the names without a comment, and their positions.
	bare []string
}

// need adds a name to the list if none of the comments has a text.
func (r *reader) need(id *ast.Ident, texts ...*ast.CommentGroup) {
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
				r.need(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			r.group(d)
		}
	}
}

// exportedReceiver reports whether a function has no receiver or a receiver of an exported type.
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
			r.need(s.Name, s.Doc, s.Comment, outer)
			r.members(s)
		case *ast.ValueSpec:
			for _, id := range s.Names {
				r.need(id, s.Doc, s.Comment, outer)
			}
		}
	}
}

// members checks the fields of a struct.
func (r *reader) members(s *ast.TypeSpec) {
	st, ok := s.Type.(*ast.StructType)
	if !ok || !r.strict || !s.Name.IsExported() {
		return
	}
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			r.need(id, f.Doc, f.Comment)
		}
	}
}
