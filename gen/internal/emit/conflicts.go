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

// reservedNames are the names of other methods of peers and sessions, which a request
// of the same name would hide.
var reservedNames = []string{"Call", "Notify", "With", "Outbound", "SessionCore", "Standalone", "Transport", "Revision", "ClientInfo", "ClientCapabilities",
	"HasClientCapability", "ReportProgress"}

// nameConflicts returns an error for names that are declared twice in the package, and
// for methods with reserved names.
func nameConflicts(p *ir.Package, files map[string][]byte) error {
	var errs []error
	for _, m := range p.Methods {
		if slices.Contains(reservedNames, m.Name) || m.Name == "Progress" && !m.Notification {
			errs = append(errs, fmt.Errorf("%s: the method %q would have the Go name %q, which is a method of every peer; rename its definition with a Names rule", m.Type.At, m.Wire, m.Name))
		}
	}
	owner := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(token.NewFileSet(), name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range declaredNames(f) {
			if other, twice := owner[declared]; twice {
				errs = append(errs, fmt.Errorf("%sthe generated code declares %q twice, in %s and in %s; rename the definition with a Names rule", place(p, declared), declared, other, name))
			}
			owner[declared] = name
		}
	}
	return errors.Join(errs...)
}

// place returns the place of a type in the schemas, or "" if they do not define it.
func place(p *ir.Package, name string) string {
	for _, t := range p.Types {
		if t.Name == name {
			return t.At + ": "
		}
	}
	return ""
}

// declaredNames returns the names that a file declares at its top level. Methods
// include their receiver.
func declaredNames(f *ast.File) []string {
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

// receiver returns the receiver type of a method with a dot, or "".
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "."
}
