package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// values prints the functions that encode and decode elements of builtin types, and the functions for
// unions in other packages.
func (g *generator) values(f *jen.File) {
	g.elements(f, func(string) bool { return true })
	g.unions(f)
}

// elements prints the functions for elements of builtin types that are used.
func (g *generator) elements(f *jen.File, used func(name string) bool) {
	element := func(name string, typ *jen.Statement, body jen.Code) {
		if !used(name) {
			return
		}
		f.Func().Id(name).Params(append(encoderParams(), jen.Id("v").Add(typ))...).Index().Byte().Block(body)
		f.Line()
	}
	element("appendString", jen.String(), jen.Return(jen.Qual(wirePkg, "AppendString").Call(jen.Id("b"), jen.Id("v"))))
	element("appendRaw", jen.Qual("encoding/json", "RawMessage"), jen.Return(jen.Id("e").Dot("Raw").Call(jen.Id("b"), jen.Id("v"), jen.Lit("null"))))
	element("appendObject", rawMap(), jen.Return(jen.Qual(wirePkg, "AppendMap").Call(jen.Id("b"), jen.Id("e"), jen.Id("v"), jen.Id("appendRaw"))))
	if used("decodeObject") {
		f.Func().Id("decodeObject").Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Add(rawMap()).Block(
			jen.Return(g.decodeScalar(ir.Scalar{Kind: ir.Object})))
		f.Line()
	}
	for _, k := range g.nullables() {
		value := jen.Op("*").Id("v")
		element("append"+nullableName(k), jen.Op("*").Add(scalarType(k)), jen.Null().Add(
			jen.If(jen.Id("v").Op("==").Nil()).Block(jen.Return(jen.Append(jen.Id("b"), jen.Lit("null").Op("...")))).Line(),
			jen.Return(g.appendScalar(ir.Scalar{Kind: k}, value))))
	}
}

// nullables returns the kinds of nullable fields.
func (g *generator) nullables() []ir.Kind {
	var list []ir.Kind
	for k := ir.String; k <= ir.Float; k++ {
		if g.anyField(func(f *ir.Field) bool { s, ok := f.Type.(ir.Scalar); return ok && f.Nullable && s.Kind == k }) {
			list = append(list, k)
		}
	}
	return list
}

func (g *generator) anyField(is func(*ir.Field) bool) bool {
	for _, t := range g.pkg.Types {
		if s, ok := t.Shape.(*ir.Struct); ok {
			for _, f := range s.Fields {
				if is(f) {
					return true
				}
			}
		}
	}
	return false
}
