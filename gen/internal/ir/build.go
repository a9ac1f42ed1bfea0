package ir

import (
	"errors"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// Docs are the texts of the overlay. Each call marks a text as used.
type Docs interface {
	Type(name string) (string, bool)
	Member(typ, member string) (string, bool)
	Value(enum, value string) (string, bool)
	Method(wire string) (string, bool)
	Error(code int) (string, bool)
}

// Build compiles the schemas, oldest first, into a package.
func Build(sources []*Source, rules *Rules, docs Docs) (*Package, error) {
	if len(sources) == 0 {
		return nil, errors.New("build: there is no schema")
	}
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b *Source) int { return strings.Compare(a.Revision, b.Revision) })

	problems := &issues{}
	book := newBook(rules)
	book.complete = complete(rules, sources)
	p, err := compile(sources, book, docs)
	if err != nil {
		return nil, err
	}
	if len(sources) > 1 {
		if err := compare(sources, p, book); err != nil {
			return nil, err
		}
	}
	book.unused(problems)
	return p, problems.err("rules")
}

// compare holds p against what the sources before the newest make. A rule that
// only those need has its effect there. Of a few schemas, those without the
// newest need not make anything: nobody has programs for them.
func compare(sources []*Source, p *Package, book *book) error {
	last := len(sources) - 1
	before := newBook(rulesBefore(book.Rules, sources[:last]))
	older, err := compile(sources[:last], before, noDocs{})
	switch {
	case err != nil && book.complete:
		return fmt.Errorf("without %s: %w", sources[last].Revision, err)
	case err != nil:
		return nil
	}
	maps.Copy(book.used, before.used)
	problems := &issues{}
	stable(older, p, book, problems)
	return problems.err("compare")
}

// rulesBefore are the rules as they were without the newest revision: it has not yet
// renamed what methods and codes have their Go names from. A type's old name stays
// in Go as an alias; theirs do not.
func rulesBefore(rules *Rules, sources []*Source) *Rules {
	older := *rules
	older.Same = slices.DeleteFunc(slices.Clone(rules.Same), func(r Same) bool {
		named := strings.HasSuffix(r.Old, "Request") || strings.HasSuffix(r.Old, "Notification") || strings.HasSuffix(r.Old, "Error")
		return named && !slices.ContainsFunc(sources, func(s *Source) bool { return s.Defs[r.New] != nil })
	})
	return &older
}

// compile runs the stages.
func compile(sources []*Source, book *book, docs Docs) (*Package, error) {
	problems := &issues{}
	var drafts []*draft
	for bit, src := range sources {
		drafts = append(drafts, lift(src, bit, problems))
	}
	if err := problems.err("lift"); err != nil {
		return nil, err
	}
	m := merge(drafts, book, problems)
	if err := problems.err("merge"); err != nil {
		return nil, err
	}
	p := shape(m, sources, docs)
	return p, problems.err("shape")
}

// noDocs has no texts.
type noDocs struct{}

func (noDocs) Type(string) (string, bool)           { return "", false }
func (noDocs) Member(string, string) (string, bool) { return "", false }
func (noDocs) Value(string, string) (string, bool)  { return "", false }
func (noDocs) Method(string) (string, bool)         { return "", false }
func (noDocs) Error(int) (string, bool)             { return "", false }

// complete tells whether all revisions are there that the rules speak of.
func complete(rules *Rules, sources []*Source) bool {
	for _, name := range rules.For {
		if !slices.ContainsFunc(sources, func(s *Source) bool { return s.Revision == name }) {
			return false
		}
	}
	return true
}

// shaper turns the merged things into the package.
type shaper struct {
	*merger
	docs Docs
	pkg  *Package
}

// shape decides everything that printing needs.
func shape(m *merger, sources []*Source, docs Docs) *Package {
	s := &shaper{m, docs, &Package{}}
	for bit, src := range sources {
		s.pkg.Revisions = append(s.pkg.Revisions, &Revision{Name: src.Revision, Schema: src.File, SHA256: src.SHA256})
		_, s.pkg.Revisions[bit].Handshake = src.Defs["InitializeRequest"]
	}
	things := s.sorted()
	s.names(things)
	s.methods()
	s.errorCodes()
	for _, t := range things {
		s.finish(t)
		s.pkg.Types = append(s.pkg.Types, t.typ)
	}
	for _, t := range things {
		s.finite(t, t.typ, nil)
		if u, ok := t.typ.Shape.(*Union); ok {
			s.discriminate(t, u)
		}
	}
	s.aliases()
	s.askers()
	for _, t := range s.pkg.Types {
		t.In = s.extend(t.In)
	}
	slices.SortFunc(s.pkg.Types, func(a, b *Type) int { return strings.Compare(a.Name, b.Name) })
	s.areas()
	s.forms()
	s.document()
	return s.pkg
}

func (s *shaper) sorted() []*thing {
	var list []*thing
	for _, name := range slices.Sorted(maps.Keys(s.things)) {
		list = append(list, s.things[name])
	}
	return list
}

// names gives every type its Go name and refuses clashes.
func (s *shaper) names(things []*thing) {
	taken := make(map[string]*thing)
	for _, t := range things {
		t.typ.Name = exported(t.name)
		if name, ok := s.rules.shapeName(t.name); ok {
			t.typ.Name = name
		}
		if other := taken[t.typ.Name]; other != nil {
			s.issues.add(t.at, "%q and %q both want the Go name %q; name one with a Names rule", t.name, other.name, t.typ.Name)
		}
		taken[t.typ.Name] = t
	}
}

// finish decides presence, names and constants of a type's parts.
func (s *shaper) finish(t *thing) {
	switch x := t.typ.Shape.(type) {
	case *Struct:
		s.finishStruct(t, x)
	case *Enum:
		s.finishEnum(t, x)
	}
}

func (s *shaper) finishEnum(t *thing, e *Enum) {
	if order := s.rules.order(t.typ.Name); order != nil {
		rank := func(v *Value) int {
			if i := slices.Index(order, v.JSON); i >= 0 {
				return i
			}
			return len(order)
		}
		slices.SortStableFunc(e.Values, func(a, b *Value) int { return rank(a) - rank(b) })
	}
	taken := map[string]string{t.typ.Name: ""}
	for _, v := range e.Values {
		position := t.name + "=" + v.JSON
		v.Name = t.typ.Name + s.rules.memberName(position, exported(v.JSON))
		if other, clash := taken[v.Name]; clash || !token.IsIdentifier(v.Name) {
			s.issues.add(t.newest(""), "the value %q wants the Go name %q, which is none or that of %q; write a Members rule for %q", v.JSON, v.Name, other, position)
		}
		taken[v.Name] = v.JSON
	}
}

// reserved are the names that every struct has from elsewhere.
var reserved = []string{"AppendJSON", "DecodeJSON", "MarshalJSON", "UnmarshalJSON", "AppendParams", "DecodeParams",
	"Method", "NewResult", "IsNotification", "RequiresParams", "RequestMeta", "NameMember", "Extra", "Error", "Unwrap"}

func (s *shaper) finishStruct(t *thing, st *Struct) {
	taken := make(map[string]string)
	for _, f := range st.Fields {
		position := t.name + "." + f.JSON
		f.Name = s.rules.memberName(position, exported(f.JSON))
		if !token.IsIdentifier(f.Name) || !token.IsExported(f.Name) {
			s.issues.add(t.newest(f.JSON), "the member %q makes no Go name; write a Members rule for %q", f.JSON, position)
		}
		if slices.Contains(reserved, f.Name) {
			s.issues.add(t.newest(f.JSON), "the member %q wants the Go name %q, which the generated code uses itself; write a Members rule for %q", f.JSON, f.Name, position)
		}
		if other, clash := taken[f.Name]; clash {
			s.issues.add(t.newest(f.JSON), "the members %q and %q both want the Go name %q; write a Members rule for %q", f.JSON, other, f.Name, position)
		}
		taken[f.Name] = f.JSON
		s.presence(t, position, f)
	}
	if n := len(st.Fields) + len(st.Consts); n > 64 {
		s.issues.add(t.newest(""), "%d members are more than the 64 that the codec can tell apart", n)
	}
	st.Fields = slices.DeleteFunc(st.Fields, func(f *Field) bool { return f.In == 0 })
	slices.SortStableFunc(st.Fields, func(a, b *Field) int { return rank(a) - rank(b) })
}

// finite refuses a struct that holds itself, which has neither a Go form nor an
// end on the wire.
func (s *shaper) finite(t *thing, typ *Type, within []*Type) {
	st, ok := typ.Shape.(*Struct)
	if !ok {
		return
	}
	if slices.Contains(within, typ) {
		if typ == t.typ {
			s.issues.add(t.newest(""), "every %q holds another one, without an end; make a member on the way optional", t.name)
		}
		return
	}
	for _, f := range st.Fields {
		if named, ok := f.Type.(Named); ok && !f.Pointer {
			s.finite(t, named.Type, append(within, typ))
		}
	}
}

// rank orders the members of a struct: what kind of result it is, what it is
// called, what it must have, what it may have, and what is said about it.
func rank(f *Field) int {
	switch {
	case f.JSON == "resultType":
		return 0
	case f.Always && (f.JSON == "name" || f.JSON == "uri"):
		return 1
	case f.Always:
		return 2
	case f.JSON != "_meta":
		return 3
	}
	return 4
}

// presence decides how a field says that it is absent, and what stands for its
// zero value where it must not be.
func (s *shaper) presence(t *thing, position string, f *Field) {
	if d := s.rules.defaultOf(position); d != nil {
		f.Default, f.Revision = d.JSON, d.Revision
	}
	if raw := s.rules.raw(position); raw != nil && raw.Zero != "" {
		f.Default = raw.Zero
	}
	f.Tolerant = f.Required != 0 && s.rules.tolerates(position, MayBeMissing)
	f.NullAbsent = s.rules.tolerates(position, NullIsAbsent)
	f.Lenient = s.rules.tolerates(position, AnyShape)
	if x, ok := f.Type.(Map); ok && s.rules.tolerates(position, AlsoFractions) {
		if elem, ok := x.Elem.(Scalar); ok {
			elem.Fractions = true
			f.Type = Map{elem}
		}
	}
	switch {
	case f.Role == Meta:
		f.Always, f.Pointer = false, true
		return
	case f.Nullable:
		f.Pointer = true
		return
	case f.Default != "" && s.rules.raw(position) == nil:
		f.Always, f.Required = false, s.open(f.Required&t.in(), 0)
	}
	if f.Always {
		return
	}
	switch x := f.Type.(type) {
	case Scalar:
		switch x.Kind {
		case Int, Float:
			f.Pointer = f.Default == ""
		case String, Bool:
			f.Pointer = s.rules.pointer(position)
		}
	case Named:
		_, f.Pointer = x.Type.Shape.(*Struct)
	}
}

// aliases adds the definitions that are only another name for one.
func (s *shaper) aliases() {
	byName := make(map[string]*Type)
	add := func(name string, in Window, of *thing) {
		goName := exported(name)
		if of == nil || of.typ.Name == goName {
			return
		}
		if byName[goName] == nil {
			byName[goName] = &Type{Name: goName, At: "#/$defs/" + name, Shape: &Alias{Of: Named{of.typ}}}
			s.pkg.Types = append(s.pkg.Types, byName[goName])
		}
		byName[goName].In |= in
	}
	for _, d := range s.drafts {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if r, ok := d.defs[name].(*refNode); ok && s.rules.slot(name) == nil && s.rules.framing(name) == nil {
				add(name, 1<<d.bit, s.ref(r, d.bit))
			}
			if newer := s.rules.sameAs(name); newer != name {
				add(name, 1<<d.bit, s.things[newer])
			}
		}
	}
}

// askers marks the results that may turn out to ask for input.
func (s *shaper) askers() {
	ask := s.things["InputRequiredResult"]
	for _, m := range s.pkg.Methods {
		if m.MultiRound != 0 && ask != nil {
			st := m.Result.Shape.(*Struct)
			st.Asks, st.AsksAs = m.MultiRound, ask.typ
		}
	}
}

// errorCodes lists the error definitions.
func (s *shaper) errorCodes() {
	owner := make(map[int]string)
	for _, name := range slices.Sorted(maps.Keys(s.merger.errors)) {
		occs := s.merger.errors[name]
		e := &Error{Name: s.errorName(name)}
		for _, o := range occs {
			code, _ := errorOf(o.node)
			if e.Code != 0 && e.Code != code {
				s.issues.add(o.node.pos(), "the code of %q changed from %d in %s to %d; give the newer code a definition of its own",
					name, e.Code, s.drafts[newest(e.In)].name, code)
			}
			e.Code = code
			e.In |= 1 << o.bit
		}
		if e.In = s.open(e.In, 0); standardCode(e.Code) {
			e.In = ^Window(0)
		}
		if t := s.things[name]; t != nil {
			e.Data = t.typ
		}
		if other, taken := owner[e.Code]; taken {
			s.issues.add(occs[0].node.pos(), "the code %d of %q is that of %q already; write a Same rule if the definition was renamed", e.Code, name, other)
		}
		owner[e.Code] = name
		s.pkg.Errors = append(s.pkg.Errors, e)
	}
	slices.SortFunc(s.pkg.Errors, func(a, b *Error) int { return b.Code - a.Code })
}

func (s *shaper) errorName(def string) string {
	if name, ok := s.rules.shapeName(def); ok {
		return name
	}
	return exported(def)
}

// standardCode tells JSON-RPC's own codes, which were always there although the
// older schemas do not define them.
func standardCode(code int) bool {
	return code == -32700 || code >= -32603 && code <= -32600
}

// forms says for every definition of every revision how it appears in Go.
func (s *shaper) forms() {
	in := make(map[string]Window)
	for _, d := range s.drafts {
		for name := range d.defs {
			in[name] |= 1 << d.bit
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		s.pkg.Forms = append(s.pkg.Forms, s.form(name, s.extend(in[name])))
	}
}

func (s *shaper) form(name string, in Window) Form {
	f := Form{Definition: name, In: in}
	if r := s.rules.framing(name); r != nil {
		f.Why = r.Why
		return f
	}
	if current := s.rules.sameAs(name); s.merger.errors[current] != nil {
		i := slices.IndexFunc(s.pkg.Errors, func(e *Error) bool { return e.Name == s.errorName(current) })
		f.Error = s.pkg.Errors[i]
		return f
	}
	if owner := s.flat[name]; owner != "" {
		f.Type, f.Params = s.things[owner].typ, true
		return f
	}
	if slot := s.rules.slot(name); slot != nil && slot.Direction == Results {
		f.Why = slot.Why
		return f
	}
	if t := s.things[s.rules.sameAs(name)]; t != nil {
		f.Type = t.typ
		return f
	}
	for _, t := range s.pkg.Types {
		if t.Name == exported(name) {
			f.Type = t
			return f
		}
	}
	s.issues.add("#/$defs/"+name, "the definition has no Go form")
	return f
}

// factOnly is the text of a name that the overlay does not know yet.
func (s *shaper) factOnly(what string, in Window) string {
	all := Window(1)<<len(s.drafts) - 1
	in &= all
	first, last := oldest(in), newest(in)
	switch {
	case in == all || in == 0:
		return fmt.Sprintf("is %s.", what)
	case first == last && last < len(s.drafts)-1:
		return fmt.Sprintf("is %s, in %s only.", what, s.drafts[first].name)
	case last < len(s.drafts)-1:
		return fmt.Sprintf("is %s, until %s.", what, s.drafts[last].name)
	}
	return fmt.Sprintf("is %s, since %s.", what, s.drafts[first].name)
}
