package mcpclient_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/wire"
)

// BenchmarkCallTool measures calls from end to end. The handler does nothing.
func BenchmarkCallTool(b *testing.B) {
	answer := mcp.TextResult("hello")
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		s := newServer()
		mcp.HandleCallTool(&s.mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer, nil
		})
		for way, to := range s.ways(b) {
			b.Run(r.String()+" "+way, func(b *testing.B) {
				c := connect(b, to, &mcpclient.Options{Revision: r})
				req := &mcp.CallToolRequest{Name: "greet", Arguments: json.RawMessage(`{"name":"Go"}`)}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.CallTool(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
