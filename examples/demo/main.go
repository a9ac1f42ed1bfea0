// Command demo serves a few tools that show the point of this module, over HTTP
// and in every revision of the protocol at one URL.
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
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
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

// patience is how long what is being handled may take once ctx has ended.
const patience = 5 * time.Second

// serve serves until ctx ends, and then ends in order.
func serve(ctx context.Context, l net.Listener) error {
	server := newServer()
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(nil))
	front := streamable.NewHTTPServer("", mux)
	failed := make(chan error, 1)
	go func() { failed <- front.Serve(l) }() // ends with the front
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(server.Shutdown(ctx), front.Shutdown(ctx))
}
