package main

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestBothTransports(t *testing.T) {
	listener := httptest.NewServer(newHandler())
	defer listener.Close()
	for revision, to := range map[string]mcpclient.Endpoint{
		"2024-11-05": mcpclient.LegacySSE(listener.URL+"/sse", nil),
		"2026-07-28": mcpclient.URL(listener.URL + "/mcp"),
	} {
		opts := &mcpclient.Options{}
		if revision == "2024-11-05" {
			opts.Mode = mcpclient.Handshake
		}
		client, err := mcpclient.Connect(t.Context(), to, opts)
		require.NoError(t, err)
		text, err := mcpclient.CallTool[string](t.Context(), client, "greet", input{"Ada"})
		require.NoError(t, err)
		require.Equal(t, "Hello, Ada", text)
		require.NoError(t, client.Close())
	}
}
