package typedclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/atombender/go-jsonschema/pkg/schemas"
)

// maxMerges limits the schemas that are merged in one schema, because their number can grow
// exponentially.
const maxMerges = 1000

// flat returns the schema without allOf, by merging the parts. If they cannot be merged, allOf
// remains. A reference that has other keywords, too, is also a part.
func (s *toolSchema) flat(t *schemas.Type) *schemas.Type {
	if flat := s.flattened[t]; flat != nil {
		return flat
	}
	s.flattened[t] = t // for a schema that contains itself
	parts := t.AllOf
	merged := *t
	if t.Ref != "" && (len(t.AllOf) > 0 || len(t.Properties) > 0) {
		parts = append([]*schemas.Type{{Ref: t.Ref}}, parts...)
		merged.Ref = ""
	}
	if len(parts) == 0 {
		return t
	}
	merged.AllOf, merged.Definitions = nil, nil
	for _, part := range parts {
		s.merges++
		if part = s.target(part); part == nil || s.merges > maxMerges || !merge(&merged, part) {
			return t
		}
	}
	s.flattened[t] = &merged
	return &merged
}

// target returns the schema that a part stands for, or nil if it has a reference that cannot be
// resolved.
func (s *toolSchema) target(t *schemas.Type) *schemas.Type {
	for range maxDepth {
		if t == nil {
			return nil
		}
		if t = s.flat(t); t.Ref == "" {
			return t
		}
		t, _ = s.resolve(t.Ref)
	}
	return nil
}

// merge adds the keywords of a schema to another one, which then accepts what both accept. It
// reports false if there is no such schema, or if it is not a simple one.
func merge(to, t *schemas.Type) bool {
	if t.Ref != "" || t.AllOf != nil || hasUnion(t) && hasUnion(to) {
		return false
	}
	if hasUnion(t) {
		to.AnyOf, to.OneOf = t.AnyOf, t.OneOf
	}
	if to.Description == "" {
		to.Description = t.Description
	}
	if to.Not == nil {
		to.Not = t.Not
	}
	if to.PatternProperties == nil {
		to.PatternProperties = t.PatternProperties
	}
	to.Required = slices.Concat(to.Required, t.Required)
	if len(t.Properties) > 0 {
		to.Properties = maps.Clone(to.Properties)
		if to.Properties == nil {
			to.Properties = map[string]*schemas.Type{}
		}
		for name, property := range t.Properties {
			to.Properties[name] = both(to.Properties[name], property)
		}
	}
	to.Items = both(to.Items, t.Items)
	if !isFalse(to.AdditionalProperties) {
		to.AdditionalProperties = both(to.AdditionalProperties, t.AdditionalProperties)
	}
	return mergeTypes(to, t) && mergeValues(to, t)
}

// both returns a schema that accepts what two schemas accept. nil accepts everything.
func both(a, b *schemas.Type) *schemas.Type {
	switch {
	case b == nil || a == b:
		return a
	case a == nil || isFalse(b) || reflect.DeepEqual(a, b):
		return b
	}
	return &schemas.Type{AllOf: []*schemas.Type{a, b}}
}

// mergeTypes reports false if the schemas have no common type.
func mergeTypes(to, t *schemas.Type) bool {
	if len(to.Type) == 0 || len(t.Type) == 0 {
		to.Type = slices.Concat(to.Type, t.Type)
		return true
	}
	var common schemas.TypeList
	for _, name := range []string{"null", "boolean", "integer", "number", "string", "array", "object"} {
		a, b := slices.Contains(to.Type, name), slices.Contains(t.Type, name)
		if name == "integer" && a != b { // a number may be an integer
			a, b = a || slices.Contains(to.Type, "number"), b || slices.Contains(t.Type, "number")
		}
		if a && b {
			common = append(common, name)
		}
	}
	to.Type = common
	return len(common) > 0
}

// mergeValues reports false if the schemas have no common value.
func mergeValues(to, t *schemas.Type) bool {
	a, b := valuesOf(to), valuesOf(t)
	if b == nil {
		return true
	}
	common := b
	if a != nil {
		common = slices.DeleteFunc(slices.Clone(a), func(v any) bool {
			return !slices.ContainsFunc(b, func(w any) bool { return reflect.DeepEqual(v, w) })
		})
	}
	to.Const, to.Enum = nil, common
	return len(common) > 0
}

// valuesOf returns the only values that a schema accepts, or nil if it does not list them.
func valuesOf(t *schemas.Type) []any {
	if t.Const != nil {
		return []any{t.Const}
	}
	return t.Enum
}

// choice returns the type of a union, if its alternatives have a common Go type: all are values, all
// have the same simple type, or only one differs from null.
func (s *toolSchema) choice(t *schemas.Type, name, pointer string, depth int) *goType {
	keyword, parts := "anyOf", t.AnyOf
	if len(parts) == 0 {
		keyword, parts = "oneOf", t.OneOf
	}
	pointer += "/" + keyword
	if len(t.AnyOf) > 0 && len(t.OneOf) > 0 {
		return s.raw(pointer, "two unions have no Go type")
	}
	at, withNull := -1, false
	var rest []*schemas.Type
	for i, part := range parts {
		if part != nil && slices.Equal(part.Type, schemas.TypeList{"null"}) {
			withNull = true
			continue
		}
		at, rest = i, append(rest, part)
	}
	var made *goType
	if len(rest) == 1 && (len(t.Type) == 0 || len(withoutNull(rest[0].Type)) > 0) {
		made = s.typeOf(rest[0], name, fmt.Sprintf("%s/%d", pointer, at), depth+1)
	} else if made = s.common(t, rest, name, pointer, depth); made == nil {
		return s.raw(pointer, "a union has no Go type")
	}
	if withNull {
		made = nullable(made)
	}
	return made
}

// common returns the type of a schema with several alternatives, or nil.
func (s *toolSchema) common(t *schemas.Type, parts []*schemas.Type, name, pointer string, depth int) *goType {
	var values []any
	types, open, null := slices.Clone(withoutNull(t.Type)), false, len(withoutNull(t.Type)) < len(t.Type)
	for _, part := range parts {
		if part = s.target(part); part == nil || hasUnion(part) || len(part.AllOf) > 0 {
			return nil
		}
		list := valuesOf(part)
		for _, v := range list {
			if _, text := v.(string); text && len(part.Type) == 0 {
				types = append(types, "string")
			}
		}
		values, open = append(values, list...), open || list == nil
		types = append(types, withoutNull(part.Type)...)
		null = null || len(part.Type) > len(withoutNull(part.Type))
		if len(part.Type) == 0 && list == nil && len(t.Type) == 0 {
			return nil
		}
	}
	slices.Sort(types)
	types = slices.Compact(types)
	if slices.Equal(types, []string{"integer", "number"}) {
		types = types[1:]
	}
	if len(types) != 1 || !slices.Contains([]string{"string", "boolean", "integer", "number"}, types[0]) {
		return nil
	}
	simple := &schemas.Type{Type: types, Description: t.Description}
	if !open {
		simple.Enum = values
	}
	s.defs[simple] = s.defs[t]
	made := s.ofType(simple, types, name, pointer, depth)
	if null {
		made = nullable(made)
	}
	return made
}

// lacksFields reports whether the alternatives of an object have members that are not among its
// properties.
func lacksFields(t *schemas.Type) bool {
	for _, part := range slices.Concat(t.AnyOf, t.OneOf) {
		if part == nil {
			continue
		}
		if part.Ref != "" || len(part.AllOf) > 0 || hasUnion(part) {
			return true
		}
		for name := range part.Properties {
			if t.Properties[name] == nil {
				return true
			}
		}
	}
	return false
}

// reduced returns the keywords of a schema that decide its Go type. The others may have forms that
// the parser does not support.
func reduced(text json.RawMessage) (json.RawMessage, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(reducedSchema(value))
}

func reducedSchema(value any) any {
	from, ok := value.(map[string]any)
	if !ok {
		return value
	}
	to := map[string]any{}
	for _, keyword := range []string{"$ref", "type", "enum", "const", "required", "description"} {
		if v, ok := from[keyword]; ok {
			to[keyword] = v
		}
	}
	for _, keyword := range []string{"properties", "patternProperties", "$defs", "definitions"} {
		if parts, ok := from[keyword].(map[string]any); ok {
			members := map[string]any{}
			for name, part := range parts {
				members[name] = reducedSchema(part)
			}
			to[keyword] = members
		}
	}
	for _, keyword := range []string{"items", "additionalProperties", "not"} {
		switch part := from[keyword].(type) {
		case map[string]any, bool:
			to[keyword] = reducedSchema(part)
		}
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if parts, ok := from[keyword].([]any); ok {
			members := make([]any, len(parts))
			for i, part := range parts {
				members[i] = reducedSchema(part)
			}
			to[keyword] = members
		}
	}
	return to
}
