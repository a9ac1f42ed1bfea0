package otlptest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
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
	"github.com/mcpwright/mcp/runtime/health"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// callTools calls tools that exist, one that does not, and one that is refused, in one process, with the
// instrumentation at both ends. It returns the server, whose gauges are observed.
func callTools(t *testing.T, o *mcpotel.Options) *mcpserver.Server {
	var serverOpts mcpserver.Options
	serverOpts.Stdio.JSONRPC = jsonrpc.Options{MaxInFlight: 1}
	server := mcpserver.New(mcp.Implementation{Name: "server", Version: "1.0.0"}, mcpotel.InstrumentServer(&serverOpts, o))
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "Hello", nil
	})
	var client *mcpclient.Client
	mcpserver.AddTool(server, &mcp.Tool{Name: "nested"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		_, err := mcpclient.CallTool[string](ctx, client, "greet", nil)
		return fmt.Sprint(err), nil
	})
	_, err := mcpotel.ObserveServer(server, o)
	require.NoError(t, err)
	opts := &mcpclient.Options{Revision: mcp.Revision20251125} // which has sessions
	client, err = mcpclient.Connect(t.Context(), mcpclient.InProcess(server), mcpotel.InstrumentClient(opts, o))
	require.NoError(t, err)
	defer client.Close()
	for range 2 {
		_, err = mcpclient.CallTool[string](t.Context(), client, "greet", nil)
		require.NoError(t, err)
	}
	_, err = mcpclient.CallTool[string](t.Context(), client, "unknown", nil)
	require.Error(t, err)
	refused, err := mcpclient.CallTool[string](t.Context(), client, "nested", nil)
	require.NoError(t, err)
	require.Contains(t, refused, "Too many requests")
	return server
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
	server := callTools(t, &mcpotel.Options{TracerProvider: tracer, MeterProvider: meter})
	require.NoError(t, tracer.Shutdown(t.Context()))
	require.NoError(t, meter.Shutdown(t.Context()))
	runtime.KeepAlive(server)

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

	var names []string
	for _, md := range metrics.AllMetrics() {
		for _, r := range md.ResourceMetrics().All() {
			for _, s := range r.ScopeMetrics().All() {
				for _, m := range s.Metrics().All() {
					names = append(names, m.Name())
				}
			}
		}
	}
	for _, name := range []string{
		"mcp.client.operation.duration", "mcp.server.operation.duration", "mcp.client.session.duration", "mcp.server.session.duration",
		"mcp.server.sessions", "mcp.server.requests", "mcp.server.streams", "mcp.server.events", "mcp.server.events.size",
		"mcp.server.tasks", "mcp.server.held", "mcp.server.refusals",
	} {
		require.Contains(t, names, name)
	}
}

// scrape returns what Prometheus reads from a handler.
func scrape(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	l := httptest.NewServer(h)
	defer l.Close()
	res, err := http.Get(l.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(res.Body)
	require.NoError(t, err)
	return families
}

func TestPrometheusParsesMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	require.NoError(t, err)
	server := callTools(t, &mcpotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	families := scrape(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	runtime.KeepAlive(server)
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
	require.Equal(t, map[string]uint64{"greet": 2, "nested": 1, "_OTHER": 1}, counts)
}

// TestDashboardShowsWhatPrometheusReads looks for each metric of the dashboard.
func TestDashboardShowsWhatPrometheusReads(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	require.NoError(t, err)
	server := callTools(t, &mcpotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	families := scrape(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	runtime.KeepAlive(server)
	data, err := os.ReadFile("../../../docs/grafana.json")
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bmcp_\w+\{`).FindAllString(string(data), -1) {
		name = strings.TrimSuffix(name, "{")
		family := families[name]
		for _, part := range []string{"_bucket", "_count"} {
			if base, ok := strings.CutSuffix(name, part); ok {
				family = families[base]
				require.Equal(t, dto.MetricType_HISTOGRAM, family.GetType(), name)
			}
		}
		require.NotNil(t, family, name)
		shown[family.GetName()] = true
	}
	for name := range families {
		if strings.HasPrefix(name, "mcp_") {
			require.True(t, shown[name], "the dashboard does not show %q", name)
		}
	}
}

// TestPrometheusReadsTheSameWithoutOpenTelemetry compares the gauges of the package health with ours.
func TestPrometheusReadsTheSameWithoutOpenTelemetry(t *testing.T) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	require.NoError(t, err)
	server := callTools(t, &mcpotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	with := scrape(t, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	without := scrape(t, health.Metrics(server))
	require.Len(t, without, 8)
	for name, family := range without {
		require.NotNil(t, with[name], name)
		require.Equal(t, with[name].GetType(), family.GetType(), name)
		require.Len(t, family.Metric, 1, name)
		require.Equal(t, with[name].Metric[0].GetGauge().GetValue(), family.Metric[0].GetGauge().GetValue(), name)
		require.Equal(t, with[name].Metric[0].GetCounter().GetValue(), family.Metric[0].GetCounter().GetValue(), name)
	}
	limit := without["mcp_server_refusals_total"].Metric[0].Label[0]
	require.Equal(t, "mcp_limit JSONRPC.MaxInFlight", limit.GetName()+" "+limit.GetValue())
}
