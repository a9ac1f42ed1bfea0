package rounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// keys returns the keys of the questions that a handler asks in the first run.
func keys(t *testing.T, asks ...func(ctx context.Context, s *mcp.ServerSession)) []string {
	t.Helper()
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, ask := range asks {
			ask(ctx, s)
		}
		return mcp.TextResult("done"), nil
	}))
	ask, err := c.try(&mcp.CallToolRequest{Name: "tool"})
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(ask.InputRequests))
}

// asking sends a sampling request with metadata.
func asking(metadata string) func(ctx context.Context, s *mcp.ServerSession) {
	return func(ctx context.Context, s *mcp.ServerSession) {
		q := message("x")
		q.Metadata = map[string]json.RawMessage{"m": json.RawMessage(metadata)}
		_, _ = s.CreateMessage(ctx, q)
	}
}

func roots(ctx context.Context, s *mcp.ServerSession) { _, _ = s.ListRoots(ctx) }

func TestKeyDependsOnContent(t *testing.T) {
	a, b := asking(`1`), asking(`2`)
	require.Equal(t, keys(t, a, b, roots), keys(t, roots, b, a))
	require.Len(t, keys(t, a, b, roots), 3)
}

func TestEqualQuestionsAreNumbered(t *testing.T) {
	a := asking(`1`)
	got := keys(t, a, a, a)
	require.Equal(t, []string{got[0], got[0] + "#2", got[0] + "#3"}, got)
	require.Len(t, got[0], 22)
}

func TestKeyIgnoresSpellingOfJSON(t *testing.T) {
	want := keys(t, asking(`{"a":{"b":1,"c":[true,null]},"d":"é<"}`))
	for _, same := range []string{
		`{"d":"é<","a":{"c":[true,null],"b":1}}`,
		`{ "a" : { "b" : 1 , "c" : [ true , null ] } , "d" : "\u00e9\u003c" }`,
	} {
		require.Equal(t, want, keys(t, asking(same)), same)
	}
	for _, other := range []string{
		`{"a":{"b":1,"c":[null,true]},"d":"é<"}`,
		`{"a":{"b":1.0,"c":[true,null]},"d":"é<"}`,
		`{"a":{"b":"1","c":[true,null]},"d":"é<"}`,
		`{"a":{"b":1,"c":[true,null],"d":"é<"}}`,
	} {
		require.NotEqual(t, want, keys(t, asking(other)), other)
	}
	require.NotEqual(t, keys(t, asking(`9007199254740993`)), keys(t, asking(`9007199254740992`)), "digit for digit")
}

// named asks for a text with a key.
func named(ctx context.Context, s *mcp.ServerSession, key, text string) (*mcp.ElicitResult, error) {
	return s.With(peer.WithKey(key)).ElicitForm(ctx, form(text, text))
}

func TestHandlerSetsKeys(t *testing.T) {
	for _, r := range revisions {
		c := connect(t, r, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var got []any
			for range 2 {
				answer, err := named(ctx, s, "user_name", "name")
				if err != nil {
					return nil, err
				}
				got = append(got, answer.Content["name"])
			}
			return mcp.TextResult(fmt.Sprint(got)), nil
		}))
		if !mcp.Revisions[r.Index()].Handshake {
			ask, err := c.try(&mcp.CallToolRequest{Name: "tool"})
			require.NoError(t, err)
			require.Contains(t, ask.InputRequests, "user_name")
		}
		got, err := c.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, "[the name the name]", got)
	}
}

func TestKeyIdentifiesOneQuestion(t *testing.T) {
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := named(ctx, s, "k", "a")
		if err != nil {
			return nil, err
		}
		_, err = named(ctx, s, "k", "b")
		return mcp.TextResult(fmt.Sprint(err)), nil
	}))
	got, err := c.call(`{}`)
	require.NoError(t, err)
	require.Equal(t, `ask: key "k" belongs to another question`, got)
}

func TestKeyThatLooksNumbered(t *testing.T) {
	for _, c := range [][][2]string{
		{{"k", "a"}, {"k", "a"}, {"k#2", "b"}},
		{{"k", "a"}, {"k", "a"}, {"k#2", "a"}},
		{{"k#2", "b"}, {"k", "a"}, {"k", "a"}},
	} {
		client := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var err error
			for _, q := range c {
				_, err = named(ctx, s, q[0], q[1])
				if _, asks := errors.AsType[*mcp.InputRequiredError](err); err != nil && !asks {
					break
				}
			}
			return mcp.TextResult(fmt.Sprint(err)), nil
		}))
		got, err := client.call(`{}`)
		require.NoError(t, err)
		require.Equal(t, `ask: key "k#2" belongs to another question`, got)
	}
}

func TestStateBindsKeyToQuestion(t *testing.T) {
	for _, carries := range []bool{false, true} {
		text := "a"
		c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if carries {
				if _, err := remembering(ctx, s, req); err != nil {
					return nil, err
				}
			}
			answer, err := named(ctx, s, "k", text)
			if err != nil {
				return nil, err
			}
			return mcp.TextResult(string(answer.Action)), nil
		}))
		req := &mcp.CallToolRequest{Name: "tool"}
		ask, err := c.try(req)
		require.NoError(t, err)
		if carries {
			req = c.again(req, ask)
			ask, err = c.try(req)
			require.NoError(t, err)
		}
		req = c.again(req, ask)
		text = "b" // the question has changed, its key has not
		req.InputResponses["k"].(*mcp.ElicitResult).Content["b"] = "the b"
		ask, err = c.try(req)
		if !carries {
			require.EqualError(t, err, "answered: accept")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "b", spoken(ask.InputRequests["k"]))
	}
}

// onTheWire sends the params of a call and returns the result or error as JSON.
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

func TestRoundJSON(t *testing.T) {
	k := newDispatcher(t, rounds.Options{}, func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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
	for _, requireRejected := range []string{
		`"user_name":{"action":"accept","content":{"name":1}}`, `"user_name":{"action":"accept"}`, `"user_name":{"roots":[]}`,
		`"wrong_key":{"action":"accept","content":{"name":"Ada"}}`, // may be requested later
	} {
		answer := onTheWire(t, k, `{"name":"tool","inputResponses":{`+requireRejected+`}`)
		var state struct{ RequestState string }
		require.NoError(t, json.Unmarshal([]byte(answer), &state))
		require.NotEmpty(t, state.RequestState, "the rounds are counted")
		require.JSONEq(t, question, strings.Replace(answer, `,"requestState":"`+state.RequestState+`"`, "", 1))
	}
}
