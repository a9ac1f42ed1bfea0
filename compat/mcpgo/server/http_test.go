package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

type userKey struct{}

func user(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, _ := ctx.Value(userKey{}).(string)
	return mcp.NewToolResultText(name + " " + req.Header.Get("User")), nil
}

func withUser(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, userKey{}, "user of "+r.Method)
}

func TestHTTPContext(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	s.AddTool(mcp.NewTool("user"), user)
	streams := server.NewTestStreamableHTTPServer(s, server.WithHTTPContextFunc(withUser))
	t.Cleanup(streams.Close)
	sse := server.NewTestServer(s, server.WithSSEContextFunc(withUser), server.WithStaticBasePath("/base/"), server.WithSSEEndpoint("events"))
	t.Cleanup(func() { sse.CloseClientConnections(); sse.Close() })
	at := mcpclient.URL(streams.URL)
	at.HTTP.Header = http.Header{"User": {"me"}}
	c := connect(t, at, mcpclient.Options{Revision: kit.Revision20251125})
	equal(t, call(t, c, "user", "{}"), "user of POST me")
	c = connect(t, mcpclient.LegacySSE(sse.URL+"/base/events", nil), mcpclient.Options{})
	equal(t, call(t, c, "user", "{}"), "user of POST ")
}

func TestHTTPStart(t *testing.T) {
	for _, path := range []string{"/mcp", "/other"} {
		s := server.NewMCPServer("test", "1.0.0")
		s.AddTool(mcp.NewTool("user"), user)
		address, done := make(chan string, 1), make(chan error, 1)
		own := &http.Server{BaseContext: func(l net.Listener) context.Context {
			address <- l.Addr().String()
			return context.Background()
		}}
		h := server.NewStreamableHTTPServer(s, server.WithEndpointPath(path), server.WithStreamableHTTPServer(own),
			server.WithHeartbeatInterval(time.Minute), server.WithSessionIdleTTL(time.Hour))
		go func() { done <- h.Start("127.0.0.1:0") }() // ends with Shutdown
		var at string
		select {
		case at = <-address:
		case err := <-done:
			t.Fatal(err)
		}
		c := connect(t, mcpclient.URL("http://"+at+path), mcpclient.Options{})
		equal(t, call(t, c, "user", "{}"), " ")
		check(t, c.Close())
		check(t, h.Shutdown(t.Context()))
		equal(t, errors.Is(<-done, http.ErrServerClosed), true)
	}
}

// request returns the response to a request with headers, given as pairs.
func request(h http.Handler, method string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "/mcp", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestHTTPRequests(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	h := server.NewStreamableHTTPServer(s, server.WithDisableStreaming(true), server.WithStreamableHTTPCORS(
		server.WithCORSAllowedOrigins("https://a.example"), server.WithCORSAllowCredentials(), server.WithCORSMaxAge(60)))
	preflight := request(h, http.MethodOptions, "Origin", "https://a.example", "Access-Control-Request-Method", "POST")
	equal(t, preflight.StatusCode, http.StatusNoContent)
	equal(t, preflight.Header.Get("Access-Control-Allow-Origin"), "https://a.example")
	equal(t, preflight.Header.Get("Access-Control-Allow-Credentials"), "true")
	equal(t, preflight.Header.Get("Access-Control-Max-Age"), "60")
	equal(t, strings.Contains(preflight.Header.Get("Access-Control-Allow-Headers"), server.HeaderKeySessionID), true)
	equal(t, request(h, http.MethodOptions, "Origin", "https://b.example", "Access-Control-Request-Method", "POST").Header.Get("Access-Control-Allow-Origin"), "")
	get := request(h, http.MethodGet, "Origin", "https://a.example", "Accept", "text/event-stream")
	equal(t, get.StatusCode, http.StatusMethodNotAllowed)
	equal(t, get.Header.Get("Access-Control-Expose-Headers"), server.HeaderKeySessionID)

	any := server.NewSSEServer(s, server.WithSSECORS(server.WithCORSAllowedOrigins("*")))
	equal(t, request(any, http.MethodPost, "Origin", "https://a.example").StatusCode, http.StatusNotFound)
	equal(t, request(any.SSEHandler(), http.MethodPost, "Origin", "https://a.example").Header.Get("Access-Control-Allow-Origin"), "*")
	equal(t, request(server.NewStreamableHTTPServer(s, server.WithStateLess(true)), http.MethodDelete).StatusCode, http.StatusOK)
	none := server.NewStreamableHTTPServer(s)
	equal(t, request(none, http.MethodPost, "Origin", "https://a.example").StatusCode, http.StatusForbidden)
}

func TestStdio(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	s.AddTool(mcp.NewTool("user"), user)
	s.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("it panicked") })
	var logged bytes.Buffer
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(&logged, "", 0))
	stdio.SetContextFunc(func(ctx context.Context) context.Context { return context.WithValue(ctx, userKey{}, "stdio") })
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- stdio.Listen(t.Context(), serverIn, serverOut) }() // ends when the client closes
	c := connect(t, mcpclient.Streams(clientIn, clientOut), mcpclient.Options{Revision: kit.Revision20251125})
	equal(t, call(t, c, "user", "{}"), "stdio ")
	call(t, c, "panic", "{}")
	check(t, c.Close())
	check(t, <-done)
	equal(t, strings.Contains(logged.String(), "it panicked"), true)
}

// Programs register the two handlers at their own mux, which refuses to have one pattern twice.
func TestPathsOfSSEServer(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	s.AddTool(mcp.NewTool("echo"), echo)
	sse := server.NewSSEServer(s, server.WithBasePath("/base"), server.WithMessageEndpoint("/messages/"), server.WithKeepAlive(true),
		server.WithUseFullURLForMessageEndpoint(false))
	equal(t, sse.CompleteMessagePath(), "/base/messages")
	mux := http.NewServeMux()
	mux.Handle(sse.CompleteSsePath(), sse.SSEHandler())
	mux.Handle(sse.CompleteMessagePath(), sse.MessageHandler())
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	c := connect(t, mcpclient.LegacySSE(srv.URL+"/base/sse", nil), mcpclient.Options{})
	equal(t, toolNames(t, c), "echo")

	tenants := server.NewSSEServer(s, server.WithKeepAlive(false), server.WithDynamicBasePath(func(r *http.Request, _ string) string {
		return "/of/" + r.PathValue("tenant")
	}))
	mux.Handle("/of/{tenant}/sse", tenants.SSEHandler())
	mux.Handle("/of/{tenant}/message", tenants.MessageHandler())
	c = connect(t, mcpclient.LegacySSE(srv.URL+"/of/me/sse", nil), mcpclient.Options{})
	equal(t, toolNames(t, c), "echo")
}
