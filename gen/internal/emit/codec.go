package emit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// codec prints the encoders and decoders of the types of a file.
func (g *generator) codec(f *jen.File, area string) {
	for _, t := range g.inArea(area) {
		switch x := t.Shape.(type) {
		case *ir.Struct:
			g.structCodec(f, t, x)
		case *ir.Union:
			g.unionCodec(f, t, x)
		case *ir.Enum:
			g.enumCodec(f, t, x)
		}
	}
}

func (g *generator) structCodec(f *jen.File, t *ir.Type, s *ir.Struct) {
	if !hasParamsUnion(s) {
		g.members(f, t, s)
	}
	if s.Method == nil {
		g.appendJSON(f, t, s, "AppendJSON")
		g.decodeJSON(f, t, s, "DecodeJSON")
	} else {
		g.appendJSON(f, t, s, "AppendParams")
		g.decodeJSON(f, t, s, "DecodeParams")
		g.messageJSON(f, t, s)
	}
	g.stdJSON(f, t.Name)
	for _, c := range s.Consts {
		if c.Values != nil {
			g.constant(f, t, c)
		}
	}
	g.checks(f, t, s)
}

// members prints the table of a struct's members. It is a literal, so that a program has it
// without running code.
//
//	var toolMembers = &wire.Members{Type: "Tool", List: []wire.Member{{Name: "name", In: wire.Always, Required: wire.Always}, …}}
func (g *generator) members(f *jen.File, t *ir.Type, s *ir.Struct) {
	var list []jen.Code
	for _, c := range s.Consts {
		if c.In != 0 {
			list = append(list, g.member(c.JSON, c.In, c.Required))
		}
	}
	for _, field := range s.Fields {
		required := field.Required
		if field.Tolerant {
			required = field.Strict
		}
		list = append(list, g.member(field.JSON, field.In, required))
	}
	table(f, membersVar(t), "Members", t.Name, "Member", list)
}

// table prints a variable that points to a literal with a Type and a List.
func table(f *jen.File, name, table, typeName, element string, list []jen.Code) {
	f.Var().Id(name).Op("=").Op("&").Qual(wirePkg, table).Values(
		jen.Id("Type").Op(":").Lit(typeName),
		jen.Id("List").Op(":").Index().Qual(wirePkg, element).ValuesFunc(func(d *jen.Group) {
			for _, x := range list {
				d.Line().Add(x)
			}
			d.Line()
		}))
	f.Line()
}

func (g *generator) member(name string, in, required ir.Window) jen.Code {
	fields := []jen.Code{jen.Id("Name").Op(":").Lit(name), jen.Id("In").Op(":").Add(g.window(in))}
	if required != 0 {
		fields = append(fields, jen.Id("Required").Op(":").Add(g.window(required)))
	}
	return jen.Values(fields...)
}

// messageJSON prints the JSON form of a message in other messages and in logs.
//
//	func (x *CallToolRequest) AppendJSON(b []byte, e *wire.Encoder) []byte { return wire.AppendMessageForm(b, e, MethodCallTool, x, wire.Always) }
func (g *generator) messageJSON(f *jen.File, t *ir.Type, s *ir.Struct) {
	method, required := jen.Id("Method"+s.Method.Name), g.window(s.ParamsRequired)
	f.Comment("AppendJSON implements [wire.Value]. It encodes the method and the params.")
	f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id("AppendJSON").Params(encoderParams()...).Index().Byte().Block(
		jen.Return(jen.Qual(wirePkg, "AppendMessageForm").Call(jen.Id("b"), jen.Id("e"), method, jen.Id("x"), required)))
	f.Line()
	f.Comment("DecodeJSON implements [wire.Value]. It decodes the method and the params.")
	f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id("DecodeJSON").Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Block(
		jen.Qual(wirePkg, "DecodeMessageForm").Call(jen.Id("d"), method, jen.Id("x"), required))
	f.Line()
}

// stdJSON prints the methods for encoding/json.
//
//	func (x Tool) MarshalJSON() ([]byte, error) { return wire.Marshal(&x) }
func (g *generator) stdJSON(f *jen.File, name string) {
	f.Comment("MarshalJSON implements [json.Marshaler], with the members of all revisions.")
	f.Func().Params(jen.Id("x").Id(name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(jen.Qual(wirePkg, "Marshal").Call(jen.Op("&").Id("x"))))
	f.Line()
	f.Comment("UnmarshalJSON implements [json.Unmarshaler], with the members of all revisions.")
	f.Func().Params(jen.Id("x").Op("*").Id(name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.Return(jen.Qual(wirePkg, "Unmarshal").Call(jen.Id("data"), jen.Id("x"))))
	f.Line()
}

// enumCodec prints:
//
//	var roleEnum = &wire.Enum{Type: "Role", List: []wire.EnumValue{{Name: "user", In: wire.Always}, …}}
func (g *generator) enumCodec(f *jen.File, t *ir.Type, e *ir.Enum) {
	table(f, enumVar(t), "Enum", t.Name, "EnumValue", g.enumValues(e.Values, func(name string) *jen.Statement { return jen.Lit(name) }))
}

// enumValues prints the values of an enum or a constant. The function text prints a name.
func (g *generator) enumValues(values []*ir.Value, text func(string) *jen.Statement) (list []jen.Code) {
	for _, v := range values {
		list = append(list, jen.Values(jen.Id("Name").Op(":").Add(text(v.JSON)), jen.Id("In").Op(":").Add(g.window(v.In))))
	}
	return list
}

// constant prints:
//
//	var textContentConstantType = &wire.Constant{Name: "type", Values: wire.Enum{Type: "TextContent.type", List: …}, Closed: …, Required: …}
func (g *generator) constant(f *jen.File, t *ir.Type, c *ir.Const) {
	f.Var().Id(constantVar(t, c)).Op("=").Op("&").Qual(wirePkg, "Constant").Values(
		jen.Id("Name").Op(":").Lit(c.JSON),
		jen.Id("Values").Op(":").Qual(wirePkg, "Enum").Values(jen.Id("Type").Op(":").Lit(t.Name+"."+c.JSON),
			jen.Id("List").Op(":").Index().Qual(wirePkg, "EnumValue").Values(g.enumValues(c.Values, raw)...)),
		jen.Id("Closed").Op(":").Add(g.window(^c.Open)),
		jen.Id("Required").Op(":").Add(g.window(c.Required)))
	f.Line()
}

func (g *generator) unionCodec(f *jen.File, t *ir.Type, u *ir.Union) {
	g.appendUnion(f, t, u)
	g.decodeUnion(f, t, u)
	unknown := "Unknown" + t.Name
	f.Comment("AppendJSON implements [wire.Value].")
	f.Func().Params(jen.Id("x").Op("*").Id(unknown)).Id("AppendJSON").Params(encoderParams()...).Index().Byte().Block(
		jen.If(jen.Id("x").Op("==").Nil()).Block(jen.Return(jen.Id("e").Dot("Missing").Call(jen.Id("b"), jen.Lit(unknown)))),
		jen.Return(jen.Id("e").Dot("RawObject").Call(jen.Id("b"), jen.Id("x").Dot("Raw"), jen.Lit(""))))
	f.Line()
	f.Comment("DecodeJSON implements [wire.Value].")
	f.Func().Params(jen.Id("x").Op("*").Id(unknown)).Id("DecodeJSON").Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Block(
		jen.Id("x").Dot("Raw").Op("=").Id("d").Dot("RawObject").Call())
	f.Line()
	g.stdJSON(f, unknown)
}

// appendUnion prints the encoder of a union. Encoding fails for nil, for types that the revision does not
// have, and for unknown types if the revision has an object in place of the union.
func (g *generator) appendUnion(f *jen.File, t *ir.Type, u *ir.Union) {
	missing := jen.Return(jen.Id("e").Dot("Missing").Call(jen.Id("b"), jen.Lit(t.Name)))
	windowed := func(m *ir.Member) bool { return m.In != ^ir.Window(0) }
	guard := jen.If(jen.Id("v").Op("==").Nil()).Block(missing)
	if slices.ContainsFunc(u.Members, windowed) || u.Objects != 0 {
		guard = jen.Switch(jen.Id("v").Op(".").Parens(jen.Type())).BlockFunc(func(d *jen.Group) {
			d.Case(jen.Nil()).Block(missing)
			for _, m := range u.Members {
				if !windowed(m) {
					continue
				}
				d.Case(jen.Op("*").Add(typeID(m.Type))).Block(
					jen.If(jen.Op("!").Add(g.has(m.In))).Block(
						jen.Return(jen.Id("e").Dot("Lacks").Call(jen.Id("b"), jen.Lit(memberTitle(t, u, m))))))
			}
			if u.Objects != 0 {
				d.Case(jen.Op("*").Id("Unknown" + t.Name)).Block(jen.If(jen.Id("e").Dot("Needs").Call(g.window(u.Objects))).Block(
					jen.Return(jen.Id("e").Dot("Lacks").Call(jen.Id("b"), jen.Lit("Unknown"+t.Name)))))
			}
		})
	}
	f.Func().Id("append"+t.Name).Params(append(encoderParams(), jen.Id("v").Id(t.Name))...).Index().Byte().Block(
		guard,
		jen.Return(jen.Id("v").Dot("AppendJSON").Call(jen.Id("b"), jen.Id("e"))))
	f.Line()
}

// memberTitle returns the description of a member in errors: ContentBlock with type
// "audio".
func memberTitle(t *ir.Type, u *ir.Union, m *ir.Member) string {
	for _, sel := range u.Selectors() {
		for _, test := range sel.Tests {
			followed := slices.ContainsFunc(sel.Tests, func(o ir.Test) bool { return o.In&m.In == 0 && slices.Equal(o.Values, test.Values) })
			if test.Member == m && len(test.Values) > 0 && len(test.Path) == 0 && !followed {
				return fmt.Sprintf("%s with %s %s", t.Name, sel.Key, strings.Join(test.Values, " or "))
			}
		}
	}
	return fmt.Sprintf("%s in %s", m.Type.Name, t.Name)
}

// decodeUnion prints the decoder of a union, with a function for each selector if there are several.
//
//	func decodeContentBlock(d *wire.Decoder) ContentBlock {
//		return wire.InRevisions(d, since20270301, decodeContentBlockUntil20260728, decodeContentBlockSince20270301)
//	}
func (g *generator) decodeUnion(f *jen.File, t *ir.Type, u *ir.Union) {
	all := u.Selectors()
	name := "decode" + t.Name
	for _, sel := range all {
		own := name
		if len(all) > 1 {
			own += upperFirst(g.windows[sel.In])
		}
		f.Func().Id(own).Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Id(t.Name).BlockFunc(func(d *jen.Group) { g.bySelector(d, t, u, sel) })
		f.Line()
	}
	if len(all) > 1 {
		older := jen.Id(name + upperFirst(g.windows[all[0].In]))
		var call *jen.Statement
		for _, sel := range u.Newer {
			if call != nil {
				older = jen.Func().Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Id(t.Name).Block(jen.Return(call))
			}
			call = jen.Qual(wirePkg, "InRevisions").Call(jen.Id("d"), g.window(sel.In), older, jen.Id(name+upperFirst(g.windows[sel.In])))
		}
		f.Func().Id(name).Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Id(t.Name).Block(jen.Return(call))
		f.Line()
	}
	f.Add(comment("Unmarshal"+t.Name, fmt.Sprintf("decodes %s, with the members of all revisions.", a(t.Name)), ""))
	f.Func().Id("Unmarshal"+t.Name).Params(jen.Id("data").Index().Byte()).Params(jen.Id("v").Id(t.Name), jen.Id("err").Error()).Block(
		jen.Id("err").Op("=").Qual(wirePkg, "UnmarshalUnion").Call(jen.Id("data"), jen.Func().Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Block(
			jen.Id("v").Op("=").Id("decode"+t.Name).Call(jen.Id("d")))),
		jen.Return(jen.Id("v"), jen.Id("err")))
	f.Line()
}

// bySelector prints the decoding of a union in the revisions of a selector.
func (g *generator) bySelector(d *jen.Group, t *ir.Type, u *ir.Union, sel ir.Selector) {
	if sel.Key == "" {
		g.byMembers(d, t, sel)
		return
	}
	fallback, objects := g.withoutKey(u, sel), u.Objects&sel.In
	if fallback != nil {
		if c := keyConst(sel, fallback); c.In&sel.In != sel.In {
			objects &= c.In
			d.If(jen.Op("!").Id("d").Dot("Has").Call(g.window(c.In))).Block(
				jen.Id("v").Op(":=").New(typeID(fallback.Type)), decodeValue(), jen.Return(jen.Id("v")))
		}
	}
	optional := jen.Lit(sel.Optional != 0)
	if w := sel.Optional; w != 0 && w != ^ir.Window(0) {
		optional = jen.Id("d").Dot("Has").Call(g.window(w))
	}
	changes := fallback != nil && keyConst(sel, fallback).Values != nil
	d.Var().Id("v").Id(t.Name)
	d.Switch(g.discriminator(t, sel, optional)).BlockFunc(func(d *jen.Group) {
		if changes {
			d.Case(jen.Lit("")).Block(setNew(fallback.Type))
			fallback = nil // its values have no common case
		}
		for i := 0; i < len(sel.Tests); {
			n := i + 1
			for n < len(sel.Tests) && slices.Equal(sel.Tests[n].Values, sel.Tests[i].Values) {
				n++
			}
			g.keyCase(d, sel, sel.Tests[i:n], fallback)
			i = n
		}
	})
	if objects != 0 {
		i := slices.IndexFunc(u.Members, func(m *ir.Member) bool { return m.In&objects != 0 })
		d.If(jen.Id("v").Op("==").Nil().Op("&&").Id("d").Dot("Needs").Call(g.window(u.Objects))).Block(setNew(u.Members[i].Type)) // its decoder refuses the value
	}
	d.If(jen.Id("v").Op("==").Nil()).Block(jen.Id("v").Op("=").New(jen.Id("Unknown" + t.Name)))
	d.Add(decodeValue())
	d.Return(jen.Id("v"))
}

// discriminator prints:
//
//	d.Discriminator("ContentBlock", "type", false)
func (g *generator) discriminator(t *ir.Type, sel ir.Selector, optional jen.Code) *jen.Statement {
	args := []jen.Code{jen.Lit(t.Name), jen.Lit(sel.Key), optional}
	if sel.Texts() {
		return jen.Id("d").Dot("Discriminator").Call(args...)
	}
	var values []string
	for _, test := range sel.Tests {
		for _, v := range test.Values {
			if !slices.Contains(values, v) {
				values, args = append(values, v), append(args, raw(v))
			}
		}
	}
	return jen.Id("d").Dot("DiscriminatorOf").Call(args...)
}

// keyValue prints the value of a key as its discriminator returns it.
func keyValue(sel ir.Selector, value string) jen.Code {
	var text string
	if !sel.Texts() || json.Unmarshal([]byte(value), &text) != nil {
		return raw(value)
	}
	return jen.Lit(text)
}

// withoutKey returns the member that may be without the key, or nil.
func (g *generator) withoutKey(u *ir.Union, sel ir.Selector) *ir.Member {
	for _, m := range u.Members {
		if c := keyConst(sel, m); c != nil && m.In&sel.In != 0 && sel.Key != "method" && c.Required&c.In != c.In {
			return m
		}
	}
	return nil
}

func keyConst(sel ir.Selector, m *ir.Member) *ir.Const {
	for _, c := range m.Type.Shape.(*ir.Struct).Consts {
		if c.JSON == sel.Key {
			return c
		}
	}
	return nil
}

// setNew prints:
//
//	v = new(TextContent)
func setNew(t *ir.Type) jen.Code { return jen.Id("v").Op("=").New(typeID(t)) }

// decodeValue prints:
//
//	v.DecodeJSON(d)
func decodeValue() jen.Code { return jen.Id("v").Dot("DecodeJSON").Call(jen.Id("d")) }

// keyCase prints the case for a value of the key: one type, or several types that
// other members distinguish.
func (g *generator) keyCase(d *jen.Group, sel ir.Selector, tests []ir.Test, fallback *ir.Member) {
	var values []jen.Code
	for _, v := range tests[0].Values {
		values = append(values, keyValue(sel, v))
	}
	if tests[0].Member == fallback {
		values = append(values, jen.Lit(""))
	}
	d.Case(values...).BlockFunc(func(d *jen.Group) {
		if len(tests) == 1 {
			g.guarded(d, tests[0])
			return
		}
		d.Switch().BlockFunc(func(d *jen.Group) {
			for _, t := range tests {
				if cond := g.testCond(t); cond != nil {
					d.Case(cond).Block(setNew(t.Member.Type))
				} else {
					d.Default().Block(setNew(t.Member.Type))
				}
			}
		})
	})
}

// guarded prints the statement that sets v for a type, with a check of the revision.
func (g *generator) guarded(d *jen.Group, t ir.Test) {
	if cond := g.testCond(t); cond != nil {
		d.If(cond).Block(setNew(t.Member.Type))
		return
	}
	d.Add(setNew(t.Member.Type))
}

// testCond returns the condition of a test, or nil for always.
func (g *generator) testCond(t ir.Test) *jen.Statement {
	var cond *jen.Statement
	if t.In != ^ir.Window(0) {
		cond = jen.Id("d").Dot("Has").Call(g.window(t.In))
	}
	if len(t.Path) > 0 {
		var path []jen.Code
		for _, p := range t.Path {
			path = append(path, jen.Lit(p))
		}
		probe := jen.Id("d").Dot("Probe").Call(path...)
		if cond == nil {
			return probe
		}
		cond.Op("&&").Add(probe)
	}
	return cond
}

// byMembers prints the decoder of a union without a key. If no test matches, the
// result is the type whose member may be missing, or an error.
func (g *generator) byMembers(d *jen.Group, t *ir.Type, sel ir.Selector) {
	if m := sel.Only(); m != nil {
		d.Id("v").Op(":=").New(typeID(m.Type))
		d.Add(decodeValue())
		d.Return(jen.Id("v"))
		return
	}
	var names []string
	var plain *ir.Type
	d.Var().Id("v").Id(t.Name)
	d.Switch().BlockFunc(func(d *jen.Group) {
		for _, test := range sel.Tests {
			d.Case(g.testCond(test)).Block(setNew(test.Member.Type))
			names = append(names, fmt.Sprintf("%q", strings.Join(test.Path, "/")))
			if mayBeMissing(test) {
				plain = test.Member.Type
			}
		}
	})
	d.If(jen.Id("v").Op("==").Nil()).BlockFunc(func(d *jen.Group) {
		if plain != nil {
			d.Add(setNew(plain))
			return
		}
		d.Id("d").Dot("Fail").Call(jen.Lit(fmt.Sprintf("%s: want an object with one of the members %s", t.Name, strings.Join(names, ", "))))
		d.Return(jen.Nil())
	})
	d.Add(decodeValue())
	d.Return(jen.Id("v"))
}

// mayBeMissing reports whether a peer may omit the member of a test.
func mayBeMissing(t ir.Test) bool {
	s, ok := t.Member.Type.Shape.(*ir.Struct)
	return ok && len(t.Path) == 1 && slices.ContainsFunc(s.Fields, func(f *ir.Field) bool {
		return f.JSON == t.Path[0] && f.Tolerant
	})
}

// membersVar, enumVar and constantVar return the names of a type's tables.
func membersVar(t *ir.Type) string { return lowerFirst(t.Name) + "Members" }
func enumVar(t *ir.Type) string    { return lowerFirst(t.Name) + "Enum" }
func constantVar(t *ir.Type, c *ir.Const) string {
	return lowerFirst(t.Name) + "Constant" + c.Name
}

// upperFirst returns name with its first letter in upper case.
func upperFirst(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// lowerFirst returns name with its first word in lower case.
func lowerFirst(name string) string {
	runes := []rune(name)
	for i := range runes {
		if i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) || !unicode.IsUpper(runes[i]) {
			break
		}
		runes[i] = unicode.ToLower(runes[i])
	}
	return string(runes)
}
