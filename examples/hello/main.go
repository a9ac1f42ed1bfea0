// Command hello is a server with one tool, on standard input and output. Another example
// starts it and calls the tool:
//
//	go run ./examples/call go run ./examples/hello
package main

import (
	"context"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

type input struct {
	Name string `json:"name" jsonschema:"the name of the person"`
}

func greet(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
	return "Hello, " + in.Name, nil
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets a person."}, greet)
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
