package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// rounds prints functions for requests whose response may be an InputRequiredResult.
// They are functions with a type switch, because types that embed a request would
// inherit methods.
//
//	case *CallToolRequest:
//		return req.InputResponses, req.RequestState, true
func (g *generator) rounds(f *jen.File) {
	if g.find("InputRequiredResult") == nil || g.find("InputResponses") == nil {
		return
	}
	requests := g.requestsWithInput()
	// cases prints a case for each request. It calls do with two fields of the variable.
	cases := func(variable string, do func(fields jen.Code) []jen.Code) func(*jen.Group) {
		return func(d *jen.Group) {
			for _, t := range requests {
				s := t.Shape.(*ir.Struct)
				field := func(name string) jen.Code { return jen.Id(variable).Dot(member(s, name).Name) }
				d.Case(jen.Op("*").Id(t.Name)).Block(do(jen.List(field("inputResponses"), field("requestState")))...)
			}
		}
	}
	message := jen.Qual(peerPkg, "Message")
	results := []jen.Code{jen.Id("responses").Id("InputResponses"), jen.Id("state").Op("*").String()}

	f.Add(comment("InputOf", "returns the input responses and the request state of a request. Both are nil if the request does not follow an [InputRequiredResult]. It reports false if an InputRequiredResult is never a response to such a request.", ""))
	f.Func().Id("InputOf").Params(jen.Id("req").Add(message)).Params(append(results, jen.Id("ok").Bool())...).Block(
		jen.Switch(jen.Id("x").Op(":=").Id("req").Assert(jen.Type())).BlockFunc(cases("x", func(fields jen.Code) []jen.Code {
			return []jen.Code{jen.Return(fields, jen.True())}
		})),
		jen.Return(jen.Nil(), jen.Nil(), jen.False()),
	)
	f.Line()
	f.Add(comment("WithInput", "returns a copy of a request with the given input responses and request state. It returns nil if [InputOf] reports false for the request.", ""))
	f.Func().Id("WithInput").Params(append([]jen.Code{jen.Id("req").Add(message)}, results...)...).Add(message).Block(
		jen.Switch(jen.Id("x").Op(":=").Id("req").Assert(jen.Type())).BlockFunc(cases("retry", func(fields jen.Code) []jen.Code {
			return []jen.Code{
				jen.Id("retry").Op(":=").Op("*").Id("x"),
				jen.Add(fields).Op("=").List(jen.Id("responses"), jen.Id("state")),
				jen.Return(jen.Op("&").Id("retry")),
			}
		})),
		jen.Return(jen.Nil()),
	)
}

// requestsWithInput returns the requests with members for the responses and the state of an InputRequiredResult.
func (g *generator) requestsWithInput() (list []*ir.Type) {
	responses, ok := g.find("InputResponses").Shape.(*ir.Alias)
	for _, m := range g.pkg.Methods {
		s, _ := m.Type.Shape.(*ir.Struct)
		if !ok || m.MultiRound == 0 || s == nil {
			continue
		}
		if f := member(s, "inputResponses"); f != nil && f.Type == responses.Of && member(s, "requestState") != nil {
			list = append(list, m.Type)
		}
	}
	return list
}

// resultTypes prints a function that returns the type of a result:
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
	f.Add(comment("ResultTypeOf", `returns the result type of the result of a method, or "" if it has none.`, ""))
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
