package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// changed sends a notification on the standalone stream.
func changed(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
	return mcp.TextResult("notified"), s.SendToolListChanged(ctx)
}

func TestStandaloneStreamHasMessagesOfNoRequest(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed}, nil)
	c := e.open("2025-11-25")
	l := e.stream(http.MethodGet, "", c.headers()...)
	require.Equal(t, "text/event-stream", l.res.Header.Get("Content-Type"))
	require.Equal(t, "id: 0-0\nretry: 1000\ndata:", l.event())
	for _, id := range []string{"0-1", "0-2"} {
		require.Contains(t, c.call("changed").body, "notified")
		require.Equal(t, "id: "+id+"\nevent: message\ndata: "+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, l.event())
	}
	require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
	l.end()
}

func TestOldRevisionsGetNoStartEvent(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed, "logs": logs(1)}, nil)
	c := e.open("2025-06-18")
	l := e.stream(http.MethodGet, "", c.headers()...)
	c.call("changed")
	require.Contains(t, l.event(), "id: 0-1\nevent: message\ndata: {")
	require.True(t, strings.HasPrefix(c.call("logs").body, "id: 1-1\nevent: message\ndata: {"))
}

func TestMessagesBeforeStandaloneStreamAreStored(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed}, nil)
	c := e.open("2025-11-25")
	c.call("changed")
	c.call("changed")
	l := e.stream(http.MethodGet, "", c.headers()...)
	for _, want := range []string{"0-1", "0-2"} {
		_, id := l.data()
		require.Equal(t, want, id)
	}
	l.stop()
	require.Eventually(t, func() bool { // the server notices late that the client is gone
		l = e.stream(http.MethodGet, "", c.headers()...)
		return l.res.StatusCode == http.StatusOK
	}, serverTimeout, 5*time.Millisecond)
	c.call("changed")
	_, id := l.data()
	require.Equal(t, "0-3", id, "sent events are not sent again")
}

func TestSecondStandaloneStreamIsRefused(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed}, nil)
	c := e.open("2025-11-25")
	first := e.stream(http.MethodGet, "", c.headers()...)
	c.call("changed")
	_, id := first.data()
	require.Equal(t, http.StatusConflict, e.send(http.MethodGet, "", c.headers()...).status)
	second := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: "+id)...)
	require.Equal(t, "id: 0-1\nretry: 1000\ndata:", second.event())
	first.end()
	c.call("changed")
	_, id = second.data()
	require.Equal(t, "0-2", id)
}

func TestGetNeedsAcceptEventStream(t *testing.T) {
	e := serve(t, nil, nil)
	c := e.open("2025-11-25")
	require.Equal(t, http.StatusNotAcceptable, e.send(http.MethodGet, "", append(c.headers(), "Accept: application/json")...).status)
	require.Equal(t, http.StatusBadRequest, e.send(http.MethodGet, "").status)
	require.Equal(t, http.StatusNotFound, e.send(http.MethodGet, "", sessions+"x").status)
}

func TestStreamResumesAfterLostConnection(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		logs(2)(ctx, s)
		res, err := g.call(ctx, s)
		logs(1)(ctx, s)
		return res, err
	}}, nil)
	c := e.open("2025-11-25")
	l := e.stream(http.MethodPost, callTool(1, "gate"), c.headers()...)
	_, id := l.data()
	require.Equal(t, "1-1", id)
	within(t, g.called, "the handler")
	l.stop() // the connection is lost

	l = e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: "+id)...)
	require.Equal(t, "id: 1-1\nretry: 1000\ndata:", l.event())
	_, id = l.data()
	require.Equal(t, "1-2", id, "the lost event is sent again")
	require.Empty(t, g.ended, "a lost connection cancels nothing")
	close(g.answer)
	_, id = l.data()
	require.Equal(t, "1-3", id, "new events follow")
	data, id := l.data()
	require.Equal(t, "1-4", id)
	require.Contains(t, data, "opened")
	l.end()

	a := e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 1-2")...)
	require.Len(t, a.events(), 2, "a stream can be resumed after its end")
	require.Contains(t, a.events()[1], "opened")
}

func TestResumeDoesNotWaitForHangingConnection(t *testing.T) {
	const n = 200
	flood := func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		for range n {
			s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: "info", Data: []byte(`"` + strings.Repeat("x", 10000) + `"`)})
		}
		return mcp.TextResult("done"), nil
	}
	for _, testTimeout := range []time.Duration{0, -1} {
		serveInBubble(t, map[string]tool{"flood": flood}, &streamable.Options{WriteTimeout: testTimeout}, func(t *testing.T, e *endpoint) {
			c := e.open("2025-11-25")
			l := e.stream(http.MethodPost, callTool(1, "flood"), c.headers()...)
			require.Equal(t, "id: 1-0\nretry: 1000\ndata:", l.event()) // the client reads nothing more
			synctest.Wait()
			begin := time.Now()
			second := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 1-0")...)
			require.Equal(t, "id: 1-0\nretry: 1000\ndata:", second.event())
			for i := range n + 1 {
				_, id := second.data()
				require.Equal(t, fmt.Sprint("1-", i+1), id)
			}
			second.end()
			require.Zero(t, time.Since(begin))
		})
	}
}

func TestResumeAfterUnknownEventIsRefused(t *testing.T) {
	store := streamable.NewMemoryStore(&streamable.MemoryOptions{MaxEvents: 2})
	e := serve(t, map[string]tool{"logs": logs(3), "changed": changed}, &streamable.Options{Events: store})
	c := e.open("2025-11-25")
	c.call("logs") // 1-1 to 1-4, of which two are still stored
	for id, status := range map[string]int{
		"1-1": 400, "1-2": 200, "1-3": 200, "1-4": 400, "2-0": 400, "0-1": 400, "1-99": 400,
		"x": 400, "": 400, "1": 400, "01-2": 400, "1-2-3": 400, "-1-2": 400, "1-99999999999999999999999": 400,
	} {
		require.Equal(t, status, e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: "+id)...).status, id)
	}
	for range 3 {
		c.call("changed")
	}
	l := e.stream(http.MethodGet, "", c.headers()...)
	_, id := l.data()
	require.Equal(t, "0-2", id, "a new stream gets the stored events")
	require.Equal(t, http.StatusBadRequest, e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 0-0")...).status)
}

func TestStreamOfOtherSessionCannotBeResumed(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(1)}, nil)
	c, other := e.open("2025-11-25"), e.open("2025-11-25")
	c.call("logs")
	require.Equal(t, http.StatusOK, e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 1-1")...).status)
	require.Equal(t, http.StatusBadRequest, e.send(http.MethodGet, "", append(other.headers(), "Last-Event-ID: 1-1")...).status)
}

func TestDisableResumptionOmitsEventIDs(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(1), "changed": changed}, &streamable.Options{DisableResumption: true})
	c := e.open("2025-11-25")
	require.NotContains(t, c.call("logs").body, "id: ")
	c.call("changed")
	l := e.stream(http.MethodGet, "", c.headers()...)
	require.Equal(t, "event: message\ndata: "+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, l.event())
	require.Equal(t, http.StatusBadRequest, e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 1-0")...).status)
}

// poll returns a tool that ends its stream, waits, and returns.
func poll(g *gate) tool {
	return func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		if !s.Transport().(*streamable.TransportContext).EndStream(250 * time.Millisecond) {
			return mcp.TextResult("no polling"), nil
		}
		return g.call(ctx, s)
	}
}

func TestEndStream(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"poll": poll(g)}, &streamable.Options{Polling: true})
	c := e.open("2025-11-25")
	a := c.call("poll")
	require.Equal(t, "id: 1-0\nretry: 1000\ndata:\n\nretry: 250\n\n", a.body)
	within(t, g.called, "the handler")
	l := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 1-0")...)
	close(g.answer)
	data, _ := l.data()
	require.Contains(t, data, "opened")
	l.end()
}

func TestEndStreamNeedsResumableStream(t *testing.T) {
	tools := map[string]tool{"poll": poll(nil)}
	for _, o := range []streamable.Options{{}, {Polling: true, DisableResumption: true}, {Polling: true, JSONResponse: true}} {
		require.Contains(t, serve(t, tools, &o).open("2025-11-25").call("poll").body, "no polling")
	}
	e := serve(t, tools, &streamable.Options{Polling: true})
	require.Contains(t, e.open("2025-06-18").call("poll").body, "no polling")
	require.Contains(t, e.call26("poll").body, "no polling")
}

func TestPollingDoesNotWaitForDisconnectedClient(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		logs(1)(ctx, s)
		return g.call(ctx, s)
	}}, &streamable.Options{Polling: true})
	c := e.open("2025-11-25")
	l := e.stream(http.MethodPost, callTool(1, "gate"), c.headers()...)
	_, id := l.data()
	within(t, g.called, "the handler")
	l.stop()
	close(g.answer)
	var a answer
	require.Eventually(t, func() bool {
		a = e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: "+id)...)
		return len(a.events()) == 1
	}, serverTimeout, time.Millisecond)
	require.Contains(t, a.events()[0], "opened")
}

func TestIdleStreamGetsKeepAlive(t *testing.T) {
	g := newGate()
	serveInBubble(t, map[string]tool{"gate": g.call}, &streamable.Options{KeepAlive: time.Second}, func(t *testing.T, e *endpoint) {
		g.called, g.answer = make(chan context.Context, 1), make(chan struct{})
		c := e.open("2025-11-25")
		standalone := e.stream(http.MethodGet, "", c.headers()...)
		standalone.event()
		begin := time.Now()
		l := e.stream(http.MethodPost, callTool(1, "gate"), c.headers()...)
		require.Equal(t, time.Second, time.Since(begin), "the response to a slow request becomes a stream")
		require.Equal(t, "id: 1-0\nretry: 1000\ndata:", l.event())
		for range 3 {
			require.Equal(t, ":", l.event())
			require.Equal(t, ":", standalone.event())
		}
		close(g.answer)
		data, _ := l.data()
		require.Contains(t, data, "opened")
		l.end()
		standalone.stop()
	})
	serveInBubble(t, map[string]tool{"slow": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		time.Sleep(10 * time.Second)
		return nil, errSecret
	}}, &streamable.Options{KeepAlive: 4 * time.Second}, func(t *testing.T, e *endpoint) {
		a := e.call26("slow")
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, ":\n\n:\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"Internal error\"}}\n\n", testlog.WithoutIDs(a.body))
		a = e.call26("slow", "Accept: application/json")
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
	})
}

func TestSlowBatchAndSessionlessRequestGetKeepAlive(t *testing.T) {
	tools := map[string]tool{"slow": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		time.Sleep(2400 * time.Millisecond)
		return mcp.TextResult("done"), nil
	}}
	for _, o := range []*streamable.Options{{KeepAlive: time.Second}, {KeepAlive: time.Second, Stateless: true}} {
		serveInBubble(t, tools, o, func(t *testing.T, e *endpoint) {
			begin := time.Now()
			for _, body := range []string{callTool(1, "slow"), "[" + callTool(1, "slow") + "," + callTool(2, "slow") + "]"} {
				c := &client{e, "", "2025-03-26"}
				if !o.Stateless {
					c = e.open("2025-03-26")
				}
				a := c.post(body)
				require.Equal(t, http.StatusOK, a.status)
				beats := strings.Count(a.body, ":\n\n")
				require.Equal(t, int(time.Since(begin)/time.Second), beats, a.body)
				require.Contains(t, a.body, "done")
				begin = time.Now()
			}
		})
	}
}

func TestKeepAliveTimesAreIndependent(t *testing.T) {
	serveInBubble(t, nil, &streamable.Options{KeepAlive: 10 * time.Second}, func(t *testing.T, e *endpoint) {
		begin := time.Now()
		beats := func(l *lines, at time.Duration) {
			require.Equal(t, ":", l.event())
			require.Equal(t, at, time.Since(begin))
		}
		a := e.open("2025-06-18")
		first := e.stream(http.MethodGet, "", a.headers()...)
		time.Sleep(4 * time.Second)
		second := e.stream(http.MethodGet, "", e.open("2025-06-18").headers()...)
		beats(first, 10*time.Second)
		beats(second, 14*time.Second)
		beats(first, 20*time.Second)
		first.stop()
		synctest.Wait()
		first = e.stream(http.MethodGet, "", a.headers()...) // the lost connection of the client does not matter
		beats(second, 24*time.Second)
		beats(first, 30*time.Second)
		first.stop()
		second.stop()
	})
}

func TestIdleSessionEnds(t *testing.T) {
	closed := 0
	tools := map[string]tool{"watch": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		connection.FromContext(ctx).OnClose(func(context.Context) error { closed++; return nil })
		return mcp.TextResult("watching"), nil
	}}
	serveInBubble(t, tools, &streamable.Options{SessionIdleTimeout: time.Hour, MaxSessions: 2, KeepAlive: -1}, func(t *testing.T, e *endpoint) {
		used, idle := e.open("2025-11-25"), e.open("2025-11-25")
		idle.call("watch")
		require.Equal(t, http.StatusServiceUnavailable, e.post(initialize("2025-11-25")).status)
		standalone := e.stream(http.MethodGet, "", used.headers()...)
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, closed)
		require.Equal(t, http.StatusNotFound, idle.call("echo").status)
		require.Equal(t, http.StatusOK, used.call("echo").status, "an open stream counts as a use")
		e.open("2025-11-25")
		standalone.stop()
		time.Sleep(2 * time.Hour)
		require.Equal(t, http.StatusNotFound, used.call("echo").status)
	})
}

func TestSessionContinuesAfterLongRequest(t *testing.T) {
	tools := map[string]tool{"long": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		time.Sleep(12 * time.Second)
		return mcp.TextResult("done"), nil
	}}
	serveInBubble(t, tools, &streamable.Options{SessionIdleTimeout: 5 * time.Second, KeepAlive: -1}, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		require.Equal(t, http.StatusOK, c.call("long").status)
		for range 3 {
			time.Sleep(4 * time.Second)
			require.Equal(t, http.StatusOK, c.call("echo").status)
		}
		time.Sleep(8 * time.Second)
		require.Equal(t, http.StatusNotFound, c.call("echo").status)
	})
}

func TestQuestionOfVanishedClientEndsWithSession(t *testing.T) {
	var ended, computed chan error
	tools := map[string]tool{
		"ask": func(_ ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			_, err := s.With(peer.WithTimeout(-1)).ListRoots(context.Background())
			ended <- err
			return nil, err
		},
		"compute": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			err := s.ReportProgress(ctx, peer.Progress{Progress: 1})
			time.Sleep(150 * time.Second)
			computed <- ctx.Err()
			return mcp.TextResult("done"), err
		},
	}
	for name, opts := range map[string]*streamable.Options{
		"resumption": {}, "polling": {Polling: true}, "without resumption": {DisableResumption: true},
	} {
		t.Run(name, func(t *testing.T) {
			opts.SessionIdleTimeout, opts.KeepAlive = time.Minute, -1
			serveInBubble(t, tools, opts, func(t *testing.T, e *endpoint) {
				ended, computed = make(chan error, 3), make(chan error, 1)
				connected, gone, returns, busy := e.open("2025-11-25"), e.open("2025-11-25"), e.open("2025-11-25"), e.open("2025-11-25")
				begin := func(c *client, tool string) *lines {
					l := e.stream(http.MethodPost, callTool(1, tool), c.headers()...)
					l.data()
					go io.Copy(io.Discard, l.read) // ends with the stream
					synctest.Wait()
					return l
				}
				open := begin(connected, "ask")
				begin(gone, "ask").stop()
				begin(returns, "ask").stop()
				begin(busy, "compute").stop()
				time.Sleep(50 * time.Second)
				require.Empty(t, ended, "the clients may come back")
				standalone := e.stream(http.MethodGet, "", returns.headers()...)

				requireEnded := func(after time.Duration, reason string) {
					t.Helper()
					time.Sleep(after)
					synctest.Wait()
					require.Len(t, ended, 1)
					var closed *peer.ClosedError
					require.ErrorAs(t, <-ended, &closed)
					require.EqualError(t, closed, `send "roots/list": connection closed: `+reason)
				}
				const idle = "session was idle for too long"
				requireEnded(80*time.Second, idle)
				require.Equal(t, http.StatusNotFound, gone.call("echo").status)
				require.Equal(t, http.StatusOK, returns.call("echo").status)
				standalone.stop()
				requireEnded(80*time.Second, idle)
				require.Equal(t, http.StatusOK, connected.call("echo").status, "the client has an open connection")
				require.NoError(t, <-computed, "a handler that does not wait for its client continues")
				e.stream(http.MethodDelete, "", connected.headers()...)
				requireEnded(0, "session ended by its client")
				open.stop()

				late := e.open("2025-11-25")
				time.Sleep(55 * time.Second)
				begin(late, "ask").stop()
				time.Sleep(30 * time.Second)
				require.Empty(t, ended, "the session was used a moment ago")
				requireEnded(50*time.Second, idle)
			})
		})
	}
}

// A server with many subscribers must not need a goroutine for each of them.
func TestNotificationIsStoredWithoutWaiting(t *testing.T) {
	var own *connection.Connection
	tools := map[string]tool{"keep": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		own = connection.FromContext(ctx)
		return mcp.TextResult("kept"), nil
	}}
	memory := streamable.NewMemoryStore(nil)
	for _, store := range []streamable.EventStore{memory, struct{ streamable.EventStore }{memory}} {
		serveInBubble(t, tools, &streamable.Options{Events: store, SessionIdleTimeout: -1, KeepAlive: -1}, func(t *testing.T, e *endpoint) {
			c := e.open("2025-11-25")
			c.call("keep")
			standalone := e.stream(http.MethodGet, "", c.headers()...)
			time.Sleep(time.Second) // the session is idle
			changed := &mcp.ToolListChangedNotification{}
			require.Equal(t, store == memory, outbound.TryNotify(own, changed, nil), "another store may wait")
			if store != memory {
				require.NoError(t, own.Notify(t.Context(), changed))
			}
			data, id := standalone.data()
			require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, data)
			require.Equal(t, "0-1", id)
			standalone.stop()
			synctest.Wait()
			for range 2 { // the client receives them when it resumes the stream
				require.NoError(t, own.Notify(t.Context(), changed))
			}
			resumed := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 0-1")...)
			for _, want := range []string{"0-2", "0-3"} {
				_, id := resumed.data()
				require.Equal(t, want, id)
			}
			resumed.stop()
			e.stream(http.MethodDelete, "", c.headers()...)
			require.False(t, outbound.TryNotify(own, changed, nil), "the session has ended")
		})
	}
}

// encoded is a notification that was encoded before.
type encoded struct {
	peer.Notification
	data []byte
}

func (e encoded) Original() peer.Notification { return e.Notification }
func (e encoded) Encoded() []byte             { return e.data }

func TestSessionsShareEncodedNotification(t *testing.T) {
	var conns []*connection.Connection
	tools := map[string]tool{"keep": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		conns = append(conns, connection.FromContext(ctx))
		return mcp.TextResult("kept"), nil
	}}
	memory := streamable.NewMemoryStore(nil)
	e := serve(t, tools, &streamable.Options{Events: memory})
	n := encoded{&mcp.ToolListChangedNotification{}, []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)}
	for i := range 2 {
		c := e.open("2025-11-25")
		c.call("keep")
		require.True(t, outbound.TryNotify(conns[i], n, nil))
		require.True(t, outbound.TryNotify(conns[i], n.Notification, nil))
		events, err := memory.After(t.Context(), conns[i].SessionID(), 0, 0)
		require.NoError(t, err)
		require.Len(t, events, 2)
		require.Same(t, &n.data[0], &events[0].Data[0])
		require.NotSame(t, &n.data[0], &events[1].Data[0])
		require.Equal(t, n.data, events[1].Data)
		require.Equal(t, conns[i].SessionID(), events[1].Session)
	}
}

// A stream keeps a reference to the events of its session, which the store may delete.
func TestEventsAreStoredAfterOthersWereDeleted(t *testing.T) {
	var own *connection.Connection
	tools := map[string]tool{"keep": func(ctx ctx, _ *mcp.ServerSession) (*mcp.CallToolResult, error) {
		own = connection.FromContext(ctx)
		return mcp.TextResult("kept"), nil
	}}
	memory := streamable.NewMemoryStore(nil)
	e := serve(t, tools, &streamable.Options{Events: memory})
	e.open("2025-11-25").call("keep")
	for seq := range uint64(3) {
		require.True(t, outbound.TryNotify(own, &mcp.ToolListChangedNotification{}, nil))
		require.Equal(t, []uint64{seq + 1}, seqs(t, memory, own.SessionID(), 0, 0))
		require.NoError(t, memory.Forget(t.Context(), own.SessionID()))
	}
	require.True(t, outbound.TryNotify(own, &mcp.ToolListChangedNotification{}, nil))
	put(t, memory, own.SessionID(), 7, 1, 1)
	require.True(t, outbound.TryNotify(own, &mcp.ToolListChangedNotification{}, nil))
	require.Equal(t, []uint64{4, 5}, seqs(t, memory, own.SessionID(), 0, 0))
	require.Equal(t, []uint64{1}, seqs(t, memory, own.SessionID(), 7, 0))
}

func TestUnusedSessionCanBeUsedAgain(t *testing.T) {
	var own *connection.Connection
	tools := map[string]tool{"keep": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		own = connection.FromContext(ctx)
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("kept"), err
	}}
	serveInBubble(t, tools, &streamable.Options{SessionIdleTimeout: -1, KeepAlive: -1}, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		asked := func(l *lines) (id json.RawMessage) {
			data, _ := l.data()
			require.Contains(t, data, "roots/list")
			var m struct{ ID json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(data), &m))
			return m.ID
		}
		reply := func(id json.RawMessage) {
			require.Equal(t, 202, c.post(`{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"roots":[]}}`).status)
		}
		l := e.stream(http.MethodPost, callTool(1, "keep"), c.headers()...)
		first := asked(l)
		reply(first)
		l.data()
		l.end()

		time.Sleep(3 * time.Hour)
		require.Empty(t, own.State().InFlight().IDs())
		require.False(t, own.State().InFlight().Cancel(mcpID(1)))
		done := make(chan error, 1)
		go func() { done <- ask(t.Context(), own) }() // ends with the response
		standalone := e.stream(http.MethodGet, "", c.headers()...)
		second := asked(standalone)
		require.NotEqual(t, string(first), string(second), "ids are unique in a session")
		time.Sleep(10 * time.Second)
		reply(second)
		require.NoError(t, <-done)
		standalone.stop()
		time.Sleep(3 * time.Hour)
		require.Equal(t, http.StatusOK, c.call("echo").status)
	})
}
