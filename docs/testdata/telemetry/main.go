package main

import (
	"context"
	"log"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx := context.Background()
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(os.Stderr)) // or otlptracehttp.New(ctx), for a collector
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	defer provider.Shutdown(ctx)
	otel.SetTracerProvider(provider)

	server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, mcpotel.InstrumentServer(nil, nil))
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "Hello", nil
	})
	if err := server.ServeStdio(ctx); err != nil {
		log.Print(err)
	}
}
