package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// SSEContextFunc returns the context of the handlers of a request.
type SSEContextFunc func(ctx context.Context, r *http.Request) context.Context

// SSEServer serves clients over HTTP+SSE, the transport of revision 2024-11-05. Clients send their
// messages to the path of the stream, which the first event contains. New servers use
// [StreamableHTTPServer].
type SSEServer struct {
	server      *MCPServer
	opts        streamable.Options
	base        string // prefix of both paths
	path        string
	messagePath string
	contextFunc SSEContextFunc
	cors        *CORSConfig
	listener    listener
	handler     func() *streamable.LegacySSEHandler // made when it is first used, after all options
}

// SSEOption configures an [SSEServer].
type SSEOption func(*SSEServer)

// NewSSEServer returns a server for HTTP+SSE.
func NewSSEServer(server *MCPServer, opts ...SSEOption) *SSEServer {
	s := &SSEServer{server: server, path: "/sse", messagePath: "/message"}
	s.opts.NewSessionID = func(*http.Request) string { return newID() }
	for _, opt := range opts {
		opt(s)
	}
	if s.cors != nil {
		s.opts.Origins = s.cors.AllowedOrigins
	}
	s.handler = sync.OnceValue(func() *streamable.LegacySSEHandler { return streamable.NewLegacySSEHandler(server.kit, &s.opts) })
	return s
}

// WithStaticBasePath sets a prefix of the paths.
func WithStaticBasePath(basePath string) SSEOption {
	return func(s *SSEServer) {
		if s.base = trimSlashes(basePath); s.base != "" {
			s.base = "/" + s.base
		}
	}
}

// WithBasePath is [WithStaticBasePath].
func WithBasePath(basePath string) SSEOption { return WithStaticBasePath(basePath) }

// DynamicBasePathFunc returns the prefix of the paths for a request.
type DynamicBasePathFunc func(r *http.Request, sessionID string) string

// WithDynamicBasePath does nothing: a program registers [SSEServer.SSEHandler] at its own mux, and the
// first event of a stream contains the path of its request. The mux must pass GET and POST requests.
func WithDynamicBasePath(DynamicBasePathFunc) SSEOption { return func(*SSEServer) {} }

// WithUseFullURLForMessageEndpoint does nothing, as [WithBaseURL].
func WithUseFullURLForMessageEndpoint(bool) SSEOption { return func(*SSEServer) {} }

// WithBaseURL does nothing: the first event contains a path, which clients resolve against the URL
// of the stream.
func WithBaseURL(string) SSEOption { return func(*SSEServer) {} }

// WithSSEEndpoint sets the path. The default is "/sse".
func WithSSEEndpoint(endpoint string) SSEOption {
	return func(s *SSEServer) { s.path = "/" + trimSlashes(endpoint) }
}

// WithMessageEndpoint sets a second path for messages. Clients do not use it: they send messages to the
// path of the stream. The default is "/message".
func WithMessageEndpoint(endpoint string) SSEOption {
	return func(s *SSEServer) { s.messagePath = "/" + trimSlashes(endpoint) }
}

// SessionIDGenFunc returns the id of a session that a request begins. It must be unique and hard to guess. The
// context is the context of the request. After an error, or if the id is not valid, the client gets the status 500.
type SessionIDGenFunc func(ctx context.Context, r *http.Request) (string, error)

// WithSessionIDGenerator sets the function that returns the ids of sessions. By default they are random UUIDs.
func WithSessionIDGenerator(fn SessionIDGenFunc) SSEOption {
	return func(s *SSEServer) {
		if fn == nil {
			return
		}
		s.opts.NewSessionID = func(r *http.Request) string {
			id, err := fn(r.Context(), r)
			if err != nil {
				return "" // is refused
			}
			return id
		}
	}
}

// WithSSEContextFunc sets the function that returns the context of handlers.
func WithSSEContextFunc(fn SSEContextFunc) SSEOption {
	return func(s *SSEServer) { s.contextFunc = fn }
}

// WithHTTPServer sets the server that Start uses; see [WithStreamableHTTPServer].
func WithHTTPServer(srv *http.Server) SSEOption {
	return func(s *SSEServer) { s.listener.server = srv }
}

// WithKeepAlive sets whether comments are sent on idle streams, by default every 15 seconds.
func WithKeepAlive(keepAlive bool) SSEOption {
	return func(s *SSEServer) {
		if !keepAlive {
			s.opts.KeepAlive = -1
		} else if s.opts.KeepAlive < 0 {
			s.opts.KeepAlive = 0
		}
	}
}

// WithKeepAliveInterval sets the interval of comments on idle streams.
func WithKeepAliveInterval(interval time.Duration) SSEOption {
	return func(s *SSEServer) { s.opts.KeepAlive = interval }
}

// WithSSECORS allows web pages of other origins to use the server.
func WithSSECORS(opts ...CORSOption) SSEOption {
	return func(s *SSEServer) { s.cors = newCORS(opts) }
}

// WithSSEDisableLocalhostProtection accepts requests to a loopback address with any Host header.
func WithSSEDisableLocalhostProtection(disable bool) SSEOption {
	return func(s *SSEServer) { s.opts.Hosts = anyHost(disable) }
}

// CompleteSsePath returns the path, with its prefix.
func (s *SSEServer) CompleteSsePath() string { return s.base + s.path }

// CompleteMessagePath returns the path of [WithMessageEndpoint], with its prefix.
func (s *SSEServer) CompleteMessagePath() string { return s.base + s.messagePath }

// SSEHandler returns the handler of the endpoint, which ignores the path.
func (s *SSEServer) SSEHandler() http.Handler { return http.HandlerFunc(s.serve) }

// MessageHandler returns the same handler as SSEHandler.
func (s *SSEServer) MessageHandler() http.Handler { return s.SSEHandler() }

// ServeHTTP implements [http.Handler].
func (s *SSEServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != s.CompleteSsePath() && r.URL.Path != s.CompleteMessagePath() {
		http.NotFound(w, r)
		return
	}
	s.serve(w, r)
}

func (s *SSEServer) serve(w http.ResponseWriter, r *http.Request) {
	if s.cors.handle(w, r) {
		return
	}
	if s.contextFunc != nil {
		r = r.WithContext(s.contextFunc(r.Context(), r))
	}
	s.handler().ServeHTTP(w, r)
}

// Start serves an address until Shutdown is called; then it returns [http.ErrServerClosed].
func (s *SSEServer) Start(addr string) error { return s.listener.serve(addr, s) }

// Shutdown refuses new requests, waits for those in flight until ctx ends, and ends the sessions.
func (s *SSEServer) Shutdown(ctx context.Context) error {
	return errors.Join(s.handler().Shutdown(ctx), s.listener.shutdown(ctx))
}

// NewTestServer returns a running test server, which the caller closes.
func NewTestServer(server *MCPServer, opts ...SSEOption) *httptest.Server {
	return httptest.NewServer(NewSSEServer(server, opts...))
}

func trimSlashes(path string) string { return strings.Trim(path, "/") }
