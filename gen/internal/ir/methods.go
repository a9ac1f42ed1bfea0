package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// methods collects the messages of the message unions, with their directions and
// results.
func (s *analyzer) methods() {
	byWire := make(map[string]*Method)
	for _, d := range s.documents {
		byUnion, unsent := s.messages(d)
		for _, union := range slices.Sorted(maps.Keys(byUnion)) {
			if r := s.rules.messageUnion(union); r.Direction != Results {
				for _, name := range byUnion[union] {
					s.method(byWire, d, name, r.Direction)
				}
			}
		}
		for _, name := range unsent {
			s.method(byWire, d, name, unsentMessages)
		}
	}
	for _, wire := range slices.Sorted(maps.Keys(byWire)) {
		m := byWire[wire]
		for _, w := range []*Window{&m.FromClient, &m.FromServer, &m.Embedded, &m.Unsent, &m.MultiRound, &m.Cacheable} {
			*w = s.extend(*w)
		}
		m.Facts = s.rules.method(wire)
		s.pages(m)
		s.pkg.Methods = append(s.pkg.Methods, m)
	}
}

// refuseID reports a request without an id, or a notification with one.
func (s *analyzer) refuseID(m *Method, d *document, def string, o *objectNode) {
	kind, id := "request", "no id"
	if m.Notification {
		kind, id = "notification", "an id"
	}
	r := s.problems.add(o.pos(), "the %s %q has %s here", kind, m.Wire, id)
	if older := s.documents[max(d.bit-1, 0)]; older.defs[def] != nil {
		r.Choose(fmt.Sprintf("The definition of %s is the definition of %s.", def, older.name), Edit{In: d.name, At: "/$defs/" + escape(def), From: older.name})
	}
	s.removal(r, d, def)
}

// method adds a message of one revision's message union.
func (s *analyzer) method(byWire map[string]*Method, d *document, def string, dir Direction) {
	t := s.types[s.nameIn(d.bit, def)]
	o, ok := d.defs[def].(*objectNode)
	if t == nil || !ok || !o.message {
		s.problems.add(d.defs[def].pos(), "%q is listed as a message but has no method", def).
			Choose("It is not in the union of messages, and has a Go type only if others refer to it.", s.unlisted(d, def)...)
		return
	}
	wire := wireName(o)
	m := byWire[wire]
	if m == nil {
		notification := dir == ClientNotifications || dir == ServerNotifications || dir == unsentMessages && strings.HasSuffix(def, "Notification")
		m = &Method{Wire: wire, Type: t.typ, Notification: notification}
		m.Name = strings.TrimSuffix(strings.TrimSuffix(t.typ.Name, "Request"), "Notification")
		byWire[wire] = m
		st, ok := t.typ.Shape.(*Struct)
		if !ok {
			s.problems.add(o.pos(), "the message %q is not an object in all revisions", def)
			return
		}
		st.Method = m
		if st.Role = Request; notification {
			st.Role = Notification
		}
	}
	if m.Type != t.typ {
		r := s.problems.add(o.pos(), "the method %q is defined by both %q and, since %s, %q; write a Renamed rule if the definition was renamed",
			wire, def, s.documents[oldest(m.Type.In)].name, m.Type.Name)
		if older := s.documents[max(d.bit-1, 0)]; older.defs[def] != nil {
			r.Choose(fmt.Sprintf("The definition of %s is the definition of %s.", def, older.name), Edit{In: d.name, At: "/$defs/" + escape(def), From: older.name})
		}
		if d.defs[m.Type.def] == nil && s.defined(m.Type.def) {
			r.Choose("The definition was renamed, and the Go type keeps its name.", Renaming{Old: m.Type.def, New: def}, Name{At: def, Go: m.Type.Name})
		}
		s.removal(r, d, def)
		return
	}
	if o.framed && o.hasID == m.Notification {
		s.refuseID(m, d, def, o)
		return
	}
	switch bit := Window(1) << d.bit; dir {
	case ClientRequests, ClientNotifications:
		m.FromClient |= bit
	case ServerRequests, ServerNotifications:
		m.FromServer |= bit
	case EmbeddedRequests:
		m.Embedded |= bit
	case unsentMessages:
		m.Unsent |= bit
		s.note("method "+wire, unsentJoin, s.in(bit))
	}
	if !m.Notification {
		s.result(m, d, def)
	}
}

// results returns the names of the results of a request. Newer schemas define a response
// for each request, which refers to the result. In older schemas, only the names match.
// rounds reports whether the response may be an InputRequiredResult.
func (m *merger) results(d *document, def string) (names []string, rounds bool) {
	base := strings.TrimSuffix(def, "Request")
	if older := strings.TrimSuffix(m.rules.olderName(def), "Request"); d.defs[base+"ResultResponse"] == nil && d.defs[base+"Result"] == nil {
		base = older // its name has no result
	}
	o, ok := d.defs[base+"ResultResponse"].(*objectNode)
	if !ok || o.member("result") == nil {
		name := base + "Result"
		for _, newer := range slices.Sorted(maps.Keys(m.rules.renamed)) {
			if old := m.rules.renamed[newer]; old == name && d.defs[name] == nil && d.defs[newer] != nil {
				name = newer
			}
		}
		return []string{name}, false
	}
	switch n := o.member("result").node.(type) {
	case *refNode:
		names = append(names, n.def)
	case *unionNode:
		for _, alternative := range n.alternatives {
			if r, ok := alternative.(*refNode); ok && r.def == "InputRequiredResult" {
				rounds = true
			} else if ok {
				names = append(names, r.def)
			}
		}
	}
	return names, rounds
}

// result sets the result of a request.
func (s *analyzer) result(m *Method, d *document, def string) {
	names, rounds := s.results(d, def)
	if rounds {
		m.MultiRound |= 1 << d.bit
	}
	t := s.types[s.general[inRevision{s.nameIn(d.bit, def), d.bit}]]
	if len(names) > 1 && t == nil {
		names = s.mainResult(m, d, def, names)
	}
	if len(names) != 1 && t == nil {
		r := s.problems.add(d.defs[def].pos(), "the response to %q has %d results other than InputRequiredResult; want 1", m.Wire, len(names))
		for _, name := range names {
			r.Choose("The result is always "+name+".", Edit{In: d.name, At: "/$defs/" + escape(strings.TrimSuffix(def, "Request")+"ResultResponse") + "/properties/result", JSON: fmt.Sprintf(`{"$ref": "#/$defs/%s"}`, name)})
		}
		return
	}
	if t == nil {
		t = s.types[s.nameIn(d.bit, names[0])]
		if _, own := d.defs[names[0]]; t == nil || !own {
			t = s.types["Result"]
		}
	}
	if t == nil {
		s.problems.add(d.defs[def].pos(), "%q has no result: neither %q nor %q is defined", m.Wire, names[0], "Result").
			Choose("The result is any object.", Edit{In: d.name, At: "/$defs/Result", JSON: `{"type": "object", "properties": {"_meta": {"type": "object"}}}`})
		return
	}
	if m.Result != nil && m.Result != t.typ {
		s.problems.add(d.defs[def].pos(), "the result of %q changed from %q, defined since %s, to %q; write a Renamed rule if the definition was renamed, or give the request its own method",
			m.Wire, m.Result.Name, s.documents[oldest(m.Result.In)].name, t.typ.Name).
			Choose("The result remains "+m.Result.def+".", Edit{In: d.name, At: "/$defs/" + escape(strings.TrimSuffix(def, "Request")+"ResultResponse") + "/properties/result", JSON: fmt.Sprintf(`{"$ref": "#/$defs/%s"}`, m.Result.def)})
	}
	st, ok := t.typ.Shape.(*Struct)
	if !ok {
		s.problems.add(t.newest(""), "the result of %q is not an object with members", m.Wire).
			Choose("The result is decoded as Result, and its members are in Extra.", Edit{In: d.name, At: "/$defs/" + escape(names[0]), JSON: `{"$ref": "#/$defs/Result"}`})
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

// mainResult returns the result that older revisions have, if a response has several. The
// others have no part in the method, as the results of tasks in 2025-11-25.
func (s *analyzer) mainResult(m *Method, d *document, def string, names []string) []string {
	for i, name := range names {
		t := s.types[s.nameIn(d.bit, name)]
		if t == nil || m.Result != t.typ && (m.Result != nil || name != strings.TrimSuffix(def, "Request")+"Result") {
			continue
		}
		others := slices.Delete(slices.Clone(names), i, i+1)
		s.note("method "+m.Wire, resultsJoin, strings.Join(others, " or "), s.in(1<<d.bit))
		return []string{name}
	}
	return names
}

// pages sets the list in the result of a paged method.
func (s *analyzer) pages(m *Method) {
	if m.Notification || m.Result == nil {
		return
	}
	if !cursor(m.Type, "cursor") || !cursor(m.Result, "nextCursor") {
		return
	}
	var lists []*Field
	for _, f := range m.Result.Shape.(*Struct).Fields {
		if _, ok := f.Type.(List); ok {
			lists = append(lists, f)
		}
	}
	first := s.rules.page(m.Wire)
	for _, f := range lists {
		if first == f.JSON || first == "" && (m.Pages == nil || oldest(f.In) < oldest(m.Pages.In)) {
			m.Pages = f
		}
	}
	same := slices.DeleteFunc(lists, func(f *Field) bool { return oldest(f.In) != oldest(m.Pages.In) })
	if len(same) < 2 || first != "" {
		return // the list of the oldest revision remains the list of the pages
	}
	r := s.problems.add(m.Result.At, "the result of the paged method %q has two lists", m.Wire)
	for _, f := range lists {
		r.Choose(fmt.Sprintf("The pages are pages of %q.", f.JSON), Page{Method: m.Wire, List: f.JSON})
	}
}

// cursor reports whether a type has an optional string with the given name, whose
// empty value is different from its absence.
func cursor(t *Type, name string) bool {
	return slices.ContainsFunc(t.Shape.(*Struct).Fields, func(f *Field) bool {
		s, ok := f.Type.(Scalar)
		return ok && s.Kind == String && f.JSON == name && !f.Always
	})
}

// markInputRequired marks the results that an InputRequiredResult may replace.
func (s *analyzer) markInputRequired() {
	ask := s.types["InputRequiredResult"]
	for _, m := range s.pkg.Methods {
		if m.MultiRound != 0 && ask != nil && m.Result != nil { // a problem has been reported if it is nil
			st := m.Result.Shape.(*Struct)
			st.InputRequired, st.InputRequiredType = st.InputRequired|m.MultiRound, ask.typ
		}
	}
}

// errorCodes collects the error definitions.
func (s *analyzer) errorCodes() {
	for _, name := range slices.Sorted(maps.Keys(s.merger.errors)) {
		e := &Error{Name: s.errorName(name), def: name, at: s.merger.errors[name][0].node.pos()}
		if t := s.types[name]; t != nil {
			e.Data = t.typ
			s.checkData(e, t)
		}
		s.joinCodes(e, s.merger.errors[name])
		if standardCode(e.Code) {
			e.In = ^Window(0)
		}
		s.pkg.Errors = append(s.pkg.Errors, e)
	}
	s.checkCodes()
	slices.SortFunc(s.pkg.Errors, func(a, b *Error) int { return b.Code - a.Code })
}

// checkData reports a revision that defines an error as another type, or whose data is no object. The Go
// type would not be an error, would have the members of both, or could not be sent.
func (s *analyzer) checkData(e *Error, t *mergedType) {
	occs := s.merger.errors[e.def]
	for _, o := range occs {
		_, data := errorOf(o.node)
		if data == nil || is[*objectNode](s.resolved([]occurrence{{o.bit, data}})[0].node) {
			continue
		}
		s.problems.add(data.pos(), "the data of %q is %s here, but an object in %s", e.def, describe(data), t.occs[0].node.pos())
	}
	for _, o := range t.occs {
		if !slices.ContainsFunc(occs, func(x occurrence) bool { return x.bit == o.bit }) {
			s.problems.fixing(fix{splitFix, e.def}, func() {
				r := s.problems.add(o.node.pos(), "%q has no error code here, but is an error in %s; give it its own definition, or write a Renamed rule if it was renamed", e.def, e.at)
				s.ownDefinition(r, e.def)
			})
			return
		}
	}
}

// joinCodes sets the code of an error, from its oldest revision, and the codes of the revisions
// with another one.
func (s *analyzer) joinCodes(e *Error, occs []occurrence) {
	in := make(map[int]Window)
	for _, o := range occs {
		code, _ := errorOf(o.node)
		if in[code] |= 1 << o.bit; e.In == 0 || o.bit < oldest(e.In) {
			e.Code = code
		}
		e.In |= 1 << o.bit
	}
	for _, code := range slices.Sorted(maps.Keys(in)) {
		if code != e.Code {
			e.Others = append(e.Others, OtherCode{code, s.openEnded(in[code], e.In)})
			s.note(fmt.Sprint("error ", e.Code), codeJoin, code, s.in(in[code]))
		}
	}
	e.In = s.openEnded(e.In, 0)
}

// checkCodes reports codes that do not identify an error. The data of one of two errors may
// identify it.
func (s *analyzer) checkCodes() {
	owner := make(map[int]*Error)
	add := func(code int, e *Error) {
		other := owner[code]
		if other != nil && (other.Data == nil) == (e.Data == nil) {
			s.sameCode(code, e, other)
		}
		if other == nil || e.Data == nil {
			owner[code] = e
		}
	}
	for _, e := range s.pkg.Errors {
		add(e.Code, e)
	}
	for _, e := range s.pkg.Errors {
		for _, o := range e.Others {
			add(o.Code, e)
		}
	}
}

// sameCode reports two errors with one code, at the newer one.
func (s *analyzer) sameCode(code int, a, b *Error) {
	newest := s.documents[len(s.documents)-1]
	if s.since(a.def).bit < s.since(b.def).bit {
		a, b = b, a
	}
	r := s.problems.add(a.at, "the code %d of %q is also the code of %q; write a Renamed rule if the definition was renamed", code, a.Name, b.Name)
	if newest.defs[b.def] == nil {
		r.Choose("The definition was renamed, and the Go type keeps its name.", Renaming{Old: b.def, New: a.def}, Name{At: a.def, Go: b.Name})
	}
	if s.since(a.def) == newest {
		r.Choose("The error has no Go type of its own, and is another error with the code.", Framing{Definition: a.def})
	}
	for _, e := range []*Error{a, b} {
		if s.since(e.def) != newest && newest.defs[e.def] != nil {
			older := s.documents[len(s.documents)-2].name
			r.Choose(fmt.Sprintf("The definition of %s is the definition of %s.", e.def, older), Edit{In: newest.name, At: "/$defs/" + escape(e.def), From: older})
		}
	}
}

// since returns the oldest revision with a definition.
func (m *merger) since(def string) *document {
	i := slices.IndexFunc(m.documents, func(d *document) bool { return d.defs[def] != nil })
	return m.documents[max(i, 0)]
}

// standardCode reports whether a code is defined by JSON-RPC. Such codes are valid in
// all revisions, although older schemas do not define them.
func standardCode(code int) bool {
	return code == -32700 || code >= -32603 && code <= -32600
}
