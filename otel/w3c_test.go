package mcpotel_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// w3c is the propagator that most programs use.
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// unrecognized is a propagator of another type, with the same effect.
type unrecognized struct{ propagation.TextMapPropagator }

// received returns the parent of the span of a message with this metadata, and the baggage.
func received(t *testing.T, p propagation.TextMapPropagator, meta map[string]json.RawMessage) (trace.SpanContext, string) {
	o := &mcpotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample())), Propagator: p}
	var parent trace.SpanContext
	bag := ""
	h := mcpotel.Middleware(o)(peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
		parent, bag = trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan).Parent(), baggage.FromContext(ctx).String()
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}))
	_, err := h.Handle(t.Context(), &peer.Inbound{
		Method: mcp.MethodPing, ID: wire.IntID(1), Message: &mcp.PingRequest{Meta: &mcp.RequestMeta{Extra: meta}},
		Frame: &wire.Frame{Revision: mcp.Revision20251125},
	})
	require.NoError(t, err)
	return parent, bag
}

// TestReceivedTraceContext compares the reading of W3C trace context with package propagation.
func TestReceivedTraceContext(t *testing.T) {
	const parent = `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`
	parents := []string{
		parent, `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"`, `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"`,
		`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-04"`, `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff"`,
		`"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"`, `"00-00000000000000000000000000000000-b7ad6b7169203331-01"`,
		`"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"`, `"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`,
		`"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"`, `"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`,
		`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-"`, `"\u0030\u0030-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`,
		`""`, `"00"`, `7`, `null`, `{}`, ``,
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		changed := []byte(parent)
		changed[1+random.IntN(len(parent)-2)] = `0123456789abcdefABCDEFg-_ `[random.IntN(26)]
		parents = append(parents, string(changed))
	}
	valid := 0
	for _, text := range parents {
		for _, rest := range []map[string]string{
			{},
			{"tracestate": `"acme=1,other=2"`, "baggage": `"user=ann"`},
			{"tracestate": `"=,not a state"`, "baggage": `"=;"`},
			{"tracestate": `7`, "baggage": `[]`},
		} {
			meta := map[string]json.RawMessage{"com.example/other": json.RawMessage(`1`)}
			if text != "" {
				meta["traceparent"] = json.RawMessage(text)
			}
			for key, value := range rest {
				meta[key] = json.RawMessage(value)
			}
			want, wantBag := received(t, unrecognized{w3c}, meta)
			got, bag := received(t, w3c, meta)
			require.Equal(t, want, got, "%s %v", text, rest)
			require.Equal(t, wantBag, bag, "%s %v", text, rest)
			if want.IsValid() {
				valid++
			}
		}
	}
	require.Greater(t, valid, 100)
	require.Less(t, valid, 4*len(parents)-100)
}

// sent collects the metadata that is added to a message, and the span that sends it.
type sent struct {
	nowhere
	meta propagation.MapCarrier
	span trace.SpanContext
}

func (s *sent) Call(ctx context.Context, _ peer.Message, _ wire.Value, opts ...peer.CallOption) error {
	var o peer.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	s.span, s.meta = trace.SpanContextFromContext(ctx), propagation.MapCarrier{}
	for _, e := range o.Frame.Meta {
		var text string
		if err := json.Unmarshal(e.Value, &text); err != nil {
			return err
		}
		s.meta[e.Name] = text
	}
	return nil
}

// TestSentTraceContext reads what is sent with package propagation.
func TestSentTraceContext(t *testing.T) {
	with, _ := remote(t)
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		for _, p := range []propagation.TextMapPropagator{w3c, unrecognized{w3c}, propagation.TraceContext{}, nil} {
			for _, ctx := range []context.Context{t.Context(), with} {
				o := &mcpotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)), Propagator: p}
				var out sent
				frame := &wire.Frame{Revision: mcp.Revision20251125, Meta: []wire.Entry{{Name: "traceparent", Value: []byte(`"old"`)}}}
				require.NoError(t, mcpotel.Outgoing(o)(&out).Call(ctx, &mcp.PingRequest{}, nil, peer.WithFrame(frame)))
				read := w3c.Extract(t.Context(), out.meta)
				require.Equal(t, out.span.WithRemote(true), trace.SpanContextFromContext(read))
				if _, only := p.(propagation.TraceContext); !only {
					require.Equal(t, baggage.FromContext(ctx).String(), baggage.FromContext(read).String())
				}
				require.JSONEq(t, `"old"`, string(frame.Meta[0].Value), "the frame of the caller is unchanged")
			}
		}
	}
}

// attributeSampler collects what a sampler gets, and drops all spans.
type attributeSampler struct{ got []sdktrace.SamplingParameters }

func (s *attributeSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s.got = append(s.got, p)
	return sdktrace.SamplingResult{Decision: sdktrace.Drop}
}

func (*attributeSampler) Description() string { return "attributeSampler" }

func TestSamplersGetMethodAndTarget(t *testing.T) {
	s := new(attributeSampler)
	out := mcpotel.Outgoing(&mcpotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(s))})(new(nowhere))
	for range 2 { // the second call knows that the names exist
		require.NoError(t, out.Call(t.Context(), &mcp.CallToolRequest{Name: "forecast"}, nil))
		require.NoError(t, out.Call(t.Context(), &mcp.GetPromptRequest{Name: "poem"}, nil))
	}
	require.Len(t, s.got, 4)
	require.Equal(t, []attribute.KeyValue{attribute.String("mcp.method.name", "tools/call")}, s.got[0].Attributes)
	require.Equal(t, []attribute.KeyValue{
		attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.tool.name", "forecast"),
	}, s.got[2].Attributes)
	require.Equal(t, "tools/call forecast", s.got[2].Name)
	require.Equal(t, trace.SpanKindClient, s.got[2].Kind)
	require.Equal(t, []attribute.KeyValue{
		attribute.String("mcp.method.name", "prompts/get"), attribute.String("gen_ai.prompt.name", "poem"),
	}, s.got[3].Attributes)
}
