package ir

import (
	"maps"
	"slices"
	"strings"
)

// mergeStruct merges the members of all objects of t. Revisions in which t is a map
// have no known members.
func (m *merger) mergeStruct(t *mergedType) {
	s := &Struct{Role: m.role(t)}
	owner := t.in()
	if !m.all(t.occs, isOpenObject) {
		m.conflict(t.name, t.occs, "give the newer form its own definition")
	}
	for _, name := range t.members() {
		occs, required := m.memberOccurrences(t, name)
		x := fix{extraFix, t.name + "." + name}
		switch {
		case name == "_meta" && m.rules.meta(t.name) != nil, name == "resultType":
			x = fix{} // the runtime reads and writes it
		case name == "params" && m.any(t.occs, isMessage):
			x = fix{} // the message has no Extra
		}
		m.problems.fixing(x, func() {
			if !m.addConst(t, s, name, occs, required, owner) {
				m.addField(t, s, name, occs, required)
			}
		})
	}
	m.addMeta(t, s)
	for _, v := range append(m.absorbedVariants(t), m.closedVariants(t, s)...) {
		s.Checks = m.addVariant(s.Checks, v)
	}
	s.Checks = m.restrictedVariants(t, s, s.Checks)
	for _, o := range t.occs {
		if obj, ok := o.node.(*objectNode); ok && obj.params != nil && obj.params.required {
			s.ParamsRequired |= 1 << o.bit
		}
	}
	s.ParamsRequired = m.openEnded(s.ParamsRequired, owner)
	t.typ.Shape = s
}

// addField adds a member with a Go field.
func (m *merger) addField(t *mergedType, s *Struct, name string, occs []occurrence, required Window) {
	owner := t.in()
	if sent, ok := m.sent[t.name]; ok && name == "_meta" {
		occs = slices.DeleteFunc(occs, func(o occurrence) bool { return !sent.Has(o.bit) && isOpenMap(m.resolved([]occurrence{o})[0].node) })
		required &= window(occs)
	}
	if len(occs) == 0 {
		return
	}
	position := t.name + "." + name
	own, extra := m.apart(position, occs)
	nulls, _ := where(m.resolved(occs), nullable)
	always := owner &^ window(extra) &^ m.fixes[fix{keepFix, position}]
	f := &Field{JSON: name, Always: required&always == always && len(own) > 0, Required: m.openEnded(required, owner), In: window(occs), newest: occs[len(occs)-1].node.pos()}
	f.nulls = m.openEnded(nulls, 0)
	f.Kept = f.Always && m.fixes[fix{keepFix, position}]&owner != 0
	switch {
	case len(own) == 0:
		f.Type, f.Checks = Scalar{Kind: Raw}, m.variants(position, checkedJoin, extra)
	case m.rules.raw(position) != nil:
		f.Type = m.memberExpr(t, f, own)
		if x, ok := f.Type.(Scalar); ok && x.Kind == RawObject && !m.all(m.resolved(extra), isObject) {
			f.Type = Scalar{Kind: Raw, Objects: window(own)}
		}
		f.Checks = append(f.Checks, m.variants(position, checkedJoin, extra)...)
	default:
		f.Type, f.Extra = m.memberExpr(t, f, own), m.variants(position, extraJoin, extra)
	}
	if !m.any(t.occs, isMessage) || name != "params" {
		f.Checks = m.restrict(position, f.Checks, own)
	}
	if f.Role == Meta {
		f.In |= m.metaWindow(t, f.In)
	} else {
		m.refuseShared(position, own)
	}
	f.In = m.openEnded(f.In, owner)
	s.Fields = append(s.Fields, f)
}

// metaWindow returns further revisions in which a message has a _meta. The schemas of
// some revisions declare it only in the abstract bases. A message has it in all
// revisions in which it is sent on its own. Shared params have it in the revisions
// before the first that declares it, and in those that have the params inline.
func (m *merger) metaWindow(t *mergedType, in Window) Window {
	if sent, ok := m.sent[t.name]; ok {
		return sent
	}
	var others Window
	declared := false
	for bit, d := range m.documents {
		if declared = declared || in.Has(bit); !declared || d.defs[t.name] == nil {
			others |= 1 << bit & t.in() &^ in
		}
	}
	return others
}

// addMeta adds a _meta to a message that is sent on its own and has none in any
// schema, because callers add metadata to requests. Params that are a union have their
// own.
func (m *merger) addMeta(t *mergedType, s *Struct) {
	sent, ok := m.sent[t.name]
	r := m.rules.meta(t.name)
	has := func(name string) bool {
		return slices.ContainsFunc(s.Fields, func(f *Field) bool { return f.JSON == name })
	}
	if !ok || r == nil || has("_meta") || has("params") {
		return
	}
	x := m.typeFor(r.Type, t.at)
	s.Fields = append(s.Fields, &Field{JSON: "_meta", In: m.openEnded(sent, t.in()), Type: Named{x.typ}, Role: Meta})
}

// memberOccurrences returns the nodes of one member in all revisions, and the
// revisions in which all objects of t require the member.
func (m *merger) memberOccurrences(t *mergedType, name string) (occs []occurrence, required Window) {
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
		occs = append(occs, occurrence{o.bit, mem.node})
		if seen |= 1 << o.bit; !mem.required {
			optional |= 1 << o.bit
		}
	}
	return occs, seen &^ optional
}

// addConst adds a member with one fixed value, and reports whether the member is one. Other constants and strings
// that a revision allows are values of the constant. The method of a message is added without revisions, because it is
// not in the params.
func (m *merger) addConst(t *mergedType, s *Struct, name string, occs []occurrence, required, owner Window) bool {
	first, ok := occs[0].node.(*constNode)
	if !ok {
		return false
	}
	position, method := t.name+"."+name, name == "method" && isMessage(t.occs[len(t.occs)-1].node)
	c := &Const{Name: goName(name), JSON: name, Value: first.value, Values: []*Value{{JSON: jsonText(first.value)}}}
	for i, o := range m.resolved(occs) {
		values, same := constantValues(o.node), equalNodes(o.node, first)
		if isText(o.node) {
			values, c.Open = constantValues(first), c.Open|1<<o.bit
		}
		if twice := i > 0 && occs[i-1].bit == o.bit && !equalNodes(occs[i-1].node, occs[i].node); values == nil || twice || method && !same {
			x := m.typeFix(t)
			if method {
				x = fix{}
			}
			m.problems.fixing(x, func() { m.conflict(position, occs, "a constant cannot change; give the newer form its own definition") })
			m.ownDefinition(m.problems.last(), t.name)
			return true
		}
		if !same {
			m.note(t.name, constantJoin, name, describe(o.node), m.in(1<<o.bit))
		}
		if m.restricts(o.bit, occs[i].node, nil) {
			s.Checks = m.addVariant(s.Checks, m.memberVariant(t, o.bit, name, occs[i].node))
		}
		c.Values = addValues(c.Values, values, 1<<o.bit)
		if (len(values) > 1 || isText(o.node)) && !required.Has(o.bit) {
			c.Unset = append(c.Unset, Variant{At: pointerOf(o.node), In: m.openEnded(1<<o.bit, 0)})
		}
	}
	if method {
		c = &Const{JSON: name, Value: first.value}
	} else {
		c.In, c.Open = m.openEnded(window(occs), owner), m.openEnded(c.Open, 0)
		c.Required = m.openEnded(required, owner)
	}
	if len(c.Values) == 1 && c.Open == 0 {
		c.Values = nil
	}
	for _, v := range c.Values {
		v.In = m.openEnded(v.In, owner)
	}
	s.Consts = append(s.Consts, c)
	return true
}

// memberVariant returns the variant of the object of t in a revision that checks a member.
func (m *merger) memberVariant(t *mergedType, bit int, name string, n node) Variant {
	v := m.variant(occurrence{bit, n})
	for _, o := range t.occs {
		if obj, ok := o.node.(*objectNode); ok && o.bit == bit {
			if v.At = pointerOf(obj); obj.params != nil {
				v.At = pointerOf(obj.params.node)
			}
		}
	}
	v.Schema = &Schema{Members: []SchemaMember{{name, false, v.Schema}}}
	return v
}

// role returns the use of t. The roles of messages and results are set with the
// methods.
func (m *merger) role(t *mergedType) Role {
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

// memberExpr returns the type of a member.
func (m *merger) memberExpr(t *mergedType, f *Field, occs []occurrence) Expr {
	position := t.name + "." + f.JSON
	if f.JSON == "_meta" {
		if r := m.rules.meta(t.name); r != nil {
			f.Role = Meta
			return m.metaExpr(position, r, occs)
		}
	}
	if o := m.rules.open(position); o != nil {
		occs = m.resolved(occs)
		if !m.all(occs, func(n node) bool { return isTextual(n) || is[*constNode](n) }) {
			return m.conflict(position, occs, "an Open rule requires strings")
		}
		x := m.typeFor(o.Name, occs[0].node.pos())
		for _, oc := range occs {
			if is[*constNode](oc.node) { // other members with the type may have other values
				f.Checks = append(f.Checks, m.variant(oc))
				m.note(position, narrowerJoin, m.in(1<<oc.bit))
				continue
			}
			m.add(x, oc.bit, oc.node)
		}
		x.typ.In |= f.In
		m.mergeOpenEnum(x, o)
		return Named{x.typ}
	}
	if f.Nullable = m.any(occs, nullable); m.rules.raw(position) == nil {
		occs = m.joined(position, f, occs)
	}
	return m.expr(position, occs)
}

// metaExpr returns the type of the metadata of a message: the type of the rule, unless
// a revision refers to another object with members.
func (m *merger) metaExpr(position string, r *MetaRole, occs []occurrence) Expr {
	def := r.Type
	for _, o := range occs {
		if ref, ok := o.node.(*refNode); ok && m.rules.currentName(ref.def) != def {
			if _, rich := m.documents[o.bit].defs[ref.def].(*objectNode); rich {
				def = m.rules.currentName(ref.def)
			}
		}
	}
	x := m.typeFor(def, occs[0].node.pos())
	for _, o := range occs {
		switch n := o.node.(type) {
		case *objectNode:
			m.add(x, o.bit, n)
		case *mapNode:
			m.add(x, o.bit, &objectNode{at: at(m.documents[o.bit].name + "#" + def)})
		case *refNode:
			if m.rules.currentName(n.def) != def {
				m.add(x, o.bit, &objectNode{at: at(m.documents[o.bit].name + "#" + def)})
			}
		default:
			e := m.conflict(position, occs, "the _meta of a message must be an object")
			m.problems.last().Choose("The metadata is any object.", setTo(o.node.pos(), `{"type": "object"}`))
			return e
		}
	}
	return Named{x.typ}
}

func (m *merger) mergeUnion(t *mergedType) {
	u := new(Union)
	members := m.unionMembers(t, map[*mergedType]bool{})
	for _, mem := range members {
		if mem.t.kind != structKind && mem.t.kind != unknownKind {
			m.untyped(m.problems.add(t.at, "the union member %q is not an object", mem.t.name), t.name)
		}
		u.Members = append(u.Members, &Member{Type: mem.t.typ, In: m.openEnded(mem.in, t.in())})
	}
	t.typ.Shape = u
	for i, o := range t.occs[1:] {
		if before := t.occs[i]; before.bit == o.bit && !m.sameMembers(t, before, o) {
			m.problems.add(o.node.pos(), "the union %q has different members here and at %s; write a Raw rule", t.name, before.node.pos())
		}
	}
}

// sameMembers reports whether two occurrences of a union have the same members.
func (m *merger) sameMembers(t *mergedType, a, b occurrence) bool {
	set := func(o occurrence) map[*mergedType]bool {
		in := make(map[*mergedType]bool)
		for _, x := range m.members(t, o, map[*mergedType]bool{t: true}) {
			in[x] = true
		}
		return in
	}
	return maps.Equal(set(a), set(b))
}

// unionMember is a member of a union that is being merged.
type unionMember struct {
	t  *mergedType
	in Window
}

// unionMembers returns the members of a union in all revisions, in the order of the
// newest revision. It includes the members of unions in the union.
func (m *merger) unionMembers(t *mergedType, seen map[*mergedType]bool) []unionMember {
	if seen[t] {
		m.anyJSON(m.problems.add(t.at, "the union contains itself"), t.name)
		return nil
	}
	seen[t] = true
	defer delete(seen, t)
	var list []unionMember
	put := func(x *mergedType, in Window) {
		for i := range list {
			if list[i].t == x {
				list[i].in |= in
				return
			}
		}
		list = append(list, unionMember{x, in})
	}
	for _, o := range slices.Backward(t.occs) {
		for _, x := range m.members(t, o, seen) {
			put(x, 1<<o.bit)
		}
	}
	return list
}

// members returns the members in one occurrence of a union.
func (m *merger) members(t *mergedType, o occurrence, seen map[*mergedType]bool) []*mergedType {
	var list []*mergedType
	for _, n := range m.memberNodes(t, o) {
		r, ok := n.(*refNode)
		if !ok {
			m.untyped(m.problems.add(n.pos(), "a union member must refer to a definition of an object"), t.name)
			continue
		}
		x := m.ref(r, o.bit)
		if x == nil {
			continue
		}
		if m.kindOf(x) != unionKind {
			list = append(list, x)
			continue
		}
		for _, inner := range m.unionMembers(x, seen) {
			if inner.in.Has(o.bit) {
				list = append(list, inner.t)
			}
		}
	}
	return list
}

// memberNodes returns the references in one occurrence of a union. An object from a
// revision before the union stands for the member that has all its members.
func (m *merger) memberNodes(t *mergedType, o occurrence) []node {
	switch n := o.node.(type) {
	case *unionNode:
		return n.alternatives
	case *refNode:
		return []node{n}
	case *objectNode:
		return m.membersForObject(t, o.bit, n)
	}
	m.problems.add(o.node.pos(), "%q is a union, and this is not one of its members", t.name)
	return nil
}

// membersForObject returns the member of the union t that matches an object from another
// revision, and adds the object as an occurrence of the member. If none matches and the revision does not have
// the union, it is the member that matches the object of another revision. A definition
// of a new revision must be the same object as the definition of the member, unless the revision does not have the member.
func (m *merger) membersForObject(t *mergedType, bit int, obj *objectNode) []node {
	fits, d := m.membersThatFit(t, obj), m.documents[bit]
	for _, o := range t.occs {
		if other, ok := o.node.(*objectNode); ok && len(fits) != 1 && d.defs[t.name] == nil && d.name > m.rules.OrderFrom {
			fits = m.membersThatFit(t, other)
		}
	}
	if d.name > m.rules.OrderFrom {
		fits = fitsIn(bit, fits, obj)
	}
	if len(fits) != 1 {
		m.problems.add(obj.pos(), "%q is a union in another revision, and %d of its members match this object; select one with a Widen rule", t.name, len(fits))
		return nil
	}
	m.add(fits[0], bit, obj)
	nodes := []node{&refNode{obj.at, fits[0].name}}
	for i := range m.rules.Widen {
		switch w := &m.rules.Widen[i]; {
		case w.Like != t.name:
		case m.widens(w, bit):
			nodes = append(nodes, &refNode{obj.at, w.Definition})
		default:
			m.problems.add(obj.pos(), "the object %q has other members than in %s, so that the Widen rule for %q does not apply; write a Widen rule for %s",
				t.name, w.In, w.Definition, m.documents[bit].name)
		}
	}
	return nodes
}

// fitsIn returns the types with the same object in a revision. If there are none, it returns those that the revision does
// not have.
func fitsIn(bit int, types []*mergedType, obj *objectNode) (fits []*mergedType) {
	var absent []*mergedType
	for _, x := range types {
		same := func(o occurrence) bool { return o.bit == bit && equalNodes(o.node, obj) }
		switch {
		case !x.in().Has(bit):
			absent = append(absent, x)
		case slices.ContainsFunc(x.occs, same):
			fits = append(fits, x)
		}
	}
	if len(fits) == 0 {
		return absent
	}
	return fits
}

// membersThatFit returns the members of the union t that have all members of an object.
func (m *merger) membersThatFit(t *mergedType, obj *objectNode) (fits []*mergedType) {
	for _, o := range t.occs {
		u, ok := o.node.(*unionNode)
		if !ok {
			continue
		}
		for _, n := range u.alternatives {
			if r, ok := n.(*refNode); ok {
				if x := m.ref(r, o.bit); x != nil && !slices.Contains(fits, x) && hasAllMembers(x, obj) {
					fits = append(fits, x)
				}
			}
		}
	}
	return fits
}

// hasAllMembers reports whether x has every member of obj.
func hasAllMembers(x *mergedType, obj *objectNode) bool {
	have := x.members()
	for _, mem := range obj.members {
		if !slices.Contains(have, mem.name) {
			return false
		}
	}
	return true
}

// openEnums returns rules that replace the enums of t in some revisions with any string.
func (m *merger) openEnums(t *mergedType, in Window) (rules []any) {
	for _, o := range t.occs {
		if is[*enumNode](o.node) && in.Has(o.bit) {
			rules = append(rules, setTo(o.node.pos(), `{"type": "string"}`))
		}
	}
	return rules
}

// mergeOpenEnum makes t an enum with the values of an Open rule. A revision whose schema
// has an enum allows only the values of the schema.
func (m *merger) mergeOpenEnum(t *mergedType, o *Open) {
	t.kind = enumKind
	e := &Enum{Open: true}
	closed, open := where(t.occs, is[*enumNode])
	if closed&open != 0 {
		m.conflict(t.name, t.occs, "one revision has an enum in one place and any string in another")
		m.problems.last().Choose("The value is any string everywhere.", m.openEnums(t, closed&open)...)
	}
	for _, oc := range t.occs {
		if n, ok := oc.node.(*enumNode); ok {
			e.Values = addValues(e.Values, n.values, 1<<oc.bit)
		}
	}
	e.Closed = m.openEnded(closed, closed|open)
	e.Values = addValues(e.Values, o.Values, ^e.Closed)
	for _, v := range e.Values {
		v.In = m.openEnded(v.In, t.in())
	}
	if closed != 0 {
		m.note(t.name, enumJoin, m.in(closed))
	}
	t.typ.Shape = e
}

// addValues adds values of the revisions in w to a list.
func addValues(list []*Value, values []string, w Window) []*Value {
	for _, v := range values {
		i := slices.IndexFunc(list, func(have *Value) bool { return have.JSON == v })
		if i < 0 {
			i = len(list)
			list = append(list, &Value{JSON: v})
		}
		list[i].In |= w
	}
	return list
}

func (m *merger) mergeEnum(t *mergedType) {
	e := &Enum{}
	for _, o := range t.occs {
		for _, v := range o.node.(*enumNode).values {
			i := slices.IndexFunc(e.Values, func(have *Value) bool { return have.JSON == v })
			if i < 0 {
				i = len(e.Values)
				e.Values = append(e.Values, &Value{JSON: v})
			}
			e.Values[i].In |= 1 << o.bit
		}
	}
	slices.SortFunc(e.Values, func(a, b *Value) int { return strings.Compare(a.JSON, b.JSON) })
	for _, v := range e.Values {
		v.In = m.openEnded(v.In, t.in())
	}
	t.typ.Shape = e
}

// isMessage reports whether a node is a request or notification.
func isMessage(n node) bool {
	o, ok := n.(*objectNode)
	return ok && o.message
}
