package main

import (
	"fmt"
	"go/types"
	"testing"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// surface describes all that programs can use of a package, one line for each
// name: "Tool.Name" -> "field string". Two packages with the same lines are the
// same to their users.
func surface(p *types.Package) map[string]string {
	lines := make(map[string]string)
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.TypeName:
			describeType(lines, o)
		case *types.Const:
			lines[name] = fmt.Sprintf("const %s = %s", typeText(p, o.Type()), o.Val())
		case *types.Var:
			lines[name] = "var " + typeText(p, o.Type())
		case *types.Func:
			lines[name] = typeText(p, o.Type())
		}
	}
	return lines
}

// typeText writes a type as the package itself would.
func typeText(p *types.Package, t types.Type) string { return types.TypeString(t, types.RelativeTo(p)) }

func describeType(lines map[string]string, o *types.TypeName) {
	name, p := o.Name(), o.Pkg()
	if o.IsAlias() {
		lines[name] = "alias of " + typeText(p, types.Unalias(o.Type()))
		return
	}
	switch u := o.Type().Underlying().(type) {
	case *types.Struct:
		lines[name] = "struct"
		for f := range u.Fields() {
			if f.Exported() {
				lines[name+"."+f.Name()] = "field " + typeText(p, f.Type())
			}
		}
	case *types.Interface:
		lines[name] = typeText(p, u)
	default:
		lines[name] = "type " + typeText(p, u)
	}
	methods := types.NewMethodSet(types.NewPointer(o.Type()))
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			lines[name+"."+m.Obj().Name()] = "method " + typeText(p, m.Obj().Type())
		}
	}
}

// A change is a name whose line is another, or gone.
type change struct{ name, before, after string }

// changes lists what programs written for before would miss in after.
func changes(before, after map[string]string) []change {
	var list []change
	for name, was := range before {
		if now := after[name]; now != was {
			list = append(list, change{name, was, now})
		}
	}
	return list
}

// surfaceOf prints a model and describes what programs see of it.
func surfaceOf(t *testing.T, p *ir.Package) map[string]string {
	t.Helper()
	return surface(newChecker(t).mustCheck(t, printed(t, p)))
}
