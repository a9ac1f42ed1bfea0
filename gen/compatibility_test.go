package main

import (
	"fmt"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

func TestNewestRevisionKeepsEarlierDeclarations(t *testing.T) {
	require.Empty(t, changes(surfaceOf(t, current(t, 1)), surfaceOf(t, current(t, 0))))
}

func TestLatestRevisionIsTheNewestKnownRevision(t *testing.T) {
	p, err := futureModel(t, newMembers)
	require.NoError(t, err)
	text := string(printed(t, p)["revisions.go"])
	require.Contains(t, text, "\nvar LatestRevision = Revision20270301\n")
	require.Contains(t, text, "\nvar LatestHandshakeRevision = Revision20251125\n")
}

func TestFutureChangesKeepDeclarations(t *testing.T) {
	before := surfaceOf(t, modelOf(t, 5))
	for name, change := range futureChanges {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "members of existing types" && name != "all types of members" {
				t.Skip("-short checks two of the changes")
			}
			t.Parallel()
			p, err := futureModel(t, change)
			require.NoError(t, err)
			require.Empty(t, changes(before, surfaceOf(t, p)))
		})
	}
}

func TestDeclarationsChangedIn20251125(t *testing.T) {
	files, err := known()
	require.NoError(t, err)
	r := rules
	rulesOfThree(&r)
	three, err := ir.Build(sources(files[:3]), &r, noDocs(t))
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, c := range changes(surfaceOf(t, three), surfaceOf(t, modelOf(t, 4))) {
		owner, _, _ := strings.Cut(c.name, ".")
		for _, name := range []string{c.name, owner} {
			found[name] = found[name] || changedIn20251125[name] != ""
		}
		require.True(t, found[c.name] || found[owner], "%s: %q became %q", c.name, c.before, c.after)
	}
	for name := range changedIn20251125 {
		require.True(t, found[name], "%s did not change", name)
	}
}

// changedIn20251125 lists the declarations that 2025-11-25 changed, with the reasons.
// A name includes everything that begins with it.
var changedIn20251125 = map[string]string{
	"ClientCapabilities.Sampling":    "an open object has members now",
	"ClientCapabilities.Elicitation": "an open object has members now",
	"CreateMessageResult.Content":    "one content block became one or several",
	"SamplingMessage.Content":        "one content block became one or several",
	"ElicitRequest":                  "its params became a union of two types",
	"ElicitRequestRequestedSchema":   "it is part of one of the two types of params",
	"ServerSession.Elicit":           "there is one method for each type of params",
	"EnumSchema":                     "one enum schema became a union of several",
}

// rulesOfThree changes the rules to those before 2025-11-25: earlier revisions had no
// name for the union of sampling content.
func rulesOfThree(r *ir.Rules) {
	addRule(&r.Names, ir.Name{At: "CreateMessageResult.content", Go: "SamplingMessageContentBlock", Why: why})
	addRule(&r.Names, ir.Name{At: "SamplingMessage.content", Go: "SamplingMessageContentBlock", Why: why})
}

// surface describes the exported API of a package, one line per name: "Tool.Name" ->
// "field string". Packages with the same lines have the same API.
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

// typeText returns a type as it is written in the package.
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

// A change is a name whose line changed or was removed.
type change struct{ name, before, after string }

// changes returns the lines of before that are different or missing in after.
func changes(before, after map[string]string) []change {
	var list []change
	for name, was := range before {
		if now := after[name]; now != was {
			list = append(list, change{name, was, now})
		}
	}
	return list
}

// surfaceOf prints a model and returns its exported API.
func surfaceOf(t *testing.T, p *ir.Package) map[string]string {
	t.Helper()
	return surface(newChecker(t).mustCheck(t, printed(t, p)))
}
