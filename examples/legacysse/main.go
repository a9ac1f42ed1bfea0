// Command legacysse serves clients of the transport of 2024-11-05, in which a
// stream of events brings all answers, beside those of any later one.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	addr := flag.String("http", "localhost:8080", "the address to serve at")
	flag.Parse()
	log.Fatal(streamable.NewHTTPServer(*addr, newHandler()).ListenAndServe())
}

type input struct {
	Name string `json:"name" jsonschema:"who is to be greeted"`
}

// newHandler has the new transport at /mcp and the old one at /sse, for one
// server.
func newHandler() http.Handler {
	server := mcpserver.New(mcp.Implementation{Name: "legacysse", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets somebody."},
		func(_ context.Context, _ *mcp.ServerSession, in input) (string, error) {
			return "Hello, " + in.Name, nil
		})
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(nil))
	mux.Handle("/sse", server.LegacySSEHandler(nil))
	return mux
}
