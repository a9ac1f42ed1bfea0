package ir

import (
	"fmt"
	"path"
	"reflect"
	"strings"
)

// book finds rules and remembers which of them had an effect.
type book struct {
	*Rules
	used     map[any]bool
	complete bool // all revisions that the rules were written for are there
}

func newBook(r *Rules) *book { return &book{Rules: r, used: make(map[any]bool)} }

// use marks the rule at a pointer as effective.
func (b *book) use(rule any) { b.used[rule] = true }

// unused reports the rules that changed nothing, and those without a reason.
func (b *book) unused(problems *issues) {
	v := reflect.ValueOf(b.Rules).Elem()
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		for j := range list.Len() {
			rule := list.Index(j)
			name := fmt.Sprintf("rules: %s %v", v.Type().Field(i).Name, rule.Field(0).Interface())
			if rule.FieldByName("Why").String() == "" {
				problems.add(name, "has no reason; fill in Why")
			}
			if !b.used[rule.Addr().Interface()] && b.complete {
				problems.add(name, "applies nowhere or changes nothing; delete it")
			}
		}
	}
}

// find returns the rule whose position fits, an exact one before a wildcard.
func find[R any](b *book, list []R, position string, at func(*R) string) *R {
	var wild *R
	for i := range list {
		switch p := at(&list[i]); {
		case p == position:
			b.use(&list[i])
			return &list[i]
		case strings.HasPrefix(p, "*.") && strings.HasSuffix(position, p[1:]) && wild == nil:
			wild = &list[i]
		}
	}
	if wild != nil {
		b.use(wild)
	}
	return wild
}

// framing finds the rule that leaves a definition out; the pattern may have a *.
func (b *book) framing(def string) *Framing {
	for i := range b.Framing {
		if ok, _ := path.Match(b.Framing[i].Definition, def); ok {
			b.use(&b.Framing[i])
			return &b.Framing[i]
		}
	}
	return nil
}

func (b *book) slot(def string) *Slot {
	return find(b, b.Slots, def, func(r *Slot) string { return r.Definition })
}

func (b *book) sameAs(def string) string {
	if r := find(b, b.Same, def, func(r *Same) string { return r.Old }); r != nil {
		return r.New
	}
	return def
}

// shapeName names an inline shape.
func (b *book) shapeName(position string) (string, bool) {
	if r := find(b, b.Names, position, func(r *Name) string { return r.At }); r != nil {
		return r.Go, true
	}
	return "", false
}

// memberName names a member, own where no rule does.
func (b *book) memberName(position, own string) string {
	if r := find(b, b.Members, position, func(r *MemberName) string { return r.At }); r != nil {
		return r.Go
	}
	return own
}

func (b *book) raw(position string) *KeepRaw {
	return find(b, b.Raw, position, func(r *KeepRaw) string { return r.At })
}

func (b *book) ordered(position string) *Ordering {
	return find(b, b.Ordered, position, func(r *Ordering) string { return r.At })
}

func (b *book) builtin(def string) (Kind, bool) {
	if r := find(b, b.Types, def, func(r *Builtin) string { return r.At }); r != nil {
		return r.Kind, true
	}
	return 0, false
}

// open finds the enum of a position, or the one that has the name.
func (b *book) open(position string) *Open {
	for i := range b.Open {
		if b.Open[i].Name == position {
			b.use(&b.Open[i])
			return &b.Open[i]
		}
	}
	return find(b, b.Open, position, func(r *Open) string { return r.At })
}

func (b *book) pointer(position string) bool {
	return find(b, b.Pointers, position, func(r *Pointer) string { return r.At }) != nil
}

func (b *book) defaultOf(position string) *Default {
	return find(b, b.Defaults, position, func(r *Default) string { return r.At })
}

func (b *book) tolerates(position string, kind ToleranceKind) bool {
	return find(b, b.Tolerances, position, func(r *Tolerance) string {
		if r.Kind != kind {
			return ""
		}
		return r.At
	}) != nil
}

// meta finds what the owner of a _meta is.
func (b *book) meta(def string) *MetaRole {
	for i := range b.Metas {
		if strings.HasSuffix(def, b.Metas[i].Suffix) {
			b.use(&b.Metas[i])
			return &b.Metas[i]
		}
	}
	return nil
}

func (b *book) method(wire string) Facts {
	if r := find(b, b.Methods, wire, func(r *MethodFact) string { return r.Method }); r != nil {
		return r.Facts
	}
	return Facts{}
}

func (b *book) deprecated(at string) string {
	if r := find(b, b.Deprecated, at, func(r *Deprecation) string { return r.At }); r != nil {
		return fmt.Sprintf("since revision %s. %s", r.Since, r.Use)
	}
	return ""
}

// area finds the file of a type or method; the pattern may have a *.
func (b *book) area(at string) string {
	for i := range b.Areas {
		if ok, _ := path.Match(b.Areas[i].At, at); ok {
			b.use(&b.Areas[i])
			return b.Areas[i].Area
		}
	}
	return ""
}

// change tells whether a changed declaration is allowed.
func (b *book) change(at string) bool {
	return find(b, b.Changes, at, func(r *Change) string { return r.At }) != nil
}

func (b *book) order(at string) []string {
	if r := find(b, b.Orders, at, func(r *Order) string { return r.At }); r != nil {
		return r.Values
	}
	return nil
}
