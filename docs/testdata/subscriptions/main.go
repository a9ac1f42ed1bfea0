package main

import (
	"context"
	"log"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

const boardURI = "news://board"

type message struct {
	Text string `json:"text"`
}

func main() {
	var text atomic.Value
	text.Store("no news")
	server := mcpserver.New(mcp.Implementation{Name: "board", Version: "1.0.0"}, nil)
	server.AddResource(&mcp.Resource{URI: boardURI, Name: "board"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			board := &mcp.TextResourceContents{Text: text.Load().(string)}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{board}}, nil
		})
	mcpserver.AddTool(server, &mcp.Tool{Name: "post", Description: "Changes the text of the board."},
		func(ctx context.Context, _ *mcp.ServerSession, in message) (string, error) {
			text.Store(in.Text)
			return "posted", server.ResourceUpdated(ctx, boardURI) // notifies all subscribers
		})
	if err := streamable.ListenAndServe(context.Background(), "localhost:8080", server, nil); err != nil {
		log.Fatal(err)
	}
}
