package streamable_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// weather returns the dispatcher of a server with one tool.
func weather() *connection.Dispatcher {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		who := mcp.SessionFromContext(ctx).Transport().Principal()
		return mcp.TextResult(strings.TrimSpace("sunny " + who)), nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "weather", Version: "1.0"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	})
}

// A request of revision 2026-07-28 needs no session.
func ExampleHandler() {
	handler := streamable.NewHandler(weather(), nil)
	defer handler.Close()
	server := httptest.NewServer(handler)
	defer server.Close()

	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"forecast","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, _ := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", "forecast")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	answer, _ := bufio.NewReader(res.Body).ReadString(',')
	fmt.Println(res.Status, res.Header.Get("Content-Type"), answer)
	// Output: 200 OK application/json {"jsonrpc":"2.0",
}

// A middleware in front of the handler verifies callers. Handlers get the name of the
// caller, and sessions can be used only by the caller that began them.
func ExampleOptions_principal() {
	type userKey struct{}
	verify := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, _, ok := r.BasicAuth() // a real server verifies the password
			if !ok {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
		})
	}
	handler := streamable.NewHandler(weather(), &streamable.Options{
		Hosts:   []string{"mcp.example.com"},
		Origins: []string{"https://app.example.com"},
		Principal: func(r *http.Request) string {
			user, _ := r.Context().Value(userKey{}).(string)
			return user
		},
	})
	defer handler.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", verify(handler))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://mcp.example.com/mcp", nil))
	fmt.Println(w.Code)
	// Output: 401
}

// Clients of the revision 2024-11-05 need an endpoint of their own.
func ExampleLegacySSEHandler() {
	dispatcher := weather()
	handler, legacy := streamable.NewHandler(dispatcher, nil), streamable.NewLegacySSEHandler(dispatcher, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.Handle("/sse", legacy)
	server := httptest.NewServer(mux)
	defer server.Close()
	defer handler.Close()
	defer legacy.Close()

	res, err := http.Get(server.URL + "/sse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	event, _ := bufio.NewReader(res.Body).ReadString('\n')
	fmt.Print(res.Header.Get("Content-Type"), ", ", event)
	// Output: text/event-stream, event: endpoint
}
