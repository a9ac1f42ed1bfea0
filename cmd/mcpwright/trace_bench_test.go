package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// way is how the messages of a benchmark reach the server.
type way int

const (
	direct way = iota
	// copied has a program in between that does not look at the messages: two processes of cat, or a
	// reverse proxy of net/http.
	copied
	traced
	ways
)

// BenchmarkTrace measures exchanges with a server: without a program in between, with one that only copies,
// and with mcpwright trace. The ways alternate in one run. It reports the ratios to the time without a program.
func BenchmarkTrace(b *testing.B) {
	for _, parallel := range []int{1, 16} {
		b.Run(fmt.Sprintf("echo/parallel=%d", parallel), func(b *testing.B) { compare(b, parallel, startEcho) })
		b.Run(fmt.Sprintf("call/parallel=%d", parallel), func(b *testing.B) { compare(b, parallel, startCalls) })
		b.Run(fmt.Sprintf("http/parallel=%d", parallel), func(b *testing.B) { compare(b, parallel, startHTTP) })
	}
}

// compare alternates between rounds of each way.
func compare(b *testing.B, parallel int, start func(b *testing.B, w way) func(parallel, n int)) {
	var rounds [ways]func(parallel, n int)
	for w := range rounds {
		rounds[w] = start(b, way(w))
		rounds[w](parallel, 200)
	}
	var times [ways][]time.Duration // of each round, for one exchange
	b.ResetTimer()
	for left := b.N; left > 0; left -= min(left, 50) {
		for w, round := range rounds {
			begun, n := time.Now(), min(left, 50)
			round(parallel, n)
			times[w] = append(times[w], time.Since(begun)/time.Duration(n))
		}
	}
	b.ReportMetric(0, "ns/op")
	low := func(w way) float64 { // of most rounds, because other programs lengthen some
		slices.Sort(times[w])
		return float64(times[w][len(times[w])/4].Nanoseconds())
	}
	for w, name := range []string{"direct", "copied", "traced"} {
		b.ReportMetric(low(way(w))/1000, name+"-µs")
		b.ReportMetric(low(way(w))/low(direct), name+"-ratio")
	}
}

// startEcho starts a server that sends each line back, and returns a function that sends requests.
func startEcho(b *testing.B, w way) func(parallel, n int) {
	var cmd *exec.Cmd
	switch w {
	case direct:
		cmd = exec.Command("cat")
	case copied:
		cmd = exec.Command("sh", "-c", "cat | cat | cat")
	default:
		cmd = traceProcess(b, "-quiet", "-out", filepath.Join(b.TempDir(), "trace.jsonl"), "--", "cat")
	}
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
func startCalls(b *testing.B, w way) func(parallel, n int) {
	exe, err := os.Executable()
	require.NoError(b, err)
	to := mcpclient.Command(exe)
	to.Env = append(os.Environ(), serveVariable+"=1")
	switch w {
	case copied:
		to = mcpclient.Command("sh", "-c", `cat | "$0" | cat`, exe)
		to.Env = append(os.Environ(), serveVariable+"=1")
	case traced:
		to = mcpclient.Command(exe, "trace", "-quiet", "-out", filepath.Join(b.TempDir(), "trace.jsonl"), "--", exe)
		to.Env = append(os.Environ(), runVariable+"=1", serveVariable+"=1")
	}
	return caller(b, to)
}

// startHTTP starts the test server over HTTP, and returns a function that calls a tool.
func startHTTP(b *testing.B, w way) func(parallel, n int) {
	server := httptest.NewServer(streamable.NewHandler(testServer(), nil))
	b.Cleanup(server.Close)
	if w == direct {
		return caller(b, mcpclient.URL(server.URL))
	}
	cmd := traceProcess(b, "-quiet", "-out", filepath.Join(b.TempDir(), "trace.jsonl"), "-listen", "127.0.0.1:0", server.URL)
	if w == copied {
		cmd.Env = append(os.Environ(), copyVariable+"="+server.URL)
	}
	errs, err := cmd.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(errs).ReadString('\n')
	require.NoError(b, err)
	return caller(b, mcpclient.URL(strings.Fields(line)[2]))
}

// copyHTTP is a process that passes requests on to a URL until it is interrupted.
func copyHTTP(to string) error {
	target, err := url.Parse(to)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "listening on http://%s for a benchmark\n", l.Addr())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	proxy.Transport = transport
	return http.Serve(l, proxy)
}

// caller returns a function that calls a tool of a server.
func caller(b *testing.B, to mcpclient.Endpoint) func(parallel, n int) {
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
