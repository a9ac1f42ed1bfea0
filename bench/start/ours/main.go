// Command ours is a server with mcpwright.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mcpwright/mcp/bench/start"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func main() {
	s := mcpserver.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	if os.Args[1] == "typed" {
		addTyped(s)
	} else {
		for i := range start.Count {
			addRaw(s, i)
		}
	}
	if err := s.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func addRaw(s *mcpserver.Server, i int) {
	s.AddRawTool(&mcp.Tool{Name: start.Name(i), Description: start.Description, InputSchema: start.Schema(i)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult(start.Text), nil
		})
}

func add[A, B any](s *mcpserver.Server, i int) {
	mcpserver.AddTool(s, &mcp.Tool{Name: start.Name(i), Description: start.Description},
		func(context.Context, *mcp.ServerSession, start.Args[A, B]) (string, error) { return start.Text, nil })
}

func row[A any](s *mcpserver.Server, i int) {
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

func addTyped(s *mcpserver.Server) {
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
