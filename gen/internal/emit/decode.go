package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// decodeJSON prints the decoder of a struct.
//
//	func (x *Tool) DecodeJSON(d *wire.Decoder) { o := d.Object(toolMembers); for o.Next() { switch o.Name { … } } }
func (g *generator) decodeJSON(f *jen.File, t *ir.Type, s *ir.Struct, method string) {
	f.Commentf("%s implements %s.", method, map[string]string{"DecodeJSON": "[wire.Value]", "DecodeParams": "[wire.Params]"}[method])
	f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id(method).Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).BlockFunc(func(d *jen.Group) {
		if hasParamsUnion(s) {
			d.Id("x").Dot(s.Fields[0].Name).Op("=").Add(g.decodeExpr(s.Fields[0].Type))
			return
		}
		if s.InputRequired != 0 {
			d.Id("start").Op(":=").Id("d").Dot("Here").Call()
		}
		g.decodeChecks(d, t, nil, s.Checks)
		d.Id("o").Op(":=").Id("d").Dot("Object").Call(jen.Id(membersVar(t))) // a variable of the loop would be copied in each iteration
		d.For(jen.Id("o").Dot("Next").Call()).Block(
			jen.Switch(jen.Id("o").Dot("Name")).BlockFunc(func(d *jen.Group) {
				for _, c := range s.Consts {
					switch {
					case c.Values != nil:
						d.Case(jen.Lit(c.JSON)).Block(jen.Id("x").Dot("Extra").Op("=").Id("o").Dot("Constant").Call(jen.Id("x").Dot("Extra"), jen.Id(constantVar(t, c))))
					case c.In != 0:
						d.Case(jen.Lit(c.JSON)).Block(jen.Id("d").Dot("Const").Call(jen.Lit(c.Value)))
					}
				}
				for _, field := range s.Fields {
					d.Case(jen.Lit(field.JSON)).BlockFunc(func(d *jen.Group) { g.decodeMember(d, t, field) })
				}
				d.Default().Block(jen.Id("x").Dot("Extra").Op("=").Id("o").Dot("Extra").Call(jen.Id("x").Dot("Extra")))
			}),
		)
		if s.InputRequired != 0 {
			g.decodeInputRequired(d, t, s)
		}
		g.checkCases(d, s, func(field *ir.Field) jen.Code {
			return jen.Id("d").Dot("Fail").Call(jen.Lit("missing member %q"), jen.Lit(field.JSON))
		})
	})
	f.Line()
}

// decodeInputRequired prints the code that decodes a result again if it is an
// InputRequiredResult. Such a result does not have the required members of x, so
// decoding may fail before it reaches resultType. Looking for resultType first would
// scan long results twice.
//
//	if d.Has(since20260728) && (d.Err() != nil || x.ResultType == ResultTypeInputRequired) && d.Back(start, "resultType", "input_required") { … }
func (g *generator) decodeInputRequired(d *jen.Group, t *ir.Type, s *ir.Struct) {
	d.If(jen.Id("d").Dot("Has").Call(g.window(s.InputRequired)).
		Op("&&").Parens(jen.Id("d").Dot("Err").Call().Op("!=").Nil().
		Op("||").Id("x").Dot("ResultType").Op("==").Id("ResultTypeInputRequired")).
		Op("&&").Id("d").Dot("Back").Call(jen.Id("start"), jen.Lit("resultType"), jen.String().Call(jen.Id("ResultTypeInputRequired"))),
	).Block(
		jen.Op("*").Id("x").Op("=").Id(t.Name).Values(),
		jen.Id("ask").Op(":=").New(jen.Id(s.InputRequiredType.Name)),
		jen.Id("ask").Dot("DecodeJSON").Call(jen.Id("d")),
		jen.Id("d").Dot("FailWith").Call(jen.Op("&").Id("InputRequiredError").Values(jen.Dict{jen.Id("Result"): jen.Id("ask")})),
	)
}

// decodeMember prints the decoding of a member in all revisions.
func (g *generator) decodeMember(d *jen.Group, t *ir.Type, f *ir.Field) {
	if len(f.Extra) == 0 {
		g.decodeField(d, t, f)
		return
	}
	g.decodeOther(d, t, f, func(d *jen.Group) { g.decodeField(d, t, f) })
}

// decodeField prints the decoding of a member into its field.
func (g *generator) decodeField(d *jen.Group, t *ir.Type, f *ir.Field) {
	value := jen.Id("x").Dot(f.Name)
	strictly := func(d *jen.Group) {
		g.decodeChecks(d, t, f, f.Checks)
		g.decodeStrictly(d, f, value)
	}
	switch {
	case f.Lenient && unionOf(f.Type) != nil:
		d.Add(value.Clone()).Op("=").Qual(wirePkg, "Map").Call(jen.Id("d"), g.lenientElement(unionOf(f.Type)))
	case f.Lenient:
		try := d.If
		if f.Strict != 0 {
			try = d.If(jen.Id("d").Dot("Needs").Call(g.window(f.Strict))).BlockFunc(strictly).Else().If
		}
		try(jen.Op("!").Id("d").Dot("Try").Call(jen.Func().Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).BlockFunc(strictly))).Block(
			value.Clone().Op("=").Add(zero(f)),
			jen.Id("x").Dot("Extra").Op("=").Id("o").Dot("Extra").Call(jen.Id("x").Dot("Extra")),
		)
	default:
		strictly(d)
	}
	if l, ok := f.Type.(ir.List); ok && l.MaxIn != 0 {
		d.If(jen.Id("d").Dot("Needs").Call(g.window(l.MaxIn))).Block(jen.Id("d").Dot("MaxItems").Call(jen.Len(value), jen.Lit(l.Max)))
	}
}

// unionOf returns the union whose values a map has, or nil.
func unionOf(e ir.Expr) *ir.Type {
	m, _ := e.(ir.Map)
	n, _ := m.Elem.(ir.Named)
	if n.Type != nil {
		if _, ok := n.Type.Shape.(*ir.Union); ok {
			return n.Type
		}
	}
	return nil
}

// lenientElement returns a function that decodes a value of a union, and returns nil if it is not valid.
func (g *generator) lenientElement(t *ir.Type) jen.Code {
	decoder := jen.Id("d").Op("*").Qual(wirePkg, "Decoder")
	return jen.Func().Params(decoder).Add(typeID(t)).Block(
		jen.Var().Id("v").Add(typeID(t)),
		jen.If(jen.Op("!").Id("d").Dot("Try").Call(jen.Func().Params(decoder.Clone()).Block(
			jen.Id("v").Op("=").Add(g.unionFunc("decode", t)).Call(jen.Id("d"))))).Block(
			jen.Id("d").Dot("Skip").Call(),
			jen.Return(jen.Nil())),
		jen.Return(jen.Id("v")))
}

// decodeStrictly prints the decoding of a member whose value must have the type of the schema.
func (g *generator) decodeStrictly(d *jen.Group, f *ir.Field, value *jen.Statement) {
	switch {
	case f.NullAbsent || f.Nullable:
		isValue := jen.Op("!").Id("d").Dot("Null").Call()
		switch {
		case f.Nulls != 0 && f.NullAbsent && !f.Nullable:
			isValue = jen.Id("d").Dot("Needs").Call(g.window(f.Nulls)).Op("||").Add(isValue) // the value null is kept
		case f.Nulls != 0 && !f.NullAbsent:
			isValue = jen.Op("!").Id("d").Dot("Has").Call(g.window(f.Nulls)).Op("||").Add(isValue)
		}
		d.If(isValue).BlockFunc(func(d *jen.Group) { g.assign(d, f, value) })
	default:
		g.assign(d, f, value)
	}
}

// zero returns the value of a field that could not be decoded.
func zero(f *ir.Field) jen.Code {
	if f.Pointer {
		return jen.Nil()
	}
	switch x := f.Type.(type) {
	case ir.Scalar:
		if x.Kind == ir.Int {
			return jen.Lit(0)
		}
	case ir.Named:
		if _, ok := x.Type.Shape.(*ir.Enum); ok {
			return jen.Lit("")
		}
	}
	panic(fmt.Sprintf("emit: no zero value of %T", f.Type))
}

// assign prints:
//
//	x.Name = d.String()
func (g *generator) assign(d *jen.Group, f *ir.Field, value *jen.Statement) {
	if f.Integers != 0 {
		extra := jen.Id("x").Dot("Extra")
		d.Add(extra).Op("=").Id("o").Dot("Integer").Call(extra, g.window(f.Integers))
	}
	n, named := f.Type.(ir.Named)
	if named {
		if _, ok := n.Type.Shape.(*ir.Struct); ok {
			if f.Pointer {
				d.Add(value.Clone()).Op("=").New(typeID(n.Type))
			}
			d.Add(value.Clone()).Dot("DecodeJSON").Call(jen.Id("d"))
			return
		}
	}
	expr := g.decodeExpr(f.Type)
	if f.Pointer && !isStruct(f.Type) {
		expr = jen.New(expr)
	}
	d.Add(value.Clone()).Op("=").Add(expr)
	if f.Zeros != 0 {
		extra := jen.Id("x").Dot("Extra")
		d.If(jen.Op("!").Parens(isSet(f, value.Clone())).Op("&&").Id("d").Dot("Has").Call(g.window(f.Zeros))).Block(
			extra.Clone().Op("=").Id("o").Dot("Zero").Call(extra, raw(zeroText(f))))
	}
	if omitsFalse(f) {
		extra := jen.Id("x").Dot("Extra")
		d.If(jen.Op("!").Add(value.Clone())).Block(extra.Clone().Op("=").Id("o").Dot("False").Call(extra))
	}
}

// decodeExpr prints the call that decodes a value of an expression's type. The result
// is a pointer for a struct.
func (g *generator) decodeExpr(e ir.Expr) *jen.Statement {
	dec := jen.Id("d")
	switch x := e.(type) {
	case ir.Scalar:
		return g.decodeScalar(x)
	case ir.Named:
		switch s := x.Type.Shape.(type) {
		case *ir.Struct:
			return jen.Qual(wirePkg, "New").Types(typeID(x.Type)).Call(dec)
		case *ir.Union:
			return g.unionFunc("decode", x.Type).Call(dec)
		case *ir.Enum:
			if s.Closed != 0 {
				return typeID(x.Type).Call(dec.Dot("EnumIn").Call(jen.Id(enumVar(x.Type)), g.window(s.Closed)))
			}
			if s.Open && x.Type.Package != "" {
				return typeID(x.Type).Call(dec.Dot("String").Call())
			}
			if s.Open {
				return jen.Id(x.Type.Name).Call(dec.Dot("OpenEnum").Call(jen.Id(enumVar(x.Type))))
			}
			return typeID(x.Type).Call(dec.Dot("Enum").Call(jen.Id(enumVar(x.Type))))
		case *ir.Alias:
			return g.decodeExpr(s.Of)
		}
	case ir.List:
		if isStruct(x.Elem) {
			return jen.Qual(wirePkg, "Structs").Types(goType(x.Elem)).Call(dec)
		}
		if s, ok := x.Elem.(ir.Scalar); ok && s.Kind == ir.String {
			return dec.Dot("Strings").Call()
		}
		return jen.Qual(wirePkg, "List").Call(dec, g.decodeFunc(x.Elem))
	case ir.OneOrMany:
		return jen.Qual(wirePkg, "OneOrMany").Call(dec, g.window(x.Many), g.decodeFunc(x.Elem))
	case ir.Map:
		return jen.Qual(wirePkg, "Map").Call(dec, g.decodeFunc(x.Elem))
	case ir.Ordered:
		return jen.Qual(wirePkg, "OrderedMap").Call(dec,
			jen.Func().Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder"), jen.Id("name").String(), jen.Id("m").Op("*").Id(x.Name)).Block(
				jen.List(jen.Id("m").Dot("Name"), jen.Id("m").Dot(memberValue)).Op("=").List(jen.Id("name"), g.decodeExpr(x.Elem))))
	}
	panic(fmt.Sprintf("emit: cannot decode %T", e))
}

func (g *generator) decodeScalar(s ir.Scalar) *jen.Statement {
	d := jen.Id("d")
	switch s.Kind {
	case ir.String:
		return d.Dot("String").Call()
	case ir.Bool:
		return d.Dot("Bool").Call()
	case ir.Int:
		return g.bounded(d, "Int", s, nil, intBounds(s))
	case ir.Float:
		return g.bounded(d, "Number", s, nil, floatBounds(s))
	case ir.Bytes:
		return d.Dot("Bytes").Call()
	case ir.Raw, ir.RawObject:
		if s.Objects != 0 {
			return d.Dot("RawIn").Call(g.window(s.Objects))
		}
		return d.Dot(rawMethod(s.Kind)).Call()
	case ir.Object:
		return jen.Qual(wirePkg, "Map").Call(d, jen.Parens(jen.Op("*").Qual(wirePkg, "Decoder")).Dot("Raw"))
	case ir.ID:
		return d.Dot("ID").Call()
	case ir.Token:
		return d.Dot("Token").Call()
	}
	if s.Any != 0 {
		return d.Dot("PrimitiveOrAny").Call(g.window(s.Lists), jen.Lit(s.Fractions), g.window(s.Any))
	}
	return d.Dot("Primitive").Call(g.window(s.Lists), jen.Lit(s.Fractions))
}

// decodeFunc returns a function that decodes an element.
func (g *generator) decodeFunc(e ir.Expr) jen.Code {
	method := func(name string) jen.Code {
		return jen.Parens(jen.Op("*").Qual(wirePkg, "Decoder")).Dot(name)
	}
	switch x := e.(type) {
	case ir.Scalar:
		switch x.Kind {
		case ir.String:
			return method("String")
		case ir.Bool:
			return method("Bool")
		case ir.Raw:
			return method("Raw")
		case ir.RawObject:
			return method("RawObject")
		case ir.Object:
			return jen.Id("decodeObject")
		}
	case ir.Named:
		switch s := x.Type.Shape.(type) {
		case *ir.Union:
			return g.unionFunc("decode", x.Type)
		case *ir.Alias:
			return g.decodeFunc(s.Of)
		}
	}
	body := jen.Return(g.decodeExpr(e))
	if isStruct(e) {
		body = jen.Return(jen.Op("*").Add(g.decodeExpr(e)))
	}
	return jen.Func().Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Add(goType(e)).Block(body)
}
