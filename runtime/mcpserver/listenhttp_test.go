package mcpserver_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func TestAServerListensUntilItsContextEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- mcpserver.ServeListener(newForecaster(nil), ctx, l) }() // ends with ctx

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

func TestAnAddressThatCannotBeHadIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	err = newForecaster(nil).ListenAndServe(t.Context(), l.Addr().String(), nil)
	require.ErrorContains(t, err, l.Addr().String())
	l.Close()
	require.ErrorIs(t, mcpserver.ServeListener(newForecaster(nil), t.Context(), l), net.ErrClosed)
}
