package jsonrpc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TestRequestsAreHandledInFairOrder keeps 64 requests in flight and counts how many later requests
// are answered before each. It uses one processor: with several, the operating system may suspend
// one of them during a request.
func TestRequestsAreHandledInFairOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(sw), benchOptions())
	var reader sync.WaitGroup
	reader.Go(func() { _ = c.ReadLines(context.Background(), sr, jsonrpc.Source{}) }) // ends with the pipe
	defer func() {
		c.Close()
		cw.Close()
		cr.Close()
		reader.Wait()
	}()

	const window, all, limit = 64, 6400, 4 * 64
	in := bufio.NewReader(cr)
	overtaken := map[int]int{} // by the id of the request in flight
	for sent, answered := 0, 0; answered < all; answered++ {
		if len(overtaken) == 0 {
			sent = send(t, cw, overtaken, sent, window)
		} else if sent < all && len(overtaken) <= window/2 {
			sent = send(t, cw, overtaken, sent, window/2)
		}
		line, err := in.ReadSlice('\n')
		require.NoError(t, err)
		id, err := strconv.Atoi(string(between(line, `"id":`, ",")))
		require.NoError(t, err)
		delete(overtaken, id)
		for other := range overtaken {
			if other < id {
				overtaken[other]++
				require.LessOrEqual(t, overtaken[other], limit, "request %d is still waiting", other)
			}
		}
	}
}

// send sends n requests with one Write.
func send(t *testing.T, w io.Writer, inFlight map[int]int, sent, n int) int {
	var b []byte
	for range n {
		sent++
		inFlight[sent] = 0
		b = append(strconv.AppendInt(append(b, `{"jsonrpc":"2.0","id":`...), int64(sent), 10),
			`,"method":"tools/call","params":{"name":"gopher"}}`+"\n"...)
	}
	_, err := w.Write(b)
	require.NoError(t, err)
	return sent
}

func TestAnswering(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, own := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			<-release
			return result(`{}`)
		})})
		require.Empty(t, c.Answering())
		back := new(recorder)
		c.Deliver(t.Context(), []byte(request(1, "x")), jsonrpc.Source{Back: back})
		deliver(c, request(2, "x"), request(`"s"`, "x"), note("x"))
		require.ElementsMatch(t, []jsonrpc.Writer{back, own, own}, c.Answering())
		close(release)
		synctest.Wait()
		require.Empty(t, c.Answering())
	})
}

func TestCancellationBeforeRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, unordered := range []bool{false, true} {
			var unanswered []wire.RequestID
			c, r := newConn(t, &jsonrpc.Options{
				Unordered: unordered, Batches: func() bool { return true },
				OnUnanswered: func(id wire.RequestID) { unanswered = append(unanswered, id) },
				Handler:      handlers{"do": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }},
			})
			again := []string{request(1, "do"), `[` + request(1, "do") + `]`}
			if !unordered {
				deliver(c, cancelOne, again[0])
				require.Len(t, r.take(), 1)
				require.Empty(t, unanswered)
				continue
			}
			for _, one := range again {
				deliver(c, cancelOne, one)
				require.Empty(t, r.take())
			}
			x := wire.Message{Method: "do", ID: wire.IntID(1)}
			deliver(c, cancelOne)
			c.Deliver(t.Context(), nil, jsonrpc.Source{Message: &x})
			require.Empty(t, r.take())
			require.Equal(t, []wire.RequestID{wire.IntID(1), wire.IntID(1), wire.IntID(1)}, unanswered)
			deliver(c, request(1, "do"))
			require.Len(t, r.take(), 1, "a cancellation affects one request")
			deliver(c, cancelOne)
			overtaken := func(from, to int) {
				for id := from; id < to; id++ {
					deliver(c, strings.Replace(cancelOne, `:1,`, fmt.Sprintf(`:%d,`, id), 1))
				}
			}
			overtaken(2, 300) // more than MaxInFlight
			for id := 299; id > 0; id-- {
				deliver(c, request(id, "do"))
			}
			require.Empty(t, r.take())
			overtaken(1, 2000)
			deliver(c, request(1, "do"))
			require.Len(t, r.take(), 1, "the number of ids is limited")
			_, ok := c.CloseIdle()
			require.False(t, ok, "a request may still arrive")
			time.Sleep(5 * time.Second)
			_, ok = c.CloseIdle()
			require.True(t, ok)
		}
	})
}

func TestCancellationBeforeRequestExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Unordered: true, Handler: handlers{
			"do": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
		}})
		deliver(c, request(1, "do"))
		require.Len(t, r.take(), 1)
		deliver(c, cancelOne) // too late
		time.Sleep(5 * time.Second)
		deliver(c, request(1, "do")) // from a client that has restarted and continues the session
		require.Len(t, r.take(), 1)
		deliver(c, cancelOne)
		time.Sleep(5 * time.Second)
		deliver(c, strings.Replace(cancelOne, `:1,`, `:2,`, 1), request(1, "do"))
		require.Len(t, r.take(), 1)
		deliver(c, request(2, "do"))
		require.Empty(t, r.take())
	})
}

func TestInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone}})
		deliver(c, request(1, "wait"), request(`"b"`, "wait"))
		require.ElementsMatch(t, []wire.RequestID{wire.IntID(1), wire.StringID("b")}, c.InFlight().IDs())
		require.True(t, c.InFlight().Cancel(wire.StringID("1")))
		require.False(t, c.InFlight().Cancel(wire.IntID(5)))
		synctest.Wait()
		require.Equal(t, []wire.RequestID{wire.StringID("b")}, c.InFlight().IDs())
		require.Empty(t, r.take())
	})
}

func TestNegativeLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled, release := 0, make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{MaxMessage: -1, MaxInFlight: -1, MaxQueuedNotifications: -1, Handler: peer.HandlerFunc(
			func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				<-release
				if in.ID.IsZero() {
					handled++
				}
				return peer.Reply{Result: new(mcp.EmptyResult)}, nil
			})})
		deliver(c, `{"jsonrpc":"2.0","method":"x","params":{"a":"`+strings.Repeat("x", 5<<20)+`"}}`)
		for i := range 2000 {
			deliver(c, request(i+1, "x"), note("x"))
		}
		close(release)
		synctest.Wait()
		require.Equal(t, 2001, handled)
		require.Len(t, r.take(), 2000)
	})
}

func TestInFlightCancelBeforeRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, unordered := range []bool{false, true} {
			c, r := newConn(t, &jsonrpc.Options{
				Unordered: unordered,
				Handler:   handlers{"do": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }},
			})
			require.False(t, c.InFlight().Cancel(wire.IntID(1)))
			deliver(c, request(1, "do"))
			require.Len(t, r.take(), 1)
		}
	})
}

func TestCloseIdleAfterEarlyCancellation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, overtaken := range []bool{false, true} {
			c, r := newConn(t, &jsonrpc.Options{Unordered: true, Handler: handlers{"wait": untilDone}})
			if overtaken {
				deliver(c, cancelOne)
				time.Sleep(5*time.Second - 1)
				_, ok := c.CloseIdle()
				require.False(t, ok)
				deliver(c, request(1, "wait"))
			} else {
				deliver(c, request(1, "wait"), cancelOne)
			}
			require.Empty(t, r.take())
			_, ok := c.CloseIdle()
			require.True(t, ok)
		}
	})
}

func TestRequestIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: scene})
		ids := []string{`"a"`, `"b"`, `""`, `"01"`, `9223372036854775808`, `-0`, `-1`, `0`}
		for range 2 {
			for _, id := range ids {
				deliver(c, request(id, "wait"))
			}
			require.Empty(t, r.take())
			require.Len(t, c.InFlight().IDs(), len(ids))
			for _, id := range ids {
				deliver(c, request(id, "echo"))
				require.Contains(t, r.take()[0], "Request id is in use", id)
				deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
				synctest.Wait()
			}
			require.Empty(t, c.InFlight().IDs())
		}
	})
}

func TestPingIgnoresMaxInFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := handlers{"wait": untilDone, "ping": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }}
		c, r := newConn(t, &jsonrpc.Options{MaxInFlight: 1, Handler: h})
		deliver(c, request(1, "wait"))
		deliver(c, request(2, "wait"))
		refused := r.take()
		require.Len(t, refused, 1)
		require.Contains(t, refused[0], `"error"`)
		deliver(c, request(3, "ping"))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":3,"result":{}}`}, r.take())

		own, _ := pair(t, h, func(_, server *jsonrpc.Options) { server.MaxInFlight = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		waiting := start(func() error { return own.Call(ctx, &waitRequest{}, &raw{}) })
		require.Error(t, own.Call(t.Context(), &waitRequest{}, &raw{}))
		require.NoError(t, ping(t.Context(), own).over(t))
		cancel()
		require.Error(t, waiting.over(t))
	})
}

// waitRequest is a request of the method "wait".
type waitRequest struct{ mcp.PingRequest }

func (*waitRequest) Method() string { return "wait" }

func TestConcurrentCalls(t *testing.T) {
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

func TestBothEndsCall(t *testing.T) {
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

// A request without a response would block its sender until it times out.
func TestMaxInFlightAnswersAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone}})
		const asked = 5000
		for id := range asked {
			deliver(c, request(id, "wait"))
		}
		require.Len(t, r.take(), asked-256)
	})
}

// The peer may have read a response before WriteMessage returns.
func TestMaxInFlightAllowsWindow(t *testing.T) {
	for _, window := range []int{1, 4, 256} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			l := newLine(t, &jsonrpc.Options{MaxInFlight: window, Handler: handlers{"quick": quick}})
			const asked = 20_000
			for id := range asked + window {
				if id >= window {
					require.NotContains(t, l.receive(), "error")
				}
				if id < asked {
					l.send(request(id, "quick"))
				}
			}
		})
	}
}

// Otherwise an unlimited number of responses would wait.
func TestUnwrittenResponsesAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled, read := 0, make(chan struct{})
		var mu sync.Mutex
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"quick": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			handled++
			return quick(ctx, in)
		}}})
		r.hook = func(context.Context, string) error { <-read; return nil }
		const asked = 5000
		for id := range asked {
			deliver(c, request(id, "quick"))
			synctest.Wait()
		}
		require.Equal(t, 1024, handled)
		close(read)
		require.Len(t, r.take(), asked, "one response for each request")
	})
}

func TestMaxInFlightWithShortMaxMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{MaxMessage: 200, MaxInFlight: 1, Handler: handlers{"wait": untilDone}})
		for id := range 100 {
			deliver(c, request(id, "wait"))
		}
		require.Len(t, r.take(), 99)
	})
}

func TestLargestLimits(t *testing.T) {
	for _, none := range []int{-1, math.MaxInt} {
		bubble(t, func(t *testing.T) {
			release, noted := make(chan struct{}), 0
			c, r := newConn(t, &jsonrpc.Options{
				MaxMessage: none, MaxInFlight: none, MaxQueuedNotifications: none, OnError: func(error) {},
				Handler: handlers{
					"x": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
					"n": func(context.Context, *peer.Inbound) (peer.Reply, error) {
						<-release
						noted++
						return peer.Reply{}, nil
					},
				},
			})
			note := `{"jsonrpc":"2.0","method":"n","params":{}}` + "\n"
			in := strings.NewReader(strings.Repeat(note, 5) + `{"jsonrpc":"2.0","id":7,"method":"x"}` + "\n")
			require.NoError(t, c.ReadLines(t.Context(), in, jsonrpc.Source{}))
			require.Equal(t, []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, r.take())
			close(release)
			require.NoError(t, c.Drain(t.Context()))
			synctest.Wait()
			require.Equal(t, 5, noted)
		})
	}
}

// Each handler waits until the last handler has been called.
func TestRequestsDoNotWaitForHandlers(t *testing.T) {
	for _, most := range []int{1, 2, 200} {
		bubble(t, func(t *testing.T) {
			var all sync.WaitGroup
			c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"meet": func(context.Context, *peer.Inbound) (peer.Reply, error) {
				all.Done()
				all.Wait()
				return peer.Reply{Result: &mcp.EmptyResult{}}, nil
			}}})
			for round := range 3 { // later rounds use idle workers
				all.Add(most)
				for id := range most {
					deliver(c, request(1000*round+id, "meet"))
				}
				all.Wait()
				require.Len(t, r.take(), most)
			}
		})
	}
}

// A handler that ends its goroutine does not affect waiting requests.
func TestWorkerEndsGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that all requests wait when the first is handled
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"exit": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			runtime.Goexit()
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		}}})
		const asked = 100
		for id := range asked {
			deliver(c, request(id, "exit"))
		}
		require.Len(t, r.take(), asked)
	})
}

func TestWaitingRequestsAnsweredOnClose(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{"wait": untilDone}})
		const asked = 100
		for id := range asked {
			deliver(c, request(id, "wait"))
		}
		require.NoError(t, c.Close())
		require.Len(t, r.take(), asked)
	})
}
