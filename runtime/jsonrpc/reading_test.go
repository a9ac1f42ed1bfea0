package jsonrpc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// line is a connection that reads lines, and its peer.
type line struct {
	t     *testing.T
	conn  *jsonrpc.Conn
	in    *io.PipeWriter
	lines *bufio.Reader
	ended chan error
}

func newLine(t *testing.T, opts *jsonrpc.Options) *line {
	t.Helper()
	if n := runtime.GOMAXPROCS(0); n == 1 { // where the reader handles nothing
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

func (l *line) say(message string) {
	l.t.Helper()
	_, err := io.WriteString(l.in, message+"\n")
	require.NoError(l.t, err)
}

func (l *line) hear() string {
	l.t.Helper()
	got, err := l.lines.ReadString('\n')
	require.NoError(l.t, err)
	return strings.TrimSpace(got)
}

func (l *line) ask(id int, method string) string {
	l.t.Helper()
	l.say(request(id, method))
	return l.hear()
}

// byReader tells whether it is called by the goroutine that reads.
func byReader() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, ".(*reading).read") {
			return true
		}
		if !more {
			return false
		}
	}
}

// where answers at once, and says who handles it.
func where(seen *[]bool) func(context.Context, *peer.Inbound) (peer.Reply, error) {
	return func(context.Context, *peer.Inbound) (peer.Reply, error) {
		*seen = append(*seen, byReader())
		return result("{}")
	}
}

func quick(context.Context, *peer.Inbound) (peer.Reply, error) { return result("{}") }

// enough is how many requests, one at a time, make a peer one that does so.
const enough = 8

// Now and then one is handed on, to see whether the next comes meanwhile.
func TestWhoReadsOneRequestAtATimeHandlesThem(t *testing.T) {
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

// The handler waits for what can only come through the pipe that it was asked by.
func TestAHandlerThatWaitsDoesNotKeepTheOthersFromBeingRead(t *testing.T) {
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
		l.say(request(1, "wait"))
		l.say(cancelOne)
		l.say(request(2, "first"))
		l.say(request(3, "other"))
		require.ElementsMatch(t, []string{fmt.Sprintf(emptyOne, 2), fmt.Sprintf(emptyOne, 3)}, []string{l.hear(), l.hear()})
		require.LessOrEqual(t, time.Since(begun), 4*time.Millisecond, "two handlers, each two milliseconds")
	})
}

func TestAHandlerThatCallsThePeerIsAnsweredAtOnce(t *testing.T) {
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
			l.say(request(id, "ask"))
			require.Contains(t, l.hear(), `"ping"`)
			l.say(fmt.Sprintf(emptyOne, id+1))
			require.Equal(t, fmt.Sprintf(emptyOne, id), l.hear())
		}
		require.Zero(t, time.Since(begun))
		require.Contains(t, seen, true)
		require.LessOrEqual(t, count(seen, true), asked/50, "it is tried now and then")
	})
}

// Two callers take turns at a handler that takes its time. Neither waits for the
// other, once it is clear that there are two.
func TestWhatComesWhileOthersAreHandledIsHandedOn(t *testing.T) {
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
		l.say(request(1000, "slow"))
		for id := range asked {
			l.say(request(id, "slow"))
			l.hear()
		}
		l.hear()
		require.LessOrEqual(t, time.Since(begun), asked/2*pause+pause+4*time.Millisecond)
	})
}

func TestWhatComesTogetherIsNotHandledByItsReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := make(chan bool, 3)
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"where": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			seen <- byReader()
			return result("{}")
		}}})
		l.say(request(1, "where") + "\n" + request(2, "where") + "\n" + request(3, "where"))
		for range 3 {
			l.hear()
			require.False(t, <-seen)
		}
	})
}

func TestAHandlerThatEndsTheReadersGoroutineDoesNotEndTheReading(t *testing.T) {
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

// A peer that is written to before it reads on would wait forever for the answer
// to be written, if that kept us from reading.
func TestAnAnswerThatIsNotTakenDoesNotEndTheReading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"quick": quick}})
		for id := range enough {
			l.ask(id, "quick")
		}
		const asked = 100
		for id := range asked {
			l.say(request(id, "quick"))
		}
		for range asked {
			l.hear()
		}
	})
}

func TestTheConnectionEndsWhileItsReaderHandlesARequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone, "quick": quick}})
		for id := range enough {
			l.ask(id, "quick")
		}
		l.say(request(1, "wait"))
		synctest.Wait()
		go l.conn.Close()
		require.Contains(t, l.hear(), `"error"`)
	})
}

// Whoever is idle costs nothing: an hour in which the clock ran would take this
// test far longer than it may.
func TestNoClockRunsWhileNothingIsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []bool
		l := newLine(t, &jsonrpc.Options{Handler: handlers{"where": where(&seen)}})
		for id := range enough {
			l.ask(id, "where")
		}
		before := runtime.NumGoroutine()
		time.Sleep(10_000 * time.Hour)
		runtime.GC() // stops the world: a goroutine that has just ended is counted until then
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
}

// A failing test ends the goroutine that it runs in, be it the one that reads.
func TestTheReadingOutlivesItsGoroutine(t *testing.T) {
	for name, c := range map[string]struct {
		say  string
		opts jsonrpc.Options
	}{
		"inline handler": {request(1, mcp.MethodInitialize), jsonrpc.Options{}},
		"reader's own":   {request(1, "exit"), jsonrpc.Options{}},
		"OnError":        {"nonsense", jsonrpc.Options{OnError: func(error) { runtime.Goexit() }}},
		"Intercept":      {note("x"), jsonrpc.Options{InterceptNotification: func(*peer.Inbound) bool { runtime.Goexit(); return false }}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				exit := func(context.Context, *peer.Inbound) (peer.Reply, error) { runtime.Goexit(); return peer.Reply{}, nil }
				c.opts.Handler = handlers{"quick": quick, "exit": exit, mcp.MethodInitialize: exit}
				l := newLine(t, &c.opts)
				for id := range enough {
					l.ask(id+10, "quick")
				}
				l.say(c.say)
				if strings.Contains(c.say, `"id"`) {
					require.Contains(t, l.hear(), "Internal error")
				}
				require.Equal(t, fmt.Sprintf(emptyOne, 2), l.ask(2, "quick"))
			})
		})
	}
}

// exiting is a stream that ends the goroutine which reads it.
type exiting struct{}

func (exiting) Read([]byte) (int, error) { runtime.Goexit(); return 0, nil }

func TestAStreamThatEndsTheReaderIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		require.ErrorContains(t, c.ReadLines(t.Context(), exiting{}, jsonrpc.Source{}), "ended the goroutine")
	})
}

// With one processor a handler that computes would keep the next reader waiting.
func TestWithOneProcessorTheReaderHandlesNothing(t *testing.T) {
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
