package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// flakyStore is a store that can be made to panic.
type flakyStore struct {
	streamable.EventStore
	appends, forgets *atomic.Bool
}

func newFlakyStore() flakyStore {
	return flakyStore{streamable.NewMemoryStore(nil), new(atomic.Bool), new(atomic.Bool)}
}

func (s flakyStore) Append(ctx context.Context, e streamable.Event) error {
	if s.appends.Load() {
		panic("no store")
	}
	return s.EventStore.Append(ctx, e)
}

func (s flakyStore) Forget(ctx context.Context, id string) error {
	if s.forgets.Load() {
		panic("no store")
	}
	return s.EventStore.Forget(ctx, id)
}

func TestPanickingStoreDoesNotEndProcess(t *testing.T) {
	t.Run("when an idle session ends", func(t *testing.T) {
		store := newFlakyStore()
		serveInBubble(t, nil, &streamable.Options{Events: store, SessionIdleTimeout: time.Second}, func(t *testing.T, e *endpoint) {
			c := e.open("2025-11-25")
			store.forgets.Store(true)
			time.Sleep(4 * time.Second)
			require.Equal(t, http.StatusNotFound, c.call("echo").status)
		})
	})
	t.Run("when all sessions end", func(t *testing.T) {
		store := newFlakyStore()
		e := serve(t, nil, &streamable.Options{Events: store})
		e.open("2025-11-25")
		store.forgets.Store(true)
		require.NoError(t, e.handler.Shutdown(t.Context()))
	})
	t.Run("when a request to the client is cancelled", func(t *testing.T) {
		store := newFlakyStore()
		e := serve(t, map[string]tool{"ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			defer store.appends.Store(false)
			time.AfterFunc(50*time.Millisecond, func() { store.appends.Store(true) })
			_, err := s.ListRoots(ctx)
			return mcp.TextResult(fmt.Sprint(err)), nil
		}}, &streamable.Options{Events: store})
		require.Contains(t, e.open("2025-11-25").call("ask").body, "deadline exceeded")
	})
	t.Run("when a session ends during a request", func(t *testing.T) {
		store := newFlakyStore()
		serveInBubble(t, map[string]tool{"blocked": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			logs(1)(ctx, s)
			time.Sleep(2 * time.Second)
			return mcp.TextResult("done"), nil
		}}, &streamable.Options{Events: store}, func(t *testing.T, e *endpoint) {
			c := e.open("2025-11-25")
			e.stream(http.MethodPost, callTool(1, "blocked"), c.headers()...).data()
			store.appends.Store(true)
			require.Equal(t, http.StatusNoContent, e.send(http.MethodDelete, "", c.headers()...).status)
		})
	})
}

func TestPanickingHookKeepsConnection(t *testing.T) {
	o := dispatcherOptions(nil)
	o.OnInitialized = func(context.Context, *connection.Connection) { panic("no hook") }
	require.Equal(t, http.StatusOK, serveDispatcher(t, connection.NewDispatcher(o), nil).open("2025-11-25").call("echo").status)
}

func TestNewSessionDoesNotWaitForEndOfIdleSessions(t *testing.T) {
	o := dispatcherOptions(nil)
	o.OnInitialized = func(_ context.Context, c *connection.Connection) {
		c.OnClose(func(context.Context) error { time.Sleep(3 * time.Second); return nil })
	}
	serveDispatcherInBubble(t, o, &streamable.Options{MaxSessions: 20, SessionIdleTimeout: time.Hour}, func(t *testing.T, e *endpoint) {
		for range 20 {
			e.open("2025-11-25")
		}
		require.Equal(t, http.StatusServiceUnavailable, e.post(initialize("2025-11-25")).status)
		time.Sleep(time.Hour - time.Minute/2) // idle sessions are ended once a minute
		for begin := time.Now(); ; time.Sleep(time.Second) {
			asked := time.Now()
			status := e.post(initialize("2025-11-25")).status
			require.Equal(t, asked, time.Now())
			if status == http.StatusOK {
				return
			}
			require.Less(t, time.Since(begin), time.Minute)
		}
	})
}

func TestSessionEndRespondsToRequestsInFlight(t *testing.T) {
	serveInBubble(t, map[string]tool{"blocked": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		time.Sleep(3 * time.Second)
		return mcp.TextResult("done"), nil
	}}, nil, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		begin, got := time.Now(), make(chan string, 1)
		go func() { got <- c.call("blocked").body }()
		time.Sleep(time.Second)
		go e.send(http.MethodDelete, "", c.headers()...)
		require.Contains(t, <-got, `"error"`)
		require.Less(t, time.Since(begin), 2*time.Second)
		time.Sleep(3 * time.Second)
	})
}

func TestRequestCancelledByShutdownGetsError(t *testing.T) {
	for _, cause := range []bool{false, true} {
		g := newGate()
		e := serve(t, map[string]tool{"gate": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
			close(g.answer)
			<-ctx.Done()
			if cause {
				return nil, fmt.Errorf("gone: %w", context.Cause(ctx))
			}
			return nil, ctx.Err()
		}}, nil)
		got := make(chan string, 1)
		go func() { got <- e.call26("gate").body }()
		<-g.answer
		require.NoError(t, e.handler.Close())
		require.Contains(t, within(t, got, "the response"), "Server is shutting down")
	}
}

func TestDisconnectDoesNotCancelSessionlessStream(t *testing.T) {
	ended := make(chan error, 1)
	e := serve(t, map[string]tool{"work": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			ended <- context.Cause(ctx)
		case <-time.After(300 * time.Millisecond):
			ended <- nil
		}
		return mcp.TextResult("done"), nil
	}}, &streamable.Options{Stateless: true, KeepAlive: 20 * time.Millisecond})
	l := e.stream(http.MethodPost, callTool(1, "work"), version+"2025-11-25")
	l.event()
	l.stop()
	require.NoError(t, within(t, ended, "the handler"))
}

func TestHalfClosedConnectionGetsResponse(t *testing.T) {
	for _, accept := range []string{"application/json, text/event-stream", "application/json"} {
		for _, polling := range []bool{false, true} {
			want := "done"
			if polling && strings.Contains(accept, "event") {
				want = "id: 1-0" // the stream can be resumed
			}
			e := serve(t, map[string]tool{"slow": func(ctx, *mcp.ServerSession) (*mcp.CallToolResult, error) {
				time.Sleep(100 * time.Millisecond)
				return mcp.TextResult("done"), nil
			}}, &streamable.Options{Polling: polling})
			s, body := e.open("2025-11-25"), callTool(1, "slow")
			c, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
			require.NoError(t, err)
			_, err = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: %s\r\n"+
				"Mcp-Session-Id: %s\r\nMcp-Protocol-Version: 2025-11-25\r\nContent-Length: %d\r\n\r\n%s", accept, s.id, len(body), body)
			require.NoError(t, err)
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			text, err := io.ReadAll(bufio.NewReader(c))
			require.NoError(t, err)
			require.Contains(t, string(text), want)
			c.Close()
		}
	}
}

// rawResult is a result with any JSON.
type rawResult struct{ raw json.RawMessage }

func (r *rawResult) AppendJSON(b []byte, _ *wire.Encoder) []byte { return append(b, r.raw...) }
func (r *rawResult) DecodeJSON(d *wire.Decoder)                  { r.raw = d.Raw() }

// rawRequest is a request with the result rawResult.
type rawRequest struct{ wire.ReadOnly }

func (*rawRequest) Method() string               { return "com.example/rawRequest" }
func (*rawRequest) NewResult() *rawResult        { return new(rawResult) }
func (*rawRequest) DecodeParams(d *wire.Decoder) { d.Skip() }

func TestLineBreakInResultDoesNotEndEvent(t *testing.T) {
	o := dispatcherOptions(nil)
	peer.Handle(o.Mux, func(ctx context.Context, _ *rawRequest) (*rawResult, error) {
		err := mcp.SessionFromContext(ctx).SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`"x"`)})
		return &rawResult{json.RawMessage("{\r\n  \"a\":\n 1\n}")}, err
	})
	a := serveDispatcher(t, connection.NewDispatcher(o), nil).open("2025-11-25").post(`{"jsonrpc":"2.0","id":1,"method":"com.example/rawRequest"}`)
	events := a.events()
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{    "a":  1 }}`, events[len(events)-1])
}

func TestMaxBytesHandlerLimitsBody(t *testing.T) {
	url := wrapped(t, http.MaxBytesHandler(streamable.NewHandler(newDispatcher(nil), nil), 1000))
	res, err := http.Post(url, "application/json", io.MultiReader(strings.NewReader(`{"a":"`+strings.Repeat("x", 5000)+`"}`)))
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
}
