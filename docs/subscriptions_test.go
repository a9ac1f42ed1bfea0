package docs

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

const boardURI = "news://board"

// board returns a server with a resource, and a tool that notifies its subscribers.
func board() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "board", Version: "1.0.0"}, nil)
	server.AddResource(&mcp.Resource{URI: boardURI, Name: "board"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: "nothing new"}}}, nil
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "post"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return "posted", server.ResourceUpdated(ctx, boardURI)
	})
	return server
}

// Since 2026-07-28, a client opens a stream for the notifications that it subscribes to.
func Example_listen() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(board()), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	subscription, err := client.Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{boardURI}})
	if err != nil {
		log.Fatal(err)
	}
	defer subscription.Close()
	if _, err := client.CallTool(ctx, &mcp.CallToolRequest{Name: "post"}); err != nil {
		log.Fatal(err)
	}
	for n, err := range subscription.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.(*mcp.ResourceUpdatedNotification).URI)
		break
	}
	// Output: news://board
}

// watch prints a resource whenever it changes, in every revision.
func watch(ctx context.Context, client *mcpclient.Client) error {
	for uri, err := range client.Watch(ctx, boardURI) {
		if err != nil {
			return err
		}
		res, err := client.ReadResource(ctx, &mcp.ReadResourceRequest{URI: uri})
		if err != nil {
			return err
		}
		for _, part := range res.Contents {
			if text, ok := part.(*mcp.TextResourceContents); ok {
				fmt.Println(text.Text)
			}
		}
	}
	return nil
}
