package docs

import (
	"net/http"

	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// userOf returns the user that an authentication middleware has set.
func userOf(r *http.Request) string { return r.Header.Get("X-Verified-User") }

// behindProxy returns a handler for a public host name.
func behindProxy() http.Handler {
	server := weather(nil)
	handler := streamable.NewHandler(server, &streamable.Options{
		Hosts:     []string{"mcp.example.com"},
		Origins:   []string{"https://app.example.com"},
		Principal: userOf,
	})
	return handler
}

// manyReplicas returns a handler without sessions, so that any replica can handle each request.
func manyReplicas() http.Handler {
	server := weather(nil)
	handler := streamable.NewHandler(server, &streamable.Options{Stateless: true})
	return handler
}

// oldClients adds an endpoint for clients of 2024-11-05.
func oldClients(mux *http.ServeMux, server *mcpserver.Server) {
	mux.Handle("/sse", streamable.NewLegacySSEHandler(server, nil))
}
