package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// serveBudget serves with a budget and takes principals from the header X-User.
func serveBudget(t *testing.T, tools map[string]tool, maxBytes int) (*endpoint, *budget.Budget) {
	t.Helper()
	b := budget.New(&budget.Options{MaxBytes: maxBytes})
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	e := serve(t, tools, &streamable.Options{Principal: who, JSONRPC: jsonrpc.Options{Budget: b}})
	t.Cleanup(func() {
		e.handler.Close()
		requireReleased(t, b)
	})
	return e, b
}

// requireReleased requires that the budget holds nothing as soon as net/http has returned from the
// handlers, which may be after the clients have received their responses.
func requireReleased(t *testing.T, b *budget.Budget) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Held() == 0 }, serverTimeout, time.Millisecond, "everything must be released")
}

// padded adds white space to a message.
func padded(message string, n int) string { return message + strings.Repeat(" ", n) }

func TestLargeRequestsExceedBudget(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			g := newGate()
			e, b := serveBudget(t, map[string]tool{"gate": g.call}, 4<<20)
			clients := map[string]*client{}
			post := func(user, tool string, size int) answer {
				if revision == "2026-07-28" {
					return e.post(padded(call26(tool), size), append(headers26(tool), "X-User: "+user)...)
				}
				return clients[user].post(padded(callTool(1, tool), size), "X-User: "+user)
			}
			for _, user := range []string{"ann", "bob"} {
				if revision != "2026-07-28" {
					clients[user] = e.openAs(user, revision)
				}
			}
			done := make(chan answer, 1)
			go func() { done <- post("ann", "gate", 800<<10) }() // ends with the request
			within(t, g.called, "the handler")
			require.Positive(t, b.Held())
			a := post("ann", "echo", 800<<10)
			require.Equal(t, http.StatusTooManyRequests, a.status)
			require.Equal(t, "1", a.header.Get("Retry-After"))
			require.Contains(t, a.body, "Too many bytes in flight")
			require.Equal(t, http.StatusOK, post("ann", "echo", 1<<10).status, "small requests are not counted")
			require.Equal(t, http.StatusOK, post("bob", "echo", 800<<10).status)
			close(g.answer)
			require.Equal(t, http.StatusOK, within(t, done, "the response").status)
			require.Equal(t, http.StatusOK, post("ann", "echo", 800<<10).status)
		})
	}
}

// openAs begins a session of a principal.
func (e *endpoint) openAs(user, revision string) *client {
	e.t.Helper()
	a := e.post(initialize(revision), "X-User: "+user)
	require.Equal(e.t, http.StatusOK, a.status, a.body)
	return &client{e, a.header.Get("Mcp-Session-Id"), revision}
}

// returns returns a tool with a result of n bytes.
func returns(n int) tool {
	return func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(strings.Repeat("x", n)), nil
	}
}

func TestLargeResultExceedsBudget(t *testing.T) {
	called := 0
	big := func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		called++
		return returns(2<<20)(ctx, s)
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			e, _ := serveBudget(t, map[string]tool{"big": big}, 1<<20)
			call := func(tool string) answer {
				if revision == "2026-07-28" {
					return e.call26(tool)
				}
				return e.open(revision).call(tool)
			}
			called = 0
			a := call("big")
			require.Equal(t, mcp.CodeInternal, a.code())
			require.Contains(t, a.body, "The result was dropped: too many bytes wait for clients")
			require.Contains(t, call("big").body, "Too many bytes in flight")
			require.Equal(t, 1, called, "the second call was refused before the tool ran")
			require.Contains(t, call("echo").body, "result")
		})
	}
}

func TestBatchExceedsBudget(t *testing.T) {
	e, _ := serveBudget(t, map[string]tool{"big": returns(400 << 10)}, 1<<20)
	c := e.open("2025-03-26")
	a := c.post(fmt.Sprintf("[%s,%s,%s]", callTool(1, "big"), callTool(2, "echo"), callTool(3, "big")))
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.body, `"id":2,"result"`)
	require.Less(t, len(a.body), 900<<10)
	require.Contains(t, a.body, "too many bytes")
}

func TestHandlerThatExitsReleasesBudget(t *testing.T) {
	exits := func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		runtime.Goexit()
		return nil, nil
	}
	e, b := serveBudget(t, map[string]tool{"exits": exits}, 4<<20)
	require.Equal(t, mcp.CodeInternal, e.post(padded(call26("exits"), 100<<10), headers26("exits")...).code())
	require.Equal(t, mcp.CodeInternal, e.open("2025-11-25").post(padded(callTool(1, "exits"), 100<<10)).code())
	e.open("2025-03-26").post(padded("["+callTool(1, "exits")+"]", 100<<10))
	require.Equal(t, http.StatusOK, e.call26("echo").status)
	e.client.CloseIdleConnections()
	e.handler.Close()
	requireReleased(t, b)
}

func TestRequestsInSessionsCountForPrincipal(t *testing.T) {
	g := newGate()
	who := func(r *http.Request) string { return r.Header.Get("X-User") }
	e := serve(t, map[string]tool{"gate": g.call}, &streamable.Options{Principal: who, MaxInFlightPerPrincipal: 1, MaxInFlight: 2})
	ann, second, bob := e.openAs("ann", "2025-11-25"), e.openAs("ann", "2025-11-25"), e.openAs("bob", "2025-11-25")
	anyone := e.openAs("", "2025-11-25")
	done := make(chan answer, 2)
	go func() { done <- ann.call("gate", "X-User: ann") }() // ends with the request
	within(t, g.called, "the handler")
	require.Equal(t, http.StatusTooManyRequests, second.call("echo", "X-User: ann").status)
	require.Equal(t, http.StatusTooManyRequests, e.call26("echo", "X-User: ann").status)
	require.Equal(t, http.StatusOK, second.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "X-User: ann").status)
	require.Equal(t, http.StatusOK, bob.call("echo", "X-User: bob").status)
	go func() { done <- bob.call("gate", "X-User: bob") }() // ends with the request
	within(t, g.called, "the second handler")
	require.Equal(t, http.StatusServiceUnavailable, anyone.call("echo").status, "all sessions together")
	close(g.answer)
	within(t, done, "a response")
	within(t, done, "a response")
	require.Equal(t, http.StatusOK, second.call("echo", "X-User: ann").status)
	require.Equal(t, http.StatusOK, e.call26("echo", "X-User: ann").status)
}

func TestMemoryStoreKeepsToBudget(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: 16 << 20})
	m := streamable.NewMemoryStore(&streamable.MemoryOptions{Budget: b, MaxTotal: 100 << 20})
	for i := range uint64(20) {
		put(t, m, fmt.Sprint(i), 0, 1, 1<<20)
	}
	require.LessOrEqual(t, b.Held(), 12<<20)
	require.Greater(t, b.Held(), 10<<20)
	require.Equal(t, []uint64{1}, seqs(t, m, "19", 0, 0), "the last event is stored")
	for i := range 20 {
		require.NoError(t, m.Forget(t.Context(), fmt.Sprint(i)))
	}
	require.Zero(t, b.Held())
	quarter := streamable.NewMemoryStore(&streamable.MemoryOptions{Budget: budget.New(&budget.Options{MaxBytes: 400})})
	require.ErrorIs(t, quarter.Append(t.Context(), streamable.Event{Session: "s", Data: make([]byte, 10)}), streamable.ErrEventTooLarge)
}
