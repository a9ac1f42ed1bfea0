package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A fix is a way to represent a schema of the newest revision that the Go type cannot represent.
type fix struct {
	kind fixKind
	at   string // the type, or the member as "Type.member"
}

// fixKind is the kind of a fix. A smaller one is applied first, because problems of members may
// follow from problems of their type.
type fixKind int

const (
	noFix fixKind = iota
	// absorbFix keeps the Go struct of a definition that is a union of objects in the newest
	// revision. The struct has the members of all of them.
	absorbFix
	// splitFix gives the definition of the newest revision a Go type of its own.
	splitFix
	// rawFix makes a definition of the newest revision raw JSON. The schema of a member that refers to it
	// validates it.
	rawFix
	// keepFix keeps the Go type of a required member that the newest revision does not have.
	keepFix
	// extraFix keeps the member as raw JSON in the Extra of its object in the newest revision.
	extraFix
)

// fixes contains the fixes of all revisions: the revisions to which each applies.
type fixes map[fix]Window

// add adds the fixes of problems for the revision with the given index. It adds only fixes of the
// first kind that any problem has, and reports whether it added any.
func (f fixes) add(problems []*problem, newest int) bool {
	for _, kind := range []fixKind{absorbFix, splitFix, rawFix, keepFix, extraFix} {
		added := false
		for _, p := range problems {
			if p.fix.kind == kind && !f[p.fix].Has(newest) {
				f[p.fix] |= 1 << newest
				added = true
			}
		}
		if added {
			return true
		}
	}
	return false
}

// fixing runs f and adds x to the problems that f reports.
func (p *problemList) fixing(x fix, f func()) {
	before := p.fix
	p.fix = x
	f()
	p.fix = before
}

// typeFix returns the fix for a problem of t as a whole. If the newest revision has t inline, it
// is a fix for the member with the inline schema.
func (m *merger) typeFix(t *mergedType) fix {
	newest := len(m.documents) - 1
	if _, builtin := m.rules.builtin(t.name); builtin {
		return fix{} // the runtime depends on it
	}
	if x, ok := t.origins[newest]; ok {
		return x
	}
	def := m.documents[newest].defs[t.name]
	if def == nil && m.isSplit(newest, t.name) {
		return fix{rawFix, t.name}
	}
	older := slices.ContainsFunc(t.occs, func(o occurrence) bool { return o.bit < newest })
	alias := slices.ContainsFunc(m.documents[:newest], func(d *document) bool { return is[*refNode](d.defs[t.name]) })
	switch {
	case def == nil, is[*objectNode](def) && !older && !alias:
		return fix{}
	case !older && !alias:
		return fix{rawFix, t.name}
	}
	x := fix{absorbFix, t.name}
	if m.absorbed(newest, t.name) == nil || m.fixes[x].Has(newest) {
		x.kind = splitFix
	}
	return x
}

// isSplit reports whether a definition of a revision, which is no object, has a Go type of its own with a name.
func (m *merger) isSplit(bit int, name string) bool {
	for def, n := range m.documents[bit].defs {
		if m.nameIn(bit, def) == name && !m.isMetadata(def) && !is[*objectNode](n) {
			return true
		}
	}
	return false
}

// isMetadata reports whether a definition is the type of the metadata of messages, which the runtime writes.
func (m *merger) isMetadata(def string) bool {
	return slices.ContainsFunc(m.rules.Metas, func(r MetaRole) bool { return r.Type == def })
}

// apart splits the occurrences of a member. Its Go type represents own, and the member is in Extra
// in the revisions of extra.
func (m *merger) apart(position string, occs []occurrence) (own, extra []occurrence) {
	w := m.fixes[fix{extraFix, position}]
	for _, o := range occs {
		if w.Has(o.bit) {
			extra = append(extra, o)
		} else {
			own = append(own, o)
		}
	}
	return own, extra
}

// A Variant is the schema of a value in some revisions, which its Go type does not enforce.
type Variant struct {
	At     string // JSON pointer
	In     Window
	Schema *Schema
}

// Schema is the schema of a value that is decoded only to validate it.
type Schema struct {
	Type       Expr              // if it is not nil, the value is decoded as this type
	Definition *SchemaDefinition // if it is not nil, the value has this schema
	Types      []string
	Values     []string
	Base64     bool
	Min, Max   *float64
	Items      *Schema
	MaxItems   int
	Members    []SchemaMember
	Others     *Schema
	Closed     bool // an object has no other members
	AnyOf      []*Schema
	Equal      []string // JSON texts

	// The keywords of restrictions.
	AllOf, OneOf, First []*Schema
	Not                 *Schema
	Above, Below        *float64
	Multiple            string
	Pattern             string
	Length, Count, Size *Range
	Unique              bool
	Contains, Names     *Schema
	Contained           *Range
	Patterns            []SchemaPattern
	Dependents          []SchemaMember
}

// Parts returns the schemas in s.
func (s *Schema) Parts() []*Schema {
	parts := slices.Concat(s.AnyOf, s.AllOf, s.OneOf, s.First)
	for _, x := range []*Schema{s.Items, s.Others, s.Not, s.Contains, s.Names} {
		if x != nil {
			parts = append(parts, x)
		}
	}
	for _, x := range slices.Concat(s.Members, s.Dependents) {
		parts = append(parts, x.Schema)
	}
	for _, x := range s.Patterns {
		parts = append(parts, x.Schema)
	}
	return parts
}

// SchemaDefinition is the schema of a definition that contains itself, in one revision.
type SchemaDefinition struct {
	Name   string // the Go name of the definition
	In     Window
	Schema *Schema
}

// Range has the limits of a number of things.
type Range struct{ Min, Max int }

// SchemaPattern has the schema of the members of an object whose names match a regular expression.
type SchemaPattern struct {
	Pattern string
	Schema  *Schema
}

// SchemaMember is a declared member of an object in a [Schema].
type SchemaMember struct {
	Name     string
	Required bool
	Schema   *Schema
}

// variants returns the schemas of the occurrences of a position, and records each as a join. A revision
// must have one schema.
func (m *merger) variants(position string, kind JoinKind, occs []occurrence) (list []Variant) {
	for i, o := range occs {
		if first := slices.IndexFunc(occs[:i], func(x occurrence) bool { return x.bit == o.bit }); first >= 0 {
			if have := occs[first]; !m.sameRestriction(have, o) {
				m.problems.fixing(fix{}, func() { m.refuseTwo(position, o.bit, have.node, o.node) })
			}
			continue
		}
		list = append(list, m.variant(o))
		m.note(position, kind, m.in(1<<o.bit), describe(o.node))
	}
	return list
}

// refuseTwo reports two schemas of a position in one revision.
func (m *merger) refuseTwo(position string, bit int, a, b node) {
	r := m.problems.add(b.pos(), "%q is %s here, but %s at %s, and both have one Go type", position, describe(b), describe(a), a.pos())
	for _, n := range []node{a, b} {
		e := edit(n.pos())
		e.From = m.documents[max(bit-1, 0)].name
		r.Choose(fmt.Sprintf("The compiler reads the schema of %s at %s.", e.From, e.At), e)
	}
}

func (m *merger) variant(o occurrence) Variant {
	_, pointer, _ := strings.Cut(o.node.pos(), "#")
	return Variant{pointer, m.openEnded(1<<o.bit, 0), m.schema(o.bit, o.node, nil)}
}

// absorbedVariants returns the schemas of the revisions in which the struct t is a union.
func (m *merger) absorbedVariants(t *mergedType) (list []Variant) {
	for _, d := range m.documents {
		if u := d.defs[t.name]; m.fixes[fix{absorbFix, t.name}].Has(d.bit) && t.in().Has(d.bit) {
			list = append(list, Variant{pointerOf(u), m.openEnded(1<<d.bit, 0), m.schema(d.bit, u, nil)})
		}
	}
	return list
}

// closedVariants returns the schemas of the revisions in which the struct t, or the params of the
// message t, have no other members than the declared ones. They contain only the names of the
// members, because the fields of s have their types.
func (m *merger) closedVariants(t *mergedType, s *Struct) (list []Variant) {
	if s.hasParamsUnion() {
		return nil
	}
	for _, d := range m.documents {
		obj := m.closedObject(t, d.bit)
		switch {
		case obj == nil:
		case s.Role == Meta:
			m.refuseClosed(obj, "the metadata %q cannot be closed, because the runtime writes other members", t.name)
		case !m.fixes[fix{absorbFix, t.name}].Has(d.bit): // otherwise the schema of the union has the objects
			m.note(t.name, closedJoin, m.in(1<<d.bit))
			list = append(list, Variant{pointerOf(obj), m.openEnded(1<<d.bit, 0), s.names(d.bit)})
		}
	}
	return list
}

// closedObject returns the object of t in a revision if it is closed, or nil. If t has several objects in
// the revision, they must be equal in this respect.
func (m *merger) closedObject(t *mergedType, bit int) (first *objectNode) {
	for _, o := range t.occs {
		obj, ok := o.node.(*objectNode)
		if ok && obj.params != nil {
			obj, ok = obj.params.node.(*objectNode)
		}
		if !ok || o.bit != bit {
			continue
		}
		if first == nil {
			first = obj
		} else if obj.closed != first.closed || obj.closed && !slices.Equal(memberNames(obj), memberNames(first)) {
			for _, x := range []*objectNode{first, obj} {
				if x.closed {
					m.refuseClosed(x, "%q allows other members than this object elsewhere in the revision, and both have one Go type", t.name)
				}
			}
			return nil
		}
	}
	if first == nil || !first.closed {
		return nil
	}
	return first
}

// refuseClosed reports a closed object that the codec cannot check.
func (m *merger) refuseClosed(o *objectNode, format string, args ...any) {
	m.problems.fixing(fix{}, func() {
		m.problems.add(o.pos(), format, args...).Choose("Other members may be any JSON.", edit(o.pos()+"/additionalProperties"))
	})
}

func memberNames(o *objectNode) (names []string) {
	for _, x := range o.members {
		names = append(names, x.name)
	}
	return names
}

// hasParamsUnion reports whether s is a message whose params are a union. Its only field is params.
func (s *Struct) hasParamsUnion() bool {
	return len(s.Fields) == 1 && s.Fields[0].JSON == "params" && slices.ContainsFunc(s.Consts, func(c *Const) bool { return c.JSON == "method" && c.In == 0 })
}

// names returns the schema of an object that has no other members than s has in a revision.
func (s *Struct) names(bit int) *Schema {
	names := &Schema{Types: []string{"object"}, Closed: true}
	for _, c := range s.Consts {
		if c.In.Has(bit) {
			names.Members = append(names.Members, SchemaMember{c.JSON, false, new(Schema)})
		}
	}
	for _, f := range s.Fields {
		if f.In.Has(bit) {
			names.Members = append(names.Members, SchemaMember{f.JSON, false, new(Schema)})
		}
	}
	return names
}

// pointerOf returns the JSON pointer of a node.
func pointerOf(n node) string {
	_, pointer, _ := strings.Cut(n.pos(), "#")
	return pointer
}

// schema converts a node, with its restriction. The definitions in within contain it.
func (m *merger) schema(bit int, n node, within []string) *Schema {
	s := m.schemaOf(bit, n, within)
	if r := m.restrictionSchema(bit, n, within); r != nil {
		return &Schema{AllOf: []*Schema{s, r}}
	}
	return s
}

// schemaOf is like schema without the restriction.
func (m *merger) schemaOf(bit int, n node, within []string) *Schema {
	switch n := n.(type) {
	case *refNode:
		return m.schemaOfRef(bit, n, within)
	case *scalarNode:
		s := &Schema{Types: n.kinds, Base64: n.format == "byte", Min: n.min, Max: n.max}
		return s
	case *enumNode:
		return &Schema{Types: []string{"string"}, Values: n.values}
	case *constNode:
		return &Schema{Types: []string{"string"}, Values: []string{n.value}}
	case *numberNode, *valuesNode:
		return &Schema{Equal: constantValues(n)}
	case *mapNode:
		return &Schema{Types: []string{"object"}, Others: m.schema(bit, n.elem, within)}
	case *arrayNode:
		return &Schema{Types: []string{"array"}, Items: m.schema(bit, n.elem, within), MaxItems: n.max}
	case *unionNode:
		s := new(Schema)
		for _, alternative := range n.alternatives {
			s.AnyOf = append(s.AnyOf, m.schema(bit, alternative, within))
		}
		return s
	case *objectNode:
		if n.message {
			return m.messageSchema(bit, n, within)
		}
		s := &Schema{Types: []string{"object"}, Closed: n.closed}
		for _, mem := range n.members {
			s.Members = append(s.Members, SchemaMember{mem.name, mem.required, m.schema(bit, mem.node, within)})
		}
		return s
	}
	return new(Schema)
}

// messageSchema converts a message inside another value. The members of its params are also members of its node.
func (m *merger) messageSchema(bit int, n *objectNode, within []string) *Schema {
	method := n.member("method")
	s := &Schema{Types: []string{"object"}, Members: []SchemaMember{{"method", true, m.schema(bit, method.node, within)}}}
	if n.params != nil {
		s.Members = append(s.Members, SchemaMember{"params", n.params.required, m.schema(bit, n.params.node, within)})
	}
	return s
}

// schemaOfRef converts a reference: to the Go type of the definition, or to its schema if the Go type
// allows more values or there is none.
func (m *merger) schemaOfRef(bit int, r *refNode, within []string) *Schema {
	m.refuseFramed(bit, r)
	if t := m.typeOf(bit, m.target(bit, r.def)); t != nil && !m.restricts(bit, r, within) && !m.narrowsEnum(bit, r, within) && !m.tolerant(bit, r, nil) {
		return &Schema{Type: Named{t.typ}}
	}
	def := m.documents[bit].defs[r.def]
	switch {
	case def == nil:
		m.problems.add(r.pos(), "the definition %q has no Go type to refer to", r.def)
		return new(Schema)
	case slices.Contains(within, r.def):
		return &Schema{Definition: m.schemaDefinition(bit, r.def)}
	}
	return m.schema(bit, def, append(within, r.def))
}

// schemaDefinition returns the schema of a definition that contains itself.
func (m *merger) schemaDefinition(bit int, def string) *SchemaDefinition {
	key := inRevision{def, bit}
	x := m.recursive[key]
	if x == nil {
		x = &SchemaDefinition{Name: goName(def), In: m.openEnded(1<<bit, 0)}
		m.recursive[key] = x // before its schema, which refers to it
		x.Schema = m.schema(bit, m.documents[bit].defs[def], []string{def})
	}
	return x
}

// tolerant reports whether the decoder of the Go type of a schema, or of a part of it, accepts values that
// the schema forbids. The definitions in within contain the schema.
func (m *merger) tolerant(bit int, n node, within []string) bool {
	switch n := n.(type) {
	case *refNode:
		def := m.documents[bit].defs[n.def]
		if def == nil || slices.Contains(within, n.def) {
			return false
		}
		t := m.typeOf(bit, n.def)
		if obj, ok := def.(*objectNode); ok && t != nil && slices.ContainsFunc(memberNames(obj), func(name string) bool { return m.rules.toleratesAny(t.name + "." + name) }) {
			return true
		}
		return m.tolerant(bit, def, append(within, n.def))
	case *arrayNode:
		return m.tolerant(bit, n.elem, within)
	case *mapNode:
		return m.tolerant(bit, n.elem, within)
	case *unionNode:
		return slices.ContainsFunc(n.alternatives, func(n node) bool { return m.tolerant(bit, n, within) })
	case *objectNode:
		return slices.ContainsFunc(n.members, func(mem member) bool { return m.tolerant(bit, mem.node, within) })
	}
	return false
}

// extraWindow returns the revisions in which the value of a field is in Extra.
func extraWindow(f *Field) (w Window) {
	for _, v := range f.Extra {
		w |= v.In
	}
	return w
}

// absorbed returns an object with the members of all alternatives of a definition that is a union
// of objects. It returns nil if it is not.
func (m *merger) absorbed(bit int, def string) *objectNode {
	u, ok := m.documents[bit].defs[def].(*unionNode)
	if !ok {
		return nil
	}
	var parts []*objectNode
	for _, n := range u.alternatives {
		o, ok := m.resolved([]occurrence{{bit, n}})[0].node.(*objectNode)
		if !ok || o.message {
			return nil
		}
		parts = append(parts, o)
	}
	all := eitherObject(u.at, parts)
	for i, mem := range all.members {
		if slices.ContainsFunc(parts, func(o *objectNode) bool { return !o.closed && o.member(mem.name) == nil }) {
			all.members[i].node = &anyNode{at(mem.node.pos())} // an alternative without the member allows any value
		}
	}
	return all
}

// eitherObject returns an object with the members of all objects.
func eitherObject(where at, objects []*objectNode) *objectNode {
	all := &objectNode{at: where}
	count := make(map[string]int)
	for _, o := range objects {
		for _, mem := range o.members {
			if count[mem.name]++; count[mem.name] == 1 {
				all.members = append(all.members, mem)
				continue
			}
			have := all.member(mem.name)
			have.required = have.required && mem.required
			have.node = either(have.node, mem.node)
		}
	}
	for i := range all.members {
		mem := &all.members[i]
		mem.required = mem.required && count[mem.name] == len(objects)
	}
	slices.SortFunc(all.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return all
}

// either returns a node that allows the values of both a and b.
func either(a, b node) node {
	if equalNodes(a, b) {
		return a
	}
	return simplest(&unionNode{at: at(a.pos()), alternatives: append(alternativesOf(a), alternativesOf(b)...)})
}

// textValues returns the strings that a constant or an enum allows, or nil.
func textValues(n node) []string {
	switch n := n.(type) {
	case *constNode:
		return []string{n.value}
	case *enumNode:
		return slices.Clone(n.values)
	}
	return nil
}

// constantValues returns the JSON texts of the values that a node with constants allows, or nil.
func constantValues(n node) (list []string) {
	switch n := n.(type) {
	case *constNode, *enumNode:
		for _, text := range textValues(n) {
			list = append(list, jsonText(text))
		}
	case *numberNode:
		list = []string{strconv.Itoa(n.value)}
	case *valuesNode:
		list = slices.Clone(n.values)
	}
	return list
}

func alternativesOf(n node) []node {
	if u, ok := n.(*unionNode); ok {
		return slices.Clone(u.alternatives)
	}
	return []node{n}
}

// equalNodes reports whether two nodes are the same schema at different places.
func equalNodes(a, b node) bool {
	switch a := a.(type) {
	case *refNode:
		b, ok := b.(*refNode)
		return ok && a.def == b.def
	case *scalarNode:
		b, ok := b.(*scalarNode)
		return ok && slices.Equal(a.kinds, b.kinds) && a.format == b.format && same(a.min, b.min) && same(a.max, b.max)
	case *enumNode:
		b, ok := b.(*enumNode)
		return ok && slices.Equal(a.values, b.values)
	case *constNode:
		b, ok := b.(*constNode)
		return ok && a.value == b.value
	case *numberNode:
		b, ok := b.(*numberNode)
		return ok && a.value == b.value
	case *valuesNode:
		b, ok := b.(*valuesNode)
		return ok && slices.Equal(a.values, b.values)
	case *anyNode:
		return is[*anyNode](b)
	case *mapNode:
		b, ok := b.(*mapNode)
		return ok && equalNodes(a.elem, b.elem)
	case *arrayNode:
		b, ok := b.(*arrayNode)
		return ok && a.max == b.max && equalNodes(a.elem, b.elem)
	case *unionNode:
		b, ok := b.(*unionNode)
		return ok && slices.EqualFunc(a.alternatives, b.alternatives, equalNodes)
	case *objectNode:
		b, ok := b.(*objectNode)
		return ok && a.message == b.message && a.closed == b.closed && equalParams(a.params, b.params) && slices.EqualFunc(a.members, b.members, equalMembers)
	}
	return false
}

func equalMembers(a, b member) bool {
	return a.name == b.name && a.required == b.required && equalNodes(a.node, b.node)
}

func equalParams(a, b *member) bool {
	return a == b || a != nil && b != nil && equalMembers(*a, *b)
}
