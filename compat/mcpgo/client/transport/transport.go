// Package transport has the names of package client/transport of github.com/mark3labs/mcp-go that
// servers use when they call other servers. New programs use the endpoints of
// [github.com/mcpwright/mcp/runtime/mcpclient].
package transport

import (
	"net/http"

	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// Interface is a transport to a server. The functions of this package return implementations. A
// program can also implement it with another endpoint.
type Interface interface {
	// Endpoint returns the address of the server.
	Endpoint() mcpclient.Endpoint
}

// AuthorizationRequiredError is in the chain of the error of a request that the server has refused
// with status 401. An http.Client with a transport of package auth logs in instead.
type AuthorizationRequiredError struct{}

// Error implements error.
func (e *AuthorizationRequiredError) Error() string { return "authorization required" }

// StreamableHTTP is a transport to a URL.
type StreamableHTTP struct{ endpoint *mcpclient.URLEndpoint }

// Endpoint implements [Interface].
func (t *StreamableHTTP) Endpoint() mcpclient.Endpoint { return t.endpoint }

// StreamableHTTPCOption configures a [StreamableHTTP].
type StreamableHTTPCOption func(*StreamableHTTP)

// NewStreamableHTTP returns a transport to a URL. The error is always nil; a URL that is not valid
// is reported when the client is initialized.
func NewStreamableHTTP(serverURL string, options ...StreamableHTTPCOption) (*StreamableHTTP, error) {
	t := &StreamableHTTP{mcpclient.URL(serverURL)}
	for _, option := range options {
		option(t)
	}
	return t, nil
}

// WithHTTPBasicClient sets the client that sends the HTTP requests.
func WithHTTPBasicClient(client *http.Client) StreamableHTTPCOption {
	return func(t *StreamableHTTP) { t.endpoint.HTTP.HTTPClient = client }
}

// WithHTTPHeaders sets headers of all HTTP requests.
func WithHTTPHeaders(headers map[string]string) StreamableHTTPCOption {
	return func(t *StreamableHTTP) {
		t.endpoint.HTTP.Header = http.Header{}
		for name, value := range headers {
			t.endpoint.HTTP.Header.Set(name, value)
		}
	}
}

// Stdio is a transport to a child process.
type Stdio struct{ endpoint *mcpclient.CommandEndpoint }

// NewStdio returns a transport to a command, which is started when the client is initialized. The
// entries of env have the form "name=value". In mcp-go the process inherits the whole environment;
// here it inherits only the variables that programs need to find their files.
func NewStdio(command string, env []string, args ...string) *Stdio {
	t := &Stdio{mcpclient.Command(command, args...)}
	t.endpoint.Env = env
	return t
}

// Endpoint implements [Interface].
func (t *Stdio) Endpoint() mcpclient.Endpoint { return t.endpoint }
