package mcpserver_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestShutdownEndsLegacyTransport(t *testing.T) {
	s := newForecaster(nil)
	front := httptest.NewServer(streamable.NewLegacySSEHandler(s, nil))
	defer front.Close()
	open := func() *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL, nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "text/event-stream")
		res, err := front.Client().Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	stream := bufio.NewReader(open().Body)
	line, err := stream.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: endpoint\n", line)
	require.NoError(t, s.Shutdown(t.Context()))
	_, err = io.Copy(io.Discard, stream)
	require.NoError(t, err, "the stream has ended in order")
	require.Equal(t, http.StatusServiceUnavailable, open().StatusCode)

	late := httptest.NewServer(streamable.NewLegacySSEHandler(s, nil))
	defer late.Close()
	res, err := http.Get(late.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode, "one that is made too late serves nobody")
}
