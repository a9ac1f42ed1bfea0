package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/dispatch"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// A client and a server over two pipes.
func Example() {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx := context.Background()

	server := dispatch.New(dispatch.NewLineWriter(serverOut), &dispatch.Options{
		Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
			var req mcp.CallToolRequest
			if err := in.Decode(nil, &req); err != nil {
				return peer.Reply{}, err
			}
			return peer.Reply{Result: mcp.TextResult("Hello from " + req.Name)}, nil
		}),
	})
	go server.ReadLines(ctx, serverIn, dispatch.Origin{})
	defer serverOut.Close()
	defer server.Close()

	client := dispatch.New(dispatch.NewLineWriter(clientOut), nil)
	go client.ReadLines(ctx, clientIn, dispatch.Origin{})
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
func ExamplePair() {
	client, server := dispatch.Pair(nil, &dispatch.Options{
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
func ExampleDirect_progress() {
	client, server := dispatch.Pair(nil, &dispatch.Options{
		Handler: peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			for i := range 3 {
				if err := in.Back.Progress(ctx, peer.Progress{Done: float64(i + 1)}); err != nil {
					return peer.Reply{}, err
				}
			}
			return peer.Reply{Result: mcp.TextResult("done")}, nil
		}),
	})
	defer server.Close()

	show := peer.OnProgress(func(p peer.Progress) { fmt.Println("step", p.Done) })
	if _, err := peer.SendRequest(context.Background(), client, &mcp.CallToolRequest{Name: "count"}, show); err != nil {
		fmt.Println(err)
	}
	// Output:
	// step 1
	// step 2
	// step 3
}

// A handler stops when its caller gives up.
func ExampleDirect_cancellation() {
	client, server := dispatch.Pair(nil, &dispatch.Options{
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

// reverse is a request of one's own.
type reverse struct{ words string }

var wordsMembers = wire.NewMembers("words", wire.Member{Name: "words", In: wire.Always, Required: wire.Always})

func (*reverse) Method() string       { return "example.com/reverse" }
func (*reverse) NewResult() *reversed { return new(reversed) }

func (r *reverse) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = append(b, `,"words":`...)
	b = wire.AppendString(b, r.words)
	return wire.CloseObject(b, start)
}

func (r *reverse) DecodeParams(d *wire.Decoder) {
	for o := d.Object(wordsMembers); o.Next(); {
		if o.Name == "" {
			d.Skip()
			continue
		}
		r.words = d.String()
	}
}

// reversed is its result.
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

// A request type of one's own travels like the others.
func ExampleConn_Call() {
	client, server := dispatch.Pair(nil, &dispatch.Options{
		Strict: true, // as over a wire
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

// memory is a transport of one's own: it takes whole messages.
type memory chan []byte

func (m memory) WriteMessage(ctx context.Context, data []byte) error {
	select {
	case m <- append([]byte(nil), data...):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", dispatch.ErrNotWritten, ctx.Err())
	}
}

// Whatever can take and bring whole messages is a transport.
func ExampleWriter() {
	there, back := make(memory), make(memory)
	client := dispatch.New(there, nil)
	server := dispatch.New(back, &dispatch.Options{
		Handler: peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
			return peer.Reply{Result: &mcp.EmptyResult{}}, nil
		}),
	})
	carry := func(m memory, to *dispatch.Conn) { // ends when m is closed
		for data := range m {
			to.Deliver(context.Background(), data, dispatch.Origin{})
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
