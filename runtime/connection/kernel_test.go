package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// kept is a result that a handler hands out again and again.
var kept = &mcp.ListResourcesResult{
	Resources: []mcp.Resource{{URI: "a:b", Name: "n", Title: "T"}},
	Meta:      &mcp.ResultMeta{Extra: map[string]json.RawMessage{"k": json.RawMessage("1")}},
}

// tool is the handler of tools/call in the tests.
func tool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := mcp.SessionFromContext(ctx)
	note := &mcp.LoggingMessageNotification{Level: "info", Data: json.RawMessage(`"working"`)}
	switch req.Name {
	case "log":
		return mcp.TextResult("logged"), errors.Join(s.SendLogMessage(ctx, note), s.With(peer.Standalone()).SendLogMessage(ctx, note))
	case "announce":
		return mcp.TextResult("announced"), errors.Join(s.SendToolListChanged(ctx), s.Notify(ctx, new(weatherChanged)))
	case "ask":
		answer, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Who?"})
		if err != nil {
			return nil, err
		}
		return mcp.TextResult(string(answer.Action)), nil
	case "address":
		_, err := s.ElicitURL(ctx, &mcp.ElicitRequestURLParams{Message: "?", URL: "https://a.b", ElicitationID: "e"})
		return nil, err
	case "missing":
		return nil, &peer.Error{Code: -32002, Message: "Resource not found", Data: json.RawMessage(`{"uri":"a:b"}`)}
	case "elsewhere":
		return nil, &mcp.URLElicitationRequiredError{}
	case "input":
		return nil, fmt.Errorf("wrapped: %w", &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("s")}})
	case "nothing":
		return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{}}
	case "boom":
		return nil, errors.New("secret")
	case "claimed":
		return &mcp.CallToolResult{ResultType: "task", Extra: map[string]json.RawMessage{"taskId": json.RawMessage(`"t"`)}}, nil
	case "own":
		res := mcp.TextResult("signed")
		res.Meta = &mcp.ResultMeta{ServerInfo: &mcp.Implementation{Name: "other", Version: "2"}}
		return res, nil
	}
	return mcp.TextResult("called " + req.Name), nil
}

func newKernel(change func(*connection.DispatcherOptions)) *connection.Dispatcher {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, tool)
	mcp.HandleListResources(&mux, func(context.Context, *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
		return kept, nil
	})
	mcp.HandleSubscribe(&mux, func(_ context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		if strings.HasPrefix(req.URI, "no:") {
			return nil, errors.New("no")
		}
		return &mcp.EmptyResult{}, nil
	})
	mcp.HandleUnsubscribe(&mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})
	peer.Handle(&mux, forecast)
	opts := &connection.DispatcherOptions{
		Mux:  &mux,
		Info: mcp.Implementation{Name: "server", Version: "1", Title: "Server"},
		Capabilities: mcp.ServerCapabilities{
			Logging:   map[string]json.RawMessage{},
			Tools:     &mcp.ToolsCapability{ListChanged: true},
			Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		},
		Instructions:     "Be kind.",
		MaxSubscriptions: 2,
		Logger:           quiet,
	}
	if change != nil {
		change(opts)
	}
	return connection.NewDispatcher(opts)
}

func TestHandshakeTranscript(t *testing.T) {
	k := newKernel(nil)
	play(t, "handshake.jsonl", func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
		conn := connection.New(out, &connection.Options{Logger: quiet})
		return k.Handler(conn), conn.Frame
	})
}

func TestVersionsTranscript(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Revisions = []wire.Revision{mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20260728}
	})
	play(t, "versions.jsonl", func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
		conn := connection.New(out, nil)
		return k.Handler(conn), conn.Frame
	})
}

func dualEra(k *connection.Dispatcher) func(peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
	return func(out peer.Outbound) (peer.Handler, func(string) *wire.Frame) {
		d := connection.NewPipe(k, &connection.Options{Logger: quiet})
		d.Attach(out, nil)
		return d, d.Frame
	}
}

// five leaves it at the revisions that the transcripts list.
func five(o *connection.DispatcherOptions) {
	for _, r := range mcp.Revisions[:5] {
		o.Revisions = append(o.Revisions, r.Revision)
	}
}

func TestEnvelopeTranscript(t *testing.T) { play(t, "envelope.jsonl", dualEra(newKernel(five))) }

func TestErasTranscript(t *testing.T) { play(t, "eras.jsonl", dualEra(newKernel(five))) }

func TestHandshakeOnlyTranscript(t *testing.T) {
	play(t, "handshake-only.jsonl", dualEra(newKernel(func(o *connection.DispatcherOptions) {
		o.Revisions = []wire.Revision{mcp.Revision20251125}
	})))
}

func TestEnvelopeOnlyTranscript(t *testing.T) {
	play(t, "envelope-only.jsonl", dualEra(newKernel(func(o *connection.DispatcherOptions) {
		o.Revisions, o.OmitServerInfo = []wire.Revision{mcp.Revision20260728}, true
	})))
}

func TestTheStateAfterAHandshake(t *testing.T) {
	conn := connection.New(nil, nil)
	h := newKernel(nil).Handler(conn)
	serve := func(in *peer.Inbound) error {
		_, err := h.Handle(t.Context(), in)
		return err
	}
	s := conn.State()
	require.NoError(t, serve(request(mcp.MethodInitialize, `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`, nil)))
	require.True(t, s.InitializeProcessed())
	require.False(t, s.Initialized(), "the answer is not the confirmation")
	require.True(t, conn.InitializeAccepted())
	require.Equal(t, "2025-06-18", conn.Revision().String())
	require.Equal(t, "c", conn.ClientInfo().Name)
	require.NotNil(t, s.ClientCapabilities().Roots)
	require.NotNil(t, s.ServerCapabilities().Logging)

	require.NoError(t, serve(notification(mcp.MethodInitialized, `{"_meta":3}`, nil)))
	require.False(t, s.Initialized(), "a malformed confirmation is none")
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

func TestTheStateChangesWithTheConsentOfAll(t *testing.T) {
	refusal := errors.New("no")
	var byHandler, byMiddleware error
	k := newKernel(func(o *connection.DispatcherOptions) {
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
	conn, _ := loop(t, "2025-11-25", allCapabilities())
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
		require.Equal(t, []string{"a:", "b:"}, state.Subscriptions(), "also where it was subscribed to before")
		require.Empty(t, state.LogLevel())
		*who = nil
	}
	require.Equal(t, []error{nil, nil, nil, nil}, all())
	require.Equal(t, []string{"a:", "c:"}, state.Subscriptions())
	require.Equal(t, mcp.LoggingLevelError, state.LogLevel())
}

func TestASubscriptionThatFailsTakesBackNoOther(t *testing.T) {
	const subscribe, unsubscribe = mcp.MethodSubscribe, mcp.MethodUnsubscribe
	refusal := errors.New("no")
	var during, after func() error // called once: by a handler, and by the middleware around it
	k := newKernel(func(o *connection.DispatcherOptions) {
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
		fails     bool // what comes meanwhile
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
		conn, _ := loop(t, "2025-11-25", allCapabilities())
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

func TestASubscriptionIsOneHoweverOftenMiddlewareHandlesIt(t *testing.T) {
	var fails bool
	k := newKernel(func(o *connection.DispatcherOptions) {
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
	conn, _ := loop(t, "2025-11-25", allCapabilities())
	for _, fails = range []bool{true, false} {
		_, err := k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"a:"}`, nil))
		require.Equal(t, fails, err != nil)
		require.Equal(t, !fails, conn.State().Subscribed("a:"))
	}
}

func TestASubscriptionWhoseHandlerPanicsIsNone(t *testing.T) {
	for _, inMiddleware := range []bool{false, true} {
		k := newKernel(func(o *connection.DispatcherOptions) {
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
		conn, _ := loop(t, "2025-11-25", allCapabilities())
		require.Panics(t, func() { k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"a:"}`, nil)) })
		_, err := k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"b:"}`, nil))
		require.NoError(t, err)
		require.Equal(t, []string{"b:"}, conn.State().Subscriptions())
	}
}

func TestSubscriptionsAreBoundedByDefault(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) { o.MaxSubscriptions = 0 })
	conn, _ := loop(t, "2025-11-25", allCapabilities())
	for i := range connection.DefaultMaxSubscriptions {
		conn.State().Subscribe(fmt.Sprint("a:", i))
	}
	_, err := k.Serve(t.Context(), conn, request(mcp.MethodSubscribe, `{"uri":"one:more"}`, nil))
	require.ErrorContains(t, err, "a session may have 1024")
}

func TestLevelsAreSetWhereLogsAreDeclared(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) { o.Capabilities.Logging = nil })
	conn, _ := loop(t, "2025-11-25", allCapabilities())
	_, err := k.Serve(t.Context(), conn, request(mcp.MethodSetLevel, `{"level":"error"}`, nil))
	require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
	require.Empty(t, conn.State().LogLevel())
}

func TestTheNewestServedRevisionIsFoundInAnyOrder(t *testing.T) {
	for _, served := range [][]wire.Revision{
		{mcp.Revision20250618, mcp.Revision20250326}, {mcp.Revision20250326, mcp.Revision20250618},
	} {
		k := newKernel(func(o *connection.DispatcherOptions) { o.Revisions = served })
		conn := connection.New(nil, nil)
		_, err := k.Serve(t.Context(), conn, request("initialize", `{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, nil))
		require.NoError(t, err)
		require.Equal(t, "2025-06-18", conn.Revision().String())
	}
}

func TestMiddlewareSeesEverythingFromOutsideIn(t *testing.T) {
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
	k := newKernel(func(o *connection.DispatcherOptions) {
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

func TestAVetoAfterTheHandshakeLeavesTheSessionAsItWas(t *testing.T) {
	veto := true
	k := newKernel(func(o *connection.DispatcherOptions) {
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
	require.Equal(t, mcp.LatestHandshakeRevision.String(), conn.Revision().String())

	veto = false
	_, err = k.Serve(t.Context(), conn, request("initialize", params, nil))
	require.NoError(t, err)
	require.Equal(t, "2025-03-26", conn.Revision().String())
}

func TestMiddlewareThatAnswersItselfIsNotTouched(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				return peer.Reply{Result: mcp.TextResult("mine")}, nil
			})
		}}
	})
	conn := connection.NewForRequest("2026-07-28", nil, &mcp.ClientCapabilities{}, nil)
	reply, err := k.Serve(t.Context(), conn, request("tools/call", `{"name":"x"}`, nil))
	require.NoError(t, err)
	raw, err := wire.Append(nil, reply.Frame, reply.Result)
	require.NoError(t, err)
	require.Equal(t, `{"resultType":"complete","content":[{"type":"text","text":"mine"}]}`, string(raw))
}

func TestMiddlewareThatLosesTheContextIsToldSo(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
				return next.Handle(context.Background(), in)
			})
		}}
	})
	_, err := k.Serve(t.Context(), connection.New(nil, nil), request("ping", ``, nil))
	require.ErrorContains(t, err, "lost on its way through the middleware")
}

func TestOneOfTwoHandshakesAtOnceIsRefused(t *testing.T) {
	k := newKernel(nil)
	conn := connection.New(nil, nil)
	params := `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	errs := make(chan error)
	for range 2 {
		go func() { // ends when its answer is taken
			_, err := k.Serve(t.Context(), conn, request("initialize", params, nil))
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	require.True(t, (first == nil) != (second == nil), "%v, %v", first, second)
	require.EqualValues(t, mcp.CodeInvalidRequest, peer.AsError(errors.Join(first, second)).Code)
}

func TestAHandshakeThatIsOvertakenIsRefused(t *testing.T) {
	const params = `{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	conn := connection.New(nil, nil)
	overtaken := false
	var k *connection.Dispatcher
	k = newKernel(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				reply, err := next.Handle(ctx, in)
				if !overtaken { // the first answer is there, and another handshake comes in between
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
	require.Equal(t, "2025-06-18", conn.Revision().String(), "what was settled stays")
}

func TestAHandlerOfInitializedSeesTheSessionReady(t *testing.T) {
	ready := false
	k := newKernel(func(o *connection.DispatcherOptions) {
		mcp.HandleInitialized(o.Mux, func(ctx context.Context, _ *mcp.InitializedNotification) error {
			ready = connection.FromContext(ctx).State().Initialized()
			return nil
		})
	})
	_, err := k.Serve(t.Context(), connection.New(nil, nil), notification(mcp.MethodInitialized, ``, nil))
	require.NoError(t, err)
	require.True(t, ready)
}

func TestNotificationsThatNobodyWantsAreDropped(t *testing.T) {
	called := 0
	k := newKernel(func(o *connection.DispatcherOptions) {
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
	require.Zero(t, called, "the session has not begun")
	conn.State().SetInitialized()
	send(conn, "notifications/acme/weather", ``)
	require.Equal(t, 1, called)
	send(conn, "notifications/no/such", ``)
	send(conn, "notifications/message", `{"level":"info","data":1}`)
	send(conn, "tools/call", `{"name":"x"}`)
	send(conn, "notifications/roots/list_changed", `{"_meta":1}`)
	require.Equal(t, 1, called)
	send(connection.NewForRequest("2026-07-28", nil, nil, nil), "notifications/roots/list_changed", ``)
	require.Equal(t, 1, called, "the revision does not have it")
}

func TestResultsAreWrittenAfreshEachTime(t *testing.T) {
	k := newKernel(nil)
	serve := func(version string) string {
		conn := connection.NewForRequest(version, nil, &mcp.ClientCapabilities{}, nil)
		reply, err := k.Serve(t.Context(), conn, request("resources/list", `{"_meta":{`+version_(version)+`}}`, nil))
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
	require.Nil(t, kept.Meta.ServerInfo)
	require.Len(t, kept.Meta.Extra, 1)
}

// version_ is an envelope for the revisions that have one.
func version_(v string) string {
	if v != "2026-07-28" {
		return ""
	}
	return version + `:"` + v + `",` + caps + `:{}`
}

func TestMessagesPassedInProcessNeedNoWriting(t *testing.T) {
	k := newKernel(nil)
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

func TestMiddlewareMayPutAnotherMessageInPlaceOfTheOneThatCame(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				in.Value = &mcp.CallToolRequest{Name: "y"}
				return next.Handle(ctx, in)
			})
		}}
	})
	conn, _ := loop(t, "2025-06-18", &mcp.ClientCapabilities{})
	in := request(mcp.MethodCallTool, `{"name":"x"}`, nil)
	in.Message, in.Frame = &mcp.CallToolRequest{Name: "x"}, &wire.Frame{Revision: mcp.Revision20250618}
	reply, err := k.Serve(t.Context(), conn, in)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("called y"), reply.Result)
}

// lookalike is a request of another type for the same method.
type lookalike struct{ weatherRequest }

// selfServed is a round that serves its request itself.
type selfServed interface {
	connection.Round
	Serve(context.Context, peer.Message, func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error)
}

// roundsOf are rounds of which each serves its own request.
type roundsOf func() selfServed

func (f roundsOf) Begin(context.Context, *peer.Inbound) connection.Round { return f() }

func (f roundsOf) Serve(ctx context.Context, _ *peer.Inbound, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	return connection.RoundFromContext(ctx).(selfServed).Serve(ctx, req, handler)
}

// round answers questions from a map, and asks for the others.
type round struct {
	answers map[string]string
	open    []string
	ended   bool
}

func (r *round) End() { r.ended = true }

func (r *round) Ask(_ context.Context, q *connection.Question, res wire.Value) error {
	if a, has := r.answers[q.Method()]; has {
		if err := wire.Decode([]byte(a), nil, res); err != nil {
			return err
		}
		return q.Check(res)
	}
	r.open = append(r.open, q.Method()+q.Key)
	return &mcp.InputRequiredError{}
}

func (r *round) Serve(ctx context.Context, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	if have := connection.RoundFromContext(ctx); have != r {
		return nil, fmt.Errorf("the handler would find the round %v", have)
	}
	res, err := handler(ctx, req)
	if len(r.open) == 0 {
		return res, err
	}
	return &mcp.InputRequiredResult{RequestState: new(strings.Join(r.open, " "))}, nil
}

func TestQuestionsTravelInARound(t *testing.T) {
	var answers map[string]string
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Rounds = roundsOf(func() selfServed { return &round{answers: answers} })
	})
	serve := func(conn *connection.Connection, back *channel) (wire.Value, error) {
		envelope := ""
		if conn.Revision().String() == "2026-07-28" {
			envelope = `,"_meta":{` + version_("2026-07-28") + `}`
		}
		reply, err := k.Serve(t.Context(), conn, request("tools/call", `{"name":"ask"`+envelope+`}`, back))
		return reply.Result, err
	}
	back := &channel{answer: `{"action":"accept"}`}
	modern := connection.NewForRequest("2026-07-28", nil, allCapabilities(), nil)
	res, err := serve(modern, back)
	require.NoError(t, err)
	require.Equal(t, mcp.MethodElicit, *res.(*mcp.InputRequiredResult).RequestState)

	answers = map[string]string{mcp.MethodElicit: `{"action":"decline"}`}
	res, err = serve(modern, back)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("decline"), res)
	require.Empty(t, back.take())

	_, err = serve(connection.NewForRequest("2026-07-28", nil, &mcp.ClientCapabilities{}, nil), back)
	require.EqualValues(t, mcp.CodeMissingRequiredClientCapability, peer.AsError(err).Code)

	res, err = serve(connection.NewForRequest("2025-11-25", nil, allCapabilities(), nil), back)
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("accept"), res)
	require.Len(t, back.take(), 1, "a handshake revision asks by request")
}

func TestARoundBeginsWhenSomethingIsAskedAndEndsOnce(t *testing.T) {
	var begun int
	var left context.Context
	rounds := roundsOf(func() selfServed { begun++; return new(round) })
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if left = ctx; req.Name == "asks" {
				require.Same(t, connection.RoundFromContext(ctx), connection.RoundFromContext(ctx))
			}
			return mcp.TextResult("done"), nil
		})
		o.Rounds = unserved{rounds}
	})
	for i, name := range []string{"quiet", "asks"} {
		begun = 0
		conn := connection.NewForRequest("2026-07-28", nil, allCapabilities(), nil)
		in := request("tools/call", "", nil)
		in.Value, in.Params = &mcp.CallToolRequest{Name: name}, nil
		_, err := k.Serve(t.Context(), conn, in)
		require.NoError(t, err)
		require.Equal(t, i, begun)
		require.Equal(t, i == 1, connection.EndRound(left) != nil, "it is given back")
		_, err = mcp.SessionFromContext(left).ListRoots(t.Context())
		require.ErrorAs(t, err, new(*peer.NoBackChannelError))
		require.Equal(t, i, begun)
		require.True(t, connection.RoundFromContext(left).(*round).ended)
	}
	require.Nil(t, connection.EndRound(t.Context()))
}

// unserved are rounds that do nothing around a handler.
type unserved struct{ connection.Rounds }

func (unserved) Serve(ctx context.Context, _ *peer.Inbound, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	return handler(ctx, req)
}

func TestAQuestionHasTheKeyThatItsCallerChose(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := mcp.SessionFromContext(ctx).With(peer.WithKey("!")).ListRoots(ctx)
			return nil, err
		})
		o.Rounds = roundsOf(func() selfServed { return new(round) })
	})
	in := request("tools/call", `{"name":"ask"}`, nil)
	in.Value, in.Params = &mcp.CallToolRequest{Name: "ask"}, nil
	reply, err := k.Serve(t.Context(), connection.NewForRequest("2026-07-28", nil, allCapabilities(), nil), in)
	require.NoError(t, err)
	require.Equal(t, "roots/list!", *reply.Result.(*mcp.InputRequiredResult).RequestState)
	require.Nil(t, connection.RoundFromContext(t.Context()))
}

// again is a round that calls the handler a second time, with state.
type again struct{ connection.Round }

func (again) Serve(ctx context.Context, req peer.Message, handler func(context.Context, peer.Message) (wire.Value, error)) (wire.Value, error) {
	_, err := handler(ctx, req)
	ask, asks := errors.AsType[*mcp.InputRequiredError](err)
	if !asks {
		return nil, errors.New("nobody asked")
	}
	next := *req.(*mcp.CallToolRequest)
	next.RequestState = ask.Result.RequestState
	return handler(ctx, &next)
}

func TestARoundMayCallTheHandlerAgainWhereTheAnswerCannotAsk(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.RequestState == nil {
				return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new(req.Name)}}
			}
			return mcp.TextResult("got " + *req.RequestState), nil
		})
		mcp.HandleListTools(o.Mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("x")}}
		})
		o.Rounds = roundsOf(func() selfServed { return again{} })
	})
	conn, _ := loop(t, "2025-11-25", allCapabilities())
	reply, err := k.Serve(t.Context(), conn, request("tools/call", `{"name":"one"}`, nil))
	require.NoError(t, err)
	require.Equal(t, mcp.TextResult("got one"), reply.Result)

	_, err = k.Serve(t.Context(), conn, request("tools/list", `{}`, nil))
	require.ErrorContains(t, err, "may not ask for input", "no revision has questions in the answer to this one")
}

func TestWhatMayBeAskedIsKnownWithoutAsking(t *testing.T) {
	roots := &mcp.ListRootsRequest{}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		back := new(channel)
		opts := &connection.Options{Outbound: back}
		require.NoError(t, connection.NewForRequest(version, nil, allCapabilities(), opts).Check(roots))
		err := connection.NewForRequest(version, nil, &mcp.ClientCapabilities{}, opts).Check(roots)
		refused[*connection.CapabilityError](t, back, err)
		err = connection.NewForRequest(version, nil, allCapabilities(), opts).Check(&mcp.ElicitRequest{
			Params: &mcp.ElicitRequestURLParams{URL: "nowhere"},
		})
		refused[*connection.InvalidError](t, back, err)
	}
}

func TestAClientServesItsServer(t *testing.T) {
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
		"sampling/createMessage": mcp.CodeInvalidParams, // the params lack what they need
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

func TestAClientHearsItsServerBeforeTheHandshakeIsOver(t *testing.T) {
	heard := 0
	var mux peer.Mux
	mcp.HandleLoggingMessage(&mux, func(context.Context, *mcp.LoggingMessageNotification) error {
		heard++
		return nil
	})
	k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Logger: quiet})
	conn := connection.New(nil, &connection.Options{Client: true})
	_, err := k.Serve(t.Context(), conn, notification(mcp.MethodLoggingMessage, `{"level":"info","data":1}`, nil))
	require.NoError(t, err)
	require.Equal(t, 1, heard, "servers may log from the start")
}

func TestAnAnswerMayAskWithoutState(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
				InputRequests: map[string]mcp.InputRequest{"r": &mcp.ListRootsRequest{}},
			}}
		})
	})
	reply, err := k.ServeStateless(t.Context(), request("tools/call", `{"name":"x",`+pair[1:], nil), nil)
	require.NoError(t, err)
	require.Len(t, reply.Result.(*mcp.InputRequiredResult).InputRequests, 1)
}

func TestOnlyWhatTheRevisionEmbedsTravelsInARound(t *testing.T) {
	var refusals []error
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Mux = new(peer.Mux)
		mcp.HandleCallTool(o.Mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s := mcp.SessionFromContext(ctx)
			_, custom := peer.SendRequest(ctx, s, &weatherRequest{"here"})
			_, ping := peer.SendRequest(ctx, s, &mcp.PingRequest{})
			refusals = []error{custom, ping}
			return mcp.TextResult("done"), nil
		})
		o.Rounds = roundsOf(func() selfServed { return new(round) })
	})
	_, err := k.ServeStateless(t.Context(), request("tools/call", `{"name":"x",`+pair[1:], nil), nil)
	require.NoError(t, err)
	for _, err := range refusals {
		require.ErrorAs(t, err, new(*peer.NoBackChannelError))
	}
}

func TestAConnectionOfOneRequestIsTornDownBeforeTheAnswer(t *testing.T) {
	for _, name := range []string{"fine", "boom", "panic", "cancelled"} {
		synctest.Test(t, func(t *testing.T) {
			closed := false
			k := newKernel(func(o *connection.DispatcherOptions) {
				o.Middleware = []peer.Middleware{func(next peer.Handler) peer.Handler {
					return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
						connection.FromContext(ctx).OnClose(func(ctx context.Context) error {
							closed = ctx.Err() == nil
							return nil
						})
						if name == "panic" {
							panic(name)
						}
						return next.Handle(ctx, in)
					})
				}}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "cancelled" {
				cancel()
			}
			serve := func() {
				defer func() { _ = recover() }()
				_, _ = k.ServeStateless(ctx, request("tools/call", `{"name":"`+name+`",`+pair[1:], nil), nil)
			}
			serve()
			require.True(t, closed, name)
		})
	}
}

func TestAHangingTeardownDelaysTheAnswerAndDoesNotLoseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		k := newKernel(func(o *connection.DispatcherOptions) {
			peer.Handle(o.Mux, func(ctx context.Context, _ *lateRequest) (*weather, error) {
				connection.FromContext(ctx).OnClose(func(context.Context) error { <-free; return nil })
				return &weather{"grey"}, nil
			})
		})
		began := time.Now()
		reply, err := k.ServeStateless(t.Context(), request("acme/late", pair, nil), &connection.Options{Logger: quiet})
		require.NoError(t, err)
		require.Equal(t, &weather{"grey"}, reply.Result)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

type lateRequest struct{ weatherRequest }

func (*lateRequest) Method() string               { return "acme/late" }
func (*lateRequest) DecodeParams(d *wire.Decoder) { d.Skip() }

func TestMisshapenEnvelopesReachCustomHandlersOnly(t *testing.T) {
	k := newKernel(nil)
	bad := `"_meta":{` + version + `:"2026-07-28",` + caps + `:7,` + info + `:[]}}`
	reply, err := k.ServeStateless(t.Context(), request("acme/weather", `{"place":"here",`+bad, nil), nil)
	require.NoError(t, err)
	require.Equal(t, &weather{"grey"}, reply.Result)
	_, err = k.ServeStateless(t.Context(), request("tools/call", `{"name":"x",`+bad, nil), nil)
	require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code)
}

func TestAKernelNeedsNoOptions(t *testing.T) {
	k := connection.NewDispatcher(nil)
	_, err := k.Serve(t.Context(), connection.New(nil, nil), request("ping", ``, nil))
	require.NoError(t, err)
}

func TestInfoThatCannotBeWrittenPanicsAtOnce(t *testing.T) {
	require.Panics(t, func() {
		connection.NewDispatcher(&connection.DispatcherOptions{Info: mcp.Implementation{
			Extra: map[string]json.RawMessage{"x": json.RawMessage(`{`)},
		}})
	})
}

func TestTheHandshakeIsNotForHandlers(t *testing.T) {
	var mux peer.Mux
	never := func() { require.Fail(t, "the kernel answers itself") }
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
	_, err = k.ServeStateless(t.Context(), request("server/discover", pair, nil), nil)
	require.NoError(t, err)
}

func TestDiscoveryAnnouncesChangesWhereTheyCanBeSubscribedTo(t *testing.T) {
	k := newKernel(func(o *connection.DispatcherOptions) {
		o.Capabilities.Prompts = &mcp.PromptsCapability{ListChanged: true}
		mcp.HandleSubscriptionsListen(o.Mux, func(context.Context, *mcp.SubscriptionsListenRequest) (*mcp.SubscriptionsListenResult, error) {
			return &mcp.SubscriptionsListenResult{}, nil
		})
	})
	reply, err := k.ServeStateless(t.Context(), request("server/discover", pair, nil), nil)
	require.NoError(t, err)
	caps := reply.Result.(*mcp.DiscoverResult).Capabilities
	require.True(t, caps.Tools.ListChanged && caps.Resources.Subscribe && caps.Prompts.ListChanged)

	declared := mcp.ServerCapabilities{
		Prompts: &mcp.PromptsCapability{ListChanged: true}, Resources: &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		Tools: &mcp.ToolsCapability{ListChanged: true},
	}
	k = newKernel(func(o *connection.DispatcherOptions) { o.Capabilities = declared })
	reply, err = k.ServeStateless(t.Context(), request("server/discover", pair, nil), nil)
	require.NoError(t, err)
	caps = reply.Result.(*mcp.DiscoverResult).Capabilities
	require.False(t, caps.Tools.ListChanged || caps.Resources.Subscribe || caps.Resources.ListChanged || caps.Prompts.ListChanged)
	require.True(t, declared.Tools.ListChanged && declared.Resources.Subscribe && declared.Prompts.ListChanged, "what the program declared stays as it is")
}
