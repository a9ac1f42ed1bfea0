package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Diff returns the differences between two schema files, one per line: first methods,
// then added and removed definitions, then changed definitions with their members. It
// returns no lines if only the layout or the descriptions differ.
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
	lines := addedAndRemoved("method", methods(before), methods(after))
	lines = append(lines, addedAndRemoved("definition", before, after)...)
	for _, name := range sorted(before) {
		if v, ok := after[name]; ok {
			lines = append(lines, diffDefinition(name, before[name], v)...)
		}
	}
	return lines, nil
}

// methods returns the names of the methods in definitions with a constant member
// "method".
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

func addedAndRemoved(what string, before, after map[string]any) []string {
	var lines []string
	for _, name := range missing(after, before) {
		lines = append(lines, "+ "+what+" "+name)
	}
	for _, name := range missing(before, after) {
		lines = append(lines, "- "+what+" "+name)
	}
	return lines
}

// missing returns the keys of a that b does not have.
func missing(a, b map[string]any) []string {
	return slices.DeleteFunc(sorted(a), func(name string) bool {
		_, ok := b[name]
		return ok
	})
}

// diffDefinition returns one line if a definition has changed, or none.
func diffDefinition(name string, before, after any) []string {
	changes := diffSchema("", before, after)
	if len(changes) == 0 {
		return nil
	}
	// Additions first, then removals, then changes: "+" < "-" < "~".
	slices.SortStableFunc(changes, func(a, b string) int { return strings.Compare(a[:1], b[:1]) })
	return []string{name + ": " + strings.Join(changes, ", ")}
}

// diffSchema compares two schemas in as much detail as their kind allows: objects by
// member, unions and enums by alternative, others as a whole. The prefix is the path
// of the schema in its definition, with a final dot.
func diffSchema(prefix string, before, after any) []string {
	if describe(before) == describe(after) {
		return nil
	}
	if property(before, "properties") != nil && property(after, "properties") != nil {
		return diffObject(prefix, before.(map[string]any), after.(map[string]any))
	}
	for _, key := range []string{"anyOf", "allOf", "enum"} {
		if changes := diffAlternatives(prefix, key, before, after); changes != nil {
			return changes
		}
	}
	return []string{"~ " + subject(prefix) + describe(before) + " -> " + describe(after)}
}

// subject returns what a change is about, or "" for a definition as a whole.
func subject(prefix string) string {
	if prefix == "" {
		return ""
	}
	return strings.TrimSuffix(prefix, ".") + " "
}

// diffObject compares two objects by member.
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

// diffAlternatives compares two schemas that differ only in the list of one keyword.
// It returns nil if they differ in other keywords, or only in the order.
func diffAlternatives(prefix, key string, before, after any) []string {
	was, is := alternatives(key, before), alternatives(key, after)
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

// alternatives returns a description of each element in the list of a keyword, or nil
// if the schema does not have the keyword.
func alternatives(key string, v any) map[string]any {
	list, ok := property(v, key).([]any)
	if !ok {
		return nil
	}
	found := map[string]any{}
	for _, alternative := range list {
		found[describeKeyword(key, []any{alternative})] = true
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

// describe returns a description of a schema on one line. Two schemas have the same
// description only if they are equal apart from layout.
func describe(v any) string {
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		return "any"
	}
	parts := []string{}
	for _, key := range []string{"$ref", "const", "enum", "anyOf", "allOf"} {
		if v, ok := object[key]; ok {
			parts = append(parts, describeKeyword(key, v))
		}
	}
	if base := describeType(object); base != "" {
		parts = append(parts, base)
	}
	return strings.Join(parts, ", ") + describeBounds(object)
}

func describeKeyword(key string, v any) string {
	switch key {
	case "$ref":
		return refName(v)
	case "const":
		return "const " + compact(v)
	case "enum":
		return joined(v, " | ", compact)
	case "anyOf":
		return joined(v, " | ", describe)
	}
	return joined(v, " & ", describe)
}

// describeType describes the part of a schema that depends on its type.
func describeType(object map[string]any) string {
	_, isConst := object["const"]
	_, isEnum := object["enum"]
	names := joined(object["type"], "|", func(v any) string { return fmt.Sprint(v) })
	switch {
	case (isConst || isEnum) && names == "string":
		return "" // the values imply it
	case object["items"] != nil:
		return "[]" + parenthesized(describe(object["items"]))
	case object["properties"] != nil:
		return "object{" + describeMembers(object) + "}"
	case object["additionalProperties"] == false:
		return names + " without other members"
	case object["additionalProperties"] != nil:
		return "map[" + describe(object["additionalProperties"]) + "]"
	}
	return names
}

func describeMembers(object map[string]any) string {
	properties, _ := object["properties"].(map[string]any)
	required := requiredNames(object)
	members := []string{}
	for _, name := range sorted(properties) {
		mark := "?"
		if required[name] {
			mark = ""
		}
		members = append(members, name+mark+": "+describe(properties[name]))
	}
	if rest, ok := object["additionalProperties"]; ok && rest == false {
		members = append(members, "no other members")
	} else if ok {
		members = append(members, "*: "+describe(rest))
	}
	return strings.Join(members, "; ")
}

func describeBounds(object map[string]any) string {
	bounds := []string{}
	for _, key := range []string{"format", "minimum", "maximum", "maxItems"} {
		if v, ok := object[key]; ok {
			bounds = append(bounds, fmt.Sprint(key, " ", v))
		}
	}
	if len(bounds) == 0 {
		return ""
	}
	return "(" + strings.Join(bounds, ", ") + ")"
}

func requiredNames(object map[string]any) map[string]bool {
	names := map[string]bool{}
	array, _ := object["required"].([]any)
	for _, v := range array {
		if name, ok := v.(string); ok {
			names[name] = true
		}
	}
	return names
}

// joined describes each element of an array, or a single value.
func joined(v any, sep string, describe func(any) string) string {
	array, ok := v.([]any)
	if !ok && v != nil {
		array = []any{v}
	}
	parts := make([]string, len(array))
	for i, v := range array {
		parts[i] = describe(v)
	}
	return strings.Join(parts, sep)
}

func parenthesized(s string) string {
	if strings.Contains(s, " ") && !strings.HasSuffix(s, "}") {
		return "(" + s + ")"
	}
	return s
}

func refName(v any) string {
	ref, _ := v.(string)
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

func compact(v any) string {
	var b bytes.Buffer
	if json.Compact(&b, format(v)) != nil {
		return "?"
	}
	return b.String()
}
