package ir

import (
	"slices"
)

// settleStruct joins the members of all of t's objects. In revisions in which
// t is a map instead, no member is known.
func (m *merger) settleStruct(t *thing) {
	s := &Struct{Role: m.role(t)}
	owner := t.in()
	if !m.all(t.occs, open) {
		m.clash(t.name, t.occs, "give the newer shape a definition of its own")
	}
	for _, name := range t.members() {
		occs, required := m.positions(t, name)
		if !m.constant(t, s, name, occs, required, owner) {
			m.field(t, s, name, occs, required)
		}
	}
	m.envelope(t, s)
	for _, o := range t.occs {
		if obj, ok := o.node.(*objectNode); ok && obj.params != nil && obj.params.required {
			s.Params |= 1 << o.bit
		}
	}
	s.Params = m.open(s.Params, owner)
	t.typ.Shape = s
}

// open tells whether a node is an object whose members may be anything, apart from
// those that it names.
func open(n node) bool {
	x, typed := n.(*mapNode)
	return isObject(n) && (!typed || is[*anyNode](x.elem))
}

// field adds a member that is stored.
func (m *merger) field(t *thing, s *Struct, name string, occs []occ, required Window) {
	owner := t.in()
	if sent, ok := m.sent[t.name]; ok && name == "_meta" {
		occs = slices.DeleteFunc(occs, func(o occ) bool { return !sent.Has(o.bit) })
		required &= sent
	}
	if len(occs) == 0 {
		return
	}
	f := &Field{JSON: name, Always: required&owner == owner, Required: m.open(required, owner)}
	for _, o := range occs {
		f.In |= 1 << o.bit
	}
	f.Type = m.memberExpr(t, f, occs)
	if f.Role == Meta {
		f.In |= m.metaWindow(t, f.In)
	}
	f.In = m.open(f.In, owner)
	s.Fields = append(s.Fields, f)
}

// metaWindow adds the revisions whose schemas show the _meta of messages on
// the abstract bases only: wherever a message travels on its own, and for
// shared params the revisions before the first that shows it.
func (m *merger) metaWindow(t *thing, in Window) Window {
	if sent, ok := m.sent[t.name]; ok {
		return sent
	}
	var before Window
	for bit := range m.drafts {
		if in.Has(bit) {
			break
		}
		before |= 1 << bit & t.in()
	}
	return before
}

// envelope gives a message that travels on its own a _meta even where no
// revision's params show one: callers mark their requests in it. Params that
// are a choice carry their own.
func (m *merger) envelope(t *thing, s *Struct) {
	sent, ok := m.sent[t.name]
	r := m.rules.meta(t.name)
	has := func(name string) bool {
		return slices.ContainsFunc(s.Fields, func(f *Field) bool { return f.JSON == name })
	}
	if !ok || r == nil || has("_meta") || has("params") {
		return
	}
	x := m.thing(r.Type, t.at)
	s.Fields = append(s.Fields, &Field{JSON: "_meta", In: m.open(sent, t.in()), Type: Named{x.typ}, Role: Meta})
}

// positions collects the nodes of one member over all revisions, and the
// revisions in which each object of t requires it.
func (m *merger) positions(t *thing, name string) (occs []occ, required Window) {
	var seen, optional Window
	for _, o := range t.occs {
		obj, ok := o.node.(*objectNode)
		if !ok {
			optional |= 1 << o.bit
			continue
		}
		mem := obj.member(name)
		if mem == nil {
			optional |= 1 << o.bit
			continue
		}
		occs = append(occs, occ{o.bit, mem.node})
		if seen |= 1 << o.bit; !mem.required {
			optional |= 1 << o.bit
		}
	}
	return occs, seen &^ optional
}

// constant files a member that has one fixed value, and the method of a
// message, which is no member at all.
func (m *merger) constant(t *thing, s *Struct, name string, occs []occ, required, owner Window) bool {
	first, ok := occs[0].node.(*constNode)
	if !ok {
		return false
	}
	var in Window
	for _, o := range occs {
		c, ok := o.node.(*constNode)
		if !ok || c.value != first.value {
			m.clash(t.name+"."+name, occs, "a constant cannot change; give the newer shape a definition of its own")
			return true
		}
		in |= 1 << o.bit
	}
	if obj, ok := t.occs[len(t.occs)-1].node.(*objectNode); ok && obj.message && name == "method" {
		s.Consts = append(s.Consts, &Const{JSON: name, Value: first.value})
		return true
	}
	s.Consts = append(s.Consts, &Const{JSON: name, Value: first.value, In: m.open(in, owner), Required: m.open(required, owner)})
	return true
}

// role says what t is used for; the methods decide about messages and their
// results.
func (m *merger) role(t *thing) Role {
	for i := range m.rules.Metas {
		r := &m.rules.Metas[i]
		if r.Suffix == t.name && r.Role == Meta {
			m.rules.use(r)
			return Meta
		}
		if r.Type == t.name {
			return Meta
		}
	}
	if r := m.rules.meta(t.name); r != nil {
		return r.Role
	}
	return Plain
}

// memberExpr decides the type of a member.
func (m *merger) memberExpr(t *thing, f *Field, occs []occ) Expr {
	position := t.name + "." + f.JSON
	if f.JSON == "_meta" {
		if r := m.rules.meta(t.name); r != nil {
			f.Role = Meta
			return m.metaExpr(position, r, occs)
		}
	}
	if o := m.rules.open(position); o != nil {
		for _, oc := range occs {
			if n, ok := oc.node.(*scalarNode); !ok || !slices.Equal(n.kinds, []string{"string"}) {
				return m.clash(position, occs, "an Open rule is for strings")
			}
		}
		x := m.thing(o.Name, occs[0].node.pos())
		for _, oc := range occs {
			m.add(x, oc.bit, oc.node)
		}
		x.typ.In |= f.In
		m.settleOpen(x, o)
		return Named{x.typ}
	}
	f.Nullable = m.any(occs, nullable)
	return m.expr(position, occs)
}

// metaExpr pins the type of a message's own _meta, whatever the revisions
// call it, unless one gives it a richer type.
func (m *merger) metaExpr(position string, r *MetaRole, occs []occ) Expr {
	def := r.Type
	for _, o := range occs {
		if ref, ok := o.node.(*refNode); ok && ref.def != def {
			if _, rich := m.drafts[o.bit].defs[ref.def].(*objectNode); rich {
				def = ref.def
			}
		}
	}
	x := m.thing(def, occs[0].node.pos())
	for _, o := range occs {
		switch n := o.node.(type) {
		case *objectNode:
			m.add(x, o.bit, n)
		case *mapNode:
			m.add(x, o.bit, &objectNode{at: at(m.drafts[o.bit].name + "#" + def)})
		case *refNode:
			if n.def != def {
				m.add(x, o.bit, &objectNode{at: at(m.drafts[o.bit].name + "#" + def)})
			}
		default:
			return m.clash(position, occs, "the _meta of a message is an object")
		}
	}
	return Named{x.typ}
}
