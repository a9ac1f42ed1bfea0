package main

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// userOf returns the user that the proxy has authenticated. The proxy removes this header from the
// requests of clients.
func userOf(r *http.Request) string { return r.Header.Get("X-Verified-User") }

// filter hides the tool "restart" from all users but the administrator.
func filter(_ context.Context, s *mcp.ServerSession, item mcpserver.Item) bool {
	return item.Name != "restart" || s.Transport().Principal() == "admin"
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "machine", Version: "1.0.0"}, &mcpserver.Options{Filter: filter})
	mcpserver.AddTool(server, &mcp.Tool{Name: "restart"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "restarted", nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(server, &streamable.Options{
		Hosts:              []string{"mcp.example.com"},
		Principal:          userOf,
		MaxSessions:        500,
		SessionIdleTimeout: 5 * time.Minute,
	}))
	log.Fatal(streamable.NewHTTPServer("localhost:8080", mux).ListenAndServe())
}
