package mcp

import "slices"

// candidatesFor lists the types that an object's discriminator stands for. It
// is known unless it is a text that stands for none; an empty one that could be
// left out is a mistake, not something new.
func candidatesFor(structs []shape, v map[string]any) (list []shape, known bool) {
	name := discriminator(structs)
	if name == "" {
		return structs, true
	}
	value, there := v[name]
	text, isText := value.(string)
	for _, s := range structs {
		member, _ := s.member(name)
		if slices.Contains(member.values(), any(text)) || !there && !s.required(name) {
			list = append(list, s)
		}
	}
	optional := slices.ContainsFunc(structs, func(s shape) bool { return !s.required(name) })
	return list, list != nil || !isText || optional && text == ""
}

// discriminator finds the member whose fixed values tell the types apart.
func discriminator(structs []shape) string {
	for _, name := range []string{"type", "method", "mode"} {
		fixed := func(s shape) bool {
			member, ok := s.member(name)
			return ok && member.values() != nil
		}
		if len(structs) > 0 && !slices.ContainsFunc(structs, func(s shape) bool { return !fixed(s) }) {
			return name
		}
	}
	return ""
}

// A tell is a member that tells types with the same discriminator apart.
type tell struct {
	path        []string
	definitions []string
}

// tells lists them in the order in which they are looked for.
var tells = []tell{
	{[]string{"oneOf"}, []string{"TitledSingleSelectEnumSchema"}},
	{[]string{"enumNames"}, []string{"LegacyTitledEnumSchema", "EnumSchema"}},
	{[]string{"items", "enum"}, []string{"UntitledMultiSelectEnumSchema"}},
	{[]string{"enum"}, []string{"UntitledSingleSelectEnumSchema", "EnumSchema"}},
	{[]string{"text"}, []string{"TextResourceContents"}},
	{[]string{"blob"}, []string{"BlobResourceContents"}},
	{[]string{"model"}, []string{"CreateMessageResult"}},
	{[]string{"roots"}, []string{"ListRootsResult"}},
	{[]string{"action"}, []string{"ElicitResult"}},
}

func choose(candidates []shape, v map[string]any) (shape, bool) {
	for _, t := range tells {
		for _, s := range candidates {
			if has(v, t.path...) && slices.Contains(t.definitions, s.name) {
				return s, true
			}
		}
	}
	for _, s := range candidates {
		if !slices.ContainsFunc(tells, func(t tell) bool { return slices.Contains(t.definitions, s.name) }) {
			return s, true
		}
	}
	return shape{}, false
}

// has reports whether there is a member at the end of a path.
func has(v map[string]any, path ...string) bool {
	parent, _ := field(v, path[:len(path)-1]...).(map[string]any)
	_, ok := parent[path[len(path)-1]]
	return ok
}

// unionOf lists the types that the decoder tells apart at a place, nil where
// there is one only.
func unionOf(s shape) []shape {
	if s.name == "EnumSchema" || s.name == "ClientNotification" { // a struct in some revisions, a union in Go
		if s.arms() == nil {
			return []shape{s}
		}
	}
	return s.arms()
}
