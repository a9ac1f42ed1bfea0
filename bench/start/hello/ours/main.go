// Command ours is a server with one tool, made with mcpwright.
package main

import (
	"context"
	"log"

	"github.com/mcpwright/mcp/bench/start"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func main() {
	s := mcpserver.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets a person."}, func(_ context.Context, _ *mcp.ServerSession, in start.HelloArgs) (string, error) {
		return "Hello, " + in.Name, nil
	})
	if err := s.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
