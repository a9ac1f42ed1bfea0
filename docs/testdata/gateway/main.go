package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: gateway COMMAND [ARGUMENT...]")
	}
	upstream, err := mcpclient.Connect(context.Background(), mcpclient.Command(os.Args[1], os.Args[2:]...), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer upstream.Close()

	var mux peer.Mux
	mcp.HandleServer(&mux, upstream.Forward())
	gateway := connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "gateway", Version: "1.0.0"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	})
	routes := http.NewServeMux()
	routes.Handle("/mcp", streamable.NewHandler(gateway, nil))
	log.Fatal(streamable.NewHTTPServer("localhost:8080", routes).ListenAndServe())
}
