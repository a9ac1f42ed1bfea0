package weather

import (
	"context"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

type city struct {
	City string `json:"city" jsonschema:"the name of the city"`
}

func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "forecast"}, func(_ context.Context, _ *mcp.ServerSession, in city) (string, error) {
		return "sunny in " + in.City, nil
	})
	return server
}

// TestForecast calls the tool in this process, without a port.
func TestForecast(t *testing.T) {
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "forecast", city{"Bern"})
	if err != nil || text != "sunny in Bern" {
		t.Errorf("forecast = %q, %v", text, err)
	}
}

// TestMessages calls the tool in each revision, and validates every message by the revision's schema.
func TestMessages(t *testing.T) {
	mcptest.Run(t, newServer(), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "forecast", Arguments: []byte(`{"city":"Bern"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if text := mcp.TextOf(res.Content); text != "sunny in Bern" {
			t.Errorf("forecast = %q", text)
		}
	})
}
