package mcpotel

import (
	"reflect"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// scope is the name of the instrumentation.
const scope = "github.com/mcpwright/mcp/otel"

// telemetry is the instrumentation of one server, client or dispatcher.
type telemetry struct {
	opts   Options
	names  names
	series cache[seriesKey, *series]
	recent [slots]atomic.Pointer[series]        // found last, by the slot of the key
	labels cache[labels, []metric.RecordOption] // of operations that fail
	last   atomic.Pointer[providers]            // nil before the first message
}

func newTelemetry(o *Options) *telemetry {
	t := new(telemetry)
	if o != nil {
		t.opts = *o
	}
	return t
}

// providers are the providers in use and what was created with them.
type providers struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator // nil if the global one may change

	active  bool // something records
	tracer  trace.Tracer
	metrics *metrics // nil if nothing is measured

	chosen atomic.Pointer[chosen] // nil before the first message
}

// current returns the providers in use, or nil if there is no SDK.
func (t *telemetry) current() *providers {
	tracers, meters := t.opts.TracerProvider, t.opts.MeterProvider
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	p := t.last.Load()
	if p == nil || !same(p.tracers, tracers) || !same(p.meters, meters) {
		p = t.use(tracers, meters)
	}
	if !p.active {
		return nil
	}
	return p
}

// same reports whether two providers are the same. Providers of a type that cannot be
// compared are the same if their types are.
func same(a, b any) bool {
	t := reflect.TypeOf(a)
	if t != reflect.TypeOf(b) {
		return false
	}
	return t.Kind() != reflect.Pointer || a == b
}

// use creates the tracer and the histograms.
func (t *telemetry) use(tracers trace.TracerProvider, meters metric.MeterProvider) *providers {
	p := &providers{tracers: tracers, meters: meters, propagator: t.opts.Propagator}
	if idle(tracers) {
		p.tracer = tracenoop.NewTracerProvider().Tracer(scope)
	} else {
		p.active = true
		p.tracer = tracers.Tracer(scope)
	}
	if !idle(meters) {
		p.active = true
		p.metrics = newMetrics(meters.Meter(scope))
	}
	t.last.Store(p)
	return p
}

// idle reports whether a provider records nothing: it is a no-op provider, or the
// global provider of a program that has not set one.
func idle(provider any) bool {
	switch provider.(type) {
	case tracenoop.TracerProvider, *tracenoop.TracerProvider, metricnoop.MeterProvider, *metricnoop.MeterProvider:
		return true
	}
	return isGlobalDefault(provider)
}

// isGlobalDefault reports whether v is the placeholder that package otel returns
// before the program sets a provider or propagator.
func isGlobalDefault(v any) bool {
	t := reflect.TypeOf(v)
	return t != nil && t.Kind() == reflect.Pointer && strings.HasSuffix(t.Elem().PkgPath(), "go.opentelemetry.io/otel/internal/global")
}
