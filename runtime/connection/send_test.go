package connection_test

import (
	"context"
	"encoding/json"
	"errors"
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

func TestUndeliverableNotificationIsDroppedAndLogged(t *testing.T) {
	for name, out := range map[string]peer.Outbound{
		"broken": &channel{broken: errors.New("pipe is broken")},
		"closed": &channel{broken: &peer.ClosedError{Method: "x"}},
	} {
		log := new(testLog)
		conn := connection.New(out, &connection.Options{Logger: slog.New(log)})
		require.NoError(t, conn.SendToolListChanged(t.Context()), name)
		require.Equal(t, 1, log.count(), name)
	}
	require.NoError(t, connection.New(nil, nil).SendToolListChanged(t.Context()))
}

func TestInvalidNotificationReturnsError(t *testing.T) {
	conn, out := connect(t, "2025-11-25", nil)
	err := conn.Log(t.Context(), &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`{`)})
	requireRefused[*wire.EncodeError](t, out, err)
	err = conn.Log(t.Context(), &mcp.LoggingMessageNotification{Level: "loud", Data: json.RawMessage(`1`)})
	requireRefused[*wire.EncodeError](t, out, err)
}

func TestListChangedNotificationsHaveNoParams(t *testing.T) {
	conn, out := connect(t, "2025-11-25", nil)
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

func TestTypedRequests(t *testing.T) {
	conn, out := connect(t, "2025-11-25", allCapabilities())
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

func TestInvalidResultReturnsDecodeError(t *testing.T) {
	conn, out := connect(t, "2025-11-25", allCapabilities())
	for _, answer := range []string{`{"roots":1}`, `{"Roots":[]}`, `{"role":"assistant"}`} {
		out.answer = answer
		_, err := peer.SendRequest(t.Context(), conn, &mcp.ListRootsRequest{})
		var decode *wire.DecodeError
		require.ErrorAs(t, err, &decode, answer)
	}
	out.answer = `{"stop_reason":"x","role":"assistant","content":[],"model":"m"}`
	message, err := peer.SendRequest(t.Context(), conn, &mcp.CreateMessageRequest{MaxTokens: 1})
	require.NoError(t, err)
	require.Empty(t, message.StopReason, "member names are case sensitive")
}

func TestUnexpectedResultTypeReturnsError(t *testing.T) {
	client := func(version string) (*connection.Connection, *channel) {
		out := new(channel)
		conn := connection.NewForRequest(revisionOf(version), nil, nil, &connection.Options{Outbound: out, Client: true})
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
		require.EqualError(t, err, `response to "tools/call": no result of the type "task" was asked for`)
	}
	out.answer = `{"tools":[],"resultType":"input_required","inputRequests":{}}`
	_, err := peer.SendRequest(t.Context(), conn, &mcp.ListToolsRequest{})
	require.ErrorContains(t, err, "input_required", "tools/list cannot ask for input")
	out.answer = `{"sky":"blue","resultType":"task"}`
	_, err = peer.SendRequest(t.Context(), conn, &weatherRequest{"here"})
	require.NoError(t, err, "the result type of a custom result is not checked")

	conn, out = client("2025-11-25")
	out.answer = `{"content":[],"resultType":"task"}`
	res, err := peer.SendRequest(t.Context(), conn, &mcp.CallToolRequest{Name: "echo"})
	require.NoError(t, err, "the revision has no result types")
	require.Contains(t, res.Extra, "resultType")
	conn = connection.NewForRequest(mcp.Revision20251125, nil, nil, &connection.Options{Outbound: sharedResult{}, Client: true})
	_, err = peer.SendRequest(t.Context(), conn, &mcp.CallToolRequest{Name: "echo"})
	require.NoError(t, err, "even if the result is not encoded")
}

// sharedResult returns a result that was not encoded.
type sharedResult struct{ outbound.None }

func (sharedResult) Call(_ context.Context, _ peer.Message, res wire.Value, _ ...peer.CallOption) error {
	*res.(*mcp.CallToolResult) = mcp.CallToolResult{ResultType: "task"}
	return nil
}

func TestCallOptionsReachTheChannel(t *testing.T) {
	conn, out := connect(t, "2025-11-25", nil)
	require.NoError(t, conn.Ping(t.Context(), peer.WithTimeout(0), peer.WithID(wire.StringID("mine"))))
	require.NoError(t, conn.Ping(t.Context()))
	require.Equal(t, time.Duration(0), *out.options[0].Timeout)
	require.Equal(t, wire.StringID("mine"), out.options[0].ID)
	require.Nil(t, out.options[1].Timeout)
}

func TestRawRequests(t *testing.T) {
	conn, out := connect(t, "2025-06-18", new(mcp.ClientCapabilities))
	out.answer = `{"any": ["thing"]}`
	res, err := conn.SendRawRequest(t.Context(), "acme/any", json.RawMessage(`{"b":1,"a":{"c":[]},"_meta":{"k":"v"}}`))
	require.NoError(t, err)
	require.JSONEq(t, out.answer, string(res))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"acme/any","params":{"b":1,"a":{"c":[]},"_meta":{"k":"v"}}}`, out.take()[0])

	_, err = conn.SendRawRequest(t.Context(), "acme/any", nil)
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"acme/any","params":{}}`, out.take()[0])

	_, err = conn.SendRawRequest(t.Context(), "acme/any", json.RawMessage(`[]`))
	requireRefused[*connection.InvalidError](t, out, err)
	_, err = connection.New(nil, nil).SendRawRequest(t.Context(), "acme/any", nil)
	require.Equal(t, `send "acme/any": no channel for requests to the peer`, err.Error())
}

func TestRawRequestsAreChecked(t *testing.T) {
	conn, out := connect(t, "2025-11-25", &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})
	for _, params := range []string{
		`{"mode":"url","message":"?","url":"https://a.b","elicitationId":"e"}`,
		`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`,
	} {
		_, err := conn.SendRawRequest(t.Context(), mcp.MethodElicit, json.RawMessage(params))
		require.Error(t, err)
		require.Empty(t, out.take())
	}
	conn, out = connect(t, "2025-11-25", allCapabilities())
	_, err := conn.SendRawRequest(t.Context(), mcp.MethodCreateMessage, json.RawMessage(`{"messages":"none","maxTokens":1}`))
	requireRefused[*connection.InvalidError](t, out, err)
}

func TestMetaIsAddedToRequestsOnly(t *testing.T) {
	out := new(channel)
	conn := connection.NewForRequest(mcp.Revision20260728, nil, nil, &connection.Options{
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

func TestServerCancelsItsRequest(t *testing.T) {
	conn, out := connect(t, "2025-11-25", nil)
	require.NoError(t, conn.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(3)}))
	require.Len(t, out.take(), 1)
}
