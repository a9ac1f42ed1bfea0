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
	"github.com/mcpwright/mcp/gen/internal/refusal"
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
			ending := strings.TrimPrefix(m.Type.Name, m.Name)
			errs = append(errs, refused(m.Type, m.Name+"Method"+ending, fmt.Sprintf("the method %q would have the Go name %q, which is a method of every peer; rename its definition with a Names rule", m.Wire, m.Name)))
		}
	}
	owner, twice := make(map[string]string), make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(token.NewFileSet(), name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range declaredNames(f) {
			typ, _, method := strings.Cut(declared, ".")
			if other := owner[declared]; other != "" && !(method && twice[typ]) {
				text := fmt.Sprintf("the generated code declares %q twice, in %s and in %s; rename the definition with a Names rule", declared, other, name)
				errs = append(errs, twiceDeclared(p, declared, text))
				twice[declared] = true
			}
			owner[declared] = name
		}
	}
	return errors.Join(errs...)
}

// refused returns a refusal of the name of a type, with the choice of another name.
func refused(t *ir.Type, free, text string) error {
	file, pointer, _ := strings.Cut(t.At, "#")
	r := &refusal.Refusal{File: file, Pointer: pointer, Text: text}
	return r.Choose("The Go type has the name "+free+".", ir.Name{At: t.Definition(), Go: free})
}

// twiceDeclared returns an error for a name that is declared twice: the name of a type, or the name of
// a method of a peer or session, which comes from a request. The newest type gets another name.
func twiceDeclared(p *ir.Package, name, text string) error {
	var newest *ir.Type
	consider := func(t *ir.Type, names ...string) {
		if slices.Contains(names, name) && (newest == nil || t.Since() > newest.Since()) {
			newest = t
		}
	}
	for _, t := range p.Types {
		consider(t, t.Name, "Unknown"+t.Name, "is"+t.Name, "append"+t.Name, "decode"+t.Name, "Unmarshal"+t.Name)
		if e, ok := t.Shape.(*ir.Enum); ok {
			for _, v := range e.Values {
				consider(t, v.Name)
			}
		}
	}
	for _, m := range p.Methods {
		for _, peer := range []string{"ServerPeer.", "ClientPeer.", "ServerSession.", "ClientSession.", "Handle", "Method"} {
			consider(m.Type, peer+m.Name, peer+"Send"+m.Name, peer+m.Name+"All")
		}
	}
	if newest == nil {
		return errors.New(text)
	}
	ending := ""
	for _, s := range []string{"Request", "Notification", "Result", "Error"} {
		if strings.HasSuffix(newest.Name, s) {
			ending = s
		}
	}
	return refused(newest, strings.TrimSuffix(newest.Name, ending)+"Other"+ending, text)
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
