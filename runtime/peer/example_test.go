package peer_test

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// logged is an Outbound that wraps another one and logs all requests.
type logged struct{ peer.Outbound }

func (l logged) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	err := l.Outbound.Call(ctx, req, res, opts...)
	fmt.Println("called", req.Method(), "error:", err)
	return err
}

// The type of the result follows from the type of the request. Here ask is a request type that the
// program defines, and answer is its result type. The types of the protocol work the same way.
func ExampleSendRequest() {
	var out peer.Outbound = logged{&channel{reply: "forty-two"}}
	res, err := peer.SendRequest(context.Background(), out, &ask{text: "What is it?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.text)
	// Output:
	// called test/ask error: <nil>
	// forty-two
}

// Handle registers a handler for the method of its request type.
func ExampleHandle() {
	var mux peer.Mux
	peer.Handle(&mux, func(_ context.Context, req *ask) (*answer, error) {
		return &answer{"you said " + req.text}, nil
	})
	for method := range mux.Methods() {
		fmt.Println(method)
	}
	// Output: test/ask
}
