// Command mcpgo is a server with one tool, made with mcp-go.
package main

import (
	"context"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpwright/mcp/bench/start"
)

func main() {
	s := server.NewMCPServer("bench", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("greet", mcp.WithDescription("Greets a person."), mcp.WithInputSchema[start.HelloArgs]()),
		mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in start.HelloArgs) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Hello, " + in.Name), nil
		}))
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
