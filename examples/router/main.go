// Command router serves an MCP server as one route of an HTTP program, and authenticates
// its users with bearer tokens. The tokens are in main:
//
//	go run ./examples/router [-http=localhost:8080] [-url=http://localhost:8080/mcp]
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
	addr := flag.String("http", "localhost:8080", "the address to listen on")
	url := flag.String("url", "http://localhost:8080/mcp", "the URL that clients use for the server")
	flag.Parse()
	router, err := newRouter(*url, map[string]string{"ada": "secret-token-of-ada", "bob": "secret-token-of-bob"})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(streamable.NewHTTPServer(*addr, router).ListenAndServe())
}

// newRouter returns the routes of the program. The keys of tokens are the users.
func newRouter(resource string, tokens map[string]string) (http.Handler, error) {
	guard, err := auth.NewGuard(&auth.GuardOptions{
		Resource:             resource,
		AuthorizationServers: []string{issuer}, // required, but not used with fixed tokens
		Verify:               fixedTokens(resource, tokens),
		AllowNoExpiry:        true,
	})
	if err != nil {
		return nil, err
	}
	server := mcpserver.New(mcp.Implementation{Name: "router", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "whoami", Description: "Returns the name of the authenticated user."},
		func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
			return auth.CallerFromContext(ctx).Subject, nil
		})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(streamable.NewHandler(server, nil)))
	return mux, nil
}

const issuer = "https://login.example.com"

// fixedTokens returns a verifier that accepts the given tokens. It compares them in constant
// time, so that response times do not reveal a token.
func fixedTokens(resource string, tokens map[string]string) auth.Verifier {
	return func(_ context.Context, received string) (*auth.Caller, error) {
		for user, token := range tokens {
			if subtle.ConstantTimeCompare([]byte(received), []byte(token)) == 1 {
				return &auth.Caller{Subject: user, Issuer: issuer, Audience: []string{resource}}, nil
			}
		}
		return nil, auth.ErrInvalidToken
	}
}
