// Package peer defines the interfaces between the protocol's messages and the code that transports
// them. The generated package mcp, all transports, and the packages mcpserver and mcpclient use it.
//
// Most programs need it only for its errors and options: [Error], [TimeoutError], [WithTimeout],
// [OnProgress]. Authors of transports, middleware and own request types need the interfaces.
//
// An [Outbound] sends messages to the peer. Each request type defines its method and its result
// type, so that one generic function sends all requests:
//
//	res, err := peer.SendRequest(ctx, out, &mcp.CreateMessageRequest{MaxTokens: 100, Messages: messages})
//	if err != nil {
//		return err
//	}
//	fmt.Println(res.Model) // res is a *mcp.CreateMessageResult
//
// A notification cannot be passed to [SendRequest], and a request cannot be passed to
// [SendNotification]: both mistakes fail to compile. A program can define its own request types,
// which implement [Request].
//
// A [Handler] handles the messages of the peer. A [Mux] finds the handler of a method:
//
//	var mux peer.Mux
//	peer.Handle(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
//		return mcp.TextResult("Hello, " + req.Name), nil
//	})
//
// The package starts no goroutines and has no locks.
package peer
