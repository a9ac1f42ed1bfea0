package mcpotel_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	_ "go.opentelemetry.io/otel/exporters/stdout/stdouttrace" // of docs/testdata/telemetry, which go.work builds with this module
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// The spans of one tool call.
func Example() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	options := &mcpotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))}
	server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, mcpotel.InstrumentServer(nil, options))
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "Hello", nil
	})
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), mcpotel.InstrumentClient(nil, options))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := mcpclient.CallTool[string](ctx, client, "greet", nil); err != nil {
		log.Fatal(err)
	}
	var lines []string
	for _, span := range spans.GetSpans() {
		lines = append(lines, fmt.Sprint(span.Name, " ", span.SpanKind))
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fmt.Println(line)
	}
	// Output:
	// server/discover client
	// server/discover server
	// tools/call greet client
	// tools/call greet server
}

// redacted records the arguments of one tool, and nothing else.
func redacted() *mcpotel.Options {
	return &mcpotel.Options{
		Redact: func(key attribute.Key, name, value string) string {
			if key == "gen_ai.tool.call.arguments" && name == "forecast" {
				return value
			}
			return ""
		},
	}
}

// logger logs to the standard error with the ids of the trace and the session.
func logger() *slog.Logger {
	return slog.New(mcpotel.LogHandler(slog.NewJSONHandler(os.Stderr, nil)))
}

// gateway serves another server over HTTP.
func gateway(upstream *mcpclient.Client) *streamable.Handler {
	var mux peer.Mux
	mcp.HandleServer(&mux, upstream.Forward())
	dispatcher := connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "gateway", Version: "1.0.0"},
		Capabilities: *upstream.ServerCapabilities(),
		Middleware:   []peer.Middleware{mcpotel.Middleware(nil)},
	})
	return streamable.NewHandler(dispatcher, &streamable.Options{
		Connection: connection.Options{Outgoing: []func(peer.Outbound) peer.Outbound{mcpotel.Outgoing(nil)}},
	})
}

// The functions above are shown in docs/telemetry.md.
var _, _, _ = redacted, logger, gateway

// Gauges of what a server holds, for its operators.
func ExampleObserveServer() {
	server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, mcpotel.InstrumentServer(nil, nil))
	stop, err := mcpotel.ObserveServer(server, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Print(err)
	}
}
