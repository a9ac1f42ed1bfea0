package ir

import (
	"math"
	"slices"
)

// expr joins what one position holds in each revision into one type. Inline
// objects become occurrences of the type that the position names.
func (m *merger) expr(position string, occs []occ) Expr {
	if r := m.rules.raw(position); r != nil {
		return m.rawExpr(occs)
	}
	if o := m.rules.ordered(position); o != nil {
		if !m.all(occs, is[*mapNode]) {
			return m.clash(position, occs, "an Ordered rule is for maps")
		}
		return Ordered{Elem: m.join(position, elements(occs)), Name: o.Name}
	}
	return m.join(position, occs)
}

// join is expr without the rules that speak of the position as a whole.
func (m *merger) join(position string, occs []occ) Expr {
	occs = m.follow(occs)
	switch {
	case m.any(occs, is[*anyNode]):
		return m.rawExpr(occs)
	case m.any(occs, m.isUnion):
		return m.unionExpr(position, occs)
	case m.all(occs, is[*arrayNode]):
		return m.listExpr(position, occs)
	case m.all(occs, is[*scalarNode]):
		return m.scalarExpr(position, occs)
	case m.all(occs, is[*mapNode]):
		return m.mapExpr(position, occs)
	case m.all(occs, func(n node) bool { return isObject(n) || is[*refNode](n) }),
		m.all(occs, func(n node) bool { return is[*enumNode](n) || is[*refNode](n) }):
		return m.namedExpr(position, occs)
	}
	return m.clash(position, occs, "write a Raw rule, or a Same rule if a definition was renamed")
}

// rawExpr is JSON that is kept as it is: an object wherever a revision says so.
func (m *merger) rawExpr(occs []occ) Expr {
	if m.all(occs, isObject) {
		return Scalar{Kind: RawObject}
	}
	s := Scalar{Kind: Raw}
	for _, o := range occs {
		if isObject(o.node) {
			s.Objects |= 1 << o.bit
		}
	}
	return s
}

// follow replaces references to definitions that are plain shapes, not types
// of their own, by those shapes: maps, scalars and anything.
func (m *merger) follow(occs []occ) []occ {
	list := slices.Clone(occs)
	for i, o := range list {
		r, ok := o.node.(*refNode)
		if !ok {
			continue
		}
		switch n := m.drafts[o.bit].defs[r.def].(type) {
		case *mapNode, *anyNode, *arrayNode:
			if _, fixed := m.rules.builtin(r.def); !fixed {
				list[i].node = n
			}
		}
	}
	return list
}

func (m *merger) all(occs []occ, is func(node) bool) bool {
	return !slices.ContainsFunc(occs, func(o occ) bool { return !is(o.node) })
}

func (m *merger) any(occs []occ, is func(node) bool) bool {
	return slices.ContainsFunc(occs, func(o occ) bool { return is(o.node) })
}

// is tells whether a node is of one kind.
func is[N node](n node) bool { _, ok := n.(N); return ok }

// nullable tells whether a plain value may be null.
func nullable(n node) bool {
	s, ok := n.(*scalarNode)
	return ok && slices.Contains(s.kinds, "null")
}

func isObject(n node) bool { return is[*objectNode](n) || is[*mapNode](n) }

// isUnion tells whether a node is a union or refers to one.
func (m *merger) isUnion(n node) bool {
	switch n := n.(type) {
	case *unionNode:
		return true
	case *refNode:
		t := m.things[m.rules.sameAs(n.def)]
		return t != nil && m.kindOf(t) == unionThing
	}
	return false
}

// elements are what the arrays or maps of a position hold.
func elements(occs []occ) []occ {
	var list []occ
	for _, o := range occs {
		switch n := o.node.(type) {
		case *arrayNode:
			list = append(list, occ{o.bit, n.elem})
		case *mapNode:
			list = append(list, occ{o.bit, n.elem})
		}
	}
	return list
}

// element joins what the arrays or maps of a position hold.
func (m *merger) element(position string, occs []occ) Expr {
	list := elements(occs)
	if m.any(list, nullable) {
		return m.clash(position, list, "an element that may be null has no Go form; write a Raw rule")
	}
	elem := m.join(position, list)
	if l, ok := elem.(List); ok && l.Max != 0 {
		return m.clash(position, list, "an element that is a bounded list has no Go form; write a Raw rule")
	}
	return elem
}

func (m *merger) listExpr(position string, occs []occ) Expr {
	l := List{Elem: m.element(position, occs)}
	var all Window
	for _, o := range occs {
		all |= 1 << o.bit
		if max := o.node.(*arrayNode).max; max != 0 {
			if l.Max != 0 && l.Max != max {
				return m.clash(position, occs, "the revisions bound the array differently")
			}
			l.Max = max
			l.MaxIn |= 1 << o.bit
		}
	}
	l.MaxIn = m.open(l.MaxIn, all)
	return l
}

// mapExpr is a map of one type, or an open object.
func (m *merger) mapExpr(position string, occs []occ) Expr {
	elem := m.element(position, occs)
	if s, ok := elem.(Scalar); ok && s.Kind == Raw {
		return Scalar{Kind: Object}
	}
	return Map{Elem: elem}
}

func (m *merger) scalarExpr(position string, occs []occ) Expr {
	first := occs[0].node.(*scalarNode)
	var s Scalar
	var bounded, free Window
	for _, o := range occs {
		n := o.node.(*scalarNode)
		if !slices.Equal(n.kinds, first.kinds) || (n.format == "byte") != (first.format == "byte") {
			return m.clash(position, occs, "write a Raw rule")
		}
		if n.min == nil && n.max == nil {
			free |= 1 << o.bit
			continue
		}
		if bounded != 0 && !(same(n.min, s.Min) && same(n.max, s.Max)) {
			return m.clash(position, occs, "the revisions bound the number differently")
		}
		s.Min, s.Max = n.min, n.max
		bounded |= 1 << o.bit
	}
	switch {
	case bounded&free != 0:
		return m.clash(position, occs, "one revision bounds the number here and not there")
	case bounded != 0 && free != 0:
		s.Bounds = m.open(bounded, bounded|free)
	}
	kinds := slices.DeleteFunc(slices.Clone(first.kinds), func(k string) bool { return k == "null" })
	switch {
	case slices.Equal(kinds, []string{"string"}):
		if s.Kind = String; first.format == "byte" {
			s.Kind = Bytes
		}
	case slices.Equal(kinds, []string{"integer"}) && whole(s.Min) && whole(s.Max):
		s.Kind = Int
	case slices.Equal(kinds, []string{"number"}):
		s.Kind = Float
	case slices.Equal(kinds, []string{"boolean"}):
		s.Kind = Bool
	case m.all(occs, primitive):
		s.Kind, s.Fractions = Primitive, m.any(occs, fractional)
	default:
		return m.clash(position, occs, "several kinds of value have no Go form here; write a Raw rule")
	}
	return s
}

// primitive tells whether a value may be of each of the plain kinds, and of no
// other.
func primitive(n node) bool {
	s, ok := n.(*scalarNode)
	numeric := func(k string) bool { return k == "integer" || k == "number" }
	return ok && s.min == nil && s.max == nil && slices.ContainsFunc(s.kinds, numeric) &&
		slices.Equal(slices.DeleteFunc(slices.Clone(s.kinds), numeric), []string{"boolean", "string"})
}

// fractional tells whether a plain value may be any number.
func fractional(n node) bool {
	s, ok := n.(*scalarNode)
	return ok && slices.Contains(s.kinds, "number")
}

// isText tells whether a value is a string, and nothing else.
func isText(n node) bool {
	s, ok := n.(*scalarNode)
	return ok && slices.Equal(s.kinds, []string{"string"})
}

// whole tells whether a bound, if there is one, is an integer.
func whole(bound *float64) bool { return bound == nil || *bound == math.Trunc(*bound) }

func same(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// namedExpr joins references, inline objects and inline enums at a position:
// the reference of any revision names them all, else a rule does, else the
// position.
func (m *merger) namedExpr(position string, occs []occ) Expr {
	var target *thing
	for _, o := range occs {
		r, ok := o.node.(*refNode)
		if !ok {
			continue
		}
		x := m.ref(r, o.bit)
		if x == nil {
			return Scalar{Kind: Raw}
		}
		if target != nil && target != x {
			return m.clash(position, occs, "write a Same rule if a definition was renamed")
		}
		target = x
	}
	if target == nil {
		target = m.inline(position, occs)
	}
	for _, o := range occs {
		switch n := o.node.(type) {
		case *objectNode, *enumNode:
			m.add(target, o.bit, n)
		case *mapNode:
			m.add(target, o.bit, &objectNode{at: at(m.drafts[o.bit].name + "#" + target.name)})
		}
	}
	if kind, ok := m.rules.builtin(target.name); ok {
		return Scalar{Kind: kind}
	}
	if a, ok := target.typ.Shape.(*Alias); ok && m.kindOf(target) == aliasThing {
		return a.Of
	}
	return Named{target.typ}
}

// inline finds or makes the type of an inline shape that no revision names.
func (m *merger) inline(position string, occs []occ) *thing {
	name, given := m.rules.shapeName(position)
	if !given {
		name = exported(position)
	}
	if !given && m.defined(name) {
		m.issues.add(occs[0].node.pos(), "the inline shape at %q wants the name %q, which a definition has; write a Names rule for %q", position, name, position)
	}
	x := m.thing(name, occs[0].node.pos())
	if x.position == "" {
		x.position = position
	}
	if !given && x.position != position {
		m.issues.add(occs[0].node.pos(), "the inline shape at %q wants the name %q, which %q has; write a Names rule", position, name, x.position)
	}
	return x
}

// defined tells whether a definition of some revision has the name.
func (m *merger) defined(name string) bool {
	return slices.ContainsFunc(m.drafts, func(d *draft) bool { return d.defs[name] != nil })
}

// unionExpr joins unions, and what was there before there was one. Beside its
// members a union may have one array arm (one value or many), or be the few
// plain kinds of value that a form is filled in with.
func (m *merger) unionExpr(position string, occs []occ) Expr {
	var singles, plain, elem []occ
	for _, o := range occs {
		u, ok := o.node.(*unionNode)
		if !ok {
			switch n := o.node.(type) {
			case *scalarNode:
				plain = append(plain, occ{o.bit, n})
			case *arrayNode:
				return m.clash(position, occs, "write a Raw rule")
			default:
				singles = append(singles, o)
			}
			continue
		}
		one := &unionNode{at: u.at}
		for _, arm := range u.arms {
			switch a := arm.(type) {
			case *arrayNode:
				if a.max != 0 {
					return m.clash(position, occs, "one value or a bounded list of them has no Go form; write a Raw rule")
				}
				elem = append(elem, occ{o.bit, a.elem})
			case *scalarNode:
				plain = append(plain, occ{o.bit, a})
			default:
				one.arms = append(one.arms, arm)
			}
		}
		switch {
		case len(one.arms) == 1 && m.isUnion(one.arms[0]):
			singles = append(singles, occ{o.bit, one.arms[0]})
		case len(one.arms) > 0:
			singles = append(singles, occ{o.bit, one})
		}
	}
	formless := !m.all(plain, primitive) || !m.all(elem, isText) || len(singles) > 0
	all, one, many := window(occs), window(slices.Concat(singles, plain)), window(elem)
	switch {
	case len(plain) > 0 && formless, len(singles)+len(elem) == 0, one&many != many:
		return m.clash(position, occs, "several kinds of value have no Go form here; write a Raw rule")
	case len(plain) > 0:
		return Scalar{Kind: Primitive, Lists: m.open(many, all), Fractions: m.any(plain, fractional)}
	case many == 0:
		return Named{m.union(position, singles).typ}
	}
	return OneOrMany{Elem: Named{m.union(position, slices.Concat(singles, elem)).typ}, Many: m.open(many, all)}
}

// union finds the union type of a position and gives it the members that the
// position's own, inline unions list.
func (m *merger) union(position string, occs []occ) *thing {
	var target *thing
	for _, o := range occs {
		r, ok := o.node.(*refNode)
		if !ok || !m.isUnion(r) {
			continue
		}
		if x := m.ref(r, o.bit); target != nil && x != target {
			m.clash(position, occs, "write a Same rule if a definition was renamed")
		} else {
			target = x
		}
	}
	if target == nil {
		name, ok := m.rules.shapeName(position)
		if !ok {
			m.issues.add(occs[0].node.pos(), "the union at %q has no name in any revision; write a Names rule", position)
			name = exported(position)
		}
		target = m.thing(name, occs[0].node.pos())
	}
	for _, o := range occs {
		if r, ok := o.node.(*refNode); ok && m.ref(r, o.bit) == target {
			continue
		}
		m.add(target, o.bit, o.node)
	}
	return target
}
