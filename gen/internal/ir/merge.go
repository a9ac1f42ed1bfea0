package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// occ is a node as one revision has it.
type occ struct {
	bit  int
	node node
}

// thing is a type in the making: a definition, or an inline shape, over all
// the revisions that have it.
type thing struct {
	name string // the definition, or the Go name given to an inline shape
	at   string
	occs []occ
	typ  *Type
	// position is where an inline shape was first found.
	position string
	// kind is what the occurrences agree on.
	kind thingKind
}

type thingKind int

const (
	unknownThing thingKind = iota
	structThing
	unionThing
	enumThing
	aliasThing
)

// merger joins the drafts of all revisions.
type merger struct {
	drafts []*draft
	rules  *book
	issues *issues
	things map[string]*thing
	flat   map[string]string // params definitions that became part of a message
	sent   map[string]Window // the revisions in which a message travels on its own
	errors map[string][]occ  // error definitions
	grown  bool              // a pass found something new
}

// merge collects the definitions and then looks at every position until
// nothing new turns up: an inline shape in an old revision may be an
// occurrence of a type that a newer one names.
func merge(drafts []*draft, rules *book, problems *issues) *merger {
	m := &merger{drafts: drafts, rules: rules, issues: problems,
		things: make(map[string]*thing), flat: make(map[string]string), sent: make(map[string]Window), errors: make(map[string][]occ)}
	m.findParams()
	m.flatten()
	m.findSenders()
	for _, d := range drafts {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			m.define(d, name, d.defs[name])
		}
	}
	m.widen()
	if m.endless() {
		return m
	}
	for pass := 0; ; pass++ {
		m.grown, m.issues.list = false, nil
		for _, name := range slices.Sorted(maps.Keys(m.things)) {
			m.settle(m.things[name])
		}
		if !m.grown {
			return m
		}
		if pass > 50 {
			m.issues.add("merge", "the types do not settle")
			return m
		}
	}
}

// endless reports the lists and maps that hold themselves, which [merger.follow]
// would follow without an end, and tells whether there are any.
func (m *merger) endless() (found bool) {
	for _, d := range m.drafts {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if m.circular(d, d.defs[name], []string{name}) {
				m.issues.add(d.defs[name].pos(), "%q holds itself with no object on the way, which has no Go form; write a Types rule", name)
				found = true
			}
		}
	}
	return found
}

// circular tells whether a list or map leads back to one of the definitions that
// it is within.
func (m *merger) circular(d *draft, n node, within []string) bool {
	switch n := n.(type) {
	case *arrayNode:
		return m.circular(d, n.elem, within)
	case *mapNode:
		return m.circular(d, n.elem, within)
	case *refNode:
		if _, fixed := m.rules.builtin(n.def); fixed {
			return false
		}
		return slices.Contains(within, n.def) || m.circular(d, d.defs[n.def], append(within, n.def))
	}
	return false
}

// define files a definition of one revision.
func (m *merger) define(d *draft, name string, n node) {
	if slot := m.rules.slot(name); slot != nil {
		if slot.Direction == Results {
			return
		}
		n = m.unionOf(d, name, n)
	}
	if _, alias := n.(*refNode); alias || m.rules.framing(name) != nil || m.flat[name] != "" {
		return
	}
	name = m.rules.sameAs(name)
	if code, data := errorOf(n); code != 0 {
		m.errors[name] = append(m.errors[name], occ{d.bit, n})
		if data != nil {
			m.add(m.thing(name, n.pos()), d.bit, data)
		}
		return
	}
	m.add(m.thing(name, n.pos()), d.bit, n)
}

// unionOf is a union of messages as such, also where the schema prints a union
// of one as that member itself.
func (m *merger) unionOf(d *draft, slot string, n node) node {
	if _, ok := n.(*unionNode); ok {
		return n
	}
	u := &unionNode{at: at(n.pos())}
	for _, name := range m.slotMembers(d, slot) {
		u.arms = append(u.arms, &refNode{at(n.pos()), name})
	}
	return u
}

// thing finds or makes the thing of a name.
func (m *merger) thing(name, where string) *thing {
	t := m.things[name]
	if t == nil {
		t = &thing{name: name, at: where, typ: &Type{At: where}}
		m.things[name] = t
		m.grown = true
	}
	return t
}

// add records an occurrence of t, once.
func (m *merger) add(t *thing, bit int, n node) {
	for _, o := range t.occs {
		if o.bit == bit && o.node.pos() == n.pos() {
			return
		}
	}
	t.occs = append(t.occs, occ{bit, n})
	slices.SortStableFunc(t.occs, func(a, b occ) int { return a.bit - b.bit })
	m.grown = true
}

// widen adds the occurrences that a Widen rule knows of.
func (m *merger) widen() {
	for i := range m.rules.Widen {
		w := &m.rules.Widen[i]
		t := m.things[w.Definition]
		for _, d := range m.drafts {
			like, ok := d.defs[w.Like].(*objectNode)
			if d.name != w.In || t == nil || !ok {
				continue
			}
			o, known := &objectNode{at: like.at}, t.members()
			for _, have := range like.members {
				if slices.Contains(known, have.name) {
					o.members = append(o.members, have)
				}
			}
			m.add(t, d.bit, o)
			m.rules.use(w)
		}
	}
}

// members lists the member names that any occurrence of t has.
func (t *thing) members() []string {
	set := make(map[string]bool)
	for _, o := range t.occs {
		if obj, ok := o.node.(*objectNode); ok {
			for _, mem := range obj.members {
				set[mem.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// newest is the place of a member, or of the whole thing, in the newest revision
// that has it.
func (t *thing) newest(name string) string {
	for _, o := range slices.Backward(t.occs) {
		obj, ok := o.node.(*objectNode)
		switch {
		case name == "":
			return o.node.pos()
		case ok && obj.member(name) != nil:
			return obj.member(name).node.pos()
		}
	}
	return t.at
}

// in is the set of revisions that t occurs in.
func (t *thing) in() Window { return window(t.occs) }

// window is the set of revisions of the occurrences.
func window(occs []occ) (w Window) {
	for _, o := range occs {
		w |= 1 << o.bit
	}
	return w
}

// settle decides what t is and looks at all its positions.
func (m *merger) settle(t *thing) {
	t.typ.In = t.in()
	if kind, ok := m.rules.builtin(t.name); ok {
		t.kind, t.typ.Shape = aliasThing, &Alias{Of: Scalar{Kind: kind}}
		if !m.all(t.occs, suits(kind)) {
			m.clash(t.name, t.occs, "a Types rule says what it is; change that")
		}
		return
	}
	if len(t.occs) == 0 {
		m.issues.add(t.at, "a rule wants %q here, and no schema defines it", t.name)
		return
	}
	if o := m.rules.open(t.name); o != nil {
		m.settleOpen(t, o)
		return
	}
	switch m.kindOf(t) {
	case unionThing:
		t.kind = unionThing
		m.settleUnion(t)
	case enumThing:
		t.kind = enumThing
		m.settleEnum(t)
	case structThing:
		t.kind = structThing
		m.settleStruct(t)
	default:
		t.kind = aliasThing
		if m.any(t.occs, nullable) {
			m.clash(t.name, t.occs, "a definition that may be null has no Go form; write a Raw rule")
		}
		t.typ.Shape = &Alias{Of: m.expr(t.name, t.occs)}
	}
}

// suits returns what tells whether the type of a Types rule has room for a node.
func suits(kind Kind) func(node) bool {
	switch kind {
	case ID, Token:
		return func(n node) bool {
			s, ok := n.(*scalarNode)
			return ok && slices.Equal(s.kinds, []string{"integer", "string"})
		}
	case Object:
		return isObject
	}
	return func(node) bool { return true }
}

// kindOf decides what the occurrences of t are together. A union wins over the
// object that it was before it became one.
func (m *merger) kindOf(t *thing) thingKind {
	var unions, objects, maps, enums int
	for _, o := range t.occs {
		switch o.node.(type) {
		case *unionNode:
			unions++
		case *objectNode:
			objects++
		case *mapNode:
			maps++
		case *enumNode:
			enums++
		}
	}
	switch {
	case unions > 0:
		return unionThing
	case objects > 0:
		return structThing
	case enums == len(t.occs) && enums > 0:
		return enumThing
	case enums > 0 && m.rules.open(t.name) == nil:
		m.issues.add(t.at, "an enum in one revision and something else in another; write an Open rule for %q", t.name)
	}
	return aliasThing
}

// open extends a window without bound where it reaches the newest revision
// and, where it is all of its owner's, over all revisions: what exists goes on
// existing until a revision says otherwise.
func (m *merger) open(w, owner Window) Window {
	if owner != 0 && w&owner == owner {
		return ^Window(0)
	}
	if newest := len(m.drafts) - 1; w.Has(newest) {
		w |= ^Window(0) << newest
	}
	return w
}

// ref finds the thing that a reference means, through definitions that are
// only another name.
func (m *merger) ref(r *refNode, bit int) *thing {
	def := r.def
	for range 32 {
		next, ok := m.drafts[bit].defs[def].(*refNode)
		if !ok {
			break
		}
		def = next.def
	}
	t := m.things[m.rules.sameAs(def)]
	if t == nil {
		m.issues.add(r.pos(), "%q is referred to but has no Go form", def)
	}
	return t
}

// clash reports nodes that no rule of merging joins.
func (m *merger) clash(position string, occs []occ, how string) Expr {
	var forms []string
	var in Window
	for _, o := range occs {
		forms = append(forms, fmt.Sprintf("%s is %s", o.node.pos(), describe(o.node)))
		in |= 1 << o.bit
	}
	what := "the revisions disagree about %q and no rule joins them: %s; %s"
	if oldest(in) == newest(in) {
		what = "no rule says what %q is in Go: %s; %s"
	}
	m.issues.add(occs[len(occs)-1].node.pos(), what, position, strings.Join(forms, "; "), how)
	return Scalar{Kind: Raw}
}

// describe names a node's form for errors.
func describe(n node) string {
	switch n := n.(type) {
	case *refNode:
		return n.def
	case *scalarNode:
		form := strings.Join(n.kinds, " or ")
		if n.min != nil {
			form += fmt.Sprintf(" from %g", *n.min)
		}
		if n.max != nil {
			form += fmt.Sprintf(" up to %g", *n.max)
		}
		return form
	case *enumNode:
		return "an enum"
	case *constNode:
		return fmt.Sprintf("the constant %q", n.value)
	case *numberNode:
		return fmt.Sprintf("the constant %d", n.value)
	case *anyNode:
		return "anything"
	case *mapNode:
		return "a map"
	case *arrayNode:
		return "an array"
	case *unionNode:
		return "a union"
	case *objectNode:
		return "an object"
	}
	return "unknown"
}
