package mcp

import (
	"encoding/json"
	"maps"
	"slices"
)

// Documents are built from the schema: the least that is valid, everything that
// can be said, and in between each thing said alone.

// deepest is how many levels of objects are varied; below them a document has
// the least or everything.
const deepest = 3

// least returns the smallest valid document.
func (s shape) least() any {
	switch values, arms := s.values(), s.arms(); {
	case values != nil:
		return values[0]
	case arms != nil:
		return arms[0].least()
	case s.types() == nil:
		return nil
	}
	switch s.types()[0] {
	case "object":
		out := map[string]any{}
		for _, name := range s.members() {
			if member, _ := s.member(name); s.required(name) {
				out[name] = member.least()
			}
		}
		return out
	case "array":
		return []any{}
	}
	return s.scalars()[0]
}

// most returns a document that says everything, down to depth levels.
func (s shape) most(depth int) any {
	switch values, arms := s.values(), s.arms(); {
	case depth < 0:
		return s.least()
	case values != nil:
		return values[len(values)-1]
	case arms != nil:
		return arms[0].most(depth)
	case s.types() == nil:
		return wildcards()[len(wildcards())-1]
	}
	switch s.types()[0] {
	case "object":
		out := map[string]any{}
		for _, name := range s.members() {
			member, _ := s.member(name)
			out[name] = member.most(depth - 1)
		}
		if s.isMap() {
			out["x-more"] = s.other().most(depth - 1)
		}
		return out
	case "array":
		return []any{s.items().most(depth - 1)}
	}
	scalars := s.scalars()
	return scalars[len(scalars)-1]
}

// documents returns valid documents of a shape, varied down to depth levels.
func (s shape) documents(depth int) []any {
	if values := s.values(); values != nil {
		return values
	}
	if arms := s.arms(); arms != nil {
		var list []any
		for _, arm := range arms {
			list = append(list, arm.documents(depth)...)
		}
		return list
	}
	if depth < 0 {
		return []any{s.least()}
	}
	if s.types() == nil {
		return wildcards()
	}
	var list []any
	for _, kind := range s.types() {
		switch kind {
		case "object":
			list = append(list, s.objects(depth)...)
		case "array":
			list = append(list, s.arrays(depth)...)
		}
	}
	return append(list, s.scalars()...)
}

// objects says each thing alone beside the least.
func (s shape) objects(depth int) []any {
	list := []any{s.least(), s.most(depth + 2)}
	if !s.isMessage() { // whose unknown members belong to the framing
		stranger := s.least().(map[string]any)
		for name := range strangers {
			stranger[name] = s.stranger(name)
		}
		list = append(list, stranger)
	}
	for _, name := range s.members() {
		member, _ := s.member(name)
		for _, v := range member.documents(depth - 1) {
			with := s.least().(map[string]any)
			with[name] = v
			list = append(list, with)
		}
	}
	if s.isOpenMeta() {
		for _, v := range append(s.undeclared(serverInfo).documents(depth-1), "none") {
			list = append(list, map[string]any{serverInfo: v})
		}
	}
	if s.isMap() && s.other().raw["properties"] == nil {
		for _, v := range s.other().documents(depth - 1) {
			with := s.least().(map[string]any)
			with["x"] = v
			list = append(list, with)
		}
	}
	return list
}

// strangers are members that no schema names.
var strangers = map[string]any{
	"":         nil,
	"x-é😀":     json.Number("1.50"),
	"Name":     "",
	"name\x00": false,
	"a/b~c\"":  []any{},
}

func (s shape) stranger(name string) any {
	if other := s.other(); other.raw != nil {
		return other.least()
	}
	return strangers[name]
}

// arrays have no, one, several and as many elements as are allowed.
func (s shape) arrays(depth int) []any {
	items := s.items()
	list := []any{[]any{}}
	for _, v := range items.documents(depth - 1) {
		list = append(list, []any{v})
	}
	several := slices.Repeat([]any{items.least()}, 3)
	list = append(list, append(several, items.most(depth)))
	if n, ok := s.bound("maxItems"); ok {
		count, _ := n.Int64()
		list = append(list, slices.Repeat([]any{items.least()}, int(count)))
	}
	return list
}

// everything lists the values of all consts and enums of a file, in order.
func (f *schemaFile) everything() []string {
	found := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, ok := v["const"].(string); ok {
				found[text] = true
			}
			if list, ok := v["enum"].([]any); ok {
				for _, x := range list {
					found[x.(string)] = true
				}
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(f.root[f.defs])
	return slices.Sorted(maps.Keys(found))
}
