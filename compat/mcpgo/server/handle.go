package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

type serverKey struct{}

// ServerFromContext returns the server in the context of a handler, or nil.
func ServerFromContext(ctx context.Context) *MCPServer {
	s, _ := ctx.Value(serverKey{}).(*MCPServer)
	return s
}

// handle is the middleware for all messages. It adds the server and the session to the context,
// and calls hooks and handlers of notifications. It needs no lists of the kit, because hooks get a copy
// of each result.
func (s *MCPServer) handle(next peer.Handler) peer.Handler {
	return peer.Observer(func(ctx context.Context, in *peer.Inbound) (_ peer.Reply, err error) {
		ctx = context.WithValue(ctx, serverKey{}, s)
		session := s.sessionOf(ctx, in)
		ctx, end := s.startSpan(s.WithContext(ctx, session), in, session)
		defer func() { end(err) }()
		if in.ID.IsZero() {
			return s.notified(ctx, in, next, session)
		}
		c := &observed{ctx: ctx, in: in, next: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			reply, err := s.handleRequest(ctx, in, next, session)
			if own, ok := session.(*clientSession); ok && err == nil && in.Method == string(mcp.MethodInitialize) {
				s.begin(ctx, own)
			}
			return reply, err
		})}
		if !s.hooks.observe(c) {
			return c.next.Handle(ctx, in)
		}
		return c.reply, c.err
	})
}

// begin registers the session of a connection until the connection is closed. Then its id is terminated,
// unless its client has done that.
func (s *MCPServer) begin(ctx context.Context, session *clientSession) {
	if session.id == "" || s.RegisterSession(ctx, session) != nil {
		return // there is no session, or the request was repeated
	}
	ids, managed := ctx.Value(managerKey{}).(SessionIdManager)
	session.conn.OnClose(func(ctx context.Context) error {
		s.UnregisterSession(ctx, session.id)
		if terminated, _ := ctx.Value(terminatedKey{}).(bool); managed && !terminated {
			_, err := ids.Terminate(session.id)
			return err
		}
		return nil
	})
}

func (s *MCPServer) notified(ctx context.Context, in *peer.Inbound, next peer.Handler, session ClientSession) (peer.Reply, error) {
	if session != nil && in.Method == string(mcp.MethodNotificationInitialized) {
		session.Initialize()
	}
	s.mu.RLock()
	handler := s.notifications[in.Method]
	s.mu.RUnlock()
	if handler != nil {
		n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: in.Method}}
		params, err := paramsOf(in)
		if err == nil {
			err = json.Unmarshal(params, &n.Params)
		}
		if err != nil {
			return peer.Reply{}, err
		}
		handler(ctx, n)
	}
	return next.Handle(ctx, in)
}

// handleRequest handles requests for items that are not registered at the kit, or that a filter may
// hide.
func (s *MCPServer) handleRequest(ctx context.Context, in *peer.Inbound, next peer.Handler, session ClientSession) (peer.Reply, error) {
	switch in.Method {
	case string(mcp.MethodToolsCall):
		workers, _ := ctx.Value(workersKey{}).(workers)
		if err := workers.begin(ctx); err != nil {
			return peer.Reply{}, err
		}
		defer workers.end()
		return s.handleTools(ctx, in, next, session)
	case string(mcp.MethodToolsList):
		return s.handleTools(ctx, in, next, session)
	case string(mcp.MethodPromptsList), string(mcp.MethodPromptsGet):
		return s.handlePrompts(ctx, in, next)
	case string(mcp.MethodResourcesList), string(mcp.MethodResourcesTemplatesList), string(mcp.MethodResourcesRead):
		return s.handleResources(ctx, in, next, session)
	}
	return next.Handle(ctx, in)
}

// handleResources handles requests in a session with resources or resource templates of its own.
func (s *MCPServer) handleResources(ctx context.Context, in *peer.Inbound, next peer.Handler, session ClientSession) (peer.Reply, error) {
	own, templates := resourceItems.of(session), templateItems.of(session)
	switch {
	case len(own) == 0 && len(templates) == 0:
		return next.Handle(ctx, in)
	case in.Method == string(mcp.MethodResourcesList):
		result, err := s.listResources(own)
		return s.reply(ctx, in, result, err)
	case in.Method == string(mcp.MethodResourcesTemplatesList):
		result, err := s.listTemplates(templates)
		return s.reply(ctx, in, result, err)
	}
	req := new(kit.ReadResourceRequest)
	if err := in.Decode(in.Frame, req); err != nil {
		return next.Handle(ctx, in) // refuses the request
	}
	if r, ok := own[req.URI]; ok {
		result, err := s.readResource(ctx, r.Handler, req, nil)
		return s.reply(ctx, in, result, err)
	}
	if s.ListResources()[req.URI] != nil || len(templates) == 0 {
		return next.Handle(ctx, in)
	}
	t, vars, err := s.matchTemplate(templates, req.URI)
	switch {
	case err != nil:
		return peer.Reply{}, err
	case t == nil:
		return next.Handle(ctx, in)
	}
	result, err := s.readResource(ctx, ResourceHandlerFunc(t.Handler), req, vars)
	return s.reply(ctx, in, result, err)
}

// listResources returns the resources of the server and of a session, in one page.
func (s *MCPServer) listResources(own map[string]ServerResource) (*kit.ListResourcesResult, error) {
	list, err := definitions[kit.Resource](merged(s, s.resources, own), func(r ServerResource) any { return r.Resource })
	return &kit.ListResourcesResult{Resources: list}, err
}

// listTemplates is like listResources for resource templates.
func (s *MCPServer) listTemplates(own map[string]ServerResourceTemplate) (*kit.ListResourceTemplatesResult, error) {
	list, err := definitions[kit.ResourceTemplate](merged(s, s.templates, own), func(t ServerResourceTemplate) any { return t.Template })
	return &kit.ListResourceTemplatesResult{ResourceTemplates: list}, err
}

// definitions returns the definitions of items as values of the kit.
func definitions[To, Item any, P interface {
	*To
	wire.Value
}](items []Item, of func(Item) any) ([]To, error) {
	list := make([]To, len(items))
	for i, item := range items {
		if err := toKit(of(item), P(&list[i])); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// merged returns the items of the server and of a session in the order of their keys. An item of the
// session replaces the item of the server with the same key.
func merged[T any](s *MCPServer, registered, own map[string]T) []T {
	s.mu.RLock()
	all := maps.Clone(registered)
	s.mu.RUnlock()
	maps.Copy(all, own)
	items := make([]T, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		items = append(items, all[key])
	}
	return items
}

// handlePrompts handles requests of a server with a filter for prompts.
func (s *MCPServer) handlePrompts(ctx context.Context, in *peer.Inbound, next peer.Handler) (peer.Reply, error) {
	if len(s.promptFilters) == 0 {
		return next.Handle(ctx, in)
	}
	if in.Method == string(mcp.MethodPromptsList) {
		result, err := s.listPrompts(ctx)
		return s.reply(ctx, in, result, err)
	}
	req := new(kit.GetPromptRequest)
	if err := in.Decode(in.Frame, req); err != nil {
		return next.Handle(ctx, in) // refuses the request
	}
	p := s.ListPrompts()[req.Name]
	if p != nil && len(s.filterPrompts(ctx, []mcp.Prompt{p.Prompt})) == 0 {
		return peer.Reply{}, unknown(unknownPrompt, req.Name)
	}
	return next.Handle(ctx, in)
}

// listPrompts returns all prompts that a caller may list, in one page.
func (s *MCPServer) listPrompts(ctx context.Context) (*kit.ListPromptsResult, error) {
	var prompts []mcp.Prompt
	for _, p := range merged(s, s.prompts, nil) {
		prompts = append(prompts, p.Prompt)
	}
	list, err := definitions[kit.Prompt](s.filterPrompts(ctx, prompts), func(p mcp.Prompt) any { return p })
	return &kit.ListPromptsResult{Prompts: list}, err
}

func (s *MCPServer) filterPrompts(ctx context.Context, prompts []mcp.Prompt) []mcp.Prompt {
	for _, filter := range s.promptFilters {
		prompts = filter(ctx, prompts)
	}
	return prompts
}

// handleTools handles requests in a session with tools of its own, or with a filter.
func (s *MCPServer) handleTools(ctx context.Context, in *peer.Inbound, next peer.Handler, session ClientSession) (peer.Reply, error) {
	own := toolItems.of(session)
	if len(own) == 0 && len(s.filters) == 0 {
		return next.Handle(ctx, in)
	}
	switch in.Method {
	case string(mcp.MethodToolsList):
		result, err := s.listTools(ctx, own)
		return s.reply(ctx, in, result, err)
	case string(mcp.MethodToolsCall):
		req := new(kit.CallToolRequest)
		if err := in.Decode(in.Frame, req); err != nil {
			return next.Handle(ctx, in) // refuses the request
		}
		tool, ok := own[req.Name]
		known := s.GetTool(req.Name)
		switch {
		case !ok && known == nil:
			return next.Handle(ctx, in) // only the kit may have the tool
		case !ok:
			tool = *known
		}
		if len(s.filter(ctx, []mcp.Tool{tool.Tool})) == 0 {
			return peer.Reply{}, unknown(unknownTool, req.Name)
		}
		if ok {
			result, err := s.callTool(ctx, tool.Handler, req)
			return s.reply(ctx, in, result, err)
		}
	}
	return next.Handle(ctx, in)
}

// The texts of errors of the kit begin with these.
const (
	unknownTool   = "Unknown tool: "
	unknownPrompt = "Unknown prompt: "
)

// unknown returns the error of the kit for a name that is not registered, so that callers cannot
// distinguish items that a filter hides.
func unknown(text, name string) error {
	return &peer.Error{Code: mcp.INVALID_PARAMS, Message: text + strconv.Quote(name)}
}

func (s *MCPServer) reply(ctx context.Context, in *peer.Inbound, result wire.Value, err error) (peer.Reply, error) {
	if err != nil {
		return peer.Reply{}, err
	}
	return peer.Reply{Result: result, Frame: connection.FromContext(ctx).Frame(in.Method)}, nil
}

// listTools returns all tools that a caller may list, in one page.
func (s *MCPServer) listTools(ctx context.Context, own map[string]ServerTool) (*kit.ListToolsResult, error) {
	var tools []mcp.Tool
	for _, t := range merged(s, s.tools, own) {
		tools = append(tools, t.Tool)
	}
	list, err := definitions[kit.Tool](s.filter(ctx, tools), func(t mcp.Tool) any { return t })
	return &kit.ListToolsResult{Tools: list}, err
}

func (s *MCPServer) filter(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	for _, filter := range s.filters {
		tools = filter(ctx, tools)
	}
	return tools
}

// convertRequest converts a request of the kit to the request of a handler.
func convertRequest(ctx context.Context, req peer.Message, to any) error {
	data, err := wire.AppendParams(nil, nil, req)
	if err != nil {
		return err
	}
	in := &peer.Inbound{Method: req.Method(), Params: data}
	if session := kit.SessionFromContext(ctx); session != nil {
		in.Transport = session.Transport()
	}
	_, err = readRequest(in, to)
	return err
}

// handlerError is an error of a handler. Clients receive its text, as from mcp-go, and hooks
// receive the error.
type handlerError struct {
	error
	sent *peer.Error
}

func (e *handlerError) Unwrap() []error { return []error{e.error, e.sent} }

// sendable returns the error for an error of a handler. Errors that ask a question or have a code
// are returned unchanged.
func sendable(err error) error {
	if _, asks := errors.AsType[*kit.InputRequiredError](err); asks || peer.AsError(err) != nil {
		return err
	}
	code := int64(mcp.INTERNAL_ERROR)
	if errors.Is(err, ErrResourceNotFound) {
		code = mcp.RESOURCE_NOT_FOUND
	}
	return &handlerError{err, &peer.Error{Code: code, Message: err.Error()}}
}

var (
	errNoHandler = errors.New("the server has no handler for this")
	errNoResult  = errors.New("the handler returned no result")
)

// wrapped returns a handler with its middleware. The first function is the outermost. A nil handler is
// replaced by one that returns [errNoHandler].
func wrapped[Req, Res any, H ~func(context.Context, Req) (Res, error), M ~func(H) H](handler H, middleware []M) H {
	if handler == nil {
		handler = func(context.Context, Req) (none Res, err error) { return none, errNoHandler }
	}
	for _, wrap := range slices.Backward(middleware) {
		handler = wrap(handler)
	}
	return handler
}

func (s *MCPServer) callTool(ctx context.Context, handler ToolHandlerFunc, req *kit.CallToolRequest) (*kit.CallToolResult, error) {
	var request mcp.CallToolRequest
	if err := convertRequest(ctx, req, &request); err != nil {
		return nil, err
	}
	s.mu.RLock()
	middleware := s.tool
	s.mu.RUnlock()
	result, err := wrapped(handler, middleware)(ctx, request)
	switch {
	case err != nil:
		return nil, sendable(err)
	case result == nil:
		return nil, errNoResult
	}
	converted := new(kit.CallToolResult)
	return converted, toKit(result, converted)
}

func (s *MCPServer) readResource(ctx context.Context, handler ResourceHandlerFunc, req *kit.ReadResourceRequest, vars mcpserver.Variables) (*kit.ReadResourceResult, error) {
	var request mcp.ReadResourceRequest
	if err := convertRequest(ctx, req, &request); err != nil {
		return nil, err
	}
	for name, values := range vars {
		if request.Params.Arguments == nil {
			request.Params.Arguments = map[string]any{}
		}
		request.Params.Arguments[name] = values
	}
	contents, err := wrapped(handler, s.resource)(ctx, request)
	if err != nil {
		return nil, sendable(err)
	}
	converted := new(kit.ReadResourceResult)
	return converted, toKit(mcp.ReadResourceResult{Contents: append([]mcp.ResourceContents{}, contents...)}, converted)
}

func (s *MCPServer) getPrompt(ctx context.Context, handler PromptHandlerFunc, req *kit.GetPromptRequest) (*kit.GetPromptResult, error) {
	var request mcp.GetPromptRequest
	if err := convertRequest(ctx, req, &request); err != nil {
		return nil, err
	}
	result, err := wrapped(handler, s.prompt)(ctx, request)
	switch {
	case err != nil:
		return nil, sendable(err)
	case result == nil:
		return nil, errNoResult
	}
	complete := *result
	if complete.Messages == nil {
		complete.Messages = []mcp.PromptMessage{}
	}
	converted := new(kit.GetPromptResult)
	return converted, toKit(complete, converted)
}
