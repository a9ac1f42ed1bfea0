package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
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
				c, r := newConn(t, &jsonrpc.Options{
					Logger:       log,
					OnUnanswered: func(id wire.RequestID) { unanswered = append(unanswered, id); panic("a hook that fails") },
					Handler: handlers{"wait": func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
						<-ctx.Done()
						still := context.WithoutCancel(ctx)
						require.NoError(t, in.Back.Notify(still, &changed{}))
						require.NoError(t, in.Back.Progress(still, peer.Progress{Progress: 1}))
						_, back = peer.SendRequest(still, in.Back, &mcp.PingRequest{})
						var why *jsonrpc.CancelledError
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

func TestACancellationCountsForARequestThatItOvertakesWhereThatHappens(t *testing.T) {
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
			require.Len(t, r.take(), 1, "it counts once")
			deliver(c, cancelOne)
			overtaken := func(from, to int) {
				for id := from; id < to; id++ {
					deliver(c, strings.Replace(cancelOne, `:1,`, fmt.Sprintf(`:%d,`, id), 1))
				}
			}
			overtaken(2, 300) // more than are handled at a time
			for id := 299; id > 0; id-- {
				deliver(c, request(id, "do"))
			}
			require.Empty(t, r.take())
			overtaken(1, 2000)
			deliver(c, request(1, "do"))
			require.Len(t, r.take(), 1, "not all are kept")
			_, ok := c.CloseIdle()
			require.False(t, ok, "a request may be about to come")
			time.Sleep(5 * time.Second)
			_, ok = c.CloseIdle()
			require.True(t, ok)
		}
	})
}

func TestACancellationCountsForARequestThatComesSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Unordered: true, Handler: handlers{
			"do": func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) },
		}})
		deliver(c, request(1, "do"))
		require.Len(t, r.take(), 1)
		deliver(c, cancelOne) // too late
		time.Sleep(5 * time.Second)
		deliver(c, request(1, "do")) // of a client that has begun anew, with the old session
		require.Len(t, r.take(), 1)
		deliver(c, cancelOne)
		time.Sleep(5 * time.Second)
		deliver(c, strings.Replace(cancelOne, `:1,`, `:2,`, 1), request(1, "do"))
		require.Len(t, r.take(), 1)
		deliver(c, request(2, "do"))
		require.Empty(t, r.take())
	})
}

func TestWhatACancelledHandlerAskedIsTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{
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

func TestTheEndOfTheConnectionAnswersWhatRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var cause error
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{
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
		require.ErrorIs(t, cause, jsonrpc.ErrClosed)
		require.ErrorIs(t, cause, errBroken)
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 2)}, r.take(), "and it gets no second one")
	})
}

func TestWhatTheEndHasAnsweredCannotBeCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{
			Handler: slow(release), OnUnanswered: func(id wire.RequestID) { t.Errorf("request %v has been answered", id) },
		})
		deliver(c, request(1, "deaf"))
		synctest.Wait()
		end := start(c.Close)
		require.Len(t, r.take(), 1, "the goodbye")
		require.False(t, c.InFlight().Cancel(wire.IntID(1)))
		close(release)
		require.NoError(t, end.over(t))
	})
}

func TestAnEndWithoutPatienceBlamesNoHandlerThatIsNotThere(t *testing.T) {
	for range 50 { // it was a matter of luck
		var log strings.Builder
		c := jsonrpc.New(new(recorder), &jsonrpc.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.Shutdown(ctx, nil)
		require.NotContains(t, log.String(), "still running")
	}
}

func TestTheEndDoesNotWaitForeverForAHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, _ := newConn(t, &jsonrpc.Options{Handler: handlers{"deaf": func(context.Context, *peer.Inbound) (peer.Reply, error) {
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
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
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
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
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
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{
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
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			kept = in.Back
			return result(`{}`)
		})})
		for _, message := range []string{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}`, note("x")} {
			deliver(c, message)
			r.take()
			var none *peer.NoBackChannelError
			require.ErrorAs(t, ping(t.Context(), kept).over(t), &none)
			require.NoError(t, kept.Notify(t.Context(), &changed{}))
			require.NoError(t, kept.Progress(t.Context(), peer.Progress{Progress: 1}))
			require.Empty(t, r.take())
		}
	})
}

func TestATransportWithoutBackChannelRefusesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var err error
		c, r := newConn(t, &jsonrpc.Options{
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
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			kinds, values = append(kinds, in.Transport.Kind()), append(values, ctx.Value(key{}))
			return result(`{}`)
		})})
		ctx := context.WithValue(t.Context(), key{}, "caller")
		for _, message := range []string{request(1, "x"), request(2, "initialize"), note("x")} {
			c.Deliver(ctx, []byte(message), jsonrpc.Source{Transport: peer.NewTransport("special", true, nil, "")})
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
		c, r := newConn(t, &jsonrpc.Options{Handler: handlers{}, OnError: func(err error) { seen = append(seen, err); panic("observer") }})
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
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
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
		c, _ := newConn(t, &jsonrpc.Options{
			InterceptNotification: func(in *peer.Inbound) bool {
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
		c, r := newConn(t, &jsonrpc.Options{
			Batches: func() bool { return true },
			OnRequest: func(in *peer.Inbound) {
				seen = append(seen, in.Method+string(in.Params))
				if in.Method == "bad" {
					panic("a hook that fails")
				}
			},
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }),
		})
		deliver(c, request(1, "bad"), note("x"), request(2, "initialize"), `[`+request(3, "a")+`,`+request(4, "b")+`]`,
			`{"jsonrpc":"2.0","id":5,"method":"c","params":{"d":1}}`)
		c.Deliver(t.Context(), nil, jsonrpc.Source{Message: &wire.Message{Method: "e", ID: wire.IntID(6)}})
		require.Equal(t, []string{"bad", "initialize", "a", "b", `c{"d":1}`, "e"}, seen, "whatever their handlers do")
		require.Len(t, r.take(), 5)
	})

	var seen []string
	client, _ := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		seen = append(seen, "handled")
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}), func(_, server *jsonrpc.Options) {
		server.OnRequest = func(in *peer.Inbound) { seen = append(seen, in.Method) }
	})
	_, err := peer.SendRequest(t.Context(), client, &mcp.PingRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"ping", "handled"}, seen)
}

func TestTooManyNotificationsAreReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var seen, dropped int
		c, _ := newConn(t, &jsonrpc.Options{
			MaxQueuedNotifications: 3,
			OnError: func(err error) {
				require.ErrorIs(t, err, jsonrpc.ErrTooManyQueued)
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

func TestANotificationAtTheEndIsNotOneTooMany(t *testing.T) {
	bubble(t, func(t *testing.T) {
		closed := make(chan struct{})
		c, _ := newConn(t, &jsonrpc.Options{
			Handler: handlers{}, OnError: func(err error) { t.Error(err) },
			InterceptNotification: func(*peer.Inbound) bool { <-closed; return false }, // the end comes just now
		})
		late := start(func() error { deliver(c, note("x")); return nil })
		require.NoError(t, c.Close())
		close(closed)
		require.NoError(t, late.over(t))
	})
}

func TestTooMuchWaitingIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		dropped := 0
		c, _ := newConn(t, &jsonrpc.Options{
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
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			ended = append(ended, errors.Is(context.Cause(ctx), jsonrpc.ErrClosed))
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
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
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
		c, _ := newConn(t, &jsonrpc.Options{
			Batches: func() bool { return true }, MaxMessage: 200, MaxInFlight: 2, MaxQueuedNotifications: 1, OnError: func(error) {},
			Handler: scene, InterceptNotification: func(in *peer.Inbound) bool { return in.Method == "consumed" },
		})
		ping(t.Context(), c)
		deliver(c, request(6, "wait"), note("wait"))
		synctest.Wait()
		deliver(c, note("wait"))
		for _, message := range []string{
			request(6, "same id"), note("consumed"), note("one too many"),
			request(1, "echo"), request(2, "panic"), request(3, "initialize"), "nonsense",
			fmt.Sprintf(emptyOne, 1), fmt.Sprintf(emptyOne, 99), `[` + request(4, "echo") + `]`, strings.Repeat(" ", 300),
			`{"jsonrpc":"2.0","id":5,"result":7}`,
		} {
			n := 0
			c.Deliver(t.Context(), []byte(message), jsonrpc.Source{Release: func() { n++ }})
			synctest.Wait()
			require.Equal(t, 1, n, message)
		}
		c.Close()
		n := 0
		c.Deliver(t.Context(), []byte(note("x")), jsonrpc.Source{Release: func() { n++ }})
		require.Equal(t, 1, n)
	})
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, nil) // without a handler
		n := 0
		c.Deliver(t.Context(), []byte(note("x")), jsonrpc.Source{Release: func() { n++ }})
		require.Equal(t, 1, n)
		_, ok := c.CloseIdle()
		require.True(t, ok)
	})
	bubble(t, func(t *testing.T) {
		c, _ := newConn(t, &jsonrpc.Options{Handler: scene})
		n := 0
		c.Deliver(t.Context(), []byte(note("echo")), jsonrpc.Source{Release: func() { n++ }})
		synctest.Wait()
		require.Equal(t, 1, n)
		_, ok := c.CloseIdle()
		require.True(t, ok, "a notification that was handled leaves nothing behind")
	})
}

// notingWriter is told what it writes.
type notingWriter struct {
	recorder
	envelopes []jsonrpc.MessageInfo
}

func (w *notingWriter) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	w.envelopes = append(w.envelopes, e)
	return w.WriteMessage(ctx, data)
}

func TestAWriterMayBeToldWhatItWrites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := new(notingWriter)
		c := jsonrpc.New(w, &jsonrpc.Options{Handler: scene})
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
		require.Equal(t, jsonrpc.MessageInfo{ID: wire.IntID(8)}, w.envelopes[1])
		require.Equal(t, "y", w.envelopes[2].Header.Get("X"))
		require.Equal(t, "ping", w.envelopes[2].Method)
	})
}

func TestAWriterThatIsGoneDropsAnswersQuietly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: scene})
		r.hook = func(context.Context, string) error { return os.ErrClosed }
		deliver(c, request(1, "echo"), "nonsense")
		synctest.Wait()
		r.hook = nil
		deliver(c, request(1, "echo"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take())
	})
}

// lingering is a message that is written when its time has come.
type lingering struct {
	raw
	begun, free chan struct{}
}

func newLingering() *lingering {
	return &lingering{begun: make(chan struct{}), free: make(chan struct{})}
}

func (*lingering) Method() string  { return "x/lingering" }
func (*lingering) NewResult() *raw { return new(raw) }
func (*lingering) IsNotification() {}
func (l *lingering) AppendParams(b []byte, e *wire.Encoder) []byte {
	close(l.begun)
	<-l.free
	return l.raw.AppendParams(b, e)
}

func TestNothingFollowsAnAnswerThatWasBegunBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		question, note := newLingering(), newLingering()
		asked, told := make(chan error, 1), make(chan error, 1)
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			still := context.WithoutCancel(ctx)
			go func() { asked <- in.Back.Call(still, question, new(raw)) }()
			go func() { told <- in.Back.Notify(still, note) }()
			<-question.begun
			<-note.begun
			return result(`{}`)
		})})
		deliver(c, request(1, "x"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take())
		close(question.free)
		close(note.free)
		require.ErrorAs(t, <-asked, new(*peer.NoBackChannelError))
		require.NoError(t, <-told)
		require.Empty(t, r.take())
	})
}

func TestReportsAreWrittenAsTheRevisionHasThem(t *testing.T) {
	const report = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":%s}}`
	for revision, want := range map[wire.Revision][]string{
		mcp.Revision20241105: {`1,"total":2.5`, `2`},
		mcp.Revision20250326: {`1,"total":2.5,"message":"half"`, `2`},
		mcp.Revision20260728: {`1,"total":2.5,"message":"half"`, `2`},
	} {
		bubble(t, func(t *testing.T) {
			c, r := newConn(t, &jsonrpc.Options{
				Frame: func(string) *wire.Frame { return &wire.Frame{Revision: revision} },
				Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
					require.NoError(t, in.Back.Progress(ctx, peer.Progress{Progress: 1, Total: new(2.5), Message: "half"}))
					require.NoError(t, in.Back.Progress(ctx, peer.Progress{Progress: 2}))
					return result(`{}`)
				}),
			})
			deliver(c, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":5}}}`)
			require.Equal(t, []string{fmt.Sprintf(report, want[0]), fmt.Sprintf(report, want[1]), fmt.Sprintf(emptyOne, 1)}, r.take())
		})
	}
}

func TestTheAnswersOfABatchAreOneArray(t *testing.T) {
	bubble(t, func(t *testing.T) {
		batches := true
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, OnError: func(error) {}, Batches: func() bool { return batches }})
		both := `[` + request(1, "echo") + `,` + request(2, "fail") + `,` + request(3, "initialize") + `]`
		deliver(c, both)
		lines := r.take()
		require.Len(t, lines, 1)
		var answers []struct{ ID int }
		require.NoError(t, json.Unmarshal([]byte(lines[0]), &answers))
		require.ElementsMatch(t, []struct{ ID int }{{1}, {2}, {3}}, answers)

		batches = false
		deliver(c, both)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request","data":"several messages at once are not accepted"}}`}, r.take())
	})
}

func TestAMessageThatIsTooLongIsRefusedHoweverItComes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []error
		c, r := newConn(t, &jsonrpc.Options{Handler: scene, MaxMessage: 100, OnError: func(err error) { seen = append(seen, err) }})
		message := func(size int) string {
			m := `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":""}}`
			return m[:len(m)-3] + strings.Repeat("x", size-len(m)) + m[len(m)-3:]
		}
		deliver(c, message(100))
		require.Len(t, r.take(), 1)
		require.Empty(t, seen)
		deliver(c, message(101))
		require.Contains(t, r.take()[0], `Message is longer than 100 bytes`)
		require.Len(t, seen, 1)
	})
}

func TestAnInterceptMayLookAtTheContextOfTheMessage(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		var seen []any
		look := func(in *peer.Inbound) bool {
			seen = append(seen, jsonrpc.DeliveryContext(in).Value(key{}))
			return true
		}
		c, _ := newConn(t, &jsonrpc.Options{InterceptNotification: look})
		c.Deliver(context.WithValue(t.Context(), key{}, "pipe"), []byte(note("x")), jsonrpc.Source{})
		_, server := pair(t, nil, func(client, _ *jsonrpc.Options) { client.InterceptNotification = look })
		require.NoError(t, server.Notify(context.WithValue(t.Context(), key{}, "pair"), &changed{}))
		require.Equal(t, []any{"pipe", "pair"}, seen)
		require.Nil(t, jsonrpc.DeliveryContext(&peer.Inbound{}).Value(key{}), "what no dispatcher delivered")
	})
}

func TestALimitMayBeLifted(t *testing.T) {
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

func TestWhatCannotBeReadIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []error
		c, r := newConn(t, &jsonrpc.Options{OnError: func(err error) { seen = append(seen, err) }})
		deliver(c, `{"jsonrpc":"2.0","method":"x","params":7}`, `{"jsonrpc":"2.0","id":5,"result":7}`)
		require.Empty(t, r.take())
		require.Len(t, seen, 2)
		require.ErrorContains(t, seen[0], "notification of the peer")
		require.ErrorContains(t, seen[1], "answer of the peer")
	})
}

func TestWhereNobodyHandlesAnythingEveryMethodIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		deliver(c, request(1, "x"), note("x"), request(2, "initialize"))
		lines := r.take()
		require.Len(t, lines, 2)
		for _, line := range lines {
			require.Contains(t, line, `"code":-32601`)
		}
	})
}

func TestTheHookForUnansweredRequestsIsForCancelledOnes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ends := false
		var c *jsonrpc.Conn
		c, _ = newConn(t, &jsonrpc.Options{
			Handler:      handlers{"wait": untilDone},
			OnUnanswered: func(id wire.RequestID) { require.Fail(t, "it was not cancelled", "%v", id) },
			OnRequest: func(*peer.Inbound) {
				if ends {
					c.Close()
				}
			},
		})
		deliver(c, request(1, "wait"))
		ends = true
		deliver(c, request(3, "wait"))
		c.Deliver(t.Context(), nil, jsonrpc.Source{Message: &wire.Message{Method: "wait", ID: wire.IntID(2)}})
	})
}

func TestOnlyThePeerCancelsWhatHasNotCome(t *testing.T) {
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

func TestNothingIsAboutToComeOnceItHas(t *testing.T) {
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

func TestWhereThereIsNoHookForUnansweredRequestsNothingIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, said := logs()
		c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: handlers{"wait": untilDone}})
		deliver(c, request(1, "wait"), cancelOne)
		require.Empty(t, r.take())
		require.NotContains(t, said.String(), "hook")
	})
}

func TestACancellationSaysWhy(t *testing.T) {
	require.EqualError(t, &jsonrpc.CancelledError{}, "request cancelled by its sender")
	require.EqualError(t, &jsonrpc.CancelledError{Reason: "enough"}, `request cancelled by its sender: "enough"`)
}

func TestTheFirstReportCountsWhateverItSays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			require.ErrorAs(t, in.Back.Progress(ctx, peer.Progress{Progress: math.NaN()}), new(*wire.EncodeError))
			for _, done := range []float64{-1, 0, 0, 0.5} {
				require.NoError(t, in.Back.Progress(ctx, peer.Progress{Progress: done}))
			}
			return result(`{}`)
		})})
		deliver(c, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":5}}}`)
		lines := r.take()
		require.Len(t, lines, 4)
		for i, done := range []string{"-1", "0", "0.5"} {
			require.Contains(t, lines[i], `"progress":`+done+`}`)
		}
	})
}

func TestTheLogLearnsWhatThePeerDoesNot(t *testing.T) {
	const refusal, cancelled = `level=DEBUG msg="request refused"`, `level=DEBUG msg="handler stopped"`
	for want, end := range map[string]func(context.Context) (peer.Reply, error){
		refusal: func(context.Context) (peer.Reply, error) {
			return peer.Reply{}, &peer.Error{Code: 7, Message: "secret"}
		},
		`level=ERROR msg="handler failed"`:                     func(context.Context) (peer.Reply, error) { return peer.Reply{}, errors.New("secret") },
		`level=ERROR msg="handler panicked"`:                   func(context.Context) (peer.Reply, error) { panic("secret") },
		`level=ERROR msg="handler returned an invalid result"`: func(context.Context) (peer.Reply, error) { return result(`{"secret":1,"secret":2}`) },
		cancelled: func(ctx context.Context) (peer.Reply, error) {
			<-ctx.Done()
			return peer.Reply{}, fmt.Errorf("secret: %w", context.Cause(ctx))
		},
		cancelled + " ": func(ctx context.Context) (peer.Reply, error) {
			<-ctx.Done()
			return peer.Reply{}, fmt.Errorf("secret: %w", ctx.Err())
		},
		`level=ERROR msg="handler failed" method=x id=1 error="code: secret`: func(ctx context.Context) (peer.Reply, error) {
			<-ctx.Done() // nobody is told of the error any more
			return peer.Reply{}, fmt.Errorf("code: %w", &peer.Error{Code: 7, Message: "secret"})
		},
	} {
		bubble(t, func(t *testing.T) {
			log, said := logs()
			c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: handlers{
				"x": func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) { return end(ctx) },
			}})
			deliver(c, request(1, "x"))
			synctest.Wait()
			deliver(c, cancelOne)
			for _, line := range r.take() {
				require.Equal(t, want == refusal, strings.Contains(line, "secret"))
			}
			require.Contains(t, said.String(), strings.TrimSpace(want))
			require.Contains(t, said.String(), "secret")
		})
	}
}

func TestTheLogDoesNotComplainOfAPeerThatHasGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, said := logs()
		c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			return peer.Reply{}, context.Cause(ctx)
		})})
		ctx, hangUp := context.WithCancelCause(t.Context())
		c.Deliver(ctx, []byte(request(1, "x")), jsonrpc.Source{})
		synctest.Wait()
		hangUp(errBroken)
		require.Len(t, r.take(), 1)
		require.Contains(t, said.String(), `level=DEBUG msg="handler stopped"`)
		require.NotContains(t, said.String(), "ERROR")
	})
}

func TestANotificationsHandlerThatFailsHarmsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, said := logs()
		var seen []string
		c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			switch seen = append(seen, in.Method); in.Method {
			case "panics":
				panic("secret")
			case "exits":
				runtime.Goexit()
			case "fails":
				return peer.Reply{}, errBroken
			}
			return result(`{}`)
		})})
		deliver(c, note("panics"), note("exits"), note("fails"), note("last"))
		synctest.Wait()
		deliver(c, request(1, "x"))
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take(), "nobody is told")
		require.Equal(t, []string{"panics", "exits", "fails", "last", "x"}, seen)
		require.Contains(t, said.String(), `msg="handler panicked" method=panics`)
		require.Contains(t, said.String(), `msg="handler failed" method=fails`)
	})
}

func TestTheEndSaysNothingAboutWhatWasCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Handler: slow(release)})
		deliver(c, request(1, "deaf"), request(2, "deaf"), cancelOne)
		synctest.Wait()
		end := start(func() error { return c.Close() })
		require.Equal(t, []string{fmt.Sprintf(closedOne, 2)}, r.take())
		close(release)
		require.NoError(t, end.over(t))
		require.Empty(t, r.take())
	})
}

func TestIDsOfEveryKindAreTakenAndGivenBack(t *testing.T) {
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

func TestAPingIsAnsweredHoweverMuchIsInFlight(t *testing.T) {
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
