package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestAClientThatGoesCancelsItsRequest(t *testing.T) {
	g := newGate()
	closed := make(chan struct{})
	e := serve(t, map[string]tool{"gate": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		connection.FromContext(ctx).OnClose(func(context.Context) error { close(closed); return nil })
		return g.call(ctx, s)
	}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { // ends with the request
		_, err := e.client.Do(e.request(ctx, http.MethodPost, call26("gate"), headers26("gate")))
		done <- err
	}()
	within(t, g.called, "the handler")
	cancel()
	require.ErrorIs(t, within(t, g.ended, "the end of the handler"), context.Canceled)
	require.ErrorIs(t, within(t, done, "the end of the call"), context.Canceled)
	within(t, closed, "the teardown of the connection")
}

func TestAClientThatGoesLeavesASessionsRequestAlone(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	c := e.open("2025-11-25")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { // ends with the request
		_, err := e.client.Do(e.request(ctx, http.MethodPost, callTool(1, "gate"), c.headers()))
		done <- err
	}()
	handling := within(t, g.called, "the handler")
	cancel()
	require.ErrorIs(t, within(t, done, "the end of the call"), context.Canceled)
	require.NoError(t, handling.Err())
	require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).status)
	within(t, g.ended, "the end of the handler")
}

func TestTenThousandRequestsThatNobodyWaitsFor(t *testing.T) {
	var running atomic.Int64
	k := newKernel(map[string]tool{"wait": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	h := streamable.NewHandler(k, &streamable.Options{MaxInFlight: -1})
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() {
			for range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(call26("wait"))).WithContext(ctx)
				for _, line := range append(headers26("wait"), "Content-Type: application/json") {
					name, value, _ := strings.Cut(line, ": ")
					r.Header.Set(name, value)
				}
				go cancel() // ends at once
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
	wait.Wait()
	require.Zero(t, running.Load())
	require.NoError(t, h.Shutdown(t.Context()), "nothing is left")
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	g := newGate()
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	e := serve(t, map[string]tool{"gate": g.call}, &streamable.Options{Principal: who, MaxInFlight: 2, MaxInFlightPerPrincipal: 1})
	done := make(chan answer, 1)
	go func() { done <- e.call26("gate", "X-User: ann") }() // ends with the request
	within(t, g.called, "the handler")
	a := e.call26("echo", "X-User: ann")
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Contains(t, a.body, `"id":7`)
	require.Equal(t, http.StatusOK, e.call26("echo", "X-User: bob").status)
	go func() { done <- e.call26("gate") }() // ends with the request
	within(t, g.called, "the second handler")
	a = e.call26("echo", "X-User: bob")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, mcp.CodeInternal, a.code())
	close(g.answer)
	require.Equal(t, http.StatusOK, within(t, done, "an answer").status)
	require.Equal(t, http.StatusOK, within(t, done, "an answer").status)
	require.Equal(t, http.StatusOK, e.call26("echo", "X-User: ann").status)
}

const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta26 + `}}}`

func (e *endpoint) listen() *lines {
	e.t.Helper()
	return e.stream(http.MethodPost, listen, version+"2026-07-28", "Mcp-Method: subscriptions/listen")
}

func TestSubscriptionsAreBounded(t *testing.T) {
	e := serve(t, nil, &streamable.Options{MaxSubscriptionStreams: 1, MaxInFlight: 1})
	l := e.listen()
	require.Contains(t, l.event(), "acknowledged")
	a := e.post(listen, version+"2026-07-28", "Mcp-Method: subscriptions/listen")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.body, "subscriptions")
	require.Equal(t, http.StatusOK, e.call26("echo").status, "they are not counted with the others")
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call, "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("asked"), err
	}}, nil)
	c := e.open("2025-11-25")
	standing, listening := e.stream(http.MethodGet, "", c.headers()...), e.listen()
	standing.event()
	listening.event()
	asking := e.stream(http.MethodPost, callTool(1, "ask"), c.headers()...)
	asking.data()
	done := make(chan answer, 1)
	go func() { done <- e.call26("gate") }() // ends with the request
	within(t, g.called, "the handler")

	shut := make(chan error, 1)
	go func() { shut <- e.handler.Shutdown(t.Context()) }() // ends when all is handled
	standing.end()
	require.Contains(t, listening.event(), `"result"`, "a subscription ends in order")
	listening.end()
	for _, a := range []answer{e.call26("echo"), c.post(callTool(3, "echo")), e.post(initialize("2025-11-25")), e.send(http.MethodGet, "", c.headers()...)} {
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "1", a.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`).status, "what is being handled may need it")
	data, _ := asking.data()
	require.Contains(t, data, "asked")
	select {
	case <-shut:
		require.Fail(t, "a request is still being handled")
	default:
	}
	close(g.answer)
	require.Contains(t, within(t, done, "the answer").body, "opened")
	require.NoError(t, within(t, shut, "the end"))
	require.Equal(t, http.StatusNotFound, c.post(initialized).status)
	require.Contains(t, e.post(initialize("2025-11-25")).body, "shutting down", "not too many sessions")
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	outside, inside := newGate(), newGate()
	e := serve(t, map[string]tool{"outside": outside.call, "inside": inside.call}, nil)
	c := e.open("2025-11-25")
	done := make(chan answer, 2)
	go func() { done <- e.call26("outside") }() // ends with the request
	go func() { done <- c.call("inside") }()    // ends with the request
	within(t, outside.called, "the handler")
	within(t, inside.called, "the handler in the session")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, e.handler.Shutdown(ctx), context.Canceled)
	require.ErrorIs(t, within(t, outside.ended, "the end"), streamable.ErrClosing)
	require.ErrorIs(t, within(t, inside.ended, "the end"), streamable.ErrClosing)
	for range 2 {
		require.Equal(t, mcp.CodeInternal, within(t, done, "an answer").code())
	}
	require.NoError(t, e.handler.Close())
}

func TestTheEndOfASessionEndsWhatItHandles(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	c := e.open("2025-11-25")
	done := make(chan answer, 1)
	go func() { done <- c.call("gate") }() // ends with the request
	within(t, g.called, "the handler")
	require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
	require.Error(t, within(t, g.ended, "the end of the handler"))
	require.Equal(t, mcp.CodeInternal, within(t, done, "the answer").code())
	require.Equal(t, http.StatusNotFound, c.send(http.MethodDelete, "", c.headers()...).status)
}

// TestAClientThatDoesNotReadIsGivenUp uses connections without a buffer.
func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	ended := make(chan error, 1)
	tools := map[string]tool{"flood": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		text := json.RawMessage(`"` + strings.Repeat("x", 8<<10) + `"`)
		for ctx.Err() == nil {
			s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: text})
		}
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}}
	serveInBubble(t, tools, &streamable.Options{KeepAlive: -1}, func(t *testing.T, e *endpoint) {
		ended = make(chan error, 1)
		body := strings.Replace(call26("flood"), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1)
		l := e.stream(http.MethodPost, body, headers26("flood")...)
		begin := time.Now()
		require.Error(t, <-ended)
		require.Equal(t, 30*time.Second, time.Since(begin))
		l.stop()
	})
}

func TestASlowReaderOfASessionsStreamDelaysNobody(t *testing.T) {
	serveInBubble(t, map[string]tool{"changed": changed}, &streamable.Options{KeepAlive: -1}, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		standing := e.stream(http.MethodGet, "", c.headers()...)
		begin := time.Now()
		for range 500 {
			c.call("changed")
		}
		require.Zero(t, time.Since(begin))
		time.Sleep(time.Minute)
		_, err := io.ReadAll(standing.read)
		require.Error(t, err, "the stream was given up in the middle")
		synctest.Wait()
		again := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 0-0")...)
		for i := range 500 {
			_, id := again.data()
			require.Equal(t, fmt.Sprintf("0-%d", i+1), id, "and nothing is lost")
		}
		again.stop()
	})
}

func TestNothingIsSentWhenTheHandlerHasReturned(t *testing.T) {
	var kept *mcp.ServerSession
	e := serve(t, map[string]tool{"keep": func(_ ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		kept = s
		return mcp.TextResult("kept"), nil
	}}, nil)
	c := e.open("2025-11-25")
	note := &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(`1`)}
	late := func() {
		require.NoError(t, kept.SendLogMessage(t.Context(), note))
		require.NoError(t, kept.ReportProgress(t.Context(), peer.Progress{Progress: 1}))
		var none *peer.NoBackChannelError
		_, err := kept.ListRoots(t.Context())
		require.ErrorAs(t, err, &none)
		require.False(t, kept.Transport().(*streamable.TransportContext).EndStream(0))
	}
	require.Equal(t, "application/json", c.call("keep").header.Get("Content-Type"))
	late()
	require.Equal(t, http.StatusOK, e.call26("keep").status)
	late()
}

func TestAServerHasBounds(t *testing.T) {
	h := http.NotFoundHandler()
	s := streamable.NewHTTPServer("localhost:1", h)
	require.Equal(t, "localhost:1", s.Addr)
	require.NotZero(t, s.ReadHeaderTimeout)
	require.NotZero(t, s.ReadTimeout)
	require.NotZero(t, s.IdleTimeout)
	require.NotZero(t, s.MaxHeaderBytes)
	require.Zero(t, s.WriteTimeout, "streams last")
}

func TestAnAnswerMayTakeLongerThanItsRequestMayTake(t *testing.T) {
	serveInBubble(t, map[string]tool{"slow": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Hour):
			return mcp.TextResult("slow"), nil
		}
	}}, nil, func(t *testing.T, e *endpoint) {
		r := e.request(t.Context(), http.MethodPost, call26("slow"), headers26("slow"))
		res, err := e.client.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), `"slow"`)
	})
}

func TestAMiddlewareNeedNotKnowOfFlushing(t *testing.T) {
	h := streamable.NewHandler(newKernel(map[string]tool{"logs": logs(2)}), nil)
	e := serve(t, nil, nil)
	e.url = wrapped(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(onlyWriter{w}, r) }))
	t.Cleanup(func() { h.Close() })
	require.Len(t, e.open("2025-11-25").call("logs").events(), 3)
}

// onlyWriter hides what else a ResponseWriter can do.
type onlyWriter struct{ w http.ResponseWriter }

func (o onlyWriter) Header() http.Header         { return o.w.Header() }
func (o onlyWriter) Write(b []byte) (int, error) { return o.w.Write(b) }
func (o onlyWriter) WriteHeader(status int)      { o.w.WriteHeader(status) }

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	h := streamable.NewHandler(newKernel(nil), nil)
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(`{"jsonrpc`), brokenReader{}))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.NotContains(t, w.Body.String(), "cable")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the cable was cut") }

func TestOverHTTP2NothingIsDifferent(t *testing.T) {
	g := newGate()
	h := streamable.NewHandler(newKernel(map[string]tool{"logs": logs(2), "gate": g.call, "poll": poll(newGate())}), &streamable.Options{Polling: true})
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { h.Close(); server.Close() })
	e := &endpoint{t: t, url: server.URL, handler: h, client: server.Client()}

	require.Equal(t, http.StatusOK, e.call26("echo").status)
	c := e.open("2025-11-25")
	require.Len(t, c.call("logs").events(), 3)
	require.Contains(t, c.call("poll").body, "retry: 250", "the stream ends before the answer")
	standing := e.stream(http.MethodGet, "", c.headers()...)
	require.Equal(t, 2, standing.res.ProtoMajor)
	standing.event()

	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the request
		if res, err := e.client.Do(e.request(ctx, http.MethodPost, call26("gate"), headers26("gate"))); err == nil {
			res.Body.Close()
		}
	}()
	within(t, g.called, "the handler")
	cancel()
	require.ErrorIs(t, within(t, g.ended, "the end of the handler"), context.Canceled)
	require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
	standing.end()
}

func TestALongAnswerIsSentWhole(t *testing.T) {
	long := strings.Repeat("long ", 1<<18)
	e := serve(t, map[string]tool{"long": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) { return mcp.TextResult(long), nil }}, nil)
	for _, a := range []answer{e.call26("long"), e.open("2025-11-25").call("long")} {
		require.Contains(t, a.body, long)
		require.Equal(t, fmt.Sprint(len(a.body)), a.header.Get("Content-Length"))
	}
}
