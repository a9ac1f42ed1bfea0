package connection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// session is a session of a tool call, with the connection's channel and the
// call's.
func session(t *testing.T, version string, caps *mcp.ClientCapabilities) (s *mcp.ServerSession, standalone, related *channel) {
	t.Helper()
	related = new(channel)
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.StringToken("tok")
	conn, standalone := loop(t, version, caps)
	related.frame = conn.Frame
	return connection.Session(conn, in), standalone, related
}

func TestASessionUsesTheChannelOfItsRequest(t *testing.T) {
	s, standalone, related := session(t, "2025-11-25", allCapabilities())
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

func TestTheOptionsOfAViewHoldOnEitherChannel(t *testing.T) {
	s, standalone, related := session(t, "2025-11-25", allCapabilities())
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

func TestASessionKnowsItsPeer(t *testing.T) {
	s, _, _ := session(t, "2025-11-25", allCapabilities())
	require.Equal(t, "2025-11-25", s.Revision().String())
	require.Equal(t, "client", s.ClientInfo().Name)
	require.True(t, s.HasClientCapability(&mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}))
	require.Equal(t, "pipe", s.Transport().Kind())
	require.True(t, s.Transport().CanSendRequest())
}

func TestWhereNoRequestLeadsToTheClientTheTransportSaysSo(t *testing.T) {
	conn := connection.NewForRequest("2026-07-28", nil, allCapabilities(), nil)
	back := new(channel)
	s := connection.Session(conn, request(mcp.MethodCallTool, `{}`, back))
	require.Equal(t, "pipe", s.Transport().Kind())
	require.False(t, s.Transport().CanSendRequest())

	in := request(mcp.MethodCallTool, `{}`, back)
	in.Transport = richTransport{pipe}
	_, kept := connection.Session(conn, in).Transport().(richTransport)
	require.True(t, kept, "a transport that can say so itself keeps its type")

	in.Transport = nil
	require.False(t, connection.Session(conn, in).Transport().CanSendRequest())
}

type richTransport struct{ peer.TransportContext }

func (r richTransport) NotifyOnly() peer.TransportContext {
	return richTransport{peer.NewTransportContext(r.Kind(), false, nil, "")}
}

func TestNothingIsAskedWhereNothingLeadsToTheClient(t *testing.T) {
	ask := func(s *mcp.ServerSession) error {
		_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?"})
		return err
	}
	related := new(channel)
	in := request(mcp.MethodCallTool, `{}`, related)
	modern := connection.NewForRequest("2026-07-28", nil, allCapabilities(), nil)
	refused[*peer.NoBackChannelError](t, related, ask(connection.Session(modern, in)))

	old := connection.NewForRequest("2025-11-25", nil, nil, nil)
	in.Transport = peer.NewTransportContext("http", false, nil, "")
	refused[*peer.NoBackChannelError](t, related, ask(connection.Session(old, in)))

	in.Transport, in.Back = pipe, nil
	refused[*peer.NoBackChannelError](t, related, ask(connection.Session(old, in)))
}

func TestARequestThatTheRevisionLacksIsRefused(t *testing.T) {
	s, _, related := session(t, "2025-03-26", allCapabilities())
	_, err := s.ElicitForm(t.Context(), &mcp.ElicitRequestFormParams{Message: "?"})
	e := refused[*connection.UnsupportedError](t, related, err)
	require.Equal(t, `send "elicitation/create": revision 2025-03-26 does not have the request in this direction`, e.Error())
}

func TestProgressRidesTheRequest(t *testing.T) {
	s, standalone, related := session(t, "2025-11-25", nil)
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

func TestLogsOfAHandshakeSessionAreFilteredByItsLevel(t *testing.T) {
	s, standalone, related := session(t, "2025-11-25", nil)
	conn, out := loop(t, "2025-11-25", nil)
	_ = standalone
	send := func(level mcp.LoggingLevel) (viaSession, viaConnection int) {
		n := &mcp.LoggingMessageNotification{Level: level, Data: json.RawMessage(`"x"`)}
		require.NoError(t, s.SendLogMessage(t.Context(), n))
		require.NoError(t, conn.Log(t.Context(), n))
		return len(related.take()), len(out.take())
	}
	a, b := send("debug")
	require.Equal(t, []int{1, 1}, []int{a, b}, "until a level is set, everything goes")
	conn.State().SetLogLevel("warning")
	a, b = send("notice")
	require.Equal(t, []int{1, 0}, []int{a, b}, "the level is that of one connection")
	_, b = send("warning")
	require.Equal(t, 1, b)
	_, b = send("emergency")
	require.Equal(t, 1, b)
}

func TestLogsWithoutSessionTravelWithTheRequestThatAskedForThem(t *testing.T) {
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
		conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Outbound: standalone})
		s := connection.Session(conn, request(mcp.MethodCallTool, c.params, related))
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

func TestLogsWithoutSessionNeverTravelAlone(t *testing.T) {
	params := `{"name":"x","_meta":{"io.modelcontextprotocol/logLevel":"debug"}}`
	n := &mcp.LoggingMessageNotification{Level: "error", Data: json.RawMessage(`1`)}
	related, standalone := new(channel), new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Outbound: standalone})
	require.NoError(t, conn.Log(t.Context(), n))

	s := connection.Session(conn, request(mcp.MethodCallTool, params, related))
	require.NoError(t, s.With(peer.Standalone()).SendLogMessage(t.Context(), n))
	require.Len(t, related.take(), 1, "the request's own channel even so")

	s = connection.Session(conn, notification("notifications/acme", params, related))
	require.NoError(t, s.SendLogMessage(t.Context(), n))
	require.Empty(t, related.take(), "a notification asks for nothing")
	require.Empty(t, standalone.take())
}

func TestLogsOfAMessagePassedInProcess(t *testing.T) {
	related := new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, nil)
	in := request(mcp.MethodCallTool, "", related)
	in.Value = &mcp.CallToolRequest{Name: "x", Meta: &mcp.RequestMeta{LogLevel: "info"}}
	s := connection.Session(conn, in)
	require.NoError(t, s.SendLogMessage(t.Context(), &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`1`)}))
	require.Len(t, related.take(), 1)
}

func TestSamplingNeedsWhatItUses(t *testing.T) {
	tools := []mcp.Tool{{Name: "x"}}
	for _, c := range []struct {
		version string
		caps    *mcp.ClientCapabilities
		req     mcp.CreateMessageRequest
		missing string
	}{
		{"2025-11-25", nil, mcp.CreateMessageRequest{}, "sampling"},
		{"2025-11-25", &mcp.ClientCapabilities{}, mcp.CreateMessageRequest{}, "sampling"},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{Tools: tools}, "sampling.tools"},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{ToolChoice: &mcp.ToolChoice{}}, "sampling.tools"},
		{"2025-11-25", allCapabilities(), mcp.CreateMessageRequest{Tools: tools, ToolChoice: &mcp.ToolChoice{}}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{IncludeContext: "none"}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{IncludeContext: "allServers"}, "sampling.context"},
		{"2025-06-18", only("sampling"), mcp.CreateMessageRequest{IncludeContext: "allServers"}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{Task: &mcp.TaskMetadata{}}, "tasks.requests.sampling.createMessage"},
	} {
		s, _, related := session(t, c.version, c.caps)
		related.answer = `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`
		c.req.MaxTokens = 1
		_, err := s.CreateMessage(t.Context(), &c.req)
		if c.missing == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, c.missing, refused[*connection.CapabilityError](t, related, err).Capability)
	}
}

func only(path string) *mcp.ClientCapabilities {
	switch path {
	case "sampling":
		return &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}
	case "roots":
		return &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}
	case "elicitation":
		return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	case "elicitation.url":
		return &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{URL: map[string]json.RawMessage{}}}
	}
	panic(path)
}

func TestTheAnswerToToolsMayBeAList(t *testing.T) {
	s, _, related := session(t, "2025-11-25", allCapabilities())
	related.answer = `{"role":"assistant","model":"m","stopReason":"toolUse","content":[` +
		`{"type":"tool_use","id":"1","name":"x","input":{}},{"type":"tool_use","id":"2","name":"x","input":{}}]}`
	res, err := s.CreateMessage(t.Context(), &mcp.CreateMessageRequest{MaxTokens: 1, ToolChoice: &mcp.ToolChoice{Mode: "required"}})
	require.NoError(t, err)
	require.Len(t, res.Content, 2)
}

// turns makes messages of a short notation: "u" text of the user, "a" of the
// assistant, "a+1+2" tool uses, "u-1-2" their results, "~" a text beside them.
func turns(notation string) []mcp.SamplingMessage {
	var messages []mcp.SamplingMessage
	for word := range strings.FieldsSeq(notation) {
		m := mcp.SamplingMessage{Role: mcp.RoleUser}
		if word[0] == 'a' {
			m.Role = mcp.RoleAssistant
		}
		for i := 1; i < len(word); i++ {
			switch word[i] {
			case '+':
				m.Content = append(m.Content, &mcp.ToolUseContent{ID: word[i+1 : i+2], Name: "x", Input: json.RawMessage(`{}`)})
			case '-':
				m.Content = append(m.Content, &mcp.ToolResultContent{ToolUseID: word[i+1 : i+2]})
			case '~':
				m.Content = append(m.Content, mcp.Text("x"))
			}
		}
		if len(word) == 1 {
			m.Content = append(m.Content, mcp.Text("x"))
		}
		messages = append(messages, m)
	}
	return messages
}

func TestEveryToolUseHasItsResult(t *testing.T) {
	for notation, want := range map[string]string{
		"":                             "",
		"u":                            "",
		"u a u":                        "",
		"u a+1 u-1":                    "",
		"u a~+1+2 u-2-1 a u a+1 u-1 a": "",
		"u a+1":                        `messages: tool use "1" has no result`,
		"u a+1 u":                      `messages[2]: tool use "1" of the message before has no result`,
		"u a+1 a u-1":                  `messages[2]: tool use "1" of the message before has no result`,
		"u a+1+2 u-1":                  `messages[2]: tool use "2" of the message before has no result`,
		"u a+1 u-1-2":                  `messages[2]: result "2" answers no tool use of the message before, or answers it twice`,
		"u a+1 u-1-1":                  `messages[2]: result "1" answers no tool use of the message before, or answers it twice`,
		"u-1":                          `messages[0]: result "1" answers no tool use of the message before, or answers it twice`,
		"u a+1 u-1~":                   `messages[2]: a message with results of tools has nothing else`,
		"u+1 u-1":                      `messages[0]: only the assistant uses tools`,
		"u a+1 a-1":                    `messages[2]: only the user has results of tools`,
		"u a+1+1 u-1":                  `messages[1]: two tool uses have the id "1"`,
		// Nothing is wrong with the last two messages here.
		"u a+1 u a u": `messages[2]: tool use "1" of the message before has no result`,
	} {
		s, _, related := session(t, "2025-11-25", allCapabilities())
		related.answer = `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`
		_, err := s.CreateMessage(t.Context(), &mcp.CreateMessageRequest{MaxTokens: 1, Messages: turns(notation)})
		if want == "" {
			require.NoError(t, err, notation)
			continue
		}
		e := refused[*connection.InvalidError](t, related, err)
		require.Equal(t, `send "sampling/createMessage": `+want, e.Error(), notation)
	}
}

func TestAMissingCapabilityIsTheErrorOfTheRevision(t *testing.T) {
	modern := &connection.CapabilityError{
		Method: mcp.MethodElicit, Capability: "elicitation.url",
		Required: only("elicitation.url"), Revision: mcp.Revision20260728,
	}
	e := peer.AsError(fmt.Errorf("ask: %w", modern))
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapability, e.Code)
	require.JSONEq(t, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`, string(e.Data))

	old := *modern
	old.Revision = mcp.Revision20251125
	e = peer.AsError(fmt.Errorf("ask: %w", &old))
	require.EqualValues(t, mcp.CodeInvalidRequest, e.Code, "no code is invented for a revision that has none")
	require.Equal(t, `The client did not declare the capability "elicitation.url", which the request needs`, e.Message)
	require.JSONEq(t, `{"requiredCapabilities":{"elicitation":{"url":{}}}}`, string(e.Data))
	require.Nil(t, peer.AsError(&connection.CapabilityError{Capability: "tools"}), "a server's own business")
	require.Equal(t, `send "elicitation/create": the peer did not declare the capability "elicitation.url"`, old.Error())
}

func TestTheSessionOfAClient(t *testing.T) {
	out, related := new(channel), &channel{answer: `{"tools":[]}`}
	conn := connection.New(out, &connection.Options{Client: true})
	s := connection.ClientSession(conn, request(mcp.MethodCreateMessage, `{}`, related))
	_, err := s.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.NoError(t, s.SendRootsListChanged(t.Context()))
	require.Len(t, related.take(), 1)
	require.Len(t, related.progress, 1)
	require.Len(t, out.take(), 1)

	conn.State().SetClient(new(mcp.Implementation), new(mcp.ClientCapabilities))
	require.NoError(t, s.SendRootsListChanged(t.Context()))
	require.Empty(t, out.take(), "it was not declared")

	conn.SetRevision(mcp.Revision20260728)
	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 2}))
	require.Len(t, related.progress, 1, "only servers report there")
}

// Each helper of a server's session, and which channel what it sends takes: that
// of the request being handled, or the connection's own.
func TestEveryHelperOfASessionTakesItsChannel(t *testing.T) {
	const related, standalone = "related", "standalone"
	s, alone, back := session(t, "2025-11-25", allCapabilities())
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

func TestOutsideAHandlerThereIsNoSession(t *testing.T) {
	require.Nil(t, connection.FromContext(t.Context()))
	require.Nil(t, connection.ClientSessionFromContext(t.Context()))
	require.Nil(t, connection.RoundFromContext(t.Context()))
	k := newKernel(func(o *connection.DispatcherOptions) {
		peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
			require.NotNil(t, mcp.SessionFromContext(ctx))
			require.Nil(t, connection.ClientSessionFromContext(ctx), "a server's handler has no client's session")
			return &weather{}, nil
		})
	})
	_, err := k.ServeStateless(t.Context(), request("acme/late", pair, nil), nil)
	require.NoError(t, err)
}

func TestWithoutSessionReportsAndNotificationsHaveTheirChannels(t *testing.T) {
	related, standalone := new(channel), new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Outbound: standalone})
	in := request(mcp.MethodCallTool, `{"name":"x"}`, related)
	in.Token = wire.StringToken("tok")
	s := connection.Session(conn, in)

	require.NoError(t, s.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
	require.Equal(t, []peer.Progress{{Progress: 1}}, related.progress)
	require.NoError(t, s.SendProgress(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.IntToken(5), Progress: 1}))
	require.Empty(t, related.take(), "nobody asked for this one")
	require.NoError(t, s.SendProgress(t.Context(), &mcp.ProgressNotification{
		ProgressToken: in.Token, Progress: 2, Extra: map[string]json.RawMessage{"more": json.RawMessage("1")}}))
	require.Len(t, related.take(), 1, "a report by hand")

	require.NoError(t, peer.SendNotification(t.Context(), s, new(weatherChanged)))
	require.Len(t, related.take(), 1)
	require.NoError(t, peer.SendNotification(t.Context(), s, new(mcp.ToolListChangedNotification)))
	require.Empty(t, related.take(), "it travels on subscriptions only")
	require.NoError(t, peer.SendNotification(t.Context(), s.Standalone(), new(weatherChanged)))
	require.Len(t, standalone.take(), 1)
	require.Empty(t, related.take())
}

func TestAReportWithMoreToSayIsSentAsItIs(t *testing.T) {
	s, _, related := session(t, "2025-11-25", nil)
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

func TestWhatIsDeclaredDoesNotMakeMessagesRight(t *testing.T) {
	for name, req := range map[string]mcp.CreateMessageRequest{
		"with tools":   {Tools: []mcp.Tool{{Name: "x"}}},
		"with context": {IncludeContext: "allServers"},
		"as a task":    {Task: &mcp.TaskMetadata{}},
	} {
		s, _, related := session(t, "2025-11-25", allCapabilities())
		req.MaxTokens, req.Messages = 1, turns("u a+1")
		_, err := s.CreateMessage(t.Context(), &req)
		require.NotNil(t, refused[*connection.InvalidError](t, related, err), name)
	}
	s, _, related := session(t, "2025-11-25", &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: map[string]json.RawMessage{}}})
	_, err := s.CreateMessage(t.Context(), &mcp.CreateMessageRequest{Tools: []mcp.Tool{{Name: "x"}}, IncludeContext: "allServers"})
	require.Equal(t, "sampling.context", refused[*connection.CapabilityError](t, related, err).Capability)
}
