package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
)

// connect connects a client to a server through a gateway.
func connect(t *testing.T, server *mcpserver.Server, up, down *mcpclient.Options) *mcpclient.Client {
	var clients sessions
	options := new(mcpclient.Options)
	if up != nil {
		*options = *up
	}
	clients.receive(options)
	upstream, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, upstream.Close()) })
	gateway := newGateway(upstream, &clients)
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

func TestSessionsAreNotifiedOfChangedLists(t *testing.T) {
	for _, up := range mcp.Revisions {
		for _, down := range mcp.Revisions {
			if down.Revision == mcp.Revision20260728 {
				continue // has subscriptions
			}
			t.Run(fmt.Sprintf("%v to %v", down.Revision, up.Revision), func(t *testing.T) {
				server := everything()
				changed := make(chan string, 3)
				client := connect(t, server, &mcpclient.Options{Revision: up.Revision}, &mcpclient.Options{
					Revision:            down.Revision,
					OnToolListChanged:   func(_ context.Context, n *mcp.ToolListChangedNotification) error { changed <- n.Method(); return nil },
					OnPromptListChanged: func(_ context.Context, n *mcp.PromptListChangedNotification) error { changed <- n.Method(); return nil },
					OnResourceListChanged: func(_ context.Context, n *mcp.ResourceListChangedNotification) error {
						changed <- n.Method()
						return nil
					},
				})
				require.True(t, client.ServerCapabilities().Tools.ListChanged)
				require.True(t, client.ServerCapabilities().Prompts.ListChanged)
				require.True(t, client.ServerCapabilities().Resources.ListChanged)
				server.RemoveTools("echo")
				require.Equal(t, mcp.MethodToolListChanged, <-changed)
				server.RemovePrompts("greet")
				require.Equal(t, mcp.MethodPromptListChanged, <-changed)
				server.RemoveResources("note:1")
				require.Equal(t, mcp.MethodResourceListChanged, <-changed)
			})
		}
	}
}

func TestClosedSessionsAreForgotten(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "upstream", Version: "1.0.0"}, nil)
	upstream, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), nil)
	require.NoError(t, err)
	defer upstream.Close()
	var clients sessions
	gateway := newGateway(upstream, &clients)
	count := func() int {
		clients.mu.Lock()
		defer clients.mu.Unlock()
		return len(clients.open)
	}
	client := mcptest.Connect(t, mcptest.HTTP(gateway), mcp.Revision20251125)
	_, err = peer.SendRequest(t.Context(), client, &mcp.PingRequest{}) // is handled after notifications/initialized
	require.NoError(t, err)
	require.Equal(t, 1, count())
	require.NoError(t, gateway.Close())
	require.Zero(t, count())
}

func TestNoSubscriptionsWithoutTheUpstreamServer(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "upstream", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, greet)
	client := connect(t, server, &mcpclient.Options{Mode: mcpclient.Handshake}, nil)
	require.NotNil(t, client.ServerCapabilities().Tools)
	require.False(t, client.ServerCapabilities().Tools.ListChanged)
	_, err := client.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
	require.Error(t, err)
}
