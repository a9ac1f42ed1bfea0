package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// sessions prints what handlers call back with: one line for each message that
// the other side can be sent.
func (g *generator) sessions(f *jen.File) {
	for _, s := range sides() {
		g.session(f, s)
	}
}

// session prints the session of the side that s is not: a ServerSession sends
// what a client receives.
func (g *generator) session(f *jen.File, s side) {
	name := s.other + "Session"
	f.Add(comment(name, fmt.Sprintf("is what a handler of a %s calls its %s with. It belongs to the message being handled: what it sends travels with that message, unless it concerns the whole connection. It is safe for concurrent use. When the handler has returned it refuses what would travel with the message.",
		strings.ToLower(s.other), strings.ToLower(s.name)), ""))
	f.Type().Id(name).Struct(jen.Id("SessionCore"))
	f.Line()
	f.Comment("With returns a session that sends everything with opts; [peer.Standalone] moves")
	f.Comment("it to the connection's own channel, where there is one, for as long as the")
	f.Comment("connection lasts.")
	f.Func().Params(jen.Id("s").Op("*").Id(name)).Id("With").Params(jen.Id("opts").Op("...").Qual(peerPkg, "CallOption")).Op("*").Id(name).Block(
		jen.Return(jen.Op("&").Id(name).Values(jen.Id("withOptions").Call(jen.Id("s").Dot("SessionCore"), jen.Id("opts")))))
	f.Line()
	for _, m := range g.received(s) {
		switch {
		case m.Notification:
			g.sendHelper(f, name, m)
		case choice(m.Type.Shape.(*ir.Struct)):
			g.choiceHelpers(f, name, m)
		default:
			g.requestHelper(f, name, m)
		}
	}
}

// channel is what a helper sends over.
func channel(m *ir.Method) jen.Code {
	if m.Facts.Standalone {
		return jen.Id("s").Dot("Standalone").Call()
	}
	return jen.Id("s")
}

// sendHelper prints:
//
//	func (s *ServerSession) SendToolListChanged(ctx context.Context) error { … }
func (g *generator) sendHelper(f *jen.File, session string, m *ir.Method) {
	name := "Send" + m.Name
	if m.Facts.Helper != "" {
		name = m.Facts.Helper
	}
	params, message := handlerParams(m), jen.Code(jen.Id("orNew").Call(jen.Id("n")))
	if m.Bare() {
		params, message = params[:1], jen.Op("&").Id(m.Type.Name).Values()
	}
	f.Add(comment(name, m.Doc, m.Deprecated))
	f.Func().Params(jen.Id("s").Op("*").Id(session)).Id(name).Params(params...).Error().Block(
		jen.Return(jen.Qual(peerPkg, "SendNotification").Call(jen.Id("ctx"), channel(m), message)))
	f.Line()
}

// requestHelper prints:
//
//	func (s *ServerSession) CreateMessage(ctx context.Context, req *CreateMessageRequest) (*CreateMessageResult, error) { … }
//
// A request that says nothing needs no argument, a result that says nothing is
// left out.
func (g *generator) requestHelper(f *jen.File, session string, m *ir.Method) {
	params, message := handlerParams(m), jen.Code(jen.Id("orNew").Call(jen.Id("req")))
	if m.Bare() {
		params, message = params[:1], jen.Op("&").Id(m.Type.Name).Values()
	}
	send := jen.Qual(peerPkg, "SendRequest").Call(jen.Id("ctx"), channel(m), message)
	f.Add(comment(m.Name, m.Doc, m.Deprecated))
	fn := f.Func().Params(jen.Id("s").Op("*").Id(session)).Id(m.Name).Params(params...)
	if m.Result.Name == "Result" {
		fn.Error().Block(jen.List(jen.Id("_"), jen.Err()).Op(":=").Add(send), jen.Return(jen.Err()))
	} else {
		fn.Add(g.handlerResults(m)).Block(jen.Return(send))
	}
	f.Line()
}

// choiceHelpers prints one helper for each kind of params:
//
//	func (s *ServerSession) ElicitForm(ctx context.Context, params *ElicitRequestFormParams) (*ElicitResult, error) { … }
func (g *generator) choiceHelpers(f *jen.File, session string, m *ir.Method) {
	field := m.Type.Shape.(*ir.Struct).Fields[0]
	u := field.Type.(ir.Named).Type.Shape.(*ir.Union)
	for _, mem := range u.Members {
		kind := strings.TrimSuffix(strings.TrimPrefix(mem.Type.Name, m.Type.Name), "Params")
		name := m.Name + kind
		f.Add(comment(name, fmt.Sprintf("%s\nIt sends [%s].", m.Doc, mem.Type.Name), m.Deprecated))
		f.Func().Params(jen.Id("s").Op("*").Id(session)).Id(name).Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("params").Op("*").Id(mem.Type.Name)).
			Add(g.handlerResults(m)).Block(jen.Return(jen.Qual(peerPkg, "SendRequest").Call(jen.Id("ctx"), channel(m),
			jen.Op("&").Id(m.Type.Name).Values(jen.Id(field.Name).Op(":").Id("params")))))
		f.Line()
	}
}
