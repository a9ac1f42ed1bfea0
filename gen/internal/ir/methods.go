package ir

import (
	"maps"
	"slices"
	"strings"
)

// methods lists the messages that the slots name, with their directions and
// results.
func (s *shaper) methods() {
	byWire := make(map[string]*Method)
	for _, d := range s.drafts {
		for _, slot := range slices.Sorted(maps.Keys(d.defs)) {
			if r := s.rules.slot(slot); r != nil && r.Direction != Results {
				for _, name := range s.slotMembers(d, slot) {
					s.method(byWire, d, name, r.Direction)
				}
			}
		}
	}
	s.unsent()
	for _, wire := range slices.Sorted(maps.Keys(byWire)) {
		m := byWire[wire]
		for _, w := range []*Window{&m.FromClient, &m.FromServer, &m.Embedded, &m.MultiRound, &m.Cacheable} {
			*w = s.extend(*w)
		}
		m.Facts = s.rules.method(wire)
		s.pages(m)
		s.pkg.Methods = append(s.pkg.Methods, m)
	}
}

// unsent reports the messages of each revision that nobody may send there.
func (s *shaper) unsent() {
	for _, d := range s.drafts {
		sent := make(map[string]bool)
		for slot := range d.defs {
			if s.rules.slot(slot) != nil {
				for _, name := range s.slotMembers(d, slot) {
					sent[name] = true
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			o, ok := d.defs[name].(*objectNode)
			if ok && o.message && !sent[name] && s.rules.slot(name) == nil && s.rules.framing(name) == nil {
				s.issues.add(o.pos(), "the message %q is in no union of messages, so nobody may send it; list it in one, or leave it out with a Framing rule", name)
			}
		}
	}
}

// extend lets a window that reaches the newest revision go on, and lets one
// that has all revisions be unbounded.
func (s *shaper) extend(w Window) Window {
	all := Window(1)<<len(s.drafts) - 1
	return s.open(w, all)
}

// slotMembers lists the messages of a union of messages. A union of one is
// printed by the schemas as that member itself.
func (m *merger) slotMembers(d *draft, slot string) []string {
	switch n := d.defs[slot].(type) {
	case *unionNode:
		var names []string
		for _, arm := range n.arms {
			if r, ok := arm.(*refNode); ok {
				names = append(names, r.def)
			}
		}
		return names
	case *refNode:
		return []string{n.def}
	case *objectNode:
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if o, ok := d.defs[name].(*objectNode); ok && name != slot && o.message && n.message && wireName(o) == wireName(n) {
				return []string{name}
			}
		}
	}
	m.issues.add(d.defs[slot].pos(), "the union of messages %q lists no message", slot)
	return nil
}

func wireName(o *objectNode) string {
	if c, ok := o.member("method").node.(*constNode); ok {
		return c.value
	}
	return ""
}

// method files one message of one revision's slot.
func (s *shaper) method(byWire map[string]*Method, d *draft, def string, dir Direction) {
	t := s.things[s.rules.sameAs(def)]
	o, ok := d.defs[def].(*objectNode)
	if t == nil || !ok || !o.message {
		s.issues.add(d.defs[def].pos(), "%q is listed as a message but has no method", def)
		return
	}
	wire := wireName(o)
	m := byWire[wire]
	if m == nil {
		notification := dir == ClientNotifications || dir == ServerNotifications
		m = &Method{Wire: wire, Type: t.typ, Notification: notification}
		m.Name = strings.TrimSuffix(strings.TrimSuffix(t.typ.Name, "Request"), "Notification")
		byWire[wire] = m
		st := t.typ.Shape.(*Struct)
		st.Method = m
		if st.Role = Request; notification {
			st.Role = Notification
		}
	}
	if m.Type != t.typ {
		s.issues.add(o.pos(), "the method %q is defined by both %q and, since %s, %q; write a Same rule if the definition was renamed",
			wire, def, s.drafts[oldest(m.Type.In)].name, m.Type.Name)
	}
	switch bit := Window(1) << d.bit; dir {
	case ClientRequests, ClientNotifications:
		m.FromClient |= bit
	case ServerRequests, ServerNotifications:
		m.FromServer |= bit
	case EmbeddedRequests:
		m.Embedded |= bit
	}
	if !m.Notification {
		s.result(m, d, def)
	}
}

// result finds what answers a request: the schema says so since results have
// responses of their own, before it is a matter of names.
func (s *shaper) result(m *Method, d *draft, def string) {
	base := strings.TrimSuffix(def, "Request")
	names := []string{base + "Result"}
	if o, ok := d.defs[base+"ResultResponse"].(*objectNode); ok && o.member("result") != nil {
		names = nil
		switch n := o.member("result").node.(type) {
		case *refNode:
			names = append(names, n.def)
		case *unionNode:
			for _, arm := range n.arms {
				if r, ok := arm.(*refNode); ok && r.def == "InputRequiredResult" {
					m.MultiRound |= 1 << d.bit
				} else if ok {
					names = append(names, r.def)
				}
			}
		}
	}
	if len(names) != 1 {
		s.issues.add(d.defs[def].pos(), "the response to %q has %d results beside the one that asks for input; want one", m.Wire, len(names))
		return
	}
	t := s.things[s.rules.sameAs(names[0])]
	if _, own := d.defs[names[0]]; t == nil || !own {
		t = s.things["Result"]
	}
	if t == nil {
		s.issues.add(d.defs[def].pos(), "%q has no result: there is neither %q nor %q", m.Wire, names[0], "Result")
		return
	}
	if m.Result != nil && m.Result != t.typ {
		s.issues.add(d.defs[def].pos(), "the result of %q changed from %q, which is of %s, to %q; write a Same rule if the definition was renamed, else the request needs a method of its own",
			m.Wire, m.Result.Name, s.drafts[oldest(m.Result.In)].name, t.typ.Name)
	}
	st, ok := t.typ.Shape.(*Struct)
	if !ok {
		s.issues.add(t.newest(""), "the result of %q is no object with members", m.Wire)
		return
	}
	m.Result = t.typ
	st.Role = Result
	for _, f := range st.Fields {
		if f.JSON == "ttlMs" && f.In.Has(d.bit) {
			m.Cacheable |= 1 << d.bit
		}
	}
}

// pages finds the list that a paged result brings.
func (s *shaper) pages(m *Method) {
	if m.Notification || m.Result == nil {
		return
	}
	if !cursor(m.Type, "cursor") || !cursor(m.Result, "nextCursor") {
		return
	}
	for _, f := range m.Result.Shape.(*Struct).Fields {
		if _, ok := f.Type.(List); ok {
			if m.Pages != nil {
				s.issues.add(m.Result.At, "a page of %q has two lists", m.Wire)
			}
			m.Pages = f
		}
	}
}

// cursor tells whether a type has a cursor: a string whose emptiness is not its
// absence.
func cursor(t *Type, name string) bool {
	return slices.ContainsFunc(t.Shape.(*Struct).Fields, func(f *Field) bool {
		s, ok := f.Type.(Scalar)
		return ok && s.Kind == String && f.JSON == name && !f.Always
	})
}
