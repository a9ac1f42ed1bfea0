package peer

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sdkAlone calls the SDK of OpenTelemetry as often as our telemetry does, with the same attributes, all of
// them prepared. It measures nothing but the tool greet, so it is the least that telemetry costs.
type sdkAlone struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
	sent     propagation.MapCarrier // of the last call; the messages do not contain it
}

func newSDKAlone() *sdkAlone {
	duration, err := meters().Meter("bench").Float64Histogram("mcp.server.operation.duration",
		metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
	must(err)
	return &sdkAlone{tracers().Tracer("bench"), duration, propagation.MapCarrier{}}
}

// start returns the options of a span of the tool greet. Attributes for spans that are recorded are left out.
func start(kind trace.SpanKind) []trace.SpanStartOption {
	return []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(
		attribute.String("mcp.method.name", mcp.MethodCallTool), attribute.String("gen_ai.tool.name", "greet"))}
}

var (
	startServer, startClient = start(trace.SpanKindServer), start(trace.SpanKindClient)

	// record has the labels of a call of the tool greet.
	record = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
		attribute.String("mcp.method.name", mcp.MethodCallTool), attribute.String("gen_ai.tool.name", "greet"),
		attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("mcp.protocol.version", "2025-11-25"),
		attribute.String("network.transport", "pipe")))}
)

// middleware records the messages that are received.
func (s *sdkAlone) middleware(next peer.Handler) peer.Handler {
	return peer.Observer(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		if len(s.sent) > 0 {
			ctx = propagation.TraceContext{}.Extract(ctx, s.sent)
		}
		begun := time.Now()
		ctx, span := s.tracer.Start(ctx, "tools/call greet", startServer...)
		reply, err := next.Handle(ctx, in)
		span.End()
		s.duration.Record(ctx, time.Since(begun).Seconds(), record...)
		return reply, err
	})
}

// outgoing records the messages that are sent.
func (s *sdkAlone) outgoing(out peer.Outbound) peer.Outbound { return &sdkSender{s, out} }

type sdkSender struct {
	*sdkAlone
	peer.Outbound
}

// Call implements [peer.Outbound].
func (s *sdkSender) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	begun := time.Now()
	ctx, span := s.tracer.Start(ctx, "tools/call greet", startClient...)
	propagation.TraceContext{}.Inject(ctx, s.sent)
	err := s.Outbound.Call(ctx, req, res, opts...)
	span.End()
	s.duration.Record(ctx, time.Since(begun).Seconds(), record...)
	return err
}
