package load

import (
	"maps"
	"slices"
)

// holding says what the value of a keyword is made of. It keeps keywords and
// member names apart: below "properties" a key called "description" or "enum"
// is a member of the protocol, in a schema it is a keyword.
type holding int

const (
	plain   holding = iota // plain data, never looked into
	schema                 // one schema
	list                   // an array of schemas
	mapping                // an object whose keys are names and whose values are schemas
)

// walk calls visit for the schema v and for every schema inside it, outer ones
// first, keys in order. What has not the shape its keyword asks for is not
// entered; visit sees and reports it in the enclosing schema.
func walk(at string, v any, visit func(at string, v any)) {
	visit(at, v)
	object, _ := v.(map[string]any)
	for _, key := range sorted(object) {
		below(child(at, key), keywordAt(at, key).holds, object[key], func(at string, v any) {
			walk(at, v, visit)
		})
	}
}

// below calls visit for each schema that a keyword's value holds.
func below(at string, holds holding, v any, visit func(at string, v any)) {
	switch holds {
	case schema:
		visit(at, v)
	case list:
		array, _ := v.([]any)
		for i, v := range array {
			visit(element(at, i), v)
		}
	case mapping:
		object, _ := v.(map[string]any)
		for _, name := range sorted(object) {
			visit(child(at, name), object[name])
		}
	}
}

// sorted is the order in which maps are read everywhere in this package.
func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
