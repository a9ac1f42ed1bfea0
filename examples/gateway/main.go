// Command gateway serves another server, a URL or a command, over HTTP:
//
//	go run ./examples/gateway go run ./examples/hello
//
// What goes through is read and written again, for each side in its revision;
// members that the protocol does not know pass untouched.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: gateway URL | COMMAND [ARGUMENT...]")
	}
	upstream, err := mcpclient.Connect(context.Background(), endpoint(os.Args[1:]), nil)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", newGateway(upstream))
	log.Fatal(streamable.NewServer("127.0.0.1:8080", mux).ListenAndServe())
}

func endpoint(args []string) mcpclient.Endpoint {
	if strings.Contains(args[0], "://") {
		return mcpclient.URL(args[0])
	}
	return mcpclient.Command(args[0], args[1:]...)
}

// newGateway hands every request on: a client's view of a server is a handler.
func newGateway(upstream *mcpclient.Client) *streamable.Handler {
	var mux peer.Mux
	mcp.HandleServer(&mux, upstream.Forward())
	kernel := connection.NewKernel(&connection.KernelOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "gateway", Version: "1.0.0"},
		Capabilities: *upstream.ServerCapabilities(),
	})
	return streamable.NewHandler(kernel, nil)
}
