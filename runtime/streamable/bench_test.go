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

var raceEnabled bool

// driver sends requests one after another on one connection, at minimal cost.
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

// roundTrip sends the request and skips the response, which must have Content-Length.
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
		return fmt.Errorf("response has no Content-Length")
	}
	_, err := d.read.Discard(length)
	return err
}

func benchHandlers(tb testing.TB) (baseline, real string, session string) {
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
	h := streamable.NewHandler(newDispatcher(nil), &streamable.Options{Logger: slog.New(slog.DiscardHandler)})
	s := httptest.NewServer(h)
	tb.Cleanup(func() { h.Close(); f.Close(); s.Close() })
	res, err := http.Post(s.URL, "application/json", strings.NewReader(initialize("2025-11-25")))
	require.NoError(tb, err)
	res.Body.Close()
	return f.URL, s.URL, res.Header.Get("Mcp-Session-Id")
}

// measuredPost is a measured request. The handler is compared with a handler of net/http that
// only reads the body and writes a response. The limits are for the additional
// allocations and bytes.
type measuredPost struct {
	name, body    string
	headers       headers
	allocs, bytes float64
}

func measured(session string) []measuredPost {
	call := strings.Replace(callTool(1, "echo"), `,"_meta":{"progressToken":"p"}`, "", 1)
	return []measuredPost{
		{"session", call, headers{sessions + session, version + "2025-11-25"}, 20, 2 << 10},
		{"2026", call26("echo"), headers26("echo"), 30, 4 << 10},
	}
}

// BenchmarkPost sends requests on 16 connections.
func BenchmarkPost(b *testing.B) {
	baseline, real, session := benchHandlers(b)
	for _, p := range measured(session) {
		for _, to := range []struct{ name, url string }{{"baseline", baseline}, {"handler", real}} {
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

// TestAllocationsOfPostAreLimited counts allocations, because times depend on the
// machine.
func TestAllocationsOfPostAreLimited(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates, too")
	}
	baseline, real, session := benchHandlers(t)
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
		baselineAllocs, baselineBytes := cost(baseline)
		allocs, bytes := cost(real)
		t.Logf("%s: %.1f allocations and %.0f bytes beyond %.1f and %.0f", p.name, allocs-baselineAllocs, bytes-baselineBytes, baselineAllocs, baselineBytes)
		require.LessOrEqual(t, allocs-baselineAllocs, p.allocs, p.name)
		require.LessOrEqual(t, bytes-baselineBytes, p.bytes, p.name)
	}
}

// TestIdleSessionNeedsOnlyMemory measures the memory of an idle session.
func TestIdleSessionNeedsOnlyMemory(t *testing.T) {
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
		if !raceEnabled {
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
