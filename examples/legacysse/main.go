// Command legacysse serves the HTTP+SSE transport of revision 2024-11-05, which later
// revisions replaced, and the current HTTP transport. The old transport is at /sse, the
// current one at /mcp:
//
//	go run ./examples/legacysse [-http=localhost:8080]
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
	addr := flag.String("http", "localhost:8080", "the address to listen on")
	flag.Parse()
	log.Fatal(streamable.NewHTTPServer(*addr, newHandler()).ListenAndServe())
}

type input struct {
	Name string `json:"name" jsonschema:"the name of the person"`
}

// newHandler returns a handler with both transports of one server.
func newHandler() http.Handler {
	server := mcpserver.New(mcp.Implementation{Name: "legacysse", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets a person."},
		func(_ context.Context, _ *mcp.ServerSession, in input) (string, error) {
			return "Hello, " + in.Name, nil
		})
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(server, nil))
	mux.Handle("/sse", streamable.NewLegacySSEHandler(server, nil))
	return mux
}
