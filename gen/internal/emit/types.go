package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// types prints the types of a file: the messages of each method, then the types they
// use.
func (g *generator) types(f *jen.File, area string) {
	for _, t := range g.inArea(area) {
		switch x := t.Shape.(type) {
		case *ir.Struct:
			g.structType(f, t, x)
		case *ir.Union:
			g.unionType(f, t, x)
		case *ir.Enum:
			g.enumType(f, t, x)
		case *ir.Alias:
			g.aliasType(f, t, x)
		}
	}
}

// inArea returns the types of a file: first requests with their results, then
// notifications, then the other types by name.
func (g *generator) inArea(area string) []*ir.Type {
	var first, rest []*ir.Type
	for _, notification := range []bool{false, true} {
		for _, m := range g.pkg.Methods {
			if m.Notification != notification {
				continue
			}
			for _, t := range []*ir.Type{m.Type, m.Result} {
				if t != nil && t.Area == area && !slices.Contains(first, t) {
					first = append(first, t)
				}
			}
		}
	}
	for _, t := range g.pkg.Types {
		if t.Area == area && !slices.Contains(first, t) {
			rest = append(rest, t)
		}
	}
	return append(first, rest...)
}

// structType prints:
//
//	type Tool struct { Name string; … Meta Meta; Extra map[string]json.RawMessage }
func (g *generator) structType(f *jen.File, t *ir.Type, s *ir.Struct) {
	f.Add(comment(t.Name, t.Doc, t.Deprecated))
	f.Type().Id(t.Name).StructFunc(func(d *jen.Group) {
		for _, field := range s.Fields {
			d.Add(comment(field.Name, field.Doc, field.Deprecated))
			d.Id(field.Name).Add(fieldType(field))
		}
		if !hasParamsUnion(s) {
			d.Add(comment("Extra", extraDoc(s), ""))
			if g.isMeta(t) {
				d.Id("Extra").Qual(Protocol, "Meta")
			} else {
				d.Id("Extra").Add(rawMap())
			}
		}
	})
	f.Line()
	if s.Method != nil {
		g.messageMethods(f, t, s)
	}
	if g.isMeta(t) {
		f.Comment("Values returns Extra, or nil if x is nil.")
		f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id("Values").Params().Qual(Protocol, "Meta").Block(
			jen.If(jen.Id("x").Op("==").Nil()).Block(jen.Return(jen.Nil())), jen.Return(jen.Id("x").Dot("Extra")))
		f.Line()
		g.setMeta(f, t)
	}
}

// setMeta prints a method that sets a key of a _meta, unless a field has the key:
//
//	func (x *RequestMeta) Set(key string, value any) error { … return x.Extra.Set(key, value) }
func (g *generator) setMeta(f *jen.File, t *ir.Type) {
	fail := func(why string) jen.Code {
		return jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit("metadata %q: "+why), jen.Id("key")))
	}
	f.Add(comment("Set", "sets the value of a key in Extra. It returns an error if x is nil, if the key has a field of its own, or if the value cannot be encoded.", ""))
	f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id("Set").Params(jen.Id("key").String(), jen.Id("value").Any()).Error().Block(
		jen.If(jen.Id("x").Op("==").Nil()).Block(fail("the "+t.Name+" is nil")),
		jen.If(jen.Id(membersVar(t)).Dot("Has").Call(jen.Id("key"))).Block(fail(t.Name+" has a field for the key")),
		jen.Return(jen.Id("x").Dot("Extra").Dot("Set").Call(jen.Id("key"), jen.Id("value"))))
	f.Line()
}

// isMeta reports whether a type is the type of a _meta, so that its Extra is a Meta, too.
func (g *generator) isMeta(t *ir.Type) bool {
	for _, other := range g.pkg.Types {
		s, ok := other.Shape.(*ir.Struct)
		if !ok {
			continue
		}
		for _, f := range s.Fields {
			if named, ok := f.Type.(ir.Named); ok && f.JSON == "_meta" && named.Type == t {
				return true
			}
		}
	}
	return false
}

// extraDoc returns the comment of the field Extra.
func extraDoc(s *ir.Struct) string {
	text := "contains the members that the revision does not define."
	var names []string
	for _, f := range s.Fields {
		if omitsFalse(f) {
			names = append(names, f.JSON)
		}
	}
	if last := len(names) - 1; last == 0 {
		text += " An explicit false for " + names[0] + " is sent if it is in Extra."
	} else if last > 0 {
		text += " An explicit false for " + strings.Join(names[:last], ", ") + " or " + names[last] + " is sent if it is in Extra."
	}
	return text
}

// hasParamsUnion reports whether the params of a message are a union. Such a message
// has no other field.
func hasParamsUnion(s *ir.Struct) bool {
	return s.Method != nil && len(s.Fields) == 1 && s.Fields[0].JSON == "params"
}

func rawMap() *jen.Statement {
	return jen.Map(jen.String()).Qual("encoding/json", "RawMessage")
}

// messageMethods prints the methods that the runtime needs:
//
//	func (*CallToolRequest) Method() string { return MethodCallTool }
func (g *generator) messageMethods(f *jen.File, t *ir.Type, s *ir.Struct) {
	m := s.Method
	f.Commentf("Method returns %q.", m.Wire)
	f.Func().Params(jen.Op("*").Id(t.Name)).Id("Method").Params().String().Block(jen.Return(jen.Id("Method" + m.Name)))
	f.Line()
	if m.Notification && s.ParamsRequired != 0 {
		f.Add(comment("RequiresParams", "returns the revisions in which the message must have params, even if they are empty.", ""))
		f.Func().Params(jen.Op("*").Id(t.Name)).Id("RequiresParams").Params().Qual(wirePkg, "Window").Block(jen.Return(g.window(s.ParamsRequired)))
		f.Line()
	}
	if m.Notification {
		f.Comment("IsNotification marks the type as a notification.")
		f.Func().Params(jen.Op("*").Id(t.Name)).Id("IsNotification").Params().Block()
	} else {
		f.Commentf("NewResult returns an empty [%s].", g.resultName(m))
		f.Func().Params(jen.Op("*").Id(t.Name)).Id("NewResult").Params().Op("*").Add(g.result(m)).Block(
			jen.Return(jen.New(g.result(m))))
		g.metaMethod(f, t, s)
		nameMethod(f, t, s)
	}
	f.Line()
	if g.ext != nil {
		f.Comment("Extension returns [Name].")
		f.Func().Params(jen.Op("*").Id(t.Name)).Id("Extension").Params().String().Block(jen.Return(jen.Id("Name")))
		f.Line()
	}
	if g.ext != nil && g.ext.Server != nil && g.ext.Client == nil {
		f.Comment("DeclaredByServer marks the type as a message of an extension that only servers declare.")
		f.Func().Params(jen.Op("*").Id(t.Name)).Id("DeclaredByServer").Params().Block()
		f.Line()
	}
}

// metaMethod prints a method that returns the metadata of a request:
//
//	func (x *CallToolRequest) RequestMeta() *RequestMeta { return x.Meta }
func (g *generator) metaMethod(f *jen.File, t *ir.Type, s *ir.Struct) {
	for _, field := range s.Fields {
		if field.Role == ir.Meta && field.Pointer {
			f.Line()
			f.Commentf("RequestMeta returns %s.", field.Name)
			f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id("RequestMeta").Params().Add(fieldType(field)).Block(
				jen.Return(jen.Id("x").Dot(field.Name)))
		}
	}
}

// nameMethod prints a method that returns the value of the Mcp-Name header:
//
//	func (x *CallToolRequest) NameMember() string { return x.Name }
func nameMethod(f *jen.File, t *ir.Type, s *ir.Struct) {
	for _, field := range s.Fields {
		if field.JSON == s.Method.Facts.NameMember {
			f.Line()
			f.Commentf("NameMember returns %s, the value of the Mcp-Name header.", field.Name)
			f.Func().Params(jen.Id("x").Op("*").Id(t.Name)).Id("NameMember").Params().Add(fieldType(field)).Block(
				jen.Return(jen.Id("x").Dot(field.Name)))
		}
	}
}

// fieldType returns the Go type of a field.
func fieldType(f *ir.Field) *jen.Statement {
	if x, ok := f.Type.(ir.Scalar); ok && f.JSON == "_meta" && x.Kind == ir.Object {
		return jen.Qual(Protocol, "Meta")
	}
	if f.Pointer {
		return jen.Op("*").Add(goType(f.Type))
	}
	return goType(f.Type)
}

// typeID returns the name of a type, which another package may declare.
func typeID(t *ir.Type) *jen.Statement {
	if t.Package != "" {
		return jen.Qual(t.Package, t.Name)
	}
	return jen.Id(t.Name)
}

// goType returns the Go type of an expression.
func goType(e ir.Expr) *jen.Statement {
	switch x := e.(type) {
	case ir.Scalar:
		return scalarType(x.Kind)
	case ir.Named:
		return typeID(x.Type)
	case ir.List:
		return jen.Index().Add(goType(x.Elem))
	case ir.OneOrMany:
		return jen.Index().Add(goType(x.Elem))
	case ir.Map:
		return jen.Map(jen.String()).Add(goType(x.Elem))
	case ir.Ordered:
		return jen.Index().Id(x.Name)
	}
	panic(fmt.Sprintf("emit: no Go type for %T", e))
}

func scalarType(k ir.Kind) *jen.Statement {
	switch k {
	case ir.String:
		return jen.String()
	case ir.Bool:
		return jen.Bool()
	case ir.Int:
		return jen.Int64()
	case ir.Float:
		return jen.Float64()
	case ir.Bytes:
		return jen.Index().Byte()
	case ir.Raw, ir.RawObject:
		return jen.Qual("encoding/json", "RawMessage")
	case ir.Object:
		return rawMap()
	case ir.ID:
		return jen.Qual(Protocol, "RequestID")
	case ir.Token:
		return jen.Qual(Protocol, "ProgressToken")
	}
	return jen.Any()
}

// enumType prints:
//
//	type Role string
//	const ( RoleAssistant Role = "assistant" … )
func (g *generator) enumType(f *jen.File, t *ir.Type, e *ir.Enum) {
	f.Add(comment(t.Name, t.Doc, t.Deprecated))
	f.Type().Id(t.Name).String()
	f.Line()
	f.Commentf("The values of [%s].", t.Name)
	f.Const().DefsFunc(func(d *jen.Group) {
		for _, v := range e.Values {
			d.Add(comment(v.Name, v.Doc, ""))
			d.Id(v.Name).Id(t.Name).Op("=").Lit(v.JSON)
		}
	})
	f.Line()
}

// unionType prints:
//
//	type ContentBlock interface { wire.Value; isContentBlock() }
//	type UnknownContentBlock struct { Raw json.RawMessage }
func (g *generator) unionType(f *jen.File, t *ir.Type, u *ir.Union) {
	var names []string
	for _, m := range u.Members {
		names = append(names, "*"+shownName(m.Type))
	}
	sealed := !hasForeignMember(u)
	unknown := "Unknown" + t.Name
	text := fmt.Sprintf("%s\nIt is one of %s and *%s.", t.Doc, strings.Join(names, ", "), unknown)
	f.Add(comment(t.Name, text, t.Deprecated))
	f.Type().Id(t.Name).InterfaceFunc(func(d *jen.Group) {
		if d.Qual(wirePkg, "Value"); sealed {
			d.Id("is" + t.Name).Params()
		}
	})
	f.Line()
	if sealed {
		for _, m := range u.Members {
			f.Func().Params(jen.Op("*").Id(m.Type.Name)).Id("is" + t.Name).Params().Block()
		}
		f.Func().Params(jen.Op("*").Id(unknown)).Id("is" + t.Name).Params().Block()
		f.Line()
	}
	f.Add(comment(unknown, fmt.Sprintf("is %s of a type that the revision does not define. It is encoded as it was decoded.", a(t.Name)), ""))
	f.Type().Id(unknown).Struct(jen.Comment("Raw is the JSON object."), jen.Id("Raw").Qual("encoding/json", "RawMessage"))
	f.Line()
	for _, field := range g.orderedOf(t) {
		f.Add(comment(field, fmt.Sprintf("is %s with its name. A list of them preserves the order of the members.", a(t.Name)), ""))
		f.Type().Id(field).Struct(
			jen.Comment("Name is the name of the member."), jen.Id("Name").String(),
			jen.Comment("Schema is the value of the member."), jen.Id(memberValue).Id(t.Name),
		)
		f.Line()
	}
}

// hasForeignMember reports whether another package declares a member of a union. Such a type has no
// method that marks it as a member.
func hasForeignMember(u *ir.Union) bool {
	return slices.ContainsFunc(u.Members, func(m *ir.Member) bool { return m.Type.Package != "" })
}

// shownName returns the name of a type in a comment.
func shownName(t *ir.Type) string {
	if t.Package != "" {
		return path.Base(t.Package) + "." + t.Name
	}
	return t.Name
}

// memberValue is the field of an ordered map's member that has the value.
const memberValue = "Schema"

// orderedOf returns the Go names of the members of ordered maps of t.
func (g *generator) orderedOf(t *ir.Type) []string {
	var names []string
	for _, owner := range g.pkg.Types {
		s, ok := owner.Shape.(*ir.Struct)
		if !ok {
			continue
		}
		for _, f := range s.Fields {
			if o, ok := f.Type.(ir.Ordered); ok && o.Elem == (ir.Named{Type: t}) && !slices.Contains(names, o.Name) {
				names = append(names, o.Name)
			}
		}
	}
	return names
}

// aliasType prints:
//
//	type EmptyResult = Result
func (g *generator) aliasType(f *jen.File, t *ir.Type, a *ir.Alias) {
	f.Add(comment(t.Name, t.Doc, t.Deprecated))
	f.Type().Id(t.Name).Op("=").Add(aliasOf(a.Of))
	f.Line()
}

func aliasOf(e ir.Expr) *jen.Statement {
	if s, ok := e.(ir.Scalar); ok {
		switch s.Kind {
		case ir.ID:
			return jen.Qual(wirePkg, "RequestID")
		case ir.Token:
			return jen.Qual(wirePkg, "ProgressToken")
		}
	}
	return goType(e)
}
