package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// methods prints the names of the methods and what is known about each.
func (g *generator) methods(f *jen.File) {
	f.Comment("The methods of the protocol.")
	f.Const().DefsFunc(func(d *jen.Group) {
		for _, m := range g.pkg.Methods {
			d.Add(comment("Method"+m.Name, fmt.Sprintf("is the method of [%s].", m.Type.Name), m.Deprecated))
			d.Id("Method" + m.Name).Op("=").Lit(m.Wire)
		}
	})
	f.Line()
	f.Comment("Methods lists what is known about each method, by name.")
	f.Var().Id("Methods").Op("=").Index().Qual(peerPkg, "MethodInfo").ValuesFunc(func(v *jen.Group) {
		for _, m := range g.pkg.Methods {
			v.Line().Add(g.methodInfo(m))
		}
		v.Line()
	})
	f.Line()
	f.Comment("MethodByName finds a method's entry in [Methods]. It returns nil where there is")
	f.Comment("none.")
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

// methodInfo prints {Name: MethodCallTool, FromClient: wire.Always, …}.
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

// errors prints the error codes and the errors whose data has a shape.
func (g *generator) errors(f *jen.File) {
	f.Comment("The error codes of the protocol.")
	f.Const().DefsFunc(func(d *jen.Group) {
		for _, e := range g.pkg.Errors {
			d.Add(comment(codeName(e), e.Doc, ""))
			d.Id(codeName(e)).Op("=").Lit(e.Code)
		}
	})
	f.Line()
	f.Comment("Errors lists what is known about each error code.")
	f.Var().Id("Errors").Op("=").Index().Qual(peerPkg, "ErrorInfo").ValuesFunc(func(v *jen.Group) {
		for _, e := range g.pkg.Errors {
			v.Line().Values(jen.Id("Code").Op(":").Id(codeName(e)), jen.Id("Name").Op(":").Lit(e.Name), jen.Id("In").Op(":").Add(g.window(e.In)))
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

// errorFrom prints the way from a peer's error to the typed one.
func (g *generator) errorFrom(f *jen.File) {
	f.Comment("ErrorFrom returns the typed error that a peer's error stands for, or e itself")
	f.Comment("where its code has none or its data is not what the code asks for. Either way")
	f.Comment("[errors.As] finds a *peer.Error in it.")
	f.Func().Id("ErrorFrom").Params(jen.Id("e").Op("*").Qual(peerPkg, "Error")).Error().BlockFunc(func(d *jen.Group) {
		d.Switch(jen.Id("e").Dot("Code")).BlockFunc(func(d *jen.Group) {
			for _, e := range g.pkg.Errors {
				if e.Data != nil {
					d.Case(jen.Id(codeName(e))).Block(
						jen.If(jen.Id("x").Op(":=").New(jen.Id(e.Data.Name)), jen.Id("x").Dot("UnmarshalJSON").Call(jen.Id("e").Dot("Data")).Op("==").Nil()).Block(
							jen.Return(jen.Id("x"))))
				}
			}
		})
		d.Return(jen.Id("e"))
	})
	f.Line()
}

// typedError prints what makes the data of an error code an error.
//
//	func (x *UnsupportedProtocolVersionError) Error() string { return x.Unwrap().Error() }
func (g *generator) typedError(f *jen.File, e *ir.Error) {
	recv := jen.Id("x").Op("*").Id(e.Data.Name)
	f.Comment("Error implements error.")
	f.Func().Params(recv).Id("Error").Params().String().Block(
		jen.Return(jen.Id("describeError").Call(jen.Lit(lowerSentence(sentence(e))), jen.Id("x"))))
	f.Line()
	f.Comment("Unwrap returns the error as it crosses the connection, a *peer.Error. Its data")
	f.Comment("is left out where it cannot be written.")
	f.Func().Params(recv.Clone()).Id("Unwrap").Params().Error().Block(
		jen.Return(jen.Id("wireError").Call(jen.Id(codeName(e)), jen.Lit(sentence(e)), jen.Id("Revision"+compact(g.newest(e.In).Name)), jen.Id("x"))))
	f.Line()
}

// newest is the last revision in a window.
func (g *generator) newest(w ir.Window) *ir.Revision {
	for i, r := range slices.Backward(g.pkg.Revisions) {
		if w.Has(i) {
			return r
		}
	}
	return g.pkg.Revisions[0]
}

// lowerSentence begins a sentence in lower case, unless it begins with an
// acronym.
func lowerSentence(s string) string {
	if len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// sentence says an error's name in words.
func sentence(e *ir.Error) string {
	words := ir.Words(strings.TrimSuffix(e.Name, "Error"))
	for i, w := range words {
		if i > 0 && strings.ToUpper(w) != w {
			words[i] = strings.ToLower(w)
		}
	}
	return strings.Join(words, " ")
}

// tables prints the lists of the tables that the codec works with.
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
	list("Members", "lists the members of each struct with the revisions that have and require them, by the struct's name.", "Members", membersVar,
		func(t *ir.Type) bool { s, ok := t.Shape.(*ir.Struct); return ok && !choice(s) })
	list("Enums", "lists the values of each closed enum with the revisions that have them, by the enum's name.", "Enum", enumVar,
		func(t *ir.Type) bool { e, ok := t.Shape.(*ir.Enum); return ok && !e.Open })
}

// definitions prints, for the tests, how each definition appears in Go.
func (g *generator) definitions(f *jen.File) {
	f.Comment("form says how a definition of the schemas appears in Go.")
	f.Type().Id("form").Struct(
		jen.Id("definition").String(),
		jen.Id("in").Qual(wirePkg, "Window").Comment("the revisions that define it"),
		jen.Id("value").Func().Params().Qual(wirePkg, "Value").Comment("a fresh value; what is no struct comes in a box"),
		jen.Id("params").Func().Params().Qual(wirePkg, "Params").Comment("the definition is the params of this message"),
		jen.Id("code").Int64().Comment("the definition is an error with this code"),
		jen.Id("why").String().Comment("why there is no Go form"),
	)
	f.Line()
	g.box(f)
	f.Comment("forms lists every definition of every revision.")
	f.Var().Id("forms").Op("=").Index().Id("form").ValuesFunc(func(v *jen.Group) {
		for _, x := range g.pkg.Forms {
			v.Line().Values(append([]jen.Code{jen.Id("definition").Op(":").Lit(x.Definition), jen.Id("in").Op(":").Add(g.window(x.In))}, g.formOf(x)...)...)
		}
		v.Line()
	})
}

func (g *generator) formOf(x ir.Form) []jen.Code {
	fresh := func(kind string, value jen.Code) jen.Code {
		return jen.Id(strings.ToLower(kind)).Op(":").Func().Params().Qual(wirePkg, kind).Block(jen.Return(value))
	}
	switch {
	case x.Error != nil:
		return []jen.Code{jen.Id("code").Op(":").Id(codeName(x.Error))}
	case x.Type == nil:
		return []jen.Code{jen.Id("why").Op(":").Lit(x.Why)}
	case x.Params:
		return []jen.Code{fresh("Params", jen.New(jen.Id(x.Type.Name)))}
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
		return []jen.Code{fresh("Value", jen.New(goType(expr)))}
	}
	return []jen.Code{fresh("Value", jen.Op("&").Id("box").Types(goType(expr)).Values(jen.Dict{
		jen.Id("decode"): g.decodeFunc(expr), jen.Id("append"): g.appendFunc(expr)}))}
}

// box prints the test's holder of a value that is no struct.
func (g *generator) box(f *jen.File) {
	f.Comment("box makes a value of what has no methods of its own.")
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
