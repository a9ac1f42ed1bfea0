package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestStateChangesOnlyIfMiddlewareSucceeds(t *testing.T) {
	refusal := errors.New("no")
	var byHandler, byMiddleware error
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux, o.MaxSubscriptions = new(peer.Mux), 3
		mcp.HandleSubscribe(o.Mux, func(context.Context, *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, byHandler
		})
		mcp.HandleUnsubscribe(o.Mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, byHandler
		})
		mcp.HandleSetLevel(o.Mux, func(context.Context, *mcp.SetLevelRequest) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, byHandler
		})
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				reply, err := next.Handle(ctx, in)
				if byMiddleware != nil {
					return peer.Reply{}, byMiddleware
				}
				return reply, err
			})
		}}
	})
	conn, _ := connect(t, "2025-11-25", allCapabilities())
	state := conn.State()
	all := func() (errs []error) {
		for _, in := range []*peer.Inbound{
			request(mcp.MethodSubscribe, `{"uri":"a:"}`, nil),
			request(mcp.MethodSubscribe, `{"uri":"c:"}`, nil),
			request(mcp.MethodUnsubscribe, `{"uri":"b:"}`, nil),
			request(mcp.MethodSetLevel, `{"level":"error"}`, nil),
		} {
			_, err := k.Serve(t.Context(), conn, in)
			errs = append(errs, err)
		}
		return errs
	}
	state.Subscribe("a:")
	state.Subscribe("b:")
	for _, who := range []*error{&byHandler, &byMiddleware} {
		*who = refusal
		require.Equal(t, []error{refusal, refusal, refusal, refusal}, all())
		require.Equal(t, []string{"a:", "b:"}, state.Subscriptions(), "an existing subscription remains")
		require.Empty(t, state.LogLevel())
		*who = nil
	}
	require.Equal(t, []error{nil, nil, nil, nil}, all())
	require.Equal(t, []string{"a:", "c:"}, state.Subscriptions())
	require.Equal(t, mcp.LoggingLevelError, state.LogLevel())
}

func TestFailedSubscribeDoesNotUndoOthers(t *testing.T) {
	const subscribe, unsubscribe = mcp.MethodSubscribe, mcp.MethodUnsubscribe
	refusal := errors.New("no")
	var during, after func() error // each is called once: by the handler and by the middleware
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleSubscribe(o.Mux, func(context.Context, *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
			if f := during; f != nil {
				during = nil
				return &mcp.EmptyResult{}, f()
			}
			return &mcp.EmptyResult{}, nil
		})
		mcp.HandleUnsubscribe(o.Mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, nil
		})
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				reply, err := next.Handle(ctx, in)
				if f := after; f != nil && err == nil {
					after = nil
					return reply, f()
				}
				return reply, err
			})
		}}
	})
	for _, c := range []struct {
		meanwhile []string
		fails     bool // the request in between
		want      []string
	}{
		{nil, false, nil},
		{[]string{subscribe}, false, []string{"a:"}},
		{[]string{subscribe}, true, nil},
		{[]string{unsubscribe}, false, nil},
		{[]string{subscribe, subscribe}, false, []string{"a:"}},
		{[]string{subscribe, unsubscribe}, false, nil},
		{[]string{unsubscribe, subscribe}, false, []string{"a:"}},
	} {
		conn, _ := connect(t, "2025-11-25", allCapabilities())
		serve := func(method string) error {
			_, err := k.Serve(t.Context(), conn, request(method, `{"uri":"a:"}`, nil))
			return err
		}
		during = func() error {
			for _, method := range c.meanwhile {
				if c.fails {
					after = func() error { return refusal }
				}
				require.Equal(t, c.fails, serve(method) != nil)
			}
			return refusal
		}
		require.ErrorIs(t, serve(subscribe), refusal)
		require.Equal(t, c.want, conn.State().Subscriptions(), c.meanwhile)
	}
}

func TestSubscribeHandledTwiceCountsOnce(t *testing.T) {
	var fails bool
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				_, _ = next.Handle(ctx, in)
				reply, err := next.Handle(ctx, in)
				if fails {
					err = errors.New("no")
				}
				return reply, err
			})
		}}
	})
	conn, _ := connect(t, "2025-11-25", allCapabilities())
	for _, fails = range []bool{true, false} {
		_, err := k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"a:"}`, nil))
		require.Equal(t, fails, err != nil)
		require.Equal(t, !fails, conn.State().Subscribed("a:"))
	}
}

func TestSubscribeIsUndoneIfHandlerPanics(t *testing.T) {
	for _, inMiddleware := range []bool{false, true} {
		k := newDispatcher(func(o *connection.DispatcherOptions) {
			o.Mux = new(peer.Mux)
			mcp.HandleSubscribe(o.Mux, func(_ context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
				if !inMiddleware && req.URI == "a:" {
					panic("no")
				}
				return &mcp.EmptyResult{}, nil
			})
			if inMiddleware {
				o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
					return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
						reply, err := next.Handle(ctx, in)
						if strings.Contains(string(in.Params), "a:") {
							panic("no")
						}
						return reply, err
					})
				}}
			}
		})
		conn, _ := connect(t, "2025-11-25", allCapabilities())
		require.Panics(t, func() { k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"a:"}`, nil)) })
		_, err := k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"b:"}`, nil))
		require.NoError(t, err)
		require.Equal(t, []string{"b:"}, conn.State().Subscriptions())
	}
}

func TestDefaultMaxSubscriptions(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) { o.MaxSubscriptions = 0 })
	conn, _ := connect(t, "2025-11-25", allCapabilities())
	for i := range 1024 {
		conn.State().Subscribe(fmt.Sprint("a:", i))
	}
	_, err := k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"one:more"}`, nil))
	require.ErrorContains(t, err, "a session may have 1024")
}

func TestSetLevelRequiresLoggingCapability(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) { o.Capabilities.Logging = nil })
	conn, _ := connect(t, "2025-11-25", allCapabilities())
	_, err := k.Serve(t.Context(), conn, request(mcp.MethodSetLevel, `{"level":"error"}`, nil))
	require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
	require.Empty(t, conn.State().LogLevel())
}

func TestMiddlewareOrder(t *testing.T) {
	var seen []string
	layer := func(name string) peer.Middleware {
		return func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				require.NotNil(t, connection.FromContext(ctx))
				require.NotNil(t, mcp.SessionFromContext(ctx))
				seen = append(seen, name+" "+in.Method)
				return next.Handle(ctx, in)
			})
		}
	}
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{layer("outer"), layer("inner")}
	})
	h := k.Handler(connection.New(nil, nil))
	for _, in := range []*peer.Inbound{
		request("initialize", `{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, nil),
		request("no/such", ``, nil),
		notification("notifications/no/such", ``, nil),
	} {
		_, _ = h.Handle(t.Context(), in)
	}
	require.Equal(t, []string{
		"outer initialize", "inner initialize", "outer no/such", "inner no/such",
		"outer notifications/no/such", "inner notifications/no/such",
	}, seen)
}

func TestMiddlewareReturnsItsOwnResult(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				return peer.Reply{Result: mcp.TextResult("mine")}, nil
			})
		}}
	})
	conn := connection.NewForRequest(mcp.Revision20260728, nil, &mcp.ClientCapabilities{}, nil)
	reply, err := k.Serve(t.Context(), conn, request("tools/call", `{"name":"x"}`, nil))
	require.NoError(t, err)
	raw, err := wire.Append(nil, reply.Frame, reply.Result)
	require.NoError(t, err)
	require.Equal(t, `{"resultType":"complete","content":[{"type":"text","text":"mine"}]}`, string(raw))
}

func TestMiddlewareMustPassTheContext(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				return next.Handle(context.Background(), in)
			})
		}}
	})
	_, err := k.Serve(t.Context(), connection.New(nil, nil), request("ping", ``, nil))
	require.ErrorContains(t, err, "middleware did not pass on the context")
}

func TestDroppedNotifications(t *testing.T) {
	called := 0
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		peer.HandleNotification(o.Mux, func(context.Context, *weatherChanged) error {
			called++
			return errors.New("logged")
		})
		mcp.HandleRootsListChanged(o.Mux, func(context.Context, *mcp.RootsListChangedNotification) error {
			called += 100
			return nil
		})
	})
	conn := connection.New(nil, nil)
	send := func(conn *connection.Connection, method, params string) {
		_, err := k.Serve(t.Context(), conn, notification(method, params, nil))
		require.NoError(t, err)
	}
	send(conn, "notifications/acme/weather", ``)
	require.Zero(t, called, "the session is not initialized")
	conn.State().SetInitialized()
	send(conn, "notifications/acme/weather", ``)
	require.Equal(t, 1, called)
	send(conn, "notifications/no/such", ``)
	send(conn, "notifications/message", `{"level":"info","data":1}`)
	send(conn, "tools/call", `{"name":"x"}`)
	send(conn, "notifications/roots/list_changed", `{"_meta":1}`)
	require.Equal(t, 1, called)
	send(connection.NewForRequest(mcp.Revision20260728, nil, nil, nil), "notifications/roots/list_changed", ``)
	require.Equal(t, 1, called, "the revision does not define it")
}

func TestSharedResultIsEncodedForEachRevision(t *testing.T) {
	k := newDispatcher(nil)
	serve := func(version string) string {
		conn := connection.NewForRequest(revisionOf(version), nil, &mcp.ClientCapabilities{}, nil)
		reply, err := k.Serve(t.Context(), conn, request("resources/list", `{"_meta":{`+metadataMembers(version)+`}}`, nil))
		require.NoError(t, err)
		raw, err := wire.Append(nil, reply.Frame, reply.Result)
		require.NoError(t, err)
		return string(raw)
	}
	modern := `{"resultType":"complete","resources":[{"uri":"a:b","name":"n","title":"T"}],"cacheScope":"private","ttlMs":0,` +
		`"_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{"name":"server","version":"1","title":"Server"}}}`
	for range 2 {
		require.JSONEq(t, modern, serve("2026-07-28"))
		require.JSONEq(t, `{"resources":[{"uri":"a:b","name":"n"}],"_meta":{"k":1}}`, serve("2024-11-05"))
		require.JSONEq(t, `{"resources":[{"uri":"a:b","name":"n","title":"T"}],"_meta":{"k":1}}`, serve("2025-11-25"))
	}
	require.Nil(t, sharedResources.Meta.ServerInfo)
	require.Len(t, sharedResources.Meta.Extra, 1)
}

// metadataMembers returns the metadata of a request, or nothing in a handshake revision.
func metadataMembers(v string) string {
	if v != "2026-07-28" {
		return ""
	}
	return version + `:"` + v + `",` + caps + `:{}`
}

func TestInProcessMessagesAreNotEncoded(t *testing.T) {
	k := newDispatcher(nil)
	conn := connection.New(nil, nil)
	pass := func(m peer.Message) (wire.Value, error) {
		in := request(m.Method(), "", nil)
		in.Value = m
		reply, err := k.Serve(t.Context(), conn, in)
		return reply.Result, err
	}
	res, err := pass(&mcp.InitializeRequest{ProtocolVersion: "2025-06-18", ClientInfo: *someInfo})
	require.NoError(t, err)
	require.Equal(t, "2025-06-18", res.(*mcp.InitializeResult).ProtocolVersion)
	res, err = pass(&mcp.CallToolRequest{Name: "x"})
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("called x"), res)
	res, err = pass(&lookalike{weatherRequest{"here"}})
	require.NoError(t, err)
	require.Equal(t, &weather{"grey"}, res)
	_, err = pass(&mcp.GetPromptRequest{Name: "p"})
	require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
}

func TestMiddlewareReplacesTheMessage(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				in.Value = &mcp.CallToolRequest{Name: "y"}
				return next.Handle(ctx, in)
			})
		}}
	})
	conn, _ := connect(t, "2025-06-18", &mcp.ClientCapabilities{})
	in := request(mcp.MethodCallTool, `{"name":"x"}`, nil)
	in.Message, in.Frame = &mcp.CallToolRequest{Name: "x"}, &wire.Frame{Revision: mcp.Revision20250618}
	reply, err := k.Serve(t.Context(), conn, in)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("called y"), reply.Result)
}

// lookalike is a request of another type for the same method.
type lookalike struct{ weatherRequest }

func TestClientHandlesRequests(t *testing.T) {
	var mux peer.Mux
	mcp.HandleListRoots(&mux, func(ctx context.Context, _ *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
		require.NotNil(t, connection.ClientSessionFromContext(ctx))
		require.Nil(t, mcp.SessionFromContext(ctx))
		return &mcp.ListRootsResult{}, nil
	})
	k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux})
	conn := connection.New(nil, &connection.Options{Client: true})
	for method, code := range map[string]int64{
		"roots/list": 0, "ping": 0,
		"sampling/createMessage": mcp.CodeInvalidParams, // required params are missing
		"initialize":             mcp.CodeMethodNotFound,
		"tools/list":             mcp.CodeMethodNotFound,
		"elicitation/create":     mcp.CodeMethodNotFound,
	} {
		params := `{}`
		if method == "elicitation/create" {
			params = `{"message":"?","requestedSchema":{"type":"object","properties":{}}}`
		}
		_, err := k.Serve(t.Context(), conn, request(method, params, nil))
		if code == 0 {
			require.NoError(t, err, method)
			continue
		}
		require.Equal(t, code, peer.AsError(err).Code, method)
	}
	conn.SetRevision(mcp.Revision20260728)
	_, err := k.Serve(t.Context(), conn, request("roots/list", `{}`, nil))
	require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
}

func TestClientReceivesLogsBeforeInitialized(t *testing.T) {
	heard := 0
	var mux peer.Mux
	mcp.HandleLoggingMessage(&mux, func(context.Context, *mcp.LoggingMessageNotification) error {
		heard++
		return nil
	})
	k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Logger: discardLog})
	conn := connection.New(nil, &connection.Options{Client: true})
	_, err := k.Serve(t.Context(), conn, notification(mcp.MethodLoggingMessage, `{"level":"info","data":1}`, nil))
	require.NoError(t, err)
	require.Equal(t, 1, heard, "servers may log before the handshake")
}

func TestNewDispatcherWithoutOptions(t *testing.T) {
	k := connection.NewDispatcher(nil)
	_, err := k.Serve(t.Context(), connection.New(nil, nil), request("ping", ``, nil))
	require.NoError(t, err)
}

func TestNewDispatcherPanicsOnInvalidInfo(t *testing.T) {
	require.Panics(t, func() {
		connection.NewDispatcher(&connection.DispatcherOptions{Info: mcp.Implementation{
			Extra: map[string]json.RawMessage{"x": json.RawMessage(`{`)},
		}})
	})
}

func TestBuiltinMethodsIgnoreHandlers(t *testing.T) {
	var mux peer.Mux
	never := func() { require.Fail(t, "the dispatcher handles it itself") }
	mcp.HandleInitialize(&mux, func(context.Context, *mcp.InitializeRequest) (*mcp.InitializeResult, error) {
		never()
		return nil, nil
	})
	mcp.HandleDiscover(&mux, func(context.Context, *mcp.DiscoverRequest) (*mcp.DiscoverResult, error) {
		never()
		return nil, nil
	})
	k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux})
	_, err := k.Serve(t.Context(), connection.New(nil, nil), request("initialize", handshakeParams, nil))
	require.NoError(t, err)
	_, err = k.ServeStateless(t.Context(), request("server/discover", minimalParams, nil), nil)
	require.NoError(t, err)
}

func TestDiscoverDeclaresChangesWithSubscriptions(t *testing.T) {
	k := newDispatcher(func(o *connection.DispatcherOptions) {
		o.Capabilities.Prompts = &mcp.PromptsCapability{ListChanged: true}
		mcp.HandleSubscriptionsListen(o.Mux, func(context.Context, *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
			return &mcp.SubscriptionsListenResult{}, nil
		})
	})
	reply, err := k.ServeStateless(t.Context(), request("server/discover", minimalParams, nil), nil)
	require.NoError(t, err)
	caps := reply.Result.(*mcp.DiscoverResult).Capabilities
	require.True(t, caps.Tools.ListChanged && caps.Resources.Subscribe && caps.Prompts.ListChanged)

	declared := mcp.ServerCapabilities{
		Prompts: &mcp.PromptsCapability{ListChanged: true}, Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		Tools: &mcp.ToolsCapability{ListChanged: true},
	}
	k = newDispatcher(func(o *connection.DispatcherOptions) { o.Capabilities = declared })
	reply, err = k.ServeStateless(t.Context(), request("server/discover", minimalParams, nil), nil)
	require.NoError(t, err)
	caps = reply.Result.(*mcp.DiscoverResult).Capabilities
	require.False(t, caps.Tools.ListChanged || caps.Resources.Subscribe || caps.Resources.ListChanged || caps.Prompts.ListChanged)
	require.True(t, declared.Tools.ListChanged && declared.Resources.Subscribe && declared.Prompts.ListChanged, "the declared capabilities do not change")
}

// capabilitiesByPrincipal declares prompts to admins, and the usual capabilities to others.
func capabilitiesByPrincipal(o *connection.DispatcherOptions) {
	o.CapabilitiesFor = func(t peer.TransportContext) *mcp.ServerCapabilities {
		if t.Principal() != "admin" {
			return nil
		}
		return &mcp.ServerCapabilities{Prompts: &mcp.PromptsCapability{ListChanged: true}}
	}
	mcp.HandleSubscriptionsListen(o.Mux, func(context.Context, *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
		return &mcp.SubscriptionsListenResult{}, nil
	})
}

func TestCapabilitiesFor(t *testing.T) {
	k := newDispatcher(capabilitiesByPrincipal)
	for principal, prompts := range map[string]bool{"admin": true, "guest": false} {
		in := func(method, params string) *peer.Inbound {
			in := request(method, params, nil)
			in.Transport = peer.NewTransportContext("pipe", true, nil, principal)
			return in
		}
		told := func(caps *mcp.ServerCapabilities) {
			require.Equal(t, prompts, caps.Prompts != nil, principal)
			require.Equal(t, !prompts, caps.Tools != nil, principal)
		}
		conn, out := connect(t, "2025-11-25", nil)
		reply, err := k.Serve(t.Context(), conn, in("initialize", handshakeParams))
		require.NoError(t, err)
		told(&reply.Result.(*mcp.InitializeResult).Capabilities)
		told(conn.State().ServerCapabilities())
		require.NoError(t, conn.SendPromptListChanged(t.Context()))
		require.Len(t, out.take(), map[bool]int{true: 1}[prompts], "only declared changes are sent")

		reply, err = k.ServeStateless(t.Context(), in("server/discover", minimalParams), nil)
		require.NoError(t, err)
		told(&reply.Result.(*mcp.DiscoverResult).Capabilities)
	}
}
