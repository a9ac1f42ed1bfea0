package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// side is a client or a server.
type side struct {
	name     string // "Server"
	other    string // "Client"
	receives func(*ir.Method) bool
}

func sides() []side {
	return []side{
		{"Server", "Client", func(m *ir.Method) bool { return m.FromClient != 0 }},
		{"Client", "Server", func(m *ir.Method) bool { return m.FromServer != 0 || m.Embedded != 0 }},
	}
}

// received returns the methods that a side receives.
func (g *generator) received(s side) []*ir.Method {
	var list []*ir.Method
	for _, notification := range []bool{false, true} {
		for _, m := range g.pkg.Methods {
			if m.Notification == notification && s.receives(m) {
				list = append(list, m)
			}
		}
	}
	return list
}

// peers prints a type for each side that sends messages to it.
func (g *generator) peers(f *jen.File) {
	for _, s := range sides() {
		g.peer(f, s)
	}
	f.Comment("orNew returns x, or an empty message if x is nil.")
	f.Func().Id("orNew").Types(jen.Id("T").Any()).Params(jen.Id("x").Op("*").Id("T")).Op("*").Id("T").Block(
		jen.If(jen.Id("x").Op("==").Nil()).Block(jen.Return(jen.New(jen.Id("T")))),
		jen.Return(jen.Id("x")))
}

// peer prints:
//
//	type ServerPeer struct{ peer.Outbound }
func (g *generator) peer(f *jen.File, s side) {
	name := s.name + "Peer"
	f.Add(comment(name, fmt.Sprintf("sends messages to a %s: it has a method for each request and notification that a %s receives. A nil message is sent as an empty message. The methods have the signatures of handlers, so that a %s can also be registered as a handler. The zero %s is not usable.",
		strings.ToLower(s.name), strings.ToLower(s.name), name, name), ""))
	f.Type().Id(name).Struct(jen.Qual(peerPkg, "Outbound"))
	f.Line()
	f.Commentf("With returns a %s that sends all messages with opts.", name)
	f.Func().Params(jen.Id("p").Id(name)).Id("With").Params(jen.Id("opts").Op("...").Qual(peerPkg, "CallOption")).Id(name).Block(
		jen.Return(jen.Id(name).Values(jen.Qual(peerPkg, "With").Call(jen.Id("p").Dot("Outbound"), jen.Id("opts").Op("...")))))
	f.Line()
	for _, m := range g.received(s) {
		f.Add(comment(m.Name, m.Doc, m.Deprecated))
		body := jen.Qual(peerPkg, "SendRequest").Call(jen.Id("ctx"), jen.Id("p").Dot("Outbound"), jen.Id("orNew").Call(jen.Id("req")))
		if m.Notification {
			body = jen.Qual(peerPkg, "SendNotification").Call(jen.Id("ctx"), jen.Id("p").Dot("Outbound"), jen.Id("orNew").Call(jen.Id("n")))
		}
		f.Func().Params(jen.Id("p").Id(name)).Id(m.Name).Params(handlerParams(m)...).Add(g.handlerResults(m)).Block(jen.Return(body))
		f.Line()
		if m.Pages != nil {
			g.pages(f, name, m)
		}
	}
}

// pages prints an iterator over all pages of a list.
func (g *generator) pages(f *jen.File, view string, m *ir.Method) {
	elem := goType(m.Pages.Type.(ir.List).Elem)
	name := m.Name + "All"
	f.Add(comment(name, fmt.Sprintf("iterates over the elements of all pages, beginning with the page of req or, if req is nil, with the first page. It ends after an error, or if a cursor is repeated. The elements are part of the results of [%s.%s] and are not copied.", view, m.Name), m.Deprecated))
	f.Func().Params(jen.Id("p").Id(view)).Id(name).Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("req").Op("*").Id(m.Type.Name)).
		Qual("iter", "Seq2").Types(jen.Op("*").Add(elem), jen.Error()).Block(
		jen.Return(jen.Qual(peerPkg, "Pages").Call(jen.Id("req"),
			jen.Func().Params(jen.Id("req").Op("*").Id(m.Type.Name), jen.Id("cursor").Op("*").String()).Block(jen.Id("req").Dot("Cursor").Op("=").Id("cursor")),
			jen.Func().Params(jen.Id("req").Op("*").Id(m.Type.Name)).Params(jen.Index().Add(elem.Clone()), jen.Op("*").String(), jen.Error()).Block(
				jen.List(jen.Id("res"), jen.Err()).Op(":=").Id("p").Dot(m.Name).Call(jen.Id("ctx"), jen.Id("req")),
				jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Nil(), jen.Err())),
				jen.Return(jen.Id("res").Dot(m.Pages.Name), jen.Id("res").Dot("NextCursor"), jen.Nil()),
			))))
	f.Line()
}

// handlerParams prints:
//
//	(ctx context.Context, req *CallToolRequest)
func handlerParams(m *ir.Method) []jen.Code {
	name := "req"
	if m.Notification {
		name = "n"
	}
	return []jen.Code{jen.Id("ctx").Qual("context", "Context"), jen.Id(name).Op("*").Id(m.Type.Name)}
}

// handlerResults prints:
//
//	(*CallToolResult, error)
func (g *generator) handlerResults(m *ir.Method) jen.Code {
	if m.Notification {
		return jen.Error()
	}
	return jen.Params(jen.Op("*").Add(g.result(m)), jen.Error())
}

// result returns the type of a request's result. An empty result is an EmptyResult, if
// that exists.
func (g *generator) result(m *ir.Method) *jen.Statement {
	switch {
	case m.Result.Name == "Result" && m.Result.Package != "":
		return jen.Qual(m.Result.Package, "EmptyResult")
	case m.Result.Name == "Result" && g.find("EmptyResult") != nil:
		return jen.Id("EmptyResult")
	}
	return typeID(m.Result)
}

// resultName returns the name of a request's result in a comment.
func (g *generator) resultName(m *ir.Method) string {
	return strings.TrimPrefix(fmt.Sprintf("%#v", g.result(m)), "*")
}

// handlers prints the functions that register handlers.
func (g *generator) handlers(f *jen.File) {
	for _, m := range g.pkg.Methods {
		g.handler(f, m)
	}
	for _, s := range sides() {
		g.handleSide(f, s)
	}
}

// handler prints:
//
//	func HandleCallTool(mux *peer.Mux, h func(context.Context, *CallToolRequest) (*CallToolResult, error)) { peer.Handle(mux, h) }
func (g *generator) handler(f *jen.File, m *ir.Method) {
	iface := m.Name + "Handler"
	kind, register := "request", "Handle"
	if m.Notification {
		kind, register = "notification", "HandleNotification"
	}
	f.Add(comment(iface, fmt.Sprintf("handles the %s %s.", kind, m.Wire), m.Deprecated))
	f.Type().Id(iface).Interface(jen.Id(m.Name).Params(handlerParams(m)...).Add(g.handlerResults(m)))
	f.Line()
	f.Add(comment("Handle"+m.Name, fmt.Sprintf("registers h as the handler of %s. It panics if mux has a handler for the method.", m.Wire), m.Deprecated))
	f.Func().Id("Handle"+m.Name).Params(jen.Id("mux").Op("*").Qual(peerPkg, "Mux"),
		jen.Id("h").Func().Params(jen.Qual("context", "Context"), jen.Op("*").Id(m.Type.Name)).Add(g.handlerResults(m))).Block(
		jen.Qual(peerPkg, register).Call(jen.Id("mux"), jen.Id("h")))
	f.Line()
}

// handleSide prints a function that registers all handlers of a value.
func (g *generator) handleSide(f *jen.File, s side) {
	name := "Handle" + s.name
	f.Add(comment(name, fmt.Sprintf("registers the methods of impl that are handlers of messages to a %s, and returns their number. A method is registered if impl implements the handler interface of its message. A [%sPeer] implements all of them, so that registering a %[2]sPeer forwards all messages.", strings.ToLower(s.name), s.name), ""))
	f.Func().Id(name).Params(jen.Id("mux").Op("*").Qual(peerPkg, "Mux"), jen.Id("impl").Any()).Int().BlockFunc(func(d *jen.Group) {
		d.Id("n").Op(":=").Lit(0)
		for _, m := range g.received(s) {
			d.If(jen.List(jen.Id("h"), jen.Id("ok")).Op(":=").Id("impl").Assert(jen.Id(m.Name+"Handler")), jen.Id("ok")).Block(
				jen.Id("Handle"+m.Name).Call(jen.Id("mux"), jen.Id("h").Dot(m.Name)),
				jen.Id("n").Op("++"))
		}
		d.Return(jen.Id("n"))
	})
	f.Line()
}

// sessions prints the types that handlers use to send messages to the other side.
func (g *generator) sessions(f *jen.File) {
	for _, s := range sides() {
		g.session(f, s)
	}
}

// session prints the session of the other side: a ServerSession sends the messages
// that a client receives.
func (g *generator) session(f *jen.File, s side) {
	name := s.other + "Session"
	f.Add(comment(name, fmt.Sprintf("sends messages from a handler of a %s to its %s. It sends them on the channel of the message being handled, or on the channel of the connection if they concern the whole connection. It is safe for concurrent use. After the handler has returned, sending on the channel of the message fails.",
		strings.ToLower(s.other), strings.ToLower(s.name)), ""))
	f.Type().Id(name).Struct(jen.Id("SessionCore"))
	f.Line()
	f.Add(comment("With", "returns a session that sends all messages with opts. With [peer.Standalone], it sends them on the channel of the connection, if there is one, and can be used until the connection is closed.", ""))
	f.Func().Params(jen.Id("s").Op("*").Id(name)).Id("With").Params(jen.Id("opts").Op("...").Qual(peerPkg, "CallOption")).Op("*").Id(name).Block(
		jen.Return(jen.Op("&").Id(name).Values(jen.Id("withOptions").Call(jen.Id("s").Dot("SessionCore"), jen.Id("opts")))))
	f.Line()
	for _, m := range g.received(s) {
		switch {
		case m.Notification:
			g.sendHelper(f, name, m)
		case hasParamsUnion(m.Type.Shape.(*ir.Struct)):
			g.paramsHelpers(f, name, m)
		default:
			g.requestHelper(f, name, m)
		}
	}
}

// channel returns the value that a session method sends with.
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
	if m.HasOnlyMeta() {
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
// A request without members has no parameter, and an empty result is not returned.
func (g *generator) requestHelper(f *jen.File, session string, m *ir.Method) {
	params, message := handlerParams(m), jen.Code(jen.Id("orNew").Call(jen.Id("req")))
	if m.HasOnlyMeta() {
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

// paramsHelpers prints one helper for each kind of params:
//
//	func (s *ServerSession) ElicitForm(ctx context.Context, params *ElicitRequestFormParams) (*ElicitResult, error) { … }
func (g *generator) paramsHelpers(f *jen.File, session string, m *ir.Method) {
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
