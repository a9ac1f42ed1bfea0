package streamable_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestASessionThatDoesNotEndHoldsUpNoOther(t *testing.T) {
	var g gate
	var deaf chan struct{}
	tools := map[string]tool{"gate": g.call, "deaf": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		<-deaf
		return mcp.TextResult("late"), nil
	}}
	serveInBubble(t, tools, new(streamable.Options), func(t *testing.T, e *endpoint) {
		g, deaf = *newGate(), make(chan struct{})
		call := func(tool string) { // ends with the server
			c := e.open("2025-11-25")
			go func() {
				if res, err := e.client.Do(e.request(t.Context(), http.MethodPost, callTool(1, tool), c.headers())); err == nil {
					res.Body.Close()
				}
			}()
		}
		for range 3 {
			call("deaf")
		}
		call("gate")
		<-g.called
		begin, done := time.Now(), make(chan error, 1)
		go func() { done <- e.handler.Close() }() // ends five seconds later at most
		require.ErrorIs(t, <-g.ended, streamable.ErrClosing)
		require.Zero(t, time.Since(begin), "the others are not waited for")
		close(deaf)
		require.NoError(t, <-done)
	})
}

func TestTheEndOfTheServerEndsAHandshakeToo(t *testing.T) {
	var began chan struct{}
	var ended, closed chan error
	o := kernelOptions(nil)
	o.Middleware = []peer.Middleware{atHandshake(func(ctx context.Context) error {
		connection.FromContext(ctx).OnClose(func(context.Context) error { close(closed); return nil })
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	})}
	serveKernelInBubble(t, o, nil, func(t *testing.T, e *endpoint) {
		began, ended, closed = make(chan struct{}), make(chan error, 1), make(chan error)
		answered := make(chan answer, 1)
		go func() { answered <- e.post(initialize("2025-11-25")) }() // ends with the server
		<-began
		begin := time.Now()
		require.NoError(t, e.handler.Close())
		require.Zero(t, time.Since(begin))
		require.ErrorIs(t, <-ended, streamable.ErrClosing)
		<-closed
		a := <-answered
		require.Equal(t, mcp.CodeInternal, a.code(), a.body)
		require.Empty(t, a.header["Mcp-Session-Id"])
	})
}

func TestAHandshakeThatComesAfterTheEndLeavesNothingBehind(t *testing.T) {
	var began, goOn, closed chan struct{}
	o := kernelOptions(nil)
	o.Middleware = []peer.Middleware{atHandshake(func(ctx context.Context) error {
		connection.FromContext(ctx).OnClose(func(context.Context) error { close(closed); return nil })
		close(began)
		<-goOn
		return nil
	})}
	serveKernelInBubble(t, o, nil, func(t *testing.T, e *endpoint) {
		began, goOn, closed = make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() { // ends with the server
			if res, err := e.client.Do(e.request(t.Context(), http.MethodPost, initialize("2025-11-25"), nil)); err == nil {
				res.Body.Close()
			}
		}()
		<-began
		require.NoError(t, e.handler.Close())
		close(goOn)
		<-closed
	})
}

func TestAHandshakeThatCannotBeAnsweredGivesItsRoomBack(t *testing.T) {
	o := kernelOptions(nil)
	o.Capabilities.Experimental = map[string]map[string]json.RawMessage{"x": {"y": json.RawMessage(`{bad`)}}
	e := serveKernel(t, connection.NewDispatcher(o), &streamable.Options{MaxSessions: 2})
	for range 4 {
		a := e.post(initialize("2025-11-25"))
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Equal(t, mcp.CodeInternal, a.code())
		require.Empty(t, a.header["Mcp-Session-Id"])
	}
}
