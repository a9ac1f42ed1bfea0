package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestTryMethodsReturnTheErrorThatAddMethodsPanicWith(t *testing.T) {
	s := mcpserver.New(info, nil)
	for kind, add := range map[mcpserver.Kind]struct {
		try   func() error
		panic func()
	}{
		mcpserver.KindTool: {
			func() error { return s.TryAddRawTool(&mcp.Tool{}, nil) },
			func() { s.AddRawTool(&mcp.Tool{}, nil) },
		},
		mcpserver.KindPrompt: {
			func() error { return s.TryAddRawPrompt(&mcp.Prompt{}, nil) },
			func() { s.AddRawPrompt(&mcp.Prompt{}, nil) },
		},
		mcpserver.KindResource: {
			func() error { return s.TryAddResource(&mcp.Resource{}, nil) },
			func() { s.AddResource(&mcp.Resource{}, nil) },
		},
		mcpserver.KindTemplate: {
			func() error { return s.TryAddResourceTemplate(&mcp.ResourceTemplate{}, nil) },
			func() { s.AddResourceTemplate(&mcp.ResourceTemplate{}, nil) },
		},
	} {
		var refused *mcpserver.RegistrationError
		err := add.try()
		require.ErrorAs(t, err, &refused)
		require.Equal(t, mcpserver.Item{Kind: kind}, refused.Item)
		require.Error(t, refused.Unwrap())
		require.PanicsWithError(t, err.Error(), add.panic)
		require.Equal(t, err, panicked(add.panic))
	}
	large := &mcp.ResourceTemplate{Name: "t", URITemplate: "x:{?v" + strings.Repeat(",v", 1001) + "}"}
	require.ErrorContains(t, s.TryAddResourceTemplate(large, noTemplate), "too large")
	require.NoError(t, s.TryAddRawPrompt(&mcp.Prompt{Name: "p"}, noPrompt))
	require.NoError(t, s.TryAddResource(&mcp.Resource{URI: "x:1", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	}))
	require.NoError(t, s.TryAddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "x:{v}", Name: "t"}, noTemplate))
	c := connect(t, s, modern)
	require.Equal(t, []string{"p"}, listed(c, "prompts/list", "prompts", "name"))
	require.Equal(t, []string{"x:1"}, listed(c, "resources/list", "resources", "uri"))
	require.Equal(t, []string{"x:{v}"}, listed(c, "resources/templates/list", "resourceTemplates", "uriTemplate"))
}

func TestNilDefinitionsAreRefused(t *testing.T) {
	s := mcpserver.New(info, nil)
	conn := connection.NewForRequest(mcp.Revision20251125, nil, nil, nil)
	typed := func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return "", nil }
	raw := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }
	for name, add := range map[string]struct {
		kind mcpserver.Kind
		add  func() error
	}{
		"tool":         {mcpserver.KindTool, func() error { return panicked(func() { mcpserver.AddTool(s, nil, typed) }) }},
		"raw tool":     {mcpserver.KindTool, func() error { return s.TryAddRawTool(nil, raw) }},
		"session tool": {mcpserver.KindTool, func() error { return mcpserver.AddSessionTool(s, conn, nil, typed) }},
		"raw of both":  {mcpserver.KindTool, func() error { return s.AddRawSessionTool(conn, nil, raw) }},
		"prompt": {mcpserver.KindPrompt, func() error {
			return panicked(func() {
				mcpserver.AddPrompt(s, nil, func(context.Context, *mcp.ServerSession, struct{}) (*mcp.GetPromptResult, error) { return nil, nil })
			})
		}},
		"raw prompt": {mcpserver.KindPrompt, func() error { return s.TryAddRawPrompt(nil, noPrompt) }},
		"resource": {mcpserver.KindResource, func() error {
			return s.TryAddResource(nil, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil })
		}},
		"template": {mcpserver.KindTemplate, func() error { return s.TryAddResourceTemplate(nil, noTemplate) }},
	} {
		var refused *mcpserver.RegistrationError
		err := add.add()
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, mcpserver.Item{Kind: add.kind}, refused.Item, name)
		require.ErrorContains(t, err, "definition is nil", name)
	}
}

func TestExplicitFalseIsListed(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{}, nil)
	server.AddRawTool(&mcp.Tool{Name: "a", Annotations: &mcp.ToolAnnotations{
		Extra: map[string]json.RawMessage{"readOnlyHint": json.RawMessage("false")},
	}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), nil)
	require.NoError(t, err)
	defer client.Close()
	list, err := client.ListTools(t.Context(), nil)
	require.NoError(t, err)
	text, err := json.Marshal(list.Tools[0].Annotations)
	require.NoError(t, err)
	require.JSONEq(t, `{"readOnlyHint":false}`, string(text))
}

func TestItemIsFoundByListedName(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddRawPrompt(&mcp.Prompt{Name: "p\xff"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "x:\xff{v}"}, returnVariables("it"))
	c := connect(t, s, modern)
	c.call("prompts/get", `{"name":"p\ufffd"}`)
	require.JSONEq(t, `{"it":{"v":["1"]}}`, read(c, "x:\ufffd1"))
	s.RemovePrompts("p\ufffd")
	s.RemoveResourceTemplates("x:\ufffd{v}")
	require.Empty(t, c.call("prompts/list", `{}`)["prompts"])
	require.Empty(t, c.call("resources/templates/list", `{}`)["resourceTemplates"])
}

// another is a request of an extension whose method the protocol defines too.
type another struct{ mcp.EmptyResult }

func (*another) Method() string                                { return mcp.MethodListTools }
func (*another) Extension() string                             { return "com.example/another" }
func (*another) NewResult() *mcp.EmptyResult                   { return new(mcp.EmptyResult) }
func (*another) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*another) DecodeParams(d *wire.Decoder)                  { d.Skip() }

func TestExtensionMethodMustNotShadowProtocolMethod(t *testing.T) {
	s := mcpserver.New(info, nil)
	require.ErrorContains(t, panicked(func() {
		mcpserver.Handle(s, func(context.Context, *another) (*mcp.EmptyResult, error) { return nil, nil })
	}), `method "tools/list": the protocol defines a method with this name`)
}

// lamp is a request of an extension that clients declare too. bulb is one of an extension that only
// servers declare.
type (
	lamp struct{ another }
	bulb struct{ lamp }
)

func (*lamp) Method() string    { return "com.example/lamp" }
func (*bulb) Method() string    { return "com.example/bulb" }
func (*bulb) DeclaredByServer() {}

func TestClientNeedNotDeclareExtensionOfServers(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{Extensions: map[string]json.RawMessage{"com.example/another": nil}})
	mcpserver.Handle(s, func(context.Context, *lamp) (*mcp.EmptyResult, error) { return &mcp.EmptyResult{}, nil })
	mcpserver.Handle(s, func(context.Context, *bulb) (*mcp.EmptyResult, error) { return &mcp.EmptyResult{}, nil })
	for _, revision := range []string{"2025-11-25", modern} {
		c := connect(t, s, revision)
		c.call("com.example/bulb", `{}`)
		require.NotNil(t, c.ask("com.example/lamp", `{}`).Error, revision)
	}

	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(mcpserver.New(info, nil)), nil)
	require.NoError(t, err)
	defer client.Close()
	_, err = peer.SendRequest(t.Context(), client, &bulb{})
	require.ErrorContains(t, err, "extensions.com.example/another")
}

func TestInvalidMethodsPanic(t *testing.T) {
	s := mcpserver.New(info, nil)
	ok := func(context.Context, *echo) (*mcp.EmptyResult, error) { return &mcp.EmptyResult{}, nil }
	var look func(context.Context, *tasks.GetRequest) (*tasks.GetResult, error)
	heard := func(context.Context, *hint) error { return nil }
	require.NoError(t, panicked(func() { mcpserver.Handle(s, ok) }))
	for problem, register := range map[string]func(){
		`method "completion/complete": handler is nil`:            func() { s.HandleCompletion(nil) },
		`method "com.example/echo": method already has a handler`: func() { mcpserver.Handle(s, ok) },
		`method "com.example/hint": handler is nil`:               func() { mcpserver.HandleNotification[hint](s, nil) },
		`method "tasks/get": handler is nil`:                      func() { mcpserver.Handle(s, look) },
	} {
		var refused *mcpserver.RegistrationError
		require.ErrorAs(t, panicked(register), &refused)
		require.Equal(t, mcpserver.KindMethod, refused.Item.Kind)
		require.EqualError(t, refused, "mcpserver: "+problem)
	}
	s.Dispatcher()
	require.ErrorContains(t, panicked(func() { mcpserver.HandleNotification(s, heard) }), "the server has begun to serve")

	s = mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{}})
	require.ErrorContains(t, panicked(func() {
		mcpserver.Handle(s, func(context.Context, *tasks.GetRequest) (*tasks.GetResult, error) { return nil, nil })
	}), `"tasks/get": method already has a handler`)
}

func TestUncheckedResults(t *testing.T) {
	for _, unchecked := range []bool{false, true} {
		s := mcpserver.New(info, &mcpserver.Options{UncheckedResults: unchecked})
		s.AddRawTool(&mcp.Tool{Name: "t", OutputSchema: json.RawMessage(`{"type":"object","required":["a"]}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"b":1}`)}, nil
			})
		result := connect(t, s, modern).call("tools/call", `{"name":"t"}`)
		require.Equal(t, unchecked, result["structuredContent"] != nil)
		require.Equal(t, !unchecked, result["isError"] == true)
	}
}
