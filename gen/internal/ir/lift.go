package ir

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/atombender/go-jsonschema/pkg/schemas"
)

// Source is one revision's schema.
type Source struct {
	Revision string
	File     string // its name in the headers of the generated files
	SHA256   string
	Defs     map[string]*schemas.Type
}

// A node is a schema without prose, framing and folding: what a position
// holds in one revision.
type node interface{ pos() string }

// at is the place a node was lifted from, as revision#/json/pointer.
type at string

func (a at) pos() string { return string(a) }

type (
	refNode struct {
		at
		def string
	}
	scalarNode struct {
		at
		kinds    []string // sorted
		format   string
		min, max *float64
	}
	enumNode struct {
		at
		values []string
	}
	constNode struct {
		at
		value string
	}
	numberNode struct { // an integer with one fixed value
		at
		value int
	}
	anyNode struct{ at }
	mapNode struct {
		at
		elem node
	}
	arrayNode struct {
		at
		elem node
		max  int
	}
	unionNode struct {
		at
		arms []node
	}
	objectNode struct {
		at
		members []member
		// Of a message: its params, and the definition they are if they are
		// one. They become the message's members unless some revision has a
		// choice of params there.
		message   bool
		params    *member
		paramsDef string
	}
)

// member is a member of an object.
type member struct {
	name     string
	node     node
	required bool
}

func (o *objectNode) member(name string) *member {
	for i := range o.members {
		if o.members[i].name == name {
			return &o.members[i]
		}
	}
	return nil
}

// draft is one revision, lifted.
type draft struct {
	name string
	bit  int
	defs map[string]node
}

// lifter lifts one revision's definitions.
type lifter struct {
	src    *Source
	issues *issues
}

// lift turns every definition of src into a node. Messages lose their framing
// and their params become their members.
func lift(src *Source, bit int, problems *issues) *draft {
	l := &lifter{src: src, issues: problems}
	d := &draft{name: src.Revision, bit: bit, defs: make(map[string]node)}
	for _, name := range slices.Sorted(maps.Keys(src.Defs)) {
		where := fmt.Sprintf("%s#/$defs/%s", src.Revision, escape(name))
		n := l.node(src.Defs[name], where)
		if o, ok := n.(*objectNode); ok {
			n = l.message(o)
		}
		d.defs[name] = n
	}
	return d
}

// node lifts one schema.
func (l *lifter) node(t *schemas.Type, where string) node {
	switch {
	case t.Ref != "":
		return &refNode{at(where), t.Ref[strings.LastIndex(t.Ref, "/")+1:]}
	case len(t.AllOf) > 0:
		return l.fold(t.AllOf, where)
	case len(t.AnyOf) > 0:
		u := &unionNode{at: at(where)}
		for i, arm := range t.AnyOf {
			u.arms = append(u.arms, l.node(arm, fmt.Sprintf("%s/anyOf/%d", where, i)))
		}
		return u
	case t.Const != nil:
		return l.constant(t.Const, where)
	case len(t.Enum) > 0:
		return l.enum(t.Enum, where)
	case len(t.Type) == 0:
		return &anyNode{at(where)}
	case len(t.Type) > 1:
		kinds := slices.Sorted(slices.Values([]string(t.Type)))
		return &scalarNode{at: at(where), kinds: kinds, min: t.Minimum, max: t.Maximum}
	}
	switch t.Type[0] {
	case "object":
		return l.object(t, where)
	case "array":
		if t.Items == nil {
			return &arrayNode{at: at(where), elem: &anyNode{at(where)}, max: t.MaxItems}
		}
		return &arrayNode{at: at(where), elem: l.node(t.Items, where+"/items"), max: t.MaxItems}
	default:
		return &scalarNode{at: at(where), kinds: t.Type, format: t.Format, min: t.Minimum, max: t.Maximum}
	}
}

func (l *lifter) constant(v any, where string) node {
	switch v := v.(type) {
	case string:
		return &constNode{at(where), v}
	case float64:
		if v == math.Trunc(v) {
			return &numberNode{at(where), int(v)}
		}
	}
	l.issues.add(where+"/const", "the constant %v of type %[1]T has no Go form; constants are strings or integers", v)
	return &anyNode{at(where)}
}

func (l *lifter) enum(values []any, where string) node {
	e := &enumNode{at: at(where)}
	for i, v := range values {
		s, ok := v.(string)
		if !ok {
			l.issues.add(fmt.Sprintf("%s/enum/%d", where, i), "an enum value of type %T has no Go form; enum values are strings", v)
		}
		e.values = append(e.values, s)
	}
	return e
}

// object lifts an object with members, or a map. An object that names no
// members says nothing about them, so it is a map of anything.
func (l *lifter) object(t *schemas.Type, where string) node {
	if len(t.Properties) == 0 {
		elem := node(&anyNode{at(where)})
		if t.AdditionalProperties != nil {
			elem = l.node(t.AdditionalProperties, where+"/additionalProperties")
		}
		return &mapNode{at(where), elem}
	}
	o := &objectNode{at: at(where)}
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		o.members = append(o.members, member{
			name:     name,
			node:     l.node(t.Properties[name], where+"/properties/"+escape(name)),
			required: slices.Contains(t.Required, name),
		})
	}
	return o
}

// fold joins the parts of an allOf into one object.
func (l *lifter) fold(parts []*schemas.Type, where string) node {
	o := &objectNode{at: at(where)}
	for i, part := range parts {
		switch n := l.resolve(l.node(part, fmt.Sprintf("%s/allOf/%d", where, i))).(type) {
		case *objectNode:
			for _, m := range n.members {
				l.join(o, m)
			}
		case *mapNode:
			if !is[*anyNode](n.elem) {
				l.issues.add(n.pos(), "a part of an allOf that is a map of one type cannot be folded")
			}
		default:
			l.issues.add(n.pos(), "a part of an allOf that is no object cannot be folded")
		}
	}
	slices.SortFunc(o.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return o
}

// join adds a member to an object that is folded. A later part may say more of it
// than the one before.
func (l *lifter) join(o *objectNode, m member) {
	have := o.member(m.name)
	if have == nil {
		o.members = append(o.members, m)
		return
	}
	if !refines(have.node, m.node) {
		l.issues.add(m.node.pos(), "%q is %s here and %s at %s, in another part of the allOf", m.name, describe(m.node), describe(have.node), have.node.pos())
	}
	*have = member{m.name, m.node, m.required || have.required}
}

// refines tells whether what fits b fits a, too.
func refines(a, b node) bool {
	switch a := a.(type) {
	case *anyNode:
		return true
	case *mapNode:
		return is[*anyNode](a.elem) && isObject(b)
	case *scalarNode:
		switch b.(type) {
		case *constNode, *enumNode:
			return slices.Contains(a.kinds, "string")
		case *numberNode:
			return slices.Contains(a.kinds, "integer") || slices.Contains(a.kinds, "number")
		}
		return describe(a) == describe(b)
	case *refNode, *constNode, *numberNode:
		return describe(a) == describe(b)
	}
	return false
}

// resolve follows references to the node of a definition.
func (l *lifter) resolve(n node) node {
	for range 32 {
		r, ok := n.(*refNode)
		if !ok {
			return n
		}
		t := l.src.Defs[r.def]
		if t == nil {
			l.issues.add(r.pos(), "there is no definition %q", r.def)
			return &anyNode{r.at}
		}
		n = l.node(t, fmt.Sprintf("%s#/$defs/%s", l.src.Revision, escape(r.def)))
	}
	l.issues.add(n.pos(), "a reference leads back to itself")
	return &anyNode{at(n.pos())}
}

// framing are the members of a message, of which the runtime takes care.
var framing = []string{"id", "jsonrpc", "method", "params"}

// message strips the framing of a request or notification, which has a method
// constant, and keeps its params aside.
func (l *lifter) message(o *objectNode) node {
	method := o.member("method")
	if method == nil {
		return o
	}
	name, ok := method.node.(*constNode)
	if !ok {
		return o // the abstract bases
	}
	if name.value == "" {
		l.issues.add(name.pos(), "the name of a method is empty")
	}
	for _, x := range o.members {
		if !slices.Contains(framing, x.name) {
			l.issues.add(x.node.pos(), "a message has no member %q beside its params; teach it to gen first", x.name)
		}
	}
	m := &objectNode{at: o.at, message: true, members: []member{{"method", name, true}}}
	p := o.member("params")
	if p == nil {
		return m
	}
	if r, ok := p.node.(*refNode); ok {
		m.paramsDef = r.def
	}
	switch n := l.resolve(p.node).(type) {
	case *objectNode, *mapNode:
		if !open(n) {
			l.issues.add(n.pos(), "params of %q that are a map of one type have no Go form", name.value)
		}
		if o, ok := n.(*objectNode); ok && o.member("method") != nil {
			l.issues.add(o.member("method").node.pos(), "a param of %q cannot be called like the method; teach it to gen first", name.value)
		}
		m.params = &member{"params", n, p.required}
	case *unionNode:
		m.params = p
	default:
		l.issues.add(n.pos(), "params of %q are no object", name.value)
	}
	return m
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// escape is the escaping of a JSON pointer.
func escape(s string) string { return escapes.Replace(s) }
