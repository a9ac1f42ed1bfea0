package connection_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestInitializeWithMetadataOverHTTP(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) { o.Revisions = []wire.Revision{mcp.Revision20260728} })
	require.Equal(t, []wire.Revision{mcp.Revision20260728}, k.Revisions())
	header := http.Header{}
	header.Set("MCP-Protocol-Version", "2026-07-28")
	header.Set("Mcp-Method", "initialize")
	const plain = `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}`
	const withMetadata = plain + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, c := range []struct {
		params string
		header http.Header
		code   int64
		data   string
	}{
		{withMetadata, header, mcp.CodeMethodNotFound, `"initialize"`},
		{withMetadata, nil, mcp.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`},
		{plain + `}`, header, mcp.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`},
		{`{"protocolVersion":7}`, header, mcp.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28"],"requested":""}`},
		{`{"protocolVersion":"2026-07-28"}`, header, mcp.CodeInvalidParams, ``}, // a served revision is not unsupported
	} {
		_, err := k.ServeStateless(t.Context(), &peer.Inbound{
			Method: mcp.MethodInitialize, ID: wire.IntID(1), Params: []byte(c.params), Transport: peer.NewTransportContext("t", false, c.header, ""),
		}, nil)
		require.Equal(t, c.code, peer.AsError(err).Code, c.params)
		if c.data != "" {
			require.JSONEq(t, c.data, string(peer.AsError(err).Data))
		}
	}
}

func TestConfirmTakesEffectOnce(t *testing.T) {
	told := 0
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.OnInitialized = func(context.Context, *connection.Connection) { told++ }
	})
	conn := connection.New(nil, &connection.Options{Logger: discardLog})
	k.Confirm(t.Context(), conn, []byte(`{"_meta":7}`))
	require.False(t, conn.State().Initialized(), "a malformed notification has no effect")
	k.Confirm(t.Context(), conn, nil)
	require.True(t, conn.State().Initialized())
	_, err := k.Serve(t.Context(), conn, &peer.Inbound{Method: mcp.MethodInitialized})
	require.NoError(t, err)
	require.Equal(t, 1, told)
}

func TestRequestWaitsForInitialized(t *testing.T) {
	early := func(test func(t *testing.T, conn *connection.Connection, out *channel, ask func(ctx context.Context) error)) {
		synctest.Test(t, func(t *testing.T) {
			out := &channel{answer: `{"roots":[]}`}
			conn := connection.New(out, nil)
			conn.State().SetClient(someInfo, allCapabilities())
			s := conn.ServerSession(request(mcp.MethodCallTool, `{"name":"x"}`, out))
			test(t, conn, out, func(ctx context.Context) error {
				_, err := s.ListRoots(ctx)
				return err
			})
		})
	}
	early(func(t *testing.T, conn *connection.Connection, out *channel, ask func(context.Context) error) {
		begin, asked := time.Now(), make(chan error, 1)
		go func() { asked <- ask(t.Context()) }() // ends with the request
		synctest.Wait()
		require.NoError(t, conn.Ping(t.Context()))
		require.Len(t, out.take(), 1, "a ping does not wait")
		conn.State().SetInitialized()
		require.NoError(t, <-asked)
		require.Len(t, out.take(), 1)
		require.NoError(t, ask(t.Context()))
		require.Zero(t, time.Since(begin))
	})
	early(func(t *testing.T, _ *connection.Connection, out *channel, ask func(context.Context) error) {
		begin := time.Now()
		require.NoError(t, ask(t.Context()), "after the timeout the request is sent")
		require.NoError(t, ask(t.Context()))
		require.Len(t, out.take(), 2)
		require.Equal(t, 5*time.Second, time.Since(begin), "only the first request waits")
	})
	early(func(t *testing.T, _ *connection.Connection, _ *channel, ask func(context.Context) error) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = ask(ctx)
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestStateAfterHandshake(t *testing.T) {
	conn := connection.New(nil, nil)
	h := newDispatcher(nil).Handler(conn)
	serve := func(in *peer.Inbound) error {
		_, err := h.Handle(t.Context(), in)
		return err
	}
	s := conn.State()
	require.NoError(t, serve(request(mcp.MethodInitialize, `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`, nil)))
	require.True(t, s.InitializeProcessed())
	require.False(t, s.Initialized(), "initialize does not confirm the handshake")
	require.True(t, conn.InitializeAccepted())
	require.Equal(t, "2025-06-18", conn.Revision().String())
	require.Equal(t, "c", conn.ClientInfo().Name)
	require.NotNil(t, s.ClientCapabilities().Roots)
	require.NotNil(t, s.ServerCapabilities().Logging)

	require.NoError(t, serve(notification(mcp.MethodInitialized, `{"_meta":3}`, nil)))
	require.False(t, s.Initialized(), "a malformed notification has no effect")
	require.NoError(t, serve(notification(mcp.MethodInitialized, ``, nil)))
	require.True(t, s.Initialized())

	require.NoError(t, serve(request(mcp.MethodSetLevel, `{"level":"error"}`, nil)))
	require.Equal(t, mcp.LoggingLevelError, s.LogLevel())
	require.NoError(t, serve(request(mcp.MethodSubscribe, `{"uri":"a:"}`, nil)))
	require.Error(t, serve(request(mcp.MethodSubscribe, `{"uri":"no:"}`, nil)))
	require.NoError(t, serve(request(mcp.MethodSubscribe, `{"uri":"b:"}`, nil)))
	require.NoError(t, serve(request(mcp.MethodSubscribe, `{"uri":"b:"}`, nil)))
	require.ErrorContains(t, serve(request(mcp.MethodSubscribe, `{"uri":"c:"}`, nil)), "a session may have 2")
	require.NoError(t, serve(request(mcp.MethodUnsubscribe, `{"uri":"a:"}`, nil)))
	require.Equal(t, []string{"b:"}, s.Subscriptions())
}

func TestNegotiateWithUnorderedRevisions(t *testing.T) {
	for _, served := range [][]wire.Revision{
		{mcp.Revision20250618, mcp.Revision20250326}, {mcp.Revision20250326, mcp.Revision20250618},
	} {
		k := newDispatcher(func(o *connection.DispatcherOptions) { o.Revisions = served })
		conn := connection.New(nil, nil)
		_, err := k.Serve(t.Context(), conn, request("initialize", `{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, nil))
		require.NoError(t, err)
		require.Equal(t, "2025-06-18", conn.Revision().String())
	}
}

func TestHandshakeHasNoEffectIfMiddlewareFails(t *testing.T) {
	veto := true
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				reply, err := next.Handle(ctx, in)
				if veto {
					return peer.Reply{}, &peer.Error{Code: 1, Message: "not today"}
				}
				return reply, err
			})
		}}
	})
	conn := connection.New(nil, nil)
	params := `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	_, err := k.Serve(t.Context(), conn, request("initialize", params, nil))
	require.EqualValues(t, 1, peer.AsError(err).Code)
	require.False(t, conn.InitializeAccepted())
	require.False(t, conn.State().InitializeProcessed())
	require.Equal(t, mcp.LatestHandshakeRevision, conn.Revision())

	veto = false
	_, err = k.Serve(t.Context(), conn, request("initialize", params, nil))
	require.NoError(t, err)
	require.Equal(t, "2025-03-26", conn.Revision().String())
}

func TestConcurrentInitializeSucceedsOnce(t *testing.T) {
	k := newDispatcher(nil)
	conn := connection.New(nil, nil)
	params := `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	errs := make(chan error)
	for range 2 {
		go func() { // ends when its result is received
			_, err := k.Serve(t.Context(), conn, request("initialize", params, nil))
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	require.True(t, (first == nil) != (second == nil), "%v, %v", first, second)
	require.EqualValues(t, mcp.CodeInvalidRequest, peer.AsError(errors.Join(first, second)).Code)
}

func TestOvertakenInitializeFails(t *testing.T) {
	const params = `{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	conn := connection.New(nil, nil)
	overtaken := false
	var k *connection.Dispatcher
	k = newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				reply, err := next.Handle(ctx, in)
				if !overtaken { // after the first result, another handshake is handled
					overtaken = true
					_, other := k.Serve(t.Context(), conn, request("initialize", fmt.Sprintf(params, "2025-06-18"), nil))
					require.NoError(t, other)
				}
				return reply, err
			})
		}}
	})
	_, err := k.Serve(t.Context(), conn, request("initialize", fmt.Sprintf(params, "2025-03-26"), nil))
	require.EqualValues(t, mcp.CodeInvalidRequest, peer.AsError(err).Code)
	require.Equal(t, "2025-06-18", conn.Revision().String(), "the first handshake takes effect")
}

func TestInitializedHandlerRunsAfterStateChange(t *testing.T) {
	ready := false
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		mcp.HandleInitialized(o.Mux, func(ctx context.Context, _ *mcp.InitializedNotification) error {
			ready = connection.FromContext(ctx).State().Initialized()
			return nil
		})
	})
	_, err := k.Serve(t.Context(), connection.New(nil, nil), notification(mcp.MethodInitialized, ``, nil))
	require.NoError(t, err)
	require.True(t, ready)
}

func TestOnInitializedIsCalledOnce(t *testing.T) {
	var events []string
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.OnInitialized = func(ctx context.Context, conn *connection.Connection) {
			require.Same(t, conn, connection.FromContext(ctx))
			require.True(t, conn.State().Initialized())
			events = append(events, "announced "+conn.Revision().String())
		}
		mcp.HandleInitialized(o.Mux, func(context.Context, *mcp.InitializedNotification) error {
			events = append(events, "handled")
			return nil
		})
	})
	conn, _ := connect(t, "2025-11-25", nil)
	_, err := k.Serve(t.Context(), conn, request("initialize", handshakeParams, nil))
	require.NoError(t, err)
	require.Empty(t, events, "initialize does not confirm the handshake")
	for _, params := range []string{`{"_meta":3}`, ``, ``} {
		_, err = k.Serve(t.Context(), conn, notification(mcp.MethodInitialized, params, nil))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"announced 2025-03-26", "handled", "handled"}, events)
}
