package streamable_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/streamable"
)

var serverUnderRace bool

// driver sends one request after another on one connection and reads the answers,
// with hardly any cost of its own.
type driver struct {
	conn net.Conn
	read *bufio.Reader
	wire []byte
}

func newDriver(tb testing.TB, url, body string, change headers) *driver {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(tb, err)
	tb.Cleanup(func() { conn.Close() })
	head := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
		strings.Join(change, "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body))
	if len(change) == 0 {
		head = strings.Replace(head, "\r\n\r\nContent-Length", "\r\nContent-Length", 1)
	}
	return &driver{conn, bufio.NewReader(conn), []byte(head + body)}
}

// roundTrip sends the request and skips the answer, which has a length.
func (d *driver) roundTrip() error {
	if _, err := d.conn.Write(d.wire); err != nil {
		return err
	}
	length := -1
	for {
		line, err := d.read.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if n, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			fmt.Sscan(n, &length)
		}
	}
	if length < 0 {
		return fmt.Errorf("answer has no length")
	}
	_, err := d.read.Discard(length)
	return err
}

func benchHandlers(tb testing.TB) (floor, real string, session string) {
	canned := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1}"}]}}`)
	f := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 512)
		for {
			if _, err := r.Body.Read(buf); err == io.EOF {
				break
			}
		}
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Write(canned)
	}))
	h := streamable.NewHandler(newKernel(nil), &streamable.Options{Logger: slog.New(slog.DiscardHandler)})
	s := httptest.NewServer(h)
	tb.Cleanup(func() { h.Close(); f.Close(); s.Close() })
	res, err := http.Post(s.URL, "application/json", strings.NewReader(initialize("2025-11-25")))
	require.NoError(tb, err)
	res.Body.Close()
	return f.URL, s.URL, res.Header.Get("Mcp-Session-Id")
}

// posts are what is measured: a call in a session and one outside, each to the
// handler and to one of net/http's own that only reads and writes. The last two
// are how many allocations and bytes the handler may take beyond the other.
type posts struct {
	name, body    string
	headers       headers
	allocs, bytes float64
}

func measured(session string) []posts {
	call := strings.Replace(callTool(1, "echo"), `,"_meta":{"progressToken":"p"}`, "", 1)
	return []posts{
		{"session", call, headers{sessions + session, version + "2025-11-25"}, 20, 2 << 10},
		{"2026", call26("echo"), headers26("echo"), 30, 4 << 10},
	}
}

// BenchmarkPost posts on 16 connections.
func BenchmarkPost(b *testing.B) {
	floor, real, session := benchHandlers(b)
	for _, p := range measured(session) {
		for _, to := range []struct{ name, url string }{{"floor", floor}, {"handler", real}} {
			b.Run(p.name+"/"+to.name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(16 / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) {
					d := newDriver(b, to.url, p.body, p.headers)
					for pb.Next() {
						if err := d.roundTrip(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// TestAPostCostsLittleMoreThanNetHTTPItself counts, since time depends on the
// machine.
func TestAPostCostsLittleMoreThanNetHTTPItself(t *testing.T) {
	if serverUnderRace {
		t.Skip("the race detector allocates, too")
	}
	floor, real, session := benchHandlers(t)
	for _, p := range measured(session) {
		cost := func(url string) (allocs, bytes float64) {
			d := newDriver(t, url, p.body, p.headers)
			require.NoError(t, d.roundTrip())
			const n = 500
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range n {
				require.NoError(t, d.roundTrip())
			}
			runtime.ReadMemStats(&after)
			return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
		}
		floorAllocs, floorBytes := cost(floor)
		allocs, bytes := cost(real)
		t.Logf("%s: %.1f allocations and %.0f bytes beyond %.1f and %.0f", p.name, allocs-floorAllocs, bytes-floorBytes, floorAllocs, floorBytes)
		require.LessOrEqual(t, allocs-floorAllocs, p.allocs, p.name)
		require.LessOrEqual(t, bytes-floorBytes, p.bytes, p.name)
	}
}

// TestAnIdleSessionIsOnlyMemory measures what a session takes that nobody uses.
func TestAnIdleSessionIsOnlyMemory(t *testing.T) {
	serveInBubble(t, nil, nil, func(t *testing.T, e *endpoint) {
		send := func(body, id string) http.Header {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if id != "" {
				r.Header.Set("Mcp-Session-Id", id)
			}
			e.handler.ServeHTTP(w, r)
			return w.Header()
		}
		open := func() { send(callTool(1, "echo"), send(initialize("2025-11-25"), "").Get("Mcp-Session-Id")) }
		open()
		const n = 2000
		goroutines, before := runtime.NumGoroutine(), heap()
		for range n {
			open()
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		each := int(heap()-before) / n
		t.Logf("%d bytes for a session", each)
		if !serverUnderRace {
			require.LessOrEqual(t, each, 1<<10)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
		runtime.KeepAlive(e.handler)
	})
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
