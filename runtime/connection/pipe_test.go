package connection_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// numbered is a notification with a number.
type numbered struct{ n int64 }

var numberedMembers = wire.NewMembers("numbered", wire.Member{Name: "n", In: wire.Always})

func (*numbered) Method() string { return "notifications/acme/numbered" }

func (*numbered) IsNotification() {}

func (x *numbered) AppendParams(b []byte, _ *wire.Encoder) []byte {
	return append(wire.AppendInt(append(b, `{"n":`...), x.n), '}')
}

func (x *numbered) DecodeParams(d *wire.Decoder) {
	for o := d.Object(numberedMembers); o.Next(); {
		if o.Name == "" {
			d.Skip()
			continue
		}
		x.n = d.Int(0, 1000)
	}
}

type tagKey struct{}

// handledEarly sends count notifications and then the first request. It returns the numbers of the
// notifications and the method of the request in the order in which they were handled.
func handledEarly(t *testing.T, count int, first *peer.Inbound) []string {
	var seen []string
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		peer.HandleNotification(o.Mux, func(ctx context.Context, n *numbered) error {
			seen = append(seen, fmt.Sprintf("%d %v %s", n.n, ctx.Value(tagKey{}), connection.FromContext(ctx).Revision().String()))
			return mcp.SessionFromContext(ctx).SendProgress(ctx, &mcp.ProgressNotification{ProgressToken: wire.IntToken(1)})
		})
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if !in.ID.IsZero() {
					seen = append(seen, in.Method)
				}
				return next.Handle(ctx, in)
			})
		}}
	})
	d := connection.NewPipe(k, nil)
	for n := range count {
		params := []byte(fmt.Sprintf(`{"n":%d}`, n))
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), tagKey{}, "tag"))
		in := notification("notifications/acme/numbered", string(params), nil)
		in.Params = params
		_, err := d.Handle(ctx, in)
		require.NoError(t, err)
		cancel()
		clear(params) // the transport reuses its buffer
	}
	require.Empty(t, seen, "a notification does not decide about the revision")
	require.Nil(t, d.Connection())
	_, err := d.Handle(t.Context(), first)
	require.NoError(t, err)
	return seen
}

func TestPipeHandlesEarlyNotificationsFirst(t *testing.T) {
	require.Equal(t, []string{
		"0 tag 2026-07-28", "1 tag 2026-07-28", "2 tag 2026-07-28", "tools/call",
	}, handledEarly(t, 3, request("tools/call", `{"name":"x",`+minimalParams[1:], nil)))
}

func TestPipeNotificationsHaveTheRevisionOfTheFirstRequest(t *testing.T) {
	var seen []string
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		later := wire.NewRevision(len(mcp.Revisions), "2999-01-01")
		o.Revisions = []wire.Revision{mcp.Revision20250326, mcp.Revision20260728, later}
		peer.HandleNotification(o.Mux, func(ctx context.Context, n *numbered) error {
			seen = append(seen, connection.FromContext(ctx).Revision().String())
			return nil
		})
	})
	numbered := func(h http.Header) *peer.Inbound {
		in := notification("notifications/acme/numbered", `{"n":1}`, nil)
		in.Transport = peer.NewTransportContext("", false, h, "")
		return in
	}
	d := connection.NewPipe(k, nil)
	_, err := d.Handle(t.Context(), numbered(nil))
	require.NoError(t, err)
	_, err = d.Handle(t.Context(), request("tools/call", `{"name":"x",`+minimalParams[1:], nil))
	require.NoError(t, err)
	_, err = d.Handle(t.Context(), numbered(nil))
	require.NoError(t, err)
	require.Equal(t, mcp.Revision20260728, d.Frame("x").Revision)
	for _, h := range []http.Header{header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Protocol-Version", "2025-03-26"), nil} {
		_, err = k.ServeStateless(t.Context(), numbered(h), nil)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"2026-07-28", "2026-07-28", "2026-07-28", "2999-01-01", "2999-01-01"}, seen)
}

func TestPipeLimitsEarlyNotifications(t *testing.T) {
	seen := handledEarly(t, 20, request("tools/call", `{"name":"x",`+minimalParams[1:], nil))
	require.Len(t, seen, 9)
	require.Equal(t, "7 tag 2026-07-28", seen[7])
}

func TestPipeDropsNotificationsBeforeHandshake(t *testing.T) {
	require.Equal(t, []string{"initialize"}, handledEarly(t, 3, request("initialize", handshakeParams, nil)))
}

func TestPipeAcceptsEarlyInitialized(t *testing.T) {
	d := connection.NewPipe(newDispatcher(nil), nil)
	_, err := d.Handle(t.Context(), notification(mcp.MethodInitialized, ``, nil))
	require.NoError(t, err)
	_, err = d.Handle(t.Context(), request("tools/call", `{"name":"x"}`, nil))
	require.NoError(t, err)
	require.True(t, d.Connection().State().Initialized())
}

func TestPipeModeDoesNotChangeDuringRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			peer.Handle(o.Mux, func(context.Context, *lateRequest) (*weather, error) {
				<-free
				return &weather{"late"}, nil
			})
		})
		d := connection.NewPipe(k, nil)
		done := make(chan error, 1)
		go func() { // ends when free is closed
			_, err := d.Handle(t.Context(), request("acme/late", minimalParams, nil))
			done <- err
		}()
		synctest.Wait()
		_, err := d.Handle(t.Context(), request("initialize", handshakeParams, nil))
		require.EqualValues(t, mcp.CodeUnsupportedProtocolVersion, peer.AsError(err).Code)
		close(free)
		require.NoError(t, <-done)
	})
}

// Clients of both kinds of revision try server/discover first.
func TestPipeIsInitializedAfterDiscover(t *testing.T) {
	refuse := false
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if refuse && in.Method == mcp.MethodDiscover {
					return peer.Reply{}, &peer.Error{Code: mcp.CodeMethodNotFound, Message: "no"}
				}
				return next.Handle(ctx, in)
			})
		}}
	})
	for _, refuse = range []bool{false, true} {
		d := connection.NewPipe(k, &connection.Options{DefaultRevision: mcp.Revision20250326})
		for range 2 {
			discover := request("server/discover", minimalParams, nil)
			d.OnRequest(discover)
			_, err := d.Handle(t.Context(), discover)
			require.Equal(t, refuse, err != nil)
		}
		require.Nil(t, d.Connection())
		first := request("initialize", handshakeParams, nil)
		d.OnRequest(first)
		_, err := d.Handle(t.Context(), first)
		require.NoError(t, err)
		require.NotNil(t, d.Connection())
		_, err = d.Handle(t.Context(), request("server/discover", minimalParams, nil))
		require.EqualValues(t, mcp.CodeInvalidRequest, peer.AsError(err).Code, "and never back")
		_, err = d.Handle(t.Context(), request("ping", "{}", nil))
		require.NoError(t, err)
	}
}

func TestPipeConcurrentFirstRequests(t *testing.T) {
	d := connection.NewPipe(newDispatcher(nil), nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := d.Handle(t.Context(), request("tools/call", `{"name":"x",`+minimalParams[1:], nil))
			require.NoError(t, err)
		})
		wg.Go(func() {
			_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", `{"n":1}`, nil))
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.Nil(t, d.Connection())
}

func TestPipeFirstArrivedRequestDecides(t *testing.T) {
	modern, old := request("tools/call", `{"name":"x",`+minimalParams[1:], nil), request("initialize", handshakeParams, nil)
	d := connection.NewPipe(newDispatcher(nil), nil)
	d.OnRequest(modern)
	d.OnRequest(old)
	_, err := d.Handle(t.Context(), old)
	require.EqualValues(t, mcp.CodeUnsupportedProtocolVersion, peer.AsError(err).Code)
	_, err = d.Handle(t.Context(), modern)
	require.NoError(t, err)

	d = connection.NewPipe(newDispatcher(nil), nil)
	d.OnRequest(old)
	d.OnRequest(modern)
	_, err = d.Handle(t.Context(), modern)
	require.EqualValues(t, mcp.CodeInvalidRequest, peer.AsError(err).Code)
	_, err = d.Handle(t.Context(), old)
	require.NoError(t, err)
}

func TestPipeHandlesNotificationsInOrder(t *testing.T) {
	var seen []int64
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		peer.HandleNotification(o.Mux, func(_ context.Context, n *numbered) error {
			seen = append(seen, n.n)
			if n.n == 1 {
				panic("one")
			}
			return nil
		})
	})
	log := new(testLog)
	d := connection.NewPipe(k, &connection.Options{Logger: slog.New(log)})
	send := func(n int) {
		_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", fmt.Sprintf(`{"n":%d}`, n), nil))
		require.NoError(t, err)
	}
	send(1)
	send(2)
	first := request("tools/call", `{"name":"x",`+minimalParams[1:], nil)
	d.OnRequest(first) // its handler has not been called
	send(3)
	_, err := d.Handle(t.Context(), first)
	require.NoError(t, err, "the panic of a notification handler has no effect on the request")
	require.Equal(t, []int64{1, 2, 3}, seen)
	require.Equal(t, 1, log.count())
}

func TestPipeHandshakeHasOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, inFlight := new(channel), &fakeInFlight{cancelled: map[wire.RequestID]int{}}
		d := connection.NewPipe(newDispatcher(nil), &connection.Options{Logger: slog.Default()})
		d.Attach(out, inFlight)
		require.Equal(t, mcp.LatestRevision, d.Frame("x").Revision)
		require.False(t, d.Batches())
		_, err := d.Handle(t.Context(), request("initialize", handshakeParams, nil))
		require.NoError(t, err)
		conn := d.Connection()
		require.True(t, d.Batches())
		require.Equal(t, mcp.Revision20250326, d.Frame("x").Revision)
		require.True(t, conn.HasStandaloneChannel())
		require.True(t, conn.State().InFlight().Cancel(wire.IntID(4)))

		closed := false
		conn.OnClose(func(context.Context) error { closed = true; return nil })
		d.Close(t.Context())
		require.True(t, closed)
	})
}

func TestPipeCloseBeforeFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := connection.NewPipe(newDispatcher(nil), nil)
		d.Close(t.Context())
		_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", `{"n":1}`, nil))
		require.NoError(t, err)
		d.Close(t.Context())
	})
}

func TestPipeStatelessRequestsShareOnlyInFlight(t *testing.T) {
	key := connection.NewKey[int]("n")
	inFlight := &fakeInFlight{cancelled: map[wire.RequestID]int{}}
	seen := map[*connection.Connection]bool{}
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
			conn := connection.FromContext(ctx)
			seen[conn] = true
			require.Equal(t, 1, key.Update(conn.State(), func(n int) int { return n + 1 }))
			require.True(t, conn.State().InFlight().Cancel(wire.IntID(1)))
			return &weather{}, nil
		})
	})
	d := connection.NewPipe(k, nil)
	d.Attach(new(channel), inFlight)
	for range 3 {
		_, err := d.Handle(t.Context(), request("acme/late", minimalParams, nil))
		require.NoError(t, err)
	}
	require.Len(t, seen, 3)
	require.Equal(t, 3, inFlight.cancelled[wire.IntID(1)])
}

func TestPipeLogsFailedEarlyNotification(t *testing.T) {
	log := new(testLog)
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.ID.IsZero() {
					return peer.Reply{}, fmt.Errorf("%q not allowed", in.Method)
				}
				return next.Handle(ctx, in)
			})
		}}
	})
	d := connection.NewPipe(k, &connection.Options{Logger: slog.New(log)})
	_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", ``, nil))
	require.NoError(t, err)
	_, err = d.Handle(t.Context(), request("tools/call", `{"name":"x",`+minimalParams[1:], nil))
	require.NoError(t, err)
	require.Equal(t, 1, log.count())
}

func TestPipeHandlesLaterNotificationsImmediately(t *testing.T) {
	for name, first := range map[string]*peer.Inbound{
		"handshake": request("initialize", handshakeParams, nil),
		"stateless": request("tools/call", `{"name":"x",`+minimalParams[1:], nil),
	} {
		var seen []int64
		d := connection.NewPipe(newDispatcher(func(o *connection.DispatcherOptions) {
			peer.HandleNotification(o.Mux, func(_ context.Context, n *numbered) error {
				seen = append(seen, n.n)
				return nil
			})
		}), nil)
		_, err := d.Handle(t.Context(), first)
		require.NoError(t, err)
		for n, params := range []string{`{"n":0}`, `{"n":1,` + minimalParams[1:]} {
			_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", params, nil))
			require.NoError(t, err)
			require.Len(t, seen, n+1, name)
		}
	}
}

func TestPipeInitializedTakesEffectOnArrival(t *testing.T) {
	d := connection.NewPipe(newDispatcher(nil), nil)
	confirmation := notification(mcp.MethodInitialized, ``, nil)
	first := request("initialize", handshakeParams, nil)
	d.OnRequest(first)
	require.False(t, d.InterceptNotification(notification("notifications/acme/numbered", `{"n":1}`, nil)))
	require.False(t, d.Connection().State().Initialized())
	_, err := d.Handle(t.Context(), first)
	require.NoError(t, err)
	require.False(t, d.InterceptNotification(confirmation), "the handler receives it, too")
	require.True(t, d.Connection().State().Initialized(), "before the handler is called")
}

func TestPipeBatches(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		d := connection.NewPipe(newDispatcher(nil), nil)
		_, err := d.Handle(t.Context(), request("initialize", fmt.Sprintf(
			`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, version), nil))
		require.NoError(t, err)
		require.Equal(t, version == "2025-03-26", d.Batches(), version)
	}
	d := connection.NewPipe(newDispatcher(nil), nil)
	_, err := d.Handle(t.Context(), request("tools/call", `{"name":"x",`+minimalParams[1:], nil))
	require.NoError(t, err)
	require.False(t, d.Batches())
}

func TestHandshakePipeInProcess(t *testing.T) {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult("hi"), nil
	})
	pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux}), nil)
	serve := func(m peer.Message) error {
		_, err := pipe.Handle(t.Context(), &peer.Inbound{Method: m.Method(), ID: wire.IntID(1), Value: m, Back: outbound.None{}})
		return err
	}
	require.NoError(t, serve(&mcp.InitializeRequest{ProtocolVersion: "2025-11-25"}))
	require.NoError(t, serve(&mcp.CallToolRequest{Name: "greet"}), "a request without metadata")
	require.ErrorContains(t, serve(&messageWithMeta{&mcp.CallToolRequest{Name: "greet"}, fullMeta}), "has decided its revision")
}
