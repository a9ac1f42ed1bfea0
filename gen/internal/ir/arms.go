package ir

import (
	"maps"
	"slices"
)

func (m *merger) settleUnion(t *thing) {
	u := new(Union)
	arms := m.arms(t, map[*thing]bool{})
	for _, arm := range arms {
		if arm.t.kind != structThing && arm.t.kind != unknownThing {
			m.issues.add(t.at, "the union's member %q is no object", arm.t.name)
		}
		u.Members = append(u.Members, &Member{Type: arm.t.typ, In: m.open(arm.in, t.in())})
	}
	t.typ.Shape = u
	for i, o := range t.occs[1:] {
		if before := t.occs[i]; before.bit == o.bit && !m.alike(t, before, o) {
			m.issues.add(o.node.pos(), "the union %q has other members here than at %s; write a Raw rule", t.name, before.node.pos())
		}
	}
}

// alike tells whether two occurrences of a union have the same members.
func (m *merger) alike(t *thing, a, b occ) bool {
	set := func(o occ) map[*thing]bool {
		in := make(map[*thing]bool)
		for _, x := range m.members(t, o, map[*thing]bool{t: true}) {
			in[x] = true
		}
		return in
	}
	return maps.Equal(set(a), set(b))
}

// arm is a member of a union in the making.
type arm struct {
	t  *thing
	in Window
}

// arms lists the members of a union over all revisions, the members of unions
// inside it included, in the order of the newest revision.
func (m *merger) arms(t *thing, seen map[*thing]bool) []arm {
	if seen[t] {
		m.issues.add(t.at, "the union contains itself")
		return nil
	}
	seen[t] = true
	defer delete(seen, t)
	var list []arm
	put := func(x *thing, in Window) {
		for i := range list {
			if list[i].t == x {
				list[i].in |= in
				return
			}
		}
		list = append(list, arm{x, in})
	}
	for _, o := range slices.Backward(t.occs) {
		for _, x := range m.members(t, o, seen) {
			put(x, 1<<o.bit)
		}
	}
	return list
}

// members lists the members in one occurrence of a union.
func (m *merger) members(t *thing, o occ, seen map[*thing]bool) []*thing {
	var list []*thing
	for _, n := range m.armNodes(t, o) {
		r, ok := n.(*refNode)
		if !ok {
			m.issues.add(n.pos(), "a union's member that is no named object has no Go form")
			continue
		}
		x := m.ref(r, o.bit)
		if x == nil {
			continue
		}
		if m.kindOf(x) != unionThing {
			list = append(list, x)
			continue
		}
		for _, inner := range m.arms(x, seen) {
			if inner.in.Has(o.bit) {
				list = append(list, inner.t)
			}
		}
	}
	return list
}

// armNodes lists the references in one occurrence of a union. An object from
// before it was a union is the one member that has all its members.
func (m *merger) armNodes(t *thing, o occ) []node {
	switch n := o.node.(type) {
	case *unionNode:
		return n.arms
	case *refNode:
		return []node{n}
	case *objectNode:
		return m.foldInto(t, o.bit, n)
	}
	m.issues.add(o.node.pos(), "%q is a union, in which this has no place", t.name)
	return nil
}

// foldInto finds the members of the union t that an object of before was, and
// records the object as an occurrence of theirs.
func (m *merger) foldInto(t *thing, bit int, obj *objectNode) []node {
	var fits []*thing
	for _, o := range t.occs {
		u, ok := o.node.(*unionNode)
		if !ok {
			continue
		}
		for _, n := range u.arms {
			if r, ok := n.(*refNode); ok {
				if x := m.ref(r, o.bit); x != nil && !slices.Contains(fits, x) && covers(x, obj) {
					fits = append(fits, x)
				}
			}
		}
	}
	if len(fits) != 1 {
		m.issues.add(obj.pos(), "%q became a union later and %d of its members could be this object; name one with a Widen rule", t.name, len(fits))
		return nil
	}
	m.add(fits[0], bit, obj)
	nodes := []node{&refNode{obj.at, fits[0].name}}
	for i := range m.rules.Widen {
		if w := &m.rules.Widen[i]; w.In == m.drafts[bit].name && w.Like == t.name {
			nodes = append(nodes, &refNode{obj.at, w.Definition})
		}
	}
	return nodes
}

// covers tells whether x has every member of obj.
func covers(x *thing, obj *objectNode) bool {
	have := x.members()
	for _, mem := range obj.members {
		if !slices.Contains(have, mem.name) {
			return false
		}
	}
	return true
}
