package mcpotel

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Options are the options of the instrumentation. The zero value works, and so does
// nil. The functions may be called concurrently.
type Options struct {
	// TracerProvider creates the spans. Nil means the global provider of package
	// go.opentelemetry.io/otel, also if it is set later.
	TracerProvider trace.TracerProvider
	// MeterProvider creates the histograms. Nil means the global provider, also if
	// it is set later.
	MeterProvider metric.MeterProvider
	// Propagator reads and writes the trace context of messages. Nil means the
	// global propagator, or W3C trace context and baggage if the program has not
	// set one.
	Propagator propagation.TextMapPropagator
	// Redact returns the text to record for a private value, or "" to record
	// nothing. Name is the tool, or "" for other requests. The key is one of
	//
	//	gen_ai.tool.call.arguments  the arguments of a tool, JSON
	//	gen_ai.tool.call.result     the result of a tool, JSON
	//	error.message               the text of an error; it becomes the description
	//	                            of the span's status
	//
	// It is called only for spans that are recorded. If it is nil, these values
	// are not recorded.
	Redact func(key attribute.Key, name, value string) string
}

// InstrumentServer returns a copy of the options of a server, or new options if opts
// is nil, with traces and metrics of all its messages. Nil as o means the default
// options.
//
// It makes [Middleware] the outermost middleware, and [Outgoing] the innermost
// function for outgoing messages.
func InstrumentServer(opts *mcpserver.Options, o *Options) *mcpserver.Options {
	var c mcpserver.Options
	if opts != nil {
		c = *opts
	}
	t := newTelemetry(o)
	c.Middleware = append([]peer.Middleware{t.middleware}, c.Middleware...)
	c.Outgoing = append(slices.Clip(c.Outgoing), t.outgoing)
	return &c
}

// InstrumentClient is [InstrumentServer] for a client.
//
// Each request that is sent has a span: one call may need several, if the server
// asks for input, or if the call continues as a task. They are part of one trace if
// the context of the call has a span.
func InstrumentClient(opts *mcpclient.Options, o *Options) *mcpclient.Options {
	var c mcpclient.Options
	if opts != nil {
		c = *opts
	}
	t := newTelemetry(o)
	c.Middleware = append([]peer.Middleware{t.middleware}, c.Middleware...)
	c.Outgoing = append(slices.Clip(c.Outgoing), t.outgoing)
	return &c
}

// Middleware returns middleware with traces and metrics of incoming messages. It is
// for programs that create a Dispatcher of their own.
func Middleware(o *Options) peer.Middleware { return newTelemetry(o).middleware }

// Outgoing returns a function with traces and metrics of outgoing messages. It is
// for the option Outgoing of connections, servers and clients.
func Outgoing(o *Options) func(peer.Outbound) peer.Outbound { return newTelemetry(o).outgoing }
