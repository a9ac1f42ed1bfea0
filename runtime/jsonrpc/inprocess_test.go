package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestInProcessPassesValues(t *testing.T) {
	req := &mcp.CallToolRequest{Name: "a", Arguments: json.RawMessage("not even JSON")}
	answer := mcp.TextResult("b")
	c, _ := pair(t, peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		require.Same(t, req, in.Value)
		require.Nil(t, in.Params)
		require.Equal(t, "direct", in.Transport.Kind())
		require.Equal(t, wire.IntID(1), in.ID)
		return peer.Reply{Result: answer}, nil
	}))
	res, err := peer.SendRequest(t.Context(), c, req)
	require.NoError(t, err)
	require.Equal(t, answer, res)
	require.Same(t, answer.Content[0], res.Content[0], "shared, not copied")
}

func TestInProcessConvertsOtherTypes(t *testing.T) {
	c, _ := pair(t, peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		var other raw
		require.NoError(t, in.Decode(nil, &other))
		require.JSONEq(t, `{"name":"a"}`, string(other.RawMessage))
		return result(`{"content":[],"isError":true}`)
	}))
	res, err := peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "a"})
	require.NoError(t, err)
	require.True(t, res.IsError)

	c, _ = pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{"content":7}`) }))
	_, err = peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "a"})
	var bad *wire.DecodeError
	require.ErrorAs(t, err, &bad)
	require.Nil(t, peer.AsError(err))
}

func TestInProcessStrict(t *testing.T) {
	strict := func(client, server *jsonrpc.Options) {
		for _, o := range []*jsonrpc.Options{client, server} {
			o.Strict = true
			o.Frame = func(string) *wire.Frame { return &wire.Frame{Revision: mcp.Revision20241105} }
		}
	}
	var notes []string
	c, s := pair(t, peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		require.Nil(t, in.Value)
		if in.ID.IsZero() {
			notes = append(notes, in.Method+string(in.Params))
			return peer.Reply{}, nil
		}
		require.JSONEq(t, `{"name":"a","_meta":{"progressToken":1}}`, string(in.Params))
		require.Equal(t, wire.IntToken(1), in.Token)
		return peer.Reply{
			Result: &mcp.CallToolResult{StructuredContent: json.RawMessage(`{}`)},
			Frame:  &wire.Frame{Revision: mcp.Revision20241105},
		}, nil
	}), strict)
	ctx := t.Context()
	res, err := peer.SendRequest(ctx, c, &mcp.CallToolRequest{Name: "a", InputResponses: map[string]mcp.InputResponse{}}, peer.OnProgress(func(peer.Progress) {}))
	require.NoError(t, err)
	require.Nil(t, res.StructuredContent, "the revision has no such member")

	_, err = peer.SendRequest(ctx, c, &mcp.CallToolRequest{Name: "a", Arguments: json.RawMessage("{")})
	var invalid *wire.EncodeError
	require.ErrorAs(t, err, &invalid)
	require.Error(t, c.Notify(ctx, &changed{raw{[]byte("{")}}))
	require.NoError(t, c.Notify(ctx, &changed{}))
	require.NoError(t, c.Notify(ctx, &changed{raw{[]byte(`{"a":1}`)}}))
	s.Close()
	require.Equal(t, []string{"x/changed", `x/changed{"a":1}`}, notes)
}

func TestInProcessCallOptionFrame(t *testing.T) {
	var params []string
	c, s := pair(t, peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		params = append(params, string(in.Params))
		return peer.Reply{Result: &mcp.CallToolResult{StructuredContent: json.RawMessage(`{}`)}}, nil
	}), func(client, server *jsonrpc.Options) { client.Strict, server.Strict = true, true })
	own := peer.WithFrame(&wire.Frame{Revision: mcp.Revision20241105, Meta: []wire.Entry{{Name: "x", Value: []byte("1")}}})
	res, err := peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "a"}, own)
	require.NoError(t, err)
	require.Contains(t, res.Extra, "structuredContent")
	require.NoError(t, c.Notify(t.Context(), &mcp.RootsListChangedNotification{}, own))
	s.Close()
	require.Equal(t, []string{`{"name":"a","_meta":{"x":1}}`, `{"_meta":{"x":1}}`}, params)
}

func TestInProcessHandlerErrors(t *testing.T) {
	h := handlers{
		"ping":                     func(context.Context, *peer.Inbound) (peer.Reply, error) { return peer.Reply{}, errBroken },
		"tools/list":               func(context.Context, *peer.Inbound) (peer.Reply, error) { panic(errBroken) },
		"resources/templates/list": func(context.Context, *peer.Inbound) (peer.Reply, error) { return peer.Reply{}, nil },
		"prompts/list": func(context.Context, *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{}, &peer.Error{Code: 7, Message: "No"}
		},
	}
	var e *peer.Error
	c, _ := pair(t, h)
	for req, code := range map[peer.Message]int64{
		&mcp.PingRequest{}: -32603, &mcp.ListToolsRequest{}: -32603, &mcp.ListResourceTemplatesRequest{}: -32603,
		&mcp.ListPromptsRequest{}: 7, &mcp.ListResourcesRequest{}: -32601,
	} {
		err := c.Call(t.Context(), req, &raw{})
		require.ErrorAs(t, err, &e)
		require.Equal(t, code, e.Code)
		require.NotErrorIs(t, err, errBroken, "the caller does not get the cause")
	}

	c, _ = pair(t, h, func(client, _ *jsonrpc.Options) { client.Debug = true })
	err := c.Call(t.Context(), &mcp.PingRequest{}, &raw{})
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, errBroken)
	require.ErrorIs(t, c.Call(t.Context(), &mcp.ListToolsRequest{}, &raw{}), errBroken)
	require.Error(t, c.Call(t.Context(), &mcp.ListResourceTemplatesRequest{}, &raw{}))

	c, _ = pair(t, nil)
	require.ErrorAs(t, c.Call(t.Context(), &mcp.PingRequest{}, nil), &e)
	require.EqualValues(t, -32601, e.Code)
}

func TestInProcessIDs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var ids []wire.RequestID
		c, s := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			ids = append(ids, in.ID)
			return untilDone(ctx, in)
		}), func(_, server *jsonrpc.Options) { server.MaxInFlight = 9 })
		two := ping(t.Context(), c, peer.WithID(wire.StringID("2")))
		var inUse *jsonrpc.IDInUseError
		require.ErrorAs(t, ping(t.Context(), c, peer.WithID(wire.IntID(2))).over(t), &inUse)
		for range 8 {
			ping(t.Context(), c)
		}
		require.Equal(t, []wire.RequestID{wire.StringID("2"), wire.IntID(1), wire.IntID(3)}, ids[:3])
		require.Len(t, s.InFlight().IDs(), 9)
		var full *peer.Error
		require.ErrorAs(t, start(func() error { return c.Call(t.Context(), &waitRequest{}, &raw{}) }).over(t), &full)

		require.True(t, s.InFlight().Cancel(wire.IntID(2)))
		require.False(t, s.InFlight().Cancel(wire.IntID(77)))
		var cancelled *jsonrpc.CancelledError
		require.ErrorAs(t, two.over(t), &cancelled)
		s.Close()
	})
}

func TestInProcessContextEndsHandler(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		var notes []string
		var cause error
		c, _ := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.ID.IsZero() {
				notes = append(notes, in.Method)
				return peer.Reply{}, nil
			}
			require.Equal(t, "caller", ctx.Value(key{}))
			<-ctx.Done()
			cause = context.Cause(ctx)
			return result(`{}`)
		}))
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "caller"))
		call := ping(ctx, c)
		cancel(errBroken)
		require.ErrorIs(t, call.over(t), context.Canceled)
		require.ErrorIs(t, call.err, errBroken)
		require.ErrorIs(t, cause, errBroken)
		require.ErrorIs(t, ping(ctx, c).over(t), errBroken)
		require.NoError(t, c.Notify(ctx, &changed{}), "dropped")

		begun := time.Now()
		var late *peer.TimeoutError
		require.ErrorAs(t, start(func() error {
			return c.Call(context.WithValue(t.Context(), key{}, "caller"), &mcp.PingRequest{}, &raw{}, peer.WithTimeout(0))
		}).over(t), &late)
		call = start(func() error {
			return c.Call(context.WithValue(t.Context(), key{}, "caller"), &mcp.PingRequest{}, &raw{})
		})
		<-call.done
		require.ErrorAs(t, call.err, &late)
		require.Equal(t, time.Minute, time.Since(begun))
		synctest.Wait() // the call does not wait for its handler
		require.ErrorAs(t, cause, &late)
		require.Empty(t, notes, "no notification is sent")
	})
}

func TestInProcessProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var kept peer.BackChannel
		c, s := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			kept = in.Back
			for _, done := range []float64{1, 2, 2, 1, 3} {
				time.Sleep(20 * time.Second) // each report restarts the timeout
				require.NoError(t, in.Back.Progress(ctx, peer.Progress{Progress: done}))
			}
			return result(`{}`)
		}))
		var reports []float64
		call := ping(t.Context(), c, peer.OnProgress(func(p peer.Progress) {
			if p.Progress == 1 {
				panic("callback")
			}
			reports = append(reports, p.Progress)
		}))
		time.Sleep(50 * time.Second)
		require.NoError(t, s.Notify(t.Context(), &mcp.ProgressNotification{ProgressToken: wire.StringToken("1"), Progress: 2.5}), "a notification with the progress token")
		<-call.done
		require.NoError(t, call.err)
		require.Equal(t, []float64{2, 2.5, 3}, reports)
		require.NoError(t, kept.Progress(t.Context(), peer.Progress{Progress: 9}))
		require.NoError(t, kept.Notify(t.Context(), &changed{}))
		var none *peer.NoBackChannelError
		require.ErrorAs(t, ping(t.Context(), kept).over(t), &none)
		require.True(t, none.Returned)
		require.Len(t, reports, 3)
	})
}

func TestInProcessProgressNotification(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			report := &mcp.ProgressNotification{ProgressToken: in.Token, Progress: 1}
			require.False(t, outbound.TryNotify(in.Back, report, nil), "the callback may block")
			require.NoError(t, in.Back.Notify(ctx, report))
			require.NoError(t, in.Back.Notify(ctx, report), "the progress does not increase")
			return result(`{}`)
		}))
		var reports []float64
		call := ping(t.Context(), c, peer.OnProgress(func(p peer.Progress) { reports = append(reports, p.Progress) }))
		require.NoError(t, call.over(t))
		require.Equal(t, []float64{1}, reports)
	})
}

func TestInProcessBackChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		c, s := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			require.NoError(t, in.Back.Notify(ctx, &changed{}))
			_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
			return peer.Reply{Result: &mcp.EmptyResult{}}, err
		}), func(client, _ *jsonrpc.Options) {
			client.InterceptNotification = func(in *peer.Inbound) bool { seen = append(seen, "intercept "+in.Method); return false }
			client.Handler = peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.ID.IsZero() {
					seen = append(seen, "handle "+in.Method)
				}
				return peer.Reply{Result: &mcp.EmptyResult{}}, nil
			})
		})
		require.NoError(t, ping(t.Context(), c).over(t))
		require.NoError(t, s.Notify(t.Context(), &mcp.ToolListChangedNotification{}))
		synctest.Wait()
		require.Equal(t, "intercept x/changed", seen[0])
		require.Len(t, seen, 4)
	})
}

func TestInProcessBackChannelContext(t *testing.T) {
	type key string
	bubble(t, func(t *testing.T) {
		seen, ends := make(chan any, 4), make(chan error, 2)
		asks := func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			ctx = context.WithValue(context.WithValue(ctx, key("both"), "handler"), key("one"), "handler")
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			require.NoError(t, in.Back.Notify(ctx, &changed{}))
			_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
			ends <- err
			return result(`{}`)
		}
		c, _ := pair(t, handlers{"ping": asks, "x/changed": asks}, func(client, _ *jsonrpc.Options) {
			client.Handler = peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				require.Equal(t, "handler", ctx.Value(key("one")))
				seen <- ctx.Value(key("both"))
				if in.ID.IsZero() {
					return peer.Reply{}, nil
				}
				return untilDone(ctx, in)
			})
		})
		ctx := context.WithValue(t.Context(), key("both"), "caller")
		call := ping(ctx, c)
		require.NoError(t, c.Notify(ctx, &changed{}))
		for range 2 {
			require.Equal(t, "caller", <-seen)
			require.Equal(t, "caller", <-seen)
			require.ErrorIs(t, <-ends, context.DeadlineExceeded)
		}
		require.NoError(t, call.over(t))
	})
}

func TestInProcessCancelNotification(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := pair(t, peer.HandlerFunc(untilDone))
		call := ping(t.Context(), c)
		require.NoError(t, c.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(1), Reason: "enough"}))
		var cancelled *jsonrpc.CancelledError
		require.ErrorAs(t, call.over(t), &cancelled)
		require.Equal(t, "enough", cancelled.Reason)
	})
}

// A handler that ignores its context does not keep the caller, as over a wire.
func TestInProcessCallLeavesHandlerBehind(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, c *jsonrpc.InProcessConn, cancel func()){
		"context":  func(_ *testing.T, _ *jsonrpc.InProcessConn, cancel func()) { cancel() },
		"timeout":  func(*testing.T, *jsonrpc.InProcessConn, func()) { time.Sleep(time.Minute) },
		"shutdown": func(_ *testing.T, c *jsonrpc.InProcessConn, _ func()) { go c.Close() }, // returns with the handler
		"cancelled": func(t *testing.T, c *jsonrpc.InProcessConn, _ func()) {
			require.NoError(t, c.Notify(t.Context(), &mcp.CancelledNotification{RequestID: wire.IntID(1)}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				c, s := pair(t, slow(release))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				call := ping(ctx, c)
				synctest.Wait()
				end(t, c, cancel)
				require.Error(t, call.over(t), "before the handler returns")
				require.Len(t, s.InFlight().IDs(), 1)
				close(release)
				synctest.Wait()
				require.Empty(t, s.InFlight().IDs())
			})
		})
	}
}

func TestInProcessHandlerEndsGoroutine(t *testing.T) {
	c, s := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		runtime.Goexit()
		return peer.Reply{}, nil
	}))
	require.Error(t, c.Call(t.Context(), &mcp.PingRequest{}, &raw{}))
	require.Empty(t, s.InFlight().IDs())
}

// Goroutines wait for the next request, but not as many as there were requests at once.
func TestInProcessKeepsSomeGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, _ := pair(t, slow(release), func(_, server *jsonrpc.Options) { server.MaxInFlight = -1 })
		count := func() int {
			synctest.Wait()
			runtime.GC() // stops the world, so that goroutines that have just ended are not counted
			return runtime.NumGoroutine()
		}
		before := count()
		handle := func(requests int) (kept int) {
			for range requests {
				ping(t.Context(), c)
			}
			synctest.Wait()
			for range requests {
				release <- struct{}{}
			}
			return count() - before
		}
		require.Equal(t, 1, handle(1))
		require.Equal(t, 1, handle(1), "the goroutine is used again")
		require.Equal(t, 64, handle(200))
	})
}

// Callers give up while handlers return: each call ends once, and nothing remains.
func TestInProcessCallsEndWhileHandlersReturn(t *testing.T) {
	c, s := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return result(`{}`) }),
		func(_, server *jsonrpc.Options) { server.MaxInFlight = -1 })
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 1250 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				if err := c.Call(ctx, &mcp.PingRequest{}, &raw{}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	require.NoError(t, s.Drain(t.Context()))
	require.Empty(t, s.InFlight().IDs())
}

func TestInProcessShutdown(t *testing.T) {
	for _, end := range []string{"client", "server"} {
		bubble(t, func(t *testing.T) {
			var cause error
			var seen int
			c, s := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				<-ctx.Done()
				if in.ID.IsZero() {
					seen++
					return peer.Reply{}, nil
				}
				cause = context.Cause(ctx)
				return result(`{}`)
			}))
			pending := ping(t.Context(), c)
			require.NoError(t, c.Notify(t.Context(), &changed{}))
			require.NoError(t, c.Notify(t.Context(), &changed{}))
			synctest.Wait()
			if end == "client" {
				c.Shutdown(t.Context(), errBroken)
			} else {
				s.Shutdown(t.Context(), errBroken)
			}
			for _, got := range []*call{pending, ping(t.Context(), c), ping(t.Context(), s)} {
				var closed *peer.ClosedError
				require.ErrorAs(t, got.over(t), &closed)
				require.ErrorIs(t, closed, errBroken)
				require.Equal(t, got != pending, closed.Unsent)
			}
			require.ErrorIs(t, cause, jsonrpc.ErrClosed)
			require.NoError(t, c.Notify(t.Context(), &changed{}))
			require.NoError(t, s.Notify(t.Context(), &changed{}))
			require.Equal(t, 2, seen)
			<-c.Done()
			<-s.Done()
		})
	}
}

func TestInProcessRefuseRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, s := pair(t, slow(release))
		pending := ping(t.Context(), c)
		s.RefuseRequests(&peer.Error{Code: mcp.CodeInternal, Message: "Closing time"})
		require.ErrorContains(t, ping(t.Context(), c).over(t), "Closing time")
		require.ErrorContains(t, ping(t.Context(), s).over(t), "Method not found", "the other end still accepts requests")
		close(release)
		require.NoError(t, pending.over(t))
	})
}

func TestInProcessDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		c, s := pair(t, handlers{"ping": slow(release), "subscriptions/listen": func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), jsonrpc.ErrPeerDone)
			return result(`{}`)
		}})
		require.NoError(t, s.Drain(t.Context()), "no requests")
		pending := ping(t.Context(), c)
		listening := start(func() error {
			return c.Call(t.Context(), &mcp.SubscriptionsListenRequest{}, &raw{}, peer.WithTimeout(-1))
		})
		require.NoError(t, c.Drain(t.Context()), "the client handles no requests")
		require.False(t, listening.isOver())
		drain := start(func() error { return s.Drain(t.Context()) })
		require.False(t, drain.isOver())
		require.NoError(t, listening.over(t), "Drain ends subscriptions")

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBroken)
		defer cancel()
		require.ErrorIs(t, s.Drain(ctx), errBroken)

		release <- struct{}{}
		require.NoError(t, drain.over(t))
		require.NoError(t, pending.over(t))

		pending = ping(t.Context(), c)
		drain = start(func() error { return s.Drain(t.Context()) })
		closing := start(s.Close)
		require.ErrorIs(t, drain.over(t), jsonrpc.ErrClosed)
		close(release)
		require.NoError(t, closing.over(t))
		require.Error(t, pending.over(t))
	})
}

func TestInProcessWithoutBackChannel(t *testing.T) {
	var err, plain error
	c, _ := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		_, err = peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
		_, plain = peer.SendRequest(ctx, outbound.None{}, &mcp.PingRequest{})
		return result(`{}`)
	}), func(_, server *jsonrpc.Options) {
		server.Transport = peer.NewTransportContext("direct", false, nil, "")
	})
	_, callErr := peer.SendRequest(t.Context(), c, &mcp.PingRequest{})
	require.NoError(t, callErr)
	require.Equal(t, plain, err)
}

func TestInProcessCallWithEndedContext(t *testing.T) {
	c, _ := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		require.Fail(t, "the context has ended")
		return peer.Reply{}, nil
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBroken)
	_, err := peer.SendRequest(ctx, c, &mcp.PingRequest{})
	require.ErrorIs(t, err, errBroken)
}

func TestInProcessCallsAreRemoved(t *testing.T) {
	c, s := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}), func(_, server *jsonrpc.Options) { server.MaxInFlight = 2 })
	for range 10 {
		_, err := peer.SendRequest(t.Context(), c, &mcp.PingRequest{}, peer.WithID(wire.IntID(7)))
		require.NoError(t, err)
	}
	require.Empty(t, s.InFlight().IDs())
}

func TestInProcessBackChannelAfterTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var received []string
		var asked error
		c, _ := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			still := context.WithoutCancel(ctx)
			require.NoError(t, in.Back.Notify(still, &changed{}))
			require.NoError(t, in.Back.Progress(still, peer.Progress{Progress: 1}))
			_, asked = peer.SendRequest(still, in.Back, &mcp.PingRequest{})
			return result(`{}`)
		}), func(client, _ *jsonrpc.Options) {
			client.Handler = peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				received = append(received, in.Method)
				return result(`{}`)
			})
		})
		call := ping(t.Context(), c, peer.WithTimeout(time.Second), peer.OnProgress(func(peer.Progress) { received = append(received, "progress") }))
		time.Sleep(time.Second)
		require.ErrorAs(t, call.over(t), new(*peer.TimeoutError))
		require.ErrorAs(t, asked, new(*peer.NoBackChannelError))
		require.Empty(t, received)
	})
}

func TestInProcessNotifications(t *testing.T) {
	type key struct{}
	bubble(t, func(t *testing.T) {
		var kept peer.BackChannel
		var asked error
		var value any
		ended := true
		received, back := 0, 0
		c, s := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if received++; received == 1 {
				panic("first handler")
			}
			time.Sleep(time.Second) // the context of the sender has ended
			kept, value, ended = in.Back, ctx.Value(key{}), ctx.Err() != nil
			_, asked = peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
			return peer.Reply{}, in.Back.Notify(ctx, &changed{})
		}), func(client, _ *jsonrpc.Options) {
			client.Handler = peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				back++
				return result(`{}`)
			})
		})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "sender"))
		require.NoError(t, c.Notify(ctx, &changed{}))
		require.NoError(t, c.Notify(ctx, &changed{}))
		cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 2, received, "the second handler runs")
		require.NoError(t, asked, "handlers of notifications may call the peer")
		require.Equal(t, "sender", value)
		require.False(t, ended, "the sender's context does not end the handler")
		require.Equal(t, 2, back)

		require.NoError(t, kept.Notify(t.Context(), &changed{}))
		require.NoError(t, kept.Progress(t.Context(), peer.Progress{Progress: 1}))
		require.Equal(t, &peer.NoBackChannelError{Method: "ping", Returned: true}, ping(t.Context(), kept).over(t))
		require.Equal(t, 2, back, "the handler has returned")
		require.NoError(t, s.Notify(t.Context(), &changed{}))
		synctest.Wait()
		require.Equal(t, 3, back)
	})
}

func TestInProcessNotificationLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		var seen, dropped int
		c, s := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			<-release
			seen++
			_, err := peer.SendRequest(ctx, in.Back, &mcp.PingRequest{})
			require.Equal(t, &peer.NoBackChannelError{Method: "ping"}, err, "the transport has no back channel")
			return peer.Reply{}, nil
		}), func(_, server *jsonrpc.Options) {
			server.MaxQueuedNotifications = 3
			server.Transport = peer.NewTransportContext("direct", false, nil, "")
			server.InterceptNotification = func(in *peer.Inbound) bool { return in.Method != "x/changed" }
			server.OnError = func(err error) {
				require.ErrorIs(t, err, jsonrpc.ErrTooManyQueued)
				dropped++
			}
		})
		require.NoError(t, c.Notify(t.Context(), &mcp.RootsListChangedNotification{}))
		require.NoError(t, c.Notify(t.Context(), &changed{}))
		synctest.Wait()
		for range 5 {
			require.NoError(t, c.Notify(t.Context(), &changed{}))
		}
		require.NoError(t, s.Notify(t.Context(), &changed{}), "this end has no handler")
		close(release)
		synctest.Wait()
		require.Equal(t, []int{4, 2}, []int{seen, dropped})
	})
}

// panicking is a result that panics when it is encoded.
type panicking struct{ raw }

func (*panicking) AppendJSON([]byte, *wire.Encoder) []byte { panic("encode") }

func TestResultPanicsDuringEncoding(t *testing.T) {
	h := peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: new(panicking)}, nil
	})
	c, _ := pair(t, h)
	_, err := peer.SendRequest(t.Context(), c, &mcp.PingRequest{})
	var e *peer.Error
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, -32603, e.Code)

	bubble(t, func(t *testing.T) {
		conn, r := newConn(t, &jsonrpc.Options{Handler: h})
		deliver(conn, request(1, "x"))
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error"}}`}, r.take())
	})
}

func TestInProcessTimeouts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _ := pair(t, peer.HandlerFunc(untilDone))
		begun := time.Now()
		long, short := ping(t.Context(), c, peer.WithTimeout(30*time.Second)), ping(t.Context(), c, peer.WithTimeout(5*time.Second))
		<-short.done
		require.Equal(t, 5*time.Second, time.Since(begun))
		require.False(t, long.isOver())
		<-long.done
		require.Equal(t, 30*time.Second, time.Since(begun))
	})
}

func TestInProcessLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, output := logs()
		c, _ := pair(t, peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{}, errBroken
		}), func(_, server *jsonrpc.Options) { server.Logger = log })
		require.NotErrorIs(t, ping(t.Context(), c).over(t), errBroken)
		require.NoError(t, c.Notify(t.Context(), &changed{}))
		synctest.Wait()
		for _, method := range []string{"ping", "x/changed"} {
			require.Contains(t, output.String(), `level=ERROR msg="handler failed" method=`+method)
		}
	})
}

func TestInProcessStoppedHandlerIsNotLoggedAsError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, output := logs()
		c, _ := pair(t, handlers{"ping": untilDone}, func(_, server *jsonrpc.Options) { server.Logger = log })
		ctx, cancel := context.WithCancel(t.Context())
		call := ping(ctx, c)
		cancel()
		require.ErrorIs(t, call.over(t), context.Canceled)
		require.Contains(t, output.String(), `level=DEBUG msg="handler stopped" method=ping`)
		require.NotContains(t, output.String(), "level=ERROR")
	})
}

func TestInProcessTimeoutSuspendedDuringQuestions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		user := peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			time.Sleep(5 * time.Minute)
			return result(`{}`)
		})
		c, _ := pair(t, peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			err := in.Back.Call(ctx, &mcp.PingRequest{}, &raw{}, peer.WithMaxTimeout())
			<-ctx.Done()
			return peer.Reply{}, err
		}), func(client, _ *jsonrpc.Options) { client.Client, client.Handler = true, user })
		begun, call := time.Now(), ping(t.Context(), c)
		<-call.done
		require.ErrorAs(t, call.err, new(*peer.TimeoutError))
		require.Equal(t, 6*time.Minute, time.Since(begun), "a minute after the question was answered")
	})
}
