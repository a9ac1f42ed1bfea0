package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestClientWithViews(t *testing.T) {
	opts := new(mcpclient.Options)
	apps.Declare(&opts.Capabilities)
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer()), opts)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, apps.Check(t.Context(), c))
	f, err := mcpclient.CallTool[figures](t.Context(), c, "sales_of_month", map[string]int{"year": 2026, "month": 3})
	require.NoError(t, err)
	require.Equal(t, "Sales of March 2026", f.Title)
	require.Len(t, f.Sales, 4)
}

func TestClientWithoutViews(t *testing.T) {
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer()), nil)
	require.NoError(t, err)
	defer c.Close()
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 1)
	res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "sales", Arguments: []byte(`{"year":2026}`)})
	require.NoError(t, err)
	require.Contains(t, mcp.TextOf(res.Content), "Sales of 2026: Jan 74, Feb 77, Mar 63, ")
}
