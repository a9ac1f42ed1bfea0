package streamable_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
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

func TestAClientThatGoesLeavesWhatHasNoSessionAlone(t *testing.T) {
	g := newGate()
	o := kernelOptions(map[string]tool{"gate": g.call})
	peer.HandleNotification(o.Mux, func(ctx context.Context, _ *ownNote) error {
		_, err := g.call(ctx, nil)
		return err
	})
	h := streamable.NewHandler(connection.NewDispatcher(o), &streamable.Options{Stateless: true})
	defer h.Close()
	for _, body := range []string{callTool(1, "gate"), `{"jsonrpc":"2.0","method":"acme/note"}`} {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(ctx)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		done := make(chan struct{})
		go func() { // ends when the gate opens
			h.ServeHTTP(httptest.NewRecorder(), r)
			close(done)
		}()
		handling := within(t, g.called, "the handler")
		cancel()
		require.NoError(t, handling.Err(), body)
		g.answer <- struct{}{}
		within(t, done, "the end of the request")
	}
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

func TestWithoutSessionsOnlyServedRevisionsAreServed(t *testing.T) {
	o := kernelOptions(nil)
	o.Revisions = []wire.Revision{mcp.Revision20251125, mcp.Revision20260728}
	e := serveKernel(t, connection.NewDispatcher(o), &streamable.Options{Stateless: true})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	require.Equal(t, http.StatusOK, e.post(initialize("2025-11-25")).status)
	require.Equal(t, http.StatusOK, e.post(initialize("2025-06-18"), version+"2025-06-18").status, "it is answered with another")
	require.Equal(t, http.StatusOK, e.post(list, version+"2025-11-25").status)
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18"} {
		for _, body := range []string{list, `[` + list + `]`, initialized} {
			a := e.post(body, version+revision)
			require.Equal(t, http.StatusBadRequest, a.status, "%s in %s: %s", body, revision, a.body)
			require.Contains(t, a.body, "Unsupported protocol version")
		}
	}
}
