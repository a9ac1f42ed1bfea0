package peer

import (
	"context"
	"net/http"
	"strings"

	mgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/tracing"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	mcpotel "github.com/mcpwright/mcp/otel"
)

// The ends of the names of peers with telemetry. All but the first have an SDK of OpenTelemetry that
// samples 1 % of the traces.
const (
	instrumented = " instrumented"
	traced       = " traced"
	withTraces   = " traces only"
	alone        = " SDK alone"
	withOtelHTTP = " otelhttp"
)

// WithoutTelemetry returns the name of the peer that a peer with telemetry is compared with, or "".
func WithoutTelemetry(name string) string {
	for _, end := range []string{instrumented, traced, withTraces, alone, withOtelHTTP} {
		if without, ok := strings.CutSuffix(name, end); ok {
			return without
		}
	}
	return ""
}

// Traced lists the peers of the table about telemetry.
func Traced() []Peer {
	return []Peer{
		floor{},
		&ours{name: "mcpwright"},
		&ours{name: "mcpwright" + instrumented, telemetry: new(mcpotel.Options)},
		&ours{name: "mcpwright" + traced, telemetry: telemetry()},
		&ours{name: "mcpwright" + withTraces, telemetry: &mcpotel.Options{TracerProvider: tracers(), MeterProvider: noop.NewMeterProvider()}},
		&ours{name: "mcpwright" + alone, sdk: newSDKAlone()},
		&tracedHTTP{server: ours{name: "mcpwright" + withOtelHTTP}},
		&mcpGo{name: "mcp-go"},
		&mcpGo{name: "mcp-go" + traced, telemetry: true},
	}
}

// tracers returns a provider of tracers that samples 1 % of the traces and exports nothing.
func tracers() *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))),
		sdktrace.WithBatcher(tracetest.NewNoopExporter()))
}

// meters returns a provider of histograms that are read by hand.
func meters() *sdkmetric.MeterProvider {
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
}

// telemetry returns the options of our telemetry, with traces and metrics.
func telemetry() *mcpotel.Options {
	return &mcpotel.Options{TracerProvider: tracers(), MeterProvider: meters()}
}

// tracedHTTP is this module without telemetry of its own behind the handler of otelhttp.
type tracedHTTP struct {
	Unsupported
	server ours
}

func (p *tracedHTTP) Name() string { return p.server.Name() }

func (p *tracedHTTP) Work() string { return p.server.Work() }

// OnlyHTTP reports whether a peer supports only the workloads over HTTP.
func OnlyHTTP(p Peer) bool {
	_, only := p.(*tracedHTTP)
	return only
}

// HTTP implements Peer.
func (p *tracedHTTP) HTTP(mode Mode) (http.Handler, error) {
	h, err := p.server.HTTP(mode)
	if err != nil {
		return nil, err
	}
	return otelhttp.NewHandler(h, "mcp", otelhttp.WithTracerProvider(tracers()), otelhttp.WithMeterProvider(meters())), nil
}

// mcpGoTracer implements mcp-go's interface of a tracer in the cheapest way. mcp-go has no metrics.
type mcpGoTracer struct{ tracer trace.Tracer }

func newMCPGoTracer() mcpGoTracer { return mcpGoTracer{tracers().Tracer("bench")} }

// mcpGoPropagator implements mcp-go's interface for the trace context in the metadata of messages.
type mcpGoPropagator struct{}

// InjectMeta implements tracing.MetaPropagator.
func (mcpGoPropagator) InjectMeta(ctx context.Context, meta *mgo.Meta) *mgo.Meta {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return meta
	}
	if meta == nil {
		meta = new(mgo.Meta)
	}
	if meta.AdditionalFields == nil {
		meta.AdditionalFields = map[string]any{}
	}
	for key, value := range carrier {
		meta.AdditionalFields[key] = value
	}
	return meta
}

// ExtractMeta implements tracing.MetaPropagator.
func (mcpGoPropagator) ExtractMeta(ctx context.Context, meta *mgo.Meta) context.Context {
	if meta == nil {
		return ctx
	}
	carrier := propagation.MapCarrier{}
	for key, value := range meta.AdditionalFields {
		if text, ok := value.(string); ok {
			carrier[key] = text
		}
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}

// Start implements tracing.Tracer.
func (t mcpGoTracer) Start(ctx context.Context, name string, kind tracing.SpanKind, attrs ...tracing.Attribute) (context.Context, tracing.Span) {
	spanKind := trace.SpanKindInternal
	if kind == tracing.SpanKindServer {
		spanKind = trace.SpanKindServer
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(spanKind))
	s := mcpGoSpan{span}
	s.SetAttributes(attrs...)
	return tracing.ContextWithSpan(ctx, s), s
}

type mcpGoSpan struct{ span trace.Span }

// SetAttributes implements tracing.Span.
func (s mcpGoSpan) SetAttributes(attrs ...tracing.Attribute) {
	if !s.span.IsRecording() {
		return
	}
	for _, a := range attrs {
		s.span.SetAttributes(attribute.String(a.Key, a.Value))
	}
}

// RecordError implements tracing.Span.
func (s mcpGoSpan) RecordError(err error) { s.span.RecordError(err) }

// SetStatus implements tracing.Span.
func (s mcpGoSpan) SetStatus(code tracing.StatusCode, description string) {
	if code == tracing.StatusError {
		s.span.SetStatus(codes.Error, description)
	}
}

// End implements tracing.Span.
func (s mcpGoSpan) End() { s.span.End() }
