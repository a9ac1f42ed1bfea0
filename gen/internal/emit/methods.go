package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// methods prints the names of the methods and their properties.
func (g *generator) methods(f *jen.File) {
	g.methodConsts(f, "The methods of the protocol.")
	f.Comment("Methods lists the methods and their properties in the order of their names.")
	f.Var().Id("Methods").Op("=").Index().Qual(peerPkg, "MethodInfo").ValuesFunc(func(v *jen.Group) {
		for _, m := range g.pkg.Methods {
			v.Line().Add(g.methodInfo(m))
		}
		v.Line()
	})
	f.Line()
	f.Comment("MethodByName returns the entry of a method in [Methods], or nil if there is none.")
	info := jen.Op("*").Qual(peerPkg, "MethodInfo")
	f.Func().Id("MethodByName").Params(jen.Id("name").String()).Add(info).Block(
		jen.Return(jen.Id("methodByName").Index(jen.Id("name"))),
	)
	f.Line()
	f.Var().Id("methodByName").Op("=").Func().Params().Map(jen.String()).Add(info).Block(
		jen.Id("byName").Op(":=").Make(jen.Map(jen.String()).Add(info), jen.Len(jen.Id("Methods"))),
		jen.For(jen.Id("i").Op(":=").Range().Id("Methods")).Block(
			jen.Id("byName").Index(jen.Id("Methods").Index(jen.Id("i")).Dot("Name")).Op("=").Op("&").Id("Methods").Index(jen.Id("i"))),
		jen.Return(jen.Id("byName")),
	).Call()
}

// methodConsts prints the names of the methods.
func (g *generator) methodConsts(f *jen.File, text string) {
	f.Comment(text)
	f.Const().DefsFunc(func(d *jen.Group) {
		for _, m := range g.pkg.Methods {
			d.Add(comment("Method"+m.Name, fmt.Sprintf("is the method of [%s].", m.Type.Name), m.Deprecated))
			d.Id("Method" + m.Name).Op("=").Lit(m.Wire)
		}
	})
	f.Line()
}

// methodInfo prints:
//
//	{Name: MethodCallTool, FromClient: wire.Always, …}
func (g *generator) methodInfo(m *ir.Method) jen.Code {
	fields := []jen.Code{jen.Id("Name").Op(":").Id("Method" + m.Name)}
	put := func(name string, on bool, value jen.Code) {
		if on {
			fields = append(fields, jen.Id(name).Op(":").Add(value))
		}
	}
	window := func(name string, w ir.Window) { put(name, w != 0, g.window(w)) }
	put("Notification", m.Notification, jen.True())
	window("FromClient", m.FromClient)
	window("FromServer", m.FromServer)
	window("Embedded", m.Embedded)
	window("MultiRoundTrip", m.MultiRound)
	window("Cacheable", m.Cacheable)
	put("Paged", m.Pages != nil, jen.True())
	put("Standalone", m.Facts.Standalone, jen.True())
	put("Capability", m.Facts.Capability != "", jen.Lit(m.Facts.Capability))
	put("NameMember", m.Facts.NameMember != "", jen.Lit(m.Facts.NameMember))
	put("FilterMember", m.Facts.FilterMember != "", jen.Lit(m.Facts.FilterMember))
	return jen.Values(fields...)
}

// errors prints the error codes and the typed errors.
func (g *generator) errors(f *jen.File) {
	f.Comment("The error codes of the protocol.")
	f.Const().DefsFunc(func(d *jen.Group) {
		for _, e := range g.pkg.Errors {
			d.Add(comment(codeName(e), e.Doc, ""))
			d.Id(codeName(e)).Op("=").Lit(e.Code)
		}
	})
	f.Line()
	f.Comment("Errors lists the error codes and their properties.")
	f.Var().Id("Errors").Op("=").Index().Qual(peerPkg, "ErrorInfo").ValuesFunc(func(v *jen.Group) {
		for _, e := range g.pkg.Errors {
			fields := []jen.Code{jen.Id("Code").Op(":").Id(codeName(e)), jen.Id("Name").Op(":").Lit(e.Name), jen.Id("In").Op(":").Add(g.window(e.In))}
			if e.Others != nil {
				fields = append(fields, jen.Id("Others").Op(":").Index().Qual(peerPkg, "OtherCode").ValuesFunc(func(v *jen.Group) {
					for _, o := range e.Others {
						v.Values(jen.Id("Code").Op(":").Lit(o.Code), jen.Id("In").Op(":").Add(g.window(o.In)))
					}
				}))
			}
			v.Line().Values(fields...)
		}
		v.Line()
	})
	f.Line()
	g.errorFrom(f)
	for _, e := range g.pkg.Errors {
		if e.Data != nil {
			g.typedError(f, e)
		}
	}
}

func codeName(e *ir.Error) string { return "Code" + strings.TrimSuffix(e.Name, "Error") }

// errorFrom prints a function that converts an error of a peer to a typed error.
func (g *generator) errorFrom(f *jen.File) {
	f.Add(comment("ErrorFrom", "returns the typed error for e. It returns e itself if there is no typed error for its code, or if its data is not valid for the code. In both cases, [errors.As] finds a *peer.Error in the result.", ""))
	f.Func().Id("ErrorFrom").Params(jen.Id("e").Op("*").Qual(peerPkg, "Error")).Error().BlockFunc(func(d *jen.Group) {
		d.Switch(jen.Id("e").Dot("Code")).BlockFunc(func(d *jen.Group) {
			for _, c := range g.typedCodes() {
				d.Case(c.expr).BlockFunc(func(d *jen.Group) {
					for _, e := range c.errors {
						d.If(jen.Id("x").Op(":=").New(jen.Id(e.Data.Name)), jen.Id("x").Dot("UnmarshalJSON").Call(jen.Id("e").Dot("Data")).Op("==").Nil()).Block(
							jen.Return(jen.Id("x")))
					}
				})
			}
		})
		d.Return(jen.Id("e"))
	})
	f.Line()
}

// typedCode is a code with the errors that have it and data.
type typedCode struct {
	code   int
	expr   jen.Code
	errors []*ir.Error
}

// typedCodes returns the codes of errors with data: first the codes with a name.
func (g *generator) typedCodes() (codes []*typedCode) {
	add := func(code int, expr jen.Code, e *ir.Error) {
		i := slices.IndexFunc(codes, func(c *typedCode) bool { return c.code == code })
		if i < 0 {
			i = len(codes)
			codes = append(codes, &typedCode{code: code, expr: expr})
		}
		codes[i].errors = append(codes[i].errors, e)
	}
	for _, e := range g.pkg.Errors {
		if e.Data != nil {
			add(e.Code, jen.Id(codeName(e)), e)
		}
	}
	for _, e := range g.pkg.Errors {
		for _, o := range e.Others {
			if e.Data != nil {
				add(o.Code, jen.Lit(o.Code), e)
			}
		}
	}
	return codes
}

// typedError prints the methods that make the data of an error code an error.
//
//	func (x *UnsupportedProtocolVersionError) Error() string { return x.Unwrap().Error() }
func (g *generator) typedError(f *jen.File, e *ir.Error) {
	recv := jen.Id("x").Op("*").Id(e.Data.Name)
	f.Comment("Error implements error.")
	f.Func().Params(recv).Id("Error").Params().String().Block(
		jen.Return(jen.Id("describeError").Call(jen.Lit(lowerSentence(sentence(e))), jen.Id("x"))))
	f.Line()
	f.Add(comment("Unwrap", "returns the *peer.Error that is sent to the peer. It has no data if x cannot be encoded.", ""))
	f.Func().Params(recv.Clone()).Id("Unwrap").Params().Error().Block(
		jen.Return(jen.Id("wireError").Call(jen.Id(codeName(e)), jen.Lit(sentence(e)), jen.Id("Revision"+compact(g.oldest(e.In).Name)), jen.Id("x"))))
	f.Line()
}

// oldest returns the oldest revision in a window, so that a later revision does not
// change the form of the data.
func (g *generator) oldest(w ir.Window) *ir.Revision {
	for i, r := range g.pkg.Revisions {
		if w.Has(i) {
			return r
		}
	}
	return g.pkg.Revisions[0]
}

// lowerSentence returns s with a lower-case first letter, unless s begins with an
// acronym.
func lowerSentence(s string) string {
	if len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// sentence returns an error's name as words.
func sentence(e *ir.Error) string {
	words := ir.Words(strings.TrimSuffix(e.Name, "Error"))
	for i, w := range words {
		if i > 0 && strings.ToUpper(w) != w {
			words[i] = strings.ToLower(w)
		}
	}
	return strings.Join(words, " ")
}

// tables prints the lists of the codec's tables.
//
//	var Members = []*wire.Members{annotatedMembers, …}
func (g *generator) tables(f *jen.File) {
	list := func(name, text, typ string, variable func(*ir.Type) string, has func(*ir.Type) bool) {
		f.Add(comment(name, text, ""))
		f.Var().Id(name).Op("=").Index().Op("*").Qual(wirePkg, typ).ValuesFunc(func(v *jen.Group) {
			for _, t := range g.pkg.Types {
				if has(t) {
					v.Line().Id(variable(t))
				}
			}
			v.Line()
		})
		f.Line()
	}
	list("Members", "lists the members of each struct, with the revisions that have and require them, in the order of the struct names.", "Members", membersVar,
		func(t *ir.Type) bool { s, ok := t.Shape.(*ir.Struct); return ok && !hasParamsUnion(s) })
	list("Enums", "lists the values of each closed enum, with the revisions that have them, in the order of the enum names.", "Enum", enumVar,
		func(t *ir.Type) bool { e, ok := t.Shape.(*ir.Enum); return ok && !e.Open })
}

// definitions prints, for the tests, how each definition is represented in Go.
func (g *generator) definitions(f *jen.File) {
	f.Comment("form is the Go representation of a definition in the schemas.")
	f.Type().Id("form").Struct(
		jen.Id("definition").String(),
		jen.Id("in").Qual(wirePkg, "Window").Comment("the revisions that define it"),
		jen.Id("value").Func().Params().Qual(wirePkg, "Value").Comment("returns a new value, in a box if it is not a struct"),
		jen.Id("params").Func().Params().Qual(wirePkg, "Params").Comment("returns a new message whose params are the definition"),
		jen.Id("code").Int64().Comment("code of the error, if the definition is one"),
		jen.Id("why").String().Comment("reason if it is not represented in Go"),
	)
	f.Line()
	g.box(f)
	g.variants(f)
	g.unknowns(f)
	f.Comment("forms lists the definitions of all revisions.")
	f.Var().Id("forms").Op("=").Index().Id("form").ValuesFunc(func(v *jen.Group) {
		for _, x := range g.pkg.Forms {
			v.Line().Values(append([]jen.Code{jen.Id("definition").Op(":").Lit(x.Definition), jen.Id("in").Op(":").Add(g.window(x.In))}, g.formOf(x)...)...)
		}
		v.Line()
	})
}

// unknowns prints, for the tests, functions that create values of unions that no revision defines.
func (g *generator) unknowns(f *jen.File) {
	raw := func() *jen.Statement { return jen.Qual("encoding/json", "RawMessage") }
	f.Comment("unknowns creates values of unions that no revision defines.")
	f.Var().Id("unknowns").Op("=").Index().Func().Params(raw()).Qual(wirePkg, "Value").ValuesFunc(func(list *jen.Group) {
		for _, t := range g.pkg.Types {
			if _, ok := t.Shape.(*ir.Union); ok {
				list.Line().Func().Params(jen.Id("raw").Add(raw())).Qual(wirePkg, "Value").Block(
					jen.Return(jen.Op("&").Id("Unknown" + t.Name).Values(jen.Id("Raw").Op(":").Id("raw"))))
			}
		}
		list.Line()
	})
	f.Line()
}

// variants prints, for the tests, the members whose schema differs from the Go type.
func (g *generator) variants(f *jen.File) {
	f.Comment("variant is a member with a schema that its Go type does not represent exactly in some revisions.")
	f.Type().Id("variant").Struct(
		jen.Id("typeName").String(),
		jen.Id("field").String().Comment("empty for the whole type"),
		jen.Id("member").String(),
		jen.Id("in").Qual(wirePkg, "Window"),
		jen.Id("at").String().Comment("JSON pointer of the schema"),
		jen.Id("extra").Bool().Comment("the value is in Extra"),
	)
	f.Line()
	f.Comment("variants lists the variants of all types.")
	f.Var().Id("variants").Op("=").Index().Id("variant").ValuesFunc(func(list *jen.Group) {
		for _, t := range g.pkg.Types {
			s, ok := t.Shape.(*ir.Struct)
			if !ok {
				continue
			}
			for _, v := range s.Checks {
				list.Line().Values(jen.Lit(t.Name), jen.Lit(""), jen.Lit(""), g.window(v.In), jen.Lit(v.At), jen.False())
			}
			for _, c := range s.Consts {
				for _, v := range c.Unset {
					list.Line().Values(jen.Lit(t.Name), jen.Lit("Extra"), jen.Lit(c.JSON), g.window(v.In), jen.Lit(v.At), jen.True())
				}
			}
			for _, field := range s.Fields {
				for i, v := range slices.Concat(field.Extra, field.Checks) {
					list.Line().Values(jen.Lit(t.Name), jen.Lit(field.Name), jen.Lit(field.JSON), g.window(v.In), jen.Lit(v.At), jen.Lit(i < len(field.Extra)))
				}
			}
		}
	})
	f.Line()
}

func (g *generator) formOf(x ir.Form) []jen.Code {
	newValue := func(kind string, value jen.Code) jen.Code {
		return jen.Id(strings.ToLower(kind)).Op(":").Func().Params().Qual(wirePkg, kind).Block(jen.Return(value))
	}
	switch {
	case x.Error != nil:
		return []jen.Code{jen.Id("code").Op(":").Id(codeName(x.Error))}
	case x.Type == nil:
		return []jen.Code{jen.Id("why").Op(":").Lit(x.Why)}
	case x.Params:
		return []jen.Code{newValue("Params", jen.New(jen.Id(x.Type.Name)))}
	}
	expr := ir.Expr(ir.Named{Type: x.Type})
	for {
		n, ok := expr.(ir.Named)
		if !ok {
			break
		}
		a, ok := n.Type.Shape.(*ir.Alias)
		if !ok {
			break
		}
		expr = a.Of
	}
	if isStruct(expr) {
		return []jen.Code{newValue("Value", jen.New(goType(expr)))}
	}
	return []jen.Code{newValue("Value", jen.Op("&").Id("box").Types(goType(expr)).Values(jen.Dict{
		jen.Id("decode"): g.decodeFunc(expr), jen.Id("append"): g.appendFunc(expr)}))}
}

// box prints a type that makes any type a wire.Value.
func (g *generator) box(f *jen.File) {
	f.Comment("box makes a type without methods a wire.Value.")
	f.Type().Id("box").Types(jen.Id("T").Any()).Struct(
		jen.Id("v").Id("T"),
		jen.Id("decode").Func().Params(jen.Op("*").Qual(wirePkg, "Decoder")).Id("T"),
		jen.Id("append").Func().Params(jen.Index().Byte(), jen.Op("*").Qual(wirePkg, "Encoder"), jen.Id("T")).Index().Byte(),
	)
	f.Line()
	recv := jen.Id("x").Op("*").Id("box").Types(jen.Id("T"))
	f.Func().Params(recv).Id("AppendJSON").Params(encoderParams()...).Index().Byte().Block(jen.Return(jen.Id("x").Dot("append").Call(jen.Id("b"), jen.Id("e"), jen.Id("x").Dot("v"))))
	f.Func().Params(recv.Clone()).Id("DecodeJSON").Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Block(jen.Id("x").Dot("v").Op("=").Id("x").Dot("decode").Call(jen.Id("d")))
	f.Line()
}
