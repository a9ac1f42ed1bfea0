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

// byPrincipal declares prompts to admins, in place of what others are told.
func byPrincipal(o *connection.DispatcherOptions) {
	o.CapabilitiesFor = func(t peer.TransportContext) *mcp.ServerCapabilities {
		if t.Principal() != "admin" {
			return nil
		}
		return &mcp.ServerCapabilities{Prompts: &mcp.PromptsCapability{ListChanged: true}}
	}
	mcp.HandleSubscriptionsListen(o.Mux, func(context.Context, *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
		return &mcp.SubscriptionsListenResult{}, nil
	})
}

func TestCapabilitiesDependOnWhoAsks(t *testing.T) {
	k := newKernel(byPrincipal)
	for principal, prompts := range map[string]bool{"admin": true, "guest": false} {
		in := func(method, params string) *peer.Inbound {
			in := request(method, params, nil)
			in.Transport = peer.NewTransportContext("pipe", true, nil, principal)
			return in
		}
		told := func(caps *mcp.ServerCapabilities) {
			require.Equal(t, prompts, caps.Prompts != nil, principal)
			require.Equal(t, !prompts, caps.Tools != nil, principal)
		}
		conn, out := loop(t, "2025-11-25", nil)
		reply, err := k.Serve(t.Context(), conn, in("initialize", handshakeParams))
		require.NoError(t, err)
		told(&reply.Result.(*mcp.InitializeResult).Capabilities)
		told(conn.State().ServerCapabilities())
		require.NoError(t, conn.SendPromptListChanged(t.Context()))
		require.Len(t, out.take(), map[bool]int{true: 1}[prompts], "only what was declared is announced")

		reply, err = k.ServeStateless(t.Context(), in("server/discover", pair), nil)
		require.NoError(t, err)
		told(&reply.Result.(*mcp.DiscoverResult).Capabilities)
	}
}

func TestASessionIsAnnouncedOnceWhenItIsConfirmed(t *testing.T) {
	var events []string
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.OnInitialized = func(ctx context.Context, conn *connection.Connection) {
			require.Same(t, conn, connection.FromContext(ctx))
			require.True(t, conn.State().Initialized())
			events = append(events, "announced "+conn.Revision().String())
		}
		mcp.HandleInitialized(o.Mux, func(context.Context, *mcp.InitializedNotification) error {
			events = append(events, "handled")
			return nil
		})
	})
	conn, _ := loop(t, "2025-11-25", nil)
	_, err := k.Serve(t.Context(), conn, request("initialize", handshakeParams, nil))
	require.NoError(t, err)
	require.Empty(t, events, "the answer is not the confirmation")
	for _, params := range []string{`{"_meta":3}`, ``, ``} {
		_, err = k.Serve(t.Context(), conn, notification(mcp.MethodInitialized, params, nil))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"announced 2025-03-26", "handled", "handled"}, events)
}

// layer is a middleware on the way out that writes down what passes.
func layer(name string, seen *[]string) func(peer.Outbound) peer.Outbound {
	return func(next peer.Outbound) peer.Outbound { return recording{next, name, seen} }
}

type recording struct {
	peer.Outbound
	name string
	seen *[]string
}

func (r recording) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	*r.seen = append(*r.seen, r.name+" "+req.Method())
	return r.Outbound.Call(ctx, req, res, opts...)
}

func (r recording) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	*r.seen = append(*r.seen, r.name+" "+n.Method())
	return r.Outbound.Notify(ctx, n, opts...)
}

func TestEverythingThatIsSentPassesTheLayersOnItsWay(t *testing.T) {
	var seen []string
	related, standalone := &channel{answer: `{"roots":[]}`}, new(channel)
	conn := connection.New(standalone, &connection.Options{
		Outgoing: []func(peer.Outbound) peer.Outbound{layer("outer", &seen), layer("inner", &seen)},
	})
	conn.State().SetClient(someInfo, only("roots"))
	conn.State().SetInitialized()
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.IntToken(5)
	s := connection.Session(conn, in)
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

func TestWhatMayNotBeSentNeverReachesTheLayers(t *testing.T) {
	var seen []string
	back := new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, allCapabilities(), &connection.Options{
		Outbound: back, Outgoing: []func(peer.Outbound) peer.Outbound{layer("only", &seen)},
	})
	s := connection.Session(conn, request(mcp.MethodCallTool, `{"name":"x"}`, back))
	_, err := s.ListRoots(t.Context())
	refused[*peer.NoBackChannelError](t, back, err)
	require.NoError(t, s.SendToolListChanged(t.Context()))
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}), "nobody asked")
	require.Empty(t, seen)
}

func TestQuestionsInTheAnswerPassTheLayersToo(t *testing.T) {
	var seen []string
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Rounds = roundsOf(func() selfServed {
			return &round{answers: map[string]string{mcp.MethodElicit: `{"action":"decline"}`}}
		})
	})
	opts := &connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{layer("only", &seen)}}
	ask := `{"name":"ask","_meta":{` + version + `:"2026-07-28",` + caps + `:{"elicitation":{}}}}`
	reply, err := k.ServeStateless(t.Context(), request("tools/call", ask, nil), opts)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("decline"), reply.Result)
	require.Equal(t, []string{"only " + mcp.MethodElicit}, seen)
}

func TestALayerMayNotifyAndReportAroundWhatItPassesOn(t *testing.T) {
	changed := &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`"sent"`)}
	announce := func(next peer.Outbound) peer.Outbound { return announcing{next, changed} }
	related := new(channel)
	conn := connection.New(nil, &connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{announce}})
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.IntToken(5)
	s := connection.Session(conn, in)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.Len(t, related.progress, 1)
	require.Len(t, related.take(), 1)
}

// announcing sends a notification of its own after each one that it passes on.
type announcing struct {
	peer.Outbound
	after peer.Notification
}

func (a announcing) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return errors.Join(a.Outbound.Notify(ctx, n, opts...), a.Outbound.Notify(ctx, a.after, opts...))
}

func TestWhatIsSentSaysHowItIsWritten(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-11-25"} {
		conn, out := loop(t, version, nil)
		require.NoError(t, conn.Ping(t.Context()))
		require.NoError(t, conn.Ping(t.Context(), peer.WithFrame(&wire.Frame{Revision: mcp.Revision20250618})))
		require.NoError(t, conn.SendResourceListChanged(t.Context()))
		require.Equal(t, version, out.options[0].Frame.Revision.String())
		require.Equal(t, mcp.Revision20250618, out.options[1].Frame.Revision, "the caller's word is the last")
		require.Equal(t, version, out.options[2].Frame.Revision.String())
	}
	out := new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{
		Client: true, Outbound: out, Meta: []wire.Entry{{Name: "k", Value: json.RawMessage(`1`)}},
	})
	_, err := conn.SendRawRequest(t.Context(), "acme/any", nil)
	require.NoError(t, err)
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(3)}))
	require.Len(t, out.options[0].Frame.Meta, 1)
	require.Empty(t, out.options[1].Frame.Meta)
	require.Equal(t, mcp.Revision20260728, out.options[1].Frame.Revision)
}

// posting is a channel that takes what it is posted.
type posting struct {
	outbound.None
	posted *[]peer.Notification
}

func (p posting) TryNotify(n peer.Notification, _ ...peer.CallOption) bool {
	*p.posted = append(*p.posted, n)
	return true
}

func TestOnlyWhatNeedsNoCareIsPosted(t *testing.T) {
	var posted []peer.Notification
	out := posting{posted: &posted}
	conn := connection.New(out, nil)
	updated := &mcp.ResourceUpdatedNotification{URI: "x:a"}
	require.True(t, outbound.TryNotify(conn, updated))
	require.Equal(t, []peer.Notification{updated}, posted)
	for name, n := range map[string]peer.Notification{
		"reports have an order": &mcp.ProgressNotification{},
		"not in the revision":   &mcp.SubscriptionsAcknowledgedNotification{},
	} {
		require.False(t, outbound.TryNotify(conn, n), name)
	}
	wrapped := connection.New(out, &connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{
		func(out peer.Outbound) peer.Outbound { return out },
	}})
	require.False(t, outbound.TryNotify(wrapped, updated), "what is around the channel may wait")
	require.Len(t, posted, 1)
}
