package mcpserver

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// wrappers are the functions that wrap handlers. They do not change once the server has begun to
// serve.
type wrappers struct {
	tools     []func(*mcp.Tool, ToolHandler) ToolHandler
	prompts   []func(*mcp.Prompt, PromptHandler) PromptHandler
	resources []func(ResourceHandler) ResourceHandler
}

// Use adds middleware, which wraps the handling of every incoming message like
// [Options].Middleware, and is called after that. It panics if the server has begun to
// serve.
func (s *Server) Use(middleware ...peer.Middleware) {
	s.beforeServing("Use", func() { s.opts.Middleware = append(slices.Clone(s.opts.Middleware), middleware...) })
}

// WrapTools adds a function that wraps the handlers of all tools, also of those that are
// registered later. The function gets the tool and its handler, and returns the handler to call
// instead. That handler gets the request before the arguments are validated, and the result as
// the client gets it: a failed tool has a result with IsError. Its own errors are treated like
// those of a tool. The function is called for each call, and must not change the tool. The first
// function that is added is the outermost.
//
// WrapTools panics if the server has begun to serve.
func (s *Server) WrapTools(wrap func(t *mcp.Tool, next ToolHandler) ToolHandler) {
	s.beforeServing("WrapTools", func() { s.wrap.tools = append(s.wrap.tools, wrap) })
}

// WrapPrompts is like [Server.WrapTools] for prompts. The handler gets requests that have all
// required arguments.
func (s *Server) WrapPrompts(wrap func(p *mcp.Prompt, next PromptHandler) PromptHandler) {
	s.beforeServing("WrapPrompts", func() { s.wrap.prompts = append(s.wrap.prompts, wrap) })
}

// WrapResources is like [Server.WrapTools] for reading resources, including those of templates.
// The handler gets requests for resources that exist.
func (s *Server) WrapResources(wrap func(next ResourceHandler) ResourceHandler) {
	s.beforeServing("WrapResources", func() { s.wrap.resources = append(s.wrap.resources, wrap) })
}

// beforeServing calls change. It panics if the server has begun to serve.
func (s *Server) beforeServing(method string, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dispatcher != nil {
		panic(fmt.Errorf("mcpserver: %s: the server has begun to serve", method))
	}
	change()
}

// wrapTool returns the wrapped handler of a tool.
func (s *Server) wrapTool(t *tool) rounds.Handler {
	if len(s.wrap.tools) == 0 {
		return t.call
	}
	handler := ToolHandler(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		value, err := t.call(ctx, req)
		if err != nil {
			return nil, err
		}
		return value.(*mcp.CallToolResult), nil
	})
	for _, wrap := range slices.Backward(s.wrap.tools) {
		handler = wrap(&t.Tool, handler)
	}
	return func(ctx context.Context, m peer.Message) (wire.Value, error) {
		res, err := handler(ctx, m.(*mcp.CallToolRequest))
		if err == nil && res == nil {
			err = errNoResult
		}
		return s.outcome(ctx, t.Name, res, err)
	}
}

// prompt returns the wrapped handler of a prompt.
func (w *wrappers) prompt(p *prompt) PromptHandler {
	handler := p.get
	for _, wrap := range slices.Backward(w.prompts) {
		handler = wrap(&p.Prompt, handler)
	}
	return handler
}

// resource returns a wrapped handler of a resource.
func (w *wrappers) resource(read ResourceHandler) ResourceHandler {
	for _, wrap := range slices.Backward(w.resources) {
		read = wrap(read)
	}
	return read
}
