package stdio

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLastLines(t *testing.T) {
	long := strings.Repeat("long", maxLinesSize)
	for name, c := range map[string]struct {
		pieces []string
		want   []string
	}{
		"nothing":                 {nil, nil},
		"blank lines":             {[]string{"\n\r\n", "  \n"}, nil},
		"lines in pieces":         {[]string{"on", "e\r\ntw", "o\n", "thr", "ee"}, []string{"one", "two", "three"}},
		"too many lines":          {[]string{strings.Repeat("x\n", 100)}, strings.Fields(strings.Repeat("x ", maxLines))},
		"too much text":           {[]string{"first\n", long, "\nlast\n"}, []string{"last"}},
		"one line too long":       {[]string{"first\n", long}, []string{long[len(long)-maxLinesSize:]}},
		"too long with line feed": {[]string{"first\n", long + "\n"}, []string{long[len(long)-maxLinesSize+1:]}},
		"not UTF-8":               {[]string{"\xff\n"}, []string{"\uFFFD"}},
	} {
		t.Run(name, func(t *testing.T) {
			var last lastLines
			for _, piece := range c.pieces {
				last.add([]byte(piece))
			}
			require.Equal(t, c.want, last.get())
			require.LessOrEqual(t, len(last.text), maxLinesSize)
		})
	}
}

func TestLineThatStatesErrorIsKept(t *testing.T) {
	trace := strings.Repeat("    at Error: frame (node:internal:1:2)\n", 300)
	for name, c := range map[string]struct{ before, want string }{
		"node":      {"node:internal/modules:9\n  throw new X();\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /a.mjs\n", "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /a.mjs"},
		"go":        {"starting\npanic: no such table\n\n", "panic: no such table"},
		"java":      {"Exception in thread main\nCaused by: java.net.ConnectException: refused\n", "Caused by: java.net.ConnectException: refused"},
		"the last":  {"error: first\nerror: second\n", "error: second"},
		"a long":    {"error: " + strings.Repeat("x", 9000) + "\n", "error: " + strings.Repeat("x", maxReason-len("error: "))},
		"not UTF-8": {"error: \xff\n", "error: \uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} {
				var last lastLines
				for piece := range slices.Chunk([]byte(c.before+trace), size) {
					last.add(piece)
				}
				lines := last.get()
				require.Equal(t, c.want, lines[0])
				require.Len(t, lines, maxLines+1)
				require.Equal(t, lines, last.get())
			}
		})
	}
	var last lastLines
	last.add([]byte("one\nsh: 1: server: not found"))
	require.Equal(t, []string{"one", "sh: 1: server: not found"}, last.get(), "nothing twice")
}

// failingWriter always fails and counts its calls.
type failingWriter struct{ calls int }

func (w *failingWriter) Write([]byte) (int, error) {
	w.calls++
	return 0, errors.New("disk full")
}

func TestForwardingStopsAfterWriteError(t *testing.T) {
	w := new(failingWriter)
	var log strings.Builder
	text, child := io.Pipe()
	l := readStderr(text, w, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		_, err := io.WriteString(child, "hello\n")
		require.NoError(t, err)
	}
	child.Close()
	<-l.done
	<-l.flushed()
	require.Equal(t, 1, w.calls)
	require.Contains(t, log.String(), "disk full")
	require.Equal(t, []string{"hello", "hello", "hello"}, l.last())
}

func TestForwarderCountsDroppedBytes(t *testing.T) {
	f := &forwarder{w: nil, wake: make(chan struct{}, 1)}
	f.add(make([]byte, forwardLimit-1))
	f.add([]byte("abc"))
	f.add([]byte("def"))
	text, _ := f.take(nil)
	require.Equal(t, "a\n[5 bytes of standard error dropped]\n", string(text[forwardLimit-1:]))
	f.add([]byte("more text"))
	text, ended := f.take(text[:0])
	require.Equal(t, "more text", string(text))
	require.False(t, ended)
}
