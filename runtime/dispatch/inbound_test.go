package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/dispatch"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/stretchr/testify/require"
)

const (
	cancelOne = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`
	closedOne = `{"jsonrpc":"2.0","id":%v,"error":{"code":-32603,"message":"Connection closed"}}`
	emptyOne  = `{"jsonrpc":"2.0","id":%v,"result":{}}`
)

func request(id any, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q}`, id, method)
}

func note(method string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method) }

func TestWhatBelongsToACancelledRequestIsNeverSent(t *testing.T) {
	for name, end := range map[string]func(context.Context) (peer.Reply, error){
		"with the cause": func(ctx context.Context) (peer.Reply, error) { return peer.Reply{}, context.Cause(ctx) },
		"with a result":  func(context.Context) (peer.Reply, error) { return result(`{}`) },
		"with an error":  func(context.Context) (peer.Reply, error) { return peer.Reply{}, errBroken },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log, said := logs()
				var unanswered []wire.RequestID
				var back error
				c, r := newConn(t, &dispatch.Options{
					Logger:     log,
					Unanswered: func(id wire.RequestID) { unanswered = append(unanswered, id); panic("a hook that fails") },
					Handler: handlers{"wait": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
						<-ctx.Done()
						still := context.WithoutCancel(ctx)
						require.NoError(t, in.Back.Notify(still, &changed{}))
						require.NoError(t, in.Back.Progress(still, peer.Progress{Done: 1}))
						_, back = peer.SendRequest(still, in.Back, &mcp.PingRequest{})
						var why *dispatch.CancelledError
						require.ErrorAs(t, context.Cause(ctx), &why)
						require.Equal(t, "enough", why.Reason)
						return end(ctx)
					}},
				})
				deliver(c, `{"jsonrpc":"2.0","id":1,"method":"wait","params":{"_meta":{"progressToken":1}}}`, cancelOne, cancelOne)
				require.Empty(t, r.take())
				var none *peer.NoBackChannelError
				require.ErrorAs(t, back, &none)
				require.Equal(t, []wire.RequestID{wire.IntID(1)}, unanswered)
				require.Equal(t, name == "with an error", strings.Contains(said.String(), "broken"))
			})
		})
	}
}

func TestWhatACancelledHandlerAskedIsTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{Handler: handlers{
			"ask": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
				return peer.Reply{}, err
			},
		}})
		deliver(c, request(1, "ask"))
		require.Equal(t, []string{fmt.Sprintf(pinged, 1)}, r.take())
		deliver(c, cancelOne)
		require.Equal(t, []string{cancelled(1)}, r.take())
	})
}

func TestTheTableOfRequestsListsAndCancels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{Handler: handlers{"wait": untilDone}})
		deliver(c, request(1, "wait"), request(`"b"`, "wait"))
		require.ElementsMatch(t, []wire.RequestID{wire.IntID(1), wire.StringID("b")}, c.InFlight().IDs())
		require.True(t, c.InFlight().Cancel(wire.StringID("1")))
		require.False(t, c.InFlight().Cancel(wire.IntID(5)))
		synctest.Wait()
		require.Equal(t, []wire.RequestID{wire.StringID("b")}, c.InFlight().IDs())
		require.Empty(t, r.take())
	})
}

func TestTheEndOfTheConnectionAnswersWhatRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var cause error
		release := make(chan struct{})
		c, r := newConn(t, &dispatch.Options{Handler: handlers{
			"wait": func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return result(`{"too":"late"}`)
			},
			"quick": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
		}})
		r.hook = func(_ context.Context, line string) error {
			if strings.Contains(line, `"id":2`) {
				<-release
			}
			return nil
		}
		deliver(c, request(1, "wait"), request(2, "quick"), request(3, "wait"),
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		synctest.Wait()
		down := start(func() error { c.Shutdown(t.Context(), errBroken); return nil })
		require.Equal(t, []string{fmt.Sprintf(closedOne, 1)}, r.take(), "one answer, and none for the cancelled")
		require.False(t, down.isOver(), "it waits for the answer that is being written")
		close(release)
		require.NoError(t, down.over(t))
		require.ErrorIs(t, cause, dispatch.ErrClosed)
		require.ErrorIs(t, cause, errBroken)
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 2)}, r.take(), "and it gets no second one")
	})
}

func TestTheEndDoesNotWaitForeverForAHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, _ := newConn(t, &dispatch.Options{Handler: handlers{"deaf": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			<-release
			return result(`{}`)
		}}})
		deliver(c, request(1, "deaf"))
		begun := time.Now()
		require.NoError(t, c.Close())
		require.Equal(t, 5*time.Second, time.Since(begun))
		close(release)
	})
}

func TestRequestsRunAtOnceAndNotificationsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var order []string
		release := make(chan struct{})
		c, r := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.ID.IsZero() {
				order = append(order, in.Method) // the race detector watches
				if in.Method == "first" {
					<-release
				}
			} else if in.Method == "slow" {
				<-release
			}
			return result(`{}`)
		})})
		deliver(c, request(1, "slow"), note("first"), note("second"), request(2, "quick"), note("third"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 2)}, r.take())
		close(release)
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take())
		require.Equal(t, []string{"first", "second", "third"}, order)
	})
}

func TestANotificationsHandlerMayCallItsPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var err error
		var seen []string
		c, r := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if seen = append(seen, in.Method); in.Method == "ask" {
				_, err = peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
			}
			return peer.Reply{}, err
		})})
		deliver(c, note("ask"), note("other"))
		require.Equal(t, []string{fmt.Sprintf(pinged, 1)}, r.take())
		deliver(c, fmt.Sprintf(emptyOne, 1))
		synctest.Wait()
		require.NoError(t, err)
		require.Equal(t, []string{"ask", "other"}, seen)
	})
}

func TestInitializeIsAnsweredBeforeAnythingElseIsLookedAt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ready := false
		c, r := newConn(t, &dispatch.Options{Handler: handlers{
			"initialize": func(context.Context, *peer.Inbound) (peer.Reply, error) {
				time.Sleep(time.Second)
				ready = true
				return result(`{}`)
			},
			"next": func(context.Context, *peer.Inbound) (peer.Reply, error) {
				return result(fmt.Sprintf(`{"ready":%t}`, ready))
			},
		}})
		deliver(c, request(1, "initialize"), request(2, "next"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1), `{"jsonrpc":"2.0","id":2,"result":{"ready":true}}`}, r.take())
	})
}

func TestABackChannelIsShutWhenItsHandlerHasReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var kept peer.BackChannel
		c, r := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			kept = in.Back
			return result(`{}`)
		})})
		for _, message := range []string{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}`, note("x")} {
			deliver(c, message)
			r.take()
			var none *peer.NoBackChannelError
			require.ErrorAs(t, ping(t.Context(), kept).over(t), &none)
			require.NoError(t, kept.Notify(t.Context(), &changed{}))
			require.NoError(t, kept.Progress(t.Context(), peer.Progress{Done: 1}))
			require.Empty(t, r.take())
		}
	})
}

func TestATransportWithoutBackChannelRefusesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var err error
		c, r := newConn(t, &dispatch.Options{
			Transport: peer.NewTransport("one-way", false, nil, ""),
			Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				_, err = peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
				return result(`{}`)
			}),
		})
		deliver(c, request(1, "x"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take())
		var none *peer.NoBackChannelError
		require.ErrorAs(t, err, &none)
		require.Equal(t, "ping", none.Method)
	})
}

func TestHandlersSeeWhereAMessageComesFrom(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		var kinds []string
		var values []any
		c, _ := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			kinds, values = append(kinds, in.Transport.Kind()), append(values, ctx.Value(key{}))
			return result(`{}`)
		})})
		ctx := context.WithValue(t.Context(), key{}, "caller")
		for _, message := range []string{request(1, "x"), request(2, "initialize"), note("x")} {
			c.Deliver(ctx, []byte(message), dispatch.Origin{Transport: peer.NewTransport("special", true, nil, "")})
			synctest.Wait()
		}
		deliver(c, request(3, "x"))
		synctest.Wait()
		require.Equal(t, []string{"special", "special", "special", "pipe"}, kinds)
		require.Equal(t, []any{"caller", "caller", "caller", nil}, values)
	})
}

func TestAnObserverThatFailsStopsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []error
		c, r := newConn(t, &dispatch.Options{Handler: handlers{}, OnError: func(err error) { seen = append(seen, err); panic("observer") }})
		deliver(c, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"What?"}}`, `nonsense`, note("x"), request(1, "x"))
		require.Len(t, r.take(), 2)
		require.Len(t, seen, 2)
		var e *peer.Error
		require.ErrorAs(t, seen[0], &e)
		require.EqualValues(t, -32700, e.Code)
		var bad *wire.DecodeError
		require.ErrorAs(t, seen[1], &bad)
	})
}

func TestCancelAndProgressReachTheHandlerToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, _ := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			seen = append(seen, in.Method)
			return peer.Reply{}, errBroken
		})})
		deliver(c, cancelOne, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"?","progress":1}}`)
		synctest.Wait()
		require.Equal(t, []string{"notifications/cancelled", "notifications/progress"}, seen)
	})
}

func TestAnInterceptComesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, _ := newConn(t, &dispatch.Options{
			Intercept: func(in *peer.Inbound) bool {
				seen = append(seen, "intercept "+in.Method)
				if in.Method == "bad" {
					panic("an intercept that fails")
				}
				return in.Method == "mine"
			},
			Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				seen = append(seen, "handle "+in.Method)
				return peer.Reply{}, nil
			}),
		})
		call := start(func() error {
			_, err := peer.SendRequest(t.Context(), c, &mcp.PingRequest{})
			seen = append(seen, "answer")
			return err
		})
		deliver(c, note("mine"), fmt.Sprintf(emptyOne, 1))
		require.NoError(t, call.over(t))
		require.Equal(t, []string{"intercept mine", "answer"}, seen)
		deliver(c, note("bad"))
		synctest.Wait()
		require.Equal(t, []string{"intercept bad", "handle bad"}, seen[2:])
	})
}

func TestRequestsAreSeenAsTheyArrive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, r := newConn(t, &dispatch.Options{
			Batches: func() bool { return true },
			Arrive: func(in *peer.Inbound) {
				seen = append(seen, in.Method+string(in.Params))
				if in.Method == "bad" {
					panic("a hook that fails")
				}
			},
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }),
		})
		deliver(c, request(1, "bad"), note("x"), request(2, "initialize"), `[`+request(3, "a")+`,`+request(4, "b")+`]`,
			`{"jsonrpc":"2.0","id":5,"method":"c","params":{"d":1}}`)
		require.Equal(t, []string{"bad", "initialize", "a", "b", `c{"d":1}`}, seen, "whatever their handlers do")
		require.Len(t, r.take(), 4)
	})

	var seen []string
	client, _ := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		seen = append(seen, "handled")
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}), func(_, server *dispatch.Options) {
		server.Arrive = func(in *peer.Inbound) { seen = append(seen, in.Method) }
	})
	_, err := peer.SendRequest(t.Context(), client, &mcp.PingRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"ping", "handled"}, seen)
}

func TestTooManyNotificationsAreReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var seen, dropped int
		c, _ := newConn(t, &dispatch.Options{
			MaxWaiting: 3,
			OnError: func(err error) {
				require.ErrorIs(t, err, dispatch.ErrTooManyWaiting)
				dropped++
			},
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				<-release
				seen++
				return peer.Reply{}, nil
			}),
		})
		deliver(c, note("x"))
		synctest.Wait()
		deliver(c, note("x"), note("x"), note("x"), note("x"), note("x"))
		close(release)
		synctest.Wait()
		require.Equal(t, []int{4, 2}, []int{seen, dropped})
	})
}

func TestTooMuchWaitingIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		dropped := 0
		c, _ := newConn(t, &dispatch.Options{
			MaxMessage: 1000,
			OnError:    func(error) { dropped++ },
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				<-release
				return peer.Reply{}, nil
			}),
		})
		long := fmt.Sprintf(`{"jsonrpc":"2.0","method":"x","params":{"x":%q}}`, strings.Repeat("x", 900))
		deliver(c, long)
		synctest.Wait()
		deliver(c, long, long, long, long, long, long)
		require.Equal(t, 2, dropped)
		close(release)
	})
}

func TestWhatWaitsAtTheEndIsStillHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var ended []bool
		c, _ := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			ended = append(ended, errors.Is(context.Cause(ctx), dispatch.ErrClosed))
			return peer.Reply{}, nil
		})})
		deliver(c, note("x"), note("x"))
		synctest.Wait()
		c.Close()
		require.Equal(t, []bool{true, true}, ended)
	})
}

func TestAHandlerThatEndsItsGoroutineIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, r := newConn(t, &dispatch.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			if seen = append(seen, in.Method); in.Method == "exit" {
				runtime.Goexit()
			}
			return result(`{}`)
		})})
		deliver(c, request(1, "exit"))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`}, r.take())
		deliver(c, note("exit"), note("next"))
		synctest.Wait()
		require.Equal(t, []string{"exit", "exit", "next"}, seen)
		deliver(c, request(2, "next"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 2)}, r.take())
	})
}

func TestTheBytesOfAMessageAreGivenBackOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &dispatch.Options{Batches: func() bool { return true }, MaxMessage: 200, Handler: scene})
		ping(t.Context(), c)
		for _, message := range []string{
			request(1, "echo"), request(2, "panic"), request(3, "initialize"), note("x"), "nonsense",
			fmt.Sprintf(emptyOne, 1), fmt.Sprintf(emptyOne, 99), `[` + request(4, "echo") + `]`, strings.Repeat(" ", 300),
			`{"jsonrpc":"2.0","id":5,"result":7}`,
		} {
			n := 0
			c.Deliver(t.Context(), []byte(message), dispatch.Origin{Release: func() { n++ }})
			synctest.Wait()
			require.Equal(t, 1, n, message)
		}
		c.Close()
		n := 0
		c.Deliver(t.Context(), []byte(note("x")), dispatch.Origin{Release: func() { n++ }})
		require.Equal(t, 1, n)
	})
}

// notingWriter is told what it writes.
type notingWriter struct {
	recorder
	envelopes []dispatch.Envelope
}

func (w *notingWriter) WriteEnvelope(ctx context.Context, e dispatch.Envelope, data []byte) error {
	w.envelopes = append(w.envelopes, e)
	return w.WriteMessage(ctx, data)
}

func TestAWriterMayBeToldWhatItWrites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := new(notingWriter)
		c := dispatch.New(w, &dispatch.Options{Handler: scene})
		defer c.Close()
		deliver(c, request(7, "refuse"))
		synctest.Wait()
		deliver(c, request(8, "echo"))
		synctest.Wait()
		call := ping(t.Context(), c, peer.WithHeader(map[string][]string{"X": {"y"}}))
		deliver(c, fmt.Sprintf(emptyOne, 1))
		require.NoError(t, call.over(t))
		require.Len(t, w.envelopes, 3)
		require.EqualValues(t, 7, w.envelopes[0].Error.Code)
		require.Equal(t, dispatch.Envelope{ID: wire.IntID(8)}, w.envelopes[1])
		require.Equal(t, "y", w.envelopes[2].Header.Get("X"))
		require.Equal(t, "ping", w.envelopes[2].Method)
	})
}

func TestAWriterThatIsGoneDropsAnswersQuietly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &dispatch.Options{Handler: scene})
		r.hook = func(context.Context, string) error { return os.ErrClosed }
		deliver(c, request(1, "echo"), "nonsense")
		synctest.Wait()
		r.hook = nil
		deliver(c, request(1, "echo"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take())
	})
}
