package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAConnectionFromAnEnvelopeIsReadyAndLeadsNowhere(t *testing.T) {
	conn := connection.NewForRequest("2026-07-28", someInfo, allCapabilities(), nil)
	require.True(t, closed(conn.Initialized()))
	require.True(t, conn.InitializeAccepted())
	require.True(t, conn.State().Initialized())
	require.False(t, conn.HasStandaloneChannel())
	require.Equal(t, "2026-07-28", conn.Revision().String())
	require.Equal(t, "client", conn.ClientInfo().Name)
	require.Equal(t, mcp.LatestRevision.String(), connection.NewForRequest("nonsense", nil, nil, nil).Revision().String())

	var none *peer.NoBackChannelError
	require.ErrorAs(t, conn.Ping(t.Context()), &none)
	require.Equal(t, mcp.MethodPing, none.Method)
	require.NoError(t, conn.SendToolListChanged(t.Context()))
}

func TestAnEnvelopeConnectionWithAChannelOnlyNotifies(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest("2026-07-28", someInfo, allCapabilities(), &connection.Options{Outbound: out})
	require.True(t, conn.HasStandaloneChannel())

	_, err := peer.SendRequest(t.Context(), conn, &mcp.ListRootsRequest{})
	refused[*peer.NoBackChannelError](t, out, err)
	_, err = peer.SendRequest(t.Context(), conn.Outbound(), &mcp.ListRootsRequest{})
	refused[*peer.NoBackChannelError](t, out, err)
	_, err = conn.SendRawRequest(t.Context(), "acme/anything", nil)
	refused[*peer.NoBackChannelError](t, out, err)

	require.NoError(t, conn.Notify(t.Context(), new(weatherChanged)))
	require.Len(t, out.take(), 1)
}

func TestAnEnvelopeWithoutInfoStillHasCapabilities(t *testing.T) {
	conn := connection.NewForRequest("2026-07-28", nil, &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}, nil)
	require.Nil(t, conn.ClientInfo())
	require.True(t, conn.HasClientCapability(&mcp.ClientCapabilities{Roots: &mcp.RootsCapability{}}))

	conn = connection.NewForRequest("2026-07-28", someInfo, nil, nil)
	require.Equal(t, someInfo, conn.ClientInfo())
	require.Nil(t, conn.State().ClientCapabilities())
	require.False(t, conn.HasClientCapability(&mcp.ClientCapabilities{}))
}

func TestALoopConnectionAlwaysHasAVersion(t *testing.T) {
	require.Equal(t, mcp.LatestHandshakeRevision.String(), connection.New(nil, nil).Revision().String())
	for hint, want := range map[string]string{
		"2025-03-26": "2025-03-26", "2026-07-28": mcp.LatestHandshakeRevision.String(), "nonsense": mcp.LatestHandshakeRevision.String(),
	} {
		conn := connection.New(nil, &connection.Options{VersionHint: hint, SessionID: "s1"})
		require.Equal(t, want, conn.Revision().String())
		require.Equal(t, "s1", conn.SessionID())
		require.False(t, conn.HasStandaloneChannel())
		require.False(t, conn.InitializeAccepted())
		require.False(t, closed(conn.Initialized()))
	}
}

func TestInitializedIsTheSameChannelBeforeAndAfter(t *testing.T) {
	conn := connection.New(nil, nil)
	before := conn.Initialized()
	conn.State().SetInitialized()
	conn.State().SetInitialized()
	require.True(t, closed(before))
	require.Equal(t, before, conn.Initialized())
	require.True(t, conn.InitializeAccepted(), "a bare confirmation opens the gate")

	late := connection.New(nil, nil)
	late.State().SetInitialized()
	require.True(t, closed(late.Initialized()))
}

func TestParamsBringCapabilitiesAndLeaveThemBehind(t *testing.T) {
	conn := connection.New(nil, nil)
	conn.State().SetClient(new(mcp.Implementation), allCapabilities())
	require.True(t, conn.InitializeAccepted())
	conn.State().SetClient(nil, nil)
	require.Nil(t, conn.ClientInfo())
	require.True(t, conn.HasClientCapability(&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}))
}

func TestANotificationThatCannotBeDeliveredIsDroppedAndLogged(t *testing.T) {
	for name, out := range map[string]peer.Outbound{
		"broken": &channel{broken: errors.New("pipe is broken")},
		"closed": &channel{broken: &peer.ClosedError{Method: "x"}},
	} {
		log := new(journal)
		conn := connection.New(out, &connection.Options{Logger: slog.New(log)})
		require.NoError(t, conn.SendToolListChanged(t.Context()), name)
		require.Equal(t, 1, log.count(), name)
	}
	require.NoError(t, connection.New(nil, nil).SendToolListChanged(t.Context()))
}

func TestANotificationThatCannotBeWrittenIsAnError(t *testing.T) {
	conn, out := loop(t, "2025-11-25", nil)
	err := conn.Log(t.Context(), &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`{`)})
	refused[*wire.EncodeError](t, out, err)
	err = conn.Log(t.Context(), &mcp.LoggingMessageNotification{Level: "loud", Data: json.RawMessage(`1`)})
	refused[*wire.EncodeError](t, out, err)
}

func TestChangesAreAnnouncedWithoutParams(t *testing.T) {
	conn, out := loop(t, "2025-11-25", nil)
	require.NoError(t, conn.SendToolListChanged(t.Context()))
	require.NoError(t, conn.SendPromptListChanged(t.Context()))
	require.NoError(t, conn.SendResourceListChanged(t.Context()))
	require.NoError(t, conn.SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:b"}))
	require.NoError(t, conn.Notify(t.Context(), &mcp.ToolListChangedNotification{Meta: &mcp.NotificationMeta{
		Extra: map[string]json.RawMessage{"a": json.RawMessage("1")},
	}}))
	require.Equal(t, []string{
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"a":1}}}`,
	}, out.take())
}

func TestWhatTravelsOnSubscriptionsIsDroppedElsewhere(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Outbound: out})
	require.NoError(t, conn.SendToolListChanged(t.Context()))
	require.NoError(t, conn.SendPromptListChanged(t.Context()))
	require.NoError(t, conn.SendResourceListChanged(t.Context()))
	require.NoError(t, conn.SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:b"}))
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(1)}))
	require.NoError(t, conn.Notify(t.Context(), &mcp.ElicitationCompleteNotification{ElicitationID: "e"}))
	call := connection.Session(conn, request(mcp.MethodCallTool, `{"name":"x"}`, out))
	require.NoError(t, call.SendCancelled(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(7)}))
	require.Empty(t, out.take())

	listen := connection.Session(conn, request(mcp.MethodSubscriptionsListen, `{"notifications":{}}`, out))
	meta := &mcp.NotificationMeta{SubscriptionID: wire.IntID(7)}
	require.NoError(t, listen.Notify(t.Context(), &mcp.ToolListChangedNotification{Meta: meta}))
	require.NoError(t, listen.SendCancelled(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(7)}))
	require.NoError(t, listen.SendCancelled(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(8)}))
	require.Len(t, out.take(), 2)
}

func TestASubscriptionCarriesNeitherLogsNorReports(t *testing.T) {
	related, standalone := new(channel), new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Outbound: standalone})
	in := request(mcp.MethodSubscriptionsListen, `{"notifications":{},"_meta":{"progressToken":"tok","io.modelcontextprotocol/logLevel":"debug"}}`, related)
	in.Token = wire.StringToken("tok")
	listen := connection.Session(conn, in)
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

func TestAServerDoesNotSendWhatItDidNotDeclare(t *testing.T) {
	conn, out := loop(t, "2025-11-25", nil)
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
	require.Empty(t, out.take(), "to have something is not to announce its changes")
}

func TestAStrictClientAsksForWhatCouldNotBeDeclared(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26"} {
		out := &channel{answer: `{"completion":{"values":[]}}`}
		conn := connection.New(out, &connection.Options{Client: true, Strict: true, VersionHint: revision})
		conn.State().SetServerCapabilities(&mcp.ServerCapabilities{})
		_, err := mcp.ServerPeer{Outbound: conn}.Complete(t.Context(), &mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: "p"}})
		if revision == "2024-11-05" {
			require.NoError(t, err, "the capability came later than the request")
			out.take()
			_, err = mcp.ServerPeer{Outbound: conn}.ListTools(t.Context(), &mcp.ListToolsRequest{})
			require.Equal(t, "tools", refused[*connection.CapabilityError](t, out, err).Capability, "the others did not")
			continue
		}
		require.Equal(t, "completions", refused[*connection.CapabilityError](t, out, err).Capability)
	}
}

func TestTypedRequestsBringTheirOwnResult(t *testing.T) {
	conn, out := loop(t, "2025-11-25", allCapabilities())
	out.answer = `{"roots":[{"uri":"file:///a"}]}`
	roots, err := peer.SendRequest(t.Context(), conn, &mcp.ListRootsRequest{})
	require.NoError(t, err)
	require.Equal(t, "file:///a", roots.Roots[0].URI)

	out.answer = `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`
	message, err := peer.SendRequest(t.Context(), conn, &mcp.CreateMessageRequest{MaxTokens: 1})
	require.NoError(t, err)
	require.Equal(t, "m", message.Model)

	out.answer = `{"action":"decline"}`
	answer, err := peer.SendRequest(t.Context(), conn, &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{Message: "?"}})
	require.NoError(t, err)
	require.Equal(t, mcp.ElicitActionDecline, answer.Action)

	out.answer = `{}`
	require.NoError(t, conn.Ping(t.Context()))

	out.answer = `{"sky":"blue"}`
	weather, err := peer.SendRequest(t.Context(), conn, &weatherRequest{Place: "here"})
	require.NoError(t, err)
	require.Equal(t, "blue", weather.Sky)
}

func TestAnAnswerOfTheWrongShapeIsTheCallersError(t *testing.T) {
	conn, out := loop(t, "2025-11-25", allCapabilities())
	for _, answer := range []string{`{"roots":1}`, `{"Roots":[]}`, `{"role":"assistant"}`} {
		out.answer = answer
		_, err := peer.SendRequest(t.Context(), conn, &mcp.ListRootsRequest{})
		var decode *wire.DecodeError
		require.ErrorAs(t, err, &decode, answer)
	}
	out.answer = `{"stop_reason":"x","role":"assistant","content":[],"model":"m"}`
	message, err := peer.SendRequest(t.Context(), conn, &mcp.CreateMessageRequest{MaxTokens: 1})
	require.NoError(t, err)
	require.Empty(t, message.StopReason, "only the spelling of the wire counts")
}

func TestAnAnswerOfAnUnknownKindIsTheCallersError(t *testing.T) {
	client := func(version string) (*connection.Connection, *channel) {
		out := new(channel)
		conn := connection.NewForRequest(version, nil, nil, &connection.Options{Outbound: out, Client: true})
		out.frame = conn.Frame
		return conn, out
	}
	conn, out := client("2026-07-28")
	for answer, whole := range map[string]bool{
		`{"content":[],"resultType":"complete"}`: true,
		`{"content":[]}`:                         true,
		`{"content":[],"resultType":"task"}`:     false,
		`{"taskId":"1","resultType":"task"}`:     false,
		`{"content":[],"resultType":""}`:         true,
	} {
		out.answer = answer
		_, err := peer.SendRequest(t.Context(), conn, &mcp.CallToolRequest{Name: "echo"})
		if whole {
			require.NoError(t, err, answer)
			continue
		}
		var invalid *connection.InvalidError
		require.ErrorAs(t, err, &invalid, answer)
		require.True(t, invalid.Answer)
		require.EqualError(t, err, `answer to "tools/call": no result of the type "task" was asked for`)
	}
	out.answer = `{"tools":[],"resultType":"input_required","inputRequests":{}}`
	_, err := peer.SendRequest(t.Context(), conn, &mcp.ListToolsRequest{})
	require.ErrorContains(t, err, "input_required", "a list asks nothing")
	out.answer = `{"sky":"blue","resultType":"task"}`
	_, err = peer.SendRequest(t.Context(), conn, &weatherRequest{"here"})
	require.NoError(t, err, "a type of one's own knows its kinds")

	conn, out = client("2025-11-25")
	out.answer = `{"content":[],"resultType":"task"}`
	res, err := peer.SendRequest(t.Context(), conn, &mcp.CallToolRequest{Name: "echo"})
	require.NoError(t, err, "the revision has no kinds")
	require.Contains(t, res.Extra, "resultType")
	conn = connection.NewForRequest("2025-11-25", nil, nil, &connection.Options{Outbound: sharing{}, Client: true})
	_, err = peer.SendRequest(t.Context(), conn, &mcp.CallToolRequest{Name: "echo"})
	require.NoError(t, err, "also where the answer is never written down")
}

// sharing passes an answer on as it is.
type sharing struct{ outbound.None }

func (sharing) Call(_ context.Context, _ peer.Message, res wire.Value, _ ...peer.CallOption) error {
	*res.(*mcp.CallToolResult) = mcp.CallToolResult{ResultType: "task"}
	return nil
}

func TestAPeersErrorHasTheTypeOfItsCode(t *testing.T) {
	out := &channel{refusal: &peer.Error{
		Code: mcp.CodeUnsupportedProtocolVersion, Data: json.RawMessage(`{"requested":"a","supported":["b"]}`),
	}}
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Outbound: out, Client: true})
	_, err := peer.SendRequest(t.Context(), conn, &mcp.DiscoverRequest{})
	var unsupported *mcp.UnsupportedProtocolVersionError
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, []string{"b"}, unsupported.Supported)
	var plain *peer.Error
	require.ErrorAs(t, err, &plain)

	out.refusal = fmt.Errorf(`POST "/mcp": 400 Bad Request: %w`, out.refusal)
	_, over := peer.SendRequest(t.Context(), conn, &mcp.DiscoverRequest{})
	require.ErrorAs(t, over, &unsupported)
	require.ErrorIs(t, over, out.refusal)
	require.EqualError(t, over, `POST "/mcp": 400 Bad Request: `+err.Error(), "a transport adds to what is said, and takes nothing away")
}

func TestOptionsReachTheChannelAsTheyAre(t *testing.T) {
	conn, out := loop(t, "2025-11-25", nil)
	require.NoError(t, conn.Ping(t.Context(), peer.WithTimeout(0), peer.WithID(wire.StringID("mine"))))
	require.NoError(t, conn.Ping(t.Context()))
	require.Equal(t, time.Duration(0), *out.options[0].Timeout)
	require.Equal(t, wire.StringID("mine"), out.options[0].ID)
	require.Nil(t, out.options[1].Timeout)
}

func TestRawRequests(t *testing.T) {
	conn, out := loop(t, "2025-06-18", new(mcp.ClientCapabilities))
	out.answer = `{"any": ["thing"]}`
	res, err := conn.SendRawRequest(t.Context(), "acme/any", json.RawMessage(`{"b":1,"a":{"c":[]},"_meta":{"k":"v"}}`))
	require.NoError(t, err)
	require.JSONEq(t, out.answer, string(res))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"acme/any","params":{"b":1,"a":{"c":[]},"_meta":{"k":"v"}}}`, out.take()[0])

	_, err = conn.SendRawRequest(t.Context(), "acme/any", nil)
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"acme/any","params":{}}`, out.take()[0])

	_, err = conn.SendRawRequest(t.Context(), "acme/any", json.RawMessage(`[]`))
	refused[*connection.InvalidError](t, out, err)
	_, err = connection.New(nil, nil).SendRawRequest(t.Context(), "acme/any", nil)
	require.Equal(t, `send "acme/any": no channel for requests to the peer`, err.Error())
}

func TestRawRequestsPassTheSameChecks(t *testing.T) {
	conn, out := loop(t, "2025-11-25", &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})
	for _, params := range []string{
		`{"mode":"url","message":"?","url":"https://a.b","elicitationId":"e"}`,
		`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`,
	} {
		_, err := conn.SendRawRequest(t.Context(), mcp.MethodElicit, json.RawMessage(params))
		require.Error(t, err)
		require.Empty(t, out.take())
	}
	conn, out = loop(t, "2025-11-25", allCapabilities())
	_, err := conn.SendRawRequest(t.Context(), mcp.MethodCreateMessage, json.RawMessage(`{"messages":"none","maxTokens":1}`))
	refused[*connection.InvalidError](t, out, err)
}

func TestTheMetaOfAClientIsOnItsRequestsOnly(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{
		Client: true, Outbound: out,
		Meta: []wire.Entry{{Name: "io.modelcontextprotocol/protocolVersion", Value: json.RawMessage(`"2026-07-28"`)}},
	})
	out.frame = conn.Frame
	_, err := conn.SendRawRequest(t.Context(), "acme/any", nil)
	require.NoError(t, err)
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(3)}))
	require.Equal(t, []string{
		`{"jsonrpc":"2.0","id":1,"method":"acme/any","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
	}, out.take())
}

func TestAClientDoesNotSendWhatTheRevisionLacks(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest("2026-07-28", nil, nil, &connection.Options{Client: true, Outbound: out})
	server := mcp.ServerPeer{Outbound: conn}
	_, err := server.SetLevel(t.Context(), &mcp.SetLevelRequest{Level: "info"})
	refused[*connection.UnsupportedError](t, out, err)
	require.NoError(t, server.RootsListChanged(t.Context(), &mcp.RootsListChangedNotification{}))
	require.Empty(t, out.take())
}

func TestAStrictClientKeepsToWhatTheServerDeclared(t *testing.T) {
	out := &channel{answer: `{"tools":[]}`}
	conn := connection.New(out, &connection.Options{Client: true, Strict: true})
	server := mcp.ServerPeer{Outbound: conn}
	_, err := server.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err, "nothing is known about the server yet")
	conn.State().SetServerCapabilities(&mcp.ServerCapabilities{})
	out.take()
	_, err = server.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.Equal(t, "tools", refused[*connection.CapabilityError](t, out, err).Capability)

	conn.State().SetServerCapabilities(&mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}, Resources: &mcp.ResourcesCapability{}})
	_, err = server.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	out.take()
	_, err = server.Subscribe(t.Context(), &mcp.SubscribeRequest{URI: "a:b"})
	require.Equal(t, "resources.subscribe", refused[*connection.CapabilityError](t, out, err).Capability)

	lenient := connection.New(out, &connection.Options{Client: true})
	lenient.State().SetServerCapabilities(&mcp.ServerCapabilities{})
	_, err = mcp.ServerPeer{Outbound: lenient}.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err, "not every server declares what it has")
}

func TestSettleChangesTheRevision(t *testing.T) {
	conn := connection.New(nil, &connection.Options{Client: true})
	require.False(t, conn.Batches())
	conn.SetRevision(mcp.Revision20250326)
	require.Equal(t, "2025-03-26", conn.Revision().String())
	require.Equal(t, mcp.Revision20250326, conn.Frame(mcp.MethodCallTool).Revision)
	require.True(t, conn.Batches())
}

// weatherRequest is a request that the protocol does not have.
type weatherRequest struct{ Place string }

type weather struct{ Sky string }

var (
	weatherRequestMembers = wire.NewMembers("weather", wire.Member{Name: "place", In: wire.Always, Required: wire.Always})
	weatherMembers        = wire.NewMembers("weather", wire.Member{Name: "sky", In: wire.Always, Required: wire.Always})
)

func (*weatherRequest) Method() string      { return "acme/weather" }
func (*weatherRequest) NewResult() *weather { return new(weather) }

func (r *weatherRequest) AppendParams(b []byte, _ *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"place":`...)
	b = wire.AppendString(b, r.Place)
	return wire.CloseObject(b, start)
}

func (r *weatherRequest) DecodeParams(d *wire.Decoder) {
	for o := d.Object(weatherRequestMembers); o.Next(); {
		if o.Name == "place" {
			r.Place = d.String()
		} else {
			d.Skip()
		}
	}
}

func (w *weather) AppendJSON(b []byte, _ *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"sky":`...)
	b = wire.AppendString(b, w.Sky)
	return wire.CloseObject(b, start)
}

func (w *weather) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(weatherMembers); o.Next(); {
		if o.Name == "sky" {
			w.Sky = d.String()
		} else {
			d.Skip()
		}
	}
}

// weatherChanged is a notification that the protocol does not have.
type weatherChanged struct{}

func (*weatherChanged) Method() string                                { return "notifications/acme/weather" }
func (*weatherChanged) IsNotification()                               {}
func (*weatherChanged) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*weatherChanged) DecodeParams(d *wire.Decoder)                  { d.Skip() }
func forecast(_ context.Context, _ *weatherRequest) (*weather, error) { return &weather{"grey"}, nil }

func TestAServerCancelsWhatItAskedItsClient(t *testing.T) {
	conn, out := loop(t, "2025-11-25", nil)
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(3)}))
	require.Len(t, out.take(), 1)
}
