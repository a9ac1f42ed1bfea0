package extension

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpwright/mcp/gen/internal/load"
)

type object = map[string]any

// simplifier rewrites the schema of an extension in the keywords that the compiler supports.
// Libraries that print schemas from types write the same thing in several ways.
type simplifier struct {
	file string
	// local has all definitions by their new name, also definitions inside other definitions.
	local   object
	errs    []error
	notices []notice
	texts   map[string]string // descriptions, by place
}

// notice describes something that the compiler does not check.
type notice struct{ at, text string }

func (s *simplifier) notice(at, text string) {
	s.notices = append(s.notices, notice{at, text})
}

// remaining returns the notices about places that are in the definitions, and not in a repetition that
// became a reference.
func (s *simplifier) remaining(defs object) (list []string) {
	for _, n := range s.notices {
		if at(object{"$defs": defs}, strings.Split(strings.TrimPrefix(n.at, "#/"), "/")) != nil {
			list = append(list, n.at+": "+n.text)
		}
	}
	return list
}

// at returns the value at a path, or nil if there is none.
func at(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	switch x := v.(type) {
	case object:
		return at(x[unescape.Replace(path[0])], path[1:])
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(x) {
			return at(x[i], path[1:])
		}
	}
	return nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// annotations are keywords that restrict no value.
var annotations = []string{"$schema", "$id", "$anchor", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"}

// maxSafeInteger is the largest integer of JavaScript, which some libraries write as the bound
// of every integer.
const maxSafeInteger = "9007199254740991"

// schema rewrites one schema. at is its place.
func (s *simplifier) schema(at string, v any) any {
	x, ok := v.(object)
	if !ok {
		if v == true {
			return object{}
		}
		return v
	}
	if text, ok := x["description"].(string); ok {
		s.texts[at] = strings.Map(printable, text)
	}
	maps.DeleteFunc(x, func(key string, _ any) bool { return slices.Contains(annotations, key) || strings.HasPrefix(key, "x-") })
	s.definitions(at, x)
	tuple(x)
	s.optionalValues(at, x)
	s.children(at, x)
	s.members(at, x)
	flatten(x)
	for name, bound := range map[string]string{"minimum": "-" + maxSafeInteger, "maximum": maxSafeInteger} {
		if n, ok := x[name].(json.Number); ok && n.String() == bound {
			delete(x, name)
		}
	}
	if list, ok := x["oneOf"].([]any); ok && x["anyOf"] == nil && load.AreDifferent(list, nil) {
		delete(x, "oneOf")
		x["anyOf"] = list
	}
	if list, ok := x["anyOf"].([]any); ok {
		return s.union(at, x, list)
	}
	return x
}

// printable returns a character of a comment, or -1 if Go does not allow it.
func printable(r rune) rune {
	if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
		return -1
	}
	return r
}

// definitions moves the definitions inside a definition to the top of the file.
func (s *simplifier) definitions(at string, x object) {
	for _, key := range []string{"$defs", "definitions"} {
		defs, _ := x[key].(object)
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			s.add(at+"/"+key+"/"+escape.Replace(name), name, s.schema(at+"/"+key+"/"+name, defs[name]))
		}
		delete(x, key)
	}
}

// add adds a definition. Another definition with its name must have the same schema.
func (s *simplifier) add(at, name string, v any) {
	name = identifier(name)
	if have, ok := s.local[name]; ok && text(have) != text(v) {
		s.errs = append(s.errs, fmt.Errorf("%s%s: another definition has the name %q in Go, but not the same schema; rename one of them", s.file, at, name))
	}
	s.local[name] = v
}

// tuple rewrites an array with a schema for each of its first elements, as drafts before 2020-12 write it.
func tuple(x object) {
	first, ok := x["items"].([]any)
	if !ok {
		return
	}
	delete(x, "items")
	if len(first) > 0 {
		x["prefixItems"] = first
	}
	if others, ok := x["additionalItems"]; ok {
		delete(x, "additionalItems")
		x["items"] = others
	}
}

// flat are keywords that mean the same in a part of an allOf and outside of it.
var flat = []string{"type", "enum", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"}

// flatten moves the keywords of an allOf out of its parts. A part with a type stays, unless all parts move.
func flatten(x object) {
	list, _ := x["allOf"].([]any)
	moved, rest := without(x, "allOf"), []any(nil)
	all := move(moved, list, func(object) bool { return true })
	if len(all) > 0 {
		moved = without(x, "allOf")
		rest = move(moved, list, func(part object) bool { return part["type"] == nil && part["enum"] == nil })
	}
	if len(rest) == len(list) {
		return
	}
	clear(x)
	maps.Copy(x, moved)
	if len(rest) > 0 {
		x["allOf"] = rest
	}
}

// move adds the keywords of parts to a schema that has none of them, and returns the other parts.
func move(x object, parts []any, may func(part object) bool) (rest []any) {
	for _, v := range parts {
		part, ok := v.(object)
		for key := range part {
			ok = ok && slices.Contains(flat, key) && x[key] == nil
		}
		if ok && may(part) {
			maps.Copy(x, part)
		} else {
			rest = append(rest, v)
		}
	}
	return rest
}

// children rewrites the schemas in x.
func (s *simplifier) children(at string, x object) {
	for _, key := range []string{"items", "additionalProperties", "propertyNames"} {
		if v, ok := x[key]; ok {
			x[key] = s.schema(at+"/"+key, v)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := x[key].([]any)
		for i, v := range list {
			list[i] = s.schema(fmt.Sprintf("%s/%s/%d", at, key, i), v)
		}
	}
	props, _ := x["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		props[name] = s.schema(at+"/properties/"+escape.Replace(name), props[name])
	}
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// optionalValues removes the required members of a map whose values may be anything, too: libraries print
// such a map for values that may be undefined.
func (s *simplifier) optionalValues(at string, x object) {
	values, _ := x["additionalProperties"].(object)
	list, _ := values["anyOf"].([]any)
	if x["properties"] == nil && x["required"] != nil && len(list) == 2 && isAnything(list[1]) {
		s.notice(at, "the values may be undefined, so that no member is required")
		delete(x, "required")
	}
}

// members rewrites the keywords of an object.
func (s *simplifier) members(at string, x object) {
	props, _ := x["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if isNothing(props[name]) {
			s.notice(at, fmt.Sprintf("the schema forbids the member %q, and the codec keeps it in Extra", name))
			delete(props, name)
		}
	}
	if len(props) == 0 {
		delete(x, "properties")
	}
	if names, ok := x["propertyNames"].(object); ok && len(names) == 1 && names["type"] == "string" {
		delete(x, "propertyNames")
	}
	if extra, ok := x["additionalProperties"]; ok && (extra == false || isNothing(extra) || len(props) > 0 && isAnything(extra)) {
		delete(x, "additionalProperties")
	}
	if required, ok := x["required"].([]any); ok && len(required) == 0 {
		delete(x, "required")
	}
}

// isNothing reports whether a schema allows no value.
func isNothing(v any) bool {
	x, _ := v.(object)
	not, ok := x["not"].(object)
	return v == false || ok && len(x) == 1 && len(not) == 0
}

func isAnything(v any) bool {
	x, ok := v.(object)
	return ok && len(x) == 0
}

// union rewrites a union: of constants to an enum, of a type and null to the type or null, and of
// types to a list of types.
func (s *simplifier) union(at string, x object, list []any) any {
	list = slices.DeleteFunc(list, isNothing)
	if len(list) == 0 {
		return x
	}
	if len(list) == 2 && isAnything(list[1]) {
		s.notice(at, "a second alternative that allows anything is ignored")
		list = list[:1]
	}
	x["anyOf"] = list
	if len(x) > 1 {
		return x
	}
	var values, types []any
	var other object
	for _, v := range list {
		alternative, _ := v.(object)
		switch value, typ := alternative["const"], alternative["type"]; {
		case value != nil && len(alternative) <= 2:
			values = append(values, value)
		case isPlain(alternative):
			types = append(types, typ)
		case other == nil:
			other = alternative
		default:
			return x
		}
	}
	switch {
	case len(list) == 1:
		return list[0]
	case len(values) == len(list) && isText(values):
		return object{"type": "string", "enum": values}
	case len(types) == len(list):
		return object{"type": types}
	case len(types) == 1 && types[0] == "null" && isScalar(other["type"]) && other["enum"] == nil && other["const"] == nil:
		other["type"] = []any{other["type"], "null"}
		return other
	}
	return x
}

// isPlain reports whether a schema has only the type of a scalar or null.
func isPlain(x object) bool {
	return len(x) == 1 && (isScalar(x["type"]) || x["type"] == "null")
}

func isScalar(typ any) bool {
	return typ == "string" || typ == "integer" || typ == "number" || typ == "boolean"
}

func isText(values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return !ok })
}
