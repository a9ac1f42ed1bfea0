package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The frame of a request contains its revision and metadata.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name"), r.Header.Get("MCP-Protocol-Version"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"sunny"}]}}`)
	}))
	defer server.Close()

	frame := &wire.Frame{Revision: mcp.Revision20260728, Meta: []wire.Entry{
		{Name: "io.modelcontextprotocol/protocolVersion", Value: json.RawMessage(`"2026-07-28"`)},
		{Name: "io.modelcontextprotocol/clientCapabilities", Value: json.RawMessage(`{}`)},
	}}
	c := client.New(server.URL, &client.Options{
		JSONRPC: jsonrpc.Options{Frame: func(string) *wire.Frame { return frame }},
	})
	defer c.Close()

	res, err := peer.SendRequest(context.Background(), c, &mcp.CallToolRequest{Name: "weather"})
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			fmt.Println(text.Text)
		}
	}
	// Output:
	// tools/call weather 2026-07-28
	// sunny
}
