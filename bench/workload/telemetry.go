package workload

import "github.com/mcpwright/mcp/bench/peer"

// Telemetry lists the workloads of the table about telemetry.
func Telemetry() []Workload {
	return []Workload{
		{"client and server over a pipe, one call at a time", CPU, 0, pair(peer.Pipe, 1, greet)},
		{"stdio server, 2025-11-25, one call at a time", CPU, 0, pipeline(false, 1)},
		{"stdio server, 2026-07-28, one call at a time", CPU, 0, pipeline(true, 1)},
		{"HTTP server, 2025-11-25 with sessions, connections: 16", CPU, 0, post(peer.Stateful, 16)},
		{"HTTP server, 2026-07-28, connections: 16", CPU, 0, post(peer.Modern, 16)},
	}
}
