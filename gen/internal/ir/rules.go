package ir

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// Rules are the decisions that the schemas leave open. Each rule has a reason and must
// have an effect: a rule that changes nothing is an error.
//
// A position is a definition ("Tool"), a member of one ("Tool.inputSchema"), or a
// member of every definition ("*.nextCursor"). The members of an inline object have
// the Go name of the object as a prefix.
type Rules struct {
	// For lists the revisions that the rules cover. Rules may be without effect if a
	// schema of one of these is missing.
	For []string

	// OrderFrom is the revision whose order of fields later revisions keep.
	OrderFrom string

	Framing       []Framing
	MessageUnions []MessageUnion
	Renamed       []Renaming
	Widen         []Widen
	Names         []Name
	Members       []MemberName
	Raw           []KeepRaw
	Ordered       []Ordering
	Types         []Builtin
	Pointers      []Pointer
	Open          []Open
	Defaults      []Default
	Tolerances    []Tolerance
	Metas         []MetaRole
	Methods       []MethodFact
	Deprecated    []Deprecation
	Areas         []AreaOf
	Orders        []Order
	Changes       []Change
	Edits         []Edit
	Pages         []Page

	// Taken has the definitions of new revisions whose Go names generated code has, perhaps several times. A
	// name has a suffix for each time.
	Taken []string

	// Decisions are rules of any kind, as the compiler prints them for a change that it refuses.
	// They have precedence over the rules in the lists.
	Decisions []any
}

// Edit changes one schema of a revision before it is checked and compiled.
type Edit = refusal.Edit

// Page is the list in the result of a paged method, if the result has several.
type Page struct{ Method, List, Why string }

// All returns the rules with all Decisions in their lists. It returns an error for rules without a
// reason.
func (r *Rules) All() (*Rules, error) {
	all := *r
	all.Decisions = nil
	v := reflect.ValueOf(&all).Elem()
	var errs []error
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		merged := reflect.MakeSlice(list.Type(), 0, list.Len())
		for _, d := range r.Decisions {
			if x := reflect.ValueOf(d); x.Type() == list.Type().Elem() {
				merged = reflect.Append(merged, x)
			}
		}
		list.Set(reflect.AppendSlice(merged, list))
		for j := range list.Len() {
			if rule := list.Index(j); rule.FieldByName("Why").String() == "" {
				errs = append(errs, fmt.Errorf("rules: %s has no reason; fill in Why", refusal.Go(rule.Interface())))
			}
		}
	}
	for _, d := range r.Decisions {
		if !isRule(v, d) {
			errs = append(errs, fmt.Errorf("rules: %T is not a rule", d))
		}
	}
	return &all, errors.Join(errs...)
}

// isRule reports whether rules has a list for a rule.
func isRule(rules reflect.Value, rule any) bool {
	for i := range rules.NumField() {
		if list := rules.Field(i); list.Kind() == reflect.Slice && list.Type().Elem() == reflect.TypeOf(rule) {
			return true
		}
	}
	return false
}

// Framing excludes a definition, because the runtime implements it.
type Framing struct{ Definition, Why string }

// MessageUnion describes a union of messages: who sends them, and how.
type MessageUnion struct {
	Definition string
	Direction  Direction
	Why        string
}

// Direction is how the messages of a union are sent.
type Direction int

// The directions.
const (
	ClientRequests Direction = iota
	ServerRequests
	EmbeddedRequests
	ClientNotifications
	ServerNotifications
	Results

	// unsentMessages are in no union, so that neither side can send them.
	unsentMessages
)

// Renaming marks New as the later name of the definition Old.
type Renaming struct{ Old, New, Why string }

// Widen adds an earlier form to a definition: in the revision In, its values were
// values of the definition Like.
type Widen struct{ Definition, In, Like, Why string }

// Name sets the Go name of a definition or an inline type.
type Name struct{ At, Go, Why string }

// MemberName sets the Go name of a member. For a value of an enum, which is named like
// "LoggingLevel=debug", it sets the part of the Go name after the type.
type MemberName struct{ At, Go, Why string }

// KeepRaw keeps the JSON of a member undecoded. Zero is written if the member is
// required and not set.
type KeepRaw struct{ At, Zero, Why string }

// Ordering preserves the order of a map's members. Name is the Go type of one member.
type Ordering struct{ At, Name, Why string }

// Builtin maps a definition to a type of the runtime.
type Builtin struct {
	At   string
	Kind Kind
	Why  string
}

// Pointer makes an optional member a pointer, because its zero value is not the same
// as its absence.
type Pointer struct{ At, Why string }

// Open lists the known values of a string that the schema does not restrict.
type Open struct {
	At     string
	Name   string // Go name of the enum
	Values []string
	Why    string
}

// Default is the value that is written for the zero value of a required member. If
// Revision is set, the value is the current revision.
type Default struct {
	At       string
	JSON     string
	Revision bool
	Why      string
}

// Tolerance accepts messages from a peer that the schema does not allow.
type Tolerance struct {
	At   string
	Kind ToleranceKind
	Why  string
}

// ToleranceKind is what a Tolerance accepts.
type ToleranceKind int

// The tolerances.
const (
	MayBeMissing  ToleranceKind = iota // a required member may be absent
	NullIsAbsent                       // null is the same as absent
	AnyShape                           // a value of the wrong type is stored as an unknown member
	AlsoFractions                      // fractions, although the schema has integers
)

// MetaRole sets the type of _meta, which depends on the definition that contains it.
type MetaRole struct {
	Suffix string // of the name of the definition that contains it
	Type   string // definition of the _meta
	Role   Role
	Why    string
}

// MethodFact has the properties of a method that its schema does not contain.
type MethodFact struct {
	Method string
	Facts
	Why string
}

// Deprecation marks a type, member or method as deprecated.
type Deprecation struct {
	At    string // "method x/y" for a method
	Since string
	Use   string // what to use instead, as a sentence
	Why   string
}

// AreaOf sets the file that declares a type or method.
type AreaOf struct{ At, Area, Why string }

// Change allows the newest revision to change a Go declaration: a type, a
// "Type.member", a "method x/y" or an "error code". Programs that use the declaration
// must be adapted.
type Change struct{ At, Why string }

// Order sets the order of an enum's values.
type Order struct {
	At     string
	Values []string
	Why    string
}

// ruleSet finds rules and records which of them had an effect.
type ruleSet struct {
	*Rules
	used     map[any]bool
	renamed  map[string]string // the older names of definitions that no rule renames
	complete bool              // all revisions that the rules cover are present
	// origins has the definitions of types for messages whose method changes. The rules for the members of
	// a definition are also for the members of these types.
	origins map[string]string
	// own has the definitions of an extension, with the union of messages of each message,
	// or "". It is nil for the protocol.
	own map[string]string
	// objects are the definitions of an extension without members that have a Go type.
	objects []string
}

func newRuleSet(r *Rules) *ruleSet {
	return &ruleSet{Rules: r, used: make(map[any]bool), renamed: make(map[string]string), origins: make(map[string]string)}
}

// use records that the rule at a pointer had an effect.
func (s *ruleSet) use(rule any) { s.used[rule] = true }

// unused reports the rules that had no effect.
func (s *ruleSet) unused(problems *problemList) {
	v := reflect.ValueOf(s.Rules).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for j := range list.Len() {
			rule := list.Index(j)
			name := fmt.Sprintf("rules: %s %v", v.Type().Field(i).Name, rule.Field(0).Interface())
			if _, edit := rule.Interface().(Edit); edit {
				continue // the import reports an edit that changes nothing
			}
			if !s.used[rule.Addr().Interface()] && s.complete {
				problems.add(name, "applies nowhere or changes nothing; delete it").Unused = rule.Interface()
			}
		}
	}
}

// find returns the rule for a position, or nil. A rule for exactly this position has
// precedence over a wildcard.
func find[R any](s *ruleSet, list []R, position string, at func(*R) string) *R {
	var wild *R
	for i := range list {
		switch p := at(&list[i]); {
		case p == position:
			s.use(&list[i])
			return &list[i]
		case strings.HasPrefix(p, "*.") && strings.HasSuffix(position, p[1:]) && wild == nil:
			wild = &list[i]
		}
	}
	if owner, member, ok := strings.Cut(position, "."); ok && s.origins[owner] != "" {
		return find(s, list, s.origins[owner]+"."+member, at)
	}
	if wild != nil {
		s.use(wild)
	}
	return wild
}

// framing returns the rule that excludes a definition, or nil. Its pattern may contain
// *.
func (s *ruleSet) framing(def string) *Framing {
	for i := range s.Framing {
		if ok, _ := path.Match(s.Framing[i].Definition, def); ok {
			s.use(&s.Framing[i])
			return &s.Framing[i]
		}
	}
	return nil
}

func (s *ruleSet) messageUnion(def string) *MessageUnion {
	return find(s, s.MessageUnions, def, func(r *MessageUnion) string { return r.Definition })
}

// decidesName reports whether a rule is about the name of a definition.
func (s *ruleSet) decidesName(def string) bool {
	if slices.ContainsFunc(s.Renamed, func(r Renaming) bool { return r.Old == def || r.New == def }) {
		return true
	}
	if slices.ContainsFunc(s.Edits, func(e Edit) bool { return e.Name == def }) {
		return true
	}
	return slices.ContainsFunc(s.Types, func(r Builtin) bool { return r.At == def }) ||
		slices.ContainsFunc(s.MessageUnions, func(r MessageUnion) bool { return r.Definition == def })
}

// currentName returns the name of a definition whose Go type it has: the newest name of
// a Renamed rule, or the oldest name if there is no rule.
func (s *ruleSet) currentName(def string) string {
	if old := s.renamed[def]; old != "" {
		return old
	}
	if r := find(s, s.Renamed, def, func(r *Renaming) string { return r.Old }); r != nil {
		return r.New
	}
	return def
}

// olderName returns the name of a definition in older revisions.
func (s *ruleSet) olderName(def string) string {
	if r := find(s, s.Renamed, def, func(r *Renaming) string { return r.New }); r != nil {
		return r.Old
	}
	return s.currentName(def)
}

// shapeName returns the Go name that a rule sets for a definition or an inline type.
func (s *ruleSet) shapeName(position string) (string, bool) {
	if r := find(s, s.Names, position, func(r *Name) string { return r.At }); r != nil {
		return r.Go, true
	}
	return "", false
}

// memberName returns the Go name of a member: the name from a rule, or own.
func (s *ruleSet) memberName(position, own string) string {
	if r := find(s, s.Members, position, func(r *MemberName) string { return r.At }); r != nil {
		return r.Go
	}
	return own
}

func (s *ruleSet) raw(position string) *KeepRaw {
	return find(s, s.Raw, position, func(r *KeepRaw) string { return r.At })
}

func (s *ruleSet) ordered(position string) *Ordering {
	return find(s, s.Ordered, position, func(r *Ordering) string { return r.At })
}

func (s *ruleSet) builtin(def string) (Kind, bool) {
	if r := find(s, s.Types, def, func(r *Builtin) string { return r.At }); r != nil {
		return r.Kind, true
	}
	return 0, false
}

// open returns the Open rule for a position, or for the enum with this Go name, or
// nil.
func (s *ruleSet) open(position string) *Open {
	for i := range s.Open {
		if s.Open[i].Name == position {
			s.use(&s.Open[i])
			return &s.Open[i]
		}
	}
	return find(s, s.Open, position, func(r *Open) string { return r.At })
}

func (s *ruleSet) pointer(position string) bool {
	return find(s, s.Pointers, position, func(r *Pointer) string { return r.At }) != nil
}

func (s *ruleSet) defaultOf(position string) *Default {
	return find(s, s.Defaults, position, func(r *Default) string { return r.At })
}

func (s *ruleSet) tolerates(position string, kind ToleranceKind) bool {
	return find(s, s.Tolerances, position, func(r *Tolerance) string {
		if r.Kind != kind {
			return ""
		}
		return r.At
	}) != nil
}

// toleratesAny reports whether there is any tolerance for a member.
func (s *ruleSet) toleratesAny(position string) bool {
	kinds := []ToleranceKind{MayBeMissing, AnyShape, NullIsAbsent, AlsoFractions}
	return slices.ContainsFunc(kinds, func(kind ToleranceKind) bool { return s.tolerates(position, kind) })
}

// meta returns the rule for the _meta of a definition, or nil.
func (s *ruleSet) meta(def string) *MetaRole {
	for i := range s.Metas {
		if strings.HasSuffix(def, s.Metas[i].Suffix) {
			s.use(&s.Metas[i])
			return &s.Metas[i]
		}
	}
	return nil
}

func (s *ruleSet) method(wire string) Facts {
	if r := find(s, s.Methods, wire, func(r *MethodFact) string { return r.Method }); r != nil {
		return r.Facts
	}
	return Facts{}
}

func (s *ruleSet) deprecated(at string) string {
	if r := find(s, s.Deprecated, at, func(r *Deprecation) string { return r.At }); r != nil {
		return fmt.Sprintf("since revision %s. %s", r.Since, r.Use)
	}
	return ""
}

// area returns the file that a rule sets for a type or method, or "". Its pattern may
// contain *.
func (s *ruleSet) area(at string) string {
	for i := range s.Areas {
		if ok, _ := path.Match(s.Areas[i].At, at); ok {
			s.use(&s.Areas[i])
			return s.Areas[i].Area
		}
	}
	return ""
}

// change reports whether a rule allows the declaration to change.
func (s *ruleSet) change(at string) bool {
	return find(s, s.Changes, at, func(r *Change) string { return r.At }) != nil
}

// page returns the list that a rule selects for a paged method, or "".
func (s *ruleSet) page(method string) string {
	if r := find(s, s.Pages, method, func(r *Page) string { return r.Method }); r != nil {
		return r.List
	}
	return ""
}

func (s *ruleSet) order(at string) []string {
	if r := find(s, s.Orders, at, func(r *Order) string { return r.At }); r != nil {
		return r.Values
	}
	return nil
}
