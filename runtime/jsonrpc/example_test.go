package jsonrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// This example connects a client and a server with two pipes.
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

// An in-process connection is useful for testing a server.
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

// A handler reports progress.
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

// The context of a handler ends when its caller stops waiting.
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

// memory is a Writer that sends messages to a channel. It copies them, because a Writer must not
// retain data.
type memory chan []byte

func (m memory) WriteMessage(ctx context.Context, data []byte) error {
	select {
	case m <- bytes.Clone(data):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", jsonrpc.ErrNotWritten, ctx.Err())
	}
}

// A transport needs a Writer, and code that delivers the messages of the peer.
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

// reverse is a request type of the program. It defines the method, the type of the result, and how
// the params are encoded and decoded.
type reverse struct{ words string }

var wordsMembers = wire.NewMembers("words", wire.Member{Name: "words", In: wire.Always, Required: wire.Always})

func (*reverse) Method() string       { return "example.com/reverse" }
func (*reverse) NewResult() *reversed { return new(reversed) }

func (r *reverse) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"words":`...) // each member begins with a comma; CloseObject makes the first a brace
	b = wire.AppendString(b, r.words)
	return wire.CloseObject(b, start)
}

func (r *reverse) DecodeParams(d *wire.Decoder) {
	for o := d.Object(wordsMembers); o.Next(); {
		if o.Name == "" { // an unknown member
			d.Skip()
			continue
		}
		r.words = d.String()
	}
}

// reversed is the result of reverse.
type reversed struct{ words string }

func (r *reversed) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"words":`...)
	b = wire.AppendString(b, r.words)
	return wire.CloseObject(b, start)
}

func (r *reversed) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(wordsMembers); o.Next(); {
		if o.Name == "" {
			d.Skip()
			continue
		}
		r.words = d.String()
	}
}

// A program can define its own request types.
func ExampleConn_Call() {
	client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{
		Strict: true, // encode messages, as over a wire
		Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			var req reverse
			if err := in.Decode(nil, &req); err != nil {
				return peer.Reply{}, err
			}
			var back string
			for _, r := range req.words {
				back = string(r) + back
			}
			return peer.Reply{Result: &reversed{back}}, nil
		}),
	})
	defer server.Close()

	res, err := peer.SendRequest(context.Background(), client, &reverse{"gopher"})
	fmt.Println(res.words, err)
	// Output: rehpog <nil>
}
