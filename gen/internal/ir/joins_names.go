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
	m.findRenamedTargets()
	m.findMessages()
	m.findRenamedErrors()
	for _, d := range m.documents[1:] {
		for _, older := range slices.Backward(m.documents[:d.bit]) {
			found := make(map[string][]string)
			for _, name := range slices.Sorted(maps.Keys(d.defs)) {
				if before := older.defs[name]; before != nil {
					renamedRefs(before, d.defs[name], found)
					renamedMembers(older, d, name, found)
				}
			}
			m.renamedShapes(older, d, found)
			for _, name := range slices.Sorted(maps.Keys(found)) {
				if old := found[name]; len(old) == 1 && m.isRenamed(d, old[0], name) {
					m.rules.renamed[name] = old[0]
				}
			}
		}
	}
}

// findMessages finds the type of each message, which its method identifies. A newer revision may define a message
// under another name, perhaps in addition to the older name, if the definitions of one revision are the same. It
// may also change the method of a definition.
func (m *merger) findMessages() {
	types := make(map[string]string)   // by method
	methods := make(map[string]string) // by type
	for _, d := range m.documents {
		defined := make(map[string][]string) // by method
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if o, ok := d.defs[name].(*objectNode); ok && o.message && m.rules.messageUnion(name) == nil && m.rules.framing(name) == nil {
				defined[wireName(o)] = append(defined[wireName(o)], name)
			}
		}
		for _, method := range slices.Sorted(maps.Keys(defined)) {
			for _, name := range defined[method] {
				own, old := m.rules.currentName(name), m.rules.currentName(types[method])
				if strings.HasSuffix(name, "Notification") != strings.HasSuffix(old, "Notification") {
					old = "" // one of them has a result
				}
				if was := methods[own]; was != "" && was != method {
					m.changeMethod(d, name, old, len(defined[method]) == 1, methods)
				} else if old != "" && old != own && !m.decided(old, name, d.bit) && m.isFree(d, old, name) {
					m.rules.renamed[name] = old
					m.renameResult(d, strings.TrimSuffix(old, "Request")+"Result", strings.TrimSuffix(name, "Request")+"Result")
				}
			}
		}
		for method, names := range defined {
			for _, name := range names {
				t := m.nameIn(d.bit, name)
				if methods[t] == "" {
					methods[t] = method
				}
				if types[method] == "" {
					types[method] = t
				}
			}
		}
	}
}

// isFree reports whether the definition old of a revision is missing, is another message, or is the same as the
// definition name.
func (m *merger) isFree(d *document, old, name string) bool {
	o, message := d.defs[old].(*objectNode)
	return d.defs[old] == nil || equalNodes(d.defs[old], d.defs[name]) ||
		message && o.message && wireName(o) != wireName(d.defs[name].(*objectNode))
}

// changeMethod sets the type of a definition whose method is different from the method in older revisions: the
// type old with the method, or a new type if there is none or the revision has several definitions with the method.
func (m *merger) changeMethod(d *document, name, old string, alone bool, methods map[string]string) {
	if old == "" || !alone {
		old = m.rules.currentName(name)
		for methods[old] != "" || m.since(old).bit <= d.bit && m.defined(old) {
			old = suffixed(old, d.defs[name])
		}
		m.rules.origins[old] = m.rules.currentName(name)
	}
	m.named[inRevision{name, d.bit}] = old
}

// renameResult is like findMessages for the result of a renamed request.
func (m *merger) renameResult(d *document, old, name string) {
	if d.defs[name] != nil && !m.decided(old, name, d.bit) && (d.defs[old] == nil || equalNodes(d.defs[old], d.defs[name])) {
		m.rules.renamed[name] = old
	}
}

// decided reports whether a rule or an older revision decides whether two names are the same
// definition.
func (m *merger) decided(old, name string, bit int) bool {
	if m.rules.renamed[name] != "" || m.rules.renamed[old] != "" || m.rules.decidesName(old) || m.rules.decidesName(name) {
		return true
	}
	return slices.ContainsFunc(m.documents[:bit], func(d *document) bool { return d.defs[name] != nil })
}

// renamedMembers collects the members of a union that have another name in a newer revision.
func renamedMembers(older, d *document, union string, found map[string][]string) {
	added := without(d.defs[union], older.defs[union])
	for _, old := range without(older.defs[union], d.defs[union]) {
		for _, name := range added {
			if isSameMember(older.defs[old], d.defs[name]) && !slices.Contains(found[name], old) {
				found[name] = append(found[name], old)
			}
		}
	}
}

// isSameMember reports whether a member of a union with another name has the same constants, and all
// members of the older one.
func isSameMember(a, b node) bool {
	x, ok := a.(*objectNode)
	y, both := b.(*objectNode)
	if !ok || !both {
		return false
	}
	constants := 0
	for _, m := range x.members {
		if other := y.member(m.name); other == nil || !equalNodes(m.node, other.node) {
			return false
		}
		if is[*constNode](m.node) {
			constants++
		}
	}
	return constants > 0
}

// without returns the references of the union a that the union b does not have.
func without(a, b node) (names []string) {
	x, ok := a.(*unionNode)
	y, both := b.(*unionNode)
	if !ok || !both {
		return nil
	}
	for _, n := range x.alternatives {
		if r, ok := n.(*refNode); ok && !slices.ContainsFunc(y.alternatives, func(other node) bool { return equalNodes(r, other) }) {
			names = append(names, r.def)
		}
	}
	return names
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
	return kindName(d.defs[name]) == kindName(m.since(old).defs[old]) && (is[*objectNode](d.defs[name]) || is[*enumNode](d.defs[name]) || is[*unionNode](d.defs[name]))
}

// renamedShapes collects new definitions with the schema of a single definition that the newer revision does
// not have.
func (m *merger) renamedShapes(older, d *document, found map[string][]string) {
	pairs := make(map[string][]string) // the new names, by the old name
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		for _, old := range slices.Sorted(maps.Keys(older.defs)) {
			if found[name] == nil && m.since(name) == d && d.defs[old] == nil && hasSameShape(older.defs[old], d.defs[name]) {
				pairs[old] = append(pairs[old], name)
			}
		}
	}
	for old, names := range pairs {
		if len(names) == 1 {
			found[names[0]] = append(found[names[0]], old)
		}
	}
}

// hasSameShape reports whether two definitions are the same, and are not so simple that this is a coincidence.
func hasSameShape(a, b node) bool {
	switch a := a.(type) {
	case *objectNode:
		return len(a.members) > 1 && !a.message && equalNodes(a, b)
	case *enumNode, *unionNode:
		return equalNodes(a, b)
	}
	return false
}

// findRenamedTargets finds new definitions of which an older definition is another name now.
func (m *merger) findRenamedTargets() {
	for _, d := range m.documents {
		for _, old := range slices.Sorted(maps.Keys(d.defs)) {
			name := m.target(d.bit, old)
			if name != old && m.since(old) != d && !is[*refNode](m.since(old).defs[old]) && !m.decided(old, name, d.bit) {
				m.rules.renamed[name] = old
			}
		}
	}
}

// findRenamedErrors is like findMessages for errors with one code.
func (m *merger) findRenamedErrors() {
	names := make(map[int]string) // by code
	for _, d := range m.documents {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			code, _ := errorOf(d.defs[name])
			old := names[code]
			switch {
			case code == 0 || m.rules.framing(name) != nil:
			case old == "":
				names[code] = name
			case old != name && !m.decided(old, name, d.bit) && (d.defs[old] == nil || equalNodes(d.defs[old], d.defs[name])):
				m.rules.renamed[name] = old
			}
		}
	}
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

// findResults finds requests with another result than in older revisions. A new definition of a result is a
// new name of the older one. If it is the general Result or the result of another request, the older result has
// the members of this result.
func (m *merger) findResults() {
	own := make(map[string]string) // by request
	for _, d := range m.documents {
		added := make(map[string]string)
		for _, def := range slices.Sorted(maps.Keys(d.defs)) {
			o, message := d.defs[def].(*objectNode)
			if !message || !o.message || !strings.HasSuffix(def, "Request") {
				continue
			}
			names, rounds := m.results(d, def)
			if len(names) != 1 {
				continue
			}
			request, name := m.nameIn(d.bit, def), names[0]
			was := own[request]
			if d.defs[name] == nil {
				name = "Result"
			}
			general, ok := d.defs[m.target(d.bit, name)].(*objectNode)
			switch {
			case was == "" && name != "Result" && d.defs[name] != nil:
				added[request] = name
			case was == "" || m.nameIn(d.bit, name) == was || m.renameResultTo(d, was, name) || m.moveResult(d, def, was, name):
			case ok && !(rounds && name != "Result") && m.defined(was) && is[*objectNode](m.since(was).defs[was]):
				m.late = append(m.late, func() {
					m.add(m.types[was], d.bit, inlineMeta(d, general))
					m.note(was, generalJoin, name, m.in(1<<d.bit))
				})
				m.general[inRevision{request, d.bit}] = was
				m.displace(d, was, was)
			}
		}
		for request, name := range added {
			own[request] = m.nameIn(d.bit, name)
		}
	}
}

// renameResultTo makes a new definition of a revision another name of the result was, and reports whether it
// did. The definition with the older name is another type.
func (m *merger) renameResultTo(d *document, was, name string) bool {
	if m.since(name) != d || !is[*objectNode](d.defs[name]) || !m.defined(was) || !is[*objectNode](m.since(was).defs[was]) || m.decided(was, name, d.bit) {
		return false
	}
	if own := d.defs[was]; own != nil && !equalNodes(own, d.defs[name]) {
		m.displace(d, was, was)
	}
	m.rules.renamed[name] = was
	return true
}

// moveResult gives the result of a request the type was, if the request has the method of another request in a
// revision, whose result has this type. It reports whether it did.
func (m *merger) moveResult(d *document, def, was, name string) bool {
	if m.named[inRevision{def, d.bit}] == "" || name == "Result" || !is[*objectNode](d.defs[name]) {
		return false
	}
	for other := range d.defs {
		if isMessage(d.defs[other]) && other != def {
			if names, _ := m.results(d, other); slices.Contains(names, name) {
				return false // its type cannot have two names
			}
		}
	}
	for other := range d.defs {
		if m.nameIn(d.bit, other) == was {
			m.displace(d, other, was)
		}
	}
	m.named[inRevision{name, d.bit}] = was
	return true
}

// displace gives a definition of a revision, if there is one, another type than the type with the given name.
func (m *merger) displace(d *document, def, name string) {
	if x := (inRevision{def, d.bit}); d.defs[def] != nil && m.named[x] == "" {
		m.named[x] = suffixed(name, d.defs[def])
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
