package mcptest_test

import (
	"context"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

func TestGreeter(t *testing.T) {
	type person struct {
		Name string `json:"name"`
	}
	server := mcpserver.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.ServerSession, p person) (string, error) {
		return "Hello, " + p.Name + "!", nil
	})
	mcptest.Run(t, server, func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet", Arguments: []byte(`{"name":"Ada"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if text := mcp.TextOf(res.Content); text != "Hello, Ada!" {
			t.Errorf("text = %q", text)
		}
	})
}
