package peer_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
)

func TestHeader(t *testing.T) {
	h := peer.Header(http.Header{"X-Tenant": {"a", "b"}, "X-Empty": {}})
	for _, name := range []string{"X-Tenant", "x-tenant", "X-TENANT"} {
		require.Equal(t, "a", h.Get(name))
		require.Equal(t, []string{"a", "b"}, h.Values(name))
	}
	for _, name := range []string{"X-Empty", "x-empty", "X-Other", ""} {
		require.Empty(t, h.Get(name))
		require.Empty(t, h.Values(name))
	}
	require.Empty(t, peer.Header(nil).Get("X-Tenant"))
	require.Equal(t, []string{"a", "b"}, http.Header(h).Values("X-Tenant"))
}
