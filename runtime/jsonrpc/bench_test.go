package jsonrpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The limits: a call over a pipe takes at most 4 times as long as the floor, or 2.5 times with 64
// calls in flight, and has 24 allocations at both ends together. A call in process has 12
// allocations.

var (
	benchFrame   = &wire.Frame{Revision: mcp.Revision20251125}
	benchRequest = &mcp.CallToolRequest{Name: "greet", Arguments: json.RawMessage(`{"name":"gopher","count":3}`)}
)

func benchOptions() *jsonrpc.Options {
	return &jsonrpc.Options{
		Frame:       func(string) *wire.Frame { return benchFrame },
		Handler:     greeter{},
		MaxInFlight: 1024,
	}
}

// greeter is a handler of tools/call.
type greeter struct{}

func (greeter) Handle(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
	req, ok := in.Value.(*mcp.CallToolRequest)
	if !ok {
		req = new(mcp.CallToolRequest)
		if err := in.Decode(benchFrame, req); err != nil {
			return peer.Reply{}, err
		}
	}
	return peer.Reply{Result: mcp.TextResult("Hello, " + req.Name), Frame: benchFrame}, nil
}

func BenchmarkInProcess(b *testing.B) {
	client, server := jsonrpc.InProcessPair(benchOptions(), benchOptions())
	defer server.Close()
	run(b, 1, caller(client))
}

func BenchmarkPipe(b *testing.B) {
	client, closeAll := pipePair(b, benchOptions(), benchOptions())
	defer closeAll()
	b.Run("serial", func(b *testing.B) { run(b, 1, caller(client)) })
	b.Run("64", func(b *testing.B) { run(b, 64, caller(client)) })
	b.Run("cancellable/serial", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		run(b, 1, callerIn(ctx, client))
	})
	b.Run("cancellable/64", func(b *testing.B) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		run(b, 64, callerIn(ctx, client))
	})
}

func BenchmarkFloor(b *testing.B) {
	f := newFloor()
	defer f.close()
	b.Run("serial", func(b *testing.B) { run(b, 1, f.call) })
	b.Run("64", func(b *testing.B) { run(b, 64, f.call) })
}

func caller(out peer.Outbound) func() error { return callerIn(context.Background(), out) }

func callerIn(ctx context.Context, out peer.Outbound) func() error {
	return func() error {
		_, err := peer.SendRequest(ctx, out, benchRequest)
		return err
	}
}

// framed calls with the option WithFrame, like a session.
func framed(out peer.Outbound) func() error {
	opts := []peer.CallOption{peer.WithFrame(benchFrame)}
	return func() error {
		return out.Call(context.Background(), benchRequest, benchRequest.NewResult(), opts...)
	}
}

// run makes b.N calls in a number of goroutines.
func run(b *testing.B, parallel int, call func() error) {
	b.ReportAllocs()
	var wg sync.WaitGroup
	var begun atomic.Int64
	b.ResetTimer()
	for range parallel {
		wg.Go(func() {
			for begun.Add(1) <= int64(b.N) {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// pipePair connects two connections with pipes.
func pipePair(tb testing.TB, client, server *jsonrpc.Options) (*jsonrpc.Conn, func()) {
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(cw), client)
	s := jsonrpc.New(jsonrpc.NewLineWriter(sw), server)
	var readers sync.WaitGroup
	readers.Go(func() { _ = c.ReadLines(context.Background(), cr, jsonrpc.Source{}) })
	readers.Go(func() { _ = s.ReadLines(context.Background(), sr, jsonrpc.Source{}) })
	return c, func() {
		c.Close()
		s.Close()
		for _, p := range []io.Closer{cw, sw, cr, sr} {
			p.Close()
		}
		readers.Wait()
	}
}

// floor is a minimal client and server over the same pipes, without types and validation and with a
// constant response.
type floor struct {
	w       io.WriteCloser
	mu      sync.Mutex
	next    int64
	waiting map[int64]chan struct{}
	chans   sync.Pool
	bufs    sync.Pool
	close   func()
}

func newFloor() *floor {
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	f := &floor{w: cw, waiting: make(map[int64]chan struct{})}
	f.chans.New = func() any { return make(chan struct{}, 1) }
	f.bufs.New = func() any { return new([]byte) }
	f.close = func() { cw.Close(); sw.Close() }
	go floorServer(sr, sw)
	go f.read(cr)
	return f
}

func (f *floor) call() error {
	done := f.chans.Get().(chan struct{})
	f.mu.Lock()
	f.next++
	id := f.next
	f.waiting[id] = done
	f.mu.Unlock()
	b := f.bufs.Get().(*[]byte)
	*b = append((*b)[:0], `{"jsonrpc":"2.0","id":`...)
	*b = strconv.AppendInt(*b, id, 10)
	*b = append(*b, `,"method":"tools/call","params":{"name":"greet","arguments":{"name":"gopher","count":3}}}`+"\n"...)
	_, err := f.w.Write(*b) // a pipe serializes writes
	f.bufs.Put(b)
	if err != nil {
		return err
	}
	<-done
	f.chans.Put(done)
	return nil
}

func (f *floor) read(r io.Reader) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		id, _ := strconv.ParseInt(string(between(line, `"id":`, ",")), 10, 64)
		f.mu.Lock()
		done := f.waiting[id]
		delete(f.waiting, id)
		f.mu.Unlock()
		done <- struct{}{}
	}
}

func floorServer(r io.Reader, w io.Writer) {
	br := bufio.NewReaderSize(r, 64<<10)
	var out []byte
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		if string(between(line, `"method":"`, `"`)) != "tools/call" {
			continue
		}
		out = append(out[:0], `{"jsonrpc":"2.0","id":`...)
		out = append(out, between(line, `"id":`, ",")...)
		out = append(out, `,"result":{"content":[{"type":"text","text":"Hello, greet"}]}}`+"\n"...)
		if _, err := w.Write(out); err != nil {
			return
		}
	}
}

func between(b []byte, from, to string) []byte {
	_, b, _ = bytes.Cut(b, []byte(from))
	b, _, _ = bytes.Cut(b, []byte(to))
	return b
}

// raceDetector is set if the race detector is enabled.
var raceDetector bool

func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	piped, closeAll := pipePair(t, benchOptions(), benchOptions())
	defer closeAll()
	direct, server := jsonrpc.InProcessPair(benchOptions(), benchOptions())
	defer server.Close()
	for _, budget := range []struct {
		name string
		call func() error
		max  float64
	}{
		{"both sides of a pipe", caller(piped), 24},
		{"both sides of a pipe, with a frame for the call", framed(piped), 24},
		{"in process", caller(direct), 12},
	} {
		got := testing.AllocsPerRun(1000, func() { require.NoError(t, budget.call()) })
		require.LessOrEqual(t, got, budget.max, budget.name)
	}
}
