// Package client has the names of package client of github.com/mark3labs/mcp-go that servers use when
// they call other servers, and that their tests use. It is implemented with
// [github.com/mcpwright/mcp/runtime/mcpclient], which new programs use.
//
// Differences:
//
//   - The client connects when it is initialized, and negotiates the newest revision that both sides
//     support.
//   - Results are validated, and limits on sizes and time are on.
//   - The client passes notifications on only to handlers that are registered before it is initialized, and no
//     notifications about resources and tasks.
//
// Missing are subscriptions, log levels, tasks, and OAuth. [Client.Kit] returns the client that has them. Package
// [github.com/mcpwright/mcp/runtime/auth] has a transport for HTTP clients that logs in.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/mcpwright/mcp/compat/mcpgo/client/transport"
	"github.com/mcpwright/mcp/compat/mcpgo/internal/convert"
	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// MCPClient has methods of a [Client].
type MCPClient interface {
	Initialize(ctx context.Context, request mcp.InitializeRequest) (*mcp.InitializeResult, error)
	Ping(ctx context.Context) error
	ListTools(ctx context.Context, request mcp.ListToolsRequest) (*mcp.ListToolsResult, error)
	CallTool(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error)
	ListPrompts(ctx context.Context, request mcp.ListPromptsRequest) (*mcp.ListPromptsResult, error)
	GetPrompt(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error)
	ListResources(ctx context.Context, request mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error)
	ListResourceTemplates(ctx context.Context, request mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error)
	ReadResource(ctx context.Context, request mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error)
	ListToolsByPage(ctx context.Context, request mcp.ListToolsRequest) (*mcp.ListToolsResult, error)
	ListPromptsByPage(ctx context.Context, request mcp.ListPromptsRequest) (*mcp.ListPromptsResult, error)
	ListResourcesByPage(ctx context.Context, request mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error)
	ListResourceTemplatesByPage(ctx context.Context, request mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error)
	Complete(ctx context.Context, request mcp.CompleteRequest) (*mcp.CompleteResult, error)
	OnNotification(handler func(notification mcp.JSONRPCNotification))
	Close() error
}

var _ MCPClient = (*Client)(nil)

var errNotInitialized = errors.New("client: not initialized")

// Client is a client of one server. It is safe for concurrent use after it is initialized.
type Client struct {
	transport transport.Interface
	opts      mcpclient.Options

	mu       sync.Mutex
	handlers []func(mcp.JSONRPCNotification)
	lost     []func(error)
	kit      *mcpclient.Client // nil until the client is initialized
}

// NewClient returns a client that is not connected yet.
func NewClient(transport transport.Interface, options ...ClientOption) *Client {
	c := &Client{transport: transport}
	for _, option := range options {
		option(c)
	}
	return c
}

// Kit returns the client that c is implemented with, or nil if c is not initialized.
func (c *Client) Kit() *mcpclient.Client {
	connected, _ := c.connected()
	return connected
}

// NewStreamableHttpClient returns a client of the server at a URL.
func NewStreamableHttpClient(baseURL string, options ...transport.StreamableHTTPCOption) (*Client, error) {
	t, err := transport.NewStreamableHTTP(baseURL, options...)
	return NewClient(t), err
}

// NewStdioMCPClient returns a client of a command; see [transport.NewStdio]. The error is always nil.
func NewStdioMCPClient(command string, env []string, args ...string) (*Client, error) {
	return NewClient(transport.NewStdio(command, env, args...)), nil
}

// NewSSEMCPClient returns a client of the server at a URL, with the transport HTTP+SSE.
func NewSSEMCPClient(baseURL string, options ...transport.ClientOption) (*Client, error) {
	t, err := transport.NewSSE(baseURL, options...)
	return NewClient(t), err
}

// WithHeaders sets headers of all HTTP requests of [NewSSEMCPClient].
func WithHeaders(headers map[string]string) transport.ClientOption {
	return transport.WithHeaders(headers)
}

// WithHeaderFunc sets a function that returns headers of each HTTP request of [NewSSEMCPClient].
func WithHeaderFunc(headerFunc transport.HTTPHeaderFunc) transport.ClientOption {
	return transport.WithHeaderFunc(headerFunc)
}

// WithHTTPClient sets the client that sends the HTTP requests of [NewSSEMCPClient].
func WithHTTPClient(client *http.Client) transport.ClientOption {
	return transport.WithHTTPClient(client)
}

type inProcess struct{ server *server.MCPServer }

func (t inProcess) Endpoint() mcpclient.Endpoint { return mcpclient.InProcess(t.server.Kit()) }

// NewInProcessClient returns a client of a server in the same process. The error is always nil.
func NewInProcessClient(server *server.MCPServer) (*Client, error) {
	return NewClient(inProcess{server}), nil
}

// Start does nothing: [Client.Initialize] connects to the server.
func (c *Client) Start(context.Context) error { return nil }

// OnNotification registers a handler of notifications. It must be called before [Client.Initialize].
// The handlers are called one after another.
func (c *Client) OnNotification(handler func(notification mcp.JSONRPCNotification)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = append(c.handlers, handler)
}

// OnConnectionLost registers a handler that is called when the connection has ended for good, unless the
// client was closed. Before that, the client connects again. It must be called before [Client.Initialize].
func (c *Client) OnConnectionLost(handler func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = append(c.lost, handler)
}

// GetTransport returns the transport.
func (c *Client) GetTransport() transport.Interface { return c.transport }

// IsInitialized reports whether the client is initialized.
func (c *Client) IsInitialized() bool { return c.Kit() != nil }

// GetSessionId returns the id of the session. It is empty if there is none.
func (c *Client) GetSessionId() string {
	if connected := c.Kit(); connected != nil {
		return connected.Connection().SessionID()
	}
	return ""
}

// ProtocolVersion returns the revision in use. It is empty before the client is initialized.
func (c *Client) ProtocolVersion() string {
	if connected := c.Kit(); connected != nil {
		return connected.Revision().String()
	}
	return ""
}

// GetServerCapabilities returns the capabilities of the server.
func (c *Client) GetServerCapabilities() (caps mcp.ServerCapabilities) {
	if connected := c.Kit(); connected != nil {
		_ = convert.JSON(connected.ServerCapabilities(), &caps) // both types have the same JSON
	}
	return caps
}

// listen passes notifications on to the handlers.
func (c *Client) listen(opts *mcpclient.Options) {
	opts.OnLog = passOn[*kit.LoggingMessageNotification](c.handlers)
	opts.OnToolListChanged = passOn[*kit.ToolListChangedNotification](c.handlers)
	opts.OnPromptListChanged = passOn[*kit.PromptListChangedNotification](c.handlers)
	opts.OnResourceListChanged = passOn[*kit.ResourceListChangedNotification](c.handlers)
	opts.OnElicitComplete = passOn[*kit.ElicitationCompleteNotification](c.handlers)
	opts.Handlers = func(mux *peer.Mux) {
		kit.HandleProgress(mux, passOn[*kit.ProgressNotification](c.handlers))
	}
}

func passOn[N peer.Message](handlers []func(mcp.JSONRPCNotification)) func(context.Context, N) error {
	return func(_ context.Context, from N) error {
		n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
		if err := convert.JSON(from, &n.Notification); err != nil {
			return err
		}
		for _, handle := range handlers {
			handle(n)
		}
		return nil
	}
}

// Initialize connects to the server. Only the description of the client is used. It must be called
// once, before all other requests.
func (c *Client) Initialize(ctx context.Context, request mcp.InitializeRequest) (*mcp.InitializeResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kit != nil {
		return nil, errors.New("client: already initialized")
	}
	opts := &c.opts
	if limited, ok := c.transport.(interface{ Timeout() time.Duration }); ok {
		opts.Timeout, opts.ProbeTimeout = limited.Timeout(), limited.Timeout()
	}
	if len(c.handlers) > 0 {
		c.listen(opts)
	}
	if request.Params.ClientInfo.Name != "" {
		if err := convert.JSON(request.Params.ClientInfo, &opts.Info); err != nil {
			return nil, err
		}
	}
	connected, err := mcpclient.Connect(ctx, c.transport.Endpoint(), opts)
	if err != nil {
		return nil, withAuthorization(err)
	}
	c.kit = connected
	c.watch(connected)
	return initialized(connected)
}

func initialized(c *mcpclient.Client) (*mcp.InitializeResult, error) {
	result := &kit.InitializeResult{ProtocolVersion: c.Revision().String(), Instructions: c.Instructions()}
	if caps := c.ServerCapabilities(); caps != nil {
		result.Capabilities = *caps
	}
	if info := c.ServerInfo(); info != nil {
		result.ServerInfo = *info
	}
	return converted[mcp.InitializeResult](result)
}

func (c *Client) connected() (*mcpclient.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kit == nil {
		return nil, errNotInitialized
	}
	return c.kit, nil
}

// Close ends the connection. Closing a client that is not initialized does nothing.
func (c *Client) Close() error {
	connected, err := c.connected()
	if err != nil {
		return nil
	}
	return connected.Close()
}

// Ping sends a ping. The revision 2026-07-28 has none; then Ping requests the capabilities of the
// server.
func (c *Client) Ping(ctx context.Context) error {
	connected, err := c.connected()
	if err != nil {
		return err
	}
	if connected.Revision() == kit.Revision20260728 {
		_, err = connected.Discover(ctx, &kit.DiscoverRequest{})
	} else {
		_, err = connected.Ping(ctx, &kit.PingRequest{})
	}
	return withAuthorization(err)
}

// CallTool calls a tool. The headers of the request are added to the HTTP request.
func (c *Client) CallTool(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return send[mcp.CallToolResult](ctx, c, request.Header, request.Params, new(kit.CallToolRequest))
}

// GetPrompt returns the messages of a prompt.
func (c *Client) GetPrompt(ctx context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return send[mcp.GetPromptResult](ctx, c, request.Header, request.Params, new(kit.GetPromptRequest))
}

// ReadResource returns the contents of a resource.
func (c *Client) ReadResource(ctx context.Context, request mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return send[mcp.ReadResourceResult](ctx, c, request.Header, request.Params, new(kit.ReadResourceRequest))
}

// Complete returns values for an argument of a prompt, or for a variable of a resource template.
func (c *Client) Complete(ctx context.Context, request mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return send[mcp.CompleteResult](ctx, c, request.Header, request.Params, new(kit.CompleteRequest))
}

// ListToolsByPage returns one page of the tools.
func (c *Client) ListToolsByPage(ctx context.Context, request mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	return send[mcp.ListToolsResult](ctx, c, request.Header, request.Params, new(kit.ListToolsRequest))
}

// ListPromptsByPage returns one page of the prompts.
func (c *Client) ListPromptsByPage(ctx context.Context, request mcp.ListPromptsRequest) (*mcp.ListPromptsResult, error) {
	return send[mcp.ListPromptsResult](ctx, c, request.Header, request.Params, new(kit.ListPromptsRequest))
}

// ListResourcesByPage returns one page of the resources.
func (c *Client) ListResourcesByPage(ctx context.Context, request mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	return send[mcp.ListResourcesResult](ctx, c, request.Header, request.Params, new(kit.ListResourcesRequest))
}

// ListResourceTemplatesByPage returns one page of the resource templates.
func (c *Client) ListResourceTemplatesByPage(ctx context.Context, request mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error) {
	return send[mcp.ListResourceTemplatesResult](ctx, c, request.Header, request.Params, new(kit.ListResourceTemplatesRequest))
}

// ListTools returns the tools on all pages.
func (c *Client) ListTools(ctx context.Context, _ mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	return list(ctx, c, tools, func(items []mcp.Tool) *mcp.ListToolsResult {
		return &mcp.ListToolsResult{Tools: items}
	})
}

func tools(c *mcpclient.Client, ctx context.Context) iter.Seq2[*kit.Tool, error] {
	return c.With(keepFalse).ListToolsAll(ctx, nil)
}

// keepFalse keeps an explicit false in the hints of tools, which does not mean the same as an absent hint.
func keepFalse(o *peer.CallOptions) {
	frame := wire.Frame{}
	if o.Frame != nil {
		frame = *o.Frame
	}
	frame.KeepFalse = true
	o.Frame = &frame
}

// ListPrompts returns the prompts on all pages.
func (c *Client) ListPrompts(ctx context.Context, _ mcp.ListPromptsRequest) (*mcp.ListPromptsResult, error) {
	return list(ctx, c, (*mcpclient.Client).Prompts, func(items []mcp.Prompt) *mcp.ListPromptsResult {
		return &mcp.ListPromptsResult{Prompts: items}
	})
}

// ListResources returns the resources on all pages.
func (c *Client) ListResources(ctx context.Context, _ mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	return list(ctx, c, (*mcpclient.Client).Resources, func(items []mcp.Resource) *mcp.ListResourcesResult {
		return &mcp.ListResourcesResult{Resources: items}
	})
}

// ListResourceTemplates returns the resource templates on all pages.
func (c *Client) ListResourceTemplates(ctx context.Context, _ mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error) {
	return list(ctx, c, (*mcpclient.Client).ResourceTemplates, func(items []mcp.ResourceTemplate) *mcp.ListResourceTemplatesResult {
		return &mcp.ListResourceTemplatesResult{ResourceTemplates: items}
	})
}

// list collects the items on all pages of a list, and makes a result of them.
func list[Result, To, From any](ctx context.Context, c *Client, all func(*mcpclient.Client, context.Context) iter.Seq2[*From, error], result func([]To) *Result) (*Result, error) {
	connected, err := c.connected()
	if err != nil {
		return nil, err
	}
	items := []To{}
	for item, err := range all(connected, ctx) {
		if err != nil {
			return nil, withAuthorization(err)
		}
		one, err := converted[To](item)
		if err != nil {
			return nil, err
		}
		items = append(items, *one)
	}
	return result(items), nil
}

// send sends a request with params of package mcp, and returns the result.
func send[To any, From wire.Value](ctx context.Context, c *Client, header http.Header, params any, request peer.Request[From]) (*To, error) {
	connected, err := c.connected()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if err := wire.DecodeParams(data, nil, request); err != nil {
		return nil, err
	}
	opts := []peer.CallOption{keepFalse}
	if header != nil {
		opts = append(opts, peer.WithHeader(header))
	}
	result, err := peer.SendRequest(ctx, connected, request, opts...)
	if err != nil {
		return nil, withAuthorization(err)
	}
	return converted[To](result)
}

// converted returns a value as a type with the same JSON.
func converted[To any](from any) (*To, error) {
	to := new(To)
	return to, convert.JSON(from, to)
}

// withAuthorization adds a [transport.AuthorizationRequiredError] to the error of status 401.
func withAuthorization(err error) error {
	if refused, ok := errors.AsType[*httpclient.HTTPError](err); ok && refused.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w: %w", &transport.AuthorizationRequiredError{}, err)
	}
	return err
}
