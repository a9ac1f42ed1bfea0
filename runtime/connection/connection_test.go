package connection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestNewForRequest(t *testing.T) {
	conn := connection.NewForRequest(mcp.Revision20260728, someInfo, allCapabilities(), nil)
	require.True(t, closed(conn.Initialized()))
	require.True(t, conn.InitializeAccepted())
	require.True(t, conn.State().Initialized())
	require.False(t, conn.HasStandaloneChannel())
	require.Equal(t, "2026-07-28", conn.Revision().String())
	require.Equal(t, "client", conn.ClientInfo().Name)
	require.Equal(t, mcp.LatestRevision, connection.NewForRequest(wire.Revision{}, nil, nil, nil).Revision())

	var none *peer.NoBackChannelError
	require.ErrorAs(t, conn.Ping(t.Context()), &none)
	require.Equal(t, mcp.MethodPing, none.Method)
	require.NoError(t, conn.SendToolListChanged(t.Context()))
}

func TestNewForRequestWithChannelSendsOnlyNotifications(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, someInfo, allCapabilities(), &connection.Options{Outbound: out})
	require.True(t, conn.HasStandaloneChannel())

	_, err := peer.SendRequest(t.Context(), conn, &mcp.ListRootsRequest{})
	requireRefused[*peer.NoBackChannelError](t, out, err)
	_, err = peer.SendRequest(t.Context(), conn.Outbound(), &mcp.ListRootsRequest{})
	requireRefused[*peer.NoBackChannelError](t, out, err)
	_, err = conn.SendRawRequest(t.Context(), "acme/anything", nil)
	requireRefused[*peer.NoBackChannelError](t, out, err)

	require.NoError(t, conn.Notify(t.Context(), new(weatherChanged)))
	require.Len(t, out.take(), 1)
}

func TestNewForRequestWithoutInfoOrCapabilities(t *testing.T) {
	conn := connection.NewForRequest(mcp.Revision20260728, nil, &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}, nil)
	require.Nil(t, conn.ClientInfo())
	require.True(t, conn.HasClientCapability(&mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}))

	conn = connection.NewForRequest(mcp.Revision20260728, someInfo, nil, nil)
	require.Equal(t, someInfo, conn.ClientInfo())
	require.Nil(t, conn.State().ClientCapabilities())
	require.False(t, conn.HasClientCapability(&mcp.ClientCapabilities{}))
}

func TestNewUsesDefaultRevision(t *testing.T) {
	require.Equal(t, mcp.LatestHandshakeRevision, connection.New(nil, nil).Revision())
	for revision, want := range map[wire.Revision]wire.Revision{
		mcp.Revision20250326: mcp.Revision20250326, mcp.Revision20260728: mcp.LatestHandshakeRevision, {}: mcp.LatestHandshakeRevision,
	} {
		conn := connection.New(nil, &connection.Options{DefaultRevision: revision, SessionID: "s1"})
		require.Equal(t, want, conn.Revision())
		require.Equal(t, "s1", conn.SessionID())
		require.False(t, conn.HasStandaloneChannel())
		require.False(t, conn.InitializeAccepted())
		require.False(t, closed(conn.Initialized()))
	}
}

func TestInitializedReturnsTheSameChannel(t *testing.T) {
	conn := connection.New(nil, nil)
	before := conn.Initialized()
	conn.State().SetInitialized()
	conn.State().SetInitialized()
	require.True(t, closed(before))
	require.Equal(t, before, conn.Initialized())
	require.True(t, conn.InitializeAccepted(), "initialized without initialize")

	late := connection.New(nil, nil)
	late.State().SetInitialized()
	require.True(t, closed(late.Initialized()))
}

func TestSetRevision(t *testing.T) {
	conn := connection.New(nil, &connection.Options{Client: true})
	require.False(t, conn.Batches())
	conn.SetRevision(mcp.Revision20250326)
	require.Equal(t, "2025-03-26", conn.Revision().String())
	require.Equal(t, mcp.Revision20250326, conn.Frame(mcp.MethodCallTool).Revision)
	require.True(t, conn.Batches())
}
