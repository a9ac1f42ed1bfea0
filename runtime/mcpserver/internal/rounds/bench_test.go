package rounds_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// BenchmarkCall measures a call that asks no question, and one that asks one.
func BenchmarkCall(b *testing.B) {
	done := mcp.TextResult("done")
	quiet := func(context.Context, *mcp.ServerSession, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return done, nil
	}
	for name, bench := range map[string]struct {
		revision string
		h        tool
		bare     bool
	}{
		"none/handshake": {"2025-11-25", quiet, true}, "round/handshake": {"2025-11-25", quiet, false},
		"none/modern": {"2026-07-28", quiet, true}, "round/modern": {"2026-07-28", quiet, false},
		"asking/modern": {"2026-07-28", straight, false}, "sealing/modern": {"2026-07-28", remembering, false},
	} {
		b.Run(name, func(b *testing.B) {
			k := newDispatcher(b, rounds.Options{}, bench.h)
			if bench.bare {
				var mux peer.Mux
				mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return bench.h(ctx, mcp.SessionFromContext(ctx), req)
				})
				k = connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux})
			}
			conn := connection.NewForRequest(parsed(bench.revision), nil, everything(), nil)
			in := &peer.Inbound{Method: "tools/call", ID: wire.IntID(1), Params: json.RawMessage(`{"name":"tool","arguments":{},"_meta":{}}`)}
			if bench.revision == "2026-07-28" {
				in.Value, in.Params = arguments(`{}`), nil
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Serve(b.Context(), conn, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func parsed(name string) wire.Revision {
	r, _ := mcp.ParseRevision(name)
	return r
}
