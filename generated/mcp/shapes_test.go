package mcp

import (
	"slices"
	"strconv"
)

// shapesOf finds the shape of every place of a valid document, by its pointer.
func (s shape) shapesOf(doc any) map[string]shape {
	found := map[string]shape{}
	s.findShapes(doc, "", found)
	return found
}

func (s shape) findShapes(v any, at string, found map[string]shape) {
	s = s.armFor(v)
	found[at] = s
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			member, known := s.member(name)
			if !known {
				member = s.other()
			}
			member.findShapes(x, pointer(at, name), found)
		}
	case []any:
		for i, x := range v {
			s.items().findShapes(x, pointer(at, strconv.Itoa(i)), found)
		}
	}
}

// armFor finds the type that a valid value has in the place of a union; s where
// it is none.
func (s shape) armFor(v any) shape {
	arms := unionOf(s)
	if arms == nil {
		return s
	}
	object, ok := v.(map[string]any)
	if !ok {
		if i := slices.IndexFunc(arms, func(arm shape) bool { return arm.is("array") }); i >= 0 {
			return arms[i]
		}
		return s
	}
	structs := structsOf(arms)
	candidates, _ := candidatesFor(structs, object)
	if len(candidates) == 1 {
		return candidates[0]
	}
	arm, _ := choose(candidates, object)
	return arm
}

// structsOf leaves the arms that are objects with members.
func structsOf(arms []shape) []shape {
	return slices.DeleteFunc(slices.Clone(arms), func(arm shape) bool { return arm.raw["properties"] == nil })
}
