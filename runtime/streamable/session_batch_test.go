package streamable_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/streamable"
)

func TestBatchNotificationsAndRequestsAreIndependent(t *testing.T) {
	e := serve(t, nil, nil)
	c := e.open("2025-03-26")
	for range 20 {
		a := c.post(`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},` + callTool(1, "echo") + `]`)
		require.Equal(t, http.StatusOK, a.status)
		require.Contains(t, a.body, `"result"`)
	}
}

func TestBatchMayContainInitialized(t *testing.T) {
	var early atomic.Int32
	o := dispatcherOptions(map[string]tool{"look": func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		if !connection.FromContext(ctx).State().Initialized() {
			early.Add(1)
		}
		return mcp.TextResult("x"), nil
	}})
	e := serveDispatcher(t, connection.NewDispatcher(o), &streamable.Options{MaxSessions: -1})
	for range 30 {
		a := e.post(initialize("2025-03-26"))
		id := a.header.Get("Mcp-Session-Id")
		a = e.post(`[`+initialized+`,`+callTool(1, "look")+`]`, sessions+id)
		require.Equal(t, http.StatusOK, a.status)
	}
	require.Zero(t, early.Load(), "of 30")
}

func TestStatelessBatchNotificationsAreLimited(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`,
	} {
		t.Run(body[:1], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, most atomic.Int32
				o := dispatcherOptions(nil)
				mcp.HandleRootsListChanged(o.Mux, func(ctx context.Context, _ *mcp.RootsListChangedNotification) error {
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
					}
					return nil
				})
				h := streamable.NewHandler(connection.NewDispatcher(o), &streamable.Options{Stateless: true, MaxInFlight: 2, Logger: slog.New(slog.DiscardHandler)})
				e, stop := inMemory(t, h, h.Close)
				defer stop()
				for range 5 {
					go func() {
						res, err := e.client.Do(e.request(context.Background(), http.MethodPost, body, headers{version + "2025-03-26"}))
						if err == nil {
							res.Body.Close()
						}
					}()
					synctest.Wait()
				}
				require.LessOrEqual(t, most.Load(), int32(2))
				h.Close()
				synctest.Wait()
				require.Zero(t, running.Load(), "after Close")
			})
		})
	}
}

func TestNotificationContextEndsWithHandler(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	for _, stateless := range []bool{false, true} {
		o := dispatcherOptions(nil)
		handled := make(chan context.Context, 2)
		mcp.HandleRootsListChanged(o.Mux, func(ctx context.Context, _ *mcp.RootsListChangedNotification) error {
			handled <- ctx
			return ctx.Err()
		})
		e := serveDispatcher(t, connection.NewDispatcher(o), &streamable.Options{Stateless: stateless})
		header := version + "2025-03-26"
		if !stateless {
			header = sessions + e.open("2025-03-26").id
		}
		for _, body := range []string{note, `[` + note + `]`} {
			require.Equal(t, http.StatusAccepted, e.post(body, header).status)
			ctx := within(t, handled, "the notification")
			within(t, ctx.Done(), "the end of its context")
		}
	}
}

func TestBatchGetsAllResponsesWhenSessionEnds(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	c := e.open("2025-03-26")
	got := make(chan answer, 1)
	go func() {
		got <- c.post(`[` + callTool(1, "gate") + `,` + callTool(2, "echo") + `,` + callTool(3, "echo") + `]`)
	}()
	within(t, g.called, "handler")
	require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
	a := within(t, got, "answer")
	for _, id := range []string{`"id":1`, `"id":2`, `"id":3`} {
		require.Contains(t, a.body, id)
	}
}

func TestInvalidResponseFailsItsCall(t *testing.T) {
	for name, bad := range map[string]string{
		"null":      `{"jsonrpc":"2.0","id":1,"result":null}`,
		"array":     `{"jsonrpc":"2.0","id":1,"result":[]}`,
		"bad error": `{"jsonrpc":"2.0","id":1,"error":"no"}`,
		"both":      `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}`,
		"batched":   `[{"jsonrpc":"2.0","id":1,"result":null}]`,
	} {
		t.Run(name, func(t *testing.T) {
			result := make(chan error, 1)
			e := serve(t, map[string]tool{"asks": func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
				_, err := s.ListRoots(ctx)
				result <- err
				return mcp.TextResult("asked"), nil
			}}, nil)
			c := e.open("2025-03-26")
			l := e.stream(http.MethodPost, callTool(1, "asks"), c.headers()...)
			data, _ := l.data()
			require.Contains(t, data, `"id":1,"method":"roots/list"`)
			if a := c.post(bad); bad[0] == '{' {
				require.Equal(t, http.StatusBadRequest, a.status)
				require.Contains(t, a.body, `"id":null`)
			} else {
				require.Equal(t, http.StatusAccepted, a.status)
			}
			require.ErrorContains(t, within(t, result, "end of the call"), "invalid response")
			data, _ = l.data()
			require.Contains(t, data, "asked")
		})
	}
}

// The id of a response belongs to the server. The client may have a request with the
// same id.
func TestRefusalOfResponseHasNoID(t *testing.T) {
	e := serve(t, nil, nil)
	for _, answer := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`} {
		a := e.post(answer, sessions+"gone")
		require.Equal(t, http.StatusNotFound, a.status)
		require.Contains(t, a.body, `"id":null`)
	}
}
