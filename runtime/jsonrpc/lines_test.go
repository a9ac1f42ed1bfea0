package jsonrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/stretchr/testify/require"
)

func TestLinesAreReadWhateverTheyLookLike(t *testing.T) {
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
					request(5, "echo"), // and no line feed at the end
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

func TestReadingEndsWithTheStreamTheContextOrTheConnection(t *testing.T) {
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

// slowWriter writes one piece whenever it is told to.
type slowWriter struct {
	next   chan error
	mu     sync.Mutex
	pieces []string
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if err := <-w.next; err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pieces = append(w.pieces, string(p))
	return len(p), nil
}

func TestMessagesThatWaitGoOutTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		l := jsonrpc.NewLineWriter(w)
		first := start(func() error { return l.WriteMessage(context.Background(), []byte("a")) })
		require.False(t, first.isOver(), "it writes by itself")
		for _, m := range []string{"b", "c", "d"} {
			require.NoError(t, l.WriteMessage(t.Context(), []byte(m)))
		}
		w.next <- nil
		w.next <- nil
		require.NoError(t, first.over(t))
		require.NoError(t, l.Flush(t.Context()))
		require.Equal(t, []string{"a\n", "b\nc\nd\n"}, w.pieces)
		require.ErrorIs(t, l.WriteMessage(t.Context(), []byte("two\nlines")), jsonrpc.ErrNotWritten)
	})
}

func TestNobodyWritesForTheOthersForever(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		l := jsonrpc.NewLineWriter(w)
		first := start(func() error { return l.WriteMessage(context.Background(), []byte("a")) })
		for range 10 {
			require.NoError(t, l.WriteMessage(t.Context(), []byte("b")))
			w.next <- nil
			synctest.Wait()
		}
		require.NoError(t, first.over(t))
		close(w.next)
		require.NoError(t, l.Flush(t.Context()))
	})
}

func TestSendersWaitWhenTooMuchDoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		l := jsonrpc.NewLineWriter(w)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, l.WriteMessage(ctx, []byte("a")))
		synctest.Wait()
		require.NoError(t, l.WriteMessage(ctx, bytes.Repeat([]byte("b"), 1<<20)))
		one := start(func() error { return l.WriteMessage(ctx, []byte("c")) })
		require.False(t, one.isOver())
		cancel()
		require.ErrorIs(t, one.over(t), jsonrpc.ErrNotWritten)
		require.ErrorIs(t, one.err, context.Canceled)
		require.ErrorIs(t, l.Flush(ctx), context.Canceled)
		two := start(func() error { return l.WriteMessage(t.Context(), []byte("d")) })
		w.next <- nil
		require.NoError(t, two.over(t))
		w.next <- nil
		w.next <- nil
		synctest.Wait()
		require.Equal(t, "d\n", w.pieces[2])
	})
}

func TestABrokenStreamFailsTheCallsThatWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		c := jsonrpc.New(jsonrpc.NewLineWriter(w), nil)
		defer c.Close()
		calls := []*call{ping(t.Context(), c), ping(t.Context(), c)}
		w.next <- io.ErrClosedPipe
		for _, call := range append(calls, ping(t.Context(), c)) {
			var closed *peer.ClosedError
			require.ErrorAs(t, call.over(t), &closed)
			require.ErrorIs(t, closed, io.ErrClosedPipe)
		}
		other := jsonrpc.New(jsonrpc.NewLineWriter(brokenWriter{}), nil)
		defer other.Close()
		require.ErrorIs(t, ping(context.Background(), other).over(t), errBroken)
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestADeadPipeFailsCallsAtOnceAndAStuckOneDoesNotHoldTheEndUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, w := io.Pipe() // nobody reads
		c := jsonrpc.New(jsonrpc.NewLineWriter(w), &jsonrpc.Options{Handler: scene})
		ctx, cancel := context.WithCancel(t.Context())
		one := ping(ctx, c)
		cancel()
		require.ErrorIs(t, one.over(t), context.Canceled)
		deliver(c, request(1, "wait"), request(2, "echo"))
		begun := time.Now()
		c.Shutdown(t.Context(), nil)
		require.Equal(t, time.Second, time.Since(begun))
		w.Close()
	})
}

func TestWhatWasWrittenBeforeTheEndGoesOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error, 10)}
		c := jsonrpc.New(jsonrpc.NewLineWriter(w), &jsonrpc.Options{Handler: scene})
		deliver(c, request(1, "wait"), request(2, "echo"))
		synctest.Wait()
		time.AfterFunc(time.Second/2, func() { close(w.next) })
		c.Shutdown(t.Context(), nil)
		require.Equal(t, fmt.Sprintf(emptyOne, 2)+"\n"+fmt.Sprintf(closedOne, 1)+"\n", strings.Join(w.pieces, ""))
	})
}

func TestTenThousandCallsAtOnce(t *testing.T) {
	const many = 10_000
	opts := &jsonrpc.Options{MaxInFlight: many, Handler: greeter{}}
	c, closeAll := pipePair(t, opts, opts)
	defer closeAll()
	var wg sync.WaitGroup
	errs := make(chan error, many)
	for range many {
		wg.Go(func() { errs <- caller(c)() })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

func TestBothEndsMayCallEachOtherAtOnce(t *testing.T) {
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	var ends [2]*jsonrpc.Conn
	handler := func(i int) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == "tools/call" {
				if err := ping2(ctx, in.Back); err != nil {
					return peer.Reply{}, err
				}
				return greeter{}.Handle(ctx, in)
			}
			return result(`{}`)
		})
	}
	ends[0] = jsonrpc.New(jsonrpc.NewLineWriter(cw), &jsonrpc.Options{Handler: handler(0)})
	ends[1] = jsonrpc.New(jsonrpc.NewLineWriter(sw), &jsonrpc.Options{Handler: handler(1)})
	var readers, callers sync.WaitGroup
	readers.Go(func() { _ = ends[0].ReadLines(t.Context(), cr, jsonrpc.Source{}) })
	readers.Go(func() { _ = ends[1].ReadLines(t.Context(), sr, jsonrpc.Source{}) })
	errs := make(chan error, 100)
	for i := range 20 {
		callers.Go(func() {
			for range 50 {
				if err := callerIn(t.Context(), ends[i%2])(); err != nil {
					errs <- err
				}
			}
		})
	}
	callers.Wait()
	require.Empty(t, errs)
	for _, p := range []io.Closer{cw, sw} {
		p.Close()
	}
	readers.Wait()
	ends[0].Close()
	ends[1].Close()
}

func ping2(ctx context.Context, out peer.Outbound) error {
	err := out.Call(ctx, &pingRequest, &raw{})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// endless is a line that does not end before so many bytes have been read.
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

func TestALineWithoutEndTakesNoMemory(t *testing.T) {
	var reported []error
	c, _ := newConn(t, &jsonrpc.Options{Client: true, MaxMessage: 100 << 10, OnError: func(err error) { reported = append(reported, err) }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, c.ReadLines(t.Context(), &endless{64 << 20}, jsonrpc.Source{}))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
	require.Len(t, reported, 1, "also where it ends with the stream")
}
