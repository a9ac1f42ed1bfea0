// Package mcpotel records OpenTelemetry traces and metrics of servers and clients
// of the Model Context Protocol, as the semantic conventions for MCP define them.
// [InstrumentServer] and [InstrumentClient] add it to the options of a server or a
// client:
//
//	package main
//
//	import (
//		"context"
//		"log"
//		"os"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		mcpotel "github.com/mcpwright/mcp/otel"
//		"github.com/mcpwright/mcp/runtime/mcpserver"
//		"go.opentelemetry.io/otel"
//		"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
//		"go.opentelemetry.io/otel/sdk/trace"
//	)
//
//	func main() {
//		ctx := context.Background()
//		exporter, err := stdouttrace.New(stdouttrace.WithWriter(os.Stderr)) // or otlptracehttp.New(ctx), for a collector
//		if err != nil {
//			log.Fatal(err)
//		}
//		provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
//		defer provider.Shutdown(ctx)
//		otel.SetTracerProvider(provider)
//
//		server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, mcpotel.InstrumentServer(nil, nil))
//		mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
//			return "Hello", nil
//		})
//		if err := server.ServeStdio(ctx); err != nil {
//			log.Print(err)
//		}
//	}
//
// A program that has its own Dispatcher, such as a gateway, uses [Middleware] and
// [Outgoing].
//
// # Traces
//
// Every request and notification that is sent has a span of the kind CLIENT, and
// every one that is received has a span of the kind SERVER. The trace context is
// sent and read in the metadata of the message (traceparent, tracestate and baggage
// in "_meta"), over every transport and in every revision. If a received message has
// none, the span continues the span of the context, for example of an HTTP handler,
// or the trace context of the HTTP headers.
//
// A span of a subscription lasts as long as the subscription. Each notification
// that is sent to a subscriber has its own span. Progress reports and log messages
// have no spans; they are events of the span of the request that is being handled.
// A question that is sent in a result is an event, too.
//
// # Metrics
//
// The package records mcp.client.operation.duration, mcp.server.operation.duration,
// mcp.client.session.duration and mcp.server.session.duration. The names of methods,
// tools and prompts are attributes only if they exist: if a request for them has
// succeeded, or a list has contained them. All other names are recorded as "_OTHER",
// so that peers cannot create an unlimited number of time series.
//
// # Privacy
//
// The arguments and results of tools and the texts of errors are not recorded unless
// [Options].Redact returns a text for them.
//
// # Cost
//
// Without an OpenTelemetry SDK, a message costs a few comparisons and no allocation.
// The package notices when a program installs an SDK later.
package mcpotel
