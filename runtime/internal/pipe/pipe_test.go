package pipe_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/pipe"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestConfigure(t *testing.T) {
	calls := 0
	o := jsonrpc.Options{InterceptNotification: func(*peer.Inbound) bool { calls++; return true }}
	p := connection.NewPipe(connection.NewDispatcher(nil), nil)
	require.Equal(t, pipe.Handler(p), pipe.Configure(&o, p))
	require.Equal(t, peer.Handler(p), o.Handler)
	require.NotNil(t, o.Frame)
	require.NotNil(t, o.Batches)
	require.NotNil(t, o.Read)
	require.NotNil(t, o.OnRequest)
	require.True(t, o.InterceptNotification(&peer.Inbound{Method: mcp.MethodInitialized}), "the function of the options consumed it")
	require.Equal(t, 1, calls)
}

func TestConfigureWithPlainHandler(t *testing.T) {
	var o jsonrpc.Options
	h := peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return peer.Reply{}, nil })
	require.Nil(t, pipe.Configure(&o, h))
	require.NotNil(t, o.Handler)
	require.Nil(t, o.Frame)
	require.Nil(t, o.Read)
	require.Nil(t, o.OnRequest)
}
