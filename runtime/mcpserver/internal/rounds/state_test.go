package rounds_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// remembering asks questions and has state from the first round on.
func remembering(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	round := connection.RoundFromContext(ctx).(*rounds.Round)
	first, err := round.Once(ctx, "first", func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(`"made"`), nil })
	if err != nil {
		return nil, err
	}
	answer, err := s.ElicitForm(ctx, form("name", "name"))
	if err != nil {
		return nil, err
	}
	return mcp.TextResult(fmt.Sprint(string(first), answer.Content["name"])), nil
}

// second returns the request of a second round with state.
func second(t testing.TB, c *client, first *mcp.CallToolRequest) *mcp.CallToolRequest {
	t.Helper()
	ask, err := c.try(first)
	require.NoError(t, err)
	require.NotNil(t, ask.RequestState)
	return c.again(first, ask)
}

func answered(t testing.TB, err error) {
	t.Helper()
	require.EqualError(t, err, `answered: "made"the name`)
}

// requireRejected checks the error for invalid state.
func requireRejected(t testing.TB, err error) {
	t.Helper()
	e := peer.AsError(err)
	require.NotNil(t, e, "%v", err)
	require.Equal(t, peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid request state"}, *e)
}

func arguments(text string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Name: "tool", Arguments: json.RawMessage(text)}
}

func TestStateIsBoundToRequest(t *testing.T) {
	o := rounds.Options{Keys: [][]byte{key}}
	c := connect(t, mcp.Revision20260728, newDispatcher(t, o, remembering))
	req := second(t, c, arguments(`{"a":{"x":1,"y":[1,2]},"b":"é"}`))
	_, err := c.try(req)
	answered(t, err)

	for name, change := range map[string]func(*mcp.CallToolRequest){
		"tool":        func(r *mcp.CallToolRequest) { r.Name = "other" },
		"argument":    func(r *mcp.CallToolRequest) { r.Arguments = json.RawMessage(`{"a":{"x":2,"y":[1,2]},"b":"é"}`) },
		"order":       func(r *mcp.CallToolRequest) { r.Arguments = json.RawMessage(`{"a":{"x":1,"y":[2,1]},"b":"é"}`) },
		"digits":      func(r *mcp.CallToolRequest) { r.Arguments = json.RawMessage(`{"a":{"x":1.0,"y":[1,2]},"b":"é"}`) },
		"no argument": func(r *mcp.CallToolRequest) { r.Arguments = nil },
		"more":        func(r *mcp.CallToolRequest) { r.Extra = map[string]json.RawMessage{"more": json.RawMessage(`1`)} },
	} {
		changed := *req
		change(&changed)
		_, err := c.try(&changed)
		require.Error(t, err, name)
		requireRejected(t, err)
	}

	tool := second(t, c, arguments(`{}`))
	_, err = peer.SendRequest(t.Context(), c.next(), &mcp.GetPromptRequest{
		Name: tool.Name, Arguments: map[string]string{}, InputResponses: tool.InputResponses, RequestState: tool.RequestState,
	})
	require.Error(t, err, "method")
	requireRejected(t, err)

	for _, same := range []string{`{"b":"\u00e9", "a":{"y":[1,2],"x":1}}`} {
		changed := *req
		changed.Arguments = json.RawMessage(same)
		changed.Meta = &mcp.RequestMeta{Extra: map[string]json.RawMessage{"acme/x": json.RawMessage(`1`)}}
		_, err := c.try(&changed)
		answered(t, err)
	}
}

func TestStateIsBoundToServerAndPrincipal(t *testing.T) {
	seal := func(audience, principal string) func(req *mcp.CallToolRequest) (wire.Value, error) {
		k := newDispatcher(t, rounds.Options{Keys: [][]byte{key}, ServerName: audience}, remembering)
		return func(req *mcp.CallToolRequest) (wire.Value, error) {
			in := &peer.Inbound{Method: req.Method(), ID: wire.IntID(1), Value: req}
			if principal != "" {
				in.Transport = peer.NewTransportContext("http", false, nil, principal)
			}
			conn := connection.NewForRequest(mcp.Revision20260728, nil, everything(), nil)
			reply, err := k.Serve(t.Context(), conn, in)
			return reply.Result, err
		}
	}
	serve := seal("a", "ada")
	res, err := serve(arguments(`{}`))
	require.NoError(t, err)
	c := &client{t: t, answers: answer}
	req := c.again(arguments(`{}`), res.(*mcp.InputRequiredResult))
	res, err = serve(req)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult(`"made"the name`), res)

	for _, other := range []func(*mcp.CallToolRequest) (wire.Value, error){
		seal("b", "ada"), seal("a", "bob"), seal("a", ""), seal("", "aada"), seal("aada", ""),
	} {
		_, err = other(req)
		requireRejected(t, err)
	}
}

func TestChangedStateIsRejected(t *testing.T) {
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{Keys: [][]byte{key}}, remembering))
	req := second(t, c, arguments(`{}`))
	good := *req.RequestState
	try := func(state string) {
		t.Helper()
		req.RequestState = &state
		_, err := c.try(req)
		requireRejected(t, err)
	}
	for i := range len(good) {
		other := byte('A')
		if good[i] == other {
			other = 'B'
		}
		try(good[:i] + string(other) + good[i+1:])
	}
	for _, bad := range []string{
		"", "x", good[:len(good)-1], good + "A", good + "-TAMPERED", "\n" + good, good + "=",
		"\x00", strings.Repeat("A", 1<<20), base64.RawURLEncoding.EncodeToString(make([]byte, 100)),
	} {
		try(bad)
	}
	req.RequestState = &good
	_, err := c.try(req)
	answered(t, err)
}

func TestKeysAreRotated(t *testing.T) {
	old, recent := []byte(rand.Text()+rand.Text()), []byte(rand.Text()+rand.Text())
	logged := new(testlog.Recorder)
	server := func(keys ...[]byte) *client {
		return connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{Keys: keys, Logger: logged.Logger()}, remembering))
	}
	req := second(t, server(old), arguments(`{}`))
	both := server(recent, old)
	_, err := both.try(req)
	answered(t, err)
	require.Empty(t, logged.String())

	retired := server(recent)
	for range 3 {
		_, err = retired.try(req)
		requireRejected(t, err)
	}
	require.Equal(t, 1, strings.Count(logged.String(), "level=WARN"))
	require.Contains(t, logged.String(), "QuestionOptions.SealKeys")

	req = second(t, both, arguments(`{}`))
	_, err = retired.try(req)
	answered(t, err)
}

func TestServersOfProcessShareDefaultKey(t *testing.T) {
	a := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, remembering))
	b := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, remembering))
	_, err := b.try(second(t, a, arguments(`{}`)))
	answered(t, err)
}

func TestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{Expiry: time.Minute}, remembering))
		req := second(t, c, arguments(`{}`))
		time.Sleep(59 * time.Second)
		_, err := c.try(req)
		answered(t, err)
		time.Sleep(2 * time.Second)
		_, err = c.try(req)
		requireRejected(t, err)
	})
}

func TestStateWithoutExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, none := range []time.Duration{-1, math.MaxInt64} {
			c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{Expiry: none}, remembering))
			req := second(t, c, arguments(`{}`))
			time.Sleep(365 * 24 * time.Hour)
			_, err := c.try(req)
			answered(t, err)
		}
	})
}

func TestClockSkewIsTolerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// State that expires later than new state is treated as state from the future.
		for ahead, ok := range map[time.Duration]bool{59 * time.Second: true, 62 * time.Second: false} {
			from := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{Expiry: 10*time.Minute + ahead}, remembering))
			to := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{}, remembering))
			_, err := to.try(second(t, from, arguments(`{}`)))
			if ok {
				answered(t, err)
			} else {
				requireRejected(t, err)
			}
		}
	})
}

func TestMaxRounds(t *testing.T) {
	n := 0
	endless := func(ctx context.Context, s *mcp.ServerSession, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n++
		for i := range n {
			if _, err := s.CreateMessage(ctx, message(fmt.Sprint(i))); err != nil {
				return nil, err
			}
		}
		return mcp.TextResult("done"), nil
	}
	for most, rounds_ := range map[int]int{0: 10, 3: 3, 1: 1} {
		n = 0
		logged := new(testlog.Recorder)
		c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{MaxRounds: most, Logger: logged.Logger()}, endless))
		_, err := c.call(`{}`)
		require.EqualError(t, peer.AsError(err), "Too many rounds of questions (code -32603)")
		require.Len(t, c.questions(), rounds_)
		require.Contains(t, logged.String(), "request abandoned while it asked for input")
	}
}

func TestMaxState(t *testing.T) {
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{MaxState: 1000}, straight))
	c.answers = func(q string) string {
		return fmt.Sprintf(`{"action":"accept","content":{%q:%q}}`, q, strings.Repeat("x", 1000))
	}
	_, err := c.call(`{}`)
	require.EqualError(t, peer.AsError(err), "Request state is too large (code -32603)")
}

func TestQuestionsThatAreNotRepeatedAreForgotten(t *testing.T) {
	n := 0
	c := connect(t, mcp.Revision20260728, newDispatcher(t, rounds.Options{MaxRounds: -1, MaxState: -1, Expiry: -1}, func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n++
		_, err := roundOf(ctx).Once(ctx, "m", func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(`1`), nil })
		require.NoError(t, err)
		_, err = s.CreateMessage(ctx, message(fmt.Sprint("number ", n)))
		return nil, err
	}))
	req := arguments(`{}`)
	var first int
	for i := range 20 {
		ask, err := c.try(req)
		require.NoError(t, err)
		if i == 0 {
			first = len(*ask.RequestState)
		}
		require.LessOrEqual(t, len(*ask.RequestState), first+100, "unanswered questions do not pile up")
		req = &mcp.CallToolRequest{Name: "tool", Arguments: req.Arguments, RequestState: ask.RequestState}
	}
}

func TestInvalidKeysAreRejected(t *testing.T) {
	for _, c := range []struct {
		o    rounds.Options
		want string
	}{
		{rounds.Options{Keys: [][]byte{}}, "questions: no keys"},
		{rounds.Options{Keys: [][]byte{key, key[:31]}}, "questions: key 1 has 31 bytes, want at least 32"},
	} {
		_, err := rounds.New(c.o)
		require.EqualError(t, err, c.want)
	}
}
