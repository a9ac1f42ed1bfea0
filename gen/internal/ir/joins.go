package ir

import (
	"fmt"
	"slices"
	"strings"
)

// A JoinKind is a kind of change between revisions that one Go declaration represents exactly. [Joins]
// describes each.
type JoinKind int

const (
	integerJoin JoinKind = iota
	nullJoin
	textJoin
	enumJoin
	anyJoin
	renameJoin
	resultsJoin
	codeJoin
	generalJoin
	paramsJoin
	olderNameJoin
	reservedNameJoin
	typeNameJoin
	narrowerJoin
	boundsJoin
	zeroJoin
	closedJoin
	alternativesJoin
	unsentJoin
	rawJoin
	splitJoin
	extraJoin
	checkedJoin
	restrictedJoin
	presenceJoin
	constantJoin
	selectorJoin
	singleJoin
	aliasJoin
	methodJoin
)

// Joins is the table of all kinds of joins. docs/schema.md shows Change and Go. Sentence is in the summary of
// a run and in the documentation of the declaration, unless it is empty. Case is the name of the test case.
var Joins = [...]struct{ Change, Go, Sentence, Case string }{
	integerJoin: {
		"a number is an integer in some revisions",
		"`float64`. The digits of an integer that `float64` rounds are in `Extra`, and are written again",
		"It is an integer %s, with all digits.",
		"a number, an integer now",
	},
	nullJoin: {
		"a type is the same type or null in some revisions",
		"a pointer. A revision with null must require the member",
		"It may be null only %s.",
		"a type or null, without null",
	},
	textJoin: {
		"a string refers to a definition of a string",
		"the type of the string",
		"",
		"a reference to a string",
	},
	enumJoin: {
		"an enum is any string in some revisions",
		"the enum, or the open enum if there is an `Open` rule",
		"It is one of the values of the schema %s, and any string in other revisions.",
		"an open enum, closed now",
	},
	anyJoin: {
		"primitive values are any JSON in some revisions",
		"`any`, with `json.RawMessage` for other values",
		"A value may be any JSON %s, and is a [json.RawMessage] if it has no other Go type.",
		"primitive values, any JSON now",
	},
	renameJoin: {
		"a definition has another name, and no revision has both, or both are the same message",
		"the type of the older name. The newer name is an alias",
		"Its name is %s in some revisions.",
		"a renamed definition",
	},
	resultsJoin: {
		"a response has several results in some revisions",
		"the result of the older revisions. Another one is a type, and decoding it as the result of the method is an error",
		"The result may also be %s %s, which is not decoded.",
		"a response with two results",
	},
	codeJoin: {
		"an error has another code in some revisions",
		"the code of the older revisions. Each revision sends its own code, and all are understood. An error with data may share the code of another error",
		"The code is %d %s.",
		"an error code that changes",
	},
	generalJoin: {
		"a request has the general `Result` or the result of another request in some revisions",
		"the result of the older revisions, with the members of the other one",
		"It has only the members of %s %s.",
		"a result that is the general Result now",
	},
	paramsJoin: {
		"params are optional in some revisions, but their metadata is required",
		"params without members are absent there",
		"",
		"optional params with required metadata",
	},
	olderNameJoin: {
		"a member has the Go name of an older member",
		"a field with the suffix `Value`",
		"Its Go name is %s, because an older member has the name %s.",
		"a member named like an older member",
	},
	reservedNameJoin: {
		"a member has the name of a method of the generated code",
		"a field with the suffix `Value`",
		"Its Go name is %s, because generated code uses %s.",
		"a member named like a method",
	},
	typeNameJoin: {
		"a definition has the Go name of an older one, or of generated code",
		"a type with a suffix such as `Object`",
		"Another declaration has the name %s.",
		"two types with one name",
	},
	narrowerJoin: {
		"a scalar, an enum or an ID has fewer values in some revisions",
		"the type of the older revisions",
		"Only some of its values are valid %s.",
		"a string, an enum now",
	},
	boundsJoin: {
		"a number or a list has other bounds in some revisions",
		"the type of the older revisions",
		"Its bounds are different %s.",
		"a number whose bounds change",
	},
	zeroJoin: {
		"a number with a default may be absent in some revisions",
		"the number. Absent is 0, and an explicit 0 is also in `Extra`",
		"It may be absent %s, and is 0 then. An explicit 0 is also in Extra.",
		"an optional number with a default",
	},
	closedJoin: {
		"an object forbids other members in some revisions",
		"the struct. Another member is an error there, also in `Extra`",
		"It has no other members %s.",
		"an object without other members",
	},
	alternativesJoin: {
		"an object is a union of objects in some revisions",
		"the struct, with the members of all of them. An explicit `\"\"` or false is also in `Extra`",
		"It is one of several objects with fewer members %s. An explicit \"\" or false is also in Extra.",
		"a union that replaces an object",
	},
	splitJoin: {
		"a definition has no common Go type with the older one, such as a union in place of an object with other members",
		"a type with a suffix such as `Object`, and the type of the older revisions remains",
		"It is the definition %s %s.",
		"a definition that becomes a string",
	},
	rawJoin: {
		"a definition has no Go type, such as a union of strings and objects",
		"`json.RawMessage`. The schemas of the members that refer to it validate it",
		"A value is raw JSON. The codec validates it in members of other types %s.",
		"a union of a string and an object, by name",
	},
	unsentJoin: {
		"a new message is in no union of messages",
		"the type of a message that neither side can send",
		"It is in no union of messages %s, so that neither side can send it.",
		"a message in no union",
	},
	extraJoin: {
		"the revisions have any other types for a member",
		"the type of the older revisions. In the others, the value is raw JSON in `Extra`, under the name of the member",
		"It is raw JSON in Extra %s: %s.",
		"elements of a list",
	},
	checkedJoin: {
		"a new member has a schema without a Go type",
		"`json.RawMessage`",
		"It must match another schema %s: %s.",
		"a list of bounded lists",
	},
	restrictedJoin: {
		"a schema has keywords that no Go type represents in some revisions, such as `minLength`, `pattern` or `oneOf`",
		"the type without these keywords",
		"The keywords of its schema allow fewer values %s.",
		"keywords without a Go type",
	},
	presenceJoin: {
		"keywords of an object depend on which members it has, such as `minProperties` or `dependentRequired`",
		"the struct. An explicit `\"\"` or false is also in `Extra`",
		"Its schema depends on which members it has %s. An explicit \"\" or false is also in Extra.",
		"keywords about which members an object has",
	},
	constantJoin: {
		"a constant has other values in some revisions",
		"no field. Each revision writes its own constant. Another value that the revision allows is in `Extra`",
		"The member %q is %s %s.",
		"a constant that changes",
	},
	selectorJoin: {
		"the types of a union have another constant member in some revisions, or none",
		"the union. Each revision selects the type by its own members",
		"Its types are distinguished %s by %s.",
		"a union by another member",
	},
	singleJoin: {
		"a union is a single object in some revisions",
		"the union. The other types are errors there",
		"It is always %s %s.",
		"an object in place of a union of objects",
	},
	aliasJoin: {
		"a definition is only another name of a definition in some revisions",
		"the type of the older revisions. Where the name is used, the revision has the other type",
		"It is another name of %s %s.",
		"a type that becomes another name of a type",
	},
	methodJoin: {
		"a message has another method in some revisions",
		"the type of the message with this method, or a type with a suffix such as `OtherRequest`",
		"Its definition %s is %s, whose method changed.",
		"a method that changes its name",
	},
}

// A Join is a change between revisions that one Go declaration represents exactly.
type Join struct {
	At   string // "Type.member", "Type", "method tools/list" or "error -32020"
	Kind JoinKind
	Text string // a sentence for the documentation of the declaration
}

// String returns the join on one line.
func (j Join) String() string { return j.At + ": " + j.Text }

// A fieldJoin joins the schemas of one member that differ between revisions. It sets the
// properties of the field, and returns the schemas in one form and the revisions with
// another schema. If there is nothing to join, it returns no revision. The Go type is the
// type of the oldest revision.
type fieldJoin func(m *merger, f *Field, occs []occurrence) ([]occurrence, Window)

// fieldJoins are applied in order.
var fieldJoins = []struct {
	kind JoinKind
	join fieldJoin
}{{nullJoin, (*merger).joinNull}, {integerJoin, (*merger).joinNumbers}, {boundsJoin, (*merger).joinBounds}, {narrowerJoin, (*merger).joinNarrower}}

// joined applies the joins to a member.
func (m *merger) joined(position string, f *Field, occs []occurrence) []occurrence {
	for _, x := range fieldJoins {
		if list, in := x.join(m, f, occs); in != 0 {
			occs = list
			m.note(position, x.kind, m.in(in))
		}
	}
	return occs
}

// note records a join at a position. The arguments are the values in its sentence.
func (m *merger) note(position string, kind JoinKind, args ...any) {
	if j := (Join{position, kind, fmt.Sprintf(Joins[kind].Sentence, args...)}); !slices.Contains(m.joins, j) {
		m.joins = append(m.joins, j)
	}
}

// joinDoc returns the sentences about a position, for the end of its documentation. An extension has none,
// because its schema has no revisions.
func (m *merger) joinDoc(position string) (doc string) {
	if m.rules.own != nil {
		return ""
	}
	for _, j := range m.joins {
		if j.At == position {
			doc += " " + j.Text
		}
	}
	return doc
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
	m.note(position, anyJoin, m.in(anything))
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
func (m *merger) joinNull(f *Field, occs []occurrence) ([]occurrence, Window) {
	nulls, others := where(occs, nullable)
	bounded := func(n node) bool { s, ok := n.(*scalarNode); return ok && (s.min != nil || s.max != nil) }
	if nulls == 0 || others == 0 || m.any(occs, bounded) || nulls&others != 0 || f.Required&nulls != nulls {
		return nil, 0
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
	return list, nulls
}

// joinNumbers joins numbers with integers, if the oldest revision has a number. The
// digits of an integer that float64 cannot represent are in Extra.
func (m *merger) joinNumbers(f *Field, occs []occurrence) ([]occurrence, Window) {
	integers, numbers := where(occs, ofKind("integer"))
	if integers == 0 || numbers == 0 || integers&numbers != 0 || !m.all(occs, func(n node) bool { return ofKind("integer")(n) || ofKind("number")(n) }) {
		return nil, 0
	}
	first := occs[0].node.(*scalarNode)
	bounded := func(n node) bool { s := n.(*scalarNode); return same(s.min, first.min) && same(s.max, first.max) }
	if !numbers.Has(occs[0].bit) || f.Nullable || !m.all(occs, bounded) {
		return nil, 0
	}
	f.Integers = m.openEnded(integers, integers|numbers)
	list := slices.Clone(occs)
	for i, o := range list {
		number := *o.node.(*scalarNode)
		number.kinds = []string{"number"}
		list[i].node = &number
	}
	return list, integers
}

// joinBounds joins numbers and lists with different bounds. The Go type has the bounds of the
// oldest revision with any, and a schema has the others.
func (m *merger) joinBounds(f *Field, occs []occurrence) (list []occurrence, in Window) {
	first := unbounded(occs[0].node)
	if first == nil || !m.all(occs, func(n node) bool { u := unbounded(n); return u != nil && equalNodes(u, first) }) {
		return nil, 0
	}
	var bounded node
	list = slices.Clone(occs)
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
	return list, in
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

// joinNarrower joins a scalar, an enum, an ID or any object with fewer of its values. The Go type is the
// type of the older revisions, and a schema forbids the other values.
func (m *merger) joinNarrower(f *Field, occs []occurrence) (list []occurrence, in Window) {
	anyObject := false
	for _, o := range occs {
		if r, ok := o.node.(*refNode); ok {
			kind, builtin := m.rules.builtin(r.def)
			anyObject = anyObject || builtin && kind == Object
		}
		if len(list) > 0 && (m.isNarrower(list[0], o) || anyObject && isObject(m.resolved([]occurrence{o})[0].node) && !m.fitsKind(o, Object)) {
			in |= 1 << o.bit
			f.Checks = append(f.Checks, m.variant(o))
			if !is[*enumNode](m.resolved(list[:1])[0].node) {
				continue
			}
			o.node = &enumNode{at(o.node.pos()), textValues(o.node)} // the revision has these values of the enum
		}
		list = append(list, o)
	}
	return list, in
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
		if constants := constantValues(all[1].node); constants != nil && len(wide.kinds) == 1 && len(values) == 0 {
			return !slices.ContainsFunc(constants, func(v string) bool { return !allows(wide, v) })
		}
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
