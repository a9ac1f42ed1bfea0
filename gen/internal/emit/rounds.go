package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// rounds prints how requests that may be answered with questions come again. It
// does so by their types: a method would be one of whatever embeds them, too.
//
//	case *CallToolRequest:
//		return req.InputResponses, req.RequestState, true
func (g *generator) rounds(f *jen.File) {
	if g.find("InputRequiredResult") == nil {
		return
	}
	var requests []*ir.Type
	for _, m := range g.pkg.Methods {
		if s, ok := m.Type.Shape.(*ir.Struct); ok && m.MultiRound != 0 && member(s, "inputResponses") != nil && member(s, "requestState") != nil {
			requests = append(requests, m.Type)
		}
	}
	// cases prints one for each request: what is done with two fields of whom.
	cases := func(whom string, do func(fields jen.Code) []jen.Code) func(*jen.Group) {
		return func(d *jen.Group) {
			for _, t := range requests {
				s := t.Shape.(*ir.Struct)
				field := func(name string) jen.Code { return jen.Id(whom).Dot(member(s, name).Name) }
				d.Case(jen.Op("*").Id(t.Name)).Block(do(jen.List(field("inputResponses"), field("requestState")))...)
			}
		}
	}
	message := jen.Qual(peerPkg, "Message")
	results := []jen.Code{jen.Id("answers").Id("InputResponses"), jen.Id("state").Op("*").String()}

	f.Comment("InputOf returns what a request brings from the round before: answers, and the")
	f.Comment("state that came with the questions, both nil in a first attempt. It is false for")
	f.Comment("what is not one of the requests that may be answered with questions.")
	f.Func().Id("InputOf").Params(jen.Id("req").Add(message)).Params(append(results, jen.Id("ok").Bool())...).Block(
		jen.Switch(jen.Id("x").Op(":=").Id("req").Assert(jen.Type())).BlockFunc(cases("x", func(fields jen.Code) []jen.Code {
			return []jen.Code{jen.Return(fields, jen.True())}
		})),
		jen.Return(jen.Nil(), jen.Nil(), jen.False()),
	)
	f.Line()
	f.Comment("WithInput returns a copy of a request that brings this from the round before, nil")
	f.Comment("where InputOf is false.")
	f.Func().Id("WithInput").Params(append([]jen.Code{jen.Id("req").Add(message)}, results...)...).Add(message).Block(
		jen.Switch(jen.Id("x").Op(":=").Id("req").Assert(jen.Type())).BlockFunc(cases("again", func(fields jen.Code) []jen.Code {
			return []jen.Code{
				jen.Id("again").Op(":=").Op("*").Id("x"),
				jen.Add(fields).Op("=").List(jen.Id("answers"), jen.Id("state")),
				jen.Return(jen.Op("&").Id("again")),
			}
		})),
		jen.Return(jen.Nil()),
	)
}

// resultTypes prints what kind of result an answer is.
//
//	case *CallToolResult:
//		return x.ResultType
func (g *generator) resultTypes(f *jen.File) {
	var cases []jen.Code
	seen := make(map[*ir.Type]bool)
	for _, m := range g.pkg.Methods {
		t := m.Result
		if t == nil || seen[t] {
			continue
		}
		seen[t] = true
		if s, ok := t.Shape.(*ir.Struct); ok && member(s, "resultType") != nil {
			cases = append(cases, jen.Case(jen.Op("*").Id(t.Name)).Block(jen.Return(jen.Id("x").Dot(member(s, "resultType").Name))))
		}
	}
	if cases == nil {
		return
	}
	f.Line()
	f.Comment("ResultTypeOf returns what the result of a method says of its kind, empty where it")
	f.Comment("says nothing.")
	f.Func().Id("ResultTypeOf").Params(jen.Id("res").Qual(wirePkg, "Value")).Id("ResultType").Block(
		jen.Switch(jen.Id("x").Op(":=").Id("res").Assert(jen.Type())).Block(cases...),
		jen.Return(jen.Lit("")),
	)
}

// member returns the field of a member, or nil.
func member(s *ir.Struct, name string) *ir.Field {
	for _, f := range s.Fields {
		if f.JSON == name {
			return f
		}
	}
	return nil
}
