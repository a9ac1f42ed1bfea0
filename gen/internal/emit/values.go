package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// values prints the functions that encode and decode elements of builtin types.
func (g *generator) values(f *jen.File) {
	element := func(name string, typ *jen.Statement, body jen.Code) {
		f.Func().Id(name).Params(append(encoderParams(), jen.Id("v").Add(typ))...).Index().Byte().Block(body)
		f.Line()
	}
	element("appendString", jen.String(), jen.Return(jen.Qual(wirePkg, "AppendString").Call(jen.Id("b"), jen.Id("v"))))
	element("appendRaw", jen.Qual("encoding/json", "RawMessage"), jen.Return(jen.Id("e").Dot("Raw").Call(jen.Id("b"), jen.Id("v"), jen.Lit("null"))))
	element("appendObject", rawMap(), jen.Return(jen.Qual(wirePkg, "AppendMap").Call(jen.Id("b"), jen.Id("e"), jen.Id("v"), jen.Id("appendRaw"))))
	f.Func().Id("decodeObject").Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Add(rawMap()).Block(
		jen.Return(g.decodeScalar(ir.Scalar{Kind: ir.Object})))
	f.Line()
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
