package ir

import (
	"maps"
	"slices"
	"strings"
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

// joinResults joins the result of a request with the general Result, which is its result in
// revisions that do not define one of its own. The older result keeps its Go type, so there is
// nothing to join if the oldest revision has the general one.
func (m *merger) joinResults() {
	own := make(map[string]string) // by request
	for _, d := range m.documents {
		general, ok := d.defs["Result"].(*objectNode)
		for _, def := range slices.Sorted(maps.Keys(d.defs)) {
			o, message := d.defs[def].(*objectNode)
			if !message || !o.message || !strings.HasSuffix(def, "Request") {
				continue
			}
			request := m.rules.currentName(def)
			names, _ := m.results(d, def)
			if len(names) != 1 {
				continue
			}
			if name := names[0]; d.defs[name] != nil && name != "Result" {
				own[request] = m.rules.currentName(name)
			} else if t := m.types[own[request]]; t != nil && ok {
				m.add(t, d.bit, inlineMeta(d, general))
				m.general[inRevision{request, d.bit}] = own[request]
				t.join("It has only the members of Result " + m.in(1<<d.bit) + ".")
			}
		}
	}
}

// inlineMeta returns an object whose "_meta" is no reference, so that it is not the metadata of
// results but the metadata of the type that the object is joined with.
func inlineMeta(d *document, o *objectNode) *objectNode {
	c := *o
	c.members = slices.Clone(o.members)
	for i, mem := range c.members {
		if r, ok := mem.node.(*refNode); ok && mem.name == "_meta" && is[*objectNode](d.defs[r.def]) {
			c.members[i].node = d.defs[r.def]
		}
	}
	return &c
}
