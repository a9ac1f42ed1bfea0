// Command router serves an MCP server, in every revision, as one of the routes of
// an HTTP program, behind the middleware that knows its users.
package main

import (
	"context"
	"crypto/subtle"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	addr := flag.String("http", "localhost:8080", "the address to serve at")
	flag.Parse()
	tokens := map[string]string{"ada": "a-token-of-ada", "bob": "a-token-of-bob"}
	log.Fatal(streamable.NewServer(*addr, newRouter(tokens)).ListenAndServe())
}

// newRouter returns the routes of the program. Users have one token each.
func newRouter(tokens map[string]string) http.Handler {
	server := mcpserver.New(mcp.Implementation{Name: "router", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "whoami", Description: "Tells whom the server takes its caller for."},
		func(_ context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
			return s.Transport().Principal(), nil
		})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "well") })
	mux.Handle("/mcp", authenticate(tokens, server.Handler(&streamable.Options{Principal: userOf})))
	return mux
}

type userKey struct{}

// userOf is the principal: sessions, questions and limits are kept apart by it.
func userOf(r *http.Request) string {
	user, _ := r.Context().Value(userKey{}).(string)
	return user
}

// authenticate lets only users pass, and tells what is behind it who they are.
func authenticate(tokens map[string]string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		for user, token := range tokens {
			if subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1 {
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, user)))
				return
			}
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
}
