//go:build !race

package mcpotel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TestCallsAllocateNothingWithoutSDK compares whole calls with and without instrumentation.
func TestCallsAllocateNothingWithoutSDK(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		allocations := func(client *mcpclient.Options, server *mcpserver.Options) float64 {
			client.Revision = r
			c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer(server)), client)
			require.NoError(t, err)
			defer c.Close()
			req := &mcp.CallToolRequest{Name: "forecast", Arguments: []byte(`{"city":"Bern"}`)}
			return testing.AllocsPerRun(1000, func() {
				if _, err := c.CallTool(t.Context(), req); err != nil {
					t.Fatal(err)
				}
			})
		}
		plain := allocations(&mcpclient.Options{}, &mcpserver.Options{})
		with := allocations(mcpotel.InstrumentClient(nil, nil), mcpotel.InstrumentServer(nil, nil))
		require.LessOrEqual(t, with, plain, r)
	}
}
