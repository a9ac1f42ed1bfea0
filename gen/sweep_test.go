package main

import (
	"errors"
	"flag"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

var (
	sweepAll  = flag.Bool("sweep", false, "apply all changes of the sweep, and not only a sample")
	sweepSeed = flag.Int("sweep-seed", 0, "a `number` that selects the definitions and the sample")
)

// definitionSchemas replace a whole definition.
var definitionSchemas = map[string]string{
	"anything":          `{}`,
	"a string":          `{"type": "string"}`,
	"an integer":        `{"type": "integer"}`,
	"an enum":           `{"type": "string", "enum": ["aa", "bb"]}`,
	"a list":            `{"type": "array", "items": {"type": "string"}}`,
	"a map":             `{"type": "object", "additionalProperties": {"type": "integer"}}`,
	"an object":         `{"type": "object", "required": ["alien"], "properties": {"alien": {"type": "string"}}}`,
	"a string or null":  `{"type": ["string", "null"]}`,
	"a string or icon":  `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}]}`,
	"two objects":       `{"anyOf": [{"$ref": "#/$defs/Icon"}, {"$ref": "#/$defs/Root"}]}`,
	"an alias":          `{"$ref": "#/$defs/ToolAnnotations"}`,
	"a longer string":   `{"type": "string", "minLength": 2}`,
	"no other members":  `{"type": "object", "properties": {"alien": {"type": "string"}}, "additionalProperties": false}`,
	"an allOf":          `{"allOf": [{"$ref": "#/$defs/BaseMetadata"}, {"$ref": "#/$defs/Icons"}]}`,
	"a recursive union": `{"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/JSONValue"}}]}`,
}

// objectChanges change an object with members, of which name is one. Messages keep their method.
var objectChanges = map[string]func(def, name string) edit{
	"a new member": func(def, _ string) edit { return member(def, "alien", `{"type": "string"}`) },
	"a new required member": func(def, _ string) edit {
		return combine(member(def, "alien", `{"type": "string"}`), alsoRequired(def, "alien"))
	},
	"a member that is null": func(def, name string) edit { return member(def, name, `{"type": "null"}`) },
	"a member removed": func(def, name string) edit {
		return func(defs object) {
			delete(defs[def].(object)["properties"].(object), name)
			notRequired(def, name)(defs)
		}
	},
	"a member required":    alsoRequired,
	"a member optional":    notRequired,
	"a member of any JSON": func(def, name string) edit { return member(def, name, `{}`) },
	"a member as a string": func(def, name string) edit { return member(def, name, `{"type": "string"}`) },
	"a member as a number": func(def, name string) edit { return member(def, name, `{"type": "number"}`) },
	"a member as a list": func(def, name string) edit {
		return member(def, name, `{"type": "array", "items": {"$ref": "#/$defs/Icon"}}`)
	},
	"a member as an object": func(def, name string) edit { return member(def, name, `{"$ref": "#/$defs/Icon"}`) },
	"a member as a union": func(def, name string) edit {
		return member(def, name, `{"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Icon"}, {"type": "null"}]}`)
	},
	"a member with a constant":        func(def, name string) edit { return member(def, name, `{"type": "string", "const": "other/constant"}`) },
	"a member with a constant number": func(def, name string) edit { return member(def, name, `{"type": "integer", "const": 7}`) },
	"a closed object":                 func(def, _ string) edit { return closed(def) },
}

// alsoRequired requires a member of a definition.
func alsoRequired(def, name string) edit {
	return func(defs object) {
		notRequired(def, name)(defs)
		defs[def].(object)["required"] = append(defs[def].(object)["required"].([]any), name)
	}
}

// notRequired makes a member of a definition optional.
func notRequired(def, name string) edit {
	return func(defs object) {
		list, _ := defs[def].(object)["required"].([]any)
		defs[def].(object)["required"] = slices.DeleteFunc(slices.Concat([]any{}, list), func(v any) bool { return v == name })
	}
}

// class returns the class of a definition: a suffix of its name, or its form.
func class(def string, schema object) string {
	for _, suffix := range []string{"Request", "Notification", "ResultResponse", "Params", "Result", "Error", "MetaObject", "Capabilities"} {
		if strings.HasSuffix(def, suffix) {
			return suffix
		}
	}
	properties, _ := schema["properties"].(object)
	kind, _ := schema["type"].(string)
	switch {
	case strings.HasPrefix(def, "JSONRPC"):
		return "framing"
	case schema["anyOf"] != nil:
		return "union"
	case schema["enum"] != nil:
		return "enum"
	case kind != "object" || properties == nil:
		return "no object"
	}
	for _, name := range []string{"type", "mode"} {
		if x, ok := properties[name].(object); ok && x["const"] != nil {
			return "alternative"
		}
	}
	return "object"
}

// A sweepCase is one kind of change of one class of definitions.
type sweepCase struct {
	kind, class string
	edits       []func() edit // one for each definition and member to which it applies
	at          []string
}

// sweep returns all cases in order.
func sweep(defs object) []*sweepCase {
	cases := make(map[string]*sweepCase)
	add := func(kind, def, at string, e func() edit) {
		x := &sweepCase{kind: kind, class: class(def, defs[def].(object))}
		key := x.kind + "/" + x.class
		if cases[key] == nil {
			cases[key] = x
		}
		cases[key].edits, cases[key].at = append(cases[key].edits, e), append(cases[key].at, at)
	}
	for _, def := range slices.Sorted(maps.Keys(defs)) {
		for kind, schema := range definitionSchemas {
			add(kind, def, def, func() edit { return define(def, schema) })
		}
		for _, x := range definitionChanges {
			other := def + "Other"
			switch x.name {
			case "names swapped", "schemas swapped", "another result":
				continue
			case "methods swapped":
				other = nextMessage(def, defs)
			}
			if x.change(def, other, defs) != nil {
				add(x.name, def, def, func() edit { return x.change(def, other, defs) })
			}
		}
		properties, _ := defs[def].(object)["properties"].(object)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			for kind, change := range objectChanges {
				add(kind, def, def+"."+name, func() edit { return change(def, name) })
			}
		}
	}
	var list []*sweepCase
	for _, key := range slices.Sorted(maps.Keys(cases)) {
		list = append(list, cases[key])
	}
	return list
}

// nextMessage returns the message of the same class after a definition, or "".
func nextMessage(def string, defs object) string {
	for _, other := range slices.Sorted(maps.Keys(defs)) {
		if other > def && methodOf(other, defs) != "" && class(other, defs[other].(object)) == class(def, defs[def].(object)) {
			return other
		}
	}
	return ""
}

// api returns the exported declarations of a package, with their types. A declaration of a newer package may have
// more fields and methods.
func api(p *types.Package) map[string]string {
	all := make(map[string]string)
	for _, name := range p.Scope().Names() {
		x := p.Scope().Lookup(name)
		if !x.Exported() {
			continue
		}
		named, isType := x.(*types.TypeName)
		if !isType {
			all[name] = x.Type().String()
			continue
		}
		all[name] = fmt.Sprintf("%T", named.Type().Underlying())
		if s, ok := named.Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				all[name+"."+f.Name()] = f.Type().String()
			}
		}
		set := types.NewMethodSet(types.NewPointer(named.Type()))
		for i := range set.Len() {
			if f := set.At(i).Obj(); f.Exported() {
				all[name+"."+f.Name()] = set.At(i).Type().String()
			}
		}
	}
	return all
}

// TestSweep applies each kind of change to one definition of each class. The schema compiles, and the exported
// declarations of the older revisions do not change. Or each refusal has a form.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the schemas for each change")
	}
	check := newChecker(t)
	released, err := (&input{schema: "../schema", docs: "../schema/docs.txt"}).compile(&rules)
	require.NoError(t, err)
	before := api(check.mustCheck(t, released.printed))
	var defs object
	futureSchema(t, func(d object) { defs = clone(d).(object) })
	rows := make(map[string][]string)
	for i, x := range sweep(defs) {
		if !*sweepAll && (i+*sweepSeed)%40 != 0 {
			continue
		}
		n := (i*7 + *sweepSeed) % len(x.edits)
		t.Run(x.kind+"/"+x.class+"/"+x.at[n], func(t *testing.T) {
			in := refusedInput(t, x.edits[n]())
			c, err := in.compile(&rules)
			if err != nil {
				rows[x.kind] = append(rows[x.kind], x.class)
				requireForms(t, err)
				return
			}
			now := api(check.mustCheck(t, c.printed))
			for name, declared := range before {
				require.Equal(t, declared, now[name], name)
			}
			rows[x.kind] = append(rows[x.kind], "")
		})
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, kind := range slices.Sorted(maps.Keys(rows)) {
		refused := slices.DeleteFunc(slices.Clone(rows[kind]), func(class string) bool { return class == "" })
		fmt.Fprintf(w, "%s\t%d compile\t%d refused\t%s\n", kind, len(rows[kind])-len(refused), len(refused), strings.Join(refused, ", "))
	}
	require.NoError(t, w.Flush())
	t.Logf("\n%s", out.String())
}

// requireForms requires that an error has only refusals of schemas.
func requireForms(t *testing.T, err error) {
	t.Helper()
	refusals, others := refusal.In(err)
	require.NotEmpty(t, refusals)
	require.NoError(t, errors.Join(others...))
	for _, r := range refusals {
		require.NotEmpty(t, r.Pointer, r.Error())
	}
}
