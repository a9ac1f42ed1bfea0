package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpwright/mcp/gen/internal/ir"
)

// side is one end of a conversation, seen from the other.
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

// received lists the methods that a side answers or is told.
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

// peers prints a view of each side.
func (g *generator) peers(f *jen.File) {
	for _, s := range sides() {
		g.peer(f, s)
	}
	f.Comment("orNew is x, or an empty message in place of nil.")
	f.Func().Id("orNew").Types(jen.Id("T").Any()).Params(jen.Id("x").Op("*").Id("T")).Op("*").Id("T").Block(
		jen.If(jen.Id("x").Op("==").Nil()).Block(jen.Return(jen.New(jen.Id("T")))),
		jen.Return(jen.Id("x")))
}

// peer prints:
//
//	type ServerPeer struct{ peer.Outbound }
func (g *generator) peer(f *jen.File, s side) {
	name := s.name + "Peer"
	f.Add(comment(name, fmt.Sprintf("is a %s as its %s sees it: every message it can be sent. Nil is sent as an empty message. Its methods have the form of handlers, so that a %s may serve as one. The zero %s is not usable.",
		strings.ToLower(s.name), strings.ToLower(s.other), name, name), ""))
	f.Type().Id(name).Struct(jen.Qual(peerPkg, "Outbound"))
	f.Line()
	f.Comment("With returns a view that sends everything with opts.")
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

// pages prints the iterator over all pages of a list.
func (g *generator) pages(f *jen.File, view string, m *ir.Method) {
	elem := goType(m.Pages.Type.(ir.List).Elem)
	name := m.Name + "All"
	f.Add(comment(name, fmt.Sprintf("iterates over the list page by page, from the page that req asks for; req may be nil. It stops at the first error and at a cursor that comes back. What it yields is the page's own: see [%s.%s].", view, m.Name), m.Deprecated))
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

// handlerParams prints (ctx context.Context, req *CallToolRequest).
func handlerParams(m *ir.Method) []jen.Code {
	name := "req"
	if m.Notification {
		name = "n"
	}
	return []jen.Code{jen.Id("ctx").Qual("context", "Context"), jen.Id(name).Op("*").Id(m.Type.Name)}
}

// handlerResults prints (*CallToolResult, error).
func (g *generator) handlerResults(m *ir.Method) jen.Code {
	if m.Notification {
		return jen.Error()
	}
	return jen.Params(jen.Op("*").Id(g.result(m)), jen.Error())
}

// result names the result of a request. One that says nothing goes by the name
// that tells so.
func (g *generator) result(m *ir.Method) string {
	if m.Result.Name == "Result" && g.find("EmptyResult") != nil {
		return "EmptyResult"
	}
	return m.Result.Name
}

// handlers prints how handlers are registered.
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
	verb, register := "answers", "Handle"
	if m.Notification {
		verb, register = "is told of", "HandleNotification"
	}
	f.Add(comment(iface, fmt.Sprintf("%s %s.", verb, m.Wire), m.Deprecated))
	f.Type().Id(iface).Interface(jen.Id(m.Name).Params(handlerParams(m)...).Add(g.handlerResults(m)))
	f.Line()
	f.Add(comment("Handle"+m.Name, fmt.Sprintf("registers h for %s. A second handler for the method panics.", m.Wire), m.Deprecated))
	f.Func().Id("Handle"+m.Name).Params(jen.Id("mux").Op("*").Qual(peerPkg, "Mux"),
		jen.Id("h").Func().Params(jen.Qual("context", "Context"), jen.Op("*").Id(m.Type.Name)).Add(g.handlerResults(m))).Block(
		jen.Qual(peerPkg, register).Call(jen.Id("mux"), jen.Id("h")))
	f.Line()
}

// handleSide prints the registration of everything that a value handles.
func (g *generator) handleSide(f *jen.File, s side) {
	name := "Handle" + s.name
	f.Add(comment(name, fmt.Sprintf("registers every handler that impl has for what a %s receives, and returns how many there are. A [%sPeer] has them all: registering one forwards everything to it.", strings.ToLower(s.name), s.name), ""))
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
