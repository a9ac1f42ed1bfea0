package extension

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// separators matches what a Go name cannot have.
var separators = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// identifier returns the name of a definition without the characters that a Go name cannot have or begin
// with: libraries print names such as Record<string,number>. If nothing is left, it returns the name.
func identifier(name string) string {
	parts := separators.Split(name, -1)
	for i, part := range parts[1:] {
		parts[i+1] = capitalized(part)
	}
	trimmed := strings.TrimLeft(strings.Join(parts, ""), "_")
	if trimmed == "" || trimmed == name {
		return name
	}
	return capitalized(trimmed)
}

func capitalized(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// nameAlternatives gives a definition to each object that is written inside a union of objects.
func (m *matcher) nameAlternatives() {
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		m.alternatives(m.defs[name], name)
	}
}

// alternatives names the alternatives of the unions in a schema. The name of a member of an object follows
// the name of its place.
func (m *matcher) alternatives(v any, place string) {
	x, ok := v.(object)
	if !ok {
		return
	}
	props, _ := x["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if name == "params" && props["method"] != nil {
			params, _ := props[name].(object)
			m.alternatives(without(params, "anyOf"), place)
		} else {
			m.alternatives(props[name], place+capitalized(name))
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		m.alternatives(x[key], place)
	}
	parts, _ := x["allOf"].([]any)
	for _, part := range parts {
		p, _ := part.(object)
		m.alternatives(without(p, "anyOf"), place)
	}
	list, ok := x["anyOf"].([]any)
	if !ok {
		list, _ = x["oneOf"].([]any)
	}
	if len(x) > 1 || len(list) < 2 || slices.ContainsFunc(list, func(v any) bool { return !isObject(v) }) {
		return
	}
	key := m.distinguishing(list)
	for i, v := range list {
		alternative := v.(object)
		if alternative["$ref"] != nil {
			continue
		}
		suffix, _ := constantOf(alternative, key).(string)
		name := m.free(place, place+capitalized(identifier(suffix)), i)
		list[i] = object{"$ref": "#/$defs/" + name}
		m.defs[name] = alternative
		m.alternatives(alternative, name)
	}
}

// free returns a name that no definition has, for the alternative i of the union at a place.
func (m *matcher) free(place, name string, i int) string {
	taken := func(name string) bool { return m.defs[name] != nil || m.types[name] != nil }
	if separators.MatchString(name) || taken(name) || name == place {
		name = separators.ReplaceAllString(name, "") + fmt.Sprint(i+1)
	}
	for taken(name) {
		name += "X"
	}
	return name
}

// isObject reports whether a schema is an object with members, or a reference.
func isObject(v any) bool {
	x, _ := v.(object)
	return x["$ref"] != nil || x["type"] == "object" && x["properties"] != nil
}

// distinguishing returns the first member that is a constant in all alternatives, or "".
func (m *matcher) distinguishing(list []any) string {
	first, _ := list[0].(object)
	if first["$ref"] != nil {
		first, _ = m.defs[definitionOf(first)].(object)
	}
	props, _ := first["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if constantOf(first, name) != nil {
			return name
		}
	}
	return ""
}

// constantOf returns the constant value of a member, or nil.
func constantOf(x object, member string) any {
	props, _ := x["properties"].(object)
	p, _ := props[member].(object)
	return p["const"]
}

func without(x object, key string) object {
	x = maps.Clone(x)
	delete(x, key)
	return x
}

// optionalConstants rewrites constants of optional members to enums. A struct has no field for a constant,
// and its encoding always has the member.
func (m *matcher) optionalConstants() {
	alternatives := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		eachAlternative(m.defs[name], func(v any) {
			if x, ok := v.(object); ok && x["$ref"] != nil {
				alternatives[definitionOf(x)] = true
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		optionalConstants(m.defs[name], alternatives[name])
	}
}

// optionalConstants is like the method, for one schema. Keep is true if it is an alternative: without a
// constant of a required member, the others distinguish it.
func optionalConstants(v any, keep bool) {
	x, _ := v.(object)
	props, _ := x["properties"].(object)
	required, _ := x["required"].([]any)
	for _, name := range required {
		keep = keep && constantOf(x, fmt.Sprint(name)) == nil
	}
	for name, p := range props {
		if !keep && name != "method" && !slices.Contains(required, any(name)) {
			constantToEnum(p)
		}
		optionalConstants(p, false)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if x[key] != nil {
			optionalConstants(x[key], false)
		}
	}
	parts, _ := x["allOf"].([]any)
	for _, part := range parts {
		optionalConstants(part, keep)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := x[key].([]any)
		for _, alternative := range list {
			optionalConstants(alternative, true)
		}
	}
}

// constantToEnum rewrites a constant string, which may be in an allOf.
func constantToEnum(v any) {
	x, _ := v.(object)
	if value, ok := x["const"].(string); ok {
		delete(x, "const")
		x["type"], x["enum"] = "string", []any{value}
	}
	parts, _ := x["allOf"].([]any)
	for _, part := range parts {
		constantToEnum(part)
	}
}

// eachAlternative calls visit for each alternative of the unions in a schema.
func eachAlternative(v any, visit func(v any)) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			eachAlternative(e, visit)
		}
	case object:
		for _, key := range []string{"anyOf", "oneOf"} {
			list, _ := x[key].([]any)
			for _, e := range list {
				visit(e)
			}
		}
		for _, e := range x {
			eachAlternative(e, visit)
		}
	}
}

// definitionOf returns the name of the definition that a schema refers to, or "".
func definitionOf(x object) string {
	ref, _ := x["$ref"].(string)
	return strings.TrimPrefix(ref, "#/$defs/")
}
