// Command gateway serves another server, the upstream server, over HTTP. The upstream server
// is a command to start, or a URL:
//
//	go run ./examples/gateway [-http=localhost:8080] go run ./examples/hello
//	go run ./examples/gateway [-http=localhost:8080] http://127.0.0.1:9090/mcp
//
// The gateway translates between the revisions of its clients and of the upstream server. It
// forwards members that the protocol does not define unchanged, progress, log messages,
// subscriptions of resources, and changes of lists. Clients of 2026-07-28 get no changes from an
// upstream server of an older revision. An upstream command that ends is restarted. The gateway
// does not forward tasks, nor questions of the upstream server to the clients; docs/gateways.md
// shows how to forward questions.
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
	"github.com/mcpwright/mcp/runtime/wire"
)

func main() {
	addr := flag.String("http", "localhost:8080", "the address to listen on")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: gateway [-http=ADDRESS] URL | COMMAND [ARGUMENT...]")
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	var clients sessions
	options := &mcpclient.Options{Restarts: -1}
	clients.receive(options)
	upstream, err := mcpclient.Connect(context.Background(), endpoint(flag.Args()), options)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", newGateway(upstream, &clients))
	log.Fatal(streamable.NewHTTPServer(*addr, mux).ListenAndServe())
}

// endpoint returns the upstream server that the arguments specify.
func endpoint(args []string) mcpclient.Endpoint {
	if strings.Contains(args[0], "://") {
		return mcpclient.URL(args[0])
	}
	command := mcpclient.Command(args[0], args[1:]...)
	command.Start.Stderr = os.Stderr
	return command
}

// newGateway returns a handler that forwards each request to the upstream server, and adds its
// sessions to clients. This takes little code, because a [mcp.ServerPeer] has the methods that
// mcp.HandleServer requires.
func newGateway(upstream *mcpclient.Client, clients *sessions) *streamable.Handler {
	var mux peer.Mux
	mcp.HandleServer(&mux, forward{upstream.Forward(), upstream})
	info := mcp.Implementation{Name: "gateway", Version: "1.0.0"}
	if upstream.ServerInfo() != nil {
		info = *upstream.ServerInfo()
	}
	capabilities := *upstream.ServerCapabilities()
	capabilities.Tasks = nil
	kernel := connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         info,
		Instructions: upstream.Instructions(),
		Capabilities: capabilities,
		Announce:     func(result wire.Value) { hideChanges(result, upstream.NoHandshake()) },
		OnInitialized: func(_ context.Context, conn *connection.Connection) {
			clients.add(conn)
			conn.OnClose(func(context.Context) error { clients.remove(conn); return nil })
		},
	})
	return streamable.NewHandler(kernel, nil)
}
