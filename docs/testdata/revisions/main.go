package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func main() {
	ctx := context.Background()
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "revision", Description: "Returns the revision of the request."},
		func(_ context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
			return s.Revision().String(), nil
		})

	// Connect once for each revision. Without the option Revision, Connect chooses the newest.
	for _, r := range mcp.Revisions {
		client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), &mcpclient.Options{Revision: r.Revision})
		if err != nil {
			log.Fatal(err)
		}
		text, err := mcpclient.CallTool[string](ctx, client, "revision", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text, "handshake:", !client.NoHandshake())
		client.Close()
	}
}
