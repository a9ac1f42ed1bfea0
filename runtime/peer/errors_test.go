package peer_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
)

func TestAsError(t *testing.T) {
	e := &peer.Error{Code: -32602, Message: "Invalid params"}
	require.Same(t, e, peer.AsError(e))
	require.Same(t, e, peer.AsError(fmt.Errorf("read: %w", e)))
	require.Same(t, e, peer.AsError(errors.Join(io.EOF, e)))
	require.Nil(t, peer.AsError(io.EOF))
	require.Nil(t, peer.AsError(&peer.TimeoutError{}))
	require.Nil(t, peer.AsError(nil))
	require.EqualError(t, e, "Invalid params (code -32602)")
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`send "a/b": no channel for requests to the peer`:                                    &peer.NoBackChannelError{Method: "a/b"},
		`send "a/b": the handler of the message has returned, so that its channel is closed`: &peer.NoBackChannelError{Method: "a/b", Returned: true},
		`send "a/b": no response after 2s`:                                                   &peer.TimeoutError{Method: "a/b", After: 2 * time.Second},
		`send "a/b": no response after 200ms`:                                                &peer.TimeoutError{Method: "a/b", After: 200_576_343},
		`send "a/b": no response after 576.343µs`:                                            &peer.TimeoutError{Method: "a/b", After: 576_343},
		`send "a/b": connection closed`:                                                      &peer.ClosedError{Method: "a/b"},
		`send "a/b": connection closed: EOF`:                                                 &peer.ClosedError{Method: "a/b", Cause: io.EOF},
		`no: "a/b" (code 1)`:                                                                 &peer.Error{Code: 1, Message: "no", Data: []byte(`"a/b"`)},
		`no (code 1)`:                                                                        &peer.Error{Code: 1, Message: "no", Data: []byte(`{"name":"a/b"}`)},
		`no (code 2)`:                                                                        &peer.Error{Code: 2, Message: "no", Data: []byte(`"` + strings.Repeat("x", 511) + `"`)},
		`no (code 3)`:                                                                        &peer.Error{Code: 3, Message: "no", Data: []byte(`""`)},
	} {
		require.EqualError(t, err, want)
	}
	require.ErrorIs(t, &peer.ClosedError{Cause: io.EOF}, io.EOF)
	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, error(&peer.TimeoutError{}), &timeout)
	require.True(t, timeout.Timeout())
	require.NotErrorIs(t, &peer.ClosedError{}, net.ErrClosed)
}
