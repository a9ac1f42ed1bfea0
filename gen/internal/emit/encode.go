package emit

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// appendJSON prints the encoder of a struct.
//
//	func (x *Tool) AppendJSON(b []byte, e *wire.Encoder) []byte { … }
func (g *generator) appendJSON(f *jen.File, t *ir.Type, s *ir.Struct, method string) {
	f.Commentf("%s implements %s.", method, map[string]string{"AppendJSON": "[wire.Value]", "AppendParams": "[wire.Params]"}[method])
	f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id(method).Params(encoderParams()...).Index().Byte().BlockFunc(func(d *jen.Group) {
		d.If(jen.Id("x").Op("==").Nil()).Block(jen.Return(jen.Id("e").Dot("Missing").Call(jen.Id("b"), jen.Lit(t.Name))))
		if t.In != ^ir.Window(0) {
			d.If(jen.Op("!").Add(g.has(t.In))).Block(jen.Return(jen.Id("e").Dot("Lacks").Call(jen.Id("b"), jen.Lit(t.Name))))
		}
		if hasParamsUnion(s) {
			d.Id("e").Dot("Forward").Call(jen.Id("x"), jen.Id("x").Dot(s.Fields[0].Name))
			d.Return(g.appendExpr(s.Fields[0].Type, jen.Id("x").Dot(s.Fields[0].Name)))
			return
		}
		d.Id("start").Op(":=").Len(jen.Id("b"))
		for _, c := range s.Consts {
			g.appendConst(d, t, c)
		}
		for _, field := range s.Fields {
			g.appendMember(d, t, s, field)
		}
		closed := jen.Id("e").Dot("EndObject").Call(jen.Id("b"), jen.Id("start"), jen.Id("x").Dot("Extra"), jen.Id(membersVar(t)))
		if s.Role == ir.Meta {
			d.Id("b").Op("=").Id("e").Dot("Extra").Call(jen.Id("b"), jen.Id("x").Dot("Extra"), jen.Id(membersVar(t)))
			closed = jen.Qual(wirePkg, "CloseObject").Call(jen.Id("e").Dot("Overlay").Call(jen.Id("b")), jen.Id("start"))
		}
		g.checkCases(d, s, func(field *ir.Field) jen.Code {
			return jen.Return(jen.Id("e").Dot("Missing").Call(jen.Id("b"), jen.Lit(field.JSON)))
		})
		if len(s.Checks) > 0 {
			d.Id("b").Op("=").Add(closed)
			for _, v := range s.Checks {
				d.Id("e").Dot("Check").Call(jen.Id("b"), jen.Id("start"), g.window(v.In), jen.Id(g.checkName(t, nil, v)))
			}
			closed = jen.Id("b")
		}
		d.Return(closed)
	})
	f.Line()
}

func encoderParams() []jen.Code {
	return []jen.Code{jen.Id("b").Index().Byte(), jen.Id("e").Op("*").Qual(wirePkg, "Encoder")}
}

// literal prints:
//
//	b = append(b, `,"name":`...)
func literal(d *jen.Group, text string) {
	d.Id("b").Op("=").Append(jen.Id("b"), raw(text).Op("..."))
}

// raw prints a string literal, with backquotes if possible.
func raw(text string) *jen.Statement {
	if strconv.CanBackquote(text) {
		return jen.Id("`" + text + "`")
	}
	return jen.Lit(text)
}

// memberPrefix returns the JSON before the value of a member.
func memberPrefix(name string) string { return "," + quoted(name) + ":" }

// quoted returns a JSON string.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// appendConst prints a member that has one fixed value.
func (g *generator) appendConst(d *jen.Group, t *ir.Type, c *ir.Const) {
	if c.In == 0 {
		return // the method is not in the params
	}
	if c.Values != nil {
		d.Id("b").Op("=").Id("e").Dot("Constant").Call(jen.Id("b"), jen.Id("x").Dot("Extra"), jen.Id(constantVar(t, c)))
		return
	}
	text := memberPrefix(c.JSON) + quoted(c.Value)
	if c.In == ^ir.Window(0) {
		literal(d, text)
		return
	}
	d.If(g.has(c.In)).BlockFunc(func(d *jen.Group) { literal(d, text) })
}

// has prints:
//
//	e.Has(since20250618)
func (g *generator) has(w ir.Window) *jen.Statement { return jen.Id("e").Dot("Has").Call(g.window(w)) }

// appendMember prints the encoding of a member in all revisions.
func (g *generator) appendMember(d *jen.Group, t *ir.Type, s *ir.Struct, f *ir.Field) {
	if len(f.Extra) == 0 {
		g.appendField(d, t, s, f)
		return
	}
	g.appendOther(d, t, f, func(d *jen.Group) { g.appendField(d, t, s, f) })
}

// appendField prints the encoding of a member from its field. It is conditional unless the
// member is always written.
func (g *generator) appendField(d *jen.Group, t *ir.Type, s *ir.Struct, f *ir.Field) {
	value := jen.Id("x").Dot(f.Name)
	set := func(d *jen.Group) { d.Id("b").Op("=").Add(g.appendValue(f, value)) }
	write := func(d *jen.Group, set func(*jen.Group)) {
		if f.Nulls != 0 && f.Nullable {
			d.If(value.Clone().Op("==").Nil().Op("&&").Op("!").Add(g.has(f.Nulls))).Block(
				jen.Return(jen.Id("e").Dot("Missing").Call(jen.Id("b"), jen.Lit(f.JSON))))
		}
		literal(d, memberPrefix(f.JSON))
		if len(f.Checks) > 0 {
			d.Id("at" + f.Name).Op(":=").Len(jen.Id("b"))
		}
		set(d)
		for _, v := range f.Checks {
			d.Id("e").Dot("Check").Call(jen.Id("b"), jen.Id("at"+f.Name), g.window(v.In), jen.Id(g.checkName(t, f, v)))
		}
		if l, ok := f.Type.(ir.List); ok && l.MaxIn != 0 {
			d.If(jen.Id("e").Dot("Needs").Call(g.window(l.MaxIn))).Block(jen.Id("e").Dot("MaxItems").Call(jen.Id("b"), jen.Len(value), jen.Lit(l.Max)))
		}
	}
	if f.Role == ir.Meta {
		g.appendMeta(d, s, f, value)
		return
	}
	cond := g.writeCondition(s, f)
	switch {
	case cond == nil:
		write(d, set)
	case f.Required == 0, f.Kept:
		d.If(cond).BlockFunc(func(d *jen.Group) { write(d, set) })
	default:
		needed := jen.Id("e").Dot("Needs").Call(g.window(f.Required))
		if s.Role == ir.Meta {
			needed.Op("&&").Op("!").Id("e").Dot("Over").Call(jen.Lit(f.JSON))
		}
		d.If(cond.Op("||").Add(needed)).BlockFunc(func(d *jen.Group) {
			write(d, func(d *jen.Group) { g.appendRequired(d, f, value, set) })
		})
	}
}

// appendMeta prints the encoding of a message's metadata, which the frame's metadata
// extends. It is the last member. In revisions in which the params are optional and their metadata
// are not, params without other members are absent.
func (g *generator) appendMeta(d *jen.Group, s *ir.Struct, f *ir.Field, value *jen.Statement) {
	required := g.window(f.Required)
	if s.Role == ir.Request && f.Required&^s.ParamsRequired != 0 {
		required = jen.Id("required")
		d.Id("required").Op(":=").Qual(wirePkg, "Window").Call(g.window(f.Required))
		d.If(jen.Len(jen.Id("b")).Op("==").Id("start").Op("&&").Len(jen.Id("x").Dot("Extra")).Op("==").Lit(0).Op("&&").Id("e").Dot("OmitsParams").Call()).Block(
			jen.Id("required").Op("=").Add(g.window(f.Required & s.ParamsRequired)))
	}
	call := jen.Id("b").Op("=").Qual(wirePkg, "AppendMeta").Call(jen.Id("b"), jen.Id("e"), jen.Id("x"), value, required)
	if f.In == ^ir.Window(0) {
		d.Add(call)
		return
	}
	d.If(g.has(f.In)).Block(call).Else().Block(jen.Id("e").Dot("NoMeta").Call(jen.Id("x")))
}

// writeCondition returns the condition under which a member that is set is written, or
// nil for always.
func (g *generator) writeCondition(s *ir.Struct, f *ir.Field) *jen.Statement {
	var cond *jen.Statement
	and := func(c *jen.Statement) {
		if cond == nil {
			cond = c
			return
		}
		cond.Op("&&").Add(c)
	}
	if !f.Always {
		and(isPresent(f))
	}
	if f.In != ^ir.Window(0) {
		and(g.has(f.In))
	}
	if f.Kept {
		and(jen.Parens(jen.Id("e").Dot("Needs").Call(g.window(f.In)).Op("||").Op("!").Qual(wirePkg, "IsZero").Call(jen.Op("&").Add(jen.Id("x").Dot(f.Name)))))
	}
	if s.Role == ir.Meta {
		and(jen.Op("!").Id("e").Dot("Over").Call(jen.Lit(f.JSON)))
	}
	return cond
}

// isPresent returns the condition that an optional member has a value, which may be a zero value in Extra.
func isPresent(f *ir.Field) *jen.Statement {
	value, extra := jen.Id("x").Dot(f.Name), jen.Id("x").Dot("Extra")
	switch {
	case f.Zeros != 0:
		return jen.Parens(isSet(f, value).Op("||").Qual(wirePkg, "IsZeroIn").Call(extra, jen.Lit(f.JSON), raw(zeroText(f))))
	case omitsFalse(f):
		return jen.Parens(value.Op("||").Qual(wirePkg, "IsFalse").Call(extra, jen.Lit(f.JSON)))
	}
	return isSet(f, value)
}

// omitsFalse reports whether a member is a boolean that is not written if it is false, unless Extra
// contains it.
func omitsFalse(f *ir.Field) bool {
	x, ok := f.Type.(ir.Scalar)
	return ok && x.Kind == ir.Bool && !f.Pointer && !f.Nullable && !f.Always
}

// zeroText returns the JSON of the zero value of a field, or "" if it is no string, boolean or number.
func zeroText(f *ir.Field) string {
	switch x := f.Type.(type) {
	case ir.Scalar:
		return map[ir.Kind]string{ir.String: `""`, ir.Bool: "false", ir.Int: "0", ir.Float: "0"}[x.Kind]
	case ir.Named:
		if _, ok := x.Type.Shape.(*ir.Enum); ok {
			return `""`
		}
	}
	return ""
}

// isSet returns the condition that a field is not its zero value.
func isSet(f *ir.Field, value *jen.Statement) *jen.Statement {
	if f.Pointer {
		return value.Op("!=").Nil()
	}
	switch x := f.Type.(type) {
	case ir.Scalar:
		switch x.Kind {
		case ir.String:
			return value.Op("!=").Lit("")
		case ir.Bool:
			return value
		case ir.Int, ir.Float:
			return value.Op("!=").Lit(0)
		case ir.ID, ir.Token:
			return jen.Op("!").Add(value).Dot("IsZero").Call()
		}
	case ir.Named:
		if _, ok := x.Type.Shape.(*ir.Enum); ok {
			return value.Op("!=").Lit("")
		}
	}
	return value.Op("!=").Nil()
}

// appendRequired prints the encoding of the value of a required member, with set or the default for its
// zero value.
func (g *generator) appendRequired(d *jen.Group, f *ir.Field, value *jen.Statement, set func(*jen.Group)) {
	zero := f.Default
	switch x := f.Type.(type) {
	case ir.Scalar:
		switch {
		case f.Nullable:
			zero = ""
		case f.Revision:
			d.If(value.Clone().Op("==").Lit("")).Block(
				jen.Id("b").Op("=").Qual(wirePkg, "AppendString").Call(jen.Id("b"), jen.Id("e").Dot("Revision").Call().Dot("String").Call()),
			).Else().BlockFunc(set)
			return
		case f.Pointer && zero == "":
			zero = zeroText(f)
		case x.Kind == ir.Int || x.Kind == ir.Float:
			zero = "" // the type encodes it as 0
		}
	case ir.Named:
		if _, ok := x.Type.Shape.(*ir.Struct); ok {
			d.If(value.Clone().Op("==").Nil()).Block(
				jen.Id("b").Op("=").New(typeID(x.Type)).Dot("AppendJSON").Call(jen.Id("b"), jen.Id("e")),
			).Else().BlockFunc(set)
			return
		}
	}
	if zero == "" {
		set(d)
		return
	}
	d.If(isSet(f, value.Clone())).BlockFunc(set).Else().BlockFunc(func(d *jen.Group) { literal(d, zero) })
}

// appendValue prints the call that encodes a field.
func (g *generator) appendValue(f *ir.Field, value *jen.Statement) *jen.Statement {
	if s, ok := f.Type.(ir.Scalar); ok {
		switch {
		case f.Integers != 0:
			number := value
			if f.Pointer {
				number = jen.Op("*").Add(value)
			}
			args := []jen.Code{jen.Id("b"), number, jen.Id("x").Dot("Extra").Index(jen.Lit(f.JSON)), g.window(f.Integers)}
			return jen.Id("e").Dot("Integer").Call(append(args, floatBounds(s)...)...)
		case f.Nullable:
			return jen.Id("append"+nullableName(s.Kind)).Call(jen.Id("b"), jen.Id("e"), value)
		case f.Pointer:
			return g.appendExpr(f.Type, jen.Op("*").Add(value))
		case s.Kind == ir.Raw || s.Kind == ir.RawObject:
			zero := f.Default
			if zero == "" && f.Always && s.Kind == ir.Raw {
				zero = "null"
			}
			return g.appendRaw(s, value, zero)
		}
	}
	return g.appendExpr(f.Type, value)
}

func nullableName(k ir.Kind) string {
	return map[ir.Kind]string{ir.Int: "NullableInt", ir.Float: "NullableNumber", ir.String: "NullableString", ir.Bool: "NullableBool"}[k]
}

// appendRaw prints e.Raw(b, v, zero), which writes zero if v is not set.
func (g *generator) appendRaw(s ir.Scalar, value jen.Code, zero string) *jen.Statement {
	args := []jen.Code{jen.Id("b"), value, raw(zero)}
	if s.Objects != 0 {
		return jen.Id("e").Dot("RawIn").Call(append(args, g.window(s.Objects))...)
	}
	return jen.Id("e").Dot(rawMethod(s.Kind)).Call(args...)
}

func rawMethod(k ir.Kind) string {
	if k == ir.RawObject {
		return "RawObject"
	}
	return "Raw"
}

// appendExpr prints the call that encodes a value of an expression's type.
func (g *generator) appendExpr(e ir.Expr, value jen.Code) *jen.Statement {
	b, enc := jen.Id("b"), jen.Id("e")
	switch x := e.(type) {
	case ir.Scalar:
		return g.appendScalar(x, value)
	case ir.Named:
		switch s := x.Type.Shape.(type) {
		case *ir.Struct:
			return jen.Add(value).Dot("AppendJSON").Call(b, enc)
		case *ir.Union:
			return g.unionFunc("append", x.Type).Call(b, enc, value)
		case *ir.Enum:
			return g.appendEnum(x.Type, s, value)
		case *ir.Alias:
			return g.appendExpr(s.Of, value)
		}
	case ir.List:
		if isStruct(x.Elem) {
			return jen.Qual(wirePkg, "AppendStructs").Call(b, enc, value)
		}
		if s, ok := x.Elem.(ir.Scalar); ok && s.Kind == ir.String {
			return jen.Qual(wirePkg, "AppendStrings").Call(b, value)
		}
		return jen.Qual(wirePkg, "AppendList").Call(b, enc, value, g.appendFunc(x.Elem))
	case ir.OneOrMany:
		return jen.Qual(wirePkg, "AppendOneOrMany").Call(b, enc, value, g.window(x.Many), g.appendFunc(x.Elem))
	case ir.Map:
		return jen.Qual(wirePkg, "AppendMap").Call(b, enc, value, g.appendFunc(x.Elem))
	case ir.Ordered:
		m := jen.Id("m")
		return jen.Qual(wirePkg, "AppendOrderedMap").Call(b, enc, value,
			jen.Func().Params(jen.Id("m").Op("*").Id(x.Name)).String().Block(jen.Return(m.Clone().Dot("Name"))),
			jen.Func().Params(jen.Id("b").Index().Byte(), jen.Id("e").Op("*").Qual(wirePkg, "Encoder"), jen.Id("m").Op("*").Id(x.Name)).Index().Byte().Block(
				jen.Return(g.appendExpr(x.Elem, m.Clone().Dot(memberValue)))))
	}
	panic(fmt.Sprintf("emit: cannot encode %T", e))
}

func isStruct(e ir.Expr) bool {
	n, ok := e.(ir.Named)
	if !ok {
		return false
	}
	_, ok = n.Type.Shape.(*ir.Struct)
	return ok
}

// appendEnum prints e.Enum(b, string(v), roleEnum). An open enum is encoded as a
// string.
func (g *generator) appendEnum(t *ir.Type, e *ir.Enum, value jen.Code) *jen.Statement {
	if e.Closed != 0 {
		return jen.Id("e").Dot("EnumIn").Call(jen.Id("b"), jen.String().Call(value), jen.Id(enumVar(t)), g.window(e.Closed))
	}
	if e.Open {
		return jen.Qual(wirePkg, "AppendString").Call(jen.Id("b"), jen.String().Call(value))
	}
	return jen.Id("e").Dot("Enum").Call(jen.Id("b"), jen.String().Call(value), jen.Id(enumVar(t)))
}

func (g *generator) appendScalar(s ir.Scalar, value jen.Code) *jen.Statement {
	b, e := jen.Id("b"), jen.Id("e")
	switch s.Kind {
	case ir.String:
		return jen.Qual(wirePkg, "AppendString").Call(b, value)
	case ir.Bool:
		return jen.Qual(wirePkg, "AppendBool").Call(b, value)
	case ir.Int:
		if s.Min == nil && s.Max == nil {
			return jen.Qual(wirePkg, "AppendInt").Call(b, value)
		}
		return g.bounded(e, "Int", s, []jen.Code{b, value}, intBounds(s))
	case ir.Float:
		return g.bounded(e, "Number", s, []jen.Code{b, value}, floatBounds(s))
	case ir.Bytes:
		return jen.Qual(wirePkg, "AppendBytes").Call(b, value)
	case ir.Raw, ir.RawObject:
		return g.appendRaw(s, value, "")
	case ir.Object:
		return jen.Qual(wirePkg, "AppendMap").Call(b, e, value, jen.Id("appendRaw"))
	case ir.ID:
		return e.Dot("ID").Call(b, value)
	case ir.Token:
		return e.Dot("Token").Call(b, value)
	}
	if s.Any != 0 {
		return e.Dot("PrimitiveOrAny").Call(b, value, g.window(s.Lists), g.window(s.Any))
	}
	return e.Dot("Primitive").Call(b, value, g.window(s.Lists))
}

// bounded prints a call that decodes or encodes a bounded number: e.Int(b, x, 0, 9),
// or e.IntIn(b, x, since20270301, 0, 9) if some revisions have no bounds.
func (g *generator) bounded(on *jen.Statement, method string, s ir.Scalar, args, bounds []jen.Code) *jen.Statement {
	if s.Bounds != 0 {
		method, args = method+"In", append(args, g.window(s.Bounds))
	}
	return on.Dot(method).Call(append(args, bounds...)...)
}

func intBounds(s ir.Scalar) []jen.Code {
	min, max := jen.Qual("math", "MinInt64"), jen.Qual("math", "MaxInt64")
	if s.Min != nil {
		min = jen.Lit(int(math.Ceil(*s.Min)))
	}
	if s.Max != nil {
		max = jen.Lit(int(math.Floor(*s.Max)))
	}
	return []jen.Code{min, max}
}

func floatBounds(s ir.Scalar) []jen.Code {
	min, max := jen.Op("-").Qual("math", "MaxFloat64"), jen.Qual("math", "MaxFloat64")
	if s.Min != nil {
		min = number(*s.Min)
	}
	if s.Max != nil {
		max = number(*s.Max)
	}
	return []jen.Code{min, max}
}

// appendFunc returns a function that encodes an element.
func (g *generator) appendFunc(e ir.Expr) jen.Code {
	switch x := e.(type) {
	case ir.Scalar:
		switch x.Kind {
		case ir.String:
			return jen.Id("appendString")
		case ir.Raw:
			return jen.Id("appendRaw")
		case ir.Object:
			return jen.Id("appendObject")
		}
	case ir.Named:
		switch s := x.Type.Shape.(type) {
		case *ir.Union:
			return g.unionFunc("append", x.Type)
		case *ir.Alias:
			return g.appendFunc(s.Of)
		}
	}
	return jen.Func().Params(append(encoderParams(), jen.Id("v").Add(goType(e)))...).Index().Byte().Block(
		jen.Return(g.appendExpr(e, jen.Id("v"))))
}
