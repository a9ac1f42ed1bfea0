package docs

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// serveUntilInterrupted ends in order.
func serveUntilInterrupted() {
	server := weather(nil)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(nil))
	front := streamable.NewHTTPServer("localhost:8080", mux)
	go func() {
		if err := front.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-ctx.Done()

	patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(server.Shutdown(patience), front.Shutdown(patience)); err != nil {
		log.Print(err)
	}
}

// userOf stands for what an authentication middleware leaves in a request.
func userOf(r *http.Request) string { return r.Header.Get("X-Verified-User") }

// behindProxy is a handler that others reach by a public name.
func behindProxy() http.Handler {
	server := weather(nil)
	handler := server.Handler(&streamable.Options{
		Hosts:     []string{"mcp.example.com"},
		Origins:   []string{"https://app.example.com"},
		Principal: userOf,
	})
	return handler
}

// manyReplicas has no sessions, so that any replica may answer.
func manyReplicas() http.Handler {
	server := weather(nil)
	handler := server.Handler(&streamable.Options{Stateless: true})
	return handler
}

// oldClients adds an endpoint for those that know nothing newer.
func oldClients(mux *http.ServeMux, server *mcpserver.Server) {
	mux.Handle("/sse", server.LegacySSEHandler(nil))
}
