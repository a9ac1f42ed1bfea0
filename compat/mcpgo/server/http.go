package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// The names of HTTP headers.
const (
	HeaderKeySessionID       = "Mcp-Session-Id"
	HeaderKeyProtocolVersion = "Mcp-Protocol-Version"
)

// HTTPContextFunc returns the context of the handlers of a request.
type HTTPContextFunc func(ctx context.Context, r *http.Request) context.Context

// StreamableHTTPServer serves clients over Streamable HTTP. It is an [http.Handler] that ignores the
// path, and can also listen itself; see Start.
type StreamableHTTPServer struct {
	server      *MCPServer
	opts        streamable.Options
	path        string
	contextFunc HTTPContextFunc
	cors        *CORSConfig
	listener    listener
	noStreams   bool
	ids         SessionIdManagerResolver   // or nil
	handler     func() *streamable.Handler // made when it is first used, after all options
}

// StreamableHTTPOption configures a [StreamableHTTPServer].
type StreamableHTTPOption func(*StreamableHTTPServer)

// NewStreamableHTTPServer returns a server for Streamable HTTP. Comments are sent on idle streams
// every 15 seconds unless [WithHeartbeatInterval] is used, and sessions end after 30 minutes without
// use unless [WithSessionIdleTTL] is used.
func NewStreamableHTTPServer(server *MCPServer, opts ...StreamableHTTPOption) *StreamableHTTPServer {
	s := &StreamableHTTPServer{server: server, path: "/mcp"}
	for _, opt := range opts {
		opt(s)
	}
	if s.cors != nil {
		s.opts.Origins = s.cors.AllowedOrigins
	}
	s.opts.NewSessionID = func(*http.Request) string { return idPrefix + newID() }
	if s.ids != nil {
		s.opts.NewSessionID = func(r *http.Request) string { return s.ids.ResolveSessionIdManager(r).Generate() }
		s.opts.MayDelete = s.mayDelete
	}
	s.handler = sync.OnceValue(func() *streamable.Handler { return streamable.NewHandler(server.kit, &s.opts) })
	return s
}

// WithEndpointPath sets the path that Start serves. The default is "/mcp".
func WithEndpointPath(endpointPath string) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.path = "/" + trimSlashes(endpointPath) }
}

// WithStateLess disables sessions.
func WithStateLess(stateLess bool) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.opts.Stateless, s.ids = stateLess, nil }
}

// WithStateful is the opposite of [WithStateLess]. Sessions that this server did not begin, or that have
// ended, are always refused.
func WithStateful(stateful bool) StreamableHTTPOption { return WithStateLess(!stateful) }

// WithHTTPContextFunc sets the function that returns the context of handlers.
func WithHTTPContextFunc(fn HTTPContextFunc) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.contextFunc = fn }
}

// WithHeartbeatInterval sets the interval of comments on idle streams.
func WithHeartbeatInterval(interval time.Duration) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.opts.KeepAlive = interval }
}

// WithSessionIdleTTL sets after which time without use a session ends.
func WithSessionIdleTTL(ttl time.Duration) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.opts.SessionIdleTimeout = ttl }
}

// WithDisableStreaming refuses GET requests, so that clients get no messages outside of requests.
func WithDisableStreaming(disable bool) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.noStreams = disable }
}

// WithDisableLocalhostProtection accepts requests to a loopback address with any Host header.
func WithDisableLocalhostProtection(disable bool) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.opts.Hosts = anyHost(disable) }
}

func anyHost(allowed bool) []string {
	if allowed {
		return []string{"*"}
	}
	return nil
}

// WithStreamableHTTPLogger sets the logger of errors that no caller gets.
func WithStreamableHTTPLogger(logger *slog.Logger) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.opts.Logger = logger }
}

// WithStreamableHTTPServer sets the server that Start uses. If it has a Handler, this handler must
// route requests to the [StreamableHTTPServer]. Without one, mcp-go serves nothing; here Start
// serves the endpoint.
func WithStreamableHTTPServer(srv *http.Server) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.listener.server = srv }
}

// WithTLSCert makes Start serve HTTPS.
func WithTLSCert(certFile, keyFile string) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.listener.cert, s.listener.key = certFile, keyFile }
}

// WithStreamableHTTPCORS allows web pages of other origins to use the server.
func WithStreamableHTTPCORS(opts ...CORSOption) StreamableHTTPOption {
	return func(s *StreamableHTTPServer) { s.cors = newCORS(opts) }
}

// ServeHTTP implements [http.Handler].
func (s *StreamableHTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.cors.handle(w, r) {
		return
	}
	if s.opts.Stateless && r.Method == http.MethodDelete {
		return // as in mcp-go, there is no session and that is no error
	}
	if s.noStreams && r.Method == http.MethodGet {
		http.Error(w, "streams are disabled", http.StatusMethodNotAllowed)
		return
	}
	if s.ids != nil && r.Method == http.MethodDelete {
		r = r.WithContext(context.WithValue(r.Context(), terminatedKey{}, true)) // otherwise the session does not end
	} else if s.ids != nil {
		ids := s.ids.ResolveSessionIdManager(r)
		if text := validateSession(ids, r); text != "" {
			http.Error(w, text, http.StatusNotFound)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), managerKey{}, ids))
	}
	if s.contextFunc != nil {
		r = r.WithContext(s.contextFunc(r.Context(), r))
	}
	s.handler().ServeHTTP(w, r)
}

// Start serves an address until Shutdown is called; then it returns [http.ErrServerClosed].
func (s *StreamableHTTPServer) Start(addr string) error {
	mux := http.NewServeMux()
	mux.Handle(s.path, s)
	return s.listener.serve(addr, mux)
}

// Shutdown refuses new requests, waits for those in flight until ctx ends, and ends the sessions.
func (s *StreamableHTTPServer) Shutdown(ctx context.Context) error {
	return errors.Join(s.handler().Shutdown(ctx), s.listener.shutdown(ctx))
}

// NewTestStreamableHTTPServer returns a running test server, which the caller closes.
func NewTestStreamableHTTPServer(server *MCPServer, opts ...StreamableHTTPOption) *httptest.Server {
	return httptest.NewServer(NewStreamableHTTPServer(server, opts...))
}

// listener is the HTTP server of Start.
type listener struct {
	cert, key string

	mu     sync.Mutex
	server *http.Server // nil until it is needed, unless an option has set it
}

func (l *listener) serve(addr string, handler http.Handler) error {
	l.mu.Lock()
	if l.server == nil {
		l.server = streamable.NewHTTPServer(addr, handler)
	}
	srv := l.server
	if srv.Addr == "" {
		srv.Addr = addr
	}
	if srv.Handler == nil {
		srv.Handler = handler
	}
	l.mu.Unlock()
	if l.cert != "" || l.key != "" {
		return srv.ListenAndServeTLS(l.cert, l.key)
	}
	return srv.ListenAndServe()
}

func (l *listener) shutdown(ctx context.Context) error {
	l.mu.Lock()
	srv := l.server
	l.mu.Unlock()
	if srv == nil {
		return nil
	}
	return srv.Shutdown(ctx)
}
