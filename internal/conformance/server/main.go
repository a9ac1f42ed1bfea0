// Command server is the server that the official conformance suite tests, with one URL
// for all revisions. The suite defines its tools, resources and prompts.
//
//	server -http=localhost:8080     # serves http://localhost:8080/mcp
//
// With -replicas=3, three replicas share sessions, and each request goes to the next one.
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

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	addr := flag.String("http", "localhost:8080", "address to listen on")
	replicas := flag.Int("replicas", 1, "number of replicas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *replicas); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, addr string, replicas int) error {
	handler, shutdown, err := newHandler(replicas)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	listener := streamable.NewHTTPServer(addr, mux)
	go func() { // ends with ctx
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		shutdown(last)
		listener.Shutdown(last)
	}()
	if err := listener.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler returns the handler of the server or of a balancer before its replicas, and a function that
// ends it.
func newHandler(n int) (http.Handler, func(context.Context), error) {
	if n > 1 {
		return newReplicas(n)
	}
	server := newServer(taskOptions, new(replicas))
	end := func(ctx context.Context) { server.Shutdown(ctx) }
	return streamable.NewHandler(server, &streamable.Options{Polling: true}), end, nil
}

// newServer returns the server with all tools, resources and prompts of the suite.
func newServer(long *tasks.Options, all *replicas) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "conformance", Version: "1.0.0"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Tasks:        long,
	})
	addTools(server)
	all.add(server)
	addStatelessTools(server, all)
	addInputTools(server)
	addInputRequiredTools(server)
	addTaskTools(server)
	addResources(server)
	addPrompts(server)
	addSkills(server)
	return server
}
