package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// describe says what a schema accepts, on one line, such that two schemas
// read the same only if they are the same but for layout.
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

// describeType is the part of a description that hangs on the type.
func describeType(object map[string]any) string {
	_, isConst := object["const"]
	_, isEnum := object["enum"]
	names := joined(object["type"], "|", func(v any) string { return fmt.Sprint(v) })
	switch {
	case (isConst || isEnum) && names == "string":
		return "" // plain from the values
	case object["items"] != nil:
		return "[]" + parenthesised(describe(object["items"]))
	case object["properties"] != nil:
		return "object{" + describeMembers(object) + "}"
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
	if rest, ok := object["additionalProperties"]; ok {
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

// joined describes each element of an array, or a value that stands alone.
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

func parenthesised(s string) string {
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
