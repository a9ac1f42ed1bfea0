package mcpotel_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// recorder records the spans and metrics of one test.
type recorder struct {
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider
}

func newRecorder() *recorder {
	r := &recorder{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	return r
}

func (r *recorder) options() *mcpotel.Options {
	return &mcpotel.Options{TracerProvider: r.tracer, MeterProvider: r.meters}
}

// start starts a span of the program.
func (r *recorder) start(t *testing.T) (context.Context, trace.Span) {
	return r.tracer.Tracer("test").Start(t.Context(), "program")
}

// named returns the ended spans with a name and a kind.
func (r *recorder) named(name string, kind trace.SpanKind) []sdktrace.ReadOnlySpan {
	var found []sdktrace.ReadOnlySpan
	for _, s := range r.spans.Ended() {
		if s.Name() == name && s.SpanKind() == kind {
			found = append(found, s)
		}
	}
	return found
}

// one returns the only ended span with a name and a kind.
func (r *recorder) one(t *testing.T, name string, kind trace.SpanKind) sdktrace.ReadOnlySpan {
	t.Helper()
	found := r.named(name, kind)
	if len(found) != 1 {
		var have []string
		for _, s := range r.spans.Ended() {
			have = append(have, s.SpanKind().String()+" "+s.Name())
		}
		require.Len(t, found, 1, "%s %s, ended: %q", kind, name, have)
	}
	return found[0]
}

// attributes returns attributes as a map of texts.
func attributes(list []attribute.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, a := range list {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

// points returns the data points of a histogram.
func (r *recorder) points(t *testing.T, name string) []metricdata.HistogramDataPoint[float64] {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				h, ok := m.Data.(metricdata.Histogram[float64])
				require.True(t, ok)
				return h.DataPoints
			}
		}
	}
	return nil
}

// How long tests wait for what happens in the background, and how often they look.
const patience, tick = 10 * time.Second, time.Millisecond

var quiet = slog.New(slog.DiscardHandler)

type place struct {
	City string `json:"city"`
}

// newServer returns a server with tools, a prompt and a resource.
func newServer(opts *mcpserver.Options) *mcpserver.Server {
	if opts.Logger == nil {
		opts.Logger = quiet
	}
	s := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, opts)
	mcpserver.AddTool(s, &mcp.Tool{Name: "forecast"}, func(_ context.Context, _ *mcp.ServerSession, in place) (string, error) {
		return "sunny in " + in.City, nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "", mcpserver.Errorf("a secret text")
	})
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: "poem"}, func(context.Context, *mcp.ServerSession, place) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	s.AddResource(&mcp.Resource{Name: "map", URI: "map://bern"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, Text: "x"}}}, nil
	})
	return s
}

// transports connect a client to a server over each transport.
var transports = map[string]func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint{
	"in process": func(_ *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return mcpclient.InProcess(s) },
	"pipe": func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint {
		up, out := io.Pipe()
		in, down := io.Pipe()
		served := make(chan struct{})
		go func() { // ends with the pipe, which the client closes
			defer close(served)
			s.ServeStreams(context.Background(), up, down)
		}()
		t.Cleanup(func() { <-served })
		return mcpclient.Streams(in, out)
	},
	"http": func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint {
		h := streamable.NewHandler(s, nil)
		l := httptest.NewServer(h)
		t.Cleanup(l.Close)
		t.Cleanup(func() { h.Close() })
		return mcpclient.URL(l.URL)
	},
}

// connect connects a client.
func connect(t *testing.T, to mcpclient.Endpoint, opts *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = quiet
	}
	c, err := mcpclient.Connect(t.Context(), to, opts)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}
