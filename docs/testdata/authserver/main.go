package main

import (
	"context"
	"log"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func main() {
	const resource, issuer = "https://mcp.example.com/mcp", "https://login.example.com"
	verify, err := auth.JWT(&auth.JWTOptions{Issuer: issuer})
	if err != nil {
		log.Fatal(err)
	}
	guard, err := auth.NewGuard(&auth.GuardOptions{
		Resource:             resource,
		AuthorizationServers: []string{issuer},
		Verify:               verify,
		Scopes:               []string{"mcp:use"},
		ScopesSupported:      []string{"files:read", "files:write"},
	})
	if err != nil {
		log.Fatal(err)
	}

	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "whoami"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return auth.CallerFromContext(ctx).Subject, nil
	})

	mux := http.NewServeMux()
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(streamable.NewHandler(server, &streamable.Options{
		Hosts: []string{"mcp.example.com"}, // the name in the Host header that the proxy passes on
	})))
	log.Fatal(streamable.NewHTTPServer("localhost:8080", mux).ListenAndServe())
}
