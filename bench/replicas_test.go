package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// countingEngine counts the operations with an engine. Records of sessions, which a real engine stores in another
// process, are dropped if forgetful is set.
type countingEngine struct {
	engine.Memory
	trips, changes atomic.Int64
	forgetful      bool
}

// Get implements [engine.Table].
func (e *countingEngine) Get(ctx context.Context, key string) (engine.Record, error) {
	e.trips.Add(1)
	return e.Memory.Get(ctx, key)
}

// Put implements [engine.Table].
func (e *countingEngine) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	e.trips.Add(1)
	e.changes.Add(1)
	if e.forgetful && strings.HasPrefix(key, "s/") {
		return prev + 1, nil
	}
	return e.Memory.Put(ctx, key, data, prev, keep)
}

// Append implements [engine.Log].
func (e *countingEngine) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	e.trips.Add(1)
	e.changes.Add(1)
	return e.Memory.Append(ctx, key, data, prev, keep)
}

// Read implements [engine.Log].
func (e *countingEngine) Read(ctx context.Context, key string, after uint64) ([]engine.Entry, error) {
	e.trips.Add(1)
	return e.Memory.Read(ctx, key, after)
}

// network passes requests between replicas by a function call.
type network map[string]http.Handler

// RoundTrip implements [http.RoundTripper].
func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	n[r.URL.Host].ServeHTTP(w, r)
	return w.Result(), nil
}

const replicaLease = time.Hour // nothing is renewed during a test with the time of the machine

// newReplica returns the handler of a replica, or of a server without sharing if there is no engine.
func newReplica(t *testing.T, e *countingEngine, host string, others network) http.Handler {
	logger := slog.New(slog.DiscardHandler)
	s := mcpserver.New(mcp.Implementation{Name: "bench", Version: "1"}, &mcpserver.Options{Logger: logger})
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	o := &streamable.Options{MaxSessions: -1, MaxSessionsPerPrincipal: -1, Hosts: []string{"*"}}
	if e == nil {
		return streamable.NewHandler(s, o)
	}
	node, err := scale.NewNode(e, e, &scale.Options{
		Address: "http://" + host, Keys: [][]byte{[]byte("a key of thirty-two bytes, or so")}, Lease: replicaLease, Transport: others, Logger: logger,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Shutdown(context.Background()) })
	h := node.Handler(s, o)
	others[host] = h
	return h
}

// post sends a message, and returns the response.
func post(h http.Handler, session, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://server/mcp", strings.NewReader(body))
	r.Header = http.Header{
		"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	if session != "" {
		r.Header["Mcp-Session-Id"] = []string{session}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// begin begins a session, and returns its id.
func begin(t *testing.T, h http.Handler) string {
	t.Helper()
	w := post(h, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	id := w.Header().Get("Mcp-Session-Id")
	require.Equal(t, http.StatusAccepted, post(h, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Code)
	return id
}

// pings returns the allocations of a ping in a session.
func pings(t *testing.T, h http.Handler, session string) float64 {
	n := 0
	return testing.AllocsPerRun(2000, func() {
		n++
		if w := post(h, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)); w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	})
}

func TestReplicaBudgetsOfCalls(t *testing.T) {
	alone := newReplica(t, nil, "", nil)
	e, all := new(countingEngine), network{}
	owner, other := newReplica(t, e, "one", all), newReplica(t, e, "two", all)
	without := pings(t, alone, begin(t, alone))
	id := begin(t, owner)
	pings(t, other, id) // finds the owner
	before := e.trips.Load()
	at, forwarded := pings(t, owner, id), pings(t, other, id)
	t.Logf("allocations of a call: %.0f without sharing, %.0f at the owner, %.0f through another replica", without, at, forwarded)
	require.LessOrEqual(t, at, without+1)
	require.LessOrEqual(t, forwarded, 2.5*at)
	require.Equal(t, before, e.trips.Load(), "calls do not use the engine")
}

func TestReplicaBudgetOfATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, all := new(countingEngine), network{}
		owner, other := newReplica(t, e, "one", all), newReplica(t, e, "two", all)
		time.Sleep(replicaLease + time.Second) // a replica takes sessions over after a lease
		id := begin(t, owner)
		key := "m/" + strings.Split(id, ".")[1]
		record, err := e.Memory.Get(t.Context(), key)
		require.NoError(t, err)
		require.NoError(t, e.Memory.Delete(t.Context(), key, record.Version)) // the owner is gone
		before, trips := e.changes.Load(), e.trips.Load()
		require.Equal(t, http.StatusOK, post(other, id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Code)
		t.Logf("operations of a takeover: %d, with %d changes", e.trips.Load()-trips, e.changes.Load()-before)
		require.LessOrEqual(t, e.changes.Load()-before, int64(10))
	})
}

// TestReplicaBudgetOfIdleSessions compares the memory of sessions with and without sharing. It takes the median of
// three measurements, because what earlier tests used may become free during the first.
func TestReplicaBudgetOfIdleSessions(t *testing.T) {
	const sessions = 20_000
	inUse := func(h http.Handler) float64 {
		begin(t, h)
		used := func() float64 {
			var m runtime.MemStats
			for range 3 {
				runtime.GC()
			}
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc)
		}
		time.Sleep(time.Minute)
		before := used()
		for range sessions {
			begin(t, h)
		}
		time.Sleep(time.Minute) // a session releases most of its memory when it is idle
		defer runtime.KeepAlive(h)
		return (used() - before) / sessions
	}
	var alone, shared [3]float64
	for i := range alone {
		synctest.Test(t, func(t *testing.T) { alone[i] = inUse(newReplica(t, nil, "", nil)) })
		synctest.Test(t, func(t *testing.T) {
			shared[i] = inUse(newReplica(t, &countingEngine{forgetful: true}, "one", network{}))
		})
	}
	slices.Sort(alone[:])
	slices.Sort(shared[:])
	without, with := alone[1], shared[1]
	t.Logf("bytes of an idle session: %.0f without sharing, %.0f with it", without, with)
	require.LessOrEqual(t, with-without, 128.0)
}
