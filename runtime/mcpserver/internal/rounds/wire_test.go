package rounds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// onTheWire sends the params of a call and returns what comes back, a result or
// an error, as JSON.
func onTheWire(t *testing.T, k *connection.Dispatcher, params string) string {
	t.Helper()
	params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`
	in := &peer.Inbound{Method: mcp.MethodCallTool, ID: wire.IntID(1), Params: json.RawMessage(params)}
	require.NoError(t, wire.Check(in.Params, 0), params)
	reply, err := k.ServeStateless(t.Context(), in, nil)
	if err != nil {
		e := peer.AsError(err)
		require.NotNil(t, e, "%v", err)
		return fmt.Sprintf(`{"code":%d}`, e.Code)
	}
	frame := *reply.Frame
	frame.Meta = nil
	line, err := wire.Append(nil, &frame, reply.Result)
	require.NoError(t, err)
	return string(line)
}

func TestARoundOnTheWire(t *testing.T) {
	k := newKernel(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := named(ctx, s, "user_name", "name")
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(fmt.Sprint("Hello, ", answer.Content["name"], "!")), nil
	})
	question := `{"resultType":"input_required","inputRequests":{"user_name":{"method":"elicitation/create","params":{"mode":"form","message":"name",` +
		`"requestedSchema":{"properties":{"name":{"type":"string","minLength":1}},"type":"object","required":["name"]}}}}}`
	greeting := `{"resultType":"complete","content":[{"type":"text","text":"Hello, Ada!"}]}`
	invalid := fmt.Sprintf(`{"code":%d}`, mcp.CodeInvalidParams)
	ada := `"user_name":{"action":"accept","content":{"name":"Ada"}}`
	for _, c := range []struct{ brings, want string }{
		{``, question},
		{`,"inputResponses":{}`, question},
		{`,"inputResponses":{` + ada + `}`, greeting},
		{`,"inputResponses":{` + ada + `,"other":{"action":"cancel"}}`, greeting},
		{`,"inputResponses":{"user_name":12345}`, invalid},
		{`,"inputResponses":{"user_name":null}`, invalid},
		{`,"inputResponses":{"user_name":{"action":"maybe"}}`, invalid},
		{`,"inputResponses":null`, invalid},
		{`,"inputResponses":{` + ada + `},"requestState":"forged"`, invalid},
		{`,"inputResponses":{` + ada + `},"requestState":""`, invalid},
		{`,"inputResponses":{` + ada + `},"requestState":7`, invalid},
		{`,"inputResponses":{` + ada + `},"requestState":null`, invalid},
	} {
		require.JSONEq(t, c.want, onTheWire(t, k, `{"name":"tool"`+c.brings), c.brings)
	}
	for _, refused := range []string{
		`"user_name":{"action":"accept","content":{"name":1}}`, `"user_name":{"action":"accept"}`, `"user_name":{"roots":[]}`,
		`"wrong_key":{"action":"accept","content":{"name":"Ada"}}`, // perhaps it will be asked for
	} {
		answer := onTheWire(t, k, `{"name":"tool","inputResponses":{`+refused+`}`)
		var state struct{ RequestState string }
		require.NoError(t, json.Unmarshal([]byte(answer), &state))
		require.NotEmpty(t, state.RequestState, "the rounds are counted")
		require.JSONEq(t, question, strings.Replace(answer, `,"requestState":"`+state.RequestState+`"`, "", 1))
	}
}
