// Package mcptest tests servers, of whatever make, by what they put on the wire.
// It connects to a server once for each revision of the protocol, lets a test use
// it, and judges every message in both directions by the schema of the revision
// in force. A message that breaks it fails the test, with the JSON pointer of
// what is wrong.
//
// The first test of a server:
//
//	func TestServer(t *testing.T) {
//		mcptest.Run(t, server, func(t *testing.T, c *mcptest.Conn) {
//			tools, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
//			require.NoError(t, err)
//			require.NotEmpty(t, tools.Tools)
//		})
//	}
//
// A failure looks like this:
//
//	2025-06-18: the server's answer to "tools/list": /result/tools/0: missing properties: 'inputSchema'
//		{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"greet"}]}}
//
// # Servers
//
// A [Server] is anything with a method ServeStreams. [InProcess] makes one of a
// handler of messages, [HTTP] of a handler of HTTP requests, [URL] of an endpoint
// that runs somewhere, and [Command] of a program. Over HTTP, arguments that a
// tool wants repeated in headers are.
//
// # Clients
//
// [Run] and [Connect] use the zero [Client]. One with handlers answers what the
// server asks, whichever way the revision has for that:
//
//	var mux peer.Mux
//	mcp.HandleElicit(&mux, func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
//		return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
//	})
//	client := mcptest.Client{Mux: &mux}
//	client.Run(t, server, func(t *testing.T, c *mcptest.Conn) { … })
//
// # Taps
//
// Tests that have a client and a server of their own put a tap between the two:
// [TapPipe] on a pipe, [TapTransport] into an HTTP client, [TapHandler] around a
// handler. [Judge] is for messages that come in any other way.
//
// # What is judged
//
// That a message is acceptable JSON and JSON-RPC; that its method exists in the
// revision, and in this direction; its params by the method's definition; that an
// answer answers something, once; a result by the definition that belongs to the
// request, and an error by that of its code, which is no reserved one. Members that
// a definition does not have, and methods that the protocol does not have, are
// nobody's fault: only the envelope of the latter is judged. So are results of a
// type that the protocol does not have, where the request declares an extension.
// Formats of strings are not judged.
//
// On a pipe, that nothing but a ping or a log message precedes the request that
// says what the client speaks. Over HTTP, the status, the content type and the
// session id of a response.
package mcptest
