package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// checkCompatible reports a problem for each Go declaration of older that newer
// changes, unless a Change rule allows it.
func checkCompatible(older, newer *Package, rules *ruleSet, problems *problemList) {
	c := &comparison{older: older, newer: newer, rules: rules, problems: problems,
		from: older.Revisions[len(older.Revisions)-1].Name, to: newer.Revisions[len(newer.Revisions)-1].Name}
	for _, t := range older.Types {
		c.typ(t)
	}
	for _, m := range older.Methods {
		c.method(m)
	}
	for _, e := range older.Errors {
		c.error(e)
	}
}

// keepOrder gives the fields of newer that older has the order of older, in Go and in
// JSON.
func keepOrder(older, newer *Package) {
	for _, t := range older.Types {
		was, ok := t.Shape.(*Struct)
		i := slices.IndexFunc(newer.Types, func(n *Type) bool { return n.Name == t.Name })
		if !ok || i < 0 {
			continue
		}
		if now, ok := newer.Types[i].Shape.(*Struct); ok {
			now.Fields = inOrder(was.Fields, now.Fields)
		}
	}
}

// inOrder returns fields in a new order: the places of known fields have the known fields
// in their order.
func inOrder(known, fields []*Field) []*Field {
	rank := func(f *Field) int { return slices.IndexFunc(known, func(k *Field) bool { return k.JSON == f.JSON }) }
	var old []*Field
	for _, f := range fields {
		if rank(f) >= 0 {
			old = append(old, f)
		}
	}
	slices.SortStableFunc(old, func(a, b *Field) int { return rank(a) - rank(b) })
	list := slices.Clone(fields)
	for i, f := range list {
		if rank(f) >= 0 {
			list[i], old = old[0], old[1:]
		}
	}
	return list
}

// comparison compares the Go declarations of two packages.
type comparison struct {
	older    *Package
	newer    *Package
	rules    *ruleSet
	problems *problemList
	from, to string
}

// changed reports a problem if a declaration is different and no rule allows it.
func (c *comparison) changed(at, where, before, after string) {
	if before == after || c.rules.change(at) {
		return
	}
	r := c.problems.add(where, "adding %s to %s changes the Go declaration of %s from %s to %s; keep it with a rule, or allow the change with a Change rule for %q",
		c.to, c.from, at, before, after, at)
	if kind, name, _ := strings.Cut(at, " "); kind == "method" || kind == "error" {
		c.keepName(r, kind, name)
	}
	r.Choose("The declaration changes, and programs that use it must be adapted.", Change{At: at})
}

func (c *comparison) typ(old *Type) {
	i := slices.IndexFunc(c.newer.Types, func(t *Type) bool { return t.Name == old.Name })
	if i < 0 {
		c.changed(old.Name, old.At, "a type", "nothing")
		return
	}
	now := c.newer.Types[i]
	if kind := shapeName(now.Shape); kind != shapeName(old.Shape) {
		c.problems.fixing(now.fix, func() { c.changed(old.Name, now.newest, shapeName(old.Shape), kind) })
		return
	}
	switch x := old.Shape.(type) {
	case *Struct:
		c.fields(old, x, now)
	case *Union:
		if key := now.Shape.(*Union).Key; x.Key != "" {
			c.changed(old.Name, now.newest, fmt.Sprintf("a union by %q", x.Key), fmt.Sprintf("a union by %q", key))
		}
		for _, m := range x.Members {
			members := now.Shape.(*Union).Members
			if !slices.ContainsFunc(members, func(n *Member) bool { return n.Type.Name == m.Type.Name }) {
				c.changed(old.Name, now.newest, "a union with "+m.Type.Name, "one without")
			}
		}
	case *Alias:
		c.changed(old.Name, now.newest, exprName(x.Of), exprName(now.Shape.(*Alias).Of))
	}
}

func (c *comparison) fields(old *Type, s *Struct, now *Type) {
	for _, f := range s.Fields {
		fields := now.Shape.(*Struct).Fields
		i := slices.IndexFunc(fields, func(n *Field) bool { return n.Name == f.Name })
		if i < 0 {
			c.changed(old.Name+"."+f.JSON, now.newest, "a field", "nothing")
			continue
		}
		x := fix{extraFix, now.def + "." + f.JSON}
		switch {
		case fields[i].Role == Meta:
			x = fix{} // the runtime reads and writes it
		case !fields[i].In.Has(len(c.newer.Revisions) - 1):
			x.kind = keepFix
		}
		c.problems.fixing(x, func() {
			c.changed(old.Name+"."+f.JSON, fields[i].newest, declaration(f), declaration(fields[i]))
		})
	}
}

func (c *comparison) method(old *Method) {
	i := slices.IndexFunc(c.newer.Methods, func(m *Method) bool { return m.Wire == old.Wire })
	if i < 0 {
		c.changed("method "+old.Wire, old.Type.At, "a method", "nothing")
		return
	}
	now := c.newer.Methods[i]
	c.changed("method "+old.Wire, now.Type.At, signature(old), signature(now))
}

func (c *comparison) error(old *Error) {
	i := slices.IndexFunc(c.newer.Errors, func(e *Error) bool { return e.Code == old.Code })
	at, now := fmt.Sprintf("error %d", old.Code), "nothing"
	if i >= 0 {
		now = c.newer.Errors[i].Name
	}
	c.changed(at, c.to, old.Name, now)
}

// keepName adds the choice that a method or an error keeps its Go name.
func (c *comparison) keepName(r *refusal.Refusal, kind, name string) {
	for _, m := range c.older.Methods {
		i := slices.IndexFunc(c.newer.Methods, func(n *Method) bool { return n.Wire == m.Wire })
		if kind == "method" && m.Wire == name && i >= 0 {
			r.Choose("The Go type keeps its name.", Name{At: c.newer.Methods[i].Type.def, Go: m.Type.Name})
		}
	}
	for _, e := range c.older.Errors {
		i := slices.IndexFunc(c.newer.Errors, func(n *Error) bool { return n.Code == e.Code })
		if kind == "error" && fmt.Sprint(e.Code) == name && i >= 0 {
			r.Choose("The Go type keeps its name.", Name{At: c.newer.Errors[i].def, Go: e.Name})
		}
	}
}

func signature(m *Method) string {
	if m.Result == nil {
		return fmt.Sprintf("%s(%s)", m.Name, m.Type.Name)
	}
	return fmt.Sprintf("%s(%s) %s", m.Name, m.Type.Name, m.Result.Name)
}

// declaration returns the Go type of a field.
func declaration(f *Field) string {
	if f.Pointer {
		return "*" + declaredType(f.Type)
	}
	return declaredType(f.Type)
}

// declaredType returns the Go type of an expression, without bounds and windows.
func declaredType(e Expr) string {
	switch x := e.(type) {
	case Scalar:
		if x.Kind == RawObject {
			x.Kind = Raw
		}
		return exprName(Scalar{Kind: x.Kind})
	case List:
		return "[]" + declaredType(x.Elem)
	case OneOrMany:
		return "[]" + declaredType(x.Elem)
	case Map:
		return "map " + declaredType(x.Elem)
	}
	return exprName(e)
}

func shapeName(s Shape) string {
	switch s.(type) {
	case *Struct:
		return "a struct"
	case *Union:
		return "a union"
	case *Enum:
		return "an enum"
	}
	return "an alias"
}
