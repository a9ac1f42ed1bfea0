// Command gateway serves another server, a URL or a command, over HTTP:
//
//	go run ./examples/gateway [-http=localhost:8080] go run ./examples/hello
//
// What goes through is read and written again, for each side in its revision;
// members that the protocol does not know pass untouched. Clients hear of changes
// by subscriptions, where both sides have those. A command that ends is started
// again. Questions of the server upstream are not handed on: it is told that its
// client cannot be asked; docs/gateways.md shows what hands them on.
package main

import (
	"context"
	"flag"
	"fmt"
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
	addr := flag.String("http", "localhost:8080", "the address to serve at")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: gateway [-http=ADDRESS] URL | COMMAND [ARGUMENT...]")
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	upstream, err := mcpclient.Connect(context.Background(), endpoint(flag.Args()), &mcpclient.Options{Restarts: -1})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", newGateway(upstream))
	log.Fatal(streamable.NewHTTPServer(*addr, mux).ListenAndServe())
}

func endpoint(args []string) mcpclient.Endpoint {
	if strings.Contains(args[0], "://") {
		return mcpclient.URL(args[0])
	}
	command := mcpclient.Command(args[0], args[1:]...)
	command.Start.Stderr = os.Stderr
	return command
}

// newGateway hands every request on: a client's view of a server is a handler.
func newGateway(upstream *mcpclient.Client) *streamable.Handler {
	var mux peer.Mux
	mcp.HandleServer(&mux, forward{upstream.Forward(), upstream})
	capabilities := *upstream.ServerCapabilities()
	if !upstream.NoHandshake() {
		capabilities = withoutChanges(capabilities)
	}
	kernel := connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "gateway", Version: "1.0.0"},
		Capabilities: capabilities,
		Announce:     quiet,
	})
	return streamable.NewHandler(kernel, nil)
}
