package mcpotel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
)

// buckets are the boundaries that the semantic conventions recommend, in seconds.
var buckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// metrics are the histograms.
type metrics struct {
	clientOperation, serverOperation metric.Float64Histogram
	clientSession, serverSession     metric.Float64Histogram

	options cache[labels, []metric.RecordOption]
}

// newMetrics creates the histograms. A histogram that cannot be created is reported to
// the error handler of package otel, and records nothing.
func newMetrics(meter metric.Meter) *metrics {
	m := new(metrics)
	bounds := metric.WithExplicitBucketBoundaries(buckets...)
	clientOperation, err := mcpconv.NewClientOperationDuration(meter, bounds)
	report(err)
	serverOperation, err := mcpconv.NewServerOperationDuration(meter, bounds)
	report(err)
	clientSession, err := mcpconv.NewClientSessionDuration(meter, bounds)
	report(err)
	serverSession, err := mcpconv.NewServerSessionDuration(meter, bounds)
	report(err)
	m.clientOperation, m.serverOperation = clientOperation.Inst(), serverOperation.Inst()
	m.clientSession, m.serverSession = clientSession.Inst(), serverSession.Inst()
	return m
}

// report reports an error to the error handler of package otel.
func report(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// labels are the attributes of a measurement. Each has a limited number of values.
type labels struct {
	method, tool, prompt  string
	revision, transport   string
	errorType, statusCode string
}

// attributes returns the labels as attributes.
func (l *labels) attributes() []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, 9)
	add := func(key, value string) {
		if value != "" {
			all = append(all, attribute.String(key, value))
		}
	}
	add(keyMethod, l.method)
	add(keyTool, l.tool)
	if l.tool != "" {
		add(keyOperation, executeTool)
	}
	add(keyPrompt, l.prompt)
	add(keyRevision, l.revision)
	all = append(all, transportAttributes(l.transport)...)
	add(keyErrorType, l.errorType)
	add(keyStatusCode, l.statusCode)
	return all
}

// record adds a measurement to a histogram.
func (m *metrics) record(ctx context.Context, h metric.Float64Histogram, seconds float64, l *labels) {
	if !h.Enabled(ctx) {
		return
	}
	h.Record(ctx, seconds, m.options.get(*l, (*labels).option)...)
}

// option returns the labels as an option.
func (l *labels) option() []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(l.attributes()...))}
}
