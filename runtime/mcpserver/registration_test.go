package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestWhatComesFromElsewhereIsTried(t *testing.T) {
	s := mcpserver.New(info, nil)
	for kind, register := range map[mcpserver.Kind]func(){
		mcpserver.KindTool:     func() { s.AddRawTool(&mcp.Tool{}, nil) },
		mcpserver.KindPrompt:   func() { s.AddRawPrompt(&mcp.Prompt{}, nil) },
		mcpserver.KindResource: func() { s.AddResource(&mcp.Resource{}, nil) },
		mcpserver.KindTemplate: func() { s.AddResourceTemplate(&mcp.ResourceTemplate{}, nil) },
	} {
		var refused *mcpserver.RegistrationError
		require.ErrorAs(t, mcpserver.Try(register), &refused)
		require.Equal(t, mcpserver.Item{Kind: kind}, refused.Item)
		require.Error(t, refused.Unwrap())
	}
	require.ErrorContains(t, mcpserver.Try(func() {
		s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "x:{?v" + strings.Repeat(",v", 1001) + "}"}, noTemplate)
	}), "it is too large")
	require.NoError(t, mcpserver.Try(func() { s.AddRawPrompt(&mcp.Prompt{Name: "p"}, noPrompt) }))
	require.PanicsWithValue(t, "another", func() { _ = mcpserver.Try(func() { panic("another") }) })
}

func TestWhatIsListedIsFoundByTheNameItIsListedUnder(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddRawPrompt(&mcp.Prompt{Name: "p\xff"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "x:\xff{v}"}, tells("it"))
	c := connect(t, s, modern)
	c.call("prompts/get", `{"name":"p\ufffd"}`)
	require.JSONEq(t, `{"it":{"v":["1"]}}`, read(c, "x:\ufffd1"))
	s.RemovePrompts("p\ufffd")
	s.RemoveResourceTemplates("x:\ufffd{v}")
	require.Empty(t, c.call("prompts/list", `{}`)["prompts"])
	require.Empty(t, c.call("resources/templates/list", `{}`)["resourceTemplates"])
}

// another is a request of an extension that the protocol itself has as well.
type another struct{ mcp.EmptyResult }

func (*another) Method() string                                { return mcp.MethodListTools }
func (*another) Extension() string                             { return "com.example/another" }
func (*another) NewResult() *mcp.EmptyResult                   { return new(mcp.EmptyResult) }
func (*another) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*another) DecodeParams(d *wire.Decoder)                  { d.Skip() }

func TestAnExtensionDoesNotTakeAMethodOfTheProtocol(t *testing.T) {
	s := mcpserver.New(info, nil)
	require.ErrorContains(t, mcpserver.Try(func() {
		mcpserver.Handle(s, func(context.Context, *another) (*mcp.EmptyResult, error) { return nil, nil })
	}), `method "tools/list": the protocol itself has a method of that name`)
}

func TestAMethodIsTriedLikeAnythingElse(t *testing.T) {
	s := mcpserver.New(info, nil)
	ok := func(context.Context, *echo) (*mcp.EmptyResult, error) { return &mcp.EmptyResult{}, nil }
	var look func(context.Context, *tasks.GetRequest) (*tasks.Task, error)
	heard := func(context.Context, *hint) error { return nil }
	require.NoError(t, mcpserver.Try(func() { mcpserver.Handle(s, ok) }))
	for problem, register := range map[string]func(){
		`method "completion/complete": want a handler`: func() { s.HandleCompletion(nil) },
		`method "com.example/echo": it has a handler`:  func() { mcpserver.Handle(s, ok) },
		`method "com.example/hint": want a handler`:    func() { mcpserver.HandleNotification[hint](s, nil) },
		`method "tasks/get": want a handler`:           func() { mcpserver.Handle(s, look) },
	} {
		var refused *mcpserver.RegistrationError
		require.ErrorAs(t, mcpserver.Try(register), &refused)
		require.Equal(t, mcpserver.KindMethod, refused.Item.Kind)
		require.EqualError(t, refused, "mcpserver: "+problem)
	}
	s.Dispatcher()
	require.ErrorContains(t, mcpserver.Try(func() { mcpserver.HandleNotification(s, heard) }), "the server has begun to serve")

	s = mcpserver.New(info, &mcpserver.Options{Tasks: &mcpserver.TaskOptions{}})
	require.ErrorContains(t, mcpserver.Try(func() {
		mcpserver.Handle(s, func(context.Context, *tasks.GetRequest) (*tasks.Task, error) { return nil, nil })
	}), `"tasks/get": it has a handler`)
}
