package main

import (
	"cmp"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/peer"
	"github.com/mcpwright/mcp/bench/workload"
)

func TestMain(m *testing.M) {
	child.Main()
	os.Exit(m.Run())
}

// A budget limits the allocations of one operation, or the memory of a session. Unlike times, these
// figures do not depend on the machine. If floor is set, they are added to the figures of the floor.
type budget struct {
	allocs, bytes, goroutines float64
	floor                     bool
	n                         int // operations, 0 for the usual number
}

var budgets = map[string]budget{
	"client and server over a pipe, one call at a time":      {allocs: 24, bytes: 2000},
	"client and server in one process":                       {allocs: 11, bytes: 2000},
	"stdio server, 2025-11-25, one call at a time":           {allocs: 14, bytes: 1000},
	"stdio server, 2026-07-28, one call at a time":           {allocs: 26, bytes: 3000},
	"HTTP server, 2025-11-25 with sessions, connections: 16": {allocs: 16, bytes: 2000, floor: true},
	"HTTP server, 2026-07-28, connections: 16":               {allocs: 18, bytes: 2000, floor: true},
	// The encoded list is used again, and so is the buffer of its response.
	"HTTP server, list of 1,000 tools": {allocs: 50, bytes: 8000, n: 200},
	"HTTP server, result of 10 MiB":    {allocs: 70, bytes: 1.3 * 10.9e6, n: 20},
	// Some of these are not idle yet.
	"10,000 sessions over HTTP that have just begun, each": {allocs: 13, bytes: 1200, goroutines: 0},
	"10,000 idle sessions over HTTP, each":                 {allocs: 12, bytes: 1000, goroutines: 0},
	// The stacks of the floor are as large as ours only while a waiting client has few frames: the Go
	// runtime starts goroutines with the average stack size of all, in powers of two.
	"10,000 idle sessions with a GET stream, each":               {allocs: 20, bytes: 2000, goroutines: 0, floor: true},
	"one resource update to 1,000 subscribers on pipes":          {allocs: 50, bytes: 10_000, n: 50},
	"one resource update to 1,000 subscribers in the process":    {allocs: 50, bytes: 10_000, n: 50},
	"one resource update to 1,000 subscribers with a GET stream": {allocs: 100, bytes: 20_000, n: 50},
}

func TestBudgetsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("-short measures nothing")
	}
	peers := peer.All()
	bound := 0
	for _, w := range workload.All() {
		b, ok := budgets[w.Name]
		if !ok {
			continue
		}
		bound++
		t.Run(w.Name, func(t *testing.T) {
			var least workload.Sample
			if b.floor {
				least = cheapest(t, w, peers[0], b.n)
			}
			got := cheapest(t, w, peers[1], b.n)
			t.Logf("allocs %.1f, bytes %.0f, goroutines %.2f; floor: allocs %.1f, bytes %.0f, goroutines %.2f",
				got.Allocs, got.Bytes, got.Goroutines, least.Allocs, least.Bytes, least.Goroutines)
			// The Go runtime itself makes up to half an allocation per operation.
			require.LessOrEqual(t, got.Allocs-least.Allocs, b.allocs+0.5, "allocations")
			require.LessOrEqual(t, got.Bytes-least.Bytes, b.bytes*1.02, "bytes")
			require.LessOrEqual(t, got.Goroutines-least.Goroutines, b.goroutines+0.01, "goroutines")
		})
	}
	require.Equal(t, len(budgets), bound, "a budget has no workload")
}

// cheapest runs a workload a few times and returns the smallest value of each figure. Larger values
// are due to the garbage collector, which empties pools.
func cheapest(t *testing.T, w workload.Workload, p peer.Peer, n int) workload.Sample {
	t.Helper()
	s, err := w.Open(t.Context(), p)
	if errors.Is(err, peer.ErrUnsupported) {
		t.Skip(p.Name(), " does not support this workload")
	}
	require.NoError(t, err)
	defer s.Close()
	n, rounds := cmp.Or(w.Size, n, 2000), 4
	if w.Size > 0 {
		rounds = 1
	}
	least := workload.Sample{Bytes: math.Inf(1), Allocs: math.Inf(1), Goroutines: math.Inf(1)}
	for range rounds {
		got, err := s.Run(n)
		require.NoError(t, err)
		least.Bytes = min(least.Bytes, got.Bytes)
		least.Allocs = min(least.Allocs, got.Allocs)
		least.Goroutines = min(least.Goroutines, got.Goroutines)
	}
	return least
}

// TestTelemetryAllocatesNothingWithoutSDK compares instrumented servers with others.
func TestTelemetryAllocatesNothingWithoutSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("-short measures nothing")
	}
	plain, instrumented := peer.ByName("mcpwright"), peer.ByName("mcpwright instrumented")
	for _, w := range workload.Telemetry() {
		t.Run(w.Name, func(t *testing.T) {
			// As above, half an allocation may be the Go runtime's.
			require.LessOrEqual(t, cheapest(t, w, instrumented, 0).Allocs, cheapest(t, w, plain, 0).Allocs+0.5)
		})
	}
}

// TestTelemetryAllocatesLikeSDK compares servers that sample 1 % of the traces with servers that call the
// SDK of OpenTelemetry alone, whose messages do not contain the trace context.
func TestTelemetryAllocatesLikeSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("-short measures nothing")
	}
	sdk, traced := peer.ByName("mcpwright SDK alone"), peer.ByName("mcpwright traced")
	for i, w := range workload.Telemetry() {
		t.Run(w.Name, func(t *testing.T) {
			more := 0.5 // as above
			if i == 0 {
				more += 5 // to send the trace context, and to decode it
			}
			got, least := cheapest(t, w, traced, 0), cheapest(t, w, sdk, 0)
			t.Logf("allocs %.1f, bytes %.0f; SDK alone: allocs %.1f, bytes %.0f", got.Allocs, got.Bytes, least.Allocs, least.Bytes)
			require.LessOrEqual(t, got.Allocs, least.Allocs+more)
			if i > 0 {
				require.LessOrEqual(t, got.Bytes, least.Bytes+50) // for the data of the metrics
			}
		})
	}
}
