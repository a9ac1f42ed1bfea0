package connection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestSessionUsesTheChannelOfItsRequest(t *testing.T) {
	s, standalone, related := newSession(t, "2025-11-25", allCapabilities())
	related.answer, standalone.answer = `{"roots":[]}`, `{"roots":[]}`
	message := &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`1`)}

	_, err := s.ListRoots(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.SendLogMessage(t.Context(), message))
	require.Len(t, related.take(), 2)
	require.Empty(t, standalone.take())

	own := s.With(peer.Standalone())
	_, err = own.ListRoots(t.Context())
	require.NoError(t, err)
	require.NoError(t, own.SendLogMessage(t.Context(), message))
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, s.SendToolListChanged(t.Context()))
	require.Empty(t, related.take())
	require.Len(t, standalone.take(), 4)
}

func TestSessionWithOptionsOnBothChannels(t *testing.T) {
	s, standalone, related := newSession(t, "2025-11-25", allCapabilities())
	related.answer, standalone.answer = `{"roots":[]}`, `{"roots":[]}`
	view := s.With(peer.WithTimeout(time.Minute))
	require.NoError(t, view.Ping(t.Context()))
	_, err := view.With(peer.Standalone()).ListRoots(t.Context())
	require.NoError(t, err)
	_, err = view.ListRoots(t.Context())
	require.NoError(t, err)
	for _, o := range append(standalone.options, related.options...) {
		require.Equal(t, new(time.Minute), o.Timeout)
	}
	require.Len(t, standalone.options, 2)
}

func TestSessionDescribesThePeer(t *testing.T) {
	s, _, _ := newSession(t, "2025-11-25", allCapabilities())
	require.Equal(t, "2025-11-25", s.Revision().String())
	require.Equal(t, "client", s.ClientInfo().Name)
	require.True(t, s.HasClientCapability(&mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}))
	require.Equal(t, "pipe", s.Transport().Kind())
	require.True(t, s.Transport().CanSendRequest())
}

func TestTransportCannotSendRequestsInStatelessRevision(t *testing.T) {
	conn := connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), nil)
	back := new(channel)
	s := conn.ServerSession(request(mcp.MethodCallTool, `{}`, back))
	require.Equal(t, "pipe", s.Transport().Kind())
	require.False(t, s.Transport().CanSendRequest())

	in := request(mcp.MethodCallTool, `{}`, back)
	in.Transport = customTransport{testTransport}
	_, kept := conn.ServerSession(in).Transport().(customTransport)
	require.True(t, kept, "a transport with the method NotifyOnly keeps its type")

	in.Transport = nil
	require.False(t, conn.ServerSession(in).Transport().CanSendRequest())
}

type customTransport struct{ peer.TransportContext }

func (r customTransport) NotifyOnly() peer.TransportContext {
	return customTransport{peer.NewTransportContext(r.Kind(), false, nil, "")}
}

func TestRequestsWithoutBackChannelFail(t *testing.T) {
	ask := func(s *mcp.ServerSession) error {
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?"})
		return err
	}
	related := new(channel)
	in := request(mcp.MethodCallTool, `{}`, related)
	modern := connection.NewForRequest(mcp.Revision20260728, nil, allCapabilities(), nil)
	requireRefused[*peer.NoBackChannelError](t, related, ask(modern.ServerSession(in)))

	old := connection.NewForRequest(mcp.Revision20251125, nil, nil, nil)
	in.Transport = peer.NewTransportContext("http", false, nil, "")
	requireRefused[*peer.NoBackChannelError](t, related, ask(old.ServerSession(in)))

	in.Transport, in.Back = testTransport, nil
	requireRefused[*peer.NoBackChannelError](t, related, ask(old.ServerSession(in)))
}

func TestRequestOutsideRevisionFails(t *testing.T) {
	s, _, related := newSession(t, "2025-03-26", allCapabilities())
	_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?"})
	e := requireRefused[*connection.UnsupportedError](t, related, err)
	require.Equal(t, `send "elicitation/create": revision 2025-03-26 does not have the request in this direction`, e.Error())
}

func TestProgressUsesTheChannelOfTheRequest(t *testing.T) {
	s, standalone, related := newSession(t, "2025-11-25", nil)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.NoError(t, s.SendProgress(t.Context(), &mcp.ProgressNotification{
		ProgressToken: wire.StringToken("tok"), Progress: 2, Message: "two",
	}))
	require.Equal(t, []peer.Progress{{Progress: 1}, {Progress: 2, Message: "two"}}, related.progress,
		"reports about the request itself are counted together")
	require.NoError(t, s.SendProgress(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(5), Progress: 1}))
	require.Len(t, related.take(), 1)
	require.Empty(t, standalone.take())
}

func TestHandshakeLogLevel(t *testing.T) {
	s, standalone, related := newSession(t, "2025-11-25", nil)
	conn, out := connect(t, "2025-11-25", nil)
	_ = standalone
	send := func(level mcp.LoggingLevel) (viaSession, viaConnection int) {
		n := &mcp.LoggingMessageNotification{Level: level, Data: json.RawMessage(`"x"`)}
		require.NoError(t, s.SendLogMessage(t.Context(), n))
		require.NoError(t, conn.Log(t.Context(), n))
		return len(related.take()), len(out.take())
	}
	a, b := send("debug")
	require.Equal(t, []int{1, 1}, []int{a, b}, "without a level all messages are sent")
	conn.State().SetLogLevel("warning")
	a, b = send("notice")
	require.Equal(t, []int{1, 0}, []int{a, b}, "other connections have their own level")
	_, b = send("warning")
	require.Equal(t, 1, b)
	_, b = send("emergency")
	require.Equal(t, 1, b)
}

func TestStatelessLogLevel(t *testing.T) {
	meta := `{"name":"x","_meta":{"io.modelcontextprotocol/logLevel":%s}}`
	for _, c := range []struct {
		params string
		sent   []string
	}{
		{`{"name":"x"}`, nil},
		{`{"name":"x","_meta":{}}`, nil},
		{`{"name":"x","_meta":null}`, nil},
		{fmt.Sprintf(meta, `"info"`), []string{"info", "error"}},
		{fmt.Sprintf(meta, `"debug"`), []string{"debug", "info", "error"}},
		{fmt.Sprintf(meta, `"error"`), []string{"error"}},
		{fmt.Sprintf(meta, `"emergency"`), nil},
		{fmt.Sprintf(meta, `"loud"`), nil},
		{fmt.Sprintf(meta, `3`), nil},
	} {
		related, standalone := new(channel), new(channel)
		conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: standalone})
		s := conn.ServerSession(request(mcp.MethodCallTool, c.params, related))
		var sent []string
		for _, level := range []mcp.LoggingLevel{"debug", "info", "error"} {
			n := &mcp.LoggingMessageNotification{Level: level, Data: json.RawMessage(`1`)}
			require.NoError(t, s.SendLogMessage(t.Context(), n))
			if len(related.take()) > 0 {
				sent = append(sent, string(level))
			}
		}
		require.Equal(t, c.sent, sent, c.params)
		require.Empty(t, standalone.take())
	}
}

func TestStatelessLogsUseTheChannelOfTheRequest(t *testing.T) {
	params := `{"name":"x","_meta":{"io.modelcontextprotocol/logLevel":"debug"}}`
	n := &mcp.LoggingMessageNotification{Level: "error", Data: json.RawMessage(`1`)}
	related, standalone := new(channel), new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: standalone})
	require.NoError(t, conn.Log(t.Context(), n))

	s := conn.ServerSession(request(mcp.MethodCallTool, params, related))
	require.NoError(t, s.With(peer.Standalone()).SendLogMessage(t.Context(), n))
	require.Len(t, related.take(), 1, "sent on the channel of the request")

	s = conn.ServerSession(notification("notifications/acme", params, related))
	require.NoError(t, s.SendLogMessage(t.Context(), n))
	require.Empty(t, related.take(), "a notification has no log level")
	require.Empty(t, standalone.take())
}

func TestLogLevelOfInProcessMessage(t *testing.T) {
	related := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, nil)
	in := request(mcp.MethodCallTool, "", related)
	in.Value = &mcp.CallToolRequest{Name: "x", Meta: &mcp.RequestMeta{LogLevel: "info"}}
	s := conn.ServerSession(in)
	require.NoError(t, s.SendLogMessage(t.Context(), &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`1`)}))
	require.Len(t, related.take(), 1)
}

func TestClientSession(t *testing.T) {
	out, related := new(channel), &channel{answer: `{"tools":[]}`}
	conn := connection.New(out, &connection.Options{Client: true})
	s := conn.ClientSession(request(mcp.MethodCreateMessage, `{}`, related))
	_, err := s.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.NoError(t, s.SendRootsListChanged(t.Context()))
	require.Len(t, related.take(), 1)
	require.Len(t, related.progress, 1)
	require.Len(t, out.take(), 1)

	conn.State().SetClient(new(mcp.Implementation), new(mcp.ClientCapabilities))
	require.NoError(t, s.SendRootsListChanged(t.Context()))
	require.Empty(t, out.take(), "the capability was not declared")

	conn.SetRevision(mcp.Revision20260728)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 2}))
	require.Len(t, related.progress, 1, "clients do not report progress in this revision")
}

// TestSessionHelpersUseTheRightChannel checks for each method of a server's session whether it
// uses the channel of the request being handled or the connection's own.
func TestSessionHelpersUseTheRightChannel(t *testing.T) {
	const related, standalone = "related", "standalone"
	s, alone, back := newSession(t, "2025-11-25", allCapabilities())
	ctx, note := t.Context(), json.RawMessage(`1`)
	back.answer = `{"action":"decline","roots":[],"role":"assistant","model":"m","content":{"type":"text","text":"t"}}`
	for _, helper := range []struct {
		method, channel string
		send            func() error
	}{
		{mcp.MethodCreateMessage, related, func() error {
			_, err := s.CreateMessage(ctx, &mcp.CreateMessageRequest{MaxTokens: 1})
			return err
		}},
		{mcp.MethodListRoots, related, func() error { _, err := s.ListRoots(ctx); return err }},
		{mcp.MethodElicit, related, func() error {
			_, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "?"})
			return err
		}},
		{mcp.MethodElicit, related, func() error {
			_, err := s.ElicitURL(ctx, &mcp.ElicitRequestURLParams{Message: "?", URL: "https://a.b", ElicitationID: "e"})
			return err
		}},
		{mcp.MethodElicitationComplete, related, func() error {
			return s.SendElicitComplete(ctx, &mcp.ElicitationCompleteNotification{ElicitationID: "e"})
		}},
		{mcp.MethodLoggingMessage, related, func() error {
			return s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: "info", Data: note})
		}},
		{mcp.MethodProgress, related, func() error {
			return s.SendProgress(ctx, &mcp.ProgressNotification{ProgressToken: wire.IntToken(9), Progress: 1})
		}},
		{mcp.MethodPing, standalone, func() error { return s.Ping(ctx) }},
		{mcp.MethodToolListChanged, standalone, func() error { return s.SendToolListChanged(ctx) }},
		{mcp.MethodPromptListChanged, standalone, func() error { return s.SendPromptListChanged(ctx) }},
		{mcp.MethodResourceListChanged, standalone, func() error { return s.SendResourceListChanged(ctx) }},
		{mcp.MethodResourceUpdated, standalone, func() error {
			return s.SendResourceUpdated(ctx, &mcp.ResourceUpdatedNotification{URI: "a:b"})
		}},
	} {
		require.NoError(t, helper.send(), helper.method)
		sent := map[string][]string{related: back.take(), standalone: alone.take()}
		require.Len(t, sent[helper.channel], 1, helper.method)
		require.Contains(t, sent[helper.channel][0], `"method":"`+helper.method+`"`)
		require.Len(t, slices.Concat(sent[related], sent[standalone]), 1, helper.method)
	}
}

func TestNoSessionOutsideOfHandler(t *testing.T) {
	require.Nil(t, connection.FromContext(t.Context()))
	require.Nil(t, connection.ClientSessionFromContext(t.Context()))
	require.Nil(t, connection.RoundFromContext(t.Context()))
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
			require.NotNil(t, mcp.SessionFromContext(ctx))
			require.Nil(t, connection.ClientSessionFromContext(ctx), "the handler of a server")
			return &weather{}, nil
		})
	})
	_, err := k.ServeStateless(t.Context(), request("acme/late", minimalParams, nil), nil)
	require.NoError(t, err)
}

func TestStatelessProgressAndNotificationChannels(t *testing.T) {
	related, standalone := new(channel), new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{Outbound: standalone})
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.StringToken("tok")
	s := conn.ServerSession(in)

	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.Equal(t, []peer.Progress{{Progress: 1}}, related.progress)
	require.NoError(t, s.SendProgress(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(5), Progress: 1}))
	require.Empty(t, related.take(), "the request has no such progress token")
	require.NoError(t, s.SendProgress(t.Context(), &mcp.ProgressNotification{
		ProgressToken: in.Token, Progress: 2, Extra: map[string]json.RawMessage{"more": json.RawMessage("1")}}))
	require.Len(t, related.take(), 1, "a progress notification")

	require.NoError(t, peer.SendNotification(t.Context(), s, new(weatherChanged)))
	require.Len(t, related.take(), 1)
	require.NoError(t, peer.SendNotification(t.Context(), s, new(mcp.ToolListChangedNotification)))
	require.Empty(t, related.take(), "only subscriptions carry it")
	require.NoError(t, peer.SendNotification(t.Context(), s.Standalone(), new(weatherChanged)))
	require.Len(t, standalone.take(), 1)
	require.Empty(t, related.take())
}

func TestProgressNotificationWithMetaIsSentUnchanged(t *testing.T) {
	s, _, related := newSession(t, "2025-11-25", nil)
	more := map[string]json.RawMessage{"a": json.RawMessage(`1`)}
	for _, n := range []*mcp.ProgressNotification{
		{ProgressToken: wire.StringToken("tok"), Progress: 1, Extra: more},
		{ProgressToken: wire.StringToken("tok"), Progress: 1, Meta: &mcp.NotificationMeta{Extra: more}},
	} {
		require.NoError(t, s.SendProgress(t.Context(), n))
		require.Empty(t, related.progress)
		require.Contains(t, related.take()[0], `"a":1`)
	}
}
