package ir

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// analyzer builds the package from the merged types.
type analyzer struct {
	*merger
	docs Docs
	pkg  *Package
}

// sorted returns the merged types in the order of their names.
func (s *analyzer) sorted() []*mergedType {
	var list []*mergedType
	for _, name := range slices.Sorted(maps.Keys(s.types)) {
		list = append(list, s.types[name])
	}
	return list
}

// names sets the Go name of every type and reports duplicates. The newer of two types with one name has
// another name, and so has a type whose name generated code has.
func (s *analyzer) names(types []*mergedType) {
	taken := make(map[string]*mergedType)
	byAge := slices.SortedStableFunc(slices.Values(types), func(a, b *mergedType) int { return oldest(a.in()) - oldest(b.in()) })
	for _, t := range byAge {
		name := s.typeName(t.name)
		t.typ.Name = name
		other := taken[name]
		clash := other != nil || s.isOlderAlias(t)
		if isNew := s.rules.own == nil && s.documents[oldest(t.in())].name > s.rules.OrderFrom; clash && (isNew || other != nil && oldest(other.in()) < oldest(t.in())) {
			s.note(t.name, typeNameJoin, name)
			t.typ.Name = freeName("", suffixed(name, t.occs[0].node), func(name string) bool { return taken[name] != nil })
		} else if other != nil {
			free := freeName("", t.typ.Name, func(name string) bool { return taken[name] != nil || slices.Contains(s.typeNames(), name) })
			s.problems.add(t.at, "%q and %q would both have the Go name %q; rename one with a Names rule", t.name, other.name, t.typ.Name).
				Choose("The Go type has the name "+free+".", Name{At: t.name, Go: free})
			taken[free] = t
		}
		taken[t.typ.Name] = t
	}
}

// typeName returns the Go name of a definition or an inline type: the name from a rule, or the name in the
// schema, with a suffix if generated code has this name.
func (s *analyzer) typeName(def string) string {
	if name, ok := s.rules.shapeName(def); ok {
		return name
	}
	name := goName(def)
	for _, other := range s.rules.Taken {
		if other == def {
			s.note(def, typeNameJoin, name)
			name = suffixed(name, s.since(def).defs[def])
		}
	}
	return name
}

// isOlderAlias reports whether an older revision than the oldest with the type t has its definition as
// another name of a type.
func (s *analyzer) isOlderAlias(t *mergedType) bool {
	return slices.ContainsFunc(s.documents[:oldest(t.in())], func(d *document) bool { return is[*refNode](d.defs[t.name]) })
}

// finishType sets presence, names and constants in a type.
func (s *analyzer) finishType(t *mergedType) {
	switch x := t.typ.Shape.(type) {
	case *Struct:
		s.finishStruct(t, x)
	case *Enum:
		s.finishEnum(t, x)
	}
}

func (s *analyzer) finishEnum(t *mergedType, e *Enum) {
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
		v.Name = t.typ.Name + s.rules.memberName(position, goName(v.JSON))
		if other, clash := taken[v.Name]; clash || !token.IsIdentifier(v.Name) {
			free := freeName(t.typ.Name, v.JSON, func(name string) bool { _, clash := taken[name]; return clash })
			s.problems.add(t.newest(""), "the value %q would have the Go name %q, which is not valid or the name of %q; write a Members rule for %q", v.JSON, v.Name, other, position).
				Choose("The constant has the name "+t.typ.Name+free+".", MemberName{At: position, Go: free})
			taken[t.typ.Name+free] = v.JSON
		}
		taken[v.Name] = v.JSON
	}
}

// reserved lists the names that the generated code of structs uses.
var reserved = []string{"AppendJSON", "DecodeJSON", "MarshalJSON", "UnmarshalJSON", "AppendParams", "DecodeParams",
	"Method", "NewResult", "IsNotification", "RequiresParams", "RequestMeta", "NameMember", "Extra", "Error", "Unwrap"}

// fieldName returns the Go name of a member. A name that generated code uses gets a
// suffix.
func fieldName(member string) string {
	name := goName(member)
	if slices.Contains(reserved, name) {
		return name + "Value"
	}
	return name
}

// fieldNamed returns the field of a member, or nil.
func fieldNamed(st *Struct, member string) *Field {
	if i := slices.IndexFunc(st.Fields, func(f *Field) bool { return f.JSON == member }); i >= 0 {
		return st.Fields[i]
	}
	return nil
}

func (s *analyzer) finishStruct(t *mergedType, st *Struct) {
	taken := make(map[string]string)
	byAge := slices.SortedStableFunc(slices.Values(st.Fields), func(a, b *Field) int { return oldest(a.In) - oldest(b.In) })
	for _, f := range byAge {
		position := t.name + "." + f.JSON
		s.problems.fix = fix{extraFix, position}
		f.Name = s.rules.memberName(position, fieldName(f.JSON))
		if name := goName(f.JSON); f.Name != name && slices.Contains(reserved, name) {
			s.note(position, reservedNameJoin, f.Name, name)
		}
		if older := fieldNamed(st, taken[f.Name]); older != nil && oldest(older.In) < oldest(f.In) {
			f.Name += "Value" // the older member keeps its name
			s.note(position, olderNameJoin, f.Name, older.Name)
		}
		free := func() (effect string, rule MemberName) {
			name := freeName("", f.JSON, func(name string) bool {
				_, clash := taken[name]
				return clash || slices.Contains(reserved, name) || slices.ContainsFunc(st.Fields, func(o *Field) bool { return o != f && fieldName(o.JSON) == name })
			})
			taken[name] = f.JSON
			return "The field has the name " + name + ".", MemberName{At: position, Go: name}
		}
		choose := func(r *refusal.Refusal) {
			effect, rule := free()
			r.Choose(effect, rule)
		}
		if !token.IsIdentifier(f.Name) || !token.IsExported(f.Name) {
			choose(s.problems.add(t.newest(f.JSON), "the member %q has no valid Go name; write a Members rule for %q", f.JSON, position))
		}
		if slices.Contains(reserved, f.Name) {
			choose(s.problems.add(t.newest(f.JSON), "the member %q would have the Go name %q, which is reserved for generated code; write a Members rule for %q", f.JSON, f.Name, position))
		}
		if other, clash := taken[f.Name]; clash {
			choose(s.problems.add(t.newest(f.JSON), "the members %q and %q would both have the Go name %q; write a Members rule for %q", f.JSON, other, f.Name, position))
		}
		taken[f.Name] = f.JSON
		s.presence(t, position, f)
	}
	s.problems.fix = fix{}
	if n := len(st.Fields) + len(st.Consts); n > 64 {
		r := s.problems.add(t.newest(""), "%d members exceed the limit of 64 of the codec", n)
		s.tooMany(r, t, st)
	}
	st.Fields = slices.DeleteFunc(st.Fields, func(f *Field) bool { return f.In == 0 })
	for _, c := range st.Consts {
		position := t.name + "." + c.JSON
		if d := s.rules.defaultOf(position); d != nil && d.JSON == fmt.Sprintf("%q", c.Value) && s.rules.tolerates(position, MayBeMissing) {
			c.Required = 0
		}
	}
	s.setCases(t, st)
	slices.SortStableFunc(st.Fields, func(a, b *Field) int { return fieldRank(a) - fieldRank(b) })
}

// tooMany adds the choice that the newest members have no fields.
func (s *analyzer) tooMany(r *refusal.Refusal, t *mergedType, st *Struct) {
	byAge := slices.SortedStableFunc(slices.Values(st.Fields), func(a, b *Field) int { return oldest(a.In) - oldest(b.In) })
	var rules []any
	for _, f := range byAge[max(0, 64-len(st.Consts)):] {
		rules = append(rules, edit(t.newest(f.JSON)))
	}
	r.Choose("The last members have no fields. They are in Extra, and the codec does not check them.", rules...)
}

// checkFinite reports a struct that always contains itself: it has neither a Go type
// nor finite values. The types in seen were visited before.
func (s *analyzer) checkFinite(t *mergedType, typ *Type, seen map[*Type]bool) {
	st, ok := typ.Shape.(*Struct)
	if !ok {
		return
	}
	if seen[typ] {
		if typ == t.typ {
			s.anyJSON(s.problems.add(t.newest(""), "every %q contains another one, so that no value is finite; make one of the members optional", t.name), t.name)
		}
		return
	}
	seen[typ] = true
	for _, f := range st.Fields {
		if named, ok := f.Type.(Named); ok && !f.Pointer {
			s.checkFinite(t, named.Type, seen)
		}
	}
}

// fieldRank returns the order of a struct's fields: the result type, the name, the
// required members, the optional members, and the metadata.
func fieldRank(f *Field) int {
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

// presence decides how the Go value of a field represents absence, and what is written
// for its zero value if the member is required.
func (s *analyzer) presence(t *mergedType, position string, f *Field) {
	if d := s.rules.defaultOf(position); d != nil {
		f.Default, f.Revision = d.JSON, d.Revision
	}
	if raw := s.rules.raw(position); raw != nil && raw.Zero != "" {
		f.Default = raw.Zero
	}
	f.Tolerant = f.Required != 0 && s.rules.tolerates(position, MayBeMissing)
	if f.NullAbsent = s.rules.tolerates(position, NullIsAbsent); f.NullAbsent && f.Nulls == 0 {
		f.Nulls = f.nulls
	}
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
		f.Always, f.Required = false, s.openEnded(f.Required&t.in(), 0)
	}
	if f.Tolerant {
		f.Strict = f.Required & s.ownSchemas(f)
	}
	if f.Always {
		return
	}
	switch x := f.Type.(type) {
	case Scalar:
		switch x.Kind {
		case Int, Float:
			f.Pointer = f.Default == ""
			if optional := f.In & t.in() &^ f.Required &^ extraWindow(f); optional != 0 && f.Default != "" {
				f.Zeros = s.openEnded(optional, t.in())
				s.note(position, zeroJoin, s.in(optional))
			}
		case String, Bool:
			f.Pointer = s.rules.pointer(position)
			f.Zeros = s.explicitZeros(t, f)
		}
	case Named:
		_, f.Pointer = x.Type.Shape.(*Struct)
		if _, ok := x.Type.Shape.(*Enum); ok {
			f.Zeros = s.explicitZeros(t, f)
		}
	}
}

// ownSchemas returns the revisions in which the schema of a field may not allow its default.
func (s *analyzer) ownSchemas(f *Field) Window {
	w := extraWindow(f)
	for _, v := range f.Checks {
		w |= v.In
	}
	named, _ := f.Type.(Named)
	if named.Type == nil {
		return w
	}
	if e, ok := named.Type.Shape.(*Enum); ok {
		for _, v := range e.Values {
			if jsonText(v.JSON) == f.Default {
				w |= f.In &^ v.In
			}
		}
	}
	return w
}

// explicitZeros returns the revisions in which the struct t is one of several objects, or its schema depends
// on which members it has, and a field may be absent.
func (s *analyzer) explicitZeros(t *mergedType, f *Field) Window {
	w := (s.fixes[fix{absorbFix, t.name}] | s.depends[t.name]) & f.In & t.in() &^ f.Required &^ extraWindow(f)
	if w == 0 || f.Pointer {
		return 0
	}
	return s.openEnded(w, t.in())
}

// aliases adds the definitions that are only another name for a definition.
func (s *analyzer) aliases() {
	byName := make(map[string]*Type)
	add := func(name, at string, in Window, of *mergedType) {
		goName := s.typeName(name)
		if of == nil || of.typ.Name == goName {
			return
		}
		if t := s.types[name]; t != nil && t.typ.Name == goName {
			if st, ok := t.typ.Shape.(*Struct); ok && st.Role != Plain { // other code than the codec uses the type
				r := s.problems.add(at, "%q is another name of %q here, but a part of messages in %s; give it its own definition", name, of.name, t.at)
				s.ownDefinition(r, name)
			}
			s.note(name, aliasJoin, of.typ.Name, s.in(in))
			return
		}
		if byName[goName] == nil {
			byName[goName] = &Type{Name: goName, At: at, def: name, Shape: &Alias{Of: Named{of.typ}}}
			s.pkg.Types = append(s.pkg.Types, byName[goName])
		}
		byName[goName].In |= in
	}
	for _, d := range s.documents {
		for _, name := range slices.Sorted(maps.Keys(d.defs)) {
			if r, ok := d.defs[name].(*refNode); ok && s.rules.messageUnion(name) == nil && s.rules.framing(name) == nil {
				add(name, r.pos(), 1<<d.bit, s.typeOf(d.bit, s.target(d.bit, r.def)))
			}
			if newer := s.rules.currentName(name); newer != name {
				add(name, d.defs[name].pos(), 1<<d.bit, s.types[newer])
			}
		}
	}
}

// areas selects the file of every type: the file of the methods that use it, if they
// all have the same file. Otherwise it is the file of a method whose name is a word of
// the type's name, or "common".
func (s *analyzer) areas() {
	reach := make(map[*Type][]string)
	for _, m := range s.pkg.Methods {
		m.Area = s.methodArea(m)
		for _, t := range []*Type{m.Type, m.Result} {
			if t != nil {
				s.walk(t, m.Area, reach)
			}
		}
	}
	for _, t := range s.pkg.Types {
		t.Area = s.typeArea(t, reach)
	}
	for _, e := range s.pkg.Errors {
		if e.Data != nil {
			e.Data.Area = "errors"
		}
	}
	for _, t := range s.pkg.Types { // an unused union has the file of its members
		if u, ok := t.Shape.(*Union); ok && t.Area == "common" && sameArea(u) {
			t.Area = u.Members[0].Type.Area
		}
	}
}

func (s *analyzer) typeArea(t *Type, reach map[*Type][]string) string {
	if area := s.rules.area(t.Name); area != "" {
		return area
	}
	if st, ok := t.Shape.(*Struct); ok && st.Method != nil {
		return st.Method.Area
	}
	if len(reach[t]) == 1 {
		return reach[t][0]
	}
	for _, m := range s.pkg.Methods {
		for _, word := range Words(t.Name) {
			if strings.ToLower(word) == strings.TrimSuffix(m.Area, "s") {
				return m.Area
			}
		}
	}
	return "common"
}

func sameArea(u *Union) bool {
	return !slices.ContainsFunc(u.Members, func(m *Member) bool { return m.Type.Area != u.Members[0].Type.Area })
}

// walk marks every type that t refers to as used by an area.
func (s *analyzer) walk(t *Type, area string, reach map[*Type][]string) {
	if slices.Contains(reach[t], area) || s.rules.area(t.Name) != "" {
		return
	}
	reach[t] = append(reach[t], area)
	eachType(t, func(used *Type) { s.walk(used, area, reach) })
}

// methodArea returns the file of a method: the first part of its name, so that a new
// family of methods has its own file.
func (s *analyzer) methodArea(m *Method) string {
	if area := s.rules.area(m.Wire); area != "" {
		return area
	}
	parts := strings.Split(m.Wire, "/")
	if parts[0] == "notifications" && len(parts) > 2 {
		parts = parts[1:]
	}
	if len(parts) < 2 {
		return "common"
	}
	return strings.ToLower(strings.Join(Words(parts[0]), "_"))
}

// forms describes how each definition of each revision is represented in Go.
func (s *analyzer) forms() {
	in := make(map[string]map[string]Window) // by definition and by the name of its type
	for _, d := range s.documents {
		for name := range d.defs {
			if in[name] == nil {
				in[name] = make(map[string]Window)
			}
			typeName := s.nameIn(d.bit, name)
			if s.flattened[name] != "" {
				typeName = s.paramsOwner(d, name)
			}
			if r, ok := d.defs[name].(*refNode); ok && s.types[typeName] != nil && s.rules.messageUnion(name) == nil {
				typeName = s.nameIn(d.bit, s.target(d.bit, r.def)) // the definition is a type in other revisions
			}
			in[name][typeName] |= 1 << d.bit
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		for _, typeName := range slices.Sorted(maps.Keys(in[name])) {
			s.pkg.Forms = append(s.pkg.Forms, s.form(name, typeName, s.extend(in[name][typeName])))
		}
	}
}

// form describes how a definition is represented in the revisions in which it has a type.
func (s *analyzer) form(name, typeName string, in Window) Form {
	f := Form{Definition: name, In: in}
	if r := s.rules.framing(name); r != nil {
		f.Why = r.Why
		return f
	}
	if occs := s.merger.errors[typeName]; window(occs)&in != 0 {
		i := slices.IndexFunc(s.pkg.Errors, func(e *Error) bool { return e.Name == s.errorName(typeName) })
		f.Error = s.pkg.Errors[i]
		return f
	}
	if s.flattened[name] != "" {
		f.Type, f.Params = s.types[typeName].typ, true
		return f
	}
	if union := s.rules.messageUnion(name); union != nil && union.Direction == Results {
		f.Why = union.Why
		return f
	}
	if s.fixes[fix{rawFix, typeName}] != 0 {
		f.Why = "the members that refer to it are raw JSON"
		return f
	}
	if t := s.types[typeName]; t != nil {
		f.Type = t.typ
		return f
	}
	for _, t := range s.pkg.Types {
		if t.Name == s.typeName(name) {
			f.Type = t
			return f
		}
	}
	s.problems.add("#/$defs/"+name, "the definition has no Go type").Choose("The definition has no Go type.", Framing{Definition: name})
	return f
}

func (s *analyzer) errorName(def string) string {
	if name, ok := s.rules.shapeName(def); ok {
		return name
	}
	return goName(def)
}

// addDocs sets the documentation of every name: the text from docs.txt, or a plain
// sentence.
func (s *analyzer) addDocs() {
	for _, t := range s.pkg.Types {
		t.Doc = s.text("", t.Name, t.In, func() (string, bool) { return s.docs.Type(t.Name) }, s.plainTypeDoc(t)) + s.joinDoc(t.def)
		t.Deprecated = s.rules.deprecated(t.Name)
		switch x := t.Shape.(type) {
		case *Struct:
			for _, f := range x.Fields {
				f.Doc = s.text(t.Name+".", f.JSON, f.In&t.In, func() (string, bool) { return s.docs.Member(t.Name, f.JSON) },
					s.plainDoc(fmt.Sprintf("the member %q", f.JSON), f.In))
				f.Doc += s.joinDoc(t.def + "." + f.JSON)
				f.Deprecated = s.rules.deprecated(t.Name + "." + f.JSON)
			}
		case *Enum:
			for _, v := range x.Values {
				v.Doc = s.text(t.Name+"=", v.JSON, v.In&t.In, func() (string, bool) { return s.docs.Value(t.Name, v.JSON) },
					s.plainDoc(fmt.Sprintf("the value %q", v.JSON), v.In))
			}
		}
	}
	for _, m := range s.pkg.Methods {
		m.Doc = s.text("method ", m.Wire, m.in(), func() (string, bool) { return s.docs.Method(m.Wire) },
			s.plainDoc("the method "+m.Wire, m.in())) + s.joinDoc("method "+m.Wire)
		m.Deprecated = s.rules.deprecated("method " + m.Wire)
	}
	for _, e := range s.pkg.Errors {
		e.Doc = s.text("error ", fmt.Sprint(e.Code), e.In, func() (string, bool) { return s.docs.Error(e.Code) },
			s.plainDoc(fmt.Sprintf("the error code %d", e.Code), e.In)) + s.joinDoc(fmt.Sprint("error ", e.Code))
	}
}

// text returns the text that find returns. If there is none, it adds the name to
// Undocumented and returns fallback.
func (s *analyzer) text(prefix, name string, in Window, find func() (string, bool), fallback string) string {
	if text, ok := find(); ok {
		return text
	}
	since := ""
	if i := oldest(in); i < len(s.documents) {
		since = s.documents[i].name
	}
	s.pkg.Undocumented = append(s.pkg.Undocumented, Undocumented{prefix + name, since})
	return fallback
}

func (s *analyzer) plainTypeDoc(t *Type) string {
	if st, ok := t.Shape.(*Struct); ok && st.Method != nil {
		return s.plainDoc("the message "+st.Method.Wire, t.In)
	}
	name := t.At[strings.LastIndex(t.At, "/")+1:]
	return s.plainDoc("the definition "+name, t.In)
}

// plainDoc returns a documentation text for a name that docs.txt does not contain.
func (s *analyzer) plainDoc(what string, in Window) string {
	all := Window(1)<<len(s.documents) - 1
	in &= all
	first, last := oldest(in), newest(in)
	switch {
	case in == all || in == 0:
		return fmt.Sprintf("is %s.", what)
	case first == last && last < len(s.documents)-1:
		return fmt.Sprintf("is %s, in %s only.", what, s.documents[first].name)
	case last < len(s.documents)-1:
		return fmt.Sprintf("is %s, until %s.", what, s.documents[last].name)
	}
	return fmt.Sprintf("is %s, since %s.", what, s.documents[first].name)
}
