package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

var handshakes = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func TestSessionInEachHandshakeRevision(t *testing.T) {
	e := serve(t, map[string]tool{"version": func(_ ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(s.Revision().String()), nil
	}}, nil)
	for _, revision := range handshakes {
		c := e.open(revision)
		require.Regexp(t, `^[!-~]{20,}$`, c.id)
		a := c.call("version")
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+revision+`"}]}}`, a.body)
		require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
		require.Equal(t, http.StatusNotFound, c.call("version").status)
	}
}

func TestInitializedIsHandledBeforeLaterRequests(t *testing.T) {
	o := dispatcherOptions(nil)
	confirmed := make(map[*connection.Connection]bool)
	o.OnInitialized = func(_ context.Context, conn *connection.Connection) { confirmed[conn] = true }
	e := serveDispatcher(t, connection.NewDispatcher(o), nil)
	for n := range 50 {
		e.open("2025-11-25")
		require.Len(t, confirmed, n+1, "OnInitialized was called before the response")
	}
}

func TestErrorsOfSessionRequestsAreResponses(t *testing.T) {
	e := serve(t, map[string]tool{
		"secret": fails(errSecret),
		"panics": func(_ ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) { panic(errSecret) },
	}, nil)
	c := e.open("2025-11-25")
	for body, code := range map[string]int{
		callTool(1, "none"):                                   mcp.CodeInvalidParams,
		callTool(1, "secret"):                                 mcp.CodeInternal,
		callTool(1, "panics"):                                 mcp.CodeInternal,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:         mcp.CodeMethodNotFound,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`: mcp.CodeMethodNotFound,
		initialize("2025-11-25"):                              mcp.CodeInvalidRequest,
	} {
		a := c.post(body)
		require.Equal(t, http.StatusOK, a.status, body)
		require.Equal(t, code, a.code(), body)
		require.NotContains(t, a.body, "xyzzy")
	}
}

func TestInvalidSessionRequestsAreRefused(t *testing.T) {
	e := serve(t, nil, nil)
	c := e.open("2025-06-18")
	call := callTool(1, "echo")
	for _, x := range []struct {
		name, body string
		headers    headers
		status     int
		code       int
	}{
		{"no session", call, nil, 400, mcp.CodeInvalidRequest},
		{"session twice", call, headers{sessions + c.id, sessions + c.id}, 400, mcp.CodeInvalidRequest},
		{"unknown session", call, headers{sessions + "x"}, 404, mcp.CodeInvalidRequest},
		{"handshake in an unknown session", initialize("2025-06-18"), headers{sessions + "x"}, 404, mcp.CodeInvalidRequest},
		{"other revision", call, headers{sessions + c.id, version + "2025-11-25"}, 400, mcp.CodeInvalidRequest},
		{"notification without session", initialized, nil, 400, mcp.CodeInvalidRequest},
		{"no JSON", `{"id":1`, headers{sessions + c.id}, 400, mcp.CodeParse},
		{"no message", `{"jsonrpc":"2.0","id":9}`, headers{sessions + c.id}, 400, mcp.CodeInvalidRequest},
		{"batch", `[` + call + `]`, headers{sessions + c.id}, 400, mcp.CodeInvalidRequest},
		{"batch of a handshake", `[` + initialize("2025-03-26") + `]`, nil, 400, mcp.CodeInvalidRequest},
		{"stateless revision in the body", call26("echo"), headers{sessions + c.id}, 400, mcp.CodeHeaderMismatch},
		{"stateless revision in a handshake", strings.Replace(initialize("2025-06-18"), `"params":{`, `"params":{`+meta26+`},`, 1), nil, 400, mcp.CodeHeaderMismatch},
		{"escaped version", strings.Replace(call26("echo"), "io.model", `\u0069o.model`, 1), headers{sessions + c.id}, 400, mcp.CodeHeaderMismatch},
	} {
		t.Run(x.name, func(t *testing.T) {
			a := (&endpoint{t: t, url: e.url, client: e.client}).post(x.body, x.headers...)
			require.Equal(t, x.status, a.status, a.body)
			require.Equal(t, x.code, a.code(), a.body)
			require.Empty(t, a.header.Get("Mcp-Session-Id"))
			if x.name == "other revision" {
				require.Contains(t, a.body, "Unsupported protocol version")
			}
			if x.name == "no message" {
				require.Contains(t, a.body, `"id":9`)
			}
			if x.name == "no JSON" {
				require.Contains(t, a.body, `"id":null`)
			}
		})
	}
	require.Equal(t, http.StatusOK, c.call("echo").status, "the session still works")
	require.Equal(t, http.StatusOK, e.post(strings.Replace(callTool(1, "echo"), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18",`, 1), c.headers()...).status)
}

func TestFailedHandshakeLeavesNoSession(t *testing.T) {
	e := serve(t, nil, &streamable.Options{MaxSessions: 1})
	for range 3 {
		a := e.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, mcp.CodeInvalidParams, a.code())
		require.Empty(t, a.header.Get("Mcp-Session-Id"))
	}
	e.open("2025-11-25")
}

func TestRequestsDuringLongHandshake(t *testing.T) {
	var goOn chan struct{}
	o := dispatcherOptions(nil)
	o.Middleware = []peer.Middleware{atHandshake(func(context.Context) error {
		<-goOn
		return nil
	})}
	serveDispatcherInBubble(t, o, &streamable.Options{KeepAlive: time.Second}, func(t *testing.T, e *endpoint) {
		goOn = make(chan struct{})
		release := sync.OnceFunc(func() { close(goOn) })
		defer release()
		opening := e.stream(http.MethodPost, initialize("2025-11-25"))
		c := &client{e, opening.res.Header.Get("Mcp-Session-Id"), ""}
		require.NotEmpty(t, c.id, "the stream has the session id")
		require.Contains(t, c.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).body, `"result":{}`)
		release()
		data, _ := opening.data()
		require.Contains(t, data, `"protocolVersion":"2025-11-25"`)
		c.revision = "2025-11-25"
		require.Equal(t, http.StatusAccepted, c.post(initialized).status)
		require.Contains(t, c.call("echo").body, `"result"`)
	})
}

func TestUnknownVersionGetsNewestHandshakeRevision(t *testing.T) {
	e := serve(t, nil, nil)
	for _, asked := range []string{"1999-01-01", "2026-07-28", "x"} {
		require.Contains(t, e.post(initialize(asked)).body, `"protocolVersion":"2025-11-25"`)
	}
}

func TestServerOfOneKindOfRevisionRefusesOther(t *testing.T) {
	o := dispatcherOptions(nil)
	o.Revisions = []wire.Revision{mcp.Revision20260728}
	modern := serveDispatcher(t, connection.NewDispatcher(o), nil)
	a := modern.post(initialize("2025-11-25"))
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeUnsupportedProtocolVersion, a.code())
	require.Contains(t, a.body, `"supported":["2026-07-28"]`)
	require.Equal(t, mcp.CodeHeaderMismatch, modern.post(call26("echo")).code(), "the header is missing")
	require.Equal(t, http.StatusMethodNotAllowed, modern.send(http.MethodGet, "").status)
	require.Equal(t, http.StatusOK, modern.call26("echo").status)

	o = dispatcherOptions(nil)
	o.Revisions = []wire.Revision{mcp.Revision20251125}
	older := serveDispatcher(t, connection.NewDispatcher(o), nil)
	a = older.call26("echo")
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeUnsupportedProtocolVersion, a.code())
	require.Contains(t, a.body, `"supported":["2025-11-25"]`)
	require.Contains(t, a.body, "Unsupported protocol version")
	older.open("2025-11-25")
}

func TestToolSendsRequestOnItsStream(t *testing.T) {
	e := serve(t, map[string]tool{"ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		res, err := s.ListRoots(ctx)
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(res.Roots[0].URI), nil
	}}, nil)
	c := e.open("2025-11-25")
	l := e.stream(http.MethodPost, callTool(1, "ask"), c.headers()...)
	require.Equal(t, "text/event-stream", l.res.Header.Get("Content-Type"))
	require.Equal(t, "id: 1-0\nretry: 1000\ndata:", l.event(), "the client gets an id to resume after")
	data, id := l.data()
	require.Equal(t, "1-1", id)
	var asked struct {
		ID     json.RawMessage
		Method string
	}
	require.NoError(t, json.Unmarshal([]byte(data), &asked))
	require.Equal(t, "roots/list", asked.Method)
	a := c.post(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"roots":[{"uri":"file:///project"}]}}`)
	require.Equal(t, answer{http.StatusAccepted, a.header, ""}, a)
	data, id = l.data()
	require.Equal(t, "1-2", id)
	require.Contains(t, data, "file:///project")
	l.end()
}

func TestResponseOfOtherSessionIsIgnored(t *testing.T) {
	asked := make(chan struct{})
	e := serve(t, map[string]tool{"ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		defer close(asked)
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("done"), err
	}}, nil)
	c, other := e.open("2025-11-25"), e.open("2025-11-25")
	l := e.stream(http.MethodPost, callTool(1, "ask"), c.headers()...)
	l.data()
	reply := `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`
	require.Equal(t, http.StatusAccepted, other.post(reply).status)
	select {
	case <-asked:
		require.Fail(t, "the response of another session was accepted")
	default:
	}
	require.Equal(t, http.StatusAccepted, c.post(reply).status)
	within(t, asked, "the response of the session")
}

func TestRequestsToClientNeedStream(t *testing.T) {
	var back *peer.NoBackChannelError
	ask := map[string]tool{"ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		require.ErrorAs(t, err, &back)
		require.False(t, s.Transport().CanSendRequest())
		return mcp.TextResult("refused"), s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(`1`)})
	}}
	require.Contains(t, serve(t, ask, &streamable.Options{JSONResponse: true}).open("2025-11-25").call("ask").body, "refused")
	require.Contains(t, serve(t, ask, nil).open("2025-11-25").call("ask", "Accept: application/json").body, "refused")
	stateless := serve(t, ask, &streamable.Options{Stateless: true})
	a := stateless.post(callTool(1, "ask"), version+"2025-11-25")
	require.Contains(t, a.events()[0], "notifications/message")
	require.Contains(t, a.events()[1], "refused")
	sessionless := serve(t, map[string]tool{"ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.With(peer.Standalone()).ListRoots(ctx)
		require.ErrorAs(t, err, &back)
		require.False(t, connection.FromContext(ctx).HasStandaloneChannel())
		return mcp.TextResult("refused"), nil
	}}, &streamable.Options{Stateless: true})
	require.Contains(t, sessionless.post(callTool(1, "ask"), version+"2025-11-25").body, "refused")
}

func TestStatelessOptionMakesRequestsIndependent(t *testing.T) {
	e := serve(t, map[string]tool{"version": func(_ ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(s.Revision().String()), nil
	}}, &streamable.Options{Stateless: true})
	a := e.post(initialize("2025-06-18"))
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.body, `"protocolVersion":"2025-06-18"`)
	require.Empty(t, a.header.Get("Mcp-Session-Id"))
	require.Equal(t, http.StatusAccepted, e.post(initialized).status)
	require.Contains(t, e.post(callTool(1, "version"), version+"2025-06-18").body, "2025-06-18")
	require.Contains(t, e.post(callTool(1, "version")).body, "2025-03-26", "the revision without a header")
	a = e.post(`[`+callTool(1, "version")+`,`+callTool(2, "echo")+`]`, sessions+"ignored")
	require.JSONEq(t, `["2025-03-26","{\"a\":1}"]`, texts(t, a.body))
	a = e.post(`[` + initialize("2025-03-26") + `]`)
	require.Contains(t, a.body, `"code":-32600`, "initialize must not be in a batch")
	require.NotContains(t, a.body, `"result"`)
	require.Equal(t, http.StatusOK, e.call26("echo").status)
}

// texts returns the texts of the responses of a batch.
func texts(t *testing.T, body string) string {
	t.Helper()
	var list []struct {
		Result struct{ Content []struct{ Text string } }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &list), body)
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].Result.Content[0].Text
	}
	out, _ := json.Marshal(all)
	return string(out)
}

func TestBatchHasOneResponse(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(1)}, nil)
	c := e.open("2025-03-26")
	a := c.post(` [` + callTool(1, "echo") + `,` + initialized + `,{"jsonrpc":"2.0","id":9,"result":{}},` + callTool(2, "echo") + `]`)
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `["{\"a\":1}","{\"a\":1}"]`, texts(t, a.body))

	a = c.post(`[` + callTool(1, "logs") + `,` + callTool(2, "echo") + `]`)
	require.Equal(t, "text/event-stream", a.header.Get("Content-Type"))
	require.Contains(t, a.events()[0], "notifications/message")
	require.JSONEq(t, `["logged","{\"a\":1}"]`, texts(t, a.events()[1]))
	require.Len(t, a.events(), 2)

	a = c.post(`[` + initialized + `,{"jsonrpc":"2.0","id":9,"result":{}}]`)
	require.Equal(t, answer{http.StatusAccepted, a.header, ""}, a)

	a = c.post(`[` + initialize("2025-03-26") + `,{"jsonrpc":"1.0","id":4},{"id":5}]`)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, 3, strings.Count(a.body, `"code":-32600`), a.body)

	a = c.post(`[{"jsonrpc":"2.0","id":7,"result":null},` + call26("echo") + `]`)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, 1, strings.Count(a.body, `"code":`), a.body)
	require.Contains(t, a.body, fmt.Sprintf(`"code":%d`, mcp.CodeHeaderMismatch))

	require.Equal(t, http.StatusBadRequest, c.post(`[]`).status)
	require.Equal(t, http.StatusBadRequest, c.post(`[1,2`).status)
	many := strings.Repeat(callTool(1, "echo")+",", 100)
	require.Equal(t, http.StatusBadRequest, c.post(`[`+many+callTool(2, "echo")+`]`).status)
	require.Equal(t, http.StatusOK, c.post(`[`+strings.TrimSuffix(many, ",")+`]`).status)
}

func TestCancelledRequestHasNoResponse(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	c := e.open("2025-11-25")
	done := make(chan answer, 1)
	go func() { done <- c.call("gate") }() // ends with the request
	within(t, g.called, "the handler")
	require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}`).status)
	require.ErrorContains(t, within(t, g.ended, "the end of the handler"), `"r"`)
	a := within(t, done, "the end of the response")
	require.Equal(t, http.StatusOK, a.status)
	require.Empty(t, a.events(), "the stream has no event")
	require.Empty(t, a.body, "not even a start event")
}

// Clients that have the id of a stream resume the stream when it ends without a
// response, even if they have cancelled the request. The SDK for TypeScript treats an
// error status as a failure of the connection.
func TestResumeOfCancelledRequestGetsNoContent(t *testing.T) {
	for _, polling := range []bool{false, true} {
		g := newGate()
		e := serve(t, map[string]tool{"gate": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			logs(2)(ctx, s)
			return g.call(ctx, s)
		}}, &streamable.Options{Polling: polling})
		c := e.open("2025-11-25")
		l := e.stream(http.MethodPost, callTool(1, "gate"), c.headers()...)
		l.data()
		_, id := l.data()
		require.Equal(t, "1-2", id)
		within(t, g.called, "the handler")
		require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).status)
		l.end()
		for from, status := range map[string]int{"1-0": 200, "1-1": 200, "1-2": 204, "2-0": 400} {
			a := e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: "+from)...)
			require.Equal(t, status, a.status, from)
			require.Equal(t, status == http.StatusNoContent, a.body == "", from)
		}
	}
}

func TestAbandonedStreamsAreLimited(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		logs(1)(ctx, s)
		return g.call(ctx, s)
	}}, nil)
	c := e.open("2025-11-25")
	for id := 1; id <= 17; id++ {
		l := e.stream(http.MethodPost, callTool(id, "gate"), c.headers()...)
		l.data()
		within(t, g.called, "the handler")
		cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
		require.Equal(t, http.StatusAccepted, c.post(cancel).status)
		within(t, g.ended, "the end of the handler")
		l.end()
	}
	for from, status := range map[string]int{"1-1": 400, "2-1": 204, "17-1": 204} {
		a := e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: "+from)...)
		require.Equal(t, status, a.status, from)
		require.Equal(t, status == http.StatusNoContent, a.header.Get("Content-Type") == "", from)
	}
}

// The two are sent on different connections. Otherwise, the handler would wait for
// responses to requests that no client receives.
func TestCancellationBeforeItsRequest(t *testing.T) {
	e := serve(t, map[string]tool{"never": func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		t.Error("the request was cancelled")
		return mcp.TextResult(""), nil
	}}, nil)
	c := e.open("2025-11-25")
	require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`).status)
	a := c.post(callTool(2, "never"))
	require.Equal(t, http.StatusOK, a.status)
	require.NotContains(t, a.body, "jsonrpc")
	require.Contains(t, c.post(callTool(3, "echo")).body, `"id":3`)
}

func TestTooManyRequestsInASessionAreRefused(t *testing.T) {
	g := newGate()
	o := &streamable.Options{}
	o.JSONRPC.MaxInFlight = 1
	e := serve(t, map[string]tool{"gate": g.call}, o)
	c := e.open("2025-11-25")
	done := make(chan answer, 1)
	go func() { done <- c.call("gate") }() // ends with the request
	within(t, g.called, "the handler")
	a := c.post(callTool(2, "echo"))
	require.Equal(t, mcp.CodeInternal, a.code())
	require.Contains(t, a.body, "in flight")
	require.Equal(t, mcp.CodeInvalidRequest, c.post(callTool(1, "echo")).code(), "the id is in use")
	close(g.answer)
	require.Contains(t, within(t, done, "the response").body, "opened")
}

func TestSessionNeedsItsPrincipal(t *testing.T) {
	e := serve(t, map[string]tool{"who": func(_ ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(s.Transport().Principal() + " " + s.Transport().Kind()), nil
	}}, &streamable.Options{
		Principal:               func(r *http.Request) string { return r.Header.Get("X-User") },
		MaxSessionsPerPrincipal: 1,
	})
	a := e.post(initialize("2025-11-25"), "X-User: ann")
	c := &client{e, a.header.Get("Mcp-Session-Id"), "2025-11-25"}
	require.Contains(t, c.call("who", "X-User: ann").body, "ann streamable-http")
	require.Equal(t, http.StatusNotFound, c.call("who", "X-User: bob").status)
	require.Equal(t, http.StatusNotFound, c.call("who").status)
	require.Equal(t, http.StatusNotFound, e.send(http.MethodGet, "", append(c.headers(), "X-User: bob")...).status)
	require.Equal(t, http.StatusNotFound, e.send(http.MethodDelete, "", append(c.headers(), "X-User: bob")...).status)
	require.Contains(t, e.call26("who", "X-User: cho").body, "cho streamable-http")

	a = e.post(initialize("2025-11-25"), "X-User: ann")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	e.post(initialize("2025-11-25"), "X-User: bob")
	require.Equal(t, http.StatusNoContent, e.send(http.MethodDelete, "", append(c.headers(), "X-User: ann")...).status)
	require.Equal(t, http.StatusOK, e.post(initialize("2025-11-25"), "X-User: ann").status)
}

func TestMayDelete(t *testing.T) {
	var asked []string
	e := serve(t, nil, &streamable.Options{
		Principal: func(r *http.Request) string { return r.Header.Get("X-User") },
		MayDelete: func(w http.ResponseWriter, r *http.Request) bool {
			asked = append(asked, r.Header.Get("X-User"))
			if len(asked) == 1 {
				http.Error(w, "not yet", http.StatusMethodNotAllowed)
				return false
			}
			return true
		},
	})
	c := &client{e, e.post(initialize("2025-11-25"), "X-User: ann").header.Get("Mcp-Session-Id"), "2025-11-25"}
	end := func(header ...string) answer { return e.send(http.MethodDelete, "", append(c.headers(), header...)...) }
	require.Equal(t, http.StatusNotFound, end("X-User: bob").status)
	require.Empty(t, asked, "a stranger ends no session")
	a := end("X-User: ann")
	require.Equal(t, http.StatusMethodNotAllowed, a.status)
	require.Equal(t, "not yet\n", a.body)
	require.Equal(t, http.StatusOK, c.call("echo", "X-User: ann").status)
	require.Equal(t, http.StatusNoContent, end("X-User: ann").status)
	require.Equal(t, http.StatusNotFound, c.call("echo", "X-User: ann").status)
	require.Equal(t, []string{"ann", "ann"}, asked)
}

func TestTransportContextHasHTTPRequest(t *testing.T) {
	e := serve(t, map[string]tool{"path": func(c ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		tr := s.Transport().(*streamable.TransportContext)
		return mcp.TextResult(tr.Request().URL.Path + tr.Header().Get("X-Tenant") + connection.FromContext(c).SessionID()), nil
	}}, nil)
	require.Contains(t, e.call26("path", "X-Tenant: t").body, `"/t"`)
	c := e.open("2025-11-25")
	require.Contains(t, c.call("path", "X-Tenant: t").body, `"/t`+c.id+`"`)
}

func TestHandlerContextHasValuesOfHTTPRequest(t *testing.T) {
	type key struct{}
	k := newDispatcher(map[string]tool{"value": func(c ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(c.Value(key{}).(string)), nil
	}})
	h := streamable.NewHandler(k, nil)
	e := serveDispatcher(t, k, nil)
	e.url = wrapped(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, "mine")))
	}))
	t.Cleanup(func() { h.Close() })
	require.Contains(t, e.open("2025-11-25").call("value").body, "mine")
	require.Contains(t, e.call26("value").body, "mine")
}

func TestSessionsEndConcurrently(t *testing.T) {
	var g gate
	var blocked chan struct{}
	tools := map[string]tool{"gate": g.call, "blocked": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		<-blocked
		return mcp.TextResult("late"), nil
	}}
	serveInBubble(t, tools, new(streamable.Options), func(t *testing.T, e *endpoint) {
		g, blocked = *newGate(), make(chan struct{})
		call := func(tool string) { // ends with the server
			c := e.open("2025-11-25")
			go func() {
				if res, err := e.client.Do(e.request(t.Context(), http.MethodPost, callTool(1, tool), c.headers())); err == nil {
					res.Body.Close()
				}
			}()
		}
		for range 3 {
			call("blocked")
		}
		call("gate")
		<-g.called
		begin, done := time.Now(), make(chan error, 1)
		go func() { done <- e.handler.Close() }() // ends five seconds later at most
		require.ErrorIs(t, <-g.ended, connection.ErrClosing)
		require.Zero(t, time.Since(begin), "the end of other sessions is not awaited")
		close(blocked)
		require.NoError(t, <-done)
	})
}

func TestShutdownCancelsHandshake(t *testing.T) {
	var began chan struct{}
	var ended, closed chan error
	o := dispatcherOptions(nil)
	o.Middleware = []peer.Middleware{atHandshake(func(ctx context.Context) error {
		connection.FromContext(ctx).OnClose(func(context.Context) error { close(closed); return nil })
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	})}
	serveDispatcherInBubble(t, o, nil, func(t *testing.T, e *endpoint) {
		began, ended, closed = make(chan struct{}), make(chan error, 1), make(chan error)
		answered := make(chan answer, 1)
		go func() { answered <- e.post(initialize("2025-11-25")) }() // ends with the server
		<-began
		begin := time.Now()
		require.NoError(t, e.handler.Close())
		require.Zero(t, time.Since(begin))
		require.ErrorIs(t, <-ended, connection.ErrClosing)
		<-closed
		a := <-answered
		require.Equal(t, mcp.CodeInternal, a.code(), a.body)
		require.Empty(t, a.header["Mcp-Session-Id"])
	})
}

func TestHandshakeAfterShutdownLeavesNoSession(t *testing.T) {
	var began, goOn, closed chan struct{}
	o := dispatcherOptions(nil)
	o.Middleware = []peer.Middleware{atHandshake(func(ctx context.Context) error {
		connection.FromContext(ctx).OnClose(func(context.Context) error { close(closed); return nil })
		close(began)
		<-goOn
		return nil
	})}
	serveDispatcherInBubble(t, o, nil, func(t *testing.T, e *endpoint) {
		began, goOn, closed = make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() { // ends with the server
			if res, err := e.client.Do(e.request(t.Context(), http.MethodPost, initialize("2025-11-25"), nil)); err == nil {
				res.Body.Close()
			}
		}()
		<-began
		require.NoError(t, e.handler.Close())
		close(goOn)
		<-closed
	})
}

func TestHandshakeWithInvalidResultReleasesSession(t *testing.T) {
	o := dispatcherOptions(nil)
	o.Capabilities.Experimental = map[string]map[string]json.RawMessage{"x": {"y": json.RawMessage(`{bad`)}}
	e := serveDispatcher(t, connection.NewDispatcher(o), &streamable.Options{MaxSessions: 2})
	for range 4 {
		a := e.post(initialize("2025-11-25"))
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Equal(t, mcp.CodeInternal, a.code())
		require.Empty(t, a.header["Mcp-Session-Id"])
	}
}

// TestUnusedSessionKeepsIDs leaves a session unused, with its standalone stream open.
// The numbers of requests and events must continue.
func TestUnusedSessionKeepsIDs(t *testing.T) {
	tools := map[string]tool{"changed": changed, "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("asked"), err
	}}
	serveInBubble(t, tools, nil, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		standalone := c.stream(http.MethodGet, "", c.headers()...)
		for i, id := range []string{"1", "2", "3"} {
			time.Sleep(time.Duration(i) * 5 * time.Second)
			asking := c.stream(http.MethodPost, callTool(1, "ask"), c.headers()...)
			question, _ := asking.data()
			require.Equal(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"roots/list","params":{}}`, question)
			time.Sleep(5 * time.Second) // the session is used while its client has a request
			require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[]}}`).status)
			answer, _ := asking.data()
			require.Contains(t, answer, "asked")
			require.Contains(t, c.call("changed").body, "notified")
			_, event := standalone.data()
			require.Equal(t, "0-"+id, event)
		}
		standalone.stop()
	})
}

func TestNewSessionID(t *testing.T) {
	ids := []string{"replica-1.a", "replica-1.b", "replica-1.a", "", "two words", "ä", "replica-1.c"}
	var callers []string
	e := serve(t, nil, &streamable.Options{NewSessionID: func(r *http.Request) string {
		id := ids[0]
		ids, callers = ids[1:], append(callers, r.Header.Get("Caller"))
		return id
	}})
	first := e.open("2025-11-25")
	require.Equal(t, "replica-1.a", first.id)
	require.Equal(t, "replica-1.b", e.open("2025-11-25").id)
	for range 4 { // ids that exist or are not valid
		refused := e.post(initialize("2025-11-25"), "Caller: me")
		require.Equal(t, http.StatusInternalServerError, refused.status)
		require.Contains(t, refused.body, `"message":"The session has no valid id"`)
		require.Empty(t, refused.header.Get("Mcp-Session-Id"))
	}
	require.Equal(t, []string{"", "", "me", "me", "me", "me"}, callers)
	exists := &streamable.SessionState{ID: first.id, Snapshot: connection.Snapshot{ProtocolVersion: "2025-11-25"}}
	require.ErrorContains(t, e.handler.Restore(t.Context(), exists, nil), "it exists")
	require.Equal(t, http.StatusOK, first.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).status)
	require.Equal(t, "replica-1.c", e.open("2025-11-25").id)
}
