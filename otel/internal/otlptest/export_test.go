package otlptest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// callTools calls a tool that exists and one that does not, in one process, with the
// instrumentation at both ends.
func callTools(t *testing.T, o *mcpotel.Options) {
	server := mcpserver.New(mcp.Implementation{Name: "server", Version: "1.0.0"}, mcpotel.InstrumentServer(nil, o))
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "Hello", nil
	})
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), mcpotel.InstrumentClient(nil, o))
	require.NoError(t, err)
	defer client.Close()
	for range 2 {
		_, err = mcpclient.CallTool[string](t.Context(), client, "greet", nil)
		require.NoError(t, err)
	}
	_, err = mcpclient.CallTool[string](t.Context(), client, "unknown", nil)
	require.Error(t, err)
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestCollectorReceivesSpansAndMetrics(t *testing.T) {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	addr := freeAddress(t)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": addr}},
	}).Unmarshal(config))
	var traces consumertest.TracesSink
	var metrics consumertest.MetricsSink
	settings := receivertest.NewNopSettings(factory.Type())
	spanReceiver, err := factory.CreateTraces(t.Context(), settings, config, &traces)
	require.NoError(t, err)
	metricReceiver, err := factory.CreateMetrics(t.Context(), settings, config, &metrics)
	require.NoError(t, err)
	host := componenttest.NewNopHost()
	require.NoError(t, spanReceiver.Start(t.Context(), host))
	require.NoError(t, metricReceiver.Start(t.Context(), host))
	t.Cleanup(func() {
		require.NoError(t, spanReceiver.Shutdown(context.Background()))
		require.NoError(t, metricReceiver.Shutdown(context.Background()))
	})

	spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(addr), otlptracehttp.WithInsecure())
	require.NoError(t, err)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	points, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(addr), otlpmetrichttp.WithInsecure())
	require.NoError(t, err)
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(points, sdkmetric.WithInterval(time.Hour))))
	callTools(t, &mcpotel.Options{TracerProvider: tracer, MeterProvider: meter})
	require.NoError(t, tracer.Shutdown(t.Context()))
	require.NoError(t, meter.Shutdown(t.Context()))

	byID := make(map[string]ptrace.Span)
	var servers []ptrace.Span
	for _, td := range traces.AllTraces() {
		for _, r := range td.ResourceSpans().All() {
			for _, s := range r.ScopeSpans().All() {
				require.Equal(t, "github.com/mcpwright/mcp/otel", s.Scope().Name())
				for _, span := range s.Spans().All() {
					byID[span.SpanID().String()] = span
					if span.Kind() == ptrace.SpanKindServer && span.Name() == "tools/call greet" {
						servers = append(servers, span)
					}
				}
			}
		}
	}
	require.Len(t, servers, 2)
	parent, ok := byID[servers[0].ParentSpanID().String()]
	require.True(t, ok)
	require.Equal(t, ptrace.SpanKindClient, parent.Kind())
	tool, ok := servers[0].Attributes().Get("gen_ai.tool.name")
	require.True(t, ok)
	require.Equal(t, "greet", tool.Str())

	names := make(map[string]int)
	for _, md := range metrics.AllMetrics() {
		for _, r := range md.ResourceMetrics().All() {
			for _, s := range r.ScopeMetrics().All() {
				for _, m := range s.Metrics().All() {
					names[m.Name()] = m.Histogram().DataPoints().Len()
				}
			}
		}
	}
	require.Contains(t, names, "mcp.client.operation.duration")
	require.Contains(t, names, "mcp.server.operation.duration")
}

func TestPrometheusParsesMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	require.NoError(t, err)
	callTools(t, &mcpotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	l := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer l.Close()
	res, err := http.Get(l.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(res.Body)
	require.NoError(t, err)
	family := families["mcp_server_operation_duration_seconds"]
	require.NotNil(t, family, "%v", families)
	counts := make(map[string]uint64)
	for _, m := range family.Metric {
		for _, label := range m.Label {
			if label.GetName() == "gen_ai_tool_name" {
				counts[label.GetValue()] += m.Histogram.GetSampleCount()
				require.Len(t, m.Histogram.Bucket, 15, "the recommended boundaries and +Inf")
			}
		}
	}
	require.Equal(t, map[string]uint64{"greet": 2, "_OTHER": 1}, counts)
}
