package jsonrpc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"at once":      func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"with the end": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var seen []error
				c, r := newConn(t, &jsonrpc.Options{
					Handler:    scene,
					MaxMessage: 70_000,
					Inline:     func(string) bool { return true },
					OnError:    func(err error) { seen = append(seen, err) },
				})
				in := strings.Join([]string{
					request(1, "echo") + "\r\n\n \t\r\n" + request(2, "echo"),
					"garbage", long, request(3, "echo"),
					`{"jsonrpc":"2.0","id":4,"method":"echo","params":{"x":"` + long[:60_000] + `"}}`,
					request(5, "echo"), // without a line feed at the end
				}, "\n")
				require.NoError(t, c.ReadLines(t.Context(), reader(strings.NewReader(in)), jsonrpc.Source{}))
				got := r.take()
				for i := 1; i <= 5; i++ {
					if i != 4 {
						require.Contains(t, got, fmt.Sprintf(emptyOne, i))
					}
				}
				require.Contains(t, strings.Join(got, "\n"), `{"jsonrpc":"2.0","id":4,"result":{"x":"`+long[:60_000]+`"}}`)
				require.Contains(t, got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Message is longer than 70000 bytes"}}`)
				require.Len(t, got, 7)
				require.Len(t, seen, 2)
			})
		})
	}
}

func TestReadLinesReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Handler: scene})
		require.ErrorIs(t, c.ReadLines(t.Context(), iotest.ErrReader(errBroken), jsonrpc.Source{}), errBroken)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBroken)
		require.ErrorIs(t, c.ReadLines(ctx, strings.NewReader("x\n"), jsonrpc.Source{}), errBroken)
		require.NoError(t, c.ReadLines(ctx, strings.NewReader(""), jsonrpc.Source{}))
		c.Close()
		require.NoError(t, c.ReadLines(t.Context(), strings.NewReader("x\ny\n"), jsonrpc.Source{}))
	})
}

// endless is a stream of one line.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), e.left)
	for i := range n {
		b[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func TestReadLinesMemoryOfLongLine(t *testing.T) {
	var reported []error
	c, _ := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 100 << 10, OnError: func(err error) { reported = append(reported, err) }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, c.ReadLines(t.Context(), &endless{64 << 20}, jsonrpc.Source{}))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
	require.Len(t, reported, 1, "also if the line ends with the stream")
}

// line is a connection that reads lines, with its peer.
type line struct {
	t     *testing.T
	conn  *jsonrpc.Conn
	in    *io.PipeWriter
	lines *bufio.Reader
	ended chan error
}

func newLine(t *testing.T, opts *jsonrpc.Options) *line {
	t.Helper()
	if n := runtime.GOMAXPROCS(0); n == 1 { // with one processor, the reader handles no requests
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(n) })
	}
	return startLine(t, opts)
}

func startLine(t *testing.T, opts *jsonrpc.Options) *line {
	t.Helper()
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	l := &line{t: t, in: cw, lines: bufio.NewReader(cr), ended: make(chan error, 1)}
	l.conn = jsonrpc.New(jsonrpc.NewLineWriter(sw), opts)
	go func() { l.ended <- l.conn.ReadLines(context.Background(), sr, jsonrpc.Source{}) }() // ends with the pipe
	t.Cleanup(func() {
		cw.Close()
		require.NoError(t, <-l.ended)
		cr.Close()
		l.conn.Close()
	})
	return l
}

func (l *line) send(message string) {
	l.t.Helper()
	_, err := io.WriteString(l.in, message+"\n")
	require.NoError(l.t, err)
}

func (l *line) receive() string {
	l.t.Helper()
	got, err := l.lines.ReadString('\n')
	require.NoError(l.t, err)
	return strings.TrimSpace(got)
}

func (l *line) ask(id int, method string) string {
	l.t.Helper()
	l.send(request(id, method))
	return l.receive()
}

// byReader reports whether it is called by the goroutine that reads.
func byReader() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, ".(*stream).read") {
			return true
		}
		if !more {
			return false
		}
	}
}

// where returns a handler that records whether the goroutine that reads calls it.
func where(seen *[]bool) func(context.Context, *peer.Inbound) (peer.Reply, error) {
	return func(context.Context, *peer.Inbound) (peer.Reply, error) {
		*seen = append(*seen, byReader())
		return result("{}")
	}
}

// enough is how many requests must arrive one at a time before the reader handles them.
const enough = 8

// Some requests are given to a worker, to find out whether requests overlap.
func TestReaderHandlesSingleRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []bool
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"where": where(&seen)}})
		const asked = 1000
		for id := range asked {
			require.Equal(t, fmt.Sprintf(emptyOne, id), l.ask(id, "where"))
		}
		require.GreaterOrEqual(t, count(seen, true), asked*9/10)
	})
}

func count(list []bool, what bool) (n int) {
	for _, b := range list {
		if b == what {
			n++
		}
	}
	return n
}

// The handler waits for a message that arrives on the same pipe.
func TestReaderHandlesWaitingHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		met := make(chan struct{})
		l := newLine(t, &jsonrpc.Options{Handler: handlers{
			"quick": quick,
			"wait":  untilDone,
			"first": func(context.Context, *peer.Inbound) (peer.Reply, error) { <-met; return result("{}") },
			"other": func(context.Context, *peer.Inbound) (peer.Reply, error) { close(met); return result("{}") },
		}})
		for id := range enough {
			l.ask(id, "quick")
		}
		begun := time.Now()
		l.send(request(1, "wait"))
		l.send(cancelOne)
		l.send(request(2, "first"))
		l.send(request(3, "other"))
		require.ElementsMatch(t, []string{fmt.Sprintf(emptyOne, 2), fmt.Sprintf(emptyOne, 3)}, []string{l.receive(), l.receive()})
		require.LessOrEqual(t, time.Since(begun), 4*time.Millisecond, "two milliseconds for each of two handlers")
	})
}

func TestReaderHandlesHandlerThatCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []bool
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"ask": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			seen = append(seen, byReader())
			_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
			return peer.Reply{Result: &mcp.EmptyResult{}}, err
		}}})
		begun := time.Now()
		const asked = 400
		for id := range asked {
			l.send(request(id, "ask"))
			require.Contains(t, l.receive(), `"ping"`)
			l.send(fmt.Sprintf(emptyOne, id+1))
			require.Equal(t, fmt.Sprintf(emptyOne, id), l.receive())
		}
		require.Zero(t, time.Since(begun))
		require.Contains(t, seen, true)
		require.LessOrEqual(t, count(seen, true), asked/50, "the reader handles some requests")
	})
}

// Two callers send requests for a slow handler. The requests are handled concurrently.
func TestReaderGivesOverlappingRequestsToWorkers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const pause, asked = 10 * time.Millisecond, 100
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"slow": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			time.Sleep(pause)
			return result("{}")
		}, "quick": quick}})
		for id := range enough {
			l.ask(id, "quick")
		}
		begun := time.Now()
		l.send(request(1000, "slow"))
		for id := range asked {
			l.send(request(id, "slow"))
			l.receive()
		}
		l.receive()
		require.LessOrEqual(t, time.Since(begun), asked/2*pause+pause+4*time.Millisecond)
	})
}

func TestReaderGivesSimultaneousRequestsToWorkers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := make(chan bool, 3)
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"where": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			seen <- byReader()
			return result("{}")
		}}})
		l.send(request(1, "where") + "\n" + request(2, "where") + "\n" + request(3, "where"))
		for range 3 {
			l.receive()
			require.False(t, <-seen)
		}
	})
}

func TestReaderContinuesAfterHandlerEndsGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []bool
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"where": where(&seen), "exit": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			runtime.Goexit()
			return peer.Reply{}, nil
		}}})
		for round := range 3 {
			seen = nil
			for id := range 100 {
				require.Equal(t, fmt.Sprintf(emptyOne, id), l.ask(id, "where"))
			}
			require.Contains(t, seen, true)
			require.Contains(t, l.ask(round, "exit"), `"error"`)
		}
	})
}

// If writing a response blocked reading, a peer that writes before it reads would block forever.
func TestReaderContinuesWithUnreadResponses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"quick": quick}})
		for id := range enough {
			l.ask(id, "quick")
		}
		const asked = 100
		for id := range asked {
			l.send(request(id, "quick"))
		}
		for range asked {
			l.receive()
		}
	})
}

func TestCloseWhileReaderHandlesRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone, "quick": quick}})
		for id := range enough {
			l.ask(id, "quick")
		}
		l.send(request(1, "wait"))
		synctest.Wait()
		go l.conn.Close()
		require.Contains(t, l.receive(), `"error"`)
	})
}

// If the watchdog did not stop, this test would take too long.
func TestWatchdogStopsWhenIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []bool
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"where": where(&seen)}})
		for id := range enough {
			l.ask(id, "where")
		}
		before := runtime.NumGoroutine()
		time.Sleep(10_000 * time.Hour)
		runtime.GC() // stops the world, so that goroutines that have just ended are not counted
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
}

// A failing test ends its goroutine, which may be the goroutine that reads.
func TestReaderContinuesInAnotherGoroutine(t *testing.T) {
	for name, c := range map[string]struct {
		send string
		opts jsonrpc.Options
	}{
		"inline handler": {request(1, mcp.MethodInitialize), jsonrpc.Options{}},
		"handler":        {request(1, "exit"), jsonrpc.Options{}},
		"OnError":        {"nonsense", jsonrpc.Options{OnError: func(error) { runtime.Goexit() }}},
		"intercept":      {note("x"), jsonrpc.Options{InterceptNotification: func(*peer.Inbound) bool { runtime.Goexit(); return false }}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				exit := func(context.Context, *peer.Inbound) (peer.Reply, error) { runtime.Goexit(); return peer.Reply{}, nil }
				c.opts.Handler = handlers{"quick": quick, "exit": exit, mcp.MethodInitialize: exit}
				l := newLine(t, &c.opts)
				for id := range enough {
					l.ask(id+10, "quick")
				}
				l.send(c.send)
				if strings.Contains(c.send, `"id"`) {
					require.Contains(t, l.receive(), "Internal error")
				}
				require.Equal(t, fmt.Sprintf(emptyOne, 2), l.ask(2, "quick"))
			})
		})
	}
}

// exiting is a stream that ends the goroutine that reads it.
type exiting struct{}

func (exiting) Read([]byte) (int, error) { runtime.Goexit(); return 0, nil }

func TestStreamEndsReadingGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		require.ErrorContains(t, c.ReadLines(t.Context(), exiting{}, jsonrpc.Source{}), "ended the goroutine")
	})
}

// With one processor, a handler that computes would delay the next reader.
func TestReaderHandlesNothingWithOneProcessor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var seen []bool
		opts := &jsonrpc.Options{Handler: handlers{"where": where(&seen)}}
		l := startLine(t, opts)
		for id := range 2 * enough {
			l.ask(id, "where")
		}
		require.NotContains(t, seen, true)
	})
}
