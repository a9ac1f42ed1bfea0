package mcpotel_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sampled returns options with an SDK that samples 1 % of the traces.
func sampled() *mcpotel.Options {
	return &mcpotel.Options{
		TracerProvider: sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))),
			sdktrace.WithBatcher(tracetest.NewNoopExporter())),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	}
}

// BenchmarkCall measures a tool call over a pipe: without instrumentation, with
// instrumentation but without an SDK, and with an SDK that samples 1 % of the traces.
func BenchmarkCall(b *testing.B) {
	spans := sampled()
	spans.MeterProvider = otel.GetMeterProvider()
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		for _, test := range []struct {
			name           string
			client, server bool
			options        *mcpotel.Options
		}{
			{"none", false, false, nil},
			{"no SDK", true, true, nil},
			{"server", false, true, sampled()},
			{"client", true, false, sampled()},
			{"both", true, true, sampled()},
			{"both, spans only", true, true, spans},
		} {
			b.Run(r.String()+"/"+test.name, func(b *testing.B) {
				client, server := &mcpclient.Options{Revision: r, Logger: quiet}, &mcpserver.Options{}
				if test.client {
					client = mcpotel.InstrumentClient(client, test.options)
				}
				if test.server {
					server = mcpotel.InstrumentServer(server, test.options)
				}
				callOverPipe(b, client, newServer(server))
			})
		}
	}
}

// callOverPipe calls a tool of a server over a pipe.
func callOverPipe(b *testing.B, client *mcpclient.Options, s *mcpserver.Server) {
	up, out := io.Pipe()
	in, down := io.Pipe()
	go s.ServeStreams(b.Context(), up, down) // ends with the pipe, which the client closes
	c, err := mcpclient.Connect(b.Context(), mcpclient.Streams(in, out), client)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	req := &mcp.CallToolRequest{Name: "forecast", Arguments: []byte(`{"city":"Bern"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMessage measures what the telemetry of one message costs at each end, in the
// place of a connection.
func BenchmarkMessage(b *testing.B) {
	reply := peer.Reply{Result: &mcp.EmptyResult{}}
	handled := peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return reply, nil })
	req := &mcp.CallToolRequest{Name: "forecast", Meta: &mcp.RequestMeta{Extra: map[string]json.RawMessage{
		"traceparent": []byte(`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"`),
	}}}
	in := &peer.Inbound{Method: req.Method(), ID: wire.IntID(1), Message: req, Frame: &wire.Frame{Revision: mcp.Revision20251125}}
	frame := []peer.CallOption{peer.WithFrame(in.Frame)}
	for _, test := range []struct {
		name    string
		options *mcpotel.Options
	}{{"no SDK", nil}, {"sampler of 1 percent", sampled()}} {
		b.Run("received/"+test.name, func(b *testing.B) {
			h := mcpotel.Middleware(test.options)(handled)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = h.Handle(b.Context(), in)
			}
		})
		b.Run("sent/"+test.name, func(b *testing.B) {
			out, under := mcpotel.Outgoing(test.options), new(nowhere)
			b.ReportAllocs()
			for b.Loop() {
				_ = out(under).Call(b.Context(), req, nil, frame...)
			}
		})
	}
	b.Run("SDK alone", func(b *testing.B) { // what the SDK needs for the same
		o := sampled()
		tracer := o.TracerProvider.Tracer("test")
		duration, err := o.MeterProvider.Meter("test").Float64Histogram("test",
			metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
		if err != nil {
			b.Fatal(err)
		}
		target := []attribute.KeyValue{attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.tool.name", "forecast")}
		labels := attribute.NewSet(append(target, attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("mcp.protocol.version", "2025-11-25"), attribute.String("network.transport", "pipe"))...)
		start := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(target...)}
		record := []metric.RecordOption{metric.WithAttributeSet(labels)}
		carrier := propagation.MapCarrier{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
		b.ReportAllocs()
		for b.Loop() {
			ctx := propagation.TraceContext{}.Extract(b.Context(), carrier)
			begun := time.Now()
			ctx, span := tracer.Start(ctx, "tools/call forecast", start...)
			span.End()
			duration.Record(ctx, time.Since(begun).Seconds(), record...)
		}
	})
}
