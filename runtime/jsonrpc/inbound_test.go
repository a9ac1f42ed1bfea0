package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/testlog"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

type tag struct{}

// handled delivers a request in a context with a tag. It returns the handler's context when the
// handler has returned or is blocked in look.
func handled(t *testing.T, c **jsonrpc.Conn, look func(context.Context)) context.Context {
	t.Helper()
	var seen context.Context
	conn, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
		seen = ctx
		look(ctx)
		return result(`{}`)
	})})
	if c != nil {
		*c = conn
	}
	conn.Deliver(context.WithValue(t.Context(), tag{}, "tag"), []byte(request(1, "x")), jsonrpc.Source{})
	synctest.Wait()
	return seen
}

func TestHandlerContextEndsWithHandler(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := handled(t, nil, func(context.Context) {})
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)
		<-ctx.Done()
		require.Equal(t, "tag", ctx.Value(tag{}))
		_, limited := ctx.Deadline()
		require.False(t, limited)
	})
}

func TestHandlerContextCause(t *testing.T) {
	var cancelled *jsonrpc.CancelledError
	for name, look := range map[string]func(context.Context) context.Context{
		"itself": func(ctx context.Context) context.Context { return ctx },
		"a child": func(ctx context.Context) context.Context {
			child, stop := context.WithTimeout(ctx, time.Hour)
			context.AfterFunc(child, stop)
			return child
		},
		"a child without cancel": func(ctx context.Context) context.Context {
			child, stop := context.WithCancelCause(context.WithoutCancel(ctx))
			context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })
			return child
		},
	} {
		bubble(t, func(t *testing.T) {
			var c *jsonrpc.Conn
			release := make(chan struct{})
			ctx := handled(t, &c, func(context.Context) { <-release })
			watched := look(ctx)
			require.NoError(t, watched.Err())
			deliver(c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
			<-watched.Done()
			require.ErrorAs(t, context.Cause(watched), &cancelled, name)
			require.Equal(t, "enough", cancelled.Reason)
			require.ErrorIs(t, watched.Err(), context.Canceled)
			close(release)
		})
	}
}

func TestHandlerContextKeepsFirstCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *jsonrpc.Conn
		release := make(chan struct{})
		ctx := handled(t, &c, func(context.Context) { <-release })
		require.True(t, c.InFlight().Cancel(c.InFlight().IDs()[0])) // the context has not been used yet
		close(release)
		synctest.Wait()
		require.ErrorAs(t, context.Cause(ctx), new(*jsonrpc.CancelledError))
	})
}

func TestHandlerContextEndsWithMessageContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var got error
		c, _ := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			got = context.Cause(ctx)
			return peer.Reply{}, got
		})})
		c.Deliver(ctx, []byte(request(1, "x")), jsonrpc.Source{})
		synctest.Wait()
		cancel(errBroken)
		synctest.Wait()
		require.ErrorIs(t, got, errBroken)
	})
}

func TestCancelledRequestSendsNothing(t *testing.T) {
	for name, end := range map[string]func(context.Context) (peer.Reply, error){
		"with the cause": func(ctx context.Context) (peer.Reply, error) { return peer.Reply{}, context.Cause(ctx) },
		"with a result":  func(context.Context) (peer.Reply, error) { return result(`{}`) },
		"with an error":  func(context.Context) (peer.Reply, error) { return peer.Reply{}, errBroken },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log, output := logs()
				var unanswered []wire.RequestID
				var back error
				c, r := newConn(t, &jsonrpc.Options{
					Logger:       log,
					OnUnanswered: func(id wire.RequestID) { unanswered = append(unanswered, id); panic("hook") },
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
				require.Equal(t, name == "with an error", strings.Contains(output.String(), "broken"))
			})
		})
	}
}

func TestCancelledHandlerCancelsItsCalls(t *testing.T) {
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

func TestRequestsConcurrentNotificationsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var order []string
		release := make(chan struct{})
		c, r := newConn(t, &jsonrpc.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.ID.IsZero() {
				order = append(order, in.Method) // checked by the race detector
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

func TestNotificationHandlerCallsPeer(t *testing.T) {
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

func TestInitializeIsHandledInline(t *testing.T) {
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

func TestBackChannelClosesWithHandler(t *testing.T) {
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

func TestTransportWithoutBackChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var err error
		c, r := newConn(t, &jsonrpc.Options{
			Transport: peer.NewTransportContext("one-way", false, nil, ""),
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

func TestSourceTransportAndContext(t *testing.T) {
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
			c.Deliver(ctx, []byte(message), jsonrpc.Source{Transport: peer.NewTransportContext("special", true, nil, "")})
			synctest.Wait()
		}
		deliver(c, request(3, "x"))
		synctest.Wait()
		require.Equal(t, []string{"special", "special", "special", "pipe"}, kinds)
		require.Equal(t, []any{"caller", "caller", "caller", nil}, values)
	})
}

func TestHandlerReceivesCancelAndProgress(t *testing.T) {
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

func TestInterceptNotification(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, _ := newConn(t, &jsonrpc.Options{
			InterceptNotification: func(in *peer.Inbound) bool {
				seen = append(seen, "intercept "+in.Method)
				if in.Method == "bad" {
					panic("intercept")
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
			seen = append(seen, "response")
			return err
		})
		deliver(c, note("mine"), fmt.Sprintf(emptyOne, 1))
		require.NoError(t, call.over(t))
		require.Equal(t, []string{"intercept mine", "response"}, seen)
		deliver(c, note("bad"))
		synctest.Wait()
		require.Equal(t, []string{"intercept bad", "handle bad"}, seen[2:])
	})
}

func TestOnRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, r := newConn(t, &jsonrpc.Options{
			Batches: func() bool { return true },
			OnRequest: func(in *peer.Inbound) {
				seen = append(seen, in.Method+string(in.Params))
				if in.Method == "bad" {
					panic("hook")
				}
			},
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }),
		})
		deliver(c, request(1, "bad"), note("x"), request(2, "initialize"), `[`+request(3, "a")+`,`+request(4, "b")+`]`,
			`{"jsonrpc":"2.0","id":5,"method":"c","params":{"d":1}}`)
		c.Deliver(t.Context(), nil, jsonrpc.Source{Message: &wire.Message{Method: "e", ID: wire.IntID(6)}})
		require.Equal(t, []string{"bad", "initialize", "a", "b", `c{"d":1}`, "e"}, seen, "before the handlers run")
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

func TestMaxQueuedNotifications(t *testing.T) {
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

func TestNotificationDuringCloseIsNotReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		closed := make(chan struct{})
		c, _ := newConn(t, &jsonrpc.Options{
			Handler: handlers{}, OnError: func(err error) { t.Error(err) },
			InterceptNotification: func(*peer.Inbound) bool { <-closed; return false }, // the connection is closed meanwhile
		})
		late := start(func() error { deliver(c, note("x")); return nil })
		require.NoError(t, c.Close())
		close(closed)
		require.NoError(t, late.over(t))
	})
}

func TestQueuedNotificationsSizeLimit(t *testing.T) {
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

func TestHandlerEndsGoroutine(t *testing.T) {
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

func TestMessageInfo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := new(infoRecorder)
		c := jsonrpc.New(w, &jsonrpc.Options{Handler: scene})
		defer c.Close()
		deliver(c, request(7, "refuse"))
		synctest.Wait()
		deliver(c, request(8, "echo"))
		synctest.Wait()
		call := ping(t.Context(), c, peer.WithHeader(map[string][]string{"X": {"y"}}))
		deliver(c, fmt.Sprintf(emptyOne, 1))
		require.NoError(t, call.over(t))
		require.Len(t, w.infos, 3)
		require.EqualValues(t, 7, w.infos[0].Error.Code)
		require.Equal(t, jsonrpc.MessageInfo{ID: wire.IntID(8)}, w.infos[1])
		require.Equal(t, "y", w.infos[2].Header.Get("X"))
		require.Equal(t, "ping", w.infos[2].Method)
	})
}

func TestResponseWriterError(t *testing.T) {
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

// lingering is a message that blocks while it is encoded.
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

func TestNothingFollowsResponse(t *testing.T) {
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

func TestProgressEncoding(t *testing.T) {
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

func TestDeliveryContext(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		var seen []any
		look := func(in *peer.Inbound) bool {
			seen = append(seen, outbound.DeliveryContext(in).Value(key{}))
			return true
		}
		c, _ := newConn(t, &jsonrpc.Options{InterceptNotification: look})
		c.Deliver(context.WithValue(t.Context(), key{}, "pipe"), []byte(note("x")), jsonrpc.Source{})
		_, server := pair(t, nil, func(client, _ *jsonrpc.Options) { client.InterceptNotification = look })
		require.NoError(t, server.Notify(context.WithValue(t.Context(), key{}, "pair"), &changed{}))
		require.Equal(t, []any{"pipe", "pair"}, seen)
		require.Nil(t, outbound.DeliveryContext(&peer.Inbound{}).Value(key{}), "not delivered by a connection")
	})
}

func TestNilHandler(t *testing.T) {
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

func TestOnUnansweredOnlyAfterCancellation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ends := false
		var c *jsonrpc.Conn
		c, _ = newConn(t, &jsonrpc.Options{
			Handler:      handlers{"wait": untilDone},
			OnUnanswered: func(id wire.RequestID) { require.Fail(t, "the request was not cancelled", "%v", id) },
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

func TestNilOnUnanswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, output := logs()
		c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: handlers{"wait": untilDone}})
		deliver(c, request(1, "wait"), cancelOne)
		require.Empty(t, r.take())
		require.NotContains(t, output.String(), "hook")
	})
}

func TestCancelledError(t *testing.T) {
	require.EqualError(t, &jsonrpc.CancelledError{}, "request cancelled by its sender")
	require.EqualError(t, &jsonrpc.CancelledError{Reason: "enough"}, `request cancelled by its sender: "enough"`)
}

func TestProgressFirstReport(t *testing.T) {
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

func TestHandlerErrorsAreLogged(t *testing.T) {
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
		`level=ERROR msg="handler failed" method=x request=1 error="code: secret`: func(ctx context.Context) (peer.Reply, error) {
			<-ctx.Done() // the peer does not receive the error any more
			return peer.Reply{}, fmt.Errorf("code: %w", &peer.Error{Code: 7, Message: "secret"})
		},
	} {
		bubble(t, func(t *testing.T) {
			log, output := logs()
			c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: handlers{
				"x": func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) { return end(ctx) },
			}})
			deliver(c, request(1, "x"))
			synctest.Wait()
			deliver(c, cancelOne)
			for _, line := range r.take() {
				require.Equal(t, want == refusal, strings.Contains(line, "secret"))
			}
			require.Contains(t, testlog.WithoutIDs(output.String()), strings.TrimSpace(want))
			require.Contains(t, output.String(), "secret")
		})
	}
}

func TestHandlerStoppedIsNotLoggedAsError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, output := logs()
		c, r := newConn(t, &jsonrpc.Options{Logger: log, Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			return peer.Reply{}, context.Cause(ctx)
		})})
		ctx, hangUp := context.WithCancelCause(t.Context())
		c.Deliver(ctx, []byte(request(1, "x")), jsonrpc.Source{})
		synctest.Wait()
		hangUp(errBroken)
		require.Len(t, r.take(), 1)
		require.Contains(t, output.String(), `level=DEBUG msg="handler stopped"`)
		require.NotContains(t, output.String(), "ERROR")
	})
}

func TestNotificationHandlerFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, output := logs()
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
		require.Equal(t, []string{fmt.Sprintf(emptyOne, 1)}, r.take(), "the peer receives nothing about them")
		require.Equal(t, []string{"panics", "exits", "fails", "last", "x"}, seen)
		require.Contains(t, output.String(), `msg="handler panicked" method=panics`)
		require.Contains(t, output.String(), `msg="handler failed" method=fails`)
	})
}

func TestMessageInfoRevision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		frame := &wire.Frame{Revision: mcp.Revision20250618}
		w := new(infoRecorder)
		c := jsonrpc.New(w, &jsonrpc.Options{
			Frame: func(string) *wire.Frame { return frame },
			Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				return peer.Reply{Result: &mcp.EmptyResult{}, Frame: frame}, nil
			}),
		})
		defer c.Close()
		call := ping(t.Context(), c)
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		deliver(c, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		require.NoError(t, call.over(t))
		require.Len(t, w.take(), 3)
		for _, e := range w.infos {
			require.Equal(t, mcp.Revision20250618, e.Revision)
		}
	})
}
