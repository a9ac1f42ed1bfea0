package jsonrpc_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// wedged returns a connection whose peer reads nothing.
func wedged(t *testing.T) *jsonrpc.Conn {
	pr, pw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(pw), nil)
	t.Cleanup(func() {
		pr.Close()
		c.Close()
	})
	return c
}

func TestACallToAPeerThatDoesNotReadTimesOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		call := ping(context.Background(), wedged(t), peer.WithTimeout(time.Second))
		time.Sleep(courtesy)
		require.True(t, call.isOver())
		require.ErrorAs(t, call.err, new(*peer.TimeoutError))
	})
}

func TestACallThatCannotEvenBeTakenTimesOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := wedged(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		long := json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
		for range 2 { // one is being written, one waits for that
			require.NoError(t, c.Notify(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: long}))
			synctest.Wait()
		}
		for _, timeout := range []time.Duration{0, time.Second} {
			call := ping(context.Background(), c, peer.WithTimeout(timeout))
			time.Sleep(courtesy)
			require.True(t, call.isOver(), timeout)
			require.ErrorAs(t, call.err, new(*peer.TimeoutError))
		}
	})
}

// courtesy is longer than the call and its cancellation take together.
const courtesy = 10 * time.Second
