package ir

import (
	"maps"
	"slices"
)

// findRenamed finds definitions that a newer revision has under another name: one
// position refers to the old name in older revisions and to the new name in newer ones,
// and no revision has both. The Go name remains the old one.
func (m *merger) findRenamed() {
	for _, d := range m.documents[1:] {
		for _, older := range slices.Backward(m.documents[:d.bit]) {
			found := make(map[string][]string)
			for _, name := range slices.Sorted(maps.Keys(d.defs)) {
				if before := older.defs[name]; before != nil {
					renamedRefs(before, d.defs[name], found)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(found)) {
				if old := found[name]; len(old) == 1 && m.isRenamed(d, old[0], name) {
					m.rules.renamed[name] = old[0]
				}
			}
		}
	}
}

// isRenamed reports whether old and name can be the same definition.
func (m *merger) isRenamed(d *document, old, name string) bool {
	if m.rules.renamed[name] != "" || m.rules.renamed[old] != "" || m.rules.decidesName(old) || m.rules.decidesName(name) {
		return false
	}
	for _, other := range m.documents {
		has, had := other.defs[name] != nil, other.defs[old] != nil
		if has && had || has && other.bit < d.bit || had && other.bit > d.bit {
			return false
		}
	}
	return is[*objectNode](d.defs[name])
}

// renamedRefs collects the references that are different in two schemas of one position:
// the old names for each new name.
func renamedRefs(a, b node, found map[string][]string) {
	switch a := a.(type) {
	case *refNode:
		if b, ok := b.(*refNode); ok && a.def != b.def && !slices.Contains(found[b.def], a.def) {
			found[b.def] = append(found[b.def], a.def)
		}
	case *arrayNode:
		if b, ok := b.(*arrayNode); ok {
			renamedRefs(a.elem, b.elem, found)
		}
	case *mapNode:
		if b, ok := b.(*mapNode); ok {
			renamedRefs(a.elem, b.elem, found)
		}
	case *objectNode:
		b, ok := b.(*objectNode)
		if !ok {
			return
		}
		for _, mem := range a.members {
			if other := b.member(mem.name); other != nil {
				renamedRefs(mem.node, other.node, found)
			}
		}
		if a.params != nil && b.params != nil {
			renamedRefs(a.params.node, b.params.node, found)
		}
	}
}
