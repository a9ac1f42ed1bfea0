package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// A client and a server over two pipes.
func Example() {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx := context.Background()

	server := jsonrpc.New(jsonrpc.NewLineWriter(serverOut), &jsonrpc.Options{
		Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			var req mcp.CallToolRequest
			if err := in.Decode(nil, &req); err != nil {
				return peer.Reply{}, err
			}
			return peer.Reply{Result: mcp.TextResult("Hello from " + req.Name)}, nil
		}),
	})
	go server.ReadLines(ctx, serverIn, jsonrpc.Source{})
	defer serverOut.Close()
	defer server.Close()

	client := jsonrpc.New(jsonrpc.NewLineWriter(clientOut), nil)
	go client.ReadLines(ctx, clientIn, jsonrpc.Source{})
	defer clientOut.Close()
	defer client.Close()

	res, err := peer.SendRequest(ctx, client, &mcp.CallToolRequest{Name: "greet"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output: Hello from greet
}

// A server is tested without any wire.
func ExampleInProcessPair() {
	client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{
		Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			req := in.Value.(*mcp.CallToolRequest)
			return peer.Reply{Result: mcp.TextResult("Hello from " + req.Name)}, nil
		}),
	})
	defer server.Close()

	res, err := peer.SendRequest(context.Background(), client, &mcp.CallToolRequest{Name: "greet"})
	fmt.Println(res.Content[0].(*mcp.TextContent).Text, err)
	// Output: Hello from greet <nil>
}

// A handler reports how far it has come.
func ExampleInProcessConn_progress() {
	client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{
		Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			for i := range 3 {
				if err := in.Back.Progress(ctx, peer.Progress{Progress: float64(i + 1)}); err != nil {
					return peer.Reply{}, err
				}
			}
			return peer.Reply{Result: mcp.TextResult("done")}, nil
		}),
	})
	defer server.Close()

	show := peer.OnProgress(func(p peer.Progress) { fmt.Println("step", p.Progress) })
	if _, err := peer.SendRequest(context.Background(), client, &mcp.CallToolRequest{Name: "count"}, show); err != nil {
		fmt.Println(err)
	}
	// Output:
	// step 1
	// step 2
	// step 3
}

// A handler stops when its caller gives up.
func ExampleInProcessConn_cancellation() {
	client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{
		Handler: peer.HandlerFunc(func(ctx context.Context, _ *peer.Inbound) (peer.Reply, error) {
			<-ctx.Done()
			return peer.Reply{}, context.Cause(ctx)
		}),
	})
	defer server.Close()

	_, err := peer.SendRequest(context.Background(), client, &mcp.PingRequest{}, peer.WithTimeout(time.Millisecond))
	var late *peer.TimeoutError
	fmt.Println(errors.As(err, &late))
	// Output: true
}
