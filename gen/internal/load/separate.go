package load

import (
	"maps"
	"slices"
	"strings"
)

// A separator splits schemas into shapes, which the parser of schemas supports, and restrictions. A
// value is valid if its shape and its restriction allow it. Shapes have a keyword only if it
// applies to their type.
type separator struct {
	restrictions map[string]any // by JSON pointer
	defs         map[string]any // all definitions
	newer        bool           // the dialect is newer than draft 7
}

// separate returns a copy of a checked file with shapes only, and the restrictions. The pointers of
// the restrictions begin with /$defs.
func separate(tree any) (shapes any, restrictions map[string]any) {
	root := maps.Clone(tree.(map[string]any))
	keyword, defs := definitions(tree)
	s := &separator{make(map[string]any), defs, root["$schema"] == dialects[1]}
	copied := make(map[string]any)
	for _, name := range sorted(defs) {
		copied[name] = s.shape(child("/$defs", name), defs[name])
	}
	root[keyword] = copied
	return root, s.restrictions
}

// restrict adds keywords to the restriction at a pointer.
func (s *separator) restrict(at string, keywords map[string]any) {
	if len(keywords) == 0 {
		return
	}
	if have, ok := s.restrictions[at]; ok {
		keywords = map[string]any{"allOf": []any{have, keywords}}
	}
	s.restrictions[at] = keywords
}

// shape returns the shape of a schema, and adds its restrictions.
func (s *separator) shape(at string, v any) any {
	if v == false {
		s.restrict(at, map[string]any{"not": map[string]any{}})
	}
	all, ok := v.(map[string]any)
	if !ok {
		return map[string]any{}
	}
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(key string, _ any) bool { return isAnnotation(key) })
	switch {
	case all["$ref"] != nil && !s.newer:
		return only(all, "$ref") // draft 7 ignores the other keywords
	case all["$ref"] != nil:
		return s.split(at, all, "$ref")
	case all["allOf"] != nil:
		return s.shapeOfAll(at, all)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := all[key].([]any)
		if slices.ContainsFunc(list, isShaped) && !isShaped(without(all, "type", "anyOf", "oneOf")) {
			return s.shapeOfAny(at, key, all)
		}
	}
	for _, key := range []string{"const", "enum"} {
		if _, ok := all[key]; ok {
			if all["format"] != "byte" {
				delete(all, "format") // the codec does not check it
			}
			return s.split(at, all, key, "type")
		}
	}
	return s.shapeOfType(at, all)
}

// isShaped reports whether a schema states what values look like.
func isShaped(v any) bool {
	object, _ := v.(map[string]any)
	return slices.ContainsFunc([]string{"$ref", "type", "const", "enum", "allOf", "anyOf", "oneOf", "properties", "items"}, func(key string) bool {
		_, ok := object[key]
		return ok
	})
}

// split returns the schema with some keywords, and adds the others as a restriction.
func (s *separator) split(at string, all map[string]any, keys ...string) map[string]any {
	s.restrict(at, without(all, keys...))
	return only(all, keys...)
}

func only(all map[string]any, keys ...string) map[string]any {
	c := maps.Clone(all)
	maps.DeleteFunc(c, func(key string, _ any) bool { return !slices.Contains(keys, key) })
	return c
}

func without(all map[string]any, keys ...string) map[string]any {
	c := maps.Clone(all)
	maps.DeleteFunc(c, func(key string, _ any) bool { return slices.Contains(keys, key) })
	return c
}

// shapeOfAll returns the shape of an allOf. The other keywords of the schema are one more part.
func (s *separator) shapeOfAll(at string, all map[string]any) any {
	parts, _ := all["allOf"].([]any)
	parts = slices.Clone(parts)
	choices, others := only(all, "anyOf", "oneOf"), without(all, "allOf", "anyOf", "oneOf")
	if isShaped(others) {
		parts = append(parts, others)
	} else {
		maps.Copy(choices, others)
	}
	place := at
	if len(parts) == 1 {
		place = element(child(at, "allOf"), 0) // of the part that is the same schema
	}
	shapes, restricted := s.list(at, "allOf", parts, func(place, pointer string) bool {
		return len(parts) > 1 && !strings.HasPrefix(pointer, place+"/properties/")
	})
	if len(restricted) > 0 {
		choices["allOf"] = restricted
	}
	s.restrict(place, choices)
	return map[string]any{"allOf": shapes}
}

// shapeOfAny returns the shape of an anyOf or a oneOf.
func (s *separator) shapeOfAny(at, key string, all map[string]any) any {
	list, _ := all[key].([]any)
	shapes, restricted := s.list(at, "anyOf", list, func(string, string) bool { return true })
	others := without(all, key)
	if len(restricted) > 0 || key == "oneOf" && !AreDifferent(list, s.defs) {
		others[key] = list
	}
	s.restrict(at, others)
	return map[string]any{"anyOf": shapes}
}

// AreDifferent reports whether no value is valid in two of the schemas, because they have different
// constants or types, or require a member with different constants. Defs has the definitions that they
// may refer to; other references are not followed.
func AreDifferent(list []any, defs map[string]any) bool {
	list = slices.Clone(list)
	names := make(map[string]any)
	for i, v := range list {
		object, _ := v.(map[string]any)
		if ref, ok := object["$ref"].(string); ok {
			object, _ = defs[ref[strings.LastIndexByte(ref, '/')+1:]].(map[string]any)
			list[i] = object
		}
		props, _ := object["properties"].(map[string]any)
		maps.Copy(names, props)
	}
	return haveDifferent(list, "const") || haveDifferent(list, "type") ||
		slices.ContainsFunc(sorted(names), func(name string) bool {
			return haveDifferent(list, "properties", name, "const") && allRequire(list, name)
		})
}

// haveDifferent reports whether each schema has another value at a path. Numbers include integers.
func haveDifferent(list []any, path ...string) bool {
	seen := make(map[string]bool)
	for _, v := range list {
		value, ok := ValueAt(v, path)
		if _, several := value.([]any); !ok || several && path[0] == "type" {
			return false
		}
		text := string(format(value))
		if path[0] == "type" {
			text = strings.Replace(text, "integer", "number", 1)
		}
		seen[text] = true
	}
	return len(seen) == len(list)
}

// allRequire reports whether each schema is an object that requires a member.
func allRequire(list []any, name string) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		object, _ := v.(map[string]any)
		required, _ := object["required"].([]any)
		return object["type"] != "object" || !slices.Contains(required, any(name))
	})
}

// list returns the shapes of schemas. It also returns the schemas with restrictions at the pointers that
// moves reports. These restrictions are removed, because the schema that contains the list has them.
func (s *separator) list(at, key string, list []any, moves func(place, pointer string) bool) (shapes, restricted []any) {
	for i, v := range list {
		place := element(child(at, key), i)
		shapes = append(shapes, s.shape(place, v))
		before := len(s.restrictions)
		maps.DeleteFunc(s.restrictions, func(pointer string, _ any) bool {
			return strings.HasPrefix(pointer+"/", place+"/") && moves(place, pointer)
		})
		if len(s.restrictions) < before {
			restricted = append(restricted, v)
		}
	}
	return shapes, restricted
}

// shapeOfType returns the shape of a schema with a type, or of one that allows any JSON.
func (s *separator) shapeOfType(at string, all map[string]any) any {
	shape, rest := make(map[string]any), make(map[string]any)
	for _, key := range sorted(all) {
		k := keywords[key]
		switch {
		case key == "format" && all[key] != "byte":
			if hasType(all, stringType) {
				shape[key] = all[key]
			}
		case key != "type" && (k.restricts || k.types == nil || !hasType(all, k.types)):
			rest[key] = all[key]
		default:
			shape[key] = all[key]
		}
	}
	if isAnyName(rest["propertyNames"]) {
		delete(rest, "propertyNames")
	}
	s.members(at, shape, rest)
	if rest["prefixItems"] != nil && shape["items"] != nil {
		rest["items"] = shape["items"]
		delete(shape, "items")
	}
	if shape["items"] != nil {
		shape["items"] = s.shape(child(at, "items"), shape["items"])
	}
	s.restrict(at, rest)
	return shape
}

// members moves keywords about the members of an object from its shape to the rest: required members
// that are not declared, and a schema of other members.
func (s *separator) members(at string, shape, rest map[string]any) {
	properties, _ := shape["properties"].(map[string]any)
	required, _ := shape["required"].([]any)
	var declared, others []any
	for _, name := range required {
		if properties[name.(string)] != nil {
			declared = append(declared, name)
		} else {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		rest["required"] = others
		if shape["required"] = declared; len(declared) == 0 {
			delete(shape, "required")
		}
	}
	extra, typed := shape["additionalProperties"].(map[string]any)
	typed = typed && slices.ContainsFunc(sorted(extra), func(key string) bool { return !isAnnotation(key) })
	if closed := shape["additionalProperties"] == false; typed && len(properties) > 0 || (typed || closed) && rest["patternProperties"] != nil {
		names := make(map[string]any)
		for name := range properties {
			names[name] = true
		}
		rest["properties"], rest["additionalProperties"] = names, shape["additionalProperties"]
		delete(shape, "additionalProperties")
	}
	if len(properties) > 0 {
		shapes := make(map[string]any)
		for _, name := range sorted(properties) {
			shapes[name] = s.shape(child(child(at, "properties"), name), properties[name])
		}
		shape["properties"] = shapes
	}
	if v, ok := shape["additionalProperties"]; ok && v != false {
		shape["additionalProperties"] = s.shape(child(at, "additionalProperties"), v)
	}
}
