// Package jsonrpc carries requests and notifications between two peers. A
// [Conn] speaks JSON-RPC over whatever takes and brings whole messages; a
// [InProcessConn] links two peers in one process without any wire between them. Both
// are a [peer.Outbound] towards the other side, and hand what it sends to a
// [peer.Handler].
//
// Servers and clients are written with the kits, mcpserver and mcpclient. This
// package is for those who bring a transport of their own, or want to see every
// message. A connection over two streams of bytes, one message on each line,
// calling a tool:
//
//	conn := jsonrpc.New(jsonrpc.NewLineWriter(out), nil)
//	defer conn.Close()
//	go conn.ReadLines(ctx, in, jsonrpc.Source{})
//
//	res, err := peer.SendRequest(ctx, conn, &mcp.CallToolRequest{Name: "greet"})
//
// # Order
//
// Requests are handled at once, and none of them waits until the handler of another
// returns; "initialize" alone is answered before anything after it is looked at.
// Notifications are handled one after another, in the order in which they came. An
// answer waits for nothing but the progress reports about its own request, so a
// handler of either kind may call the peer and wait.
//
// # Errors
//
// What a peer answers in place of a result is an *[peer.Error]. What fails on
// this side has a type of its own and no code: *[peer.TimeoutError],
// *[peer.ClosedError], *[IDInUseError], *[wire.DecodeError]. In the other
// direction an *[peer.Error] in the chain of a handler's error is answered as it
// is; of anything else, panics included, the peer learns only that something
// went wrong, and the log learns the rest.
//
// # Giving up
//
// A call whose context ends, or whose time runs out, tells the peer that nobody
// waits any more, and returns at once or, if the peer does not even read, five
// seconds later. When the peer says so, the context of the handler ends with a
// *[CancelledError], and nothing about the request is sent from then on. When the
// connection ends, contexts end with [ErrClosed].
package jsonrpc
