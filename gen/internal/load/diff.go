package load

import (
	"slices"
	"strings"
)

// Diff says what changed between two schema files, one line per finding:
// methods, then definitions that came or went, then each definition that
// changed with its members. No line means that only layout or prose differs.
func Diff(older, newer []byte) ([]string, error) {
	a, err := parse("older file", older)
	if err != nil {
		return nil, err
	}
	b, err := parse("newer file", newer)
	if err != nil {
		return nil, err
	}
	_, before := definitions(a)
	_, after := definitions(b)
	lines := cameAndWent("method", methods(before), methods(after))
	lines = append(lines, cameAndWent("definition", before, after)...)
	for _, name := range sorted(before) {
		if v, ok := after[name]; ok {
			lines = append(lines, diffDefinition(name, before[name], v)...)
		}
	}
	return lines, nil
}

// methods finds the definitions with a fixed member called method.
func methods(defs map[string]any) map[string]any {
	found := map[string]any{}
	for name := range defs {
		if method, ok := property(property(defs[name], "properties"), "method").(map[string]any); ok {
			if s, ok := method["const"].(string); ok {
				found[s] = true
			}
		}
	}
	return found
}

func property(v any, name string) any {
	object, _ := v.(map[string]any)
	return object[name]
}

func cameAndWent(what string, before, after map[string]any) []string {
	var lines []string
	for _, name := range missing(after, before) {
		lines = append(lines, "+ "+what+" "+name)
	}
	for _, name := range missing(before, after) {
		lines = append(lines, "- "+what+" "+name)
	}
	return lines
}

// missing lists the keys of a that b lacks.
func missing(a, b map[string]any) []string {
	return slices.DeleteFunc(sorted(a), func(name string) bool {
		_, ok := b[name]
		return ok
	})
}

// diffDefinition gives the one line of a definition that changed, or none.
func diffDefinition(name string, before, after any) []string {
	changes := diffSchema("", before, after)
	if len(changes) == 0 {
		return nil
	}
	// Additions first, then removals, then changes: "+" < "-" < "~".
	slices.SortStableFunc(changes, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	return []string{name + ": " + strings.Join(changes, ", ")}
}

// diffSchema compares two schemas as closely as their kind allows: objects
// member by member, unions and enums arm by arm, others as a whole. The prefix
// leads to the schema inside its definition, with a dot at its end.
func diffSchema(prefix string, before, after any) []string {
	if describe(before) == describe(after) {
		return nil
	}
	if property(before, "properties") != nil && property(after, "properties") != nil {
		return diffObject(prefix, before.(map[string]any), after.(map[string]any))
	}
	for _, key := range []string{"anyOf", "allOf", "enum"} {
		if changes := diffArms(prefix, key, before, after); changes != nil {
			return changes
		}
	}
	return []string{"~ " + subject(prefix) + describe(before) + " -> " + describe(after)}
}

// subject names what a change is about, nothing for a definition itself.
func subject(prefix string) string {
	if prefix == "" {
		return ""
	}
	return strings.TrimSuffix(prefix, ".") + " "
}

// diffObject compares two objects member by member.
func diffObject(prefix string, before, after map[string]any) []string {
	a, _ := before["properties"].(map[string]any)
	b, _ := after["properties"].(map[string]any)
	was, is := requiredNames(before), requiredNames(after)
	var changes []string
	for _, name := range missing(b, a) {
		changes = append(changes, "+ "+prefix+name+requiredMark(is[name], ""))
	}
	for _, name := range missing(a, b) {
		changes = append(changes, "- "+prefix+name)
	}
	for _, name := range sorted(a) {
		if _, ok := b[name]; !ok {
			continue
		}
		changes = append(changes, diffSchema(prefix+name+".", a[name], b[name])...)
		if was[name] != is[name] {
			changes = append(changes, "~ "+prefix+name+requiredMark(is[name], " optional"))
		}
	}
	if rest, now := describeBut("properties", before), describeBut("properties", after); rest != now {
		changes = append(changes, "~ "+subject(prefix)+rest+" -> "+now)
	}
	return changes
}

func requiredMark(required bool, otherwise string) string {
	if required {
		return " required"
	}
	return otherwise
}

// diffArms compares two schemas that differ only in what one keyword lists; nil
// if they differ in more, or in order only.
func diffArms(prefix, key string, before, after any) []string {
	was, is := arms(key, before), arms(key, after)
	if was == nil || is == nil || describeBut(key, before) != describeBut(key, after) {
		return nil
	}
	var changes []string
	for _, name := range missing(is, was) {
		changes = append(changes, "+ "+subject(prefix)+key+" "+name)
	}
	for _, name := range missing(was, is) {
		changes = append(changes, "- "+subject(prefix)+key+" "+name)
	}
	return changes
}

// arms holds the description of each thing that a keyword lists, nil if the
// schema has no such keyword.
func arms(key string, v any) map[string]any {
	list, ok := property(v, key).([]any)
	if !ok {
		return nil
	}
	found := map[string]any{}
	for _, arm := range list {
		found[describeKeyword(key, []any{arm})] = true
	}
	return found
}

// describeBut describes a schema without one of its keywords.
func describeBut(key string, v any) string {
	rest := map[string]any{}
	object, _ := v.(map[string]any)
	for k, v := range object {
		if k != key {
			rest[k] = v
		}
	}
	return describe(rest)
}
