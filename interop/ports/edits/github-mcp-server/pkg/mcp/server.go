package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ServerOptions configure a server.
type ServerOptions struct {
	Instructions      string
	Logger            *slog.Logger
	CompletionHandler func(context.Context, *CompleteRequest) (*CompleteResult, error)
	Capabilities      *ServerCapabilities
}

// Server is a server of the kit.
type Server struct {
	kit        *mcpserver.Server
	middleware []Middleware // the last one is the outermost
	pending    []func()     // add the tools, when they are first needed
	register   sync.Once
}

// NewServer returns a server that sends the texts of errors, and validates no arguments.
func NewServer(info *Implementation, opts *ServerOptions) *Server {
	options := &mcpserver.Options{ExposeErrors: true, Validation: mcpserver.ValidateOff}
	if opts != nil {
		options.Instructions, options.Logger = opts.Instructions, opts.Logger
		if opts.Capabilities != nil {
			options.Capabilities = *opts.Capabilities
		}
	}
	s := new(Server)
	options.Middleware = []peer.Middleware{s.handle}
	s.kit = mcpserver.New(*info, options)
	if opts != nil && opts.CompletionHandler != nil {
		s.kit.HandleCompletion(func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return complete(ctx, req, opts.CompletionHandler)
		})
	}
	return s
}

// AddTool adds a tool. Its schema is encoded after the first response.
func (s *Server) AddTool(t *Tool, h ToolHandler) {
	s.pending = append(s.pending, func() { s.addTool(t, h) })
}

func (s *Server) addTool(t *Tool, h ToolHandler) {
	s.kit.AddRawTool(t.kit(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		params := &CallToolParamsRaw{Name: req.Name, Arguments: req.Arguments, InputResponses: req.InputResponses}
		if req.RequestState != nil {
			params.RequestState = *req.RequestState
		}
		if req.Meta != nil && !req.Meta.ProgressToken.IsZero() {
			params.ProgressToken = req.Meta.ProgressToken
		}
		result, err := h(ctx, &CallToolRequest{Session: &ServerSession{ServerSession: mcp.SessionFromContext(ctx)}, Params: params})
		if err != nil {
			return nil, errors.Join(err, &peer.Error{Code: mcp.CodeInternal, Message: err.Error()})
		}
		return result.kit()
	})
}

// AddPrompt adds a prompt.
func (s *Server) AddPrompt(p *Prompt, h PromptHandler) {
	s.kit.AddRawPrompt(p, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return h(ctx, &GetPromptRequest{Params: &GetPromptParams{req.Arguments}})
	})
}

// AddResource adds a resource.
func (s *Server) AddResource(r *Resource, h ResourceHandler) {
	s.kit.AddResource(r, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return read(ctx, req, h)
	})
}

// AddResourceTemplate adds resources by a template for their URIs.
func (s *Server) AddResourceTemplate(t *ResourceTemplate, h ResourceHandler) {
	s.kit.AddResourceTemplate(t, func(ctx context.Context, req *mcp.ReadResourceRequest, _ mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return read(ctx, req, h)
	})
}

func read(ctx context.Context, req *mcp.ReadResourceRequest, h ResourceHandler) (*mcp.ReadResourceResult, error) {
	result, err := h(ctx, &ReadResourceRequest{Params: &ReadResourceParams{req.URI}})
	if err != nil {
		return nil, err
	}
	kit := new(mcp.ReadResourceResult)
	for _, c := range result.Contents {
		kit.Contents = append(kit.Contents, c.Kit())
	}
	return kit, nil
}

func complete(ctx context.Context, req *mcp.CompleteRequest, h func(context.Context, *CompleteRequest) (*CompleteResult, error)) (*mcp.CompleteResult, error) {
	params := &CompleteParams{Argument: CompleteParamsArgument{req.Argument.Name, req.Argument.Value}, Context: req.Context}
	switch ref := req.Ref.(type) {
	case *mcp.PromptReference:
		params.Ref = &CompleteReference{Type: "ref/prompt", Name: ref.Name}
	case *mcp.ResourceTemplateReference:
		params.Ref = &CompleteReference{Type: "ref/resource", URI: ref.URI}
	}
	return h(ctx, &CompleteRequest{params})
}

// Middleware wraps the handling of requests.
type (
	Middleware    func(MethodHandler) MethodHandler
	MethodHandler func(ctx context.Context, method string, req Request) (Result, error)
	Request       any
	Result        any
	// ListToolsResult contains the names of the tools, from which middleware may remove some.
	ListToolsResult   struct{ Tools []*Tool }
	ListToolsRequest  struct{ CallToolRequest }
	InitializeRequest struct{ Params *InitializeParams }
)

// AddReceivingMiddleware adds middleware, which is called before the middleware that was added
// earlier.
func (s *Server) AddReceivingMiddleware(middleware ...Middleware) {
	for _, m := range slices.Backward(middleware) {
		s.middleware = append(s.middleware, m)
	}
}

// handle is the middleware of the kit that calls the middleware of the program.
func (s *Server) handle(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (reply peer.Reply, err error) {
		if in.Method != mcp.MethodInitialize {
			s.register.Do(func() {
				for _, add := range s.pending {
					add()
				}
			})
		}
		handler := MethodHandler(func(ctx context.Context, _ string, _ Request) (Result, error) {
			if reply, err = next.Handle(ctx, in); err != nil {
				return nil, err
			}
			return resultOf(reply), nil
		})
		for _, m := range s.middleware {
			handler = m(handler)
		}
		result, err := handler(ctx, in.Method, requestOf(ctx, in))
		if kept, ok := result.(*ListToolsResult); ok && err == nil {
			list := reply.Result.(*mcp.ListToolsResult)
			list.Tools = slices.DeleteFunc(list.Tools, func(t mcp.Tool) bool {
				return !slices.ContainsFunc(kept.Tools, func(k *Tool) bool { return k.Name == t.Name })
			})
		}
		return reply, err
	})
}

func requestOf(ctx context.Context, in *peer.Inbound) Request {
	switch in.Method {
	case mcp.MethodListTools:
		return &ListToolsRequest{CallToolRequest{Session: &ServerSession{ServerSession: mcp.SessionFromContext(ctx)}}}
	case mcp.MethodInitialize:
		params := new(mcp.InitializeRequest)
		if in.Decode(in.Frame, params) == nil {
			return &InitializeRequest{&InitializeParams{ClientInfo: &params.ClientInfo}}
		}
	}
	return in
}

func resultOf(reply peer.Reply) Result {
	list, ok := reply.Result.(*mcp.ListToolsResult)
	if !ok {
		return reply.Result
	}
	result := new(ListToolsResult)
	for _, t := range list.Tools {
		result.Tools = append(result.Tools, &Tool{Name: t.Name})
	}
	return result
}

// ServerSession is the session of a request, or, for tests, the description of a client.
type ServerSession struct {
	*mcp.ServerSession
	Params *InitializeParams
}

// InitializeParams describes a client.
type InitializeParams struct {
	ProtocolVersion string
	Capabilities    *ClientCapabilities
	ClientInfo      *Implementation
}

// InitializeParams returns the description of the client.
func (s *ServerSession) InitializeParams() *InitializeParams {
	switch {
	case s == nil:
		return new(InitializeParams)
	case s.Params != nil:
		return s.Params
	}
	return &InitializeParams{s.Revision().String(), s.ClientCapabilities(), s.ClientInfo()}
}

// ElicitParams describes a question to the user.
type ElicitParams struct {
	Mode, Message, URL, ElicitationID string
	RequestedSchema                   any
}

func (p *ElicitParams) kit() (mcp.ElicitRequestParams, error) {
	if p.Mode == "url" {
		return &mcp.ElicitRequestURLParams{Message: p.Message, URL: p.URL, ElicitationID: p.ElicitationID}, nil
	}
	form := &mcp.ElicitRequestFormParams{Message: p.Message}
	if p.RequestedSchema == nil {
		return form, nil
	}
	return form, wire.Decode(encode(p.RequestedSchema), nil, &form.RequestedSchema)
}

// Elicit asks the user, before the revision 2026-07-28.
func (s *ServerSession) Elicit(ctx context.Context, params *ElicitParams) (*ElicitResult, error) {
	if s.Revision() == mcp.Revision20260728 {
		return nil, errors.New("a question must be part of the result")
	}
	question, err := params.kit()
	if err != nil {
		return nil, err
	}
	return peer.SendRequest(ctx, s.ServerSession, &mcp.ElicitRequest{Params: question})
}

// ProgressNotificationParams is a report of progress.
type ProgressNotificationParams struct {
	ProgressToken   any
	Progress, Total float64
	Message         string
}

// NotifyProgress reports the progress of the request of this session.
func (s *ServerSession) NotifyProgress(ctx context.Context, p *ProgressNotificationParams) error {
	return s.ReportProgress(ctx, peer.Progress{Progress: p.Progress, Total: &p.Total, Message: p.Message})
}

// IOTransport serves two streams.
type IOTransport struct {
	Reader io.ReadCloser
	Writer io.WriteCloser
}

// Run serves a client until it disconnects or ctx ends.
func (s *Server) Run(ctx context.Context, t *IOTransport) error {
	return errors.Join(s.kit.ServeStreams(ctx, t.Reader, t.Writer), ctx.Err())
}

// StreamableHTTPOptions configure a handler.
type StreamableHTTPOptions struct {
	Stateless           bool
	MaxRequestBodyBytes int64
}

// NewStreamableHTTPHandler returns a handler of requests from programs and from web pages.
func NewStreamableHTTPHandler(choose func(*http.Request) *Server, opts *StreamableHTTPOptions) http.Handler {
	return streamable.NewChoosingHandler(func(r *http.Request) *mcpserver.Server { return choose(r).kit }, &streamable.Options{
		Stateless: opts.Stateless, MaxBody: int(opts.MaxRequestBodyBytes), Origins: []string{"*"}, Hosts: []string{"*"},
	})
}
