// Package mcptest has the names of package mcptest of github.com/mark3labs/mcp-go that tests of servers
// use. New tests use [github.com/mcpwright/mcp/runtime/mcptest], which also validates all messages.
package mcptest

import (
	"context"
	"fmt"
	"io"
	"log"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/client"
	"github.com/mcpwright/mcp/compat/mcpgo/client/transport"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

// Server is a server with a client that is connected to it over pipes.
type Server struct {
	t         *testing.T
	info      mcp.Implementation
	opts      []server.ServerOption
	tools     []server.ServerTool
	prompts   []server.ServerPrompt
	resources []server.ServerResource
	templates []server.ServerResourceTemplate
	handlers  []client.ClientOption

	client *client.Client // nil unless started
	end    context.CancelFunc
	served chan error
}

// NewServer returns a started server with tools. The caller closes it.
func NewServer(t *testing.T, tools ...server.ServerTool) (*Server, error) {
	s := NewUnstartedServer(t)
	s.AddTools(tools...)
	if err := s.Start(t.Context()); err != nil {
		return nil, err
	}
	return s, nil
}

// NewUnstartedServer returns a server that is not started.
func NewUnstartedServer(t *testing.T) *Server { return &Server{t: t} }

// AddTools adds tools before the start.
func (s *Server) AddTools(tools ...server.ServerTool) { s.tools = append(s.tools, tools...) }

// AddTool adds a tool before the start.
func (s *Server) AddTool(tool mcp.Tool, handler server.ToolHandlerFunc) {
	s.AddTools(server.ServerTool{Tool: tool, Handler: handler})
}

// AddPrompts adds prompts before the start.
func (s *Server) AddPrompts(prompts ...server.ServerPrompt) {
	s.prompts = append(s.prompts, prompts...)
}

// AddPrompt adds a prompt before the start.
func (s *Server) AddPrompt(prompt mcp.Prompt, handler server.PromptHandlerFunc) {
	s.AddPrompts(server.ServerPrompt{Prompt: prompt, Handler: handler})
}

// AddResources adds resources before the start.
func (s *Server) AddResources(resources ...server.ServerResource) {
	s.resources = append(s.resources, resources...)
}

// AddResource adds a resource before the start.
func (s *Server) AddResource(resource mcp.Resource, handler server.ResourceHandlerFunc) {
	s.AddResources(server.ServerResource{Resource: resource, Handler: handler})
}

// AddResourceTemplates adds resource templates before the start.
func (s *Server) AddResourceTemplates(templates ...server.ServerResourceTemplate) {
	s.templates = append(s.templates, templates...)
}

// AddResourceTemplate adds a resource template before the start.
func (s *Server) AddResourceTemplate(template mcp.ResourceTemplate, handler server.ResourceTemplateHandlerFunc) {
	s.AddResourceTemplates(server.ServerResourceTemplate{Template: template, Handler: handler})
}

// AddServerOptions adds options of the server before the start.
func (s *Server) AddServerOptions(opts ...server.ServerOption) { s.opts = append(s.opts, opts...) }

// SetClientInfo sets the name and version of the client before the start.
func (s *Server) SetClientInfo(info mcp.Implementation) { s.info = info }

// SetSamplingHandler sets the model that tools ask, before the start.
func (s *Server) SetSamplingHandler(h client.SamplingHandler) {
	s.handlers = append(s.handlers, client.WithSamplingHandler(h))
}

// SetElicitationHandler sets the user that tools ask, before the start.
func (s *Server) SetElicitationHandler(h client.ElicitationHandler) {
	s.handlers = append(s.handlers, client.WithElicitationHandler(h))
}

// SetRootsHandler sets the roots of the client, before the start.
func (s *Server) SetRootsHandler(h client.RootsHandler) {
	s.handlers = append(s.handlers, client.WithRootsHandler(h))
}

// Start serves the client until Close is called or ctx ends. The log of the server is the output of the
// test. Close must be called even if Start returns an error.
func (s *Server) Start(ctx context.Context) error {
	srv := server.NewMCPServer(s.t.Name(), "1.0.0", s.opts...)
	srv.AddTools(s.tools...)
	srv.AddPrompts(s.prompts...)
	srv.AddResources(s.resources...)
	srv.AddResourceTemplates(s.templates...)
	stdio := server.NewStdioServer(srv)
	stdio.SetErrorLogger(log.New(s.t.Output(), "", 0))

	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx, s.end = context.WithCancel(ctx)
	s.served = make(chan error, 1)
	go func() { s.served <- stdio.Listen(ctx, serverIn, serverOut) }() // ends with ctx, or when the client closes
	s.client = client.NewClient(transport.NewIO(clientIn, clientOut, nil), s.handlers...)
	var request mcp.InitializeRequest
	request.Params.ClientInfo = s.info
	if _, err := s.client.Initialize(ctx, request); err != nil {
		return fmt.Errorf("initialize client: %w", err)
	}
	return nil
}

// Client returns the client, which is initialized, or nil before the start.
func (s *Server) Client() *client.Client { return s.client }

// Close closes the client, and waits until the server and its handlers have ended.
func (s *Server) Close() {
	if s.client == nil {
		return
	}
	s.client.Close()
	s.end()
	<-s.served
	s.client = nil
}
