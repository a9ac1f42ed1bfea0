package ir

import (
	"fmt"
	"slices"
	"strings"
)

// A Join is a change between revisions that one Go declaration represents exactly.
type Join struct {
	At   string // "Type.member"
	Text string // a sentence for the documentation of the declaration
}

// String returns the join on one line.
func (j Join) String() string { return j.At + ": " + j.Text }

// A fieldJoin joins the schemas of one member that differ between revisions. It sets the
// properties of the field, and returns the schemas in one form and the text of the join.
// If there is nothing to join, it returns "". The Go type is the type of the oldest
// revision.
type fieldJoin func(m *merger, f *Field, occs []occurrence) ([]occurrence, string)

// fieldJoins are applied in order.
var fieldJoins = []fieldJoin{(*merger).joinNull, (*merger).joinNumbers, (*merger).joinBounds, (*merger).joinNarrower}

// joined applies the joins to a member.
func (m *merger) joined(position string, f *Field, occs []occurrence) []occurrence {
	for _, join := range fieldJoins {
		list, text := join(m, f, occs)
		if text == "" {
			continue
		}
		occs = list
		m.note(position, text)
	}
	return occs
}

// note records a join at a position.
func (m *merger) note(position, text string) {
	if j := (Join{position, text}); !slices.Contains(m.joins, j) {
		m.joins = append(m.joins, j)
	}
}

// joinsAt returns the sentences about a position.
func (m *merger) joinsAt(position string) (list []string) {
	for _, j := range m.joins {
		if j.At == position {
			list = append(list, j.Text)
		}
	}
	return list
}

// joinAny joins primitive values with any JSON, if the oldest revision has primitive
// values. It reports whether it did.
func (m *merger) joinAny(position string, occs []occurrence) (Scalar, bool) {
	anything, typed := where(occs, is[*anyNode])
	if anything == 0 || anything&typed != 0 || typed == 0 || is[*anyNode](occs[0].node) {
		return Scalar{}, false
	}
	plain := slices.DeleteFunc(slices.Clone(occs), func(o occurrence) bool { return is[*anyNode](o.node) })
	if !m.all(plain, isPrimitiveUnion) {
		return Scalar{}, false
	}
	s, ok := m.join(position, plain).(Scalar)
	if !ok || s.Kind != Primitive {
		return Scalar{}, false
	}
	s.Any = m.openEnded(anything, anything|typed)
	m.note(position, "A value may be any JSON "+m.in(anything)+", and is a [json.RawMessage] if it has no other Go type.")
	return s, true
}

// isPrimitiveUnion reports whether a node is a primitive value, or a union of one and
// lists of strings.
func isPrimitiveUnion(n node) bool {
	u, ok := n.(*unionNode)
	if !ok {
		return primitive(n)
	}
	return !slices.ContainsFunc(u.alternatives, func(n node) bool {
		list, ok := n.(*arrayNode)
		return !primitive(n) && !(ok && isText(list.elem) && list.max == 0)
	})
}

// where returns the revisions of the occurrences that fit, and of the others.
func where(occs []occurrence, fits func(node) bool) (yes, no Window) {
	for _, o := range occs {
		if fits(o.node) {
			yes |= 1 << o.bit
		} else {
			no |= 1 << o.bit
		}
	}
	return yes, no
}

// joinNull joins a type with the same type or null. Null is nil, so a revision that
// allows null must require the member.
func (m *merger) joinNull(f *Field, occs []occurrence) ([]occurrence, string) {
	nulls, others := where(occs, nullable)
	bounded := func(n node) bool { s, ok := n.(*scalarNode); return ok && (s.min != nil || s.max != nil) }
	if nulls == 0 || others == 0 || m.any(occs, bounded) || nulls&others != 0 || f.Required&nulls != nulls {
		return nil, ""
	}
	f.Nulls = m.openEnded(nulls, nulls|others)
	list := slices.Clone(occs)
	for i, o := range list {
		if n, ok := o.node.(*scalarNode); ok {
			plain := *n
			plain.kinds = slices.DeleteFunc(slices.Clone(n.kinds), func(k string) bool { return k == "null" })
			list[i].node = &plain
		}
	}
	return list, "It may be null only " + m.in(nulls) + "."
}

// joinNumbers joins numbers with integers, if the oldest revision has a number. The
// digits of an integer that float64 cannot represent are in Extra.
func (m *merger) joinNumbers(f *Field, occs []occurrence) ([]occurrence, string) {
	integers, numbers := where(occs, ofKind("integer"))
	if integers == 0 || numbers == 0 || integers&numbers != 0 || !m.all(occs, func(n node) bool { return ofKind("integer")(n) || ofKind("number")(n) }) {
		return nil, ""
	}
	if !numbers.Has(occs[0].bit) || f.Nullable {
		return nil, ""
	}
	f.Integers = m.openEnded(integers, integers|numbers)
	list := slices.Clone(occs)
	for i, o := range list {
		number := *o.node.(*scalarNode)
		number.kinds = []string{"number"}
		list[i].node = &number
	}
	return list, "It is an integer " + m.in(integers) + ", with all digits."
}

// joinBounds joins numbers and lists with different bounds. The Go type has the bounds of the
// oldest revision with any, and a schema has the others.
func (m *merger) joinBounds(f *Field, occs []occurrence) ([]occurrence, string) {
	first := unbounded(occs[0].node)
	if first == nil || !m.all(occs, func(n node) bool { u := unbounded(n); return u != nil && equalNodes(u, first) }) {
		return nil, ""
	}
	var bounded node
	var in Window
	list := slices.Clone(occs)
	for i, o := range occs {
		switch {
		case equalNodes(o.node, unbounded(o.node)):
		case bounded == nil:
			bounded = o.node
		case !equalNodes(o.node, bounded):
			in |= 1 << o.bit
			list[i].node = unbounded(o.node)
			f.Checks = append(f.Checks, m.variant(o))
		}
	}
	if in == 0 {
		return nil, ""
	}
	return list, "Its bounds are different " + m.in(in) + "."
}

// unbounded returns a copy of a number or list without bounds, or nil for other nodes.
func unbounded(n node) node {
	switch n := n.(type) {
	case *scalarNode:
		return &scalarNode{at: n.at, kinds: n.kinds, format: n.format}
	case *arrayNode:
		return &arrayNode{at: n.at, elem: n.elem}
	}
	return nil
}

// joinNarrower joins a string, an enum or an ID with fewer of its values. The Go type is the type
// of the older revisions, and a schema forbids the other values.
func (m *merger) joinNarrower(f *Field, occs []occurrence) ([]occurrence, string) {
	var in Window
	var list []occurrence
	for _, o := range occs {
		if len(list) > 0 && m.isNarrower(list[0], o) {
			in |= 1 << o.bit
			f.Checks = append(f.Checks, m.variant(o))
			if !is[*enumNode](m.resolved(list[:1])[0].node) {
				continue
			}
			o.node = &enumNode{at(o.node.pos()), textValues(o.node)} // the revision has these values of the enum
		}
		list = append(list, o)
	}
	if in == 0 {
		return nil, ""
	}
	return list, "Only some of its values are valid " + m.in(in) + "."
}

// isNarrower reports whether the schema of a newer revision has some values of the schema of an
// older one, and no other.
func (m *merger) isNarrower(older, newer occurrence) bool {
	all := m.resolved([]occurrence{older, newer})
	values := textValues(all[1].node)
	switch wide := all[0].node.(type) {
	case *enumNode:
		return len(values) > 0 && is[*constNode](all[1].node) && !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(wide.values, v) })
	case *scalarNode:
		if isText(wide) {
			return len(values) > 0
		}
		narrow, ok := all[1].node.(*scalarNode)
		r, _ := older.node.(*refNode)
		if !ok || r == nil || narrow.min != nil || narrow.max != nil || len(narrow.kinds) >= len(wide.kinds) {
			return false
		}
		kind, _ := m.rules.builtin(r.def)
		return (kind == ID || kind == Token) && !slices.ContainsFunc(narrow.kinds, func(k string) bool { return !slices.Contains(wide.kinds, k) })
	}
	return false
}

// ofKind returns a function that reports whether a node is a scalar of exactly one kind.
func ofKind(kind string) func(node) bool {
	return func(n node) bool {
		s, ok := n.(*scalarNode)
		return ok && slices.Equal(s.kinds, []string{kind})
	}
}

// in returns a phrase with the names of revisions.
func (m *merger) in(w Window) string {
	var names []string
	for _, d := range m.documents {
		if w.Has(d.bit) {
			names = append(names, d.name)
		}
	}
	if n := len(names); n > 1 {
		return fmt.Sprintf("in %s and %s", strings.Join(names[:n-1], ", "), names[n-1])
	}
	return "in " + strings.Join(names, "")
}
