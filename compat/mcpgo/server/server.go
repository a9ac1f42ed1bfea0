package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/tracing"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Errors about registrations, for [OnErrorHookFunc].
var (
	ErrUnsupported      = errors.New("not supported")
	ErrResourceNotFound = errors.New("resource not found")
	ErrPromptNotFound   = errors.New("prompt not found")
	ErrToolNotFound     = errors.New("tool not found")
)

type (
	// ToolHandlerFunc handles calls of a tool. An error is sent as an error response with its
	// text. The model receives only results, such as [mcp.NewToolResultError].
	ToolHandlerFunc func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error)
	// TaskToolHandlerFunc handles calls of a tool that can be tasks. It returns when the call is
	// done. The Task of its result is ignored, because the server has the state of the task.
	TaskToolHandlerFunc func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CreateTaskResult, error)
	// ResourceHandlerFunc reads a resource.
	ResourceHandlerFunc func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error)
	// ResourceTemplateHandlerFunc reads a resource whose URI matches a template. The values of the
	// variables are in request.Params.Arguments.
	ResourceTemplateHandlerFunc func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error)
	// PromptHandlerFunc returns the messages of a prompt.
	PromptHandlerFunc func(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error)
	// NotificationHandlerFunc handles notifications of clients.
	NotificationHandlerFunc func(ctx context.Context, notification mcp.JSONRPCNotification)

	// ToolHandlerMiddleware wraps the handlers of all tools.
	ToolHandlerMiddleware func(ToolHandlerFunc) ToolHandlerFunc
	// ResourceHandlerMiddleware wraps the handlers of all resources and resource templates.
	ResourceHandlerMiddleware func(ResourceHandlerFunc) ResourceHandlerFunc
	// PromptHandlerMiddleware wraps the handlers of all prompts.
	PromptHandlerMiddleware func(PromptHandlerFunc) PromptHandlerFunc

	// ToolFilterFunc returns the tools that a caller may list and call. For a call it gets the tool
	// that is called.
	ToolFilterFunc func(ctx context.Context, tools []mcp.Tool) []mcp.Tool
	// PromptFilterFunc returns the prompts that a caller may list and get. For a request for one
	// prompt it gets that prompt.
	PromptFilterFunc func(ctx context.Context, prompts []mcp.Prompt) []mcp.Prompt
)

// ServerTool is a tool and its handler.
type ServerTool struct {
	Tool    mcp.Tool
	Handler ToolHandlerFunc
}

// ServerTaskTool is a tool whose calls can be tasks, and its handler.
type ServerTaskTool struct {
	Tool    mcp.Tool
	Handler TaskToolHandlerFunc
}

// ServerResource is a resource and its handler.
type ServerResource struct {
	Resource mcp.Resource
	Handler  ResourceHandlerFunc
}

// ServerResourceTemplate is a resource template and its handler.
type ServerResourceTemplate struct {
	Template mcp.ResourceTemplate
	Handler  ResourceTemplateHandlerFunc
}

// ServerPrompt is a prompt and its handler.
type ServerPrompt struct {
	Prompt  mcp.Prompt
	Handler PromptHandlerFunc
}

// MCPServer is a server. It is safe for concurrent use. [NewMCPServer] returns one.
type MCPServer struct {
	kit           *mcpserver.Server
	info          kit.Implementation
	opts          mcpserver.Options
	tasks         tasks.Options // in opts if calls can be tasks
	hooks         *Hooks
	log           atomic.Pointer[slog.Logger]
	filters       []ToolFilterFunc
	promptFilters []PromptFilterFunc
	resource      []ResourceHandlerMiddleware
	prompt        []PromptHandlerMiddleware

	promptCompletion   PromptCompletionProvider   // or nil
	resourceCompletion ResourceCompletionProvider // or nil

	tracer     tracing.Tracer     // or nil
	propagator tracing.Propagator // or nil

	changingItems sync.Mutex // held while the tools, resources or templates of a session are changed

	mu            sync.RWMutex
	tool          []ToolHandlerMiddleware
	tools         map[string]ServerTool
	resources     map[string]ServerResource
	templates     map[string]ServerResourceTemplate
	prompts       map[string]ServerPrompt
	sessions      map[string]ClientSession
	notifications map[string]NotificationHandlerFunc
	matchers      map[string]*mcpserver.Server // by their templates
}

// ServerOption configures a server.
type ServerOption func(*MCPServer)

// NewMCPServer returns a server without registrations.
func NewMCPServer(name, version string, opts ...ServerOption) *MCPServer {
	s := &MCPServer{
		info:          kit.Implementation{Name: name, Version: version},
		hooks:         &Hooks{},
		tools:         map[string]ServerTool{},
		resources:     map[string]ServerResource{},
		templates:     map[string]ServerResourceTemplate{},
		prompts:       map[string]ServerPrompt{},
		sessions:      map[string]ClientSession{},
		notifications: map[string]NotificationHandlerFunc{},
		matchers:      map[string]*mcpserver.Server{},
	}
	s.opts.Validation, s.opts.UncheckedResults = mcpserver.ValidateOff, true
	for _, opt := range opts {
		opt(s)
	}
	s.opts.Middleware = append(s.opts.Middleware, s.handle)
	s.opts.Logger = slog.New(&logHandler{server: s})
	s.kit = mcpserver.New(s.info, &s.opts)
	s.provideCompletions()
	return s
}

// Kit returns the server that s is implemented with. Tools, resources and prompts that are added
// to it are served too, but the middleware of s does not wrap them, and they are not listed with
// [WithToolFilter] and [WithPromptFilter], or in sessions that have items of their kind.
func (s *MCPServer) Kit() *mcpserver.Server { return s.kit }

// GetHooks returns the hooks, to which more can be added before the server begins to serve.
func (s *MCPServer) GetHooks() *Hooks { return s.hooks }

// Use adds middleware for tools. The first function that is added is the outermost.
func (s *MCPServer) Use(mw ...ToolHandlerMiddleware) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tool = append(slices.Clone(s.tool), mw...)
}

// AddTool adds a tool, or replaces the tool with the same name. A call of a tool without a handler
// fails, as for resources and prompts. AddTool panics if a schema is invalid JSON, or not the schema
// of an object. With [WithInputSchemaValidation] it panics for every schema
// that is invalid, and otherwise it logs a warning.
func (s *MCPServer) AddTool(tool mcp.Tool, handler ToolHandlerFunc) {
	s.AddTools(ServerTool{tool, handler})
}

// AddTools is like [MCPServer.AddTool] for several tools.
func (s *MCPServer) AddTools(tools ...ServerTool) {
	for _, t := range tools {
		definition := new(kit.Tool)
		if err := toKit(t.Tool, definition); err != nil {
			panic(fmt.Errorf("server: add tool %q: %w", t.Tool.Name, err))
		}
		s.mu.Lock()
		s.tools[t.Tool.Name] = t
		s.mu.Unlock()
		s.kit.AddRawTool(definition, func(ctx context.Context, req *kit.CallToolRequest) (*kit.CallToolResult, error) {
			return s.callTool(ctx, t.Handler, req)
		})
	}
}

// AddTaskTool adds a tool whose calls can be tasks; see [MCPServer.AddTaskTools].
func (s *MCPServer) AddTaskTool(tool mcp.Tool, handler TaskToolHandlerFunc) {
	s.AddTaskTools(ServerTaskTool{tool, handler})
}

// AddTaskTools adds tools whose calls can be tasks. The server needs [WithTaskCapabilities]. A tool
// without [mcp.WithTaskSupport] has [mcp.TaskSupportOptional]. Unlike in mcp-go, the middleware for
// tools wraps the handler, and a tool may replace another tool with the same name.
func (s *MCPServer) AddTaskTools(taskTools ...ServerTaskTool) {
	for _, t := range taskTools {
		if t.Tool.Execution == nil {
			t.Tool.Execution = &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}
		}
		s.AddTool(t.Tool, func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if t.Handler == nil {
				return nil, errNoHandler
			}
			result, err := t.Handler(ctx, request)
			if result == nil {
				return nil, err
			}
			return &mcp.CallToolResult{
				Result: result.Result, Content: result.Content, StructuredContent: result.StructuredContent, IsError: result.IsError,
			}, err
		})
	}
}

// SetTools replaces all tools.
func (s *MCPServer) SetTools(tools ...ServerTool) {
	removed := s.ListTools()
	for _, t := range tools {
		delete(removed, t.Tool.Name)
	}
	s.DeleteTools(slices.Collect(maps.Keys(removed))...)
	s.AddTools(tools...)
}

// DeleteTools removes tools.
func (s *MCPServer) DeleteTools(names ...string) {
	remove(s, s.tools, names)
	s.kit.RemoveTools(names...)
}

// ListTools returns the tools by name. In mcp-go it returns nil if there are none.
func (s *MCPServer) ListTools() map[string]*ServerTool {
	return registered(s, s.tools)
}

// GetTool returns a tool, or nil.
func (s *MCPServer) GetTool(toolName string) *ServerTool {
	return s.ListTools()[toolName]
}

// registered returns the items of one kind.
func registered[T any](s *MCPServer, items map[string]T) map[string]*T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[string]*T, len(items))
	for name, item := range items {
		all[name] = &item
	}
	return all
}

// remove removes items of one kind.
func remove[T any](s *MCPServer, items map[string]T, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(items, key)
	}
}

// AddResource adds a resource, or replaces the resource with the same URI.
func (s *MCPServer) AddResource(resource mcp.Resource, handler ResourceHandlerFunc) {
	s.AddResources(ServerResource{resource, handler})
}

// AddResources is like [MCPServer.AddResource] for several resources.
func (s *MCPServer) AddResources(resources ...ServerResource) {
	for _, r := range resources {
		s.mu.Lock()
		s.resources[r.Resource.URI] = r
		s.mu.Unlock()
		definition := new(kit.Resource)
		if err := toKit(r.Resource, definition); err != nil {
			panic(fmt.Errorf("server: add resource %q: %w", r.Resource.URI, err))
		}
		s.kit.AddResource(definition, func(ctx context.Context, req *kit.ReadResourceRequest) (*kit.ReadResourceResult, error) {
			return s.readResource(ctx, r.Handler, req, nil)
		})
	}
}

// SetResources replaces all resources.
func (s *MCPServer) SetResources(resources ...ServerResource) {
	removed := s.ListResources()
	for _, r := range resources {
		delete(removed, r.Resource.URI)
	}
	s.DeleteResources(slices.Collect(maps.Keys(removed))...)
	s.AddResources(resources...)
}

// ListResources returns the resources by URI.
func (s *MCPServer) ListResources() map[string]*ServerResource {
	return registered(s, s.resources)
}

// DeleteResources removes resources.
func (s *MCPServer) DeleteResources(uris ...string) {
	remove(s, s.resources, uris)
	s.kit.RemoveResources(uris...)
}

// RemoveResource removes a resource.
func (s *MCPServer) RemoveResource(uri string) { s.DeleteResources(uri) }

// AddResourceTemplate adds a resource template, or replaces the template with the same text. URIs
// with ".." in a path segment match no template.
func (s *MCPServer) AddResourceTemplate(template mcp.ResourceTemplate, handler ResourceTemplateHandlerFunc) {
	s.AddResourceTemplates(ServerResourceTemplate{template, handler})
}

// AddResourceTemplates is like [MCPServer.AddResourceTemplate] for several templates.
func (s *MCPServer) AddResourceTemplates(templates ...ServerResourceTemplate) {
	for _, t := range templates {
		text, err := templateText(t.Template)
		if err != nil {
			panic(fmt.Errorf("server: add resource template %q: %w", t.Template.Name, err))
		}
		s.mu.Lock()
		s.templates[text] = t
		s.mu.Unlock()
		definition := new(kit.ResourceTemplate)
		if err := toKit(t.Template, definition); err != nil {
			panic(fmt.Errorf("server: add resource template %q: %w", text, err))
		}
		s.kit.AddResourceTemplate(definition, func(ctx context.Context, req *kit.ReadResourceRequest, vars mcpserver.Variables) (*kit.ReadResourceResult, error) {
			return s.readResource(ctx, ResourceHandlerFunc(t.Handler), req, vars)
		})
	}
}

// SetResourceTemplates replaces all resource templates.
func (s *MCPServer) SetResourceTemplates(templates ...ServerResourceTemplate) {
	s.mu.Lock()
	removed := slices.Collect(maps.Keys(s.templates))
	clear(s.templates)
	s.mu.Unlock()
	s.kit.RemoveResourceTemplates(removed...)
	s.AddResourceTemplates(templates...)
}

// AddPrompt adds a prompt, or replaces the prompt with the same name.
func (s *MCPServer) AddPrompt(prompt mcp.Prompt, handler PromptHandlerFunc) {
	s.AddPrompts(ServerPrompt{prompt, handler})
}

// AddPrompts is like [MCPServer.AddPrompt] for several prompts.
func (s *MCPServer) AddPrompts(prompts ...ServerPrompt) {
	for _, p := range prompts {
		s.mu.Lock()
		s.prompts[p.Prompt.Name] = p
		s.mu.Unlock()
		definition := new(kit.Prompt)
		if err := toKit(p.Prompt, definition); err != nil {
			panic(fmt.Errorf("server: add prompt %q: %w", p.Prompt.Name, err))
		}
		s.kit.AddRawPrompt(definition, func(ctx context.Context, req *kit.GetPromptRequest) (*kit.GetPromptResult, error) {
			return s.getPrompt(ctx, p.Handler, req)
		})
	}
}

// SetPrompts replaces all prompts.
func (s *MCPServer) SetPrompts(prompts ...ServerPrompt) {
	removed := s.ListPrompts()
	for _, p := range prompts {
		delete(removed, p.Prompt.Name)
	}
	s.DeletePrompts(slices.Collect(maps.Keys(removed))...)
	s.AddPrompts(prompts...)
}

// ListPrompts returns the prompts by name.
func (s *MCPServer) ListPrompts() map[string]*ServerPrompt {
	return registered(s, s.prompts)
}

// DeletePrompts removes prompts.
func (s *MCPServer) DeletePrompts(names ...string) {
	remove(s, s.prompts, names)
	s.kit.RemovePrompts(names...)
}

// AddNotificationHandler sets the handler of a notification of clients.
func (s *MCPServer) AddNotificationHandler(method string, handler NotificationHandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifications[method] = handler
}

// toKit converts a value to a type of the kit with the same JSON, including an explicit false.
func toKit(from any, to wire.Value) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return wire.Decode(data, &wire.Frame{KeepFalse: true}, to)
}
