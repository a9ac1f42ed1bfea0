package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

type city struct {
	City string `json:"city" jsonschema:"the name of the city"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "forecast"}, func(_ context.Context, _ *mcp.ServerSession, in city) (string, error) {
		return "sunny in " + in.City, nil
	})

	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(server, nil))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	httpServer := streamable.NewHTTPServer("localhost:8080", mux)
	go func() {
		if err := httpServer.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-ctx.Done()

	// Shut down the MCP server first: its streams end, and httpServer does not wait for them.
	timeout, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(server.Shutdown(timeout), httpServer.Shutdown(timeout)); err != nil {
		log.Print(err)
	}
}
