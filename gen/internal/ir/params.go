package ir

import (
	"maps"
	"slices"
)

// findParams finds the definitions that are the params of exactly one message:
// they have no Go type of their own.
func (m *merger) findParams() {
	users := make(map[string]map[string]bool)
	unions := make(map[string]bool)
	for _, d := range m.drafts {
		for name, n := range d.defs {
			if o, ok := n.(*objectNode); ok && o.message && o.paramsDef != "" && m.rules.slot(name) == nil {
				if users[o.paramsDef] == nil {
					users[o.paramsDef] = make(map[string]bool)
				}
				users[o.paramsDef][m.rules.sameAs(name)] = true
			}
			if _, ok := n.(*unionNode); ok {
				unions[name] = true
			}
		}
	}
	for def, by := range users {
		if len(by) == 1 && !unions[def] {
			for name := range by {
				m.flat[def] = name
			}
		}
	}
}

// flatten makes the params of each message its members. Where some revision
// has a choice of params, the message keeps them in one member in all.
func (m *merger) flatten() {
	choice := make(map[string]bool)
	each := func(f func(name string, o *objectNode)) {
		for _, d := range m.drafts {
			for _, name := range slices.Sorted(maps.Keys(d.defs)) {
				if o, ok := d.defs[name].(*objectNode); ok && o.params != nil {
					f(name, o)
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

// findSenders finds out in which revisions each message travels on its own.
func (m *merger) findSenders() {
	for _, d := range m.drafts {
		for _, slot := range slices.Sorted(maps.Keys(d.defs)) {
			if r := m.rules.slot(slot); r != nil && r.Direction != Results && r.Direction != EmbeddedRequests {
				for _, name := range m.slotMembers(d, slot) {
					m.sent[m.rules.sameAs(name)] |= 1 << d.bit
				}
			}
		}
	}
}
