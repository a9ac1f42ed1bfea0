package ir

import (
	"math"
	"slices"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// expr merges the nodes of one position in all revisions into one type. Inline objects
// become occurrences of the type that is named after the position.
func (m *merger) expr(position string, occs []occurrence) Expr {
	if r := m.rules.raw(position); r != nil {
		return m.rawExpr(position, occs)
	}
	if o := m.rules.ordered(position); o != nil {
		if !m.all(occs, is[*mapNode]) {
			return m.conflict(position, occs, "an Ordered rule requires a map")
		}
		return Ordered{Elem: m.join(position, elements(occs)), Name: o.Name}
	}
	return m.join(position, occs)
}

// join is like expr, without the rules for the position as a whole.
func (m *merger) join(position string, occs []occurrence) Expr {
	occs = m.follow(occs)
	for _, o := range occs {
		m.refuseFramed(o.bit, o.node)
	}
	if s, ok := m.joinAny(position, occs); ok {
		return s
	}
	switch {
	case m.any(occs, is[*anyNode]):
		return m.rawExpr(position, occs)
	case slices.ContainsFunc(occs, func(o occurrence) bool { return m.isUnion(o.bit, o.node) }):
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
	return m.conflict(position, occs, "write a Raw rule, or a Renamed rule if a definition was renamed")
}

// rawExpr returns the type of undecoded JSON. It must be an object in revisions that
// require one.
func (m *merger) rawExpr(position string, occs []occurrence) Expr {
	limited := 0
	for _, o := range occs {
		if m.isRestricted(o, occs[0]) {
			limited++
		}
	}
	if limited > 0 && limited < len(occs) {
		return m.conflict(position, occs, "undecoded JSON can be any value or an object, and nothing else")
	}
	occs = m.resolved(occs)
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

// isRestricted reports whether the schema of undecoded JSON allows neither any value nor any object. A document of a
// user, such as the schema of a tool, may have declared members, which the codec does not check.
func (m *merger) isRestricted(o, oldest occurrence) bool {
	if r, ok := o.node.(*refNode); ok {
		if kind, fixed := m.rules.builtin(r.def); fixed {
			return kind != Raw && kind != Object
		}
	}
	x, declares := m.resolved([]occurrence{o})[0].node.(*objectNode)
	document, _ := m.resolved([]occurrence{oldest})[0].node.(*objectNode)
	return isRestricted(m.resolved([]occurrence{o})[0].node) || declares && document == nil && len(x.members) > 0
}

// follow replaces references to definitions without a Go type of their own by the
// definition: maps, lists and schemas that allow anything.
func (m *merger) follow(occs []occurrence) []occurrence {
	list := slices.Clone(occs)
	for i, o := range list {
		r, ok := o.node.(*refNode)
		if !ok {
			continue
		}
		switch n := m.documents[o.bit].defs[r.def].(type) {
		case *mapNode, *anyNode, *arrayNode:
			if _, fixed := m.rules.builtin(r.def); !fixed && !m.isRaw(o.bit, r.def) {
				list[i].node = n
			}
		}
	}
	return list
}

// resolved replaces references by the definitions that they refer to.
func (m *merger) resolved(occs []occurrence) []occurrence {
	list := slices.Clone(occs)
	for i, o := range list {
		for range 32 {
			r, ok := list[i].node.(*refNode)
			if !ok {
				break
			}
			if next := m.documents[o.bit].defs[r.def]; next != nil {
				list[i].node = next
			}
		}
	}
	return list
}

// elements returns the nodes of the elements of lists or maps.
func elements(occs []occurrence) []occurrence {
	var list []occurrence
	for _, o := range occs {
		switch n := o.node.(type) {
		case *arrayNode:
			list = append(list, occurrence{o.bit, n.elem})
		case *mapNode:
			list = append(list, occurrence{o.bit, n.elem})
		}
	}
	return list
}

// element merges the elements of the lists or maps of a position.
func (m *merger) element(position string, occs []occurrence) Expr {
	list := elements(occs)
	if m.any(list, nullable) {
		return m.conflict(position, list, "an element that may be null has no Go type; write a Raw rule")
	}
	elem := m.join(position, list)
	if l, ok := elem.(List); ok && l.Max != 0 {
		return m.conflict(position, list, "an element that is a bounded list has no Go type; write a Raw rule")
	}
	return elem
}

func (m *merger) listExpr(position string, occs []occurrence) Expr {
	l := List{Elem: m.element(position, occs)}
	var all Window
	for _, o := range occs {
		all |= 1 << o.bit
		if max := o.node.(*arrayNode).max; max != 0 {
			if l.Max != 0 && l.Max != max {
				return m.conflict(position, occs, "the revisions have different bounds for the array")
			}
			l.Max = max
			l.MaxIn |= 1 << o.bit
		}
	}
	l.MaxIn = m.openEnded(l.MaxIn, all)
	return l
}

// mapExpr returns a map of one type, or an object with any members.
func (m *merger) mapExpr(position string, occs []occurrence) Expr {
	elem := m.element(position, occs)
	if s, ok := elem.(Scalar); ok && s.Kind == Raw {
		return Scalar{Kind: Object}
	}
	return Map{Elem: elem}
}

func (m *merger) scalarExpr(position string, occs []occurrence) Expr {
	first := occs[0].node.(*scalarNode)
	var s Scalar
	var bounded, free Window
	for _, o := range occs {
		n := o.node.(*scalarNode)
		if !slices.Equal(n.kinds, first.kinds) || (n.format == "byte") != (first.format == "byte") {
			return m.conflict(position, occs, "write a Raw rule")
		}
		if n.min == nil && n.max == nil {
			free |= 1 << o.bit
			continue
		}
		if bounded != 0 && !(same(n.min, s.Min) && same(n.max, s.Max)) {
			return m.conflict(position, occs, "the revisions have different bounds for the number")
		}
		s.Min, s.Max = n.min, n.max
		bounded |= 1 << o.bit
	}
	switch {
	case bounded&free != 0:
		return m.conflict(position, occs, "one revision has the number with and without bounds")
	case bounded != 0 && free != 0:
		s.Bounds = m.openEnded(bounded, bounded|free)
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
		return m.conflict(position, occs, "several kinds of value have no common Go type; write a Raw rule")
	}
	return s
}

// whole reports whether a bound is an integer or nil.
func whole(bound *float64) bool { return bound == nil || *bound == math.Trunc(*bound) }

func same(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// namedExpr merges references, inline objects and inline enums of a position. The name
// of the type is the name in a reference, or the name from a rule, or the position.
func (m *merger) namedExpr(position string, occs []occurrence) Expr {
	var target *mergedType
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
			return m.conflict(position, occs, "write a Renamed rule if a definition was renamed")
		}
		target = x
	}
	if target == nil {
		target = m.inline(position, occs)
	}
	kind, builtin := m.rules.builtin(target.name)
	for _, o := range occs {
		switch n := o.node.(type) {
		case *objectNode, *enumNode:
			if builtin && !m.fitsKind(o, kind) {
				return m.conflict(position, occs, "the type of a Types rule has no members")
			}
			m.add(target, o.bit, n)
		case *mapNode:
			if !isOpenMap(n) || is[*objectNode](m.documents[o.bit].defs[target.name]) {
				return m.conflict(position, occs, "a map is another type than an object with members")
			}
			m.add(target, o.bit, &objectNode{at: at(m.documents[o.bit].name + "#" + target.name)})
		}
	}
	if builtin {
		return Scalar{Kind: kind}
	}
	if a, ok := target.typ.Shape.(*Alias); ok && m.kindOf(target) == aliasKind {
		return a.Of
	}
	return Named{target.typ}
}

// inline returns the type of an inline schema that no revision names.
func (m *merger) inline(position string, occs []occurrence) *mergedType {
	name, given := m.rules.shapeName(position)
	if !given {
		name = m.defaultName(position)
	}
	if !given && m.defined(name) {
		m.nameRule(m.problems.add(occs[0].node.pos(), "the inline type at %q would have the name %q of a definition; write a Names rule for %q", position, name, position), position, name)
	}
	x := m.typeFor(name, occs[0].node.pos())
	if x.position == "" {
		x.position = position
	}
	if !given && x.position != position {
		m.nameRule(m.problems.add(occs[0].node.pos(), "the inline type at %q would have the name %q, like the one at %q; write a Names rule", position, name, x.position), position, name)
	}
	return x
}

// nameRule adds the choice of a name for an inline type.
func (m *merger) nameRule(r *refusal.Refusal, position, name string) {
	free := freeName("", name, func(name string) bool {
		return m.types[name] != nil || m.defined(name) || slices.Contains(m.typeNames(), name)
	})
	r.Choose("The Go type has the name "+free+".", Name{At: position, Go: free})
}

// defaultName returns the name of an inline type without a name in any revision. The element of a
// definition has a suffix.
func (m *merger) defaultName(position string) string {
	if m.types[position] != nil {
		return goName(position) + "Item"
	}
	return goName(position)
}

// defined reports whether any revision has a definition with the given name.
func (m *merger) defined(name string) bool {
	return slices.ContainsFunc(m.documents, func(d *document) bool { return d.defs[name] != nil })
}

// unionExpr merges unions with the earlier form of the same position. In addition to
// its members, a union may have one list (for one value or many), or the scalar types
// of the fields of a form.
func (m *merger) unionExpr(position string, occs []occurrence) Expr {
	var singles, plain, elem []occurrence
	for _, o := range occs {
		u, ok := o.node.(*unionNode)
		if !ok {
			switch n := o.node.(type) {
			case *scalarNode:
				plain = append(plain, occurrence{o.bit, n})
			case *arrayNode:
				return m.conflict(position, occs, "write a Raw rule")
			default:
				singles = append(singles, o)
			}
			continue
		}
		one := &unionNode{at: u.at}
		for _, alternative := range u.alternatives {
			switch a := alternative.(type) {
			case *arrayNode:
				if a.max != 0 {
					return m.conflict(position, occs, "a union of one value and a bounded list has no Go type; write a Raw rule")
				}
				elem = append(elem, occurrence{o.bit, a.elem})
			case *scalarNode:
				plain = append(plain, occurrence{o.bit, a})
			default:
				one.alternatives = append(one.alternatives, alternative)
			}
		}
		switch {
		case len(one.alternatives) == 1 && m.isUnion(o.bit, one.alternatives[0]):
			singles = append(singles, occurrence{o.bit, one.alternatives[0]})
		case len(one.alternatives) > 0:
			singles = append(singles, occurrence{o.bit, one})
		}
	}
	unsupported := !m.all(plain, primitive) || !m.all(elem, isText) || len(singles) > 0
	all, one, many := window(occs), window(slices.Concat(singles, plain)), window(elem)
	switch {
	case len(plain) > 0 && unsupported, len(singles)+len(elem) == 0, one&many != many:
		return m.conflict(position, occs, "several kinds of value have no common Go type; write a Raw rule")
	case len(plain) > 0:
		return Scalar{Kind: Primitive, Lists: m.openEnded(many, all), Fractions: m.any(plain, fractional)}
	case many == 0:
		return Named{m.union(position, singles).typ}
	}
	return OneOrMany{Elem: Named{m.union(position, slices.Concat(singles, elem)).typ}, Many: m.openEnded(many, all)}
}

// union returns the union type of a position and adds the members of the inline unions
// of the position.
func (m *merger) union(position string, occs []occurrence) *mergedType {
	var target *mergedType
	for _, o := range occs {
		r, ok := o.node.(*refNode)
		if !ok || !m.isUnion(o.bit, r) {
			continue
		}
		if x := m.ref(r, o.bit); target != nil && x != target {
			m.conflict(position, occs, "write a Renamed rule if a definition was renamed")
		} else {
			target = x
		}
	}
	if target == nil {
		name, ok := m.rules.shapeName(position)
		if !ok && m.documents[len(m.documents)-1].name <= m.rules.OrderFrom && m.rules.own == nil {
			m.nameRule(m.problems.add(occs[0].node.pos(), "the union at %q has no name in any revision; write a Names rule", position), position, m.defaultName(position))
		}
		if !ok {
			name = m.defaultName(position)
		}
		target = m.typeFor(name, occs[0].node.pos())
	}
	for _, o := range occs {
		if r, ok := o.node.(*refNode); ok && m.ref(r, o.bit) == target {
			continue
		}
		m.add(target, o.bit, o.node)
	}
	return target
}

// fitsKind reports whether the type of a Types rule has exactly the values of a node. Any JSON also is the type of
// a definition with integers, but without other numbers and null, because the schemas describe any JSON so.
func (m *merger) fitsKind(o occurrence, kind Kind) bool {
	all := m.accepts(o.bit, o.node, nil)
	switch kind {
	case ID, Token:
		return slices.Equal(all, []string{"integer", "string"})
	case Object:
		return slices.Equal(all, []string{"object"})
	}
	return isAnyJSON(all) || slices.Equal(all, []string{"array", "boolean", "integer", "object", "string"})
}

// anyJSON lists the JSON types.
var anyJSON = []string{"array", "boolean", "null", "number", "object", "string"}

func isAnyJSON(types []string) bool {
	return !slices.ContainsFunc(anyJSON, func(x string) bool { return !slices.Contains(types, x) })
}

// accepts returns the JSON types of which a node accepts every value, sorted. It does not look into the definitions
// in within, which contain the node.
func (m *merger) accepts(bit int, n node, within []string) (types []string) {
	switch n := n.(type) {
	case *anyNode:
		return anyJSON
	case *scalarNode:
		if n.min == nil && n.max == nil && n.format != "byte" {
			return n.kinds
		}
	case *objectNode:
		if len(n.members) == 0 && !n.closed {
			return []string{"object"}
		}
	case *mapNode:
		if isAnyJSON(m.accepts(bit, n.elem, within)) {
			return []string{"object"}
		}
	case *arrayNode:
		if n.max == 0 && isAnyJSON(m.accepts(bit, n.elem, within)) {
			return []string{"array"}
		}
	case *unionNode:
		for _, alternative := range n.alternatives {
			types = append(types, m.accepts(bit, alternative, within)...)
		}
		slices.Sort(types)
		return slices.Compact(types)
	case *refNode:
		switch kind, builtin := m.rules.builtin(n.def); {
		case builtin && kind == Raw:
			return anyJSON // if its own node fits
		case builtin && kind == Object:
			return []string{"object"}
		case !slices.Contains(within, n.def):
			return m.accepts(bit, m.documents[bit].defs[n.def], append(within, n.def))
		}
	}
	return nil
}
