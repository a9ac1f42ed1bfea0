package streamable_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestNotificationsAndRequestsOfABatchDoNotMeet(t *testing.T) {
	e := serve(t, nil, nil)
	c := e.open("2025-03-26")
	for range 20 {
		a := c.post(`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},` + callTool(1, "echo") + `]`)
		require.Equal(t, http.StatusOK, a.status)
		require.Contains(t, a.body, `"result"`)
	}
}

func TestABatchMayConfirmTheHandshake(t *testing.T) {
	var early atomic.Int32
	o := kernelOptions(map[string]tool{"look": func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		if !connection.From(ctx).State().Initialized() {
			early.Add(1)
		}
		return mcp.TextResult("x"), nil
	}})
	e := serveKernel(t, connection.NewKernel(o), &streamable.Options{MaxSessions: -1})
	for range 30 {
		a := e.post(initialize("2025-03-26"))
		id := a.header.Get("Mcp-Session-Id")
		a = e.post(`[`+initialized+`,`+callTool(1, "look")+`]`, sessions+id)
		require.Equal(t, http.StatusOK, a.status)
	}
	require.Zero(t, early.Load(), "of 30")
}
