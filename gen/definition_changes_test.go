package main

import (
	"fmt"
	"maps"
	"math/rand"
	"path"
	"slices"
	"strings"
	"testing"
)

// definitionChanges change a whole definition, or two. They return nil if the definition has another form.
var definitionChanges = []struct {
	name   string
	change func(def, other string, defs object) edit
}{
	{"renamed", func(def, _ string, _ object) edit { return renamed(def, "New"+def) }},
	{"renamed, with another member", func(def, _ string, defs object) edit {
		return ofObject(def, defs, combine(renamed(def, "New"+def), member("New"+def, "more", `{"type": "string"}`)))
	}},
	{"renamed, and its name reused", func(def, _ string, _ object) edit {
		return combine(renamed(def, "New"+def), define(def, `{"type": "object", "required": ["alien"], "properties": {"alien": {"type": "string"}}}`))
	}},
	{"names swapped", func(def, other string, _ object) edit {
		return combine(renamed(def, "Swapped"), renamed(other, def), renamed("Swapped", other))
	}},
	{"schemas swapped", func(def, other string, _ object) edit {
		return func(defs object) { defs[def], defs[other] = defs[other], defs[def] }
	}},
	{"another name of a new definition", func(def, _ string, _ object) edit {
		return func(defs object) { defs["Real"+def], defs[def] = defs[def], reference("Real"+def) }
	}},
	{"a union of the object and another", func(def, _ string, defs object) edit {
		return ofObject(def, defs, func(defs object) {
			defs["First"+def], defs["Second"+def] = defs[def], parsed(`{"type": "object", "required": ["alien"], "properties": {"alien": {"type": "string"}}}`)
			defs[def] = object{"anyOf": []any{reference("First" + def), reference("Second" + def)}}
		})
	}},
	{"the first member of a union", func(def, _ string, defs object) edit {
		return ofUnion(def, defs, func(defs object) { defs[def] = clone(defs[def].(object)["anyOf"].([]any)[0]) })
	}},
	{"a union of two unions", func(def, _ string, defs object) edit {
		return ofUnion(def, defs, func(defs object) {
			list := defs[def].(object)["anyOf"].([]any)
			defs["First"+def], defs["Second"+def] = object{"anyOf": list[:1]}, object{"anyOf": list[1:]}
			defs[def] = object{"anyOf": []any{reference("First" + def), reference("Second" + def)}}
		})
	}},
	{"a union with a string", func(def, _ string, defs object) edit {
		return ofUnion(def, defs, func(defs object) {
			defs[def].(object)["anyOf"] = append(defs[def].(object)["anyOf"].([]any), parsed(`{"type": "string"}`))
		})
	}},
	{"a string", func(def, _ string, _ object) edit { return define(def, `{"type": "string"}`) }},
	{"a copy", func(def, _ string, _ object) edit {
		return func(defs object) { defs["Copy"+def] = clone(defs[def]) }
	}},
	{"another constant", func(def, _ string, defs object) edit {
		properties, _ := defs[def].(object)["properties"].(object)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if x, ok := properties[name].(object); ok && x["const"] != nil && name != "jsonrpc" {
				return member(def, name, `{"type": "string", "const": "other/constant"}`)
			}
		}
		return nil
	}},
	{"another method", func(def, _ string, defs object) edit {
		if methodOf(def, defs) == "" {
			return nil
		}
		return method(def, "other/method")
	}},
	{"methods swapped", func(def, other string, defs object) edit {
		a, b := methodOf(def, defs), methodOf(other, defs)
		if a == "" || b == "" {
			return nil
		}
		return combine(method(def, b), method(other, a))
	}},
	{"another result", func(def, other string, defs object) edit {
		properties, _ := defs[def].(object)["properties"].(object)
		result, _ := properties["result"].(object)
		if result == nil || !strings.HasSuffix(other, "Result") {
			return nil
		}
		return member(def, "result", `{"$ref": "#/$defs/`+other+`"}`)
	}},
}

func reference(def string) object { return object{"$ref": "#/$defs/" + def} }

// methodOf returns the method of a message, or "" if a definition is no message.
func methodOf(def string, defs object) string {
	schema, _ := defs[def].(object)
	properties, _ := schema["properties"].(object)
	constant, _ := properties["method"].(object)
	name, _ := constant["const"].(string)
	return name
}

// ofObject returns e if a definition is an object with members, but no message.
func ofObject(def string, defs object, e edit) edit {
	if properties, ok := defs[def].(object)["properties"].(object); !ok || properties["method"] != nil {
		return nil
	}
	return e
}

// ofUnion returns e if a definition is a union of definitions.
func ofUnion(def string, defs object, e edit) edit {
	list, _ := defs[def].(object)["anyOf"].([]any)
	for _, x := range list {
		if ref, _ := x.(object)["$ref"].(string); path.Base(ref) == def || ref == "" {
			return nil
		}
	}
	if len(list) < 2 {
		return nil
	}
	return e
}

// TestDefinitionChanges applies each kind of change to random definitions. The schema compiles, or its form
// can be filled in.
func TestDefinitionChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the schemas several times for each change")
	}
	for i, x := range definitionChanges {
		for seed := *randomFirst; seed < *randomFirst+*randomSeeds/12; seed++ {
			t.Run(fmt.Sprint(x.name, "/", seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewSource(seed*100 + int64(i)))
				in := refusedInput(t, func(defs object) {
					names := slices.Sorted(maps.Keys(defs))
					for range 1000 {
						def, other := pick(r, names), pick(r, names)
						if e := x.change(def, other, defs); e != nil && def != other {
							t.Log(def, other)
							e(defs)
							return
						}
					}
					t.Fatal("the change applies to no definition")
				})
				if c, err := in.compile(&rules); err != nil {
					fillIn(t, in)
				} else {
					newChecker(t).mustCheck(t, c.printed)
				}
			})
		}
	}
}
