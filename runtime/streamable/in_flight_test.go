package streamable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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

func TestDisconnectCancelsStatelessRequest(t *testing.T) {
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
	require.ErrorIs(t, within(t, done, "end of the call"), context.Canceled)
	within(t, closed, "the teardown of the connection")
}

func TestDisconnectDoesNotCancelSessionRequest(t *testing.T) {
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
	require.ErrorIs(t, within(t, done, "end of the call"), context.Canceled)
	require.NoError(t, handling.Err())
	require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).status)
	within(t, g.ended, "the end of the handler")
}

func TestTenThousandAbandonedRequests(t *testing.T) {
	var running atomic.Int64
	k := newDispatcher(map[string]tool{"wait": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
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
				go cancel() // ends immediately
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
	require.Equal(t, http.StatusOK, within(t, done, "a response").status)
	require.Equal(t, http.StatusOK, within(t, done, "a response").status)
	require.Equal(t, http.StatusOK, e.call26("echo", "X-User: ann").status)
}

const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta26 + `}}}`

func (e *endpoint) listen() *lines {
	e.t.Helper()
	return e.stream(http.MethodPost, listen, version+"2026-07-28", "Mcp-Method: subscriptions/listen")
}

func TestMaxSubscriptionStreams(t *testing.T) {
	e := serve(t, nil, &streamable.Options{MaxSubscriptionStreams: 1, MaxInFlight: 1})
	l := e.listen()
	require.Contains(t, l.event(), "acknowledged")
	a := e.post(listen, version+"2026-07-28", "Mcp-Method: subscriptions/listen")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Contains(t, a.body, "subscriptions")
	require.Equal(t, http.StatusOK, e.call26("echo").status, "subscriptions have a separate limit")
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call, "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("asked"), err
	}}, nil)
	c := e.open("2025-11-25")
	standalone, listening := e.stream(http.MethodGet, "", c.headers()...), e.listen()
	standalone.event()
	listening.event()
	asking := e.stream(http.MethodPost, callTool(1, "ask"), c.headers()...)
	asking.data()
	done := make(chan answer, 1)
	go func() { done <- e.call26("gate") }() // ends with the request
	within(t, g.called, "the handler")

	shut := make(chan error, 1)
	go func() { shut <- e.handler.Shutdown(t.Context()) }() // ends when all requests have been handled
	standalone.end()
	require.Contains(t, listening.event(), `"result"`, "the subscription gets its result")
	listening.end()
	for _, a := range []answer{e.call26("echo"), c.post(callTool(3, "echo")), e.post(initialize("2025-11-25")), e.send(http.MethodGet, "", c.headers()...)} {
		require.Equal(t, http.StatusServiceUnavailable, a.status)
		require.Equal(t, "1", a.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`).status, "requests in flight may need it")
	data, _ := asking.data()
	require.Contains(t, data, "asked")
	select {
	case <-shut:
		require.Fail(t, "a request is still being handled")
	default:
	}
	close(g.answer)
	require.Contains(t, within(t, done, "the response").body, "opened")
	require.NoError(t, within(t, shut, "the end"))
	require.Equal(t, http.StatusNotFound, c.post(initialized).status)
	require.Contains(t, e.post(initialize("2025-11-25")).body, "shutting down", "the session limit is not the reason")
}

func TestShutdownCancelsRequestsAfterContext(t *testing.T) {
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
	require.ErrorIs(t, within(t, outside.ended, "the end"), connection.ErrClosing)
	require.ErrorIs(t, within(t, inside.ended, "the end"), connection.ErrClosing)
	for range 2 {
		require.Equal(t, mcp.CodeInternal, within(t, done, "a response").code())
	}
	require.NoError(t, e.handler.Close())
}

func TestSessionEndCancelsItsRequests(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	c := e.open("2025-11-25")
	done := make(chan answer, 1)
	go func() { done <- c.call("gate") }() // ends with the request
	within(t, g.called, "the handler")
	require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
	require.Error(t, within(t, g.ended, "the end of the handler"))
	require.Equal(t, mcp.CodeInternal, within(t, done, "the response").code())
	require.Equal(t, http.StatusNotFound, c.send(http.MethodDelete, "", c.headers()...).status)
}

// TestWriteTimeoutEndsStream uses connections without a buffer.
func TestWriteTimeoutEndsStream(t *testing.T) {
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

func TestSlowStandaloneStreamDelaysNoRequest(t *testing.T) {
	serveInBubble(t, map[string]tool{"changed": changed}, &streamable.Options{KeepAlive: -1}, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		standalone := e.stream(http.MethodGet, "", c.headers()...)
		begin := time.Now()
		for range 500 {
			c.call("changed")
		}
		require.Zero(t, time.Since(begin))
		time.Sleep(time.Minute)
		limit := time.AfterFunc(time.Minute, standalone.stop)
		_, err := io.ReadAll(standalone.read)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the server ends the stream at its timeout")
		limit.Stop()
		synctest.Wait()
		again := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 0-0")...)
		for i := range 500 {
			_, id := again.data()
			require.Equal(t, fmt.Sprintf("0-%d", i+1), id, "no event is missing")
		}
		again.stop()
	})
}

func TestNotificationsAfterResponseAreDropped(t *testing.T) {
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

func TestNewHTTPServerHasTimeouts(t *testing.T) {
	h := http.NotFoundHandler()
	s := streamable.NewHTTPServer("localhost:1", h)
	require.Equal(t, "localhost:1", s.Addr)
	require.NotZero(t, s.ReadHeaderTimeout)
	require.NotZero(t, s.ReadTimeout)
	require.NotZero(t, s.IdleTimeout)
	require.NotZero(t, s.MaxHeaderBytes)
	require.Zero(t, s.WriteTimeout, "responses have no timeout")
}

func TestSlowResponseIsNotLimitedByReadTimeout(t *testing.T) {
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

func TestMiddlewareWithoutFlush(t *testing.T) {
	h := streamable.NewHandler(newDispatcher(map[string]tool{"logs": logs(2)}), nil)
	e := serve(t, nil, nil)
	e.url = wrapped(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(onlyWriter{w}, r) }))
	t.Cleanup(func() { h.Close() })
	require.Len(t, e.open("2025-11-25").call("logs").events(), 3)
}

// onlyWriter hides the optional methods of a ResponseWriter.
type onlyWriter struct{ w http.ResponseWriter }

func (o onlyWriter) Header() http.Header         { return o.w.Header() }
func (o onlyWriter) Write(b []byte) (int, error) { return o.w.Write(b) }
func (o onlyWriter) WriteHeader(status int)      { o.w.WriteHeader(status) }

func TestIncompleteBodyIsRefused(t *testing.T) {
	h := streamable.NewHandler(newDispatcher(nil), nil)
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(`{"jsonrpc`), brokenReader{}))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.NotContains(t, w.Body.String(), "reset")
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestHTTP2(t *testing.T) {
	g := newGate()
	h := streamable.NewHandler(newDispatcher(map[string]tool{"logs": logs(2), "gate": g.call, "poll": poll(newGate())}), &streamable.Options{Polling: true})
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { h.Close(); server.Close() })
	e := &endpoint{t: t, url: server.URL, handler: h, client: server.Client()}

	require.Equal(t, http.StatusOK, e.call26("echo").status)
	c := e.open("2025-11-25")
	require.Len(t, c.call("logs").events(), 3)
	require.Contains(t, c.call("poll").body, "retry: 250", "the stream ends before the response")
	standalone := e.stream(http.MethodGet, "", c.headers()...)
	require.Equal(t, 2, standalone.res.ProtoMajor)
	standalone.event()

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
	standalone.end()
}

func TestLongResponse(t *testing.T) {
	long := strings.Repeat("long ", 1<<18)
	e := serve(t, map[string]tool{"long": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) { return mcp.TextResult(long), nil }}, nil)
	for _, a := range []answer{e.call26("long"), e.open("2025-11-25").call("long")} {
		require.Contains(t, a.body, long)
		require.Equal(t, fmt.Sprint(len(a.body)), a.header.Get("Content-Length"))
	}
}

// The deadline applies to one write. Over HTTP/2, a deadline that is not cleared resets
// the stream and cancels its request.
func TestIdleStreamIsNotEndedByWriteTimeout(t *testing.T) {
	const testTimeout = 300 * time.Millisecond
	slow := func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return nil, err
		}
		select {
		case <-time.After(2 * testTimeout):
			return mcp.TextResult("slept"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	for proto, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(proto, func(t *testing.T) {
			h := streamable.NewHandler(newDispatcher(map[string]tool{"slow": slow}), &streamable.Options{
				WriteTimeout: testTimeout, KeepAlive: -1, Logger: slog.New(slog.DiscardHandler),
			})
			server := httptest.NewUnstartedServer(h)
			server.EnableHTTP2 = h2
			server.StartTLS()
			t.Cleanup(func() { h.Close(); server.Close() })
			e := &endpoint{t: t, url: server.URL, handler: h, client: server.Client()}

			c := e.open("2025-11-25")
			standalone := e.stream(http.MethodGet, "", c.headers()...)
			standalone.event()
			l := e.stream(http.MethodPost, callTool(1, "slow"), c.headers()...)
			data, _ := l.data()
			require.Contains(t, data, "notifications/progress")
			data, _ = l.data()
			require.Contains(t, data, "slept")
			l.end()
			require.Equal(t, http.StatusNoContent, e.send(http.MethodDelete, "", c.headers()...).status)
			standalone.end()
		})
	}
}

// The system can buffer each response, but not all of them.
func TestPipelinedRequestsOfClientThatDoesNotRead(t *testing.T) {
	medium := func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(strings.Repeat("x", 60<<10)), nil
	}
	e := serve(t, map[string]tool{"medium": medium}, &streamable.Options{MaxInFlight: 1, WriteTimeout: 100 * time.Millisecond})
	c, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	body := call26("medium")
	request := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		strings.Join(headers26("medium"), "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body)) + body
	require.NoError(t, c.SetDeadline(time.Now().Add(serverTimeout)))
	_, err = io.WriteString(c, strings.Repeat(request, 20_000)) // more than the server reads
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed")
	require.Eventually(t, func() bool { // net/http closes the connection while the handler is running
		return e.call26("echo").status == http.StatusOK
	}, serverTimeout, time.Millisecond)
}

// A middleware may wrap the ResponseWriter in a type without the methods that streams
// need. The log must say why requests do not reach the client.
func TestMissingFlushIsLoggedOnce(t *testing.T) {
	talk := func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult("said"), s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(`1`)})
	}
	var logged bytes.Buffer
	h := streamable.NewHandler(newDispatcher(map[string]tool{"talk": talk}), &streamable.Options{Stateless: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	defer h.Close()
	call := func(wrap func(http.ResponseWriter) http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(callTool(1, "talk")))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		w := httptest.NewRecorder()
		h.ServeHTTP(wrap(w), r)
		require.Equal(t, 2, strings.Count(w.Body.String(), "event: message"), w.Body)
	}
	call(func(w http.ResponseWriter) http.ResponseWriter { return w })
	require.Empty(t, logged.String())
	for range 2 {
		call(func(w http.ResponseWriter) http.ResponseWriter { return struct{ http.ResponseWriter }{w} })
	}
	require.Equal(t, 1, strings.Count(logged.String(), "cannot be flushed"), logged.String())
}

// The race detector finds errors here.
func TestKeepAliveDuringStartOfStream(t *testing.T) {
	opts := &streamable.Options{KeepAlive: time.Nanosecond}
	c := serve(t, nil, opts).open("2025-11-25")
	for range 500 {
		require.Equal(t, http.StatusOK, c.call("echo").status)
	}
	legacy := streamable.NewLegacySSEHandler(newDispatcher(nil), opts)
	defer legacy.Close()
	e := &endpoint{t: t, url: wrapped(t, legacy), client: &http.Client{Transport: new(http.Transport)}}
	for range 100 {
		l := e.stream(http.MethodGet, "")
		l.event()
		l.stop()
	}
}
