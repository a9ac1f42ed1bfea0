// Package tracing has the names of package tracing of github.com/mark3labs/mcp-go that servers use to trace
// requests. New programs use the module github.com/mcpwright/mcp/otel.
//
// Missing are propagators of the metadata of messages.
package tracing

import (
	"context"
	"net/http"
)

// Tracer begins spans. It is safe for concurrent use.
type Tracer interface {
	// Start begins a span, and returns a context with it; see [ContextWithSpan].
	Start(ctx context.Context, name string, kind SpanKind, attrs ...Attribute) (context.Context, Span)
}

// Span is an operation in a trace.
type Span interface {
	// SetAttributes adds attributes.
	SetAttributes(attrs ...Attribute)
	// RecordError adds an error.
	RecordError(err error)
	// SetStatus sets the outcome of the operation.
	SetStatus(code StatusCode, description string)
	// End ends the span. It must be called once.
	End()
}

// Propagator carries spans in HTTP headers.
type Propagator interface {
	// Inject adds the span in a context to the headers of a request.
	Inject(ctx context.Context, headers http.Header)
	// Extract returns a context with the span in the headers of a request.
	Extract(ctx context.Context, headers http.Header) context.Context
}

// Attribute is an attribute of a span.
type Attribute struct{ Key, Value string }

// String returns an attribute.
func String(key, value string) Attribute { return Attribute{key, value} }

// SpanKind is the role of a span in a trace.
type SpanKind int

// The kinds of spans.
const (
	SpanKindUnspecified SpanKind = iota
	SpanKindServer
	SpanKindClient
	SpanKindInternal
)

// StatusCode is the outcome of an operation.
type StatusCode int

// The outcomes.
const (
	StatusUnset StatusCode = iota
	StatusOK
	StatusError
)

type noop struct{}

func (noop) Start(ctx context.Context, _ string, _ SpanKind, _ ...Attribute) (context.Context, Span) {
	return ctx, noop{}
}

func (noop) SetAttributes(...Attribute)                                 {}
func (noop) RecordError(error)                                          {}
func (noop) SetStatus(StatusCode, string)                               {}
func (noop) End()                                                       {}
func (noop) Inject(context.Context, http.Header)                        {}
func (noop) Extract(ctx context.Context, _ http.Header) context.Context { return ctx }

// NoopTracer returns a tracer that does nothing.
func NoopTracer() Tracer { return noop{} }

// NoopPropagator returns a propagator that does nothing.
func NoopPropagator() Propagator { return noop{} }

type spanKey struct{}

// ContextWithSpan returns a context with a span.
func ContextWithSpan(ctx context.Context, span Span) context.Context {
	return context.WithValue(ctx, spanKey{}, span)
}

// SpanFromContext returns the span in a context, or a span that does nothing.
func SpanFromContext(ctx context.Context) Span {
	if span, ok := ctx.Value(spanKey{}).(Span); ok {
		return span
	}
	return noop{}
}
