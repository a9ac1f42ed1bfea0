// Package transport has the names of package client/transport of github.com/mark3labs/mcp-go that
// servers use when they call other servers. New programs use the endpoints of
// [github.com/mcpwright/mcp/runtime/mcpclient].
package transport

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/mcpclient"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
)

// Interface is a transport to a server. The functions of this package return implementations. A
// program can also implement it with another endpoint.
type Interface interface {
	// Endpoint returns the address of the server.
	Endpoint() mcpclient.Endpoint
}

// unstarted has methods that programs call, although the client connects and disconnects.
type unstarted struct{}

// Start does nothing: the client connects when it is initialized.
func (unstarted) Start(context.Context) error { return nil }

// Close does nothing: closing the client ends the connection.
func (unstarted) Close() error { return nil }

// AuthorizationRequiredError is in the chain of the error of a request that the server has refused
// with status 401. An http.Client with a transport of package auth logs in instead.
type AuthorizationRequiredError struct{}

// Error implements error.
func (e *AuthorizationRequiredError) Error() string { return "authorization required" }

// StreamableHTTP is a transport to a URL.
type StreamableHTTP struct {
	unstarted
	endpoint *mcpclient.URLEndpoint
	timeout  time.Duration
}

// Endpoint implements [Interface].
func (t *StreamableHTTP) Endpoint() mcpclient.Endpoint { return t.endpoint }

// Timeout returns the time for a response, or 0 for the default.
func (t *StreamableHTTP) Timeout() time.Duration { return t.timeout }

// StreamableHTTPCOption configures a [StreamableHTTP].
type StreamableHTTPCOption func(*StreamableHTTP)

// NewStreamableHTTP returns a transport to a URL. The error is always nil; a URL that is not valid
// is reported when the client is initialized.
func NewStreamableHTTP(serverURL string, options ...StreamableHTTPCOption) (*StreamableHTTP, error) {
	t := &StreamableHTTP{endpoint: mcpclient.URL(serverURL)}
	for _, option := range options {
		option(t)
	}
	return t, nil
}

// WithHTTPTimeout sets the time for the response to a request. In mcp-go it also limits streams.
func WithHTTPTimeout(timeout time.Duration) StreamableHTTPCOption {
	return func(t *StreamableHTTP) { t.timeout = timeout }
}

// WithHTTPHeaderFunc sets a function that returns headers of each HTTP request. They replace the headers of
// [WithHTTPHeaders]. Unlike in mcp-go, they do not replace the headers of a call and of the protocol. The context
// is the context of the call; requests that belong to no call have none of its values.
func WithHTTPHeaderFunc(headerFunc HTTPHeaderFunc) StreamableHTTPCOption {
	return func(t *StreamableHTTP) { t.endpoint.HTTP.HeaderFunc = headerFunc.headers() }
}

// HTTPHeaderFunc returns headers of an HTTP request.
type HTTPHeaderFunc func(context.Context) map[string]string

// headers returns the function for the options of the kit.
func (f HTTPHeaderFunc) headers() func(context.Context) http.Header {
	if f == nil {
		return nil
	}
	return func(ctx context.Context) http.Header { return headerOf(f(ctx)) }
}

// WithHTTPBasicClient sets the client that sends the HTTP requests.
func WithHTTPBasicClient(client *http.Client) StreamableHTTPCOption {
	return func(t *StreamableHTTP) { t.endpoint.HTTP.HTTPClient = client }
}

// WithHTTPHeaders sets headers of all HTTP requests.
func WithHTTPHeaders(headers map[string]string) StreamableHTTPCOption {
	return func(t *StreamableHTTP) { t.endpoint.HTTP.Header = headerOf(headers) }
}

func headerOf(headers map[string]string) http.Header {
	h := http.Header{}
	for name, value := range headers {
		h.Set(name, value)
	}
	return h
}

// WithContinuousListening does nothing: the client always listens to the server.
func WithContinuousListening() StreamableHTTPCOption { return func(*StreamableHTTP) {} }

// SSE is a transport to a URL with the transport HTTP+SSE of 2024-11-05.
type SSE struct {
	unstarted
	url  string
	opts httpclient.Options
}

// Endpoint implements [Interface].
func (t *SSE) Endpoint() mcpclient.Endpoint { return mcpclient.LegacySSE(t.url, &t.opts) }

// ClientOption configures an [SSE].
type ClientOption func(*SSE)

// NewSSE returns a transport to a URL. The error is always nil; a URL that is not valid is reported
// when the client is initialized.
func NewSSE(baseURL string, options ...ClientOption) (*SSE, error) {
	t := &SSE{url: baseURL}
	for _, option := range options {
		option(t)
	}
	return t, nil
}

// WithHTTPClient sets the client that sends the HTTP requests.
func WithHTTPClient(client *http.Client) ClientOption {
	return func(t *SSE) { t.opts.HTTPClient = client }
}

// WithHeaderFunc is like [WithHTTPHeaderFunc] for [NewSSE].
func WithHeaderFunc(headerFunc HTTPHeaderFunc) ClientOption {
	return func(t *SSE) { t.opts.HeaderFunc = headerFunc.headers() }
}

// WithHeaders sets headers of all HTTP requests.
func WithHeaders(headers map[string]string) ClientOption {
	return func(t *SSE) { t.opts.Header = headerOf(headers) }
}

// Stdio is a transport to a child process, or over two streams.
type Stdio struct {
	unstarted
	endpoint mcpclient.Endpoint
}

// NewStdio returns a transport to a command, which is started when the client is initialized. The
// entries of env have the form "name=value". In mcp-go the process inherits the whole environment;
// here it inherits only the variables that programs need to find their files.
func NewStdio(command string, env []string, args ...string) *Stdio {
	to := mcpclient.Command(command, args...)
	to.Env = env
	return &Stdio{endpoint: to}
}

// NewIO returns a transport over two streams, for one connection. The client closes output, and input
// if it has a method Close. logging is not read.
func NewIO(input io.Reader, output io.WriteCloser, _ io.ReadCloser) *Stdio {
	in, ok := input.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(input)
	}
	return &Stdio{endpoint: mcpclient.Streams(in, output)}
}

// Endpoint implements [Interface].
func (t *Stdio) Endpoint() mcpclient.Endpoint { return t.endpoint }
