package connection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

const handshakeParams = `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`

// numbered is a notification that carries a number.
type numbered struct{ n int64 }

var numberedMembers = wire.NewMembers("numbered", wire.Member{Name: "n", In: wire.Always})

func (*numbered) Method() string  { return "notifications/acme/numbered" }
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

// early sends count notifications, then the first request, and returns what the
// handler of the notifications saw, the request's method at its place.
func early(t *testing.T, count int, first *peer.Inbound) []string {
	var seen []string
	k := newKernel(func(o *connection.DispatcherOptions) {
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
		clear(params) // the dispatcher uses its memory again
	}
	require.Empty(t, seen, "notifications do not decide")
	require.Nil(t, d.Connection())
	_, err := d.Handle(t.Context(), first)
	require.NoError(t, err)
	return seen
}

func TestWhatComesBeforeTheFirstRequestIsHandledBeforeIt(t *testing.T) {
	require.Equal(t, []string{
		"0 tag 2026-07-28", "1 tag 2026-07-28", "2 tag 2026-07-28", "tools/call",
	}, early(t, 3, request("tools/call", `{"name":"x",`+pair[1:], nil)))
}

func TestNotificationsAreOfTheRevisionThatTheClientSpeaks(t *testing.T) {
	var seen []string
	k := newKernel(func(o *connection.DispatcherOptions) {
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
	_, err = d.Handle(t.Context(), request("tools/call", `{"name":"x",`+pair[1:], nil))
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

func TestOnlyTheFirstEightAreKept(t *testing.T) {
	seen := early(t, 20, request("tools/call", `{"name":"x",`+pair[1:], nil))
	require.Len(t, seen, 9)
	require.Equal(t, "7 tag 2026-07-28", seen[7])
}

func TestWhatComesBeforeTheHandshakeIsDropped(t *testing.T) {
	require.Equal(t, []string{"initialize"}, early(t, 3, request("initialize", handshakeParams, nil)))
}

func TestABareConfirmationBeforeTheFirstRequestCounts(t *testing.T) {
	d := connection.NewPipe(newKernel(nil), nil)
	_, err := d.Handle(t.Context(), notification(mcp.MethodInitialized, ``, nil))
	require.NoError(t, err)
	_, err = d.Handle(t.Context(), request("tools/call", `{"name":"x"}`, nil))
	require.NoError(t, err)
	require.True(t, d.Connection().State().Initialized())
}

func TestTheEraStaysWhileRequestsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		k := newKernel(func(o *connection.DispatcherOptions) {
			peer.Handle(o.Mux, func(context.Context, *lateRequest) (*weather, error) {
				<-free
				return &weather{"late"}, nil
			})
		})
		d := connection.NewPipe(k, nil)
		done := make(chan error, 1)
		go func() { // ends when free is closed
			_, err := d.Handle(t.Context(), request("acme/late", pair, nil))
			done <- err
		}()
		synctest.Wait()
		_, err := d.Handle(t.Context(), request("initialize", handshakeParams, nil))
		require.EqualValues(t, mcp.CodeUnsupportedProtocolVersion, peer.AsError(err).Code)
		close(free)
		require.NoError(t, <-done)
	})
}

func TestManyFirstRequestsAgreeOnOneEra(t *testing.T) {
	d := connection.NewPipe(newKernel(nil), nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := d.Handle(t.Context(), request("tools/call", `{"name":"x",`+pair[1:], nil))
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

func TestTheRequestThatArrivesFirstDecidesWhicheverIsHandledFirst(t *testing.T) {
	modern, old := request("tools/call", `{"name":"x",`+pair[1:], nil), request("initialize", handshakeParams, nil)
	d := connection.NewPipe(newKernel(nil), nil)
	d.OnRequest(modern)
	d.OnRequest(old)
	_, err := d.Handle(t.Context(), old)
	require.EqualValues(t, mcp.CodeUnsupportedProtocolVersion, peer.AsError(err).Code)
	_, err = d.Handle(t.Context(), modern)
	require.NoError(t, err)

	d = connection.NewPipe(newKernel(nil), nil)
	d.OnRequest(old)
	d.OnRequest(modern)
	_, err = d.Handle(t.Context(), modern)
	require.EqualValues(t, mcp.CodeInvalidRequest, peer.AsError(err).Code)
	_, err = d.Handle(t.Context(), old)
	require.NoError(t, err)
}

func TestWhatCameEarlyIsHandledBeforeWhatCameLater(t *testing.T) {
	var seen []int64
	k := newKernel(func(o *connection.DispatcherOptions) {
		peer.HandleNotification(o.Mux, func(_ context.Context, n *numbered) error {
			seen = append(seen, n.n)
			if n.n == 1 {
				panic("one")
			}
			return nil
		})
	})
	log := new(journal)
	d := connection.NewPipe(k, &connection.Options{Logger: slog.New(log)})
	send := func(n int) {
		_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", fmt.Sprintf(`{"n":%d}`, n), nil))
		require.NoError(t, err)
	}
	send(1)
	send(2)
	first := request("tools/call", `{"name":"x",`+pair[1:], nil)
	d.OnRequest(first) // its handler has not begun
	send(3)
	_, err := d.Handle(t.Context(), first)
	require.NoError(t, err, "what a notification's handler did is not its fault")
	require.Equal(t, []int64{1, 2, 3}, seen)
	require.Equal(t, 1, log.count())
}

func TestAHandshakePipeHasOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, inFlight := new(channel), &table{cancelled: map[wire.RequestID]int{}}
		d := connection.NewPipe(newKernel(nil), &connection.Options{Logger: slog.Default()})
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

func TestAPipeThatEndsBeforeItsFirstRequestClosesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := connection.NewPipe(newKernel(nil), nil)
		d.Close(t.Context())
		_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", `{"n":1}`, nil))
		require.NoError(t, err)
		d.Close(t.Context())
	})
}

func TestRequestsOfAnEnvelopePipeShareTheTableAndNothingElse(t *testing.T) {
	key := connection.NewKey[int]("n")
	inFlight := &table{cancelled: map[wire.RequestID]int{}}
	seen := map[*connection.Connection]bool{}
	k := newKernel(func(o *connection.DispatcherOptions) {
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
		_, err := d.Handle(t.Context(), request("acme/late", pair, nil))
		require.NoError(t, err)
	}
	require.Len(t, seen, 3)
	require.Equal(t, 3, inFlight.cancelled[wire.IntID(1)])
}

func TestErrorsAreTheSameOnEveryTransport(t *testing.T) {
	k := newKernel(nil)
	params := `{"name":"boom",` + pair[1:]
	in := request("tools/call", params, nil)
	_, onPipe := k.ServeStateless(t.Context(), in, nil)
	in.Transport = peer.NewTransportContext("http", false, header(
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "boom"), "")
	_, onHTTP := k.ServeStateless(t.Context(), in, nil)
	require.EqualError(t, onHTTP, onPipe.Error())
	require.Nil(t, peer.AsError(onHTTP))

	in.Transport = peer.NewTransportContext("http", false, header(), "")
	_, err := k.ServeStateless(t.Context(), in, nil)
	require.EqualValues(t, mcp.CodeHeaderMismatch, peer.AsError(err).Code)
}

func TestACodeOfTheProtocolsIsSentWithItsMeaningOnly(t *testing.T) {
	missing := json.RawMessage(`{"requiredCapabilities":{}}`)
	for _, c := range []struct {
		code          int64
		data          json.RawMessage
		inEnvelope    int64 // the code there, 0 for an error that tells nothing
		withHandshake bool
	}{
		{-32019, nil, -32019, true},
		{mcp.CodeHeaderMismatch, nil, mcp.CodeHeaderMismatch, false},
		{mcp.CodeMissingRequiredClientCapability, missing, mcp.CodeMissingRequiredClientCapability, false},
		{mcp.CodeMissingRequiredClientCapability, nil, 0, false},
		{mcp.CodeUnsupportedProtocolVersion, missing, 0, false},
		{-32023, nil, mcp.CodeInternal, true},
		{mcp.CodeURLElicitationRequired, nil, 0, false},
		{mcp.CodeURLElicitationRequired, json.RawMessage(`{"elicitations":[]}`), 0, true},
		{-32099, json.RawMessage(`{"after":3}`), mcp.CodeInternal, true},
		{-32100, nil, -32100, true},
	} {
		k := newKernel(func(o *connection.DispatcherOptions) {
			o.Middleware = []peer.Middleware{func(peer.Handler) peer.Handler {
				return peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
					return peer.Reply{}, &peer.Error{Code: c.code, Message: "no", Data: c.data}
				})
			}}
		})
		_, err := k.ServeStateless(t.Context(), request("tools/call", `{"name":"a",`+pair[1:], nil), nil)
		if e := peer.AsError(err); c.inEnvelope == 0 {
			require.Nil(t, e, c.code)
		} else {
			require.Equal(t, &peer.Error{Code: c.inEnvelope, Message: "no", Data: c.data}, e)
		}
		_, err = k.Handler(connection.New(nil, nil)).Handle(t.Context(), request("tools/call", `{"name":"a"}`, nil))
		require.Equal(t, c.withHandshake, peer.AsError(err) != nil, "%d %v", c.code, err)
	}
}

func TestAnEnvelopeInAMessagePassedInProcess(t *testing.T) {
	k := newKernel(nil)
	in := request("tools/call", "", nil)
	in.Value = &mcp.CallToolRequest{Name: "x", Meta: &mcp.RequestMeta{
		ProtocolVersion: "2026-07-28", ClientCapabilities: &mcp.ClientCapabilities{},
		Extra: map[string]json.RawMessage{},
	}}
	reply, err := k.ServeStateless(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("called x"), reply.Result)
}

func TestAHandlerKnowsWhoSentAnEnvelope(t *testing.T) {
	envelope := `{"_meta":{` + version + `:"2026-07-28",` + caps + `:{"roots":{}},` + info + `:{"name":"sender","version":"1"}}}`
	for _, c := range []struct {
		params string
		check  func(*mcp.ServerSession, *connection.State)
	}{
		{envelope, func(s *mcp.ServerSession, _ *connection.State) {
			require.Equal(t, "sender", s.ClientInfo().Name)
		}},
		{envelope, func(s *mcp.ServerSession, _ *connection.State) {
			require.True(t, s.HasClientCapability(only("roots")))
			require.False(t, s.HasClientCapability(only("sampling")))
		}},
		{envelope, func(_ *mcp.ServerSession, state *connection.State) {
			state.SetClient(nil, nil)
			require.Nil(t, state.ClientInfo())
			require.NotNil(t, state.ClientCapabilities().Roots)
		}},
		{pair, func(s *mcp.ServerSession, state *connection.State) {
			require.Nil(t, s.ClientInfo(), "it did not say who it is")
			require.NotNil(t, state.ClientCapabilities())
		}},
	} {
		called := false
		k := newKernel(func(o *connection.DispatcherOptions) {
			peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
				called = true
				c.check(mcp.SessionFromContext(ctx), connection.FromContext(ctx).State())
				return &weather{}, nil
			})
		})
		_, err := k.ServeStateless(t.Context(), request("acme/late", c.params, nil), nil)
		require.NoError(t, err)
		require.True(t, called)
	}
}

func TestMiddlewareThatRefusesWhatCameEarlyIsLogged(t *testing.T) {
	log := new(journal)
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.ID.IsZero() {
					return peer.Reply{}, fmt.Errorf("no %q here", in.Method)
				}
				return next.Handle(ctx, in)
			})
		}}
	})
	d := connection.NewPipe(k, &connection.Options{Logger: slog.New(log)})
	_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", ``, nil))
	require.NoError(t, err)
	_, err = d.Handle(t.Context(), request("tools/call", `{"name":"x",`+pair[1:], nil))
	require.NoError(t, err)
	require.Equal(t, 1, log.count())
}

func TestWhatComesAfterTheFirstRequestIsHandledAtOnce(t *testing.T) {
	for name, first := range map[string]*peer.Inbound{
		"handshake": request("initialize", handshakeParams, nil),
		"envelope":  request("tools/call", `{"name":"x",`+pair[1:], nil),
	} {
		var seen []int64
		d := connection.NewPipe(newKernel(func(o *connection.DispatcherOptions) {
			peer.HandleNotification(o.Mux, func(_ context.Context, n *numbered) error {
				seen = append(seen, n.n)
				return nil
			})
		}), nil)
		_, err := d.Handle(t.Context(), first)
		require.NoError(t, err)
		for n, params := range []string{`{"n":0}`, `{"n":1,` + pair[1:]} {
			_, err := d.Handle(t.Context(), notification("notifications/acme/numbered", params, nil))
			require.NoError(t, err)
			require.Len(t, seen, n+1, name)
		}
	}
}

func TestAConfirmationCountsWhenItArrives(t *testing.T) {
	d := connection.NewPipe(newKernel(nil), nil)
	confirmation := notification(mcp.MethodInitialized, ``, nil)
	first := request("initialize", handshakeParams, nil)
	d.OnRequest(first)
	require.False(t, d.InterceptNotification(notification("notifications/acme/numbered", `{"n":1}`, nil)))
	require.False(t, d.Connection().State().Initialized())
	_, err := d.Handle(t.Context(), first)
	require.NoError(t, err)
	require.False(t, d.InterceptNotification(confirmation), "its handler sees it, too")
	require.True(t, d.Connection().State().Initialized(), "before it is handled")
}

func TestBatchesAreForOneRevision(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		d := connection.NewPipe(newKernel(nil), nil)
		_, err := d.Handle(t.Context(), request("initialize", fmt.Sprintf(
			`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, version), nil))
		require.NoError(t, err)
		require.Equal(t, version == "2025-03-26", d.Batches(), version)
	}
	d := connection.NewPipe(newKernel(nil), nil)
	_, err := d.Handle(t.Context(), request("tools/call", `{"name":"x",`+pair[1:], nil))
	require.NoError(t, err)
	require.False(t, d.Batches())
}

func TestTheProtocolsOwnRequestsSayTheSameAboutTheirSender(t *testing.T) {
	const sent = `{"name":"x","_meta":{` + version + `:"2026-07-28",` + caps + `:{"roots":{}}%s}}`
	for _, c := range []struct{ params, name string }{
		{fmt.Sprintf(sent, `,`+info+`:{"name":"sender","version":"1"}`), "sender"},
		{fmt.Sprintf(sent, ``), ""},
	} {
		called := false
		k := newKernel(func(o *connection.DispatcherOptions) {
			o.Mux = new(peer.Mux)
			mcp.HandleCallTool(o.Mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				called = true
				s := mcp.SessionFromContext(ctx)
				require.Equal(t, "2026-07-28", s.Revision().String())
				require.True(t, s.HasClientCapability(only("roots")))
				require.False(t, s.HasClientCapability(only("sampling")))
				if c.name == "" {
					require.Nil(t, s.ClientInfo())
				} else {
					require.Equal(t, c.name, s.ClientInfo().Name)
				}
				return mcp.TextResult("done"), nil
			})
		})
		_, err := k.ServeStateless(t.Context(), request("tools/call", c.params, nil), nil)
		require.NoError(t, err)
		require.True(t, called)
	}
}

func TestHeadersRepeatTheBodyOfEveryRequest(t *testing.T) {
	k := newKernel(nil)
	for _, c := range []struct {
		params string
		header http.Header
		code   int64
	}{
		{`{"name":"x",` + pair[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "x"), 0},
		{`{"name":"x",` + pair[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "y"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + pair[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + pair[1:], header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list", "Mcp-Name", "x"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + pair[1:], header("Mcp-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/call", "Mcp-Name", "x"), mcp.CodeHeaderMismatch},
		{`{"name":"x",` + pair[1:], header("Mcp-Method", "tools/call", "Mcp-Name", "x"), mcp.CodeHeaderMismatch},
		{`{"name":"x","_meta":{` + version + `:"2026-07-28"}}`, header("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "x"), mcp.CodeInvalidParams},
	} {
		in := request("tools/call", c.params, nil)
		in.Transport = peer.NewTransportContext("http", false, c.header, "")
		_, err := k.ServeStateless(t.Context(), in, nil)
		if c.code == 0 {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, c.code, peer.AsError(err).Code, "%v", c.header)
	}
}

func TestLogsThatWereNotDeclaredAreNotSent(t *testing.T) {
	const ask = `{"name":"log","_meta":{` + version + `:"2026-07-28",` + caps + `:{},"io.modelcontextprotocol/logLevel":"debug"}}`
	for _, declared := range []bool{true, false} {
		k := newKernel(func(o *connection.DispatcherOptions) {
			if !declared {
				o.Capabilities.Logging = nil
			}
		})
		back := new(channel)
		_, err := k.ServeStateless(t.Context(), request("tools/call", ask, back), nil)
		require.NoError(t, err)
		require.Equal(t, declared, len(back.take()) > 0)
	}
}
