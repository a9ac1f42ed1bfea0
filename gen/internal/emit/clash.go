package emit

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// taken are the names that views and sessions have from elsewhere: a request
// of that name would hide them.
var taken = []string{"Call", "Notify", "With", "Outbound", "SessionCore", "Standalone", "Transport", "Revision", "ClientInfo", "ClientCapabilities",
	"HasClientCapability", "ReportProgress"}

// clashes refuses names that are declared twice in the package, or that hide
// what a view is made of.
func clashes(p *ir.Package, files map[string][]byte) error {
	var errs []error
	for _, m := range p.Methods {
		if slices.Contains(taken, m.Name) || m.Name == "Progress" && !m.Notification {
			errs = append(errs, fmt.Errorf("%s: the method %q wants the Go name %q, which every view has itself; name its definition with a Names rule", m.Type.At, m.Wire, m.Name))
		}
	}
	owner := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(token.NewFileSet(), name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range declarations(f) {
			if other, twice := owner[declared]; twice {
				errs = append(errs, fmt.Errorf("%sthe generated code declares %q twice, in %s and in %s; name the definition with a Names rule", place(p, declared), declared, other, name))
			}
			owner[declared] = name
		}
	}
	return errors.Join(errs...)
}

// place is where the type of a name stands in the schemas, if it is one of
// theirs.
func place(p *ir.Package, name string) string {
	for _, t := range p.Types {
		if t.Name == name {
			return t.At + ": "
		}
	}
	return ""
}

// declarations lists what a file declares at its top; methods come with their
// receiver.
func declarations(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, receiver(d)+d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "_" || name == "init" })
}

// receiver is the type that a method belongs to, with a dot.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "."
}
