package outbound_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// tryNotifier accepts notifications while it is open.
type tryNotifier struct {
	outbound.None
	open bool
	got  []peer.Notification
}

func (t *tryNotifier) TryNotify(n peer.Notification, _ *wire.Frame) bool {
	if t.open {
		t.got = append(t.got, n)
	}
	return t.open
}

// encoded is a notification that was encoded before.
type encoded struct{ peer.Notification }

func (e encoded) Original() peer.Notification { return e.Notification }
func (e encoded) Encoded() []byte             { return []byte("{}") }

func TestTryNotify(t *testing.T) {
	n := new(mcp.ToolListChangedNotification)
	out := &tryNotifier{open: true}
	require.True(t, outbound.TryNotify(out, n, nil))
	require.Equal(t, []peer.Notification{n}, out.got)
	out.open = false
	require.False(t, outbound.TryNotify(out, n, nil))
	require.False(t, outbound.TryNotify(outbound.None{}, n, nil), "it has no such method")
}

func TestOriginal(t *testing.T) {
	n := new(mcp.ToolListChangedNotification)
	require.Same(t, n, outbound.Original(n))
	require.Same(t, n, outbound.Original(encoded{n}))
}

func TestEncodedIn(t *testing.T) {
	n := new(mcp.ToolListChangedNotification)
	require.Nil(t, outbound.EncodedIn(nil, n))
	for _, f := range []*wire.Frame{nil, {Revision: mcp.Revision20251125}} {
		require.Equal(t, "{}", string(outbound.EncodedIn(f, encoded{n})))
	}
	more := []wire.Entry{{Name: "a", Value: []byte("1")}}
	for _, f := range []*wire.Frame{{Meta: more}, {Also: more}} {
		require.Nil(t, outbound.EncodedIn(f, encoded{n}), "the message has more members")
	}
}

func TestNone(t *testing.T) {
	_, err := peer.SendRequest(t.Context(), outbound.None{}, new(mcp.PingRequest))
	var refused *peer.NoBackChannelError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, mcp.MethodPing, refused.Method)
	require.NoError(t, peer.SendNotification(t.Context(), outbound.None{}, new(mcp.ToolListChangedNotification)))
	require.NoError(t, outbound.None{}.Progress(t.Context(), peer.Progress{}))
}

// counter counts the notifications that it sends.
type counter struct {
	outbound.None
	n int
}

func (c *counter) Notify(context.Context, peer.Notification, ...peer.CallOption) error {
	c.n++
	return nil
}

func TestNotifyOnly(t *testing.T) {
	inner := new(counter)
	out := outbound.NotifyOnly{Out: inner, Drop: func(method string) bool { return method == mcp.MethodToolListChanged }}
	_, err := peer.SendRequest(t.Context(), out, new(mcp.PingRequest))
	require.ErrorAs(t, err, new(*peer.NoBackChannelError))
	require.NoError(t, out.Notify(t.Context(), new(mcp.ToolListChangedNotification)))
	require.Zero(t, inner.n)
	require.NoError(t, out.Notify(t.Context(), new(mcp.PromptListChangedNotification)))
	require.Equal(t, 1, inner.n)
}
