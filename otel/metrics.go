package mcpotel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
)

// buckets are the boundaries that the semantic conventions recommend, in seconds.
var buckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// metrics are the histograms.
type metrics struct {
	clientOperation, serverOperation metric.Float64Histogram
	clientSession, serverSession     metric.Float64Histogram
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
