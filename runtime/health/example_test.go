package health_test

import (
	"context"
	"log"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/health"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// A server for a balancer, with pages for its operators at another address.
func Example() {
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1"}, nil)
	database := func(ctx context.Context) error { return nil } // such as sql.DB.PingContext

	public := http.NewServeMux()
	public.Handle("/mcp", streamable.NewHandler(server, nil))
	public.Handle("/livez", health.Live())
	public.Handle("/readyz", health.Ready(server, database))
	go streamable.NewHTTPServer(":8080", public).ListenAndServe() // ends with the program

	operators := http.NewServeMux()
	operators.Handle("/metrics", health.Metrics(server))
	operators.Handle("/sessions", health.Sessions(server))
	log.Fatal(http.ListenAndServe("127.0.0.1:9090", operators))
}
