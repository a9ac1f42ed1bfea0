package emit

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// checks prints a function for each schema that validates values in some revisions.
//
//	func checkIconSizesSince20270301(d *wire.Decoder) { (&wire.Schema{Types: []string{"string"}}).Read(d) }
func (g *generator) checks(f *jen.File, t *ir.Type, s *ir.Struct) {
	for _, v := range s.Checks {
		g.check(f, g.checkName(t, nil, v), a(t.Name), v.Schema)
	}
	for _, field := range s.Fields {
		for _, v := range slices.Concat(field.Extra, field.Checks) {
			g.check(f, g.checkName(t, field, v), fmt.Sprintf("the member %q of %s", field.JSON, a(t.Name)), v.Schema)
		}
	}
	for _, x := range g.definitionsOf[t] {
		g.check(f, g.definitionNames[x], fmt.Sprintf("values of %q", x.Name), x.Schema)
	}
}

// check prints the function name, and the regular expressions that it uses.
func (g *generator) check(f *jen.File, name, what string, s *ir.Schema) {
	g.function, g.patterns = name, nil
	body := g.readSchema(s)
	f.Commentf("%s validates %s.", name, what)
	f.Func().Id(name).Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Block(body)
	f.Line()
	for i, text := range g.patterns {
		re := jen.Op("*").Qual("regexp", "Regexp")
		f.Var().Id(g.patternName(i)).Op("=").Qual("sync", "OnceValue").Call(jen.Func().Params().Add(re).Block(
			jen.Return(jen.Qual("regexp", "MustCompile").Call(raw(text)))))
		f.Line()
	}
}

// patternName returns the name of the function that returns a regular expression.
func (g *generator) patternName(i int) string { return fmt.Sprint(g.function, "Pattern", i+1) }

// match prints a function that reports whether a string matches a regular expression.
//
//	func(s string) bool { return checkIconSizesSince20270301Pattern1().MatchString(s) }
func (g *generator) match(pattern string) jen.Code {
	g.patterns = append(g.patterns, pattern)
	return jen.Func().Params(jen.Id("s").String()).Bool().Block(
		jen.Return(jen.Id(g.patternName(len(g.patterns) - 1)).Call().Dot("MatchString").Call(jen.Id("s"))))
}

// checkKey identifies the function that validates a member, or the whole type if the member is "".
type checkKey struct {
	t      *ir.Type
	member string
	in     ir.Window
}

// nameChecks names the functions that validate values in some revisions. The function of a definition that
// contains itself follows the functions of the first type that uses it.
func (g *generator) nameChecks() {
	g.checkNames, g.definitionNames = make(map[checkKey]string), make(map[*ir.SchemaDefinition]string)
	g.definitionsOf = make(map[*ir.Type][]*ir.SchemaDefinition)
	taken := make(map[string]bool)
	name := func(of string, in ir.Window) string {
		base := "check" + of
		if window := g.windows[in]; window != "" { // extensions have no windows
			base += upperFirst(window)
		}
		free := base
		for n := 2; taken[free]; n++ {
			free = base + strconv.Itoa(n)
		}
		taken[free] = true
		return free
	}
	for _, t := range g.pkg.Types {
		s, ok := t.Shape.(*ir.Struct)
		if !ok {
			continue
		}
		for _, v := range s.Checks {
			g.checkNames[checkKey{t, "", v.In}] = name(t.Name, v.In)
			g.nameDefinitions(t, v.Schema, name)
		}
		for _, f := range s.Fields {
			for _, v := range slices.Concat(f.Extra, f.Checks) {
				g.checkNames[checkKey{t, f.JSON, v.In}] = name(t.Name+f.Name, v.In)
				g.nameDefinitions(t, v.Schema, name)
			}
		}
	}
}

// nameDefinitions names the functions of the definitions in a schema.
func (g *generator) nameDefinitions(t *ir.Type, s *ir.Schema, name func(string, ir.Window) string) {
	if x := s.Definition; x != nil && g.definitionNames[x] == "" {
		g.definitionNames[x] = name("Definition"+x.Name, x.In)
		g.definitionsOf[t] = append(g.definitionsOf[t], x)
		g.nameDefinitions(t, x.Schema, name)
	}
	for _, part := range s.Parts() {
		g.nameDefinitions(t, part, name)
	}
}

// checkName returns the name of the function for a field, or for the whole type if f is nil.
func (g *generator) checkName(t *ir.Type, f *ir.Field, v ir.Variant) string {
	key := checkKey{t, "", v.In}
	if f != nil {
		key.member = f.JSON
	}
	return g.checkNames[key]
}

// discard prints a statement that decodes a value without using it. A conversion to the type of an enum
// is no statement.
func (g *generator) discard(e ir.Expr) *jen.Statement {
	if named, ok := e.(ir.Named); ok {
		switch x := named.Type.Shape.(type) {
		case *ir.Enum:
			return jen.Id("_").Op("=").Add(g.decodeExpr(e))
		case *ir.Alias:
			return g.discard(x.Of)
		}
	}
	return g.decodeExpr(e)
}

// readSchema prints the call that validates the next value.
func (g *generator) readSchema(s *ir.Schema) jen.Code {
	switch {
	case s.Type != nil:
		return g.discard(s.Type)
	case s.Definition != nil:
		return jen.Id(g.definitionNames[s.Definition]).Call(jen.Id("d"))
	}
	return jen.Parens(jen.Op("&").Add(g.schema(s))).Dot("Read").Call(jen.Id("d"))
}

// reader prints a function that reads a value of the Go type or the definition of s. It is nil if s has neither.
func (g *generator) reader(s *ir.Schema) jen.Code {
	switch {
	case s.Type != nil:
		return jen.Func().Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Block(g.discard(s.Type))
	case s.Definition != nil:
		return jen.Id(g.definitionNames[s.Definition])
	}
	return nil
}

// schema prints a literal: wire.Schema{Types: []string{"array"}, Items: &wire.Schema{…}}.
func (g *generator) schema(s *ir.Schema) *jen.Statement {
	return jen.Qual(wirePkg, "Schema").ValuesFunc(func(d *jen.Group) {
		if read := g.reader(s); read != nil {
			d.Id("Value").Op(":").Add(read)
			return
		}
		texts := func(name string, list []string) {
			if len(list) > 0 {
				d.Id(name).Op(":").Index().String().ValuesFunc(func(d *jen.Group) {
					for _, text := range list {
						d.Lit(text)
					}
				})
			}
		}
		bound := func(name string, v *float64) {
			if v != nil {
				d.Id(name).Op(":").New(jen.Float64().Call(number(*v)))
			}
		}
		inner := func(name string, s *ir.Schema) {
			if s != nil {
				d.Id(name).Op(":").Op("&").Add(g.schema(s))
			}
		}
		texts("Types", s.Types)
		texts("Values", s.Values)
		if s.Base64 {
			d.Id("Base64").Op(":").True()
		}
		bound("Min", s.Min)
		bound("Max", s.Max)
		inner("Items", s.Items)
		if s.MaxItems > 0 {
			d.Id("MaxItems").Op(":").Lit(s.MaxItems)
		}
		if len(s.Members) > 0 {
			d.Id("Members").Op(":").Index().Qual(wirePkg, "SchemaPart").ValuesFunc(func(d *jen.Group) {
				for _, m := range s.Members {
					d.Values(jen.Id("Name").Op(":").Lit(m.Name), jen.Id("Required").Op(":").Lit(m.Required), jen.Id("Schema").Op(":").Op("&").Add(g.schema(m.Schema)))
				}
			})
		}
		inner("Others", s.Others)
		if s.Closed {
			d.Id("Closed").Op(":").True()
		}
		if len(s.AnyOf) > 0 {
			d.Id("AnyOf").Op(":").Index().Op("*").Qual(wirePkg, "Schema").ValuesFunc(func(d *jen.Group) {
				for _, alternative := range s.AnyOf {
					d.Op("&").Add(g.schema(alternative))
				}
			})
		}
		texts("Equal", s.Equal)
		g.restrictions(d, s)
	})
}

// restrictions prints the keywords that no Go type represents.
func (g *generator) restrictions(d *jen.Group, s *ir.Schema) {
	set := func(name string, value jen.Code) { d.Id(name).Op(":").Add(value) }
	for _, x := range []struct {
		name string
		list []*ir.Schema
	}{{"AllOf", s.AllOf}, {"OneOf", s.OneOf}, {"First", s.First}} {
		if len(x.list) > 0 {
			set(x.name, jen.Index().Op("*").Qual(wirePkg, "Schema").ValuesFunc(func(d *jen.Group) {
				for _, inner := range x.list {
					d.Op("&").Add(g.schema(inner))
				}
			}))
		}
	}
	for _, x := range []struct {
		name  string
		inner *ir.Schema
	}{{"Not", s.Not}, {"Contains", s.Contains}, {"Names", s.Names}} {
		if x.inner != nil {
			set(x.name, jen.Op("&").Add(g.schema(x.inner)))
		}
	}
	for _, x := range []struct {
		name  string
		bound *float64
	}{{"Above", s.Above}, {"Below", s.Below}} {
		if x.bound != nil {
			set(x.name, jen.New(jen.Float64().Call(number(*x.bound))))
		}
	}
	for _, x := range []struct {
		name   string
		limits *ir.Range
	}{{"Length", s.Length}, {"Count", s.Count}, {"Contained", s.Contained}, {"Size", s.Size}} {
		if x.limits != nil {
			set(x.name, jen.Op("&").Qual(wirePkg, "Range").Values(jen.Id("Min").Op(":").Lit(x.limits.Min), jen.Id("Max").Op(":").Lit(x.limits.Max)))
		}
	}
	g.moreRestrictions(d, s)
}

// moreRestrictions prints the keywords that are neither schemas nor limits.
func (g *generator) moreRestrictions(d *jen.Group, s *ir.Schema) {
	set := func(name string, value jen.Code) { d.Id(name).Op(":").Add(value) }
	if s.Multiple != "" {
		set("Multiple", jen.Lit(s.Multiple))
	}
	if s.Pattern != "" {
		set("Match", g.match(s.Pattern))
	}
	if s.Unique {
		set("Unique", jen.True())
	}
	if len(s.Patterns) > 0 {
		set("Patterns", jen.Index().Qual(wirePkg, "SchemaPattern").ValuesFunc(func(d *jen.Group) {
			for _, p := range s.Patterns {
				d.Values(jen.Id("Match").Op(":").Add(g.match(p.Pattern)), jen.Id("Schema").Op(":").Op("&").Add(g.schema(p.Schema)))
			}
		}))
	}
	if len(s.Dependents) > 0 {
		set("Dependents", jen.Index().Qual(wirePkg, "Dependent").ValuesFunc(func(d *jen.Group) {
			for _, x := range s.Dependents {
				d.Values(jen.Id("Name").Op(":").Lit(x.Name), jen.Id("Schema").Op(":").Op("&").Add(g.schema(x.Schema)))
			}
		}))
	}
}

// number prints a bound.
func number(v float64) *jen.Statement {
	if v == math.Trunc(v) {
		return jen.Lit(int(v))
	}
	return jen.Lit(v)
}

// decodeOther prints the decoding of a member whose value is in Extra in some revisions. In the
// all-revisions form, it is in Extra if it does not have the type of the field.
//
//	switch {
//	case d.Needs(since20270301):
//		d.Check(since20270301, checkIconSizesSince20270301)
//		x.Extra = o.Extra(x.Extra)
//	case !d.Has(since20270301):
//		x.Sizes = d.Strings()
//	case !d.Try(func(d *wire.Decoder) { x.Sizes = d.Strings() }):
//		…
//	}
func (g *generator) decodeOther(d *jen.Group, t *ir.Type, f *ir.Field, own func(*jen.Group)) {
	dec := jen.Id("d").Op("*").Qual(wirePkg, "Decoder")
	keep := jen.Id("x").Dot("Extra").Op("=").Id("o").Dot("Extra").Call(jen.Id("x").Dot("Extra"))
	d.Switch().BlockFunc(func(d *jen.Group) {
		var lacks *jen.Statement
		var checks []jen.Code
		for _, v := range f.Extra {
			check := jen.Id(g.checkName(t, f, v))
			d.Case(jen.Id("d").Dot("Needs").Call(g.window(v.In))).Block(
				jen.Id("d").Dot("Check").Call(g.window(v.In), check), keep.Clone())
			if lacks == nil {
				lacks = jen.Op("!").Id("d").Dot("Has").Call(g.window(v.In))
			} else {
				lacks.Op("&&").Op("!").Id("d").Dot("Has").Call(g.window(v.In))
			}
			checks = append(checks, jen.Values(jen.Id("Value").Op(":").Add(check)))
		}
		d.Case(lacks).BlockFunc(own)
		d.Case(jen.Op("!").Id("d").Dot("Try").Call(jen.Func().Params(dec).BlockFunc(own))).Block(
			jen.Id("x").Dot(f.Name).Op("=").Add(jen.Op("*").New(fieldType(f))),
			jen.Id("d").Dot("Check").Call(jen.Qual(wirePkg, "Always"), jen.Parens(jen.Op("&").Qual(wirePkg, "Schema").Values(
				jen.Id("AnyOf").Op(":").Index().Op("*").Qual(wirePkg, "Schema").Values(checks...))).Dot("Read")),
			keep.Clone())
	})
}

// appendOther prints the encoding of a member whose value is in Extra in some revisions, and own
// in others.
//
//	if e.InExtra(x.Extra, "sizes", since20270301) {
//		b = e.FromExtra(b, x.Extra, "sizes", 0, checkIconSizesSince20270301, x.Sizes != nil)
//	} else {
//		…
//	}
func (g *generator) appendOther(d *jen.Group, t *ir.Type, f *ir.Field, own func(*jen.Group)) {
	extra, name := jen.Id("x").Dot("Extra"), jen.Lit(f.JSON)
	set := jen.False()
	if !isStruct(f.Type) || f.Pointer {
		set = isSet(f, jen.Id("x").Dot(f.Name))
	}
	var out *jen.Statement
	for _, v := range f.Extra {
		cond := jen.Id("e").Dot("InExtra").Call(extra, name, g.window(v.In))
		body := jen.Id("b").Op("=").Id("e").Dot("FromExtra").Call(jen.Id("b"), extra, name, g.window(f.Required), jen.Id(g.checkName(t, f, v)), set)
		if out == nil {
			out = jen.If(cond).Block(body)
		} else {
			out.Else().If(cond).Block(body)
		}
	}
	d.Add(out.Else().BlockFunc(own))
}

// decodeChecks prints the checks of a member or a struct whose type allows more than some revisions.
//
//	d.Check(since20270301, checkCallToolRequestArgumentsSince20270301)
func (g *generator) decodeChecks(d *jen.Group, t *ir.Type, f *ir.Field, list []ir.Variant) {
	for _, v := range list {
		d.Id("d").Dot("Check").Call(g.window(v.In), jen.Id(g.checkName(t, f, v)))
	}
}
