package mcptest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

func TestHTTPValidator(t *testing.T) {
	v := mcptest.NewHTTPValidator()
	post := httptest.NewRequest(http.MethodPost, "/", nil)
	post.Header.Set("Content-Type", "application/json")
	x := v.Begin(post)
	require.Empty(t, x.CheckRequest([]byte(hello)))
	require.Empty(t, x.CheckHeader(200, http.Header{"Content-Type": {"text/event-stream"}, "Mcp-Session-Id": {"s"}}))
	require.Empty(t, x.CheckEvent([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)))
	require.Len(t, x.CheckEvent([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)), 1, "another id")

	post.Header.Set("Mcp-Session-Id", "s")
	x = v.Begin(post)
	require.Empty(t, x.CheckRequest([]byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)))
	require.Equal(t, mcp.Revision20250618, x.Revision())
	require.Len(t, x.CheckHeader(202, http.Header{}), 1, "a request has a response")
	require.Len(t, x.CheckBody(202, []byte(`{"jsonrpc":"2.0","id":2,"result":1}`)), 1)

	v.Forget("s")
	x = v.Begin(post)
	require.Empty(t, x.CheckRequest([]byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)), "the ids of the session are forgotten")
}

func TestValidatorForgetsOldIDs(t *testing.T) {
	v := mcptest.NewValidator(mcp.Revision20251125)
	ping := func(id int) int {
		found := v.Check(mcptest.FromClient, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
		found = append(found, v.Check(mcptest.FromServer, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id))...)
		return len(found)
	}
	require.Zero(t, ping(1))
	require.Equal(t, 1, ping(1))
	for id := range 10_001 {
		require.Zero(t, ping(id+2))
	}
	require.Zero(t, ping(1), "the oldest ids are forgotten")
	require.Equal(t, 1, ping(10_000))
}
