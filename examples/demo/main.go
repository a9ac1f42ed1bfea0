// Command demo serves four tools over HTTP, at one URL for every revision of the protocol. The
// tools return a text, ask the user, ask the user's model, and report progress. Demo prints
// commands that call them:
//
//	go run ./examples/demo [-addr=127.0.0.1:8080]
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	banner(os.Stdout, "http://"+l.Addr().String()+"/mcp")
	if err := serve(ctx, l); err != nil {
		log.Fatal(err)
	}
}

// shutdownTimeout limits the time that requests may take after ctx ends.
const shutdownTimeout = 5 * time.Second

// serve serves until ctx ends. Then it waits for the requests in progress.
func serve(ctx context.Context, l net.Listener) error {
	server := newServer()
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable.NewHandler(server, nil))
	httpServer := streamable.NewHTTPServer("", mux)
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(l) }() // returns when httpServer is shut down
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), httpServer.Shutdown(ctx))
}
