package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// occurrence is a node in one revision.
type occurrence struct {
	bit  int
	node node
}

// mergedType is a type that is being merged: a definition or an inline schema, with
// its occurrences in all revisions.
type mergedType struct {
	name string // name of the definition, or Go name of the inline type
	at   string
	occs []occurrence
	typ  *Type
	// position is the first position of an inline type.
	position string
	// kind is the common kind of the occurrences.
	kind typeKind
	// origins has the fix for the place with the inline schema of a revision, by the revision's
	// index.
	origins map[int]fix
}

type typeKind int

const (
	unknownKind typeKind = iota
	structKind
	unionKind
	enumKind
	aliasKind
)

// merger merges the documents of all revisions.
type merger struct {
	documents []*document
	rules     *ruleSet
	problems  *problemList
	fixes     fixes
	types     map[string]*mergedType
	flattened map[string]string       // params definitions that are part of a message, with its name
	sent      map[string]Window       // the revisions in which a message is sent on its own
	errors    map[string][]occurrence // error definitions
	general   map[inRevision]string   // the types of the results of requests that a revision defines differently
	named     map[inRevision]string   // the types of definitions that a revision uses differently
	late      []func()                // add the general results
	recursive map[inRevision]*SchemaDefinition
	depends   map[string]Window // the revisions in which a struct is valid or not because of the members that it has
	joins     []Join            // without those of former passes
	changed   bool              // the current pass added a type or an occurrence
}

// inRevision is a definition in a revision.
type inRevision struct {
	def string
	bit int
}

// typeFor returns the type with the given name. It adds the type if there is none.
func (m *merger) typeFor(name, where string) *mergedType {
	t := m.types[name]
	if t == nil {
		t = &mergedType{name: name, at: where, typ: &Type{At: where, def: name}, origins: make(map[int]fix)}
		m.types[name] = t
		m.changed = true
	}
	return t
}

// add adds an occurrence to t, unless t has it.
func (m *merger) add(t *mergedType, bit int, n node) {
	for _, o := range t.occs {
		if o.bit == bit && o.node.pos() == n.pos() {
			return
		}
	}
	if m.problems.fix.kind != noFix {
		t.origins[bit] = m.problems.fix
	}
	t.occs = append(t.occs, occurrence{bit, n})
	slices.SortStableFunc(t.occs, func(a, b occurrence) int { return a.bit - b.bit })
	m.changed = true
}

// members returns the names of the members of all occurrences.
func (t *mergedType) members() []string {
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

// newest returns the place of a member in the newest revision that has it. If name is
// "", it returns the place of the newest occurrence.
func (t *mergedType) newest(name string) string {
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

// in returns the revisions that have t.
func (t *mergedType) in() Window { return window(t.occs) }

// window returns the revisions of occs.
func window(occs []occurrence) (w Window) {
	for _, o := range occs {
		w |= 1 << o.bit
	}
	return w
}

// kindOf returns the common kind of the occurrences of t. If t is a union in one
// revision and an object in an older one, it is a union.
func (m *merger) kindOf(t *mergedType) typeKind {
	if m.fixes[fix{rawFix, t.name}] != 0 {
		return aliasKind
	}
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
		return unionKind
	case objects > 0:
		return structKind
	case enums == len(t.occs) && enums > 0,
		enums > 0 && is[*enumNode](t.occs[0].node) && m.all(t.occs, func(n node) bool { return is[*enumNode](n) || isText(n) }):
		return enumKind
	case enums > 0 && m.rules.open(t.name) == nil:
		o := Open{At: t.name, Name: goName(t.name)}
		for _, x := range t.occs {
			for _, v := range textValues(x.node) {
				if !slices.Contains(o.Values, v) {
					o.Values = append(o.Values, v)
				}
			}
		}
		m.problems.add(t.at, "the definition is an enum in some revisions only; write an Open rule for %q", t.name).
			Choose("The Go type is a string in all revisions, with constants for the known values.", o)
	}
	return aliasKind
}

// openEnded adds all future revisions to a window that contains the newest revision.
// If w contains all revisions of the owner, the result has no bounds: what exists
// remains until a revision removes it.
func (m *merger) openEnded(w, owner Window) Window {
	if owner != 0 && w&owner == owner {
		return ^Window(0)
	}
	if newest := len(m.documents) - 1; w.Has(newest) {
		w |= ^Window(0) << newest
	}
	return w
}

// ref returns the type that a reference refers to. It follows definitions that are
// only references. It reports a problem and returns nil if there is none.
func (m *merger) ref(r *refNode, bit int) *mergedType {
	def := m.target(bit, r.def)
	t := m.typeOf(bit, def)
	if t == nil {
		m.problems.add(r.pos(), "the definition %q has no Go type to refer to", def)
	}
	return t
}

// typeOf returns the type of a definition that others can refer to, or nil. The type of an error has only
// the members of its data.
func (m *merger) typeOf(bit int, def string) *mergedType {
	name := m.nameIn(bit, def)
	if window(m.errors[name]).Has(bit) || m.fixes[fix{rawFix, name}] != 0 {
		return nil
	}
	return m.types[name]
}

// refuseFramed reports a message with its framing in another value, because the Go type of the message
// has no framing.
func (m *merger) refuseFramed(bit int, n node) {
	if m.isFramed(bit, n) {
		m.problems.fixing(fix{}, func() {
			m.problems.add(n.pos(), "a message cannot be a part of another value, because its Go type has no members for JSON-RPC").
				Choose("Any JSON is valid here.", setTo(n.pos(), "{}"))
		})
	}
}

// isFramed reports whether a value may be a message with its framing.
func (m *merger) isFramed(bit int, n node) bool {
	switch n := n.(type) {
	case *refNode:
		return m.isFramed(bit, m.documents[bit].defs[m.target(bit, n.def)])
	case *objectNode:
		return n.framed
	case *unionNode:
		return slices.ContainsFunc(n.alternatives, func(n node) bool { return m.isFramed(bit, n) })
	}
	return false
}

// target follows definitions that are only references.
func (m *merger) target(bit int, def string) string {
	for range 32 {
		next, ok := m.documents[bit].defs[def].(*refNode)
		if !ok {
			break
		}
		def = next.def
	}
	return def
}

// nameIn returns the name of the type of a definition in a revision.
func (m *merger) nameIn(bit int, def string) string {
	if name := m.named[inRevision{def, bit}]; name != "" {
		return name
	}
	name := m.rules.currentName(def)
	if m.fixes[fix{splitFix, name}].Has(bit) {
		return suffixed(name, m.documents[bit].defs[def])
	}
	return name
}

// suffixed returns the name of a type that has the name of another type, with a suffix for the kind of its node.
// The name of a message or a result keeps its ending.
func suffixed(name string, n node) string {
	for _, ending := range []string{"Request", "Notification", "Result"} {
		if base, ok := strings.CutSuffix(name, ending); ok && (isMessage(n) || ending == "Result" && isObject(n)) {
			return base + "Other" + ending
		}
	}
	return name + kindName(n)
}

// kindName returns the suffix of the name of a type that has the name of another type.
func kindName(n node) string {
	switch n.(type) {
	case *unionNode:
		return "Union"
	case *objectNode, *mapNode:
		return "Object"
	case *arrayNode:
		return "List"
	}
	return "Value"
}

// conflict reports nodes that no merge rule can join.
func (m *merger) conflict(position string, occs []occurrence, how string) Expr {
	var forms []string
	var in Window
	for _, o := range occs {
		forms = append(forms, fmt.Sprintf("%s is %s", o.node.pos(), describe(o.node)))
		in |= 1 << o.bit
	}
	what := "the revisions define %q differently and no rule merges them: %s; %s"
	if oldest(in) == newest(in) {
		what = "no rule gives %q a Go type: %s; %s"
	}
	r := m.problems.add(occs[len(occs)-1].node.pos(), what, position, strings.Join(forms, "; "), how)
	r.Untyped = true
	if m.types[position] != nil {
		m.ownDefinition(r, position)
		m.anyJSON(r, position)
	}
	return Scalar{Kind: Raw}
}

// extend adds all future revisions to a window that contains the newest revision. A
// window with all revisions becomes unbounded.
func (m *merger) extend(w Window) Window {
	all := Window(1)<<len(m.documents) - 1
	return m.openEnded(w, all)
}

func (m *merger) all(occs []occurrence, is func(node) bool) bool {
	return !slices.ContainsFunc(occs, func(o occurrence) bool { return !is(o.node) })
}

func (m *merger) any(occs []occurrence, is func(node) bool) bool {
	return slices.ContainsFunc(occs, func(o occurrence) bool { return is(o.node) })
}

// isUnion reports whether a node of a revision is a union or refers to one.
func (m *merger) isUnion(bit int, n node) bool {
	switch n := n.(type) {
	case *unionNode:
		return true
	case *refNode:
		t := m.typeOf(bit, m.target(bit, n.def))
		return t != nil && m.kindOf(t) == unionKind
	}
	return false
}
