package streamable_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// exits is what a test's handler does that calls t.FailNow.
func exits(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
	runtime.Goexit()
	return nil, nil
}

func TestAHandlerThatEndsItsGoroutineIsAnswered(t *testing.T) {
	tools := map[string]tool{"exits": exits}
	e := serve(t, tools, nil)
	stateless := serve(t, tools, &streamable.Options{Stateless: true})
	polling := serve(t, tools, &streamable.Options{Polling: true})
	for name, send := range map[string]func() answer{
		"no session":       func() answer { return e.call26("exits") },
		"session":          func() answer { return e.open("2025-11-25").call("exits") },
		"session, polling": func() answer { return polling.open("2025-11-25").call("exits") },
		"stateless":        func() answer { return stateless.post(callTool(1, "exits"), version+"2025-11-25") },
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				a := send()
				require.Equal(t, http.StatusOK, a.status)
				require.Equal(t, mcp.CodeInternal, a.code(), a.body)
			}
		})
	}
	require.Equal(t, http.StatusOK, e.call26("echo").status)
	require.NoError(t, e.handler.Shutdown(t.Context()), "nothing of it is left")
}

func TestABatchOutlivesAHandlerThatEndsItsGoroutine(t *testing.T) {
	e := serve(t, map[string]tool{"exits": exits}, nil)
	a := e.open("2025-03-26").post(`[` + callTool(1, "echo") + `,` + callTool(2, "exits") + `,` + callTool(3, "echo") + `]`)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, 2, strings.Count(a.body, `"result"`), a.body)
	require.Contains(t, a.body, `"id":2,"error":{"code":-32603`)
	require.NoError(t, e.handler.Shutdown(t.Context()))
}

func TestANotificationIsAcceptedThoughItsHandlerEndsTheGoroutine(t *testing.T) {
	o := kernelOptions(nil)
	o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.ID.IsZero() {
				runtime.Goexit()
			}
			return next.Handle(ctx, in)
		})
	}}
	e := serveKernel(t, connection.NewDispatcher(o), nil)
	a := e.post(`{"jsonrpc":"2.0","method":"x/exits"}`, version+"2026-07-28")
	require.Equal(t, http.StatusAccepted, a.status)
	require.Equal(t, http.StatusAccepted, e.open("2025-11-25").post(`{"jsonrpc":"2.0","method":"x/exits"}`).status)
}
