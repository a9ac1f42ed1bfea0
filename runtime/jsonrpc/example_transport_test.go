package jsonrpc_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// memory is a transport of the program's own. It takes whole messages; they are
// to be copied, for the memory is used again.
type memory chan []byte

func (m memory) WriteMessage(ctx context.Context, data []byte) error {
	select {
	case m <- bytes.Clone(data):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, ctx.Err())
	}
}

// Whatever can take and bring whole messages is a transport.
func ExampleWriter() {
	there, back := make(memory), make(memory)
	client := jsonrpc.New(there, nil)
	server := jsonrpc.New(back, &jsonrpc.Options{
		Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		}),
	})
	carry := func(m memory, to *jsonrpc.Conn) { // ends when m is closed
		for data := range m {
			to.Deliver(context.Background(), data, jsonrpc.Source{})
		}
	}
	go carry(there, server)
	go carry(back, client)

	_, err := peer.SendRequest(context.Background(), client, &mcp.PingRequest{})
	fmt.Println(err)

	client.Close()
	server.Close()
	close(there)
	close(back)
	// Output: <nil>
}
