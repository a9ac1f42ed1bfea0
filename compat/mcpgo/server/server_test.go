package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/wire"
)

// events are lines in the order in which hooks and handlers add them.
type events struct {
	mu    sync.Mutex
	lines []string
}

func (e *events) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

// take returns the lines since it was called the last time.
func (e *events) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := strings.Join(e.lines, "\n")
	e.lines = nil
	return lines
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, to mcpclient.Endpoint, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), to, &opts)
	check(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// handshake connects to a server in process, with a session.
func handshake(t *testing.T, s *server.MCPServer) *mcpclient.Client {
	t.Helper()
	return connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20251125})
}

// transports connect a client to a server.
var transports = map[string]func(*testing.T, *server.MCPServer) mcpclient.Endpoint{
	"in process": func(_ *testing.T, s *server.MCPServer) mcpclient.Endpoint { return mcpclient.InProcess(s.Kit()) },
	"pipes": func(t *testing.T, s *server.MCPServer) mcpclient.Endpoint {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		go server.NewStdioServer(s).Listen(t.Context(), serverIn, serverOut) // ends with the test
		return mcpclient.Streams(clientIn, clientOut)
	},
	"http": func(t *testing.T, s *server.MCPServer) mcpclient.Endpoint {
		srv := server.NewTestStreamableHTTPServer(s)
		t.Cleanup(srv.Close)
		return mcpclient.URL(srv.URL)
	},
	"stateless http": func(t *testing.T, s *server.MCPServer) mcpclient.Endpoint {
		srv := server.NewTestStreamableHTTPServer(s, server.WithStateLess(true))
		t.Cleanup(srv.Close)
		return mcpclient.URL(srv.URL)
	},
	"sse": func(t *testing.T, s *server.MCPServer) mcpclient.Endpoint {
		srv := server.NewTestServer(s)
		t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
		return mcpclient.LegacySSE(srv.URL+"/sse", nil)
	},
}

// onTransports runs a test over each transport, with and without a session.
func onTransports(t *testing.T, test func(*testing.T, func(*server.MCPServer) *mcpclient.Client)) {
	for name, transport := range transports {
		for _, revision := range []wire.Revision{kit.Revision20251125, kit.Revision20260728} {
			if name == "sse" {
				if revision == kit.Revision20260728 {
					continue // the transport has only sessions
				}
				revision = kit.Revision20241105
			}
			t.Run(name+" "+revision.String(), func(t *testing.T) {
				test(t, func(s *server.MCPServer) *mcpclient.Client {
					return connect(t, transport(t, s), mcpclient.Options{Revision: revision})
				})
			})
		}
	}
}

func echo(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text, err := req.RequireString("text")
	switch {
	case err != nil:
		return mcp.NewToolResultError(err.Error()), nil
	case text == "fail":
		return nil, errors.New("it failed")
	case text == "panic":
		panic("it panicked")
	}
	return mcp.NewToolResultText(text), nil
}

// call calls a tool, and returns the text of its result or error.
func call(t *testing.T, c *mcpclient.Client, name, args string) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		return "error: " + err.Error()
	}
	text := res.Content[0].(*kit.TextContent).Text
	if res.IsError {
		return "tool error: " + text
	}
	return text
}

func toolNames(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	res, err := c.Uncached().ListTools(t.Context(), nil)
	check(t, err)
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestTools(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		s := server.NewMCPServer("test", "1.0.0", server.WithRecovery(), server.WithLogger(discard))
		s.AddTool(mcp.NewTool("echo", mcp.WithString("text", mcp.Required())), echo)
		s.AddTool(mcp.NewToolWithRawSchema("add", "Adds.", json.RawMessage(`{"type":"object"}`)),
			mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in struct{ A, B int }) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultStructuredOnly(map[string]int{"sum": in.A + in.B}), nil
			}))
		c := connect(s)
		equal(t, toolNames(t, c), "add echo")
		equal(t, call(t, c, "echo", `{"text":"hi","more":1}`), "hi")
		equal(t, call(t, c, "echo", `{"text":2}`), `tool error: argument "text" is not a string`)
		equal(t, call(t, c, "add", `{"a":1,"b":2}`), `{"sum":3}`)
		equal(t, call(t, c, "echo", `{"text":"fail"}`), "error: it failed (code -32603)")
		if got := call(t, c, "echo", `{"text":"panic"}`); strings.Contains(got, "panicked") || !strings.Contains(got, "nternal error") {
			t.Errorf("got %s", got)
		}
		equal(t, call(t, c, "echo", `{"text":"after"}`), "after")
	})
}

func TestChangedTools(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	s.AddTools(server.ServerTool{Tool: mcp.NewTool("a"), Handler: echo}, server.ServerTool{Tool: mcp.NewTool("b"), Handler: echo})
	c := handshake(t, s)
	equal(t, toolNames(t, c), "a b")
	s.SetTools(server.ServerTool{Tool: mcp.NewTool("b"), Handler: echo}, server.ServerTool{Tool: mcp.NewTool("c"), Handler: echo})
	equal(t, toolNames(t, c), "b c")
	s.DeleteTools("b", "absent")
	equal(t, toolNames(t, c), "c")
	equal(t, s.GetTool("b") == nil && s.GetTool("c").Tool.Name == "c", true)

	defer func() {
		equal(t, strings.Contains(fmt.Sprint(recover()), `add tool "both"`), true)
	}()
	both := mcp.NewTool("both")
	both.RawInputSchema = json.RawMessage(`{}`)
	s.AddTool(both, echo)
}

func TestResources(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		s := server.NewMCPServer("test", "1.0.0", server.WithLogger(discard), server.WithResourceRecovery(),
			server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
				return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
					contents, err := next(ctx, req)
					return append(contents, mcp.BlobResourceContents{URI: req.Params.URI, Blob: "aGk="}), err
				}
			}))
		read := func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			if req.Params.URI == "x:absent" {
				return nil, server.ErrResourceNotFound
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: fmt.Sprint(req.Params.Arguments)}}, nil
		}
		s.AddResource(mcp.NewResource("/guides/style", "style", mcp.WithMIMEType("text/plain"), mcp.WithResourceSize(7), mcp.WithResourceSize(-1)), read)
		s.AddResource(mcp.NewResource("x:absent", "absent"), read)
		s.AddResourceTemplate(mcp.NewResourceTemplate("/repos/{owner}/{name}", "repo"), read)
		c := connect(s)
		for uri, want := range map[string]string{"/guides/style": "map[]", "/repos/a/b": "map[name:[b] owner:[a]]"} {
			res, err := c.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: uri})
			check(t, err)
			equal(t, len(res.Contents), 2)
			equal(t, res.Contents[0].(*kit.TextResourceContents).Text, want)
		}
		_, err := c.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: "x:absent"})
		if err == nil || !strings.Contains(err.Error(), "resource not found (code ") {
			t.Errorf("got %v", err)
		}
		s.RemoveResource("x:absent")
		s.SetResourceTemplates()
		res, err := c.Uncached().ListResources(t.Context(), nil)
		check(t, err)
		equal(t, len(res.Resources), 1)
		equal(t, res.Resources[0].MIMEType, "text/plain")
		equal(t, *res.Resources[0].Size, 7)
		templates, err := c.Uncached().ListResourceTemplates(t.Context(), nil)
		check(t, err)
		equal(t, len(templates.ResourceTemplates), 0)
	})
}

func TestPrompts(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0",
		server.WithPromptHandlerMiddleware(func(next server.PromptHandlerFunc) server.PromptHandlerFunc {
			return func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				req.Params.Arguments["city"] += "!"
				return next(ctx, req)
			}
		}))
	s.AddPrompt(mcp.NewPrompt("trip", mcp.WithPromptDescription("Plans."), mcp.WithArgument("city", mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("A trip.", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("To "+req.Params.Arguments["city"])),
			}), nil
		})
	c := handshake(t, s)
	res, err := c.GetPrompt(t.Context(), &kit.GetPromptRequest{Name: "trip", Arguments: map[string]string{"city": "Bern"}})
	check(t, err)
	equal(t, res.Messages[0].Content.(*kit.TextContent).Text, "To Bern!")
	if _, err := c.GetPrompt(t.Context(), &kit.GetPromptRequest{Name: "trip"}); err == nil {
		t.Error("an argument is missing")
	}
	s.SetPrompts(server.ServerPrompt{Prompt: mcp.NewPrompt("other")})
	equal(t, len(s.ListPrompts()), 1)
	s.DeletePrompts("other")
	equal(t, len(s.ListPrompts()), 0)
}

func TestOptions(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0", server.WithTitle("Test"), server.WithInstructions("Call echo."),
		server.WithToolCapabilities(false), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithLogging(), server.WithPaginationLimit(1), server.WithInputSchemaValidation())
	c := handshake(t, s)
	equal(t, c.ServerInfo().Title, "Test")
	equal(t, c.Instructions(), "Call echo.")
	caps, err := json.Marshal(c.ServerCapabilities())
	check(t, err)
	equal(t, string(caps), `{"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{}}`)

	s.AddTool(mcp.NewTool("a", mcp.WithString("text", mcp.Required())), echo)
	s.AddTool(mcp.NewTool("b"), echo)
	equal(t, toolNames(t, c), "a")
	if got := call(t, c, "a", `{"text":1}`); !strings.HasPrefix(got, "tool error: ") || strings.Contains(got, "is not a string") {
		t.Errorf("the schema must refuse the argument: %s", got)
	}
}

func TestToolMiddleware(t *testing.T) {
	var seen events
	wrap := func(name string) server.ToolHandlerMiddleware {
		return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
			return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				seen.add("%s %s %v", name, req.Params.Name, server.ServerFromContext(ctx) != nil)
				return next(ctx, req)
			}
		}
	}
	s := server.NewMCPServer("test", "1.0.0", server.WithToolHandlerMiddleware(wrap("first")), server.WithToolHandlerMiddleware(wrap("second")))
	s.AddTool(mcp.NewTool("echo"), echo)
	s.Use(wrap("third"))
	equal(t, call(t, handshake(t, s), "echo", `{"text":"a"}`), "a")
	equal(t, seen.take(), "first echo true\nsecond echo true\nthird echo true")
}

func TestToolFilter(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		s := server.NewMCPServer("test", "1.0.0", server.WithToolFilter(func(_ context.Context, tools []mcp.Tool) []mcp.Tool {
			return slices.DeleteFunc(tools, func(t mcp.Tool) bool { return t.Name == "hidden" || t.Name == "" })
		}))
		s.AddTool(mcp.NewTool("shown"), echo)
		s.AddTool(mcp.NewTool("hidden"), echo)
		mcpserver.AddTool(s.Kit(), &kit.Tool{Name: "kit"}, func(context.Context, *kit.ServerSession, struct{}) (string, error) { return "of the kit", nil })
		c := connect(s)
		equal(t, toolNames(t, c), "shown")
		equal(t, call(t, c, "shown", `{"text":"a"}`), "a")
		equal(t, call(t, c, "kit", `{}`), "of the kit")
		for _, name := range []string{"hidden", "absent"} {
			if got := call(t, c, name, `{"text":"a"}`); !strings.Contains(strings.ToLower(got), "unknown tool") {
				t.Errorf("got %s", got)
			}
		}
	})
}

func TestPromptFilter(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		s := server.NewMCPServer("test", "1.0.0", server.WithPromptFilter(func(_ context.Context, prompts []mcp.Prompt) []mcp.Prompt {
			return slices.DeleteFunc(prompts, func(p mcp.Prompt) bool { return p.Name == "hidden" })
		}))
		hello := func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "hello"}, nil
		}
		for _, name := range []string{"b", "hidden", "a"} {
			s.AddPrompt(mcp.NewPrompt(name), hello)
		}
		c := connect(s)
		var names []string
		for p, err := range c.Prompts(t.Context()) {
			check(t, err)
			names = append(names, p.Name)
		}
		equal(t, strings.Join(names, " "), "a b")
		got, err := c.GetPrompt(t.Context(), &kit.GetPromptRequest{Name: "a"})
		check(t, err)
		equal(t, got.Description, "hello")
		for _, name := range []string{"hidden", "absent"} {
			_, err := c.GetPrompt(t.Context(), &kit.GetPromptRequest{Name: name})
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "unknown prompt") {
				t.Errorf("prompt %q: %v", name, err)
			}
		}
	})
}

func TestStructuredContent(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		s := server.NewMCPServer("test", "1.0.0")
		values := map[string]any{"object": map[string]int{"n": 1}, "list": []int{1, 2}, "text": "a"}
		for name, value := range values {
			s.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultStructuredOnly(value), nil
			})
		}
		c := connect(s)
		equal(t, call(t, c, "object", "{}"), `{"n":1}`)
		equal(t, call(t, c, "list", "{}"), `[1,2]`)
		equal(t, call(t, c, "text", "{}"), `"a"`)
	})
}

func TestOptionsForMetadata(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0",
		server.WithIcons(mcp.Icon{Src: "https://example.com/icon.png", Sizes: []string{"48x48"}}),
		server.WithExperimental(map[string]any{"lights": struct{ Color string }{"red"}}),
		server.WithExtensions(map[string]any{"com.example/maps": map[string]any{}}))
	s.AddPrompt(mcp.NewPrompt("p", mcp.WithPromptIcons(mcp.Icon{Src: "https://example.com/p.png"})), nil)
	s.AddResourceTemplate(mcp.NewResourceTemplate("file:///{path}", "files",
		mcp.WithTemplateAnnotations(nil, 0.5, "2026-01-02T03:04:05Z"), mcp.WithTemplateIcons(mcp.Icon{Src: "https://example.com/t.png"})), nil)
	s.AddResource(mcp.NewResource("file:///a", "a", mcp.WithLastModified("2026-01-02T03:04:05Z")), nil)
	c := handshake(t, s)
	equal(t, c.ServerInfo().Icons[0].Src, "https://example.com/icon.png")
	equal(t, string(c.ServerCapabilities().Experimental["lights"]["Color"]), `"red"`)
	if _, ok := c.ServerCapabilities().Extensions["com.example/maps"]; !ok {
		t.Error("the extension is missing")
	}
	prompts, err := c.ListPrompts(t.Context(), nil)
	check(t, err)
	equal(t, prompts.Prompts[0].Icons[0].Src, "https://example.com/p.png")
	templates, err := c.ListResourceTemplates(t.Context(), nil)
	check(t, err)
	equal(t, templates.ResourceTemplates[0].Icons[0].Src, "https://example.com/t.png")
	equal(t, *templates.ResourceTemplates[0].Annotations.Priority, 0.5)
	resources, err := c.ListResources(t.Context(), nil)
	check(t, err)
	equal(t, resources.Resources[0].Annotations.LastModified, "2026-01-02T03:04:05Z")
}

// Arguments are not validated by default, so a schema need not be one that can be compiled.
func TestSchemaWithPatternOfECMAScript(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0", server.WithLogger(discard))
	s.AddTool(mcp.NewToolWithRawSchema("echo", "", json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","pattern":"^(?!x)"}}}`)), echo)
	equal(t, call(t, handshake(t, s), "echo", `{"text":"a"}`), "a")
}

// Programs start to listen and stop at once in tests, with streams that cannot be read.
func TestListenWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := server.NewStdioServer(server.NewMCPServer("test", "1.0.0")).Listen(ctx, nil, nil)
	equal(t, err, context.Canceled)
}

// Registrations without a handler are listed, and a request for them fails.
func TestItemsWithoutHandler(t *testing.T) {
	outer := func(next server.ToolHandlerFunc) server.ToolHandlerFunc { return next }
	s := server.NewMCPServer("test", "1.0.0", server.WithToolHandlerMiddleware(outer), server.WithTaskCapabilities(true, true, true))
	s.AddTool(mcp.NewTool("a"), nil)
	s.AddTaskTool(mcp.NewTool("b"), nil)
	s.AddPrompt(mcp.NewPrompt("p"), nil)
	s.AddResource(mcp.NewResource("test:r", "r"), nil)
	s.AddResourceTemplate(mcp.NewResourceTemplate("test:t/{x}", "t"), nil)
	c := handshake(t, s)
	list, err := c.ListTools(t.Context(), nil)
	check(t, err)
	equal(t, len(list.Tools), 2)
	var errs []error
	for _, name := range []string{"a", "b"} {
		_, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: name})
		errs = append(errs, err)
	}
	_, err = c.GetPrompt(t.Context(), &kit.GetPromptRequest{Name: "p"})
	errs = append(errs, err)
	for _, uri := range []string{"test:r", "test:t/1"} {
		_, err := c.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: uri})
		errs = append(errs, err)
	}
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "no handler") {
			t.Errorf("got %v", err)
		}
	}
}

func TestTemplateWithoutText(t *testing.T) {
	for _, template := range []mcp.ResourceTemplate{{Name: "t"}, {Name: "t", URITemplate: &mcp.URITemplate{}}} {
		func() {
			defer func() {
				equal(t, fmt.Sprint(recover()), `server: add resource template "t": the template has no URITemplate`)
			}()
			server.NewMCPServer("test", "1.0.0").AddResourceTemplate(template, nil)
		}()
	}
}
