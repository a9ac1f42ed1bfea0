package peer_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestTheResultFollowsFromTheRequest(t *testing.T) {
	out, req := &channel{reply: "yes"}, &ask{text: "?"}
	res, err := peer.SendRequest(t.Context(), out, req)
	require.NoError(t, err)
	require.Equal(t, "yes", res.text) // res is an *answer: the compiler knows
	require.Same(t, req, out.sent[0])
	require.Same(t, res, out.result, "the channel reads into what the request made")
}

func TestAFailedRequestHasNoResult(t *testing.T) {
	res, err := peer.SendRequest(t.Context(), &channel{err: errBroken, reply: "half"}, &ask{})
	require.ErrorIs(t, err, errBroken)
	require.Nil(t, res)
}

func TestANotificationIsOnlySent(t *testing.T) {
	out, n := &channel{err: errBroken}, &tell{}
	require.ErrorIs(t, peer.SendNotification(t.Context(), out, n), errBroken)
	require.Same(t, n, out.sent[0])
}

func TestOptionsReachTheChannel(t *testing.T) {
	out := &channel{}
	header, frame := http.Header{"X": {"y"}}, &wire.Frame{}
	var reported []peer.Progress
	_, err := peer.SendRequest(t.Context(), out, &ask{}, peer.WithID(wire.IntID(7)), peer.WithTimeout(time.Second), peer.WithoutCancelNotification(),
		peer.WithHeader(header), peer.WithFrame(frame), peer.WithKey("k"), peer.OnProgress(func(p peer.Progress) { reported = append(reported, p) }))
	require.NoError(t, err)
	o := out.opts[0]
	require.Equal(t, wire.IntID(7), o.ID)
	require.Equal(t, time.Second, *o.Timeout)
	require.True(t, o.NoCancelNotification)
	require.Equal(t, header, o.Header)
	require.Same(t, frame, o.Frame)
	require.Equal(t, "k", o.Key)
	o.OnProgress(peer.Progress{Progress: 1})
	require.Len(t, reported, 1)
}

func TestAViewBindsItsOptions(t *testing.T) {
	out := &channel{}
	view := peer.With(out, peer.WithTimeout(time.Second), peer.WithoutCancelNotification())
	_, err := peer.SendRequest(t.Context(), view, &ask{})
	require.NoError(t, err)
	_, err = peer.SendRequest(t.Context(), view, &ask{}, peer.WithTimeout(time.Minute))
	require.NoError(t, err)
	require.NoError(t, peer.SendNotification(t.Context(), view, &tell{}))
	require.Equal(t, time.Second, *out.opts[0].Timeout)
	require.Equal(t, time.Minute, *out.opts[1].Timeout, "the call's own option is the last word")
	require.True(t, out.opts[1].NoCancelNotification)
	require.True(t, out.opts[2].NoCancelNotification)
}

func TestAViewWithoutOptionsIsTheChannelItself(t *testing.T) {
	out := &channel{}
	require.Same(t, out, peer.With(out))
}

func TestTwoCallsOfAViewDoNotShareOptions(t *testing.T) {
	out := &channel{}
	opts := make([]peer.CallOption, 1, 8) // room that a careless append would write into
	opts[0] = peer.WithoutCancelNotification()
	view := peer.With(out, opts...)
	for _, id := range []int64{1, 2} {
		_, err := peer.SendRequest(t.Context(), view, &ask{}, peer.WithID(wire.IntID(id)))
		require.NoError(t, err)
	}
	require.Nil(t, opts[:2][1])
	require.Equal(t, wire.IntID(1), out.opts[0].ID)
	require.Equal(t, wire.IntID(2), out.opts[1].ID)
}

func TestStandaloneMovesASessionToTheConnectionsOwnChannel(t *testing.T) {
	s := session{&channel{name: "request", alone: &channel{name: "connection"}}}
	view := peer.With(s, peer.Standalone())
	require.NoError(t, peer.SendNotification(t.Context(), view, &tell{}))
	require.Empty(t, s.sent)
	require.Len(t, s.alone.sent, 1)

	require.NoError(t, peer.SendNotification(t.Context(), peer.With(s), &tell{}))
	require.Len(t, s.sent, 1, "without the option the message stays with the request")
	s.sent = nil
	require.NoError(t, peer.SendNotification(t.Context(), peer.With(s, peer.WithoutCancelNotification()), &tell{}))
	require.Len(t, s.sent, 1, "with another one, too")
	require.NoError(t, peer.SendNotification(t.Context(), peer.With(s.channel, peer.Standalone()), &tell{}))
	require.Len(t, s.sent, 2, "a channel without another one is used as it is")
	require.NoError(t, peer.SendNotification(t.Context(), peer.With(peer.With(s.channel, peer.WithoutCancelNotification()), peer.Standalone()), &tell{}))
	require.Len(t, s.sent, 3)

	view = peer.With(peer.With(s, peer.WithoutCancelNotification()), peer.Standalone(), peer.WithKey("k"))
	require.NoError(t, peer.SendNotification(t.Context(), view, &tell{}))
	require.Len(t, s.alone.sent, 2, "also where other options are bound already")
	require.True(t, s.alone.opts[1].NoCancelNotification)
	require.Equal(t, "k", s.alone.opts[1].Key)
}
