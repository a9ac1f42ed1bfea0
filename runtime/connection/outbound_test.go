package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestSubscriptionNotificationsAreDroppedElsewhere(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: out})
	require.NoError(t, conn.SendToolListChanged(t.Context()))
	require.NoError(t, conn.SendPromptListChanged(t.Context()))
	require.NoError(t, conn.SendResourceListChanged(t.Context()))
	require.NoError(t, conn.SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:b"}))
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(1)}))
	require.NoError(t, conn.Notify(t.Context(), &mcp.ElicitationCompleteNotification{ElicitationID: "e"}))
	call := conn.ServerSession(request(mcp.MethodCallTool, `{"name":"x"}`, out))
	require.NoError(t, call.SendCancelled(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(7)}))
	require.Empty(t, out.take())

	listen := conn.ServerSession(request(mcp.MethodSubscriptionsListen, `{"notifications":{}}`, out))
	meta := &mcp.NotificationMeta{SubscriptionID: wire.IntID(7)}
	require.NoError(t, listen.Notify(t.Context(), &mcp.ToolListChangedNotification{Meta: meta}))
	require.NoError(t, listen.SendCancelled(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(7)}))
	require.NoError(t, listen.SendCancelled(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(8)}))
	require.Len(t, out.take(), 2)
}

func TestSubscriptionCarriesNoLogsAndNoProgress(t *testing.T) {
	related, standalone := new(channel), new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: standalone})
	in := request(mcp.MethodSubscriptionsListen, `{"notifications":{},"_meta":{"progressToken":"tok","io.modelcontextprotocol/logLevel":"debug"}}`, related)
	in.Token = wire.StringToken("tok")
	listen := conn.ServerSession(in)
	log := &mcp.LoggingMessageNotification{Level: "error", Data: json.RawMessage(`1`)}
	require.NoError(t, listen.SendLogMessage(t.Context(), log))
	require.NoError(t, listen.With(peer.Standalone()).SendLogMessage(t.Context(), log))
	require.NoError(t, listen.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.NoError(t, listen.SendProgress(t.Context(), &mcp.ProgressNotification{ProgressToken: in.Token, Progress: 2}))
	require.NoError(t, listen.SendProgress(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(5), Progress: 3}))
	require.Empty(t, related.take())
	require.Empty(t, related.progress)
	require.Empty(t, standalone.take())
}

func TestServerDropsUndeclaredNotifications(t *testing.T) {
	conn, out := connect(t, "2025-11-25", nil)
	conn.State().SetServerCapabilities(&mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{ListChanged: true}})
	require.NoError(t, conn.SendPromptListChanged(t.Context()))
	require.NoError(t, conn.Log(t.Context(), &mcp.LoggingMessageNotification{Level: "error", Data: json.RawMessage(`1`)}))
	require.Empty(t, out.take())
	require.NoError(t, conn.SendToolListChanged(t.Context()))
	require.Len(t, out.take(), 1)

	conn.State().SetServerCapabilities(&mcp.ServerCapabilities{
		Prompts: &mcp.PromptsCapability{}, Resources: &mcp.ResourcesCapability{}, Tools: &mcp.ToolsCapability{},
	})
	require.NoError(t, conn.SendPromptListChanged(t.Context()))
	require.NoError(t, conn.SendResourceListChanged(t.Context()))
	require.NoError(t, conn.SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:b"}))
	require.NoError(t, conn.SendToolListChanged(t.Context()))
	require.Empty(t, out.take(), "listChanged was not declared")
}

func TestClientSendsOnlyMethodsOfTheRevision(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Client: true, Outbound: out})
	server := mcp.ServerPeer{Outbound: conn}
	_, err := server.SetLevel(t.Context(), &mcp.SetLevelRequest{Level: "info"})
	requireRefused[*connection.UnsupportedError](t, out, err)
	require.NoError(t, server.RootsListChanged(t.Context(), &mcp.RootsListChangedNotification{}))
	require.Empty(t, out.take())
}

func TestLogsRequireLoggingCapability(t *testing.T) {
	const ask = `{"name":"log","_meta":{` + version + `:"2026-07-28",` + caps + `:{},"io.modelcontextprotocol/logLevel":"debug"}}`
	for _, declared := range []bool{true, false} {
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			if !declared {
				o.Capabilities.Logging = nil
			}
		})
		back := new(channel)
		_, err := k.ServeStateless(t.Context(), request("tools/call", ask, back), nil)
		require.NoError(t, err)
		require.Equal(t, declared, len(back.take()) > 0)
	}
}

// recorder returns a middleware that records the messages that are sent.
func recorder(name string, seen *[]string) func(peer.Outbound) peer.Outbound {
	return func(next peer.Outbound) peer.Outbound { return recordingOutbound{next, name, seen} }
}

type recordingOutbound struct {
	peer.Outbound
	name string
	seen *[]string
}

func (r recordingOutbound) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	*r.seen = append(*r.seen, r.name+" "+req.Method())
	return r.Outbound.Call(ctx, req, res, opts...)
}

func (r recordingOutbound) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	*r.seen = append(*r.seen, r.name+" "+n.Method())
	return r.Outbound.Notify(ctx, n, opts...)
}

func TestOutgoingMiddleware(t *testing.T) {
	var seen []string
	related, standalone := &channel{answer: `{"roots":[]}`}, new(channel)
	conn := connection.New(standalone, &connection.Options{
		Outgoing: []func(peer.Outbound) peer.Outbound{recorder("outer", &seen), recorder("inner", &seen)},
	})
	conn.State().SetClient(someInfo, only("roots"))
	conn.State().SetInitialized()
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.IntToken(5)
	s := conn.ServerSession(in)
	passed := func(err error, method string) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, []string{"outer " + method, "inner " + method}, seen)
		seen = nil
	}
	_, err := s.ListRoots(t.Context())
	passed(err, mcp.MethodListRoots)
	passed(s.ReportProgress(t.Context(), peer.Progress{Progress: 1, Message: "m"}), mcp.MethodProgress)
	passed(s.SendProgress(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(5), Progress: 2}), mcp.MethodProgress)
	require.Equal(t, []peer.Progress{{Progress: 1, Message: "m"}, {Progress: 2}}, related.progress)
	note := &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`1`)}
	passed(s.SendLogMessage(t.Context(), note), mcp.MethodLoggingMessage)
	require.Len(t, related.take(), 2)
	passed(s.Ping(t.Context()), mcp.MethodPing)
	passed(conn.Log(t.Context(), note), mcp.MethodLoggingMessage)
	require.Len(t, standalone.take(), 2)
}

func TestOutgoingMiddlewareIsBehindTheChecks(t *testing.T) {
	var seen []string
	back := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), &connection.Options{
		Outbound: back, Outgoing: []func(peer.Outbound) peer.Outbound{recorder("only", &seen)},
	})
	s := conn.ServerSession(request(mcp.MethodCallTool, `{"name":"x"}`, back))
	_, err := s.ListRoots(t.Context())
	requireRefused[*peer.NoBackChannelError](t, back, err)
	require.NoError(t, s.SendToolListChanged(t.Context()))
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}), "the request has no progress token")
	require.Empty(t, seen)
}

func TestOutgoingMiddlewareForQuestions(t *testing.T) {
	var seen []string
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Rounds = roundsOf(func() servingRound {
			return &testRound{answers: map[string]string{mcp.MethodElicit: `{"action":"decline"}`}}
		})
	})
	opts := &connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{recorder("only", &seen)}}
	ask := `{"name":"ask","_meta":{` + version + `:"2026-07-28",` + caps + `:{"elicitation":{}}}}`
	reply, err := k.ServeStateless(t.Context(), request("tools/call", ask, nil), opts)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("decline"), reply.Result)
	require.Equal(t, []string{"only " + mcp.MethodElicit}, seen)
}

func TestOutgoingMiddlewareSendsOtherNotifications(t *testing.T) {
	changed := &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`"sent"`)}
	announce := func(next peer.Outbound) peer.Outbound { return notifyingOutbound{next, changed} }
	related := new(channel)
	conn := connection.New(nil, &connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{announce}})
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.IntToken(5)
	s := conn.ServerSession(in)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.Len(t, related.progress, 1)
	require.Len(t, related.take(), 1)
}

// notifyingOutbound sends another notification after each one.
type notifyingOutbound struct {
	peer.Outbound
	after peer.Notification
}

func (a notifyingOutbound) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return errors.Join(a.Outbound.Notify(ctx, n, opts...), a.Outbound.Notify(ctx, a.after, opts...))
}

func TestCallOptionsContainTheFrame(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-11-25"} {
		conn, out := connect(t, version, nil)
		require.NoError(t, conn.Ping(t.Context()))
		require.NoError(t, conn.Ping(t.Context(), peer.WithFrame(&wire.Frame{Revision: mcp.Revision20250618})))
		require.NoError(t, conn.SendResourceListChanged(t.Context()))
		require.Equal(t, version, out.options[0].Frame.Revision.String())
		require.Equal(t, mcp.Revision20250618, out.options[1].Frame.Revision, "the option of the caller overrides")
		require.Equal(t, version, out.options[2].Frame.Revision.String())
	}
	out := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{
		Client: true, Outbound: out, Meta: []wire.Entry{{Name: "k", Value: json.RawMessage(`1`)}},
	})
	_, err := conn.SendRawRequest(t.Context(), "acme/any", nil)
	require.NoError(t, err)
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(3)}))
	require.Len(t, out.options[0].Frame.Meta, 1)
	require.Empty(t, out.options[1].Frame.Meta)
	require.Equal(t, mcp.Revision20260728, out.options[1].Frame.Revision)
}

// tryingChannel is a channel whose TryNotify succeeds.
type tryingChannel struct {
	outbound.None
	posted *[]peer.Notification
}

func (p tryingChannel) TryNotify(n peer.Notification, _ *wire.Frame) bool {
	*p.posted = append(*p.posted, n)
	return true
}

// encodedUpdate is an update that is sent to many sessions.
type encodedUpdate struct {
	*mcp.ResourceUpdatedNotification
}

func (u encodedUpdate) Original() peer.Notification { return u.ResourceUpdatedNotification }
func (u encodedUpdate) Encoded() []byte             { return nil }

func TestTryNotify(t *testing.T) {
	var posted []peer.Notification
	out := tryingChannel{posted: &posted}
	conn := connection.New(out, nil)
	updated := &mcp.ResourceUpdatedNotification{URI: "x:a"}
	require.True(t, outbound.TryNotify(conn, updated, nil))
	require.Equal(t, []peer.Notification{updated}, posted)
	for name, n := range map[string]peer.Notification{
		"progress is sent in order": &mcp.ProgressNotification{},
		"not in the revision":       &mcp.SubscriptionsAcknowledgedNotification{},
	} {
		require.False(t, outbound.TryNotify(conn, n, nil), name)
	}
	encoded := encodedUpdate{updated}
	for _, state := range []struct {
		server *mcp.ServerCapabilities // nil if unknown
		client bool
		sent   bool
	}{
		{&mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{Subscribe: true}}, false, true},
		{&mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{}}, false, false},
		{nil, false, true},
		{&mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{Subscribe: true}}, true, false},
	} {
		posted = nil
		conn := connection.New(out, &connection.Options{Client: state.client})
		conn.State().SetServerCapabilities(state.server)
		require.Equal(t, state.sent, outbound.TryNotify(conn, encoded, nil))
		require.Equal(t, state.sent, len(posted) == 1)
	}
	stateless := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: out})
	stateless.State().SetServerCapabilities(nil)
	require.False(t, outbound.TryNotify(stateless, encoded, nil), "only subscriptions carry it")
	posted = []peer.Notification{updated}
	wrapped := connection.New(out, &connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{
		func(out peer.Outbound) peer.Outbound { return out },
	}})
	require.False(t, outbound.TryNotify(wrapped, updated, nil), "middleware may wait")
	require.Len(t, posted, 1)
}
