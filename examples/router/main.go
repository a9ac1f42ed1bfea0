// Command router serves an MCP server, in every revision, as one of the routes of
// an HTTP program, behind a guard that knows its users.
package main

import (
	"context"
	"crypto/subtle"
	"flag"
	"fmt"
	"log"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	addr := flag.String("http", "localhost:8080", "the address to serve at")
	url := flag.String("url", "http://localhost:8080/mcp", "the URL by which clients know the server")
	flag.Parse()
	router, err := newRouter(*url, map[string]string{"ada": "a-token-of-ada", "bob": "a-token-of-bob"})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(streamable.NewHTTPServer(*addr, router).ListenAndServe())
}

// newRouter returns the routes of the program. Users have one token each.
func newRouter(resource string, tokens map[string]string) (http.Handler, error) {
	guard, err := auth.NewGuard(&auth.GuardOptions{
		Resource:             resource,
		AuthorizationServers: []string{issuer}, // which nobody asks: the tokens are known
		Verify:               knownTokens(resource, tokens),
		AllowNoExpiry:        true,
	})
	if err != nil {
		return nil, err
	}
	server := mcpserver.New(mcp.Implementation{Name: "router", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "whoami", Description: "Tells whom the server takes its caller for."},
		func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
			return auth.CallerFromContext(ctx).Subject, nil
		})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "well") })
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(server.Handler(nil)))
	return mux, nil
}

const issuer = "https://login.example.com"

// knownTokens verifies tokens that are for this server because it has made them.
func knownTokens(resource string, tokens map[string]string) auth.Verifier {
	return func(_ context.Context, given string) (*auth.Caller, error) {
		for user, token := range tokens {
			if subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1 {
				return &auth.Caller{Subject: user, Issuer: issuer, Audience: []string{resource}}, nil
			}
		}
		return nil, auth.ErrInvalidToken
	}
}
