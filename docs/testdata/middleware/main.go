package main

import (
	"context"
	"log"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// logged logs the method and the duration of each message.
func logged(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		method, start := in.Method, time.Now()
		reply, err := next.Handle(ctx, in)
		log.Print(method, " took ", time.Since(start), ", error: ", err)
		return reply, err
	})
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "hello", Version: "1.0.0"}, &mcpserver.Options{
		Middleware: []peer.Middleware{logged},
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "Hello", nil
	})
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
