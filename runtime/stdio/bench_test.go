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

	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/stretchr/testify/require"
)

// floor does the least that a server can do: it finds the id and writes a
// canned answer.
func floor() {
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

// BenchmarkServe drives a child with lines, so many requests at a time, and
// compares it with the floor.
func BenchmarkServe(b *testing.B) {
	for _, role := range []string{"floor", "weather"} {
		for _, window := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/window=%d", role, window), func(b *testing.B) { drive(b, role, window) })
		}
	}
}

func serveWeather() { fatal(stdio.Serve(context.Background(), weather(), nil)) }

func drive(b *testing.B, role string, window int) {
	self, err := os.Executable()
	require.NoError(b, err)
	c := exec.Command(self)
	c.Env, c.Stderr = append(os.Environ(), roleVariable+"="+role), os.Stderr
	in, err := c.StdinPipe()
	require.NoError(b, err)
	out, err := c.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, c.Start())
	answers := bufio.NewReader(out)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"driver","version":"1"}}}`+"\n")
	require.NoError(b, err)
	_, err = answers.ReadSlice('\n')
	require.NoError(b, err)
	if role != "floor" {
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		require.NoError(b, err)
	}

	var lines []byte
	asked := 0
	ask := func(n int) {
		lines = lines[:0]
		for range n {
			asked++
			lines = fmt.Appendf(lines, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Uster"}}}`+"\n", asked)
		}
		if _, err := in.Write(lines); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	ask(min(window, b.N))
	for answered := 0; answered < b.N; {
		n := 0
		for {
			if _, err := answers.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
			if n++; answers.Buffered() == 0 {
				break
			}
		}
		answered += n
		ask(min(n, b.N-asked))
	}
	b.StopTimer()
	in.Close()
	require.NoError(b, c.Wait())
	spent := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
}
