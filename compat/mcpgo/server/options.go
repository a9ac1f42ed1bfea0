package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// WithInstructions sets the instructions for models.
func WithInstructions(instructions string) ServerOption {
	return func(s *MCPServer) { s.opts.Instructions = instructions }
}

// WithTitle sets the title of the server.
func WithTitle(title string) ServerOption { return func(s *MCPServer) { s.info.Title = title } }

// WithDescription sets the description of the server.
func WithDescription(description string) ServerOption {
	return func(s *MCPServer) { s.info.Description = description }
}

// WithWebsiteURL sets the website of the server.
func WithWebsiteURL(websiteURL string) ServerOption {
	return func(s *MCPServer) { s.info.WebsiteURL = websiteURL }
}

// WithToolCapabilities declares tools even if none are registered yet, and whether clients are
// notified of changes. Without the option the capability is declared with the first tool.
func WithToolCapabilities(listChanged bool) ServerOption {
	return func(s *MCPServer) { s.opts.Capabilities.Tools = &kit.ToolsCapability{ListChanged: listChanged} }
}

// WithResourceCapabilities is like [WithToolCapabilities] for resources.
func WithResourceCapabilities(subscribe, listChanged bool) ServerOption {
	return func(s *MCPServer) {
		s.opts.Capabilities.Resources = &kit.ResourcesCapability{Subscribe: subscribe, ListChanged: listChanged}
	}
}

// WithPromptCapabilities is like [WithToolCapabilities] for prompts.
func WithPromptCapabilities(listChanged bool) ServerOption {
	return func(s *MCPServer) { s.opts.Capabilities.Prompts = &kit.PromptsCapability{ListChanged: listChanged} }
}

// WithLogging declares that the server sends log messages.
func WithLogging() ServerOption {
	return func(s *MCPServer) { s.opts.Capabilities.Logging = map[string]json.RawMessage{} }
}

// WithCompletions declares completion. [WithPromptCompletionProvider] and
// [WithResourceCompletionProvider] declare it, too.
func WithCompletions() ServerOption {
	return func(s *MCPServer) { s.opts.Capabilities.Completions = map[string]json.RawMessage{} }
}

// WithPromptCompletionProvider sets the provider of values for arguments of prompts.
func WithPromptCompletionProvider(provider PromptCompletionProvider) ServerOption {
	return func(s *MCPServer) { s.promptCompletion = provider }
}

// WithResourceCompletionProvider sets the provider of values for variables of resource templates.
func WithResourceCompletionProvider(provider ResourceCompletionProvider) ServerOption {
	return func(s *MCPServer) { s.resourceCompletion = provider }
}

// WithTaskCapabilities lets calls continue as tasks, if toolCallTasks is set and the tool has
// [mcp.WithTaskSupport]. Tasks can always be listed and canceled.
func WithTaskCapabilities(list, cancel, toolCallTasks bool) ServerOption {
	return func(s *MCPServer) {
		if toolCallTasks {
			s.opts.Tasks = &s.tasks
		}
	}
}

// WithExperimental declares capabilities outside the protocol, by name. NewMCPServer panics if a
// value is not an object in JSON.
func WithExperimental(experimental map[string]any) ServerOption {
	return func(s *MCPServer) { s.opts.Capabilities.Experimental = objects(experimental) }
}

// WithExtensions is like [WithExperimental] for the settings of extensions of the protocol.
func WithExtensions(extensions map[string]any) ServerOption {
	return func(s *MCPServer) { s.opts.Capabilities.Extensions = objects(extensions) }
}

func objects(values map[string]any) map[string]map[string]json.RawMessage {
	all := make(map[string]map[string]json.RawMessage, len(values))
	for name, value := range values {
		data, err := json.Marshal(value)
		members := map[string]json.RawMessage{}
		if err == nil {
			err = json.Unmarshal(data, &members)
		}
		if err != nil {
			panic(fmt.Errorf("server: capability %q: %w", name, err))
		}
		all[name] = members
	}
	return all
}

// WithIcons sets the icons of the server.
func WithIcons(icons ...mcp.Icon) ServerOption {
	return func(s *MCPServer) {
		for _, icon := range icons {
			converted := new(kit.Icon)
			if err := toKit(icon, converted); err != nil {
				panic(fmt.Errorf("server: icon %q: %w", icon.Src, err))
			}
			s.info.Icons = append(s.info.Icons, *converted)
		}
	}
}

// WithRecovery does nothing: panics of handlers never end the process. The caller gets an internal
// error, and the log contains the stack.
func WithRecovery() ServerOption { return func(*MCPServer) {} }

// WithResourceRecovery does nothing; see [WithRecovery].
func WithResourceRecovery() ServerOption { return func(*MCPServer) {} }

// WithHooks sets the hooks.
func WithHooks(hooks *Hooks) ServerOption {
	return func(s *MCPServer) {
		if hooks != nil {
			s.hooks = hooks
		}
	}
}

// WithPaginationLimit limits the items in one page of a list.
func WithPaginationLimit(limit int) ServerOption {
	return func(s *MCPServer) { s.opts.PageSize = limit }
}

// WithInputSchemaValidation validates the arguments of tools before their handlers are called.
func WithInputSchemaValidation() ServerOption {
	return func(s *MCPServer) { s.opts.Validation = mcpserver.ValidateStrict }
}

// WithOutputSchemaValidation validates the results of tools against their output schemas. Unlike in mcp-go, a
// result without structured content is invalid too, and the model gets an internal error. Its cause is in the
// log. The results of tools of a session are not validated.
func WithOutputSchemaValidation() ServerOption {
	return func(s *MCPServer) { s.opts.UncheckedResults = false }
}

// WithToolHandlerMiddleware adds middleware for tools. The first function that is added is the
// outermost.
func WithToolHandlerMiddleware(middleware ToolHandlerMiddleware) ServerOption {
	return func(s *MCPServer) { s.Use(middleware) }
}

// WithResourceHandlerMiddleware is like [WithToolHandlerMiddleware] for resources.
func WithResourceHandlerMiddleware(middleware ResourceHandlerMiddleware) ServerOption {
	return func(s *MCPServer) { s.resource = append(s.resource, middleware) }
}

// WithPromptHandlerMiddleware is like [WithToolHandlerMiddleware] for prompts.
func WithPromptHandlerMiddleware(middleware PromptHandlerMiddleware) ServerOption {
	return func(s *MCPServer) { s.prompt = append(s.prompt, middleware) }
}

// WithToolFilter adds a filter for tools. With a filter, and for a session with tools of its own, all
// tools are listed in one page.
func WithToolFilter(filter ToolFilterFunc) ServerOption {
	return func(s *MCPServer) { s.filters = append(s.filters, filter) }
}

// WithPromptFilter is like [WithToolFilter] for prompts.
func WithPromptFilter(filter PromptFilterFunc) ServerOption {
	return func(s *MCPServer) { s.promptFilters = append(s.promptFilters, filter) }
}

// WithLogger sets the logger of errors that no caller gets. In mcp-go it logs every request.
func WithLogger(logger *slog.Logger) ServerOption {
	return func(s *MCPServer) { s.log.Store(logger) }
}

// logHandler passes records to the logger that is set at the time, or to [slog.Default].
type logHandler struct {
	server *MCPServer
	with   func(slog.Handler) slog.Handler // adds attributes and groups; nil adds none
}

func (h *logHandler) handler() slog.Handler {
	logger := h.server.log.Load()
	if logger == nil {
		logger = slog.Default()
	}
	if h.with == nil {
		return logger.Handler()
	}
	return h.with(logger.Handler())
}

func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.handler().Enabled(ctx, level)
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.handler().Handle(ctx, r)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.and(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *logHandler) and(add func(slog.Handler) slog.Handler) slog.Handler {
	before := h.with
	return &logHandler{h.server, func(next slog.Handler) slog.Handler {
		if before != nil {
			next = before(next)
		}
		return add(next)
	}}
}

// useLogger sends the log to a logger of package log.
func (s *MCPServer) useLogger(logger *log.Logger) {
	if logger != nil {
		s.log.Store(slog.New(slog.NewTextHandler(logger.Writer(), nil)))
	}
}
