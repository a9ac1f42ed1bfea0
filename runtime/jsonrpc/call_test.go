package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestCallResponsesInAnyOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		var calls []*call
		for range 3 {
			calls = append(calls, start(func() error {
				return c.Call(t.Context(), &mcp.PingRequest{}, &raw{})
			}))
		}
		require.Len(t, r.take(), 3)
		for i := 3; i > 0; i-- {
			deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":"no"}}`, i, i))
		}
		for i, call := range calls {
			var e *peer.Error
			require.ErrorAs(t, call.over(t), &e)
			require.EqualValues(t, i+1, e.Code)
		}
	})
}

func TestCallResponseWithIDAsString(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		one, two := ping(t.Context(), c), ping(t.Context(), c)
		word := ping(t.Context(), c, peer.WithID(wire.StringID("word")))
		require.Equal(t, []string{fmt.Sprintf(pinged, 1), fmt.Sprintf(pinged, 2), fmt.Sprintf(pinged, `"word"`)}, r.take())
		deliver(c, `{"jsonrpc":"2.0","id":"1","result":{}}`)
		require.NoError(t, one.over(t))
		deliver(c, `{"jsonrpc":"2.0","id":"2","error":{"code":1,"message":"no"}}`)
		require.Error(t, two.over(t))
		deliver(c, `{"jsonrpc":"2.0","id":"wor","result":{}}`)
		require.False(t, word.isOver())
		deliver(c, `{"jsonrpc":"2.0","id":"word","result":{}}`)
		require.NoError(t, word.over(t))
	})
}

func TestCallWithChosenID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		seven := ping(t.Context(), c, peer.WithID(wire.StringID("7")))
		require.Equal(t, []string{fmt.Sprintf(pinged, `"7"`)}, r.take())

		var inUse *jsonrpc.IDInUseError
		require.ErrorAs(t, ping(t.Context(), c, peer.WithID(wire.IntID(7))).over(t), &inUse)
		require.EqualError(t, inUse, `send "ping": request id 7 is in use`)
		require.Empty(t, r.take())

		for range 7 {
			ping(t.Context(), c)
		}
		require.Equal(t, fmt.Sprintf(pinged, 8), r.take()[6], "the id 7 is skipped")

		deliver(c, `{"jsonrpc":"2.0","id":"7","result":{}}`)
		require.NoError(t, seven.over(t))
		again := ping(t.Context(), c, peer.WithID(wire.IntID(7)))
		deliver(c, `{"jsonrpc":"2.0","id":7,"result":{}}`)
		require.NoError(t, again.over(t))
		c.Close()
	})
}

func TestCallUnreadableResponse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		for i, answer := range []string{`"result":7`, `"result":{"a":1,"a":2}`, `"result":{},"error":{"code":1,"message":"x"}`} {
			call := ping(t.Context(), c)
			deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, answer))
			var bad *wire.DecodeError
			require.ErrorAs(t, call.over(t), &bad, answer)
			require.Nil(t, peer.AsError(call.err), "a local error has no code")
		}
		call := start(func() error { return c.Call(t.Context(), &mcp.PingRequest{}, new(mcp.InitializeResult)) })
		deliver(c, `{"jsonrpc":"2.0","id":4,"result":{}}`)
		require.ErrorContains(t, call.over(t), `response to "ping": decode: missing members`)
	})
}

func TestCallProgressOnlyBeforeReturn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		var reports []float64
		report := func(p peer.Progress) {
			if p.Progress == 1 {
				panic("callback")
			}
			reports = append(reports, p.Progress)
			if p.Progress == 2 {
				require.NoError(t, c.Notify(t.Context(), &changed{}), "callbacks may use the connection")
			}
		}
		call := ping(t.Context(), c, peer.OnProgress(report))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1}}}`}, r.take())
		deliver(c,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":2,"total":5,"message":"x"}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":true,"progress":2.5}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":3}}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":4}}`)
		require.NoError(t, call.over(t))
		require.Equal(t, []float64{2, 3}, reports)
	})
}

func TestCallProgressByToken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Timeout: 10 * time.Second})
		reports := make([][]float64, 2)
		var calls []*call
		for i := range reports {
			calls = append(calls, ping(t.Context(), c, peer.OnProgress(func(p peer.Progress) { reports[i] = append(reports[i], p.Progress) })))
		}
		silent := ping(t.Context(), c)
		time.Sleep(8 * time.Second)
		for token := range 5 { // 3 is the id of the call without callback; no call has the ids 0 and 4
			deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, token, token))
		}
		synctest.Wait()
		require.False(t, silent.isOver())
		time.Sleep(2 * time.Second)
		require.Error(t, silent.over(t), "reports without a callback do not restart the timeout")
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		for _, call := range calls {
			require.NoError(t, call.over(t))
		}
		require.Equal(t, [][]float64{{1}, {2}}, reports)
	})
}

func TestExtendTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Timeout: 10 * time.Second})
		extended, silent := ping(t.Context(), c), ping(t.Context(), c)
		time.Sleep(8 * time.Second)
		for _, id := range []wire.RequestID{wire.IntID(1), wire.IntID(3), wire.StringID("2")} {
			c.ExtendTimeout(id)
		}
		time.Sleep(2 * time.Second)
		require.Error(t, silent.over(t))
		require.False(t, extended.isOver())
		time.Sleep(8 * time.Second)
		require.Error(t, extended.over(t))
	})
}

func TestCallProgressTokensDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, out := newConn(t, nil)
		for range 2 {
			ping(t.Context(), c, peer.OnProgress(func(peer.Progress) {}))
		}
		lines := out.take()
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], `"progressToken":1`)
		require.Contains(t, lines[1], `"progressToken":2`)
	})
}

func TestCallLimitsQueuedProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		var reports []float64
		var gate = make(chan struct{})
		call := ping(t.Context(), c, peer.OnProgress(func(p peer.Progress) {
			<-gate
			reports = append(reports, p.Progress)
		}))
		for i := range 2000 {
			deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i))
		}
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		close(gate)
		require.NoError(t, call.over(t))
		require.Less(t, len(reports), 1000)
		require.EqualValues(t, 1999, reports[len(reports)-1])
		require.True(t, slices.IsSorted(reports))
	})
}

func TestCallTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Timeout: 10 * time.Second})
		begun := time.Now()
		call := ping(t.Context(), c)
		time.Sleep(10 * time.Second)
		var late *peer.TimeoutError
		require.ErrorAs(t, call.over(t), &late)
		require.Equal(t, 10*time.Second, late.After)
		require.Nil(t, peer.AsError(call.err))
		require.Equal(t, 10*time.Second, time.Since(begun))
		require.Equal(t, []string{fmt.Sprintf(pinged, 1), cancelled(1)}, r.take())

		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`) // too late
		again := ping(t.Context(), c)
		deliver(c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, again.over(t))
	})
}

func TestCallTimeoutZero(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		var late *peer.TimeoutError
		require.ErrorAs(t, ping(t.Context(), c, peer.WithTimeout(0)).over(t), &late)
		require.Equal(t, []string{fmt.Sprintf(pinged, 1), cancelled(1)}, r.take())
	})
}

func TestCallProgressRestartsTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Timeout: 10 * time.Second, MaxTimeout: 35 * time.Second})
		begun := time.Now()
		call := ping(t.Context(), c, peer.OnProgress(func(peer.Progress) {}))
		for i := range 4 {
			time.Sleep(8 * time.Second)
			require.False(t, call.isOver())
			deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i))
		}
		<-call.done
		require.Equal(t, 35*time.Second, time.Since(begun))

		begun = time.Now()
		call = ping(t.Context(), c, peer.OnProgress(func(peer.Progress) {}))
		time.Sleep(8 * time.Second)
		deliver(c, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}`)
		<-call.done
		require.Equal(t, 18*time.Second, time.Since(begun))
	})
}

func TestCallTimeoutLongerThanMaximum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		hour := ping(t.Context(), c, peer.WithTimeout(time.Hour))
		forever := ping(t.Context(), c, peer.WithTimeout(-1))
		time.Sleep(time.Hour - time.Nanosecond)
		require.False(t, hour.isOver())
		time.Sleep(time.Nanosecond)
		require.Error(t, hour.over(t))
		time.Sleep(24 * time.Hour)
		require.False(t, forever.isOver())
		deliver(c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, forever.over(t))
	})
}

// TestCallSendsCancelNotification tests all cases in which a caller stops waiting.
func TestCallSendsCancelNotification(t *testing.T) {
	type when int
	const (
		before when = iota // before the call
		during             // the Writer has begun to write
		queued             // the Writer has not begun to write
		after
	)
	for _, tt := range []struct {
		name    string
		when    when
		timeout bool
		method  string
		opts    []peer.CallOption
		sent    bool // the cancellation
	}{
		{"cancelled before", before, false, "ping", nil, false},
		{"cancelled in the queue", queued, false, "ping", nil, false},
		{"cancelled while writing", during, false, "ping", nil, true},
		{"cancelled while waiting", after, false, "ping", nil, true},
		{"timed out", after, true, "ping", nil, true},
		{"cancelled while writing, without notification", during, false, "ping", []peer.CallOption{peer.WithoutCancelNotification()}, false},
		{"cancelled while waiting, without notification", after, false, "ping", []peer.CallOption{peer.WithoutCancelNotification()}, false},
		{"timed out, without notification", after, true, "ping", []peer.CallOption{peer.WithoutCancelNotification()}, false},
		{"cancelled initialize", after, false, "initialize", nil, false},
		{"timed out initialize", after, true, "initialize", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				c, r := newConn(t, nil)
				r.hook = func(ctx context.Context, line string) error {
					if strings.Contains(line, "notifications/cancelled") || tt.when == after {
						return nil
					}
					<-ctx.Done()
					if tt.when == queued {
						return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, ctx.Err())
					}
					return ctx.Err()
				}
				if tt.when == before {
					cancel(errBroken)
				}
				call := start(func() error {
					var req peer.Message = &mcp.PingRequest{}
					if tt.method == "initialize" {
						req = &mcp.InitializeRequest{ProtocolVersion: "2025-11-25"}
					}
					return c.Call(ctx, req, &raw{}, tt.opts...)
				})
				if tt.timeout {
					time.Sleep(time.Minute)
				} else {
					cancel(errBroken)
				}
				err := call.over(t)
				if tt.timeout {
					var late *peer.TimeoutError
					require.ErrorAs(t, err, &late)
				} else {
					require.ErrorIs(t, err, context.Canceled)
					require.ErrorIs(t, err, errBroken, "the error wraps the cause")
				}
				wrote := slices.DeleteFunc(r.take(), func(l string) bool { return !strings.Contains(l, "notifications/cancelled") })
				require.Equal(t, tt.sent, len(wrote) == 1, wrote)
				cancel(nil)
				deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`) // no call waits for it
			})
		})
	}
}

func TestCancelNotificationUsesBackChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		back := new(recorder)
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{
			"ask": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{}, peer.WithTimeout(time.Second))
				require.Error(t, err)
				return result(`{}`)
			},
		}})
		c.Deliver(t.Context(), []byte(`{"jsonrpc":"2.0","id":"a","method":"ask"}`), jsonrpc.Source{Back: back})
		time.Sleep(time.Second)
		require.Equal(t, []string{fmt.Sprintf(pinged, 1), cancelled(1), `{"jsonrpc":"2.0","id":"a","result":{}}`}, back.take())
		require.Empty(t, r.take())
	})
}

func TestBlockedWriterDelaysCallersBriefly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		log, output := logs()
		c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: handlers{"wait": untilDone}})
		cancelledCall, timedOut := ping(ctx, c), ping(t.Context(), c)
		deliver(c, `{"jsonrpc":"2.0","id":1,"method":"wait"}`)
		r.hook = stuck
		begun := time.Now()
		cancel()
		<-cancelledCall.done
		require.Equal(t, 5*time.Second, time.Since(begun))
		<-timedOut.done
		require.Equal(t, 65*time.Second, time.Since(begun))
		require.Contains(t, output.String(), "cancellation of a request not sent")

		begun = time.Now()
		c.Shutdown(t.Context(), nil)
		require.Equal(t, time.Second, time.Since(begun))
	})
}

func TestCallWriterError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		r.hook = func(context.Context, string) error { return os.ErrDeadlineExceeded }
		err := ping(t.Context(), c, peer.WithTimeout(time.Hour)).over(t)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var late *peer.TimeoutError
		require.False(t, errors.As(err, &late))
		require.NoError(t, c.Notify(t.Context(), &changed{}), "Notify does not return errors of the channel")
		r.hook = nil
		require.Empty(t, r.take(), "a request that was not sent is not cancelled")
	})
}

func TestEncodingOfEmptyParams(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		ping(t.Context(), c)
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		require.Equal(t, []string{fmt.Sprintf(pinged, 1), `{"jsonrpc":"2.0","method":"notifications/initialized"}`}, r.take())
		c.Close()
	})
}

func TestOptionsFrame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Frame: func(method string) *wire.Frame {
			return &wire.Frame{Revision: mcp.Revision20241105, Meta: []wire.Entry{
				{Name: "progressToken", Value: []byte(`"mine"`)}, {Name: "x", Value: []byte(`"` + method + `"`)},
			}}
		}})
		var res *mcp.CallToolResult
		call := start(func() (err error) {
			res, err = peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "a"}, peer.OnProgress(func(peer.Progress) {}))
			return err
		})
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"x":"tools/call","progressToken":1}}}`}, r.take())
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":7}}`)
		require.NoError(t, call.over(t))
		require.Contains(t, res.Extra, "structuredContent", "a member that the revision does not define")

		require.Error(t, c.Notify(t.Context(), &changed{raw{[]byte(`{`)}}), "invalid params")
		require.Error(t, start(func() error { return c.Call(t.Context(), (*mcp.CallToolRequest)(nil), &raw{}) }).over(t))
	})
}

func TestCallOptionFrame(t *testing.T) {
	named := func(name string) peer.CallOption {
		return peer.WithFrame(&wire.Frame{Revision: mcp.Revision20241105, Meta: []wire.Entry{{Name: "x", Value: []byte(`"` + name + `"`)}}})
	}
	note := &mcp.LoggingMessageNotification{Level: "info", Data: []byte("1")}
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{
			Frame: func(string) *wire.Frame { return &wire.Frame{Revision: mcp.Revision20251125} },
			Handler: handlers{"echo": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if err := in.Back.Notify(ctx, note, named("c")); err != nil {
					return peer.Reply{}, err
				}
				return result(`{}`)
			}},
		})
		var res *mcp.CallToolResult
		call := start(func() (err error) {
			res, err = peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "a"}, named("a"), peer.OnProgress(func(peer.Progress) {}))
			return err
		})
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"x":"a","progressToken":1}}}`}, r.take())
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":7}}`)
		require.NoError(t, call.over(t))
		require.Contains(t, res.Extra, "structuredContent", "its revision does not define the member")

		require.NoError(t, c.Notify(t.Context(), note, named("b")))
		deliver(c, `{"jsonrpc":"2.0","id":1,"method":"echo"}`)
		require.Equal(t, []string{
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1,"level":"info","_meta":{"x":"b"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1,"level":"info","_meta":{"x":"c"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
		}, r.take())
	})
}

func TestCallAfterCallbackEndedGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		call := ping(t.Context(), c, peer.OnProgress(func(peer.Progress) { runtime.Goexit() }))
		deliver(c, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		synctest.Wait()
		<-call.done
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		again := ping(t.Context(), c)
		deliver(c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, again.over(t))
		_, ok := c.CloseIdle()
		require.True(t, ok)
	})
}

func TestCallTimeoutsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		first := ping(t.Context(), c, peer.WithTimeout(10*time.Second))
		second := ping(t.Context(), c, peer.WithTimeout(30*time.Second))
		third := ping(t.Context(), c, peer.WithTimeout(5*time.Second))
		for _, call := range []*call{third, first} {
			time.Sleep(5 * time.Second)
			require.ErrorAs(t, call.over(t), new(*peer.TimeoutError))
		}
		time.Sleep(20*time.Second - time.Nanosecond)
		require.False(t, second.isOver())
		time.Sleep(time.Nanosecond)
		require.ErrorAs(t, second.over(t), new(*peer.TimeoutError))
	})
}

func TestCallPrefersResponseOverCancellation(t *testing.T) {
	for range 50 {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c, r := newConn(t, nil)
			call := ping(ctx, c)
			deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			cancel()
			require.NoError(t, call.over(t))
			require.Len(t, r.take(), 1, "a call that was answered is not cancelled")
		})
	}
}

func TestNotifyAfterEndOfContextOrConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, c.Notify(ctx, &changed{}))
		require.Empty(t, r.take(), "the context has ended")
		c.Close()
		require.NoError(t, c.Notify(t.Context(), &changed{}))
		require.False(t, c.TryNotify(&changed{}, nil))
		require.Empty(t, r.take(), "the connection is closed")
	})
}

func TestCallsAreRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var calls []*call
		for i := range 1000 {
			of := ctx
			if i%2 == 0 {
				of = t.Context()
			}
			calls = append(calls, ping(of, c))
		}
		cancel()
		r.take()
		for id := range 1000 {
			deliver(c, fmt.Sprintf(emptyOne, id+1)) // half of them are too late
		}
		for i, call := range calls {
			require.Equal(t, i%2 == 0, call.over(t) == nil)
		}
		r.hook = func(context.Context, string) error { return errBroken }
		require.ErrorIs(t, ping(t.Context(), c).over(t), errBroken)
		last, ok := c.CloseIdle()
		require.True(t, ok)
		require.EqualValues(t, 1001, last)
	})
}

func TestCallWithoutResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		call := start(func() error { return c.Call(t.Context(), &mcp.PingRequest{}, nil) })
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`)
		require.NoError(t, call.over(t))
	})
}

func TestCallWriterClosed(t *testing.T) {
	for _, gone := range []error{jsonrpc.ErrClosed, io.ErrClosedPipe, os.ErrClosed, net.ErrClosed, syscall.EPIPE} {
		bubble(t, func(t *testing.T) {
			c, r := newConn(t, nil)
			r.hook = func(context.Context, string) error { return fmt.Errorf("write: %w", gone) }
			var closed *peer.ClosedError
			err := ping(t.Context(), c).over(t)
			require.ErrorAs(t, err, &closed, "%v", gone)
			require.ErrorIs(t, err, gone)
			require.False(t, closed.Unsent, "part of it may have been written")

			r.hook = func(context.Context, string) error { return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, gone) }
			require.ErrorAs(t, ping(t.Context(), c).over(t), &closed)
			require.True(t, closed.Unsent)
		})
	}
}

func TestCallTimeoutStartsAfterWriting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Timeout: 10 * time.Second})
		r.hook = func(_ context.Context, line string) error {
			if !strings.Contains(line, "notifications/cancelled") {
				time.Sleep(30 * time.Second) // a slow transport
			}
			return nil
		}
		begun := time.Now()
		call := ping(t.Context(), c)
		<-call.done
		require.Equal(t, 40*time.Second, time.Since(begun))
		late, ok := errors.AsType[*peer.TimeoutError](call.err)
		require.True(t, ok, "%v", call.err)
		require.Equal(t, 10*time.Second, late.After)
	})
}

func TestCallRefusesInvalidID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		direct, _ := pair(t, peer.HandlerFunc(untilDone))
		for id, want := range map[string]string{
			strings.Repeat("x", 127): "longer than 128 bytes", // with its quotes
			"\xff":                   "id changes when it is encoded and decoded",
		} {
			for _, out := range []peer.Outbound{c, direct} {
				require.ErrorContains(t, ping(t.Context(), out, peer.WithID(wire.StringID(id))).over(t), want)
			}
		}
		require.Empty(t, r.take())
		longest := ping(t.Context(), c, peer.WithID(wire.StringID(strings.Repeat("x", 126))))
		deliver(c, fmt.Sprintf(emptyOne, `"`+strings.Repeat("x", 126)+`"`))
		require.NoError(t, longest.over(t))
	})
}

func TestCallProgressWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil)
		var reports []float64
		call := ping(t.Context(), c, peer.OnProgress(func(p peer.Progress) { reports = append(reports, p.Progress) }))
		for i := range 3 {
			deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":{},"progressToken":1,"more":[],"progress":%d}}`, i))
			synctest.Wait()
			require.Len(t, reports, i+1)
		}
		require.False(t, call.isOver())
		deliver(c, fmt.Sprintf(emptyOne, 1))
		require.NoError(t, call.over(t))
	})
}

func TestClientTimeoutSuspendedDuringQuestions(t *testing.T) {
	for _, client := range []bool{true, false} {
		t.Run(fmt.Sprint("client: ", client), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				answer := make(chan struct{})
				c, _ := newConn(t, &jsonrpc.Options{Client: client, Timeout: 10 * time.Second, MaxTimeout: time.Minute, Handler: peer.HandlerFunc(
					func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
						if in.Method == "ask" {
							<-answer
						}
						return peer.Reply{Result: &mcp.EmptyResult{}}, nil
					})})
				ask := func(id int) { deliver(c, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ask"}`, id)) }
				begun, forever := time.Now(), ping(t.Context(), c, peer.WithTimeout(-1))
				call := ping(t.Context(), c)
				time.Sleep(5 * time.Second)
				ask(1)
				time.Sleep(20 * time.Second)
				answer <- struct{}{}
				require.Equal(t, client, !call.isOver())
				time.Sleep(5 * time.Second)
				deliver(c, `{"jsonrpc":"2.0","id":2,"method":"ping"}`) // a ping is no question
				<-call.done
				if client {
					require.Equal(t, 35*time.Second, time.Since(begun))
				}

				begun, call = time.Now(), ping(t.Context(), c)
				late := ping(t.Context(), c, peer.WithTimeout(0))
				ask(3)
				require.Error(t, late.over(t))
				<-call.done
				if client {
					require.Equal(t, time.Minute, time.Since(begun), "the maximum")
				}
				answer <- struct{}{}
				require.False(t, forever.isOver())
			})
		})
	}
}

func TestWithMaxTimeout(t *testing.T) {
	for _, tt := range []struct {
		name             string
		timeout, maximum time.Duration
		own              []peer.CallOption
		want             time.Duration // 0 is no limit
	}{
		{"by default", 0, 0, nil, 10 * time.Minute},
		{"without a maximum", 0, -1, nil, 0},
		{"without a timeout", -1, 0, nil, 0},
		{"with its own timeout", 0, 0, []peer.CallOption{peer.WithTimeout(time.Second)}, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, _ := newConn(t, &jsonrpc.Options{Timeout: tt.timeout, MaxTimeout: tt.maximum})
				begun, call := time.Now(), ping(t.Context(), c, append(tt.own, peer.WithMaxTimeout())...)
				if tt.want == 0 {
					time.Sleep(24 * time.Hour)
					require.False(t, call.isOver())
					deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
				}
				<-call.done
				if tt.want > 0 {
					require.Equal(t, tt.want, time.Since(begun))
				}
			})
		})
	}
}

func TestFailCall(t *testing.T) {
	noResponse := errors.New("no response")
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		one, two := ping(t.Context(), c), ping(t.Context(), c)
		require.Len(t, r.take(), 2)
		require.False(t, c.FailCall(wire.StringID("1"), noResponse), "FailCall does not convert ids")
		require.True(t, c.FailCall(wire.IntID(1), noResponse))
		require.False(t, c.FailCall(wire.IntID(1), noResponse))
		err := one.over(t)
		require.ErrorIs(t, err, noResponse)
		require.ErrorContains(t, err, `send "ping": `)
		require.False(t, two.isOver())
		require.Empty(t, r.take(), "no cancellation is sent")
		deliver(c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, two.over(t))
	})
}
