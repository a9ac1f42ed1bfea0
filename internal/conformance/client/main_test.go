package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestUnknownScenarioFails(t *testing.T) {
	t.Setenv("MCP_CONFORMANCE_SCENARIO", "juggling")
	err := run(t.Context(), []string{"http://127.0.0.1:1/"})
	require.ErrorContains(t, err, `"juggling"`)
	require.ErrorContains(t, err, "http-custom-headers, http-invalid-tool-headers")
	require.ErrorContains(t, run(t.Context(), nil), "usage")
}

func TestMode(t *testing.T) {
	require.Equal(t, mcpclient.Handshake, mode("2025-11-25"))
	require.Equal(t, mcpclient.NoHandshake, mode("2026-07-28"))
}

func TestUnreachableServerFails(t *testing.T) {
	for name := range scenarios {
		t.Setenv("MCP_CONFORMANCE_SCENARIO", name)
		require.Error(t, run(t.Context(), []string{"http://127.0.0.1:1/"}), name)
	}
}
