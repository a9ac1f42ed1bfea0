package streamable_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestStatelessRequestGetsJSON(t *testing.T) {
	a := serve(t, nil, nil).call26("echo", sessions+"ignored", "Last-Event-ID: 1-2")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Empty(t, a.header.Get("Mcp-Session-Id"))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"a\":1}"}],"resultType":"complete",
		"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}}}`, a.body)
}

func TestResponseHasDate(t *testing.T) {
	serveInBubble(t, nil, nil, func(t *testing.T, e *endpoint) {
		for range 5 {
			for range 2 {
				date := e.call26("echo").header.Values("Date")
				require.Equal(t, []string{time.Now().UTC().Format(http.TimeFormat)}, date)
			}
			time.Sleep(700 * time.Millisecond)
		}
	})
}

func TestErrorStatus(t *testing.T) {
	e := serve(t, map[string]tool{
		"secret": fails(errSecret),
		"data":   fails(&peer.Error{Code: 43, Message: "App", Data: []byte("{")}),
		"app":    fails(&peer.Error{Code: 42, Message: "App"}),
		"params": fails(&peer.Error{Code: mcp.CodeInvalidParams, Message: "Bad"}),
		"needs":  fails(&mcp.MissingRequiredClientCapabilityError{}),
		"panics": func(_ ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) { panic(errSecret) },
		"fails":  func(_ ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) { return mcp.ErrorResult("no"), nil },
		"nil":    func(_ ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) { return nil, nil },
	}, nil)
	const v26 = version + "2026-07-28"
	list := `{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{` + meta26 + `}}}`
	other := strings.ReplaceAll(list, "2026-07-28", "2027-01-01")
	for _, c := range []struct {
		name, body string
		headers    headers
		status     int
		code       int
	}{
		{"fine", list, headers{v26, "Mcp-Method: tools/list"}, 200, 0},
		{"header names in any case", list, headers{"mcp-protocol-version: 2026-07-28", "MCP-METHOD: tools/list"}, 200, 0},
		{"tool failure", call26("fails"), headers26("fails"), 200, 0},
		{"no JSON", `{`, headers{v26}, 400, mcp.CodeParse},
		{"incomplete", list[:len(list)-1], headers{v26}, 400, mcp.CodeParse},
		{"incomplete before the method", `{"jsonrpc":"2.0","id":1,`, headers{v26}, 400, mcp.CodeParse},
		{"empty", ``, headers{v26}, 400, mcp.CodeParse},
		{"two values", list + list, headers{v26}, 400, mcp.CodeParse},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", headers{v26}, 400, mcp.CodeParse},
		{"duplicate member", `{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, headers{v26}, 400, mcp.CodeParse},
		{"too deep", `{"jsonrpc":"2.0","id":"x","method":"a","params":` + strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300) + `}`, headers{v26}, 400, mcp.CodeParse},
		{"array", `[` + list + `]`, headers{v26}, 400, mcp.CodeInvalidRequest},
		{"number", `1`, headers{v26}, 400, mcp.CodeInvalidRequest},
		{"answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, headers{v26}, 400, mcp.CodeInvalidRequest},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"a"}`, headers{v26}, 400, mcp.CodeInvalidRequest},
		{"no method header", list, headers{v26}, 400, mcp.CodeHeaderMismatch},
		{"other method", list, headers{v26, "Mcp-Method: tools/call"}, 400, mcp.CodeHeaderMismatch},
		{"method in other case", list, headers{v26, "Mcp-Method: Tools/List"}, 400, mcp.CodeHeaderMismatch},
		{"method twice", list, headers{v26, "Mcp-Method: tools/list", "Mcp-Method: tools/list"}, 400, mcp.CodeHeaderMismatch},
		{"no name", call26("echo"), headers26("echo")[:2], 400, mcp.CodeHeaderMismatch},
		{"other name", call26("echo"), headers26("ehco"), 400, mcp.CodeHeaderMismatch},
		{"name encoded", call26("echo"), headers26("=?base64?ZWNobw==?="), 200, 0},
		{"name badly encoded", call26("echo"), headers26("=?base64?ZWNobw?="), 400, mcp.CodeHeaderMismatch},
		{"other version in the body", other, headers{v26, "Mcp-Method: tools/list"}, 400, mcp.CodeHeaderMismatch},
		{"version twice", list, headers{v26, v26, "Mcp-Method: tools/list"}, 400, mcp.CodeHeaderMismatch},
		{"no metadata", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers{v26, "Mcp-Method: tools/list"}, 400, mcp.CodeInvalidParams},
		{"unknown version", other, headers{version + "2027-01-01", "Mcp-Method: tools/list"}, 400, mcp.CodeUnsupportedProtocolVersion},
		{"stateless revision only in the body", list, nil, 400, mcp.CodeHeaderMismatch},
		{"handshake revision in the header", list, headers{version + "2025-11-25"}, 400, mcp.CodeHeaderMismatch},
		{"unknown method", strings.ReplaceAll(list, "tools/list", "no/such"), headers{v26, "Mcp-Method: no/such"}, 404, mcp.CodeMethodNotFound},
		{"removed method", strings.ReplaceAll(list, "tools/list", "ping"), headers{v26, "Mcp-Method: ping"}, 404, mcp.CodeMethodNotFound},
		{"initialize in a stateless revision", strings.ReplaceAll(list, "tools/list", "initialize"), headers{v26, "Mcp-Method: initialize"}, 404, mcp.CodeMethodNotFound},
		{"unknown tool", call26("none"), headers26("none"), 400, mcp.CodeInvalidParams},
		{"invalid params", call26("params"), headers26("params"), 400, mcp.CodeInvalidParams},
		{"missing capability", call26("needs"), headers26("needs"), 400, mcp.CodeMissingRequiredClientCapability},
		{"internal", call26("secret"), headers26("secret"), 200, mcp.CodeInternal},
		{"panic", call26("panics"), headers26("panics"), 200, mcp.CodeInternal},
		{"nothing", call26("nil"), headers26("nil"), 200, mcp.CodeInternal},
		{"application's own", call26("app"), headers26("app"), 200, 42},
		{"invalid data", call26("data"), headers26("data"), 200, 43},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := (&endpoint{t: t, url: e.url, client: e.client}).post(c.body, c.headers...)
			require.Equal(t, c.status, a.status, a.body)
			require.Equal(t, c.code, a.code(), a.body)
			require.Equal(t, "application/json", a.header.Get("Content-Type"))
			require.NotContains(t, a.body, "xyzzy")
			require.Empty(t, a.header.Get("Mcp-Session-Id"))
			if strings.Contains(c.body, `"id":"x"`) && c.name != "array" {
				require.Contains(t, a.body, `"id":"x"`, "the id is in the response if it could be read")
			} else if c.code == mcp.CodeParse {
				require.NotContains(t, a.body, `"id"`)
			}
			if c.code == mcp.CodeUnsupportedProtocolVersion {
				require.Contains(t, a.body, "Unsupported protocol version")
				require.Contains(t, a.body, `"requested":"2027-01-01"`)
			}
		})
	}
}

func TestANotificationIsAccepted(t *testing.T) {
	e := serve(t, nil, nil)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, `{"jsonrpc":"2.0","method":"no/such"}`, initialized,
	} {
		a := e.post(body, version+"2026-07-28")
		require.Equal(t, answer{http.StatusAccepted, a.header, ""}, a)
	}
	a := e.post(initialized, version+"2027-01-01")
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeUnsupportedProtocolVersion, a.code())
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	e := serve(t, nil, nil)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodOptions} {
		a := e.send(method, "", version+"2026-07-28")
		require.Equal(t, http.StatusMethodNotAllowed, a.status)
		require.Equal(t, "POST", a.header.Get("Allow"))
	}
	a := e.send(http.MethodPut, "")
	require.Equal(t, http.StatusMethodNotAllowed, a.status)
	require.Equal(t, "GET, POST, DELETE", a.header.Get("Allow"))
	require.Contains(t, a.body, "Model Context Protocol", "users of a browser may read it")
	stateless := serve(t, nil, &streamable.Options{Stateless: true})
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := stateless.send(method, "")
		require.Equal(t, http.StatusMethodNotAllowed, a.status)
		require.Equal(t, "POST", a.header.Get("Allow"))
	}
}

func TestMessageBeforeResponseStartsStream(t *testing.T) {
	e := serve(t, map[string]tool{
		"reports": reports(1, 1, 0.5, 2),
		"late": func(c ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			reports(1)(c, s)
			return nil, errSecret
		},
	}, nil)
	body := strings.Replace(call26("reports"), `"_meta":{`, `"_meta":{"progressToken":"tok",`, 1)
	a := e.post(body, headers26("reports")...)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "text/event-stream", a.header.Get("Content-Type"))
	require.Equal(t, "no-cache", a.header.Get("Cache-Control"))
	require.Equal(t, "no", a.header.Get("X-Accel-Buffering"))
	require.NotContains(t, a.body, "id: ", "stateless revisions cannot resume")
	events := a.events()
	require.Len(t, events, 3, "progress that does not increase is dropped")
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1}}`, events[0])
	require.Contains(t, events[1], `"progress":2`)
	require.Contains(t, events[2], "reported")

	a = e.post(strings.Replace(strings.Replace(call26("late"), `"_meta":{`, `"_meta":{"progressToken":"tok",`, 1), "reports", "late", 1), headers26("late")...)
	require.Equal(t, http.StatusOK, a.status, "the status was sent with the first notification")
	require.Equal(t, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error"}}`, testlog.WithoutIDs(a.events()[1]))
	require.NotContains(t, a.body, "xyzzy")
}

func TestAcceptHeader(t *testing.T) {
	tools := map[string]tool{"reports": reports(1)}
	both, only := serve(t, tools, nil), serve(t, tools, &streamable.Options{JSONResponse: true})
	body := strings.Replace(call26("reports"), `"_meta":{`, `"_meta":{"progressToken":"tok",`, 1)
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + meta26 + `}}}`
	for accept, want := range map[string]struct{ plain, reports, onlyJSON, listen int }{
		"Accept":                                          {1, 2, 1, 2},
		"Accept: */*":                                     {1, 2, 1, 2},
		"Accept: application/*, text/*":                   {1, 2, 1, 2},
		"Accept: application/json":                        {1, 1, 1, 406},
		"Accept: text/event-stream":                       {2, 2, 406, 2},
		"Accept: application/json;q=0, */*":               {2, 2, 406, 2},
		"Accept: */*, text/event-stream;q=0":              {1, 1, 1, 406},
		"Accept: */*, application/*;q=0":                  {2, 2, 406, 2},
		"Accept: application/*;q=0, application/json;q=1": {1, 1, 1, 406},
		"Accept: text/event-stream;q=0.0":                 {406, 406, 406, 406},
		"Accept: text/html":                               {406, 406, 406, 406},
		"Accept: APPLICATION/JSON;v=1;q=0.5":              {1, 1, 1, 406},
		"Accept: text/event-stream , a/b;q=1":             {2, 2, 406, 2},
	} {
		kind := func(a answer) int {
			switch a.header.Get("Content-Type") {
			case "application/json":
				if a.status == http.StatusOK {
					return 1
				}
			case "text/event-stream":
				return 2
			}
			return a.status
		}
		require.Equal(t, want.plain, kind(both.call26("echo", accept)), accept)
		require.Equal(t, want.reports, kind(both.post(body, append(headers26("reports"), accept)...)), accept)
		require.Equal(t, want.onlyJSON, kind(only.post(body, append(headers26("reports"), accept)...)), accept)
		for _, e := range []*endpoint{both, only} {
			l := e.stream(http.MethodPost, listen, version+"2026-07-28", "Mcp-Method: subscriptions/listen", accept)
			if l.res.StatusCode == http.StatusOK {
				require.Contains(t, l.event(), "notifications/subscriptions/acknowledged")
			}
			streams := want.listen == 2
			require.Equal(t, streams, l.res.StatusCode == http.StatusOK, accept)
			l.stop()
		}
	}
}

// ownNotification is a notification that is not part of the protocol.
type ownNotification struct{}

func (*ownNotification) Method() string                                { return "acme/note" }
func (*ownNotification) IsNotification()                               {}
func (*ownNotification) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*ownNotification) DecodeParams(d *wire.Decoder)                  { d.Skip() }

func TestStatelessNotificationsAreLimited(t *testing.T) {
	for revision, stateless := range map[string]bool{"2026-07-28": false, "2025-11-25": true} {
		t.Run(revision, func(t *testing.T) {
			const room, sent = 2, 10
			called, ended := make(chan struct{}, sent), make(chan error, sent)
			o := dispatcherOptions(nil)
			peer.HandleNotification(o.Mux, func(ctx context.Context, _ *ownNotification) error {
				called <- struct{}{}
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil
			})
			e := serveDispatcher(t, connection.NewDispatcher(o), &streamable.Options{MaxInFlight: room, Stateless: stateless})
			note := func() int { return e.post(`{"jsonrpc":"2.0","method":"acme/note"}`, version+revision).status }
			statuses := make(chan int, sent)
			for range sent {
				go func() { statuses <- note() }() // ends with the handler, at the latest during the shutdown
			}
			for range sent - room {
				require.Equal(t, http.StatusServiceUnavailable, within(t, statuses, "refusal"))
			}
			for range room {
				within(t, called, "call")
			}

			testTimeout, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, e.handler.Shutdown(testTimeout), context.DeadlineExceeded, "a request had to be cancelled")
			for range room {
				require.Equal(t, connection.ErrClosing, within(t, ended, "end"))
				require.Equal(t, http.StatusAccepted, within(t, statuses, "status"))
			}
			require.Equal(t, http.StatusServiceUnavailable, note())
		})
	}
}

func TestSessionlessRequestsAreLimitedInEachRevision(t *testing.T) {
	g := newGate()
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	e := serve(t, map[string]tool{"gate": g.call}, &streamable.Options{
		Stateless: true, Principal: who, MaxInFlight: 2, MaxInFlightPerPrincipal: 1,
	})
	call := func(name, user string) answer {
		return e.post(callTool(1, name), version+"2025-11-25", "X-User: "+user)
	}
	done := make(chan answer, 2)
	go func() { done <- call("gate", "ann") }() // ends with the request
	within(t, g.called, "the handler")
	require.Equal(t, http.StatusTooManyRequests, call("echo", "ann").status)
	require.Equal(t, http.StatusTooManyRequests, e.call26("echo", "X-User: ann").status, "all revisions share the limit")
	go func() { done <- call("gate", "bob") }() // ends with the request
	within(t, g.called, "the second handler")
	a := call("echo", "cho")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Contains(t, a.body, `"id":1`)
	close(g.answer)
	for range 2 {
		require.Equal(t, http.StatusOK, within(t, done, "a response").status)
	}
	require.Equal(t, http.StatusOK, call("echo", "ann").status)
}

func TestDisconnectDoesNotCancelSessionlessRequest(t *testing.T) {
	g := newGate()
	o := dispatcherOptions(map[string]tool{"gate": g.call})
	peer.HandleNotification(o.Mux, func(ctx context.Context, _ *ownNotification) error {
		_, err := g.call(ctx, nil)
		return err
	})
	h := streamable.NewHandler(connection.NewDispatcher(o), &streamable.Options{Stateless: true})
	defer h.Close()
	for _, body := range []string{callTool(1, "gate"), `{"jsonrpc":"2.0","method":"acme/note"}`} {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(ctx)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		done := make(chan struct{})
		go func() { // ends when the gate opens
			h.ServeHTTP(httptest.NewRecorder(), r)
			close(done)
		}()
		handling := within(t, g.called, "the handler")
		cancel()
		require.NoError(t, handling.Err(), body)
		g.answer <- struct{}{}
		within(t, done, "the end of the request")
	}
}

func TestShutdownCancelsSessionlessRequests(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, &streamable.Options{Stateless: true})
	done := make(chan answer, 1)
	go func() { done <- e.post(callTool(1, "gate"), version+"2025-11-25") }() // ends with the request
	within(t, g.called, "the handler")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.handler.Shutdown(ctx), context.Canceled)
	require.ErrorIs(t, within(t, g.ended, "the end"), connection.ErrClosing)
	require.Equal(t, mcp.CodeInternal, within(t, done, "a response").code())
}

func TestSessionlessRequestsNeedServedRevision(t *testing.T) {
	o := dispatcherOptions(nil)
	o.Revisions = []wire.Revision{mcp.Revision20251125, mcp.Revision20260728}
	e := serveDispatcher(t, connection.NewDispatcher(o), &streamable.Options{Stateless: true})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	require.Equal(t, http.StatusOK, e.post(initialize("2025-11-25")).status)
	require.Equal(t, http.StatusOK, e.post(initialize("2025-06-18"), version+"2025-06-18").status, "initialize negotiates another revision")
	require.Equal(t, http.StatusOK, e.post(list, version+"2025-11-25").status)
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18"} {
		for _, body := range []string{list, `[` + list + `]`, initialized} {
			a := e.post(body, version+revision)
			require.Equal(t, http.StatusBadRequest, a.status, "%s in %s: %s", body, revision, a.body)
			require.Contains(t, a.body, "Unsupported protocol version")
		}
	}
}
