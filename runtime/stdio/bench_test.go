//go:build unix

package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/stdio"
)

// serveMinimal does the minimum of a server: it finds the id of each request and writes a
// fixed response.
func serveMinimal() {
	in, out := bufio.NewReader(os.Stdin), []byte(nil)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		_, id, _ := bytes.Cut(line, []byte(`"id":`))
		id, _, _ = bytes.Cut(id, []byte(`,`))
		out = append(append(append(out, `{"jsonrpc":"2.0","id":`...), id...), `,"result":{"content":[{"type":"text","text":"sunny"}]}}`+"\n"...)
		if in.Buffered() == 0 {
			if _, err := os.Stdout.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	}
}

// BenchmarkServe sends requests to a child, with up to window requests in progress, and
// compares the child with serveMinimal.
func BenchmarkServe(b *testing.B) {
	for _, role := range []string{"minimal", "weather"} {
		for _, window := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/window=%d", role, window), func(b *testing.B) { benchmarkChild(b, role, window) })
		}
	}
}

func serveWeather() { fatal(stdio.Serve(context.Background(), weather(), nil)) }

func benchmarkChild(b *testing.B, role string, window int) {
	self, err := os.Executable()
	require.NoError(b, err)
	c := exec.Command(self)
	c.Env, c.Stderr = append(os.Environ(), roleVariable+"="+role), os.Stderr
	in, err := c.StdinPipe()
	require.NoError(b, err)
	out, err := c.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, c.Start())
	responses := bufio.NewReader(out)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`+"\n")
	require.NoError(b, err)
	_, err = responses.ReadSlice('\n')
	require.NoError(b, err)
	if role != "minimal" {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		require.NoError(b, err)
	}

	var lines []byte
	sent := 0
	send := func(n int) {
		lines = lines[:0]
		for range n {
			sent++
			lines = fmt.Appendf(lines, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Uster"}}}`+"\n", sent)
		}
		if _, err := in.Write(lines); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	send(min(window, b.N))
	for received := 0; received < b.N; {
		n := 0
		for {
			if _, err := responses.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
			if n++; responses.Buffered() == 0 {
				break
			}
		}
		received += n
		send(min(n, b.N-sent))
	}
	b.StopTimer()
	in.Close()
	require.NoError(b, c.Wait())
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/op")
}
