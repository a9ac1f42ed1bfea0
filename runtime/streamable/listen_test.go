package streamable_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestListenAndServeEndsWithContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- streamable.ServeListener(ctx, l, mcpserver.New(mcp.Implementation{Name: "forecaster", Version: "1"}, nil))
	}() // ends with ctx

	client := &http.Client{Transport: new(http.Transport)}
	defer client.CloseIdleConnections()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/mcp", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)

	cancel()
	require.NoError(t, <-served)
	_, err = client.Do(req)
	require.Error(t, err)
}

func TestListenAndServeEndsWithShutdown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := mcpserver.New(mcp.Implementation{Name: "forecaster", Version: "1"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- streamable.ServeListener(ctx, l, s) }() // ends with the shutdown
	client, err := mcpclient.Connect(t.Context(), mcpclient.URL("http://"+l.Addr().String()+"/mcp"), nil)
	require.NoError(t, err)
	require.NoError(t, client.Close())

	require.NoError(t, s.Shutdown(t.Context()))
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err, "the address has been given back")
	require.NoError(t, <-served)
	require.ErrorIs(t, streamable.ListenAndServe(t.Context(), l.Addr().String(), s, nil), mcpserver.ErrShutdown)
}

// A request that takes too long is cancelled and answered. Serving returns no error.
func TestListenAndServeEndsDuringRequests(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	called := make(chan struct{})
	s := mcpserver.New(mcp.Implementation{Name: "slow", Version: "1"}, nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		close(called)
		<-ctx.Done()
		return "", ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- streamable.ServeListener(ctx, l, s) }() // ends with ctx
	client, err := mcpclient.Connect(t.Context(), mcpclient.URL("http://"+l.Addr().String()+"/mcp"), &mcpclient.Options{Revision: mcp.Revision20260728})
	require.NoError(t, err)
	defer client.Close()
	answered := make(chan error, 1)
	go func() { // ends with the shutdown
		_, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "slow"})
		answered <- err
	}()
	<-called
	cancel()
	require.NoError(t, <-served)
	_, toldSo := errors.AsType[*peer.Error](<-answered)
	require.True(t, toldSo, "the call has an answer")
}

func TestListenAndServeReturnsListenError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	err = streamable.ListenAndServe(t.Context(), l.Addr().String(), mcpserver.New(mcp.Implementation{Name: "forecaster", Version: "1"}, nil), nil)
	require.ErrorContains(t, err, l.Addr().String())
	l.Close()
	require.ErrorIs(t, streamable.ServeListener(t.Context(), l, mcpserver.New(mcp.Implementation{Name: "forecaster", Version: "1"}, nil)), net.ErrClosed)
}
