package mcpotel_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// remote returns a context with a remote span, trace state and baggage.
func remote(t *testing.T) (context.Context, trace.SpanContext) {
	state, err := trace.ParseTraceState("acme=1")
	require.NoError(t, err)
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true,
	})
	member, err := baggage.NewMember("user", "ann")
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	return baggage.ContextWithBaggage(trace.ContextWithSpanContext(t.Context(), span), bag), span
}

func TestTraceStateAndBaggageArriveInEveryRevision(t *testing.T) {
	for name, serve := range transports {
		for _, revision := range mcp.Revisions {
			t.Run(name+"/"+revision.Revision.String(), func(t *testing.T) {
				r := newRecorder()
				s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
				mcpserver.AddTool(s, &mcp.Tool{Name: "look"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
					return trace.SpanContextFromContext(ctx).TraceState().String() + " " + baggage.FromContext(ctx).String(), nil
				})
				c := connect(t, serve(t, s), mcpotel.InstrumentClient(&mcpclient.Options{Revision: revision.Revision}, r.options()))
				ctx, _ := remote(t)
				out, err := mcpclient.CallTool[string](ctx, c, "look", nil)
				require.NoError(t, err)
				require.Equal(t, "acme=1 user=ann", out)
			})
		}
	}
}

func TestRequestsOfTheServerArePartOfTheTrace(t *testing.T) {
	for name, serve := range transports {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
			mcpserver.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
				in, err := mcpserver.Elicit[place](ctx, session, "Where?")
				return in.City, err
			})
			c := connect(t, serve(t, s), mcpotel.InstrumentClient(&mcpclient.Options{
				Revision: mcp.Revision20251125, OnElicit: accept,
			}, r.options()))
			_, err := mcpclient.CallTool[string](t.Context(), c, "book", nil)
			require.NoError(t, err)
			call := r.one(t, "tools/call book", trace.SpanKindServer)
			asks := r.one(t, "elicitation/create", trace.SpanKindClient)
			answers := r.one(t, "elicitation/create", trace.SpanKindServer)
			require.Equal(t, call.SpanContext().SpanID(), asks.Parent().SpanID())
			require.Equal(t, asks.SpanContext().SpanID(), answers.Parent().SpanID())
		})
	}
}

func accept(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"city": "Bern"}}, nil
}

func TestQuestionsInResultsAreEvents(t *testing.T) {
	r := newRecorder()
	s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
	mcpserver.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		in, err := mcpserver.Elicit[place](ctx, session, "Where?")
		return in.City, err
	})
	c := connect(t, mcpclient.InProcess(s), mcpotel.InstrumentClient(&mcpclient.Options{OnElicit: accept}, r.options()))
	require.True(t, c.NoHandshake())
	ctx, program := r.start(t)
	_, err := mcpclient.CallTool[string](ctx, c, "book", nil)
	require.NoError(t, err)
	var events []string
	for _, span := range r.spans.Ended() {
		if attributes(span.Attributes())["gen_ai.tool.name"] != "book" {
			continue
		}
		require.Equal(t, program.SpanContext().TraceID(), span.SpanContext().TraceID())
		require.NotContains(t, attributes(span.Attributes()), "error.type", "a question is not an error")
		for _, e := range span.Events() {
			events = append(events, span.SpanKind().String()+" "+e.Name)
		}
	}
	require.Equal(t, []string{"server mcp.question", "server mcp.input_required", "client mcp.input_required", "server mcp.question"}, events)
}

func TestParentOfReceivedMessage(t *testing.T) {
	_, sent := remote(t)
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(t.Context(), sent), carrier)
	inMeta := `{"_meta":{"traceparent":"` + carrier["traceparent"] + `"}}`
	header := http.Header{"Traceparent": {carrier["traceparent"]}}
	ambient := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, TraceFlags: trace.FlagsSampled})
	for _, test := range []struct {
		name, params string
		header       http.Header
		ambient      bool
		parent       trace.SpanID
		links        int
	}{
		{"metadata", inMeta, nil, false, sent.SpanID(), 0},
		{"metadata and a span of the transport", inMeta, nil, true, sent.SpanID(), 1},
		{"headers", "{}", header, false, sent.SpanID(), 0},
		{"span of the transport and headers", "{}", header, true, ambient.SpanID(), 0},
		{"nothing", "{}", nil, false, trace.SpanID{}, 0},
		{"malformed metadata", `{"_meta":{"traceparent":"00-x"}}`, nil, false, trace.SpanID{}, 0},
		{"metadata of another type", `{"_meta":{"traceparent":7,"tracestate":[]}}`, nil, false, trace.SpanID{}, 0},
		{"malformed metadata and headers", `{"_meta":{"traceparent":"00-x"}}`, header, false, sent.SpanID(), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRecorder()
			h := mcpotel.Middleware(r.options())(peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
				return peer.Reply{Result: &mcp.EmptyResult{}}, nil
			}))
			ctx := t.Context()
			if test.ambient {
				ctx = trace.ContextWithSpanContext(ctx, ambient)
			}
			_, err := h.Handle(ctx, &peer.Inbound{
				Method: "ping", ID: wire.IntID(1), Params: []byte(test.params), Frame: &wire.Frame{Revision: mcp.Revision20251125},
				Transport: peer.NewTransportContext("streamable-http", true, test.header, ""),
			})
			require.NoError(t, err)
			span := r.one(t, "ping", trace.SpanKindServer)
			require.Equal(t, test.parent, span.Parent().SpanID())
			require.Len(t, span.Links(), test.links)
		})
	}
}

func TestPanicEndsSpan(t *testing.T) {
	r := newRecorder()
	h := mcpotel.Middleware(r.options())(peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { panic("x") }))
	require.Panics(t, func() { _ = call(h, "ping", "{}") })
	require.Equal(t, "panic", attributes(r.one(t, "ping", trace.SpanKindServer).Attributes())["error.type"])
}

func TestSubscriptionsAndReports(t *testing.T) {
	r := newRecorder()
	s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
	mcpserver.AddTool(s, &mcp.Tool{Name: "work"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		return "", session.ReportProgress(ctx, peer.Progress{Progress: 1})
	})
	c := connect(t, transports["pipe"](t, s), mcpotel.InstrumentClient(&mcpclient.Options{}, r.options()))
	sub, err := c.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true})
	require.NoError(t, err)
	s.RemoveTools("fail")
	for change, err := range sub.All() {
		require.NoError(t, err)
		require.Equal(t, mcp.MethodToolListChanged, change.Method())
		break
	}
	require.Eventually(t, func() bool { return len(r.named("notifications/tools/list_changed", trace.SpanKindClient)) == 1 }, patience, tick)
	require.Empty(t, r.named("subscriptions/listen", trace.SpanKindServer), "the span lasts as long as the subscription")
	require.NoError(t, sub.Close())
	require.Eventually(t, func() bool { return len(r.named("subscriptions/listen", trace.SpanKindServer)) == 1 }, patience, tick)
	listen := r.one(t, "subscriptions/listen", trace.SpanKindServer)
	delivery := r.one(t, "notifications/tools/list_changed", trace.SpanKindClient)
	require.Equal(t, listen.SpanContext().SpanID(), delivery.Parent().SpanID())

	reports := 0
	res, err := peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "work"}, peer.OnProgress(func(peer.Progress) { reports++ }))
	require.NoError(t, err)
	require.False(t, res.IsError)
	require.Equal(t, 1, reports)
	require.Len(t, r.one(t, "tools/call work", trace.SpanKindServer).Events(), 1)
	require.Empty(t, r.named("notifications/progress", trace.SpanKindClient))
}
