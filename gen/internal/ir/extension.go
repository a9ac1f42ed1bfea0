package ir

import (
	"maps"
	"slices"
	"strings"
)

// Extension is the schema of an extension of the protocol.
type Extension struct {
	// Source has the definitions of the newest revision and of the extension.
	Source *Source
	// Own has the definitions of the extension. The value is the union of messages of a
	// message, such as "ClientRequest", or "".
	Own map[string]string
	// Protocol is the package of the protocol, and Path its import path.
	Protocol *Package
	Path     string
	// Shadow is the beginning of the names of definitions of the protocol whose names the extension
	// uses for its own.
	Shadow string
	// Trim is removed from the beginning of Go names.
	Trim string
	// Objects are the definitions without members that have a Go type of their own.
	Objects []string
	// Elsewhere has the types of definitions that another package implements.
	Elsewhere map[string]Type
}

// BuildExtension compiles an extension into a package that has only the types and methods of
// the extension. Its types refer to the types of the protocol's package.
func BuildExtension(x *Extension, rules *Rules, docs Docs) (*Package, error) {
	set := extensionRules(x, rules)
	p, err := compile([]*Source{x.Source}, set, docs)
	if err != nil {
		return nil, err
	}
	protocol := *x.Source
	protocol.Defs = maps.Clone(x.Source.Defs)
	for name := range x.Own {
		delete(protocol.Defs, name)
	}
	without, err := compile([]*Source{&protocol}, extensionRules(x, rules), NoDocs{})
	if err != nil {
		return nil, err
	}
	problems := &problemList{}
	p.removeProtocol(x, without, problems)
	return p, problems.err("extension")
}

// extensionRules returns the rules for an extension. The definitions that another package
// implements have a type.
func extensionRules(x *Extension, rules *Rules) *ruleSet {
	r := *rules
	r.Framing = slices.DeleteFunc(slices.Clone(r.Framing), func(f Framing) bool {
		_, elsewhere := x.Elsewhere[f.Definition]
		return elsewhere
	})
	set := newRuleSet(&r)
	set.own, set.objects = x.Own, x.Objects
	return set
}

// removeProtocol makes the protocol's types in p types of another package, and removes
// everything that is not part of the extension.
func (p *Package) removeProtocol(x *Extension, without *Package, problems *problemList) {
	find := func(list []*Type, name string) *Type {
		if i := slices.IndexFunc(list, func(t *Type) bool { return t.Name == name }); i >= 0 {
			return list[i]
		}
		return nil
	}
	removed := make(map[*Type]bool) // and not in the protocol's package
	p.Types = slices.DeleteFunc(p.Types, func(t *Type) bool {
		if find(without.Types, t.Name) == nil {
			return false
		}
		if other, ok := x.Elsewhere[t.Name]; ok {
			t.Name, t.Package = other.Name, other.Package
			return true
		}
		other := find(x.Protocol.Types, t.Name)
		if other == nil { // the extension has a definition of this name
			other = find(x.Protocol.Types, strings.TrimPrefix(t.Name, x.Shadow))
		}
		if other == nil {
			removed[t] = true
			return true
		}
		*t = *other
		t.Package = x.Path
		return true
	})
	for _, t := range p.Types {
		eachType(t, func(used *Type) {
			if removed[used] {
				problems.add(used.At, "the protocol's package has no type %q", used.Name)
			}
		})
	}
	p.Methods = slices.DeleteFunc(p.Methods, func(m *Method) bool { return m.Type.Package != "" })
	p.Errors = slices.DeleteFunc(p.Errors, func(e *Error) bool {
		return slices.ContainsFunc(x.Protocol.Errors, func(o *Error) bool { return o.Name == e.Name })
	})
	p.Forms = slices.DeleteFunc(p.Forms, func(f Form) bool { _, own := x.Own[f.Definition]; return !own })
	p.Undocumented = nil
	p.Joins = nil
	for _, t := range p.Types {
		t.Area = "extension"
		t.trim(x.Trim)
	}
	for _, m := range p.Methods {
		m.Name = strings.TrimSuffix(strings.TrimSuffix(m.Type.Name, "Request"), "Notification")
	}
}

// eachType calls use with each type that t refers to, except for the metadata of a message.
func eachType(t *Type, use func(*Type)) {
	expr := func(e Expr) {
		if named, ok := Innermost(e).(Named); ok {
			use(named.Type)
		}
	}
	switch x := t.Shape.(type) {
	case *Struct:
		for _, f := range x.Fields {
			if f.Role != Meta {
				expr(f.Type)
			}
		}
	case *Union:
		for _, mem := range x.Members {
			use(mem.Type)
		}
	case *Alias:
		expr(x.Of)
	}
}

// trim removes a prefix from the names of t.
func (t *Type) trim(prefix string) {
	short := strings.TrimPrefix(t.Name, prefix)
	if short == "" || short == t.Name {
		return
	}
	if e, ok := t.Shape.(*Enum); ok {
		for _, v := range e.Values {
			v.Name = short + strings.TrimPrefix(v.Name, t.Name)
		}
	}
	t.Name = short
}

// unionAsObject returns an object with the members of all alternatives of a union of objects.
// A constant that differs between the alternatives becomes an enum, and its values require the
// members of their alternative.
func (p *parser) unionAsObject(u *unionNode) node {
	var parts []*objectNode
	for _, alternative := range u.alternatives {
		o, ok := p.resolve(alternative).(*objectNode)
		if !ok {
			p.problems.add(alternative.pos(), "a part of an allOf must be an object, or a union of objects")
			return &objectNode{at: u.at}
		}
		parts = append(parts, o)
	}
	o := eitherObject(u.at, parts)
	for i := range o.members {
		switch m := &o.members[i]; n := m.node.(type) {
		case *enumNode:
			m.node = p.named(n)
		case *unionNode:
			if !slices.ContainsFunc(parts, func(part *objectNode) bool { have := part.member(m.name); return have != nil && have.node == m.node }) {
				p.problems.add(n.pos(), "the member %q is %s in one alternative of the union, but %s in another", m.name, describe(n.alternatives[0]), describe(n.alternatives[1]))
			}
		}
	}
	p.findCases(o, parts)
	return o
}

// named returns a reference to the definition that has exactly the values of an enum, or the enum.
func (p *parser) named(e *enumNode) node {
	for _, name := range slices.Sorted(maps.Keys(p.src.Defs)) {
		var have []string
		for _, v := range p.src.Defs[name].Enum {
			s, _ := v.(string)
			have = append(have, s)
		}
		if slices.Sort(have); slices.Equal(have, slices.Sorted(slices.Values(e.values))) {
			return &refNode{e.at, name}
		}
	}
	return e
}

// findCases sets the cases of an object that was a union: the members that an alternative requires
// and others do not. If no constant identifies the alternatives, an object that has the members of one
// of them is valid, and all objects are if one alternative requires none.
func (p *parser) findCases(o *objectNode, parts []*objectNode) {
	key := slices.IndexFunc(o.members, func(m member) bool {
		return m.required && !slices.ContainsFunc(parts, func(part *objectNode) bool { return !is[*constNode](part.member(m.name).node) })
	})
	for _, part := range parts {
		var c objectCase
		for _, m := range part.members {
			if m.required && !o.member(m.name).required {
				c.required = append(c.required, m.name)
			}
		}
		if key >= 0 {
			o.caseKey = o.members[key].name
			c.value = part.member(o.caseKey).node.(*constNode).value
		}
		if len(c.required) > 0 {
			o.cases = append(o.cases, c)
		}
	}
	if key < 0 && len(o.cases) < len(parts) {
		o.cases = nil
	}
}

// setCases sets the members of a struct that depend on the value of another one.
func (s *analyzer) setCases(t *mergedType, st *Struct) {
	for _, o := range t.occs {
		n, ok := o.node.(*objectNode)
		if !ok || n.cases == nil {
			continue
		}
		if n.caseKey != "" {
			st.Case = fieldNamed(st, n.caseKey)
		}
		for _, c := range n.cases {
			x := Case{Value: c.value}
			for _, name := range c.required {
				f := fieldNamed(st, name)
				if f.omitsZero() {
					f.Zeros = ^Window(0)
				}
				x.Required = append(x.Required, f)
			}
			st.Cases = append(st.Cases, x)
		}
	}
}

// omitsZero reports whether a member with an empty string, or a number that is zero, is omitted.
func (f *Field) omitsZero() bool {
	if f.Pointer || f.Always {
		return false
	}
	switch x := f.Type.(type) {
	case Scalar:
		return x.Kind == String || x.Kind == Int || x.Kind == Float
	case Named:
		_, enum := x.Type.Shape.(*Enum)
		return enum
	}
	return false
}
