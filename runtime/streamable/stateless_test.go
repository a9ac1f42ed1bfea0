package streamable_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestRequestsWithoutSessionsAreBoundedInEveryRevision(t *testing.T) {
	g := newGate()
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	e := serve(t, map[string]tool{"gate": g.call}, &streamable.Options{
		Stateless: true, Principal: who, MaxInFlight: 2, MaxInFlightPerPrincipal: 1,
	})
	call := func(name, user string) answer {
		return e.post(callTool(1, name), version+"2025-11-25", "X-User: "+user)
	}
	done := make(chan answer, 2)
	go func() { done <- call("gate", "ann") }() // ends with the request
	within(t, g.called, "the handler")
	require.Equal(t, http.StatusTooManyRequests, call("echo", "ann").status)
	require.Equal(t, http.StatusTooManyRequests, e.call26("echo", "X-User: ann").status, "they are counted together")
	go func() { done <- call("gate", "bob") }() // ends with the request
	within(t, g.called, "the second handler")
	a := call("echo", "cho")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Contains(t, a.body, `"id":1`)
	close(g.answer)
	for range 2 {
		require.Equal(t, http.StatusOK, within(t, done, "an answer").status)
	}
	require.Equal(t, http.StatusOK, call("echo", "ann").status)
}

func TestShutdownEndsRequestsWithoutSessionsInEveryRevision(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, &streamable.Options{Stateless: true})
	done := make(chan answer, 1)
	go func() { done <- e.post(callTool(1, "gate"), version+"2025-11-25") }() // ends with the request
	within(t, g.called, "the handler")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.handler.Shutdown(ctx), context.Canceled)
	require.ErrorIs(t, within(t, g.ended, "the end"), streamable.ErrClosing)
	require.Equal(t, mcp.CodeInternal, within(t, done, "an answer").code())
}
