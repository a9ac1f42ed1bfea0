package command

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// BenchmarkTraceOfEverythingServer measures calls of a tool of server-everything, with mcpwright trace
// and without it. It reports the ratio of both times, which alternate in one run.
func BenchmarkTraceOfEverythingServer(b *testing.B) {
	program, server := build(b), everything(b)
	traced := append([]string{program, "trace", "-quiet", "-out", filepath.Join(b.TempDir(), "trace.jsonl"), "--"}, server...)
	var calls [2]func(n int)
	for i, words := range [][]string{server, traced} {
		client, err := mcpclient.Connect(b.Context(), mcpclient.Command(words[0], words[1:]...), &mcpclient.Options{Info: mcp.Implementation{Name: "trace", Version: "1"}})
		require.NoError(b, err)
		b.Cleanup(func() { client.Close() })
		req := &mcp.CallToolRequest{Name: "echo", Arguments: json.RawMessage(`{"message":"gopher"}`)}
		calls[i] = func(n int) {
			for range n {
				_, err := client.CallTool(b.Context(), req)
				require.NoError(b, err)
			}
		}
		calls[i](200)
	}
	var times [2]time.Duration
	b.ResetTimer()
	for left := b.N; left > 0; left -= min(left, 100) {
		for i, call := range calls {
			begun := time.Now()
			call(min(left, 100))
			times[i] += time.Since(begun)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(times[0].Microseconds())/float64(b.N), "direct-µs")
	b.ReportMetric(float64(times[1].Microseconds())/float64(b.N), "traced-µs")
	b.ReportMetric(float64(times[1])/float64(times[0]), "ratio")
}
