// Command mcpgo is a server with mcp-go.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcpwright/mcp/bench/start"
)

func main() {
	s := server.NewMCPServer("bench", "1", server.WithToolCapabilities(true))
	if os.Args[1] == "typed" {
		addTyped(s)
	} else {
		for i := range start.Count {
			addRaw(s, i)
		}
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}

func addRaw(s *server.MCPServer, i int) {
	s.AddTool(mcp.NewToolWithRawSchema(start.Name(i), start.Description, start.Schema(i)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(start.Text), nil
		})
}

func add[A, B any](s *server.MCPServer, i int) {
	s.AddTool(mcp.NewTool(start.Name(i), mcp.WithDescription(start.Description), mcp.WithInputSchema[start.Args[A, B]]()),
		mcp.NewTypedToolHandler(func(context.Context, mcp.CallToolRequest, start.Args[A, B]) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(start.Text), nil
		}))
}

func row[A any](s *server.MCPServer, i int) {
	add[A, start.N0](s, i)
	add[A, start.N1](s, i+1)
	add[A, start.N2](s, i+2)
	add[A, start.N3](s, i+3)
	add[A, start.N4](s, i+4)
	add[A, start.N5](s, i+5)
	add[A, start.N6](s, i+6)
	add[A, start.N7](s, i+7)
	add[A, start.N8](s, i+8)
	add[A, start.N9](s, i+9)
}

func addTyped(s *server.MCPServer) {
	row[start.N0](s, 0)
	row[start.N1](s, 10)
	row[start.N2](s, 20)
	row[start.N3](s, 30)
	row[start.N4](s, 40)
	row[start.N5](s, 50)
	row[start.N6](s, 60)
	row[start.N7](s, 70)
	row[start.N8](s, 80)
	row[start.N9](s, 90)
}
