package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// Extension describes the package of an extension.
type Extension struct {
	Package string // Go name
	Name    string // identifier of the extension
	Schema  string // name of the schema's file
	SHA256  string // of the schema
	// Client and Server are the types of the settings that each side declares, or nil.
	Client, Server *ir.Type
	// Metas are the types of values in _meta.
	Metas []Meta
	// HasDoc reports whether the package has a comment in another file.
	HasDoc bool
}

// Meta is a value in _meta.
type Meta struct {
	Key  string
	Type *ir.Type
}

// ExtensionFiles returns the contents of the generated files of an extension by name.
func ExtensionFiles(p *ir.Package, x *Extension) (map[string][]byte, error) {
	g := &generator{pkg: p, windows: windowNames(p), ext: x}
	area := p.Types[0].Area
	return g.print(map[string]func(*jen.File){
		"extension.go": g.extension,
		"types.go":     func(f *jen.File) { g.types(f, area) },
		"codec.go":     func(f *jen.File) { g.codecOf(f, area) },
	})
}

// extension prints the name of an extension, its methods and handlers, its settings, and its values in
// _meta.
func (g *generator) extension(f *jen.File) {
	if !g.ext.HasDoc {
		f.PackageComment(fmt.Sprintf("Package %s has the messages and types of the extension %q.", g.ext.Package, g.ext.Name))
	}
	f.Comment("Name identifies the extension.")
	f.Const().Id("Name").Op("=").Lit(g.ext.Name)
	f.Line()
	if len(g.pkg.Methods) > 0 {
		g.methodConsts(f, "The methods of the extension.")
	}
	for _, m := range g.pkg.Methods {
		g.handler(f, m)
	}
	g.settings(f, "Client", g.ext.Client)
	g.settings(f, "Server", g.ext.Server)
	for _, m := range g.ext.Metas {
		g.metaValue(f, m)
	}
}

// settings prints functions for the settings that a side declares as its capability:
//
//	func ClientSettings(c *mcp.ClientCapabilities) (*ClientCapabilities, bool) { … }
//	func SetClientSettings[M …](extensions *map[string]M, x *ClientCapabilities) error { … }
func (g *generator) settings(f *jen.File, side string, t *ir.Type) {
	if t == nil {
		return
	}
	capabilities := func() *jen.Statement {
		return jen.Id("c").Op("*").Qual(Protocol, side+"Capabilities")
	}
	name := side + "Settings"
	f.Add(comment(name, fmt.Sprintf("returns the settings with which a %s declares the extension. It reports false if c does not declare it, or if the settings are not valid.", lowerFirst(side)), ""))
	f.Func().Id(name).Params(capabilities()).Params(jen.Op("*").Add(typeID(t)), jen.Bool()).Block(
		jen.If(jen.Id("c").Op("==").Nil()).Block(jen.Return(jen.Nil(), jen.False())),
		jen.Return(jen.Qual(Protocol, "Settings").Types(typeID(t)).Call(jen.Id("c").Dot("Extensions"), jen.Id("Name"))))
	f.Line()
	f.Add(comment("Set"+name, "declares the extension with the settings x. extensions is the Extensions of capabilities or, at a server, of its options.", ""))
	f.Func().Id("Set"+name).Types(jen.Id("M").Qual("encoding/json", "RawMessage").Op("|").Map(jen.String()).Qual("encoding/json", "RawMessage")).Params(
		jen.Id("extensions").Op("*").Map(jen.String()).Id("M"), jen.Id("x").Op("*").Add(typeID(t))).Error().Block(
		jen.Return(jen.Qual(Protocol, "SetSettings").Call(jen.Id("extensions"), jen.Id("Name"), jen.Id("x"))))
	f.Line()
}

// metaValue prints functions for a value in _meta:
//
//	func ToolMetaOf(m interface{ Values() mcp.Meta }) (*ToolMeta, bool) { return mcp.Get[*ToolMeta](m, "ui") }
func (g *generator) metaValue(f *jen.File, m Meta) {
	name := m.Type.Name
	f.Add(comment(name+"Of", fmt.Sprintf("returns the value %q of m, the Meta of a message or of a definition. It reports false if m has no such value, or if the value is not valid.", m.Key), ""))
	f.Func().Id(name+"Of").Params(jen.Id("m").Add(methodSet(jen.Id("Values").Params().Qual(Protocol, "Meta")))).Params(jen.Id("x").Op("*").Id(name), jen.Id("ok").Bool()).Block(
		jen.Return(jen.Qual(Protocol, "Get").Types(jen.Op("*").Id(name)).Call(jen.Id("m"), jen.Lit(m.Key))))
	f.Line()
	f.Add(comment("Set"+name, fmt.Sprintf("sets the value %q of m to x. m is the Meta of a message, or a pointer to the Meta of a definition.", m.Key), ""))
	f.Func().Id("Set"+name).Params(jen.Id("m").Add(methodSet(jen.Id("Set").Params(jen.String(), jen.Any()).Error())), jen.Id("x").Op("*").Id(name)).Error().Block(
		jen.Return(jen.Id("m").Dot("Set").Call(jen.Lit(m.Key), jen.Id("x"))))
	f.Line()
}

// methodSet returns an interface type with one method, on one line.
func methodSet(method jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Open: "interface{ ", Close: " }"}, method)
}

// checkCases prints checks of members that depend on the value of another one, or on the presence of
// others:
//
//	switch x.Status { case "failed": if x.Error == nil { … } }
//	if x.Width == nil && x.Height == nil { … }
func (g *generator) checkCases(d *jen.Group, s *ir.Struct, missing func(*ir.Field) jen.Code) {
	if s.Cases == nil {
		return
	}
	if s.Case == nil {
		none := jen.Null()
		for i, c := range s.Cases {
			if i > 0 {
				none.Op("&&")
			}
			none.Op("!").Parens(allPresent(c.Required))
		}
		d.If(none).Block(missing(s.Cases[0].Required[0]))
		return
	}
	d.Switch(jen.Id("x").Dot(s.Case.Name)).BlockFunc(func(d *jen.Group) {
		for _, c := range s.Cases {
			d.Case(jen.Lit(c.Value)).BlockFunc(func(d *jen.Group) {
				for _, field := range c.Required {
					d.If(jen.Op("!").Parens(isPresent(field))).Block(missing(field))
				}
			})
		}
	})
}

// allPresent returns the condition that all members have a value.
func allPresent(fields []*ir.Field) *jen.Statement {
	all := jen.Null()
	for i, f := range fields {
		if i > 0 {
			all.Op("&&")
		}
		all.Add(isPresent(f))
	}
	return all
}

// unionFunc returns the function that encodes or decodes a union. The package of the protocol has one
// function for all its unions.
func (g *generator) unionFunc(verb string, t *ir.Type) *jen.Statement {
	if t.Package != "" {
		return jen.Qual(t.Package, map[string]string{"append": "AppendUnion", "decode": "DecodeUnion"}[verb]).Types(typeID(t))
	}
	return jen.Id(verb + t.Name)
}

// foreignEnums prints the tables of the enums of the protocol that the extension uses:
//
//	var roleEnum = wire.EnumOf(mcp.Enums, "Role")
func (g *generator) foreignEnums(f *jen.File) {
	enums := make(map[string]*ir.Type)
	for _, t := range g.pkg.Types {
		if s, ok := t.Shape.(*ir.Struct); ok {
			for _, field := range s.Fields {
				named, _ := ir.Innermost(field.Type).(ir.Named)
				if named.Type == nil || named.Type.Package == "" {
					continue
				}
				if enum, ok := named.Type.Shape.(*ir.Enum); ok && (!enum.Open || enum.Closed != 0) {
					enums[named.Type.Name] = named.Type
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		f.Var().Id(enumVar(enums[name])).Op("=").Qual(wirePkg, "EnumOf").Call(jen.Qual(enums[name].Package, "Enums"), jen.Lit(name))
		f.Line()
	}
}

// unions prints the functions with which the packages of extensions encode and decode unions:
//
//	func DecodeUnion[T wire.Value](d *wire.Decoder) T { switch any((*T)(nil)).(type) { case *ContentBlock: … } }
func (g *generator) unions(f *jen.File) {
	each := func(print func(t *ir.Type) []jen.Code) func(*jen.Group) {
		return func(d *jen.Group) {
			for _, t := range g.pkg.Types {
				if _, ok := t.Shape.(*ir.Union); ok {
					d.Case(jen.Op("*").Id(t.Name)).Block(print(t)...)
				}
			}
		}
	}
	typeSwitch := func() *jen.Statement {
		return jen.Switch(jen.Any().Parens(jen.Parens(jen.Op("*").Id("T")).Parens(jen.Nil())).Assert(jen.Type()))
	}
	f.Add(comment("AppendUnion", "appends a value of a union of this package, such as [ContentBlock]. The generated code of extensions uses it.", ""))
	f.Func().Id("AppendUnion").Types(jen.Id("T").Qual(wirePkg, "Value")).Params(append(encoderParams(), jen.Id("v").Id("T"))...).Index().Byte().Block(
		typeSwitch().BlockFunc(each(func(t *ir.Type) []jen.Code {
			return []jen.Code{
				jen.List(jen.Id("x"), jen.Id("_")).Op(":=").Any().Parens(jen.Id("v")).Assert(jen.Id(t.Name)),
				jen.Return(jen.Id("append"+t.Name).Call(jen.Id("b"), jen.Id("e"), jen.Id("x"))),
			}
		})),
		jen.Return(jen.Id("e").Dot("Missing").Call(jen.Id("b"), jen.Lit("a union of the protocol"))))
	f.Line()
	f.Add(comment("DecodeUnion", "decodes a value of a union of this package, such as [ContentBlock]. The generated code of extensions uses it.", ""))
	f.Func().Id("DecodeUnion").Types(jen.Id("T").Qual(wirePkg, "Value")).Params(jen.Id("d").Op("*").Qual(wirePkg, "Decoder")).Id("T").Block(
		jen.Var().Id("v").Any(),
		typeSwitch().BlockFunc(each(func(t *ir.Type) []jen.Code {
			return []jen.Code{jen.Id("v").Op("=").Id("decode" + t.Name).Call(jen.Id("d"))}
		})),
		jen.List(jen.Id("x"), jen.Id("_")).Op(":=").Id("v").Assert(jen.Id("T")),
		jen.Return(jen.Id("x")))
	f.Line()
}

// codecOf prints the codec of an extension, with the functions for elements that it uses.
func (g *generator) codecOf(f *jen.File, area string) {
	g.foreignEnums(f)
	g.codec(f, area)
	text := fmt.Sprintf("%#v", f)
	g.elements(f, func(name string) bool {
		return strings.Contains(text, name) || name == "appendRaw" && strings.Contains(text, "appendObject") // which uses it
	})
}
