package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// connect connects a client to a server through a gateway.
func connect(t *testing.T, server *mcpserver.Server, up, down *mcpclient.Options) *mcpclient.Client {
	upstream, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), up)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, upstream.Close()) })
	gateway := newGateway(upstream)
	listener := httptest.NewServer(gateway)
	t.Cleanup(listener.Close)
	t.Cleanup(func() { require.NoError(t, gateway.Close()) })
	client, err := mcpclient.Connect(t.Context(), mcpclient.URL(listener.URL), down)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func greet(_ context.Context, _ *mcp.ServerSession, in struct{ Name string }) (string, error) {
	return "Hello, " + in.Name, nil
}

func TestChangesAreForwarded(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "upstream", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, greet)
	client := connect(t, server, nil, nil)
	require.True(t, client.ServerCapabilities().Tools.ListChanged)
	var both []*mcpclient.Subscription
	for range 2 {
		changes, err := client.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
		require.NoError(t, err)
		require.Equal(t, mcp.SubscriptionFilter{ToolsListChanged: true}, changes.Filter(), "the server has no prompts")
		both = append(both, changes)
	}
	server.RemoveTools("greet")
	for _, changes := range both {
		for change, err := range changes.All() {
			require.NoError(t, err)
			require.Equal(t, mcp.MethodToolListChanged, change.Method())
			require.NoError(t, changes.Close())
		}
	}
}

func TestHandshakeDeclaresNoChanges(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "upstream", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, greet)
	for _, side := range []struct{ up, down *mcpclient.Options }{
		{nil, &mcpclient.Options{Mode: mcpclient.Handshake}},
		{&mcpclient.Options{Mode: mcpclient.Handshake}, nil},
	} {
		client := connect(t, server, side.up, side.down)
		require.NotNil(t, client.ServerCapabilities().Tools)
		require.False(t, client.ServerCapabilities().Tools.ListChanged)
		_, err := client.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
		require.Error(t, err)
	}
}
