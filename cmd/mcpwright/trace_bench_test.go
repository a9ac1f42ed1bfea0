package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// BenchmarkTrace measures exchanges with a server over standard input and output, with mcpwright trace
// and without it. It reports the ratio of both times, which alternate in one run.
func BenchmarkTrace(b *testing.B) {
	for _, parallel := range []int{1, 16} {
		b.Run(fmt.Sprintf("echo/parallel=%d", parallel), func(b *testing.B) { compare(b, parallel, startEcho) })
		b.Run(fmt.Sprintf("call/parallel=%d", parallel), func(b *testing.B) { compare(b, parallel, startCalls) })
	}
}

// compare alternates between rounds without and with mcpwright trace.
func compare(b *testing.B, parallel int, start func(b *testing.B, traced bool) func(parallel, n int)) {
	direct, traced := start(b, false), start(b, true)
	direct(parallel, 200)
	traced(parallel, 200)
	var times [2]time.Duration
	b.ResetTimer()
	for left := b.N; left > 0; left -= min(left, 200) {
		for i, round := range []func(parallel, n int){direct, traced} {
			begun := time.Now()
			round(parallel, min(left, 200))
			times[i] += time.Since(begun)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(times[0].Microseconds())/float64(b.N), "direct-µs")
	b.ReportMetric(float64(times[1].Microseconds())/float64(b.N), "traced-µs")
	b.ReportMetric(float64(times[1])/float64(times[0]), "ratio")
}

// startEcho starts a server that sends each line back, and returns a function that sends requests.
func startEcho(b *testing.B, traced bool) func(parallel, n int) {
	args := []string{"-quiet", "-out", filepath.Join(b.TempDir(), "trace.jsonl"), "--", "cat"}
	cmd := traceProcess(b, args...)
	if !traced {
		cmd = traceProcess(b)
		cmd.Path, cmd.Args = "/bin/cat", []string{"cat"}
	}
	cmd.Stderr = nil
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	id := 0
	return func(parallel, n int) {
		waiting := make(chan struct{}, parallel)
		go func() { // ends after n requests
			for range n {
				waiting <- struct{}{}
				id++
				_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"order","arguments":{"dish":"soup"}}}`+"\n", id)
			}
		}()
		for range n {
			_, err := lines.ReadSlice('\n')
			require.NoError(b, err)
			<-waiting
		}
	}
}

// startCalls starts the test server, and returns a function that calls a tool.
func startCalls(b *testing.B, traced bool) func(parallel, n int) {
	exe, err := os.Executable()
	require.NoError(b, err)
	to := mcpclient.Command(exe)
	to.Env = append(os.Environ(), serveVariable+"=1")
	if traced {
		to = mcpclient.Command(exe, "trace", "-quiet", "-out", filepath.Join(b.TempDir(), "trace.jsonl"), "--", exe)
		to.Env = append(os.Environ(), runVariable+"=1", serveVariable+"=1")
	}
	client, err := mcpclient.Connect(b.Context(), to, &mcpclient.Options{Info: mcp.Implementation{Name: "c", Version: "1"}})
	require.NoError(b, err)
	b.Cleanup(func() { client.Close() })
	req := &mcp.CallToolRequest{Name: "order", Arguments: json.RawMessage(`{"dish":"soup"}`)}
	return func(parallel, n int) {
		var all sync.WaitGroup
		for i := range parallel {
			all.Go(func() { // ends after its part of n calls
				for range (n + parallel - 1 - i) / parallel {
					if _, err := client.CallTool(b.Context(), req); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
}
