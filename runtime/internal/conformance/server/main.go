// Command server is what the official conformance suite drives: one process and
// one URL for every revision. Names and shapes of what it serves are the suite's.
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
	addr := flag.String("http", "localhost:8080", "the address to serve at")
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

// newServer returns the server with everything that the suite asks for.
func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "conformance", Version: "1.0.0"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Tasks:        taskOptions,
	})
	addTools(server)
	addAsking(server)
	addStateless(server)
	addRounds(server)
	addLasting(server)
	addResources(server)
	addPrompts(server)
	return server
}

// none is the arguments of a tool that has none.
type none struct{}

// tool registers a tool.
func tool[In, Out any](s *mcpserver.Server, name, description string, h func(context.Context, *mcp.ServerSession, In) (Out, error)) {
	mcpserver.AddTool(s, &mcp.Tool{Name: name, Description: description}, h)
}

// wait waits, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
