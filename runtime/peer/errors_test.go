package peer_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
)

func TestOnlyAPeersErrorLeavesTheProcess(t *testing.T) {
	e := &peer.Error{Code: -32602, Message: "Invalid params"}
	require.Same(t, e, peer.AsError(e))
	require.Same(t, e, peer.AsError(fmt.Errorf("read: %w", e)))
	require.Same(t, e, peer.AsError(errors.Join(io.EOF, e)))
	require.Nil(t, peer.AsError(io.EOF))
	require.Nil(t, peer.AsError(&peer.TimeoutError{}))
	require.Nil(t, peer.AsError(nil))
	require.EqualError(t, e, "Invalid params (code -32602)")
}

func TestLocalErrorsSayWhatHappened(t *testing.T) {
	for want, err := range map[string]error{
		`send "a/b": no channel for requests to the peer from here`: &peer.NoBackChannelError{Method: "a/b"},
		`send "a/b": no answer after 2s`:                            &peer.TimeoutError{Method: "a/b", After: 2 * time.Second},
		`send "a/b": no answer after 200ms`:                         &peer.TimeoutError{Method: "a/b", After: 200_576_343},
		`send "a/b": no answer after 576.343µs`:                     &peer.TimeoutError{Method: "a/b", After: 576_343},
		`send "a/b": connection closed`:                             &peer.ClosedError{Method: "a/b"},
		`send "a/b": connection closed: EOF`:                        &peer.ClosedError{Method: "a/b", Cause: io.EOF},
	} {
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, &peer.ClosedError{Cause: io.EOF}, io.EOF)
	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, error(&peer.TimeoutError{}), &timeout)
	require.True(t, timeout.Timeout())
	require.NotErrorIs(t, &peer.ClosedError{}, net.ErrClosed)
}

func TestATransportsContextTellsWhatItWasMadeOf(t *testing.T) {
	type http2 struct { // what a transport does
		peer.Transport
		Request *http.Request
	}
	header := http.Header{"A": {"b"}}
	var c peer.TransportContext = http2{Transport: peer.NewTransport("streamable-http", true, header, "ada")}
	require.Equal(t, "streamable-http", c.Kind())
	require.True(t, c.CanSendRequest())
	require.Equal(t, header, c.Header())
	require.Equal(t, "ada", c.Principal())
	_, ok := c.(http2)
	require.True(t, ok, "handlers reach the rest by type assertion")
}
