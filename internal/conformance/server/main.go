// Command server is the server that the official conformance suite tests, with one URL
// for all revisions. The suite defines its tools, resources and prompts.
//
//	server -http=localhost:8080     # serves http://localhost:8080/mcp
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	addr := flag.String("http", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, addr string) error {
	server := newServer()
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(&streamable.Options{Polling: true}))
	listener := streamable.NewHTTPServer(addr, mux)
	go func() { // ends with ctx
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		server.Shutdown(last)
		listener.Shutdown(last)
	}()
	if err := listener.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newServer returns the server with all tools, resources and prompts of the suite.
func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "conformance", Version: "1.0.0"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Tasks:        taskOptions,
	})
	addTools(server)
	addStatelessTools(server)
	addInputTools(server)
	addInputRequiredTools(server)
	addTaskTools(server)
	addResources(server)
	addPrompts(server)
	return server
}
