package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func TestUnknownMembersAreForwardedInEveryRevision(t *testing.T) {
	const vendor = `{"n":1.50,"deep":[{"x":null}]}`
	server := mcpserver.New(mcp.Implementation{Name: "upstream", Version: "1.0.0"}, nil)
	server.AddRawTool(&mcp.Tool{Name: "vendor", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res := mcp.TextResult(string(req.Arguments))
			res.Extra = req.Extra
			return res, nil
		})
	for _, up := range mcp.Revisions {
		upstream, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), &mcpclient.Options{Revision: up.Revision})
		require.NoError(t, err)
		gateway := newGateway(upstream, new(sessions))
		listener := httptest.NewServer(gateway)
		for _, down := range mcp.Revisions {
			client, err := mcpclient.Connect(t.Context(), mcpclient.URL(listener.URL), &mcpclient.Options{Revision: down.Revision})
			require.NoError(t, err)
			req := &mcp.CallToolRequest{Name: "vendor", Arguments: json.RawMessage(`{"a":1.0}`)}
			req.Extra = map[string]json.RawMessage{"x-vendor": json.RawMessage(vendor)}
			res, err := client.CallTool(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, vendor, string(res.Extra["x-vendor"]), "%v to %v", down.Revision, up.Revision)
			require.Equal(t, `{"a":1.0}`, mcp.TextOf(res.Content))
			require.NoError(t, client.Close())
		}
		require.NoError(t, gateway.Close())
		listener.Close()
		require.NoError(t, upstream.Close())
	}
}
