package peer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
)

// poster takes what it is posted while it is open.
type poster struct {
	peer.NoChannel
	open bool
	got  []peer.Notification
}

func (p *poster) TryNotify(n peer.Notification, _ ...peer.CallOption) bool {
	if p.open {
		p.got = append(p.got, n)
	}
	return p.open
}

// rendered is a notification that was written down before.
type rendered struct{ peer.Notification }

func (r rendered) Plain() peer.Notification { return r.Notification }

func TestPostIsForThoseWhoTakeItAtOnce(t *testing.T) {
	n := &tell{}
	p := &poster{open: true}
	require.True(t, peer.Post(p, n))
	require.Equal(t, []peer.Notification{n}, p.got)
	p.open = false
	require.False(t, peer.Post(p, n))
	require.False(t, peer.Post(peer.NoChannel{}, n))
}

func TestPlainIsTheNotificationItself(t *testing.T) {
	n := &tell{}
	require.Same(t, n, peer.Plain(n))
	require.Same(t, n, peer.Plain(rendered{n}))
}
