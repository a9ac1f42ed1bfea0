package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
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
	"github.com/mcpwright/mcp/runtime/wire"
)

// dial opens a connection to a server in memory.
func (e *endpoint) dial() net.Conn {
	e.t.Helper()
	conn, err := e.client.Transport.(*http.Transport).DialContext(e.t.Context(), "", "")
	require.NoError(e.t, err)
	e.t.Cleanup(func() { conn.Close() })
	return conn
}

// TestClientThatDoesNotReadDoesNotBlockShutdown uses connections without a buffer, and
// writes without a timeout.
func TestClientThatDoesNotReadDoesNotBlockShutdown(t *testing.T) {
	opts := func() *streamable.Options {
		return &streamable.Options{KeepAlive: time.Second, WriteTimeout: -1, Logger: slog.New(slog.DiscardHandler)}
	}
	t.Run("legacy SSE", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := streamable.NewLegacySSEHandler(newDispatcher(nil), opts())
			e, stop := inMemory(t, h, h.Close)
			defer stop()
			l, to := e.legacy()
			go to.post(initialize("2024-11-05")) // ends when its response has been read
			l.data()
			for id := range 3 {
				require.Equal(t, http.StatusAccepted, to.post(callTool(id, "echo")).status)
			}
			time.Sleep(time.Minute) // the client reads nothing meanwhile
			begin := time.Now()
			h.Close()
			require.LessOrEqual(t, time.Since(begin), 5*time.Second)
		})
	})
	flood := func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		text := json.RawMessage(`"` + strings.Repeat("x", 8<<10) + `"`)
		for ctx.Err() == nil {
			if err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: text}); err != nil {
				return nil, err
			}
		}
		return nil, ctx.Err()
	}
	t.Run("session", func(t *testing.T) {
		serveInBubble(t, map[string]tool{"flood": flood}, opts(), func(t *testing.T, e *endpoint) {
			c := e.open("2025-11-25")
			c.stream(http.MethodPost, callTool(1, "flood"), c.headers()...)
			c.stream(http.MethodGet, "", c.headers()...)
			time.Sleep(time.Minute)
			begin := time.Now()
			e.handler.Close()
			require.LessOrEqual(t, time.Since(begin), 5*time.Second)
		})
	})
	t.Run("no session", func(t *testing.T) {
		serveInBubble(t, map[string]tool{"flood": flood}, opts(), func(t *testing.T, e *endpoint) {
			body := strings.Replace(call26("flood"), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1)
			e.stream(http.MethodPost, body, headers26("flood")...)
			time.Sleep(time.Minute)
			begin := time.Now()
			e.handler.Close()
			require.LessOrEqual(t, time.Since(begin), 5*time.Second)
		})
	})
}

func TestSlowBodyTimesOut(t *testing.T) {
	serveInBubble(t, nil, nil, func(t *testing.T, e *endpoint) {
		conn := e.dial()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
		answered := make(chan *http.Response, 1)
		go func() { // ends with the connection
			res, _ := http.ReadResponse(bufio.NewReader(conn), nil)
			answered <- res
		}()
		begin := time.Now()
		for range 1000 {
			if _, err := conn.Write([]byte(" ")); err != nil {
				break
			}
			time.Sleep(5 * time.Second)
		}
		require.Less(t, time.Since(begin), 2*time.Minute)
		res := <-answered
		require.NotNil(t, res)
		require.Equal(t, http.StatusBadRequest, res.StatusCode)
	})
}

func TestEndlessHeaderTimesOut(t *testing.T) {
	serveInBubble(t, nil, nil, func(t *testing.T, e *endpoint) {
		conn := e.dial()
		answered := make(chan *http.Response, 1)
		go func() { // ends with the connection
			res, _ := http.ReadResponse(bufio.NewReader(conn), nil)
			answered <- res
		}()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n")
		sent := 0
		for ; sent < 10<<20; sent += 1 << 10 {
			if _, err := fmt.Fprintf(conn, "X-%d: %s\r\n", sent, strings.Repeat("x", 1<<10)); err != nil {
				break
			}
		}
		require.Less(t, sent, 1<<20)
		res := <-answered
		require.NotNil(t, res)
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, res.StatusCode)
	})
}

func TestManyStreamsOfOneSession(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed}, &streamable.Options{MaxSessions: 3})
	c := e.open("2025-11-25")
	standalone := e.stream(http.MethodGet, "", c.headers()...)
	require.Contains(t, standalone.event(), "0-0")
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() { // ends with the response
			require.Equal(t, http.StatusConflict, e.send(http.MethodGet, "", c.headers()...).status)
		})
	}
	wait.Wait()
	for range 20 { // each replaces the stream before
		next := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 0-0")...)
		require.Contains(t, next.event(), "0-0")
		standalone.end()
		standalone = next
	}
	require.Contains(t, c.call("changed").body, "notified")
	data, id := standalone.data()
	require.Equal(t, "0-1", id)
	require.Contains(t, data, "list_changed")
}

func TestHalfClosedConnectionCancelsRequest(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, e.request(t.Context(), http.MethodPost, call26("gate"), headers26("gate")).Write(conn))
	within(t, g.called, "the handler")
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	require.Error(t, within(t, g.ended, "the end of the handler"))
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err, "the connection is closed")
}

// TestRequestsCancelledAtAnyTimeLeaveNothing cancels stateless and session requests
// over real connections. The end of the test fails if goroutines are left.
func TestRequestsCancelledAtAnyTimeLeaveNothing(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(2), "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		return nil, err
	}}, &streamable.Options{Polling: true})
	c := e.open("2025-11-25")
	var wait sync.WaitGroup
	for worker := range 10 {
		wait.Go(func() { // ends after its requests
			for i := range cancelledRequests / 10 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				r := e.request(ctx, http.MethodPost, callTool(1+worker+10*i, []string{"logs", "echo", "ask"}[i%3]), c.headers())
				if i%2 == 0 {
					r = e.request(ctx, http.MethodPost, call26("logs"), headers26("logs"))
				}
				if res, err := e.client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				cancel()
			}
		})
	}
	wait.Wait()
	require.Contains(t, e.open("2025-11-25").call("echo").body, `\"a\":1`)
	require.Contains(t, e.call26("echo").body, `\"a\":1`)
	ctx, cancel := context.WithTimeout(t.Context(), serverTimeout)
	defer cancel()
	_ = c.send(http.MethodDelete, "", c.headers()...)
	require.NoError(t, e.handler.Shutdown(ctx), "nothing is left")
}

// cancelledRequests is the number of cancelled requests.
const cancelledRequests = 600

// exits ends its goroutine like t.FailNow.
func exits(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
	runtime.Goexit()
	return nil, nil
}

func TestHandlerThatEndsItsGoroutineGetsErrorResponse(t *testing.T) {
	tools := map[string]tool{"exits": exits}
	e := serve(t, tools, nil)
	stateless := serve(t, tools, &streamable.Options{Stateless: true})
	polling := serve(t, tools, &streamable.Options{Polling: true})
	for name, send := range map[string]func() answer{
		"no session":       func() answer { return e.call26("exits") },
		"session":          func() answer { return e.open("2025-11-25").call("exits") },
		"session, polling": func() answer { return polling.open("2025-11-25").call("exits") },
		"stateless":        func() answer { return stateless.post(callTool(1, "exits"), version+"2025-11-25") },
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				a := send()
				require.Equal(t, http.StatusOK, a.status)
				require.Equal(t, mcp.CodeInternal, a.code(), a.body)
			}
		})
	}
	require.Equal(t, http.StatusOK, e.call26("echo").status)
	require.NoError(t, e.handler.Shutdown(t.Context()), "nothing is in flight")
}

func TestBatchContinuesAfterHandlerEndsItsGoroutine(t *testing.T) {
	e := serve(t, map[string]tool{"exits": exits}, nil)
	a := e.open("2025-03-26").post(`[` + callTool(1, "echo") + `,` + callTool(2, "exits") + `,` + callTool(3, "echo") + `]`)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, 2, strings.Count(a.body, `"result"`), a.body)
	require.Contains(t, a.body, `"id":2,"error":{"code":-32603`)
	require.NoError(t, e.handler.Shutdown(t.Context()))
}

func TestNotificationAcceptedIfHandlerEndsItsGoroutine(t *testing.T) {
	o := dispatcherOptions(nil)
	o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.ID.IsZero() {
				runtime.Goexit()
			}
			return next.Handle(ctx, in)
		})
	}}
	e := serveDispatcher(t, connection.NewDispatcher(o), nil)
	a := e.post(`{"jsonrpc":"2.0","method":"x/exits"}`, version+"2026-07-28")
	require.Equal(t, http.StatusAccepted, a.status)
	require.Equal(t, http.StatusAccepted, e.open("2025-11-25").post(`{"jsonrpc":"2.0","method":"x/exits"}`).status)
}

func TestUnsupportedVersionErrorNamesVersion(t *testing.T) {
	const unknown = version + "1999-01-01"
	const list = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	for name, e := range map[string]*endpoint{"sessions": serve(t, nil, nil), "stateless": serve(t, nil, &streamable.Options{Stateless: true})} {
		t.Run(name, func(t *testing.T) {
			for _, a := range []answer{
				e.post(list, unknown),
				e.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, unknown),
				e.post(initialize("2025-11-25"), unknown),
				e.post(initialized, unknown),
				e.send(http.MethodGet, "", unknown),
				e.send(http.MethodDelete, "", unknown),
				e.send(http.MethodGet, "", version+"x"),
				e.send(http.MethodGet, "", version+"2025-11-25", version+"2025-11-25"),
			} {
				require.Equal(t, http.StatusBadRequest, a.status)
				require.Equal(t, mcp.CodeUnsupportedProtocolVersion, a.code())
				require.Contains(t, a.body, "Unsupported protocol version")
				require.Contains(t, a.body, `"requested":`)
				require.Contains(t, a.body, `"2025-11-25"`)
			}
			require.Contains(t, e.post(list, unknown).body, `"id":3`)
		})
	}
}

func TestMissingVersionIsHeaderMismatch(t *testing.T) {
	o := dispatcherOptions(nil)
	o.Revisions = []wire.Revision{mcp.Revision20260728}
	e := serveDispatcher(t, connection.NewDispatcher(o), nil)
	a := e.post(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeHeaderMismatch, a.code())
}

func TestNameHeaderMustBePrintable(t *testing.T) {
	e := serve(t, map[string]tool{"Füße": logs(0)}, nil)
	require.Equal(t, http.StatusOK, e.post(call26("Füße"), headers26("=?base64?RsO8w59l?=")...).status)
	a := e.post(call26("Füße"), headers26("Füße")...)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeHeaderMismatch, a.code())
}

func TestRequestIsDecodedInOnePass(t *testing.T) {
	var last atomic.Pointer[peer.Inbound]
	o := dispatcherOptions(nil)
	o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodCallTool {
				last.Store(in)
			}
			return next.Handle(ctx, in)
		})
	}}
	e := serveDispatcher(t, connection.NewDispatcher(o), nil)
	require.Equal(t, http.StatusOK, e.call26("echo").status)
	seen := last.Load()
	require.IsType(t, new(mcp.CallToolRequest), seen.Message)
	require.Equal(t, mcp.Revision20260728, seen.Frame.Revision)
	require.NotEmpty(t, seen.Params, "middleware may read all params")

	c := e.open("2025-11-25")
	require.Equal(t, http.StatusOK, c.call("echo").status)
	seen = last.Load()
	require.IsType(t, new(mcp.CallToolRequest), seen.Message)
	require.Equal(t, mcp.Revision20251125, seen.Frame.Revision)
	a := c.call("echo", "MCP-Protocol-Version")
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.body, `{\"a\":1}`, "also where the revision is not said, and it is read again")
}

// customRequest is a custom request. It reads its params itself, except for the metadata.
type customRequest struct{ mcp.PingRequest }

func (*customRequest) Method() string               { return "acme/mood" }
func (*customRequest) DecodeParams(d *wire.Decoder) { d.Skip() }

func TestMetadataIsReadFromParamsOfCustomTypes(t *testing.T) {
	o := dispatcherOptions(nil)
	peer.Handle(o.Mux, func(ctx context.Context, _ *customRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, mcp.SessionFromContext(ctx).ReportProgress(ctx, peer.Progress{Progress: 1})
	})
	e := serveDispatcher(t, connection.NewDispatcher(o), nil)
	modern := `{"jsonrpc":"2.0","id":7,"method":"acme/mood","params":{` + strings.Replace(meta26, "{", `{"progressToken":"p",`, 1) + `}}}`
	c := e.open("2025-11-25")
	a := e.post(modern, version+"2026-07-28", "Mcp-Method: acme/mood")
	require.Len(t, a.events(), 2, "outside sessions: the report and the answer, not %s", a.body)
	a = c.post(`{"jsonrpc":"2.0","id":7,"method":"acme/mood","params":{"_meta":{"progressToken":"p"}}}`)
	require.Len(t, a.events(), 2, "in a session: the report and the answer, not %s", a.body)
	a = c.post(modern)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, mcp.CodeHeaderMismatch, a.code(), "a version in a session")
}

// FuzzRequests sends any body to a handler. The handler must respond, and only
// initialize may begin a session.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		"", "{", "[]", "[{}]", "1", "null", `{"jsonrpc":"2.0","id":1,"result":{}}`, initialize("2025-11-25"), initialize("x"), initialized, callTool(1, "echo"), call26("echo"),
		`[` + initialized + `]`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "\xff", `{"a":"\ud800"}`,
	} {
		for _, name := range []string{"", "2025-03-26", "2025-11-25", "2026-07-28", "2099-01-01", "\t"} {
			f.Add(http.MethodPost, body, name, "tools/call", "echo", "", "application/json", "")
		}
	}
	f.Add(http.MethodGet, "", "", "", "", "x", "*/*;q=0", "1-1")
	f.Add(http.MethodDelete, "", "2025-11-25", "", "", "x", "", "")
	h := streamable.NewHandler(newDispatcher(nil), &streamable.Options{Logger: slog.New(slog.DiscardHandler), MaxBody: 1 << 16})
	f.Cleanup(func() { h.Close() })
	f.Fuzz(func(t *testing.T, method, body, version, name, tool, session, accept, last string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Method = method
		r.Header = http.Header{"Content-Type": {"application/json"}}
		for k, v := range map[string]string{
			"Mcp-Protocol-Version": version, "Mcp-Method": name, "Mcp-Name": tool, "Mcp-Session-Id": session, "Accept": accept, "Last-Event-Id": last,
		} {
			if v != "" {
				r.Header[k] = []string{v}
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.GreaterOrEqual(t, w.Code, 200)
		require.Less(t, w.Code, 500, w.Body.String())
		if w.Header().Get("Mcp-Session-Id") != "" {
			require.Contains(t, body, "initialize")
		}
	})
}
