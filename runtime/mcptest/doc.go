// Package mcptest tests any MCP server by validating its messages. A complete test:
//
//	package greeter
//
//	import (
//		"context"
//		"testing"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		"github.com/mcpwright/mcp/runtime/mcpserver"
//		"github.com/mcpwright/mcp/runtime/mcptest"
//	)
//
//	func TestGreeter(t *testing.T) {
//		type person struct {
//			Name string `json:"name"`
//		}
//		server := mcpserver.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
//		mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.ServerSession, p person) (string, error) {
//			return "Hello, " + p.Name + "!", nil
//		})
//		mcptest.Run(t, server, func(t *testing.T, c *mcptest.Conn) {
//			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet", Arguments: []byte(`{"name":"Ada"}`)})
//			if err != nil {
//				t.Fatal(err)
//			}
//			if text := mcp.TextOf(res.Content); text != "Hello, Ada!" {
//				t.Errorf("text = %q", text)
//			}
//		})
//	}
//
// [Run] runs a subtest for each protocol revision, with a new connection to the
// server. It validates every message in both directions by the schema of the
// revision. An invalid message fails the test with a JSON pointer and the message:
//
//	2025-06-18: the server's response to "tools/list": /result/tools/0: missing properties: 'inputSchema'
//		{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"greet"}]}}
//
// # Servers
//
// A [Server] has a method ServeStreams, like mcpserver.Server. Other functions
// return Servers: [InProcess] for a handler of messages, [HTTP] for a handler of HTTP
// requests, [URL] for an endpoint that runs elsewhere, and [Command] for a program.
// Over HTTP, headers repeat the arguments of tools as the tools' schemas require.
//
// # Clients
//
// [Run] and [Connect] use the zero [Client]. A Client with handlers responds to the
// requests of the server in all revisions: to requests in handshake revisions, and to
// input requests in stateless revisions.
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
// A test that has its own client and server can put a tap between them: [TapPipe]
// around a pipe, [TapTransport] into an HTTP client, or [TapHandler] around an HTTP
// handler. Client and server may use any SDK. This server uses another one:
//
//	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return server }, nil)
//	endpoint := httptest.NewServer(mcptest.TapHandler(mcptest.Fail(t), handler))
//
// A [Validator] validates messages from any other source.
//
// # Validation
//
// A message must be valid JSON and JSON-RPC. The revision must have its method, in
// its direction. Its params must match the definition of the method. A response must
// have a request, and a request must have at most one response. A result must match
// the definition for its request, and an error the definition of its code. A reserved
// error code must have a definition.
//
// Members that a definition does not have are accepted. Requests, notifications and
// results of methods that the protocol does not have need only be valid JSON-RPC. The
// same is true for results of a type that the protocol does not have, if the request
// declares an extension. Formats of strings are not validated.
//
// On a pipe, the first message must be the request of the client that selects the
// revision; only pings and log messages may precede it. Over HTTP, the status, the
// content type and the session id of a response are validated too.
package mcptest
