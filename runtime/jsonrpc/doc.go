// Package jsonrpc sends and receives requests, responses and notifications between two peers.
//
// Authors of custom transports need this package. Most programs do not: servers call Server.Serve
// or Server.ServeStdio of package mcpserver, and clients use package mcpclient.
//
// A [Conn] is one end of a connection over any transport that transfers whole messages. The
// transport implements a [Writer] and calls [Conn.Deliver] with each message that it receives. A
// [peer.Handler] handles the requests and notifications of the peer. An example is a transport that
// sends each message in a WebSocket frame:
//
//	package ws
//
//	import (
//		"context"
//
//		"github.com/mcpwright/mcp/runtime/jsonrpc"
//		"github.com/mcpwright/mcp/runtime/peer"
//	)
//
//	// Socket is a WebSocket. Send is safe for concurrent use and does not retain data. Receive returns a
//	// slice that is not used again.
//	type Socket interface {
//		Send(data []byte) error
//		Receive() ([]byte, error)
//	}
//
//	type writer struct{ socket Socket }
//
//	func (w writer) WriteMessage(_ context.Context, data []byte) error { return w.socket.Send(data) }
//
//	// Serve handles the messages that arrive at a socket, until the socket fails.
//	func Serve(ctx context.Context, socket Socket, h peer.Handler) error {
//		conn := jsonrpc.New(writer{socket}, &jsonrpc.Options{Handler: h})
//		defer conn.Close()
//		for {
//			data, err := socket.Receive()
//			if err != nil {
//				return err
//			}
//			conn.Deliver(ctx, data, jsonrpc.Source{})
//		}
//	}
//
// For streams of bytes with one message per line, there are [NewLineWriter] and [Conn.ReadLines].
// An [InProcessConn] connects two peers within a process. Both kinds of connection implement
// [peer.Outbound], which sends messages:
//
//	res, err := peer.SendRequest(ctx, conn, &mcp.CallToolRequest{Name: "greet"})
//
// # Order
//
// Requests are handled concurrently: no request waits until the handler of another one returns.
// Only "initialize" is answered before the next message is processed. Notifications are handled one
// after another, in the order in which they arrived. A response waits only for the progress reports
// about its own request. So all handlers may send requests to the peer and wait for the responses.
//
// # Errors
//
// If the peer responds with an error, a call returns an *[peer.Error]. Local errors have other
// types and no code: *[peer.TimeoutError], *[peer.ClosedError], *[IDInUseError],
// *[wire.DecodeError]. If a handler returns an error with an *[peer.Error] in its chain, the peer
// receives the *[peer.Error]. For all other errors and for panics, the peer receives an internal
// error without details, and the error is logged.
//
// # Cancellation
//
// If the context of a call ends or the call times out, the peer is notified. The call returns at
// once, or after at most five seconds if the peer does not read. If the peer cancels a request, the
// context of the handler ends with a *[CancelledError], and nothing that belongs to the request is
// sent afterwards. If the connection ends, the contexts of all handlers end with [ErrClosed].
package jsonrpc
