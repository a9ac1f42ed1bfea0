package streamable_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// serveLegacy starts a server of HTTP+SSE below /old.
func serveLegacy(t *testing.T, tools map[string]tool, opts *streamable.Options) (*endpoint, *streamable.LegacySSEHandler) {
	t.Helper()
	h := streamable.NewLegacySSEHandler(newDispatcher(tools), opts)
	mux := http.NewServeMux()
	mux.Handle("/old/", http.StripPrefix("/old", h))
	server := httptest.NewServer(mux)
	e := &endpoint{t: t, url: server.URL + "/old/sse", client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		h.Close()
		e.client.CloseIdleConnections()
		server.Close()
	})
	return e, h
}

// legacy opens a stream. It returns the stream and the endpoint for its messages.
func (e *endpoint) legacy(change ...string) (*lines, *endpoint) {
	e.t.Helper()
	l := e.stream(http.MethodGet, "", change...)
	require.Equal(e.t, http.StatusOK, l.res.StatusCode)
	path, ok := strings.CutPrefix(l.event(), "event: endpoint\ndata: ")
	require.True(e.t, ok)
	require.True(e.t, strings.HasPrefix(path, "/old/sse?sessionId="), path)
	return l, &endpoint{t: e.t, url: strings.TrimSuffix(e.url, "/old/sse") + path, client: e.client}
}

func TestLegacySSESendsAllMessagesOnStream(t *testing.T) {
	e, _ := serveLegacy(t, map[string]tool{"changed": changed, "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		res, err := s.ListRoots(ctx)
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(res.Roots[0].URI + s.Revision().String()), nil
	}}, nil)
	l, to := e.legacy()
	send := func(body string) {
		a := to.post(body)
		require.Equal(t, http.StatusAccepted, a.status, a.body)
	}
	send(initialize("2024-11-05"))
	data, id := l.data()
	require.Empty(t, id)
	require.Contains(t, data, `"protocolVersion":"2024-11-05"`)
	send(initialized)
	send(callTool(1, "changed"))
	data, _ = l.data()
	require.Contains(t, data, "list_changed")
	data, _ = l.data()
	require.Contains(t, data, "notified")
	send(callTool(2, "ask"))
	data, _ = l.data()
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`, data)
	send(`{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///x"}]}}`)
	data, _ = l.data()
	require.Contains(t, data, "file:///x2024-11-05")
	send(`{`)
	data, _ = l.data()
	require.Contains(t, data, `"code":-32700`)
}

func TestLegacySSEHasIDsOfServer(t *testing.T) {
	ids := []string{"a&b", "a&b", "", "two words", "c"}
	e, _ := serveLegacy(t, map[string]tool{"id": func(c ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult("<" + connection.FromContext(c).SessionID() + ">"), nil
	}}, &streamable.Options{Logger: slog.New(slog.DiscardHandler), NewSessionID: func(*http.Request) string {
		id := ids[0]
		ids = ids[1:]
		return id
	}})
	l, to := e.legacy()
	require.Contains(t, to.url, "sessionId=a%26b")
	for range 3 {
		require.Equal(t, http.StatusInternalServerError, e.send(http.MethodGet, "", "Accept: text/event-stream").status)
	}
	to.post(initialize("2024-11-05"))
	l.event()
	to.post(callTool(2, "id"))
	require.Contains(t, l.event(), `<a&b>`)
	_, to = e.legacy()
	require.Contains(t, to.url, "sessionId=c")
}

func TestLegacySSECancellationBeforeItsRequest(t *testing.T) {
	e, _ := serveLegacy(t, map[string]tool{"never": func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		t.Error("the request was cancelled")
		return mcp.TextResult(""), nil
	}}, nil)
	l, to := e.legacy()
	to.post(initialize("2024-11-05"))
	l.data()
	for _, body := range []string{
		initialized, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, callTool(1, "never"), callTool(2, "echo"),
	} {
		require.Equal(t, http.StatusAccepted, to.post(body).status)
	}
	data, _ := l.data()
	require.Contains(t, data, `"id":2`, "the cancelled request has no response")
}

func TestLegacySSERefusesInvalidRequests(t *testing.T) {
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	e, h := serveLegacy(t, nil, &streamable.Options{Principal: who, MaxSessions: 1, MaxBody: 300})
	l, to := e.legacy("X-User: ann")
	for _, x := range []struct {
		e       *endpoint
		method  string
		body    string
		status  int
		headers headers
	}{
		{to, http.MethodPost, initialize("2024-11-05"), 404, nil},
		{e, http.MethodPost, initialize("2024-11-05"), 404, headers{"X-User: ann"}},
		{to, http.MethodPost, initialize("2024-11-05"), 415, headers{"X-User: ann", "Content-Type: text/plain"}},
		{to, http.MethodPost, strings.Repeat(" ", 301), 413, headers{"X-User: ann"}},
		{to, http.MethodPost, initialize("2024-11-05"), 421, headers{"X-User: ann", "Host: evil.example.com"}},
		{to, http.MethodPost, initialize("2024-11-05"), 403, headers{"X-User: ann", "Origin: http://evil.example.com"}},
		{to, http.MethodPost, initialize("2024-11-05"), 202, headers{"X-User: ann"}},
		{e, http.MethodGet, "", 503, nil},
		{e, http.MethodGet, "", 406, headers{"Accept: application/json"}},
		{e, http.MethodPut, "", 405, nil},
	} {
		require.Equal(t, x.status, x.e.send(x.method, x.body, x.headers...).status, "%s %s %v", x.method, x.body, x.headers)
	}
	require.Contains(t, e.post(initialize("2025-11-25")).body, "transport of 2024-11-05", "the error names the transport")
	require.NoError(t, h.Shutdown(t.Context()))
	l.data()
	l.end()
	require.Equal(t, 503, e.send(http.MethodGet, "").status)
	require.Equal(t, 404, to.post(initialized, "X-User: ann").status)
}

func TestLegacySSEAcceptsBodiesUpToLimit(t *testing.T) {
	for _, most := range []int{8 << 20, -1} {
		e, _ := serveLegacy(t, nil, &streamable.Options{MaxBody: most})
		l, to := e.legacy()
		to.post(initialize("2024-11-05"))
		l.data()
		to.post(initialized)
		long := fmt.Sprintf(`"arguments":{"a":%q}`, strings.Repeat("x", 5<<20))
		require.Equal(t, http.StatusAccepted, to.post(strings.Replace(callTool(1, "echo"), `"arguments":{"a":1}`, long, 1)).status)
		data, _ := l.data()
		require.Contains(t, data[:100], `"result"`)
	}
}

func TestLegacySSESessionEndsWithStream(t *testing.T) {
	g := newGate()
	e, _ := serveLegacy(t, map[string]tool{"gate": g.call}, nil)
	l, to := e.legacy()
	to.post(initialize("2024-11-05"))
	l.data()
	to.post(callTool(1, "gate"))
	within(t, g.called, "the handler")
	l.stop()
	require.Error(t, within(t, g.ended, "the end of the handler"))
	require.Eventually(t, func() bool { return to.post(initialized).status == http.StatusNotFound }, serverTimeout, 1e6)
}

func TestLegacySSEKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamable.NewLegacySSEHandler(newDispatcher(nil), &streamable.Options{
			KeepAlive: time.Minute, Logger: slog.New(slog.DiscardHandler),
		})
		e, stop := inMemory(t, h, h.Close)
		defer stop()
		l, to := e.legacy()
		begin := time.Now()
		for range 3 {
			require.Equal(t, ":", l.event())
		}
		require.Equal(t, 3*time.Minute, time.Since(begin))
		time.Sleep(2 * time.Minute) // the client reads nothing meanwhile
		require.Equal(t, http.StatusNotFound, to.post(initialized).status)
	})
}

// callAtGate returns a server of HTTP+SSE with a call in flight.
func callAtGate(t *testing.T) (*gate, *endpoint, *streamable.LegacySSEHandler, *lines) {
	t.Helper()
	g := newGate()
	e, h := serveLegacy(t, map[string]tool{"gate": g.call}, nil)
	l, to := e.legacy()
	to.post(initialize("2024-11-05"))
	l.data()
	to.post(initialized)
	to.post(callTool(1, "gate"))
	within(t, g.called, "the handler")
	return g, e, h, l
}

func TestLegacySSEShutdownWaitsForRequests(t *testing.T) {
	g, e, h, l := callAtGate(t)
	done := make(chan error, 1)
	go func() { done <- h.Shutdown(t.Context()) }() // ends with the response
	require.Eventually(t, func() bool { return e.send(http.MethodGet, "").status == http.StatusServiceUnavailable }, serverTimeout, 1e6)
	close(g.answer)
	data, _ := l.data()
	require.Contains(t, data, "opened")
	l.end()
	require.NoError(t, within(t, done, "the end"))
}

func TestLegacySSERefusesRequestsDuringShutdown(t *testing.T) {
	goOn := make(chan struct{})
	e, h := serveLegacy(t, map[string]tool{"asks": func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		<-goOn
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("asked"), err
	}}, nil)
	l, to := e.legacy()
	to.post(initialize("2025-03-26"))
	l.data()
	to.post(initialized)
	require.Equal(t, http.StatusAccepted, to.post(callTool(1, "asks")).status)
	done := make(chan error, 1)
	go func() { done <- h.Shutdown(t.Context()) }() // ends with the response
	require.Eventually(t, func() bool { return e.send(http.MethodGet, "").status == http.StatusServiceUnavailable }, serverTimeout, 1e6)
	a := to.post(callTool(2, "echo"))
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.body, "Server is shutting down")
	require.Eventually(t, func() bool {
		to.post(`[` + callTool(3, "echo") + `]`)
		data, _ := l.data()
		return strings.Contains(data, "Server is shutting down")
	}, serverTimeout, 1e6)
	close(goOn)
	question, _ := l.data()
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{}}`, question)
	require.Equal(t, http.StatusAccepted, to.post(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`).status)
	data, _ := l.data()
	require.Contains(t, data, "asked")
	l.end()
	require.NoError(t, within(t, done, "the end"))
}

func TestLegacySSEShutdownCancelsRequestsAfterContext(t *testing.T) {
	g, _, h, _ := callAtGate(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Shutdown(ctx), context.Canceled)
	require.ErrorIs(t, within(t, g.ended, "the end of the handler"), connection.ErrClosing)
}
