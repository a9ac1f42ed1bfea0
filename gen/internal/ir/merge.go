package ir

import (
	"maps"
	"slices"
)

// merge adds all definitions and then merges every type until nothing new turns up.
// More than one pass may be needed, because an inline schema of an old revision may be
// an occurrence of a type that a newer revision defines.
func merge(documents []*document, rules *ruleSet, fixes fixes, problems *problemList) *merger {
	m := &merger{documents: documents, rules: rules, problems: problems, fixes: fixes,
		types: make(map[string]*mergedType), flattened: make(map[string]string), sent: make(map[string]Window), errors: make(map[string][]occurrence),
		general: make(map[inRevision]string), named: make(map[inRevision]string)}
	m.findRenamed()
	m.findResults()
	m.findParams()
	m.flattenParams()
	m.findSentMessages()
	for _, d := range documents {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			m.addDefinition(d, name, d.defs[name])
		}
	}
	for _, add := range m.late {
		add()
	}
	for _, name := range slices.Sorted(maps.Keys(rules.renamed)) {
		if t := m.types[rules.renamed[name]]; t != nil {
			m.note(t.name, renameJoin, name)
		}
	}
	m.applyWiden()
	if m.reportCycles() {
		return m
	}
	joins := m.joins
	for pass := 0; ; pass++ {
		m.changed, m.problems.list, m.joins = false, nil, slices.Clone(joins)
		m.recursive, m.depends = make(map[inRevision]*SchemaDefinition), make(map[string]Window)
		for _, name := range slices.Sorted(maps.Keys(m.types)) {
			t := m.types[name]
			m.problems.fixing(m.typeFix(t), func() { m.mergeType(t) })
		}
		if !m.changed {
			m.refuseUnchecked()
			return m
		}
		if pass > 50 {
			m.problems.add("merge", "the merge is not finished after 50 passes")
			return m
		}
	}
}

// findParams finds the definitions that are the params of exactly one message. They
// have no Go type of their own.
func (m *merger) findParams() {
	users, before := make(map[string]map[string]bool), make(map[string]map[string]bool)
	unions := make(map[string]bool)
	for _, d := range m.documents {
		for name, n := range d.defs {
			if o, ok := n.(*objectNode); ok && o.message && o.paramsDef != "" && m.rules.messageUnion(name) == nil {
				for _, list := range []map[string]map[string]bool{users, before} {
					if list[o.paramsDef] == nil {
						list[o.paramsDef] = make(map[string]bool)
					}
				}
				users[o.paramsDef][m.nameIn(d.bit, name)] = true
				if d.bit < len(m.documents)-1 {
					before[o.paramsDef][m.nameIn(d.bit, name)] = true
				}
			}
			if _, ok := n.(*unionNode); ok {
				unions[name] = true
			}
		}
	}
	for def, by := range users {
		if len(by) > 1 && len(before[def]) == 1 && !m.isReferred(def) {
			by = before[def] // the newest revision has the params in several messages
		}
		if len(by) == 1 && !unions[def] && !m.isType(def) {
			for name := range by {
				m.flattened[def] = name
			}
		}
	}
}

// paramsOwner returns the message of which the params of a revision are a part.
func (m *merger) paramsOwner(d *document, params string) (owner string) {
	owner = m.flattened[params]
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		if o, ok := d.defs[name].(*objectNode); ok && o.message && o.paramsDef == params && m.rules.messageUnion(name) == nil {
			if owner = m.nameIn(d.bit, name); owner == m.flattened[params] {
				break
			}
		}
	}
	return owner
}

// isReferred reports whether the newest revision refers to a definition, except as the params of a
// message.
func (m *merger) isReferred(def string) bool {
	var refers func(n node) bool
	refers = func(n node) bool {
		switch n := n.(type) {
		case *refNode:
			return n.def == def
		case *mapNode:
			return refers(n.elem)
		case *arrayNode:
			return refers(n.elem)
		case *unionNode:
			return slices.ContainsFunc(n.alternatives, refers)
		case *objectNode:
			return slices.ContainsFunc(n.members, func(mem member) bool { return refers(mem.node) })
		}
		return false
	}
	for _, n := range m.documents[len(m.documents)-1].defs {
		if refers(n) {
			return true
		}
	}
	return false
}

// isType reports whether the oldest revision with a definition uses it as anything but
// the params of one message. Its Go type must remain.
func (m *merger) isType(def string) bool {
	for _, d := range m.documents {
		if d.defs[def] == nil {
			continue
		}
		for _, n := range d.defs {
			if o, ok := n.(*objectNode); ok && o.message && o.paramsDef == def {
				return false
			}
		}
		return true
	}
	return false
}

// flattenParams makes the params of each message members of the message. If the params
// are a union in some revision, the message has a single member for them in all
// revisions.
func (m *merger) flattenParams() {
	choice := make(map[string]bool)
	each := func(f func(name string, o *objectNode)) {
		for _, d := range m.documents {
			for _, name := range slices.Sorted(maps.Keys(d.defs)) {
				if o, ok := d.defs[name].(*objectNode); ok && o.params != nil {
					f(m.nameIn(d.bit, name), o)
				}
			}
		}
	}
	each(func(name string, o *objectNode) {
		if !isObject(o.params.node) {
			choice[name] = true
		}
	})
	each(func(name string, o *objectNode) {
		if choice[name] {
			o.members = append(o.members, *o.params)
		} else if params, ok := o.params.node.(*objectNode); ok {
			o.members = append(o.members, params.members...)
		}
	})
}

// findSentMessages finds the revisions in which each message is sent on its own.
func (m *merger) findSentMessages() {
	for _, d := range m.documents {
		byUnion, _ := m.messages(d)
		for union, names := range byUnion {
			if r := m.rules.messageUnion(union); r.Direction != Results && r.Direction != EmbeddedRequests {
				for _, name := range names {
					m.sent[m.nameIn(d.bit, name)] |= 1 << d.bit
				}
			}
		}
	}
}

// reportCycles reports the lists and maps that contain themselves, and reports whether
// there are any. [merger.follow] would follow them forever.
func (m *merger) reportCycles() (found bool) {
	for _, d := range m.documents {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if !m.isRaw(d.bit, name) && m.inCycle(d, d.defs[name], []string{name}) {
				m.problems.fixing(fix{rawFix, m.nameIn(d.bit, name)}, func() {
					r := m.problems.add(d.defs[name].pos(), "%q contains itself without an object in between, which Go cannot represent; write a Types rule", name)
					m.anyJSON(r, name)
				})
				found = true
			}
		}
	}
	return found
}

// isRaw reports whether the Go type of a definition is raw JSON, because no other type represents it.
func (m *merger) isRaw(bit int, def string) bool {
	return m.fixes[fix{rawFix, m.nameIn(bit, def)}] != 0
}

// inCycle reports whether a list or map refers to one of the definitions that contain
// it.
func (m *merger) inCycle(d *document, n node, within []string) bool {
	switch n := n.(type) {
	case *arrayNode:
		return m.inCycle(d, n.elem, within)
	case *mapNode:
		return m.inCycle(d, n.elem, within)
	case *refNode:
		if _, fixed := m.rules.builtin(n.def); fixed || m.isRaw(d.bit, n.def) {
			return false
		}
		return slices.Contains(within, n.def) || m.inCycle(d, d.defs[n.def], append(within, n.def))
	}
	return false
}

// addDefinition adds a definition of one revision.
func (m *merger) addDefinition(d *document, def string, n node) {
	name := def
	if union := m.rules.messageUnion(name); union != nil {
		if union.Direction == Results {
			return
		}
		n = m.asUnion(d, union, n)
	}
	if _, alias := n.(*refNode); alias || m.rules.framing(name) != nil || m.flattened[name] != "" {
		return
	}
	if slices.Contains(m.rules.objects, name) && isOpenMap(n) {
		n = &objectNode{at: at(n.pos())}
	}
	if name = m.nameIn(d.bit, name); name != m.rules.currentName(def) {
		if isMessage(n) {
			m.note(name, methodJoin, m.in(1<<d.bit), def)
		} else {
			m.note(name, splitJoin, def, m.in(1<<d.bit))
		}
	}
	if code, data := errorOf(n); code != 0 {
		m.errors[name] = append(m.errors[name], occurrence{d.bit, n})
		if o, ok := m.resolved([]occurrence{{d.bit, data}})[0].node.(*objectNode); ok {
			m.add(m.typeFor(name, n.pos()), d.bit, o)
		}
		return
	}
	t := m.typeFor(name, n.pos())
	if m.fixes[fix{absorbFix, name}].Has(d.bit) && name == m.rules.currentName(def) {
		m.note(name, alternativesJoin, m.in(1<<d.bit))
		n = m.absorbed(d.bit, def)
	}
	m.add(t, d.bit, n)
}

// asUnion converts a union of messages with a single member, which the schema contains
// as that member itself, to a union. A peer may send messages that the union lacks, but a result embeds only its members.
func (m *merger) asUnion(d *document, union *MessageUnion, n node) node {
	if _, ok := n.(*unionNode); ok {
		return n
	}
	u := &unionNode{at: at(n.pos()), single: union.Direction == EmbeddedRequests}
	for _, name := range m.messagesIn(d, union.Definition) {
		u.alternatives = append(u.alternatives, &refNode{at(n.pos()), name})
	}
	return u
}

// applyWiden adds the occurrences of the Widen rules.
func (m *merger) applyWiden() {
	for i := range m.rules.Widen {
		w := &m.rules.Widen[i]
		t := m.types[w.Definition]
		for _, d := range m.documents {
			like, ok := d.defs[w.Like].(*objectNode)
			if t == nil || !ok || !m.widens(w, d.bit) {
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

// widens reports whether a Widen rule applies to a revision: the revision of the rule, or
// one in which the definition has the same members, and perhaps more.
func (m *merger) widens(w *Widen, bit int) bool {
	here, ok := m.documents[bit].defs[w.Like].(*objectNode)
	if !ok {
		return false
	}
	for _, d := range m.documents {
		if there, ok := d.defs[w.Like].(*objectNode); ok && d.name == w.In {
			return d.bit == bit || !slices.ContainsFunc(there.members, func(a member) bool {
				b := here.member(a.name)
				return b == nil || a.required != b.required
			})
		}
	}
	return false
}

// mergeType merges the occurrences of t into its Go type.
func (m *merger) mergeType(t *mergedType) {
	t.typ.In = t.in()
	if kind, ok := m.rules.builtin(t.name); ok {
		t.kind, t.typ.Shape = aliasKind, &Alias{Of: Scalar{Kind: kind}}
		if slices.ContainsFunc(t.occs, func(o occurrence) bool { return !m.fitsKind(o, kind) }) {
			m.conflict(t.name, t.occs, "change its Types rule")
		}
		return
	}
	if m.fixes[fix{rawFix, t.name}] != 0 {
		t.kind, t.typ.Shape = aliasKind, &Alias{Of: Scalar{Kind: Raw}}
		m.note(t.name, rawJoin, m.in(t.in()))
		return
	}
	if len(t.occs) == 0 {
		m.problems.add(t.at, "a rule requires %q here, but no schema defines it", t.name)
		return
	}
	if o := m.rules.open(t.name); o != nil {
		m.mergeOpenEnum(t, o)
		return
	}
	switch m.kindOf(t) {
	case unionKind:
		t.kind = unionKind
		m.mergeUnion(t)
	case enumKind:
		if t.kind = enumKind; m.all(t.occs, is[*enumNode]) {
			m.mergeEnum(t)
			return
		}
		m.mergeOpenEnum(t, &Open{})
	case structKind:
		t.kind = structKind
		m.mergeStruct(t)
	default:
		t.kind = aliasKind
		if m.any(t.occs, nullable) {
			m.conflict(t.name, t.occs, "a definition that may be null has no Go type; write a Types rule")
		}
		t.typ.Shape = &Alias{Of: m.expr(t.name, t.occs)}
	}
}

// messages returns the messages of a revision by their unions. A message that the
// revision lists in no union is in the unions of the newest revision that lists it. If
// there is none, it is unsent.
func (m *merger) messages(d *document) (byUnion map[string][]string, unsent []string) {
	byUnion = m.listed(d)
	sent := make(map[string]bool)
	for _, names := range byUnion {
		for _, name := range names {
			sent[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		o, ok := d.defs[name].(*objectNode)
		if !ok || !o.message || sent[name] || m.rules.messageUnion(name) != nil || m.rules.framing(name) != nil {
			continue
		}
		unions := m.unionsOf(wireName(o))
		if union := m.rules.own[name]; union != "" {
			unions = []string{union}
		}
		if len(unions) == 0 {
			unsent = append(unsent, name)
		}
		for _, union := range unions {
			byUnion[union] = append(byUnion[union], name)
		}
	}
	return byUnion, unsent
}

// listed returns the messages that each union of messages of a revision lists.
func (m *merger) listed(d *document) map[string][]string {
	byUnion := make(map[string][]string)
	for union := range d.defs {
		if m.rules.messageUnion(union) != nil {
			byUnion[union] = m.messagesIn(d, union)
		}
	}
	return byUnion
}

// unionsOf returns the unions that list a method, in the newest revision in which any
// does.
func (m *merger) unionsOf(method string) (unions []string) {
	for _, d := range slices.Backward(m.documents) {
		for union, names := range m.listed(d) {
			if slices.ContainsFunc(names, func(name string) bool {
				o, ok := d.defs[name].(*objectNode)
				return ok && o.message && wireName(o) == method
			}) {
				unions = append(unions, union)
			}
		}
		if len(unions) > 0 {
			return unions
		}
	}
	return nil
}

// messagesIn returns the names of the messages in a union of messages. A union with a
// single member is in the schema as that member itself, with the same method and params.
func (m *merger) messagesIn(d *document, union string) []string {
	switch n := d.defs[union].(type) {
	case *unionNode:
		var names []string
		for _, alternative := range n.alternatives {
			if r, ok := alternative.(*refNode); ok {
				names = append(names, m.messagesFor(d, r)...)
			}
		}
		return names
	case *refNode:
		return m.messagesFor(d, n)
	case *objectNode:
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if o, ok := d.defs[name].(*objectNode); ok && name != union && o.message && n.message && wireName(o) == wireName(n) && equalParams(o.params, n.params) {
				return []string{name}
			}
		}
	}
	m.removal(m.problems.add(d.defs[union].pos(), "the union of messages %q lists no message", union), d, union)
	return nil
}

// messagesFor returns the message that a reference refers to, or the messages if it refers to a union.
func (m *merger) messagesFor(d *document, r *refNode) (names []string) {
	name := m.target(d.bit, r.def)
	u, ok := d.defs[name].(*unionNode)
	if !ok {
		return []string{name}
	}
	for _, alternative := range u.alternatives {
		if r, ok := alternative.(*refNode); ok && m.target(d.bit, r.def) != name {
			names = append(names, m.target(d.bit, r.def))
		}
	}
	return names
}

func wireName(o *objectNode) string {
	if c, ok := o.member("method").node.(*constNode); ok {
		return c.value
	}
	return ""
}
