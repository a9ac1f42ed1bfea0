// Package streamable serves MCP over HTTP: Streamable HTTP in every revision, and the
// transport HTTP+SSE of revision 2024-11-05. Its subpackage client contains the client.
//
// A complete server with one tool:
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		"github.com/mcpwright/mcp/runtime/mcpserver"
//		"github.com/mcpwright/mcp/runtime/streamable"
//	)
//
//	type place struct {
//		City string `json:"city"`
//	}
//
//	func weather(ctx context.Context, s *mcp.ServerSession, p place) (string, error) {
//		return "sunny in " + p.City, nil
//	}
//
//	func main() {
//		server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0"}, nil)
//		mcpserver.AddTool(server, &mcp.Tool{Name: "weather"}, weather)
//		log.Fatal(streamable.ListenAndServe(context.Background(), "localhost:8080", server, nil))
//	}
//
// Programs with routes or middleware of their own mount the [http.Handler] that [NewHandler] returns. It
// also serves the dispatcher of a program that does not use package mcpserver, such as a gateway.
//
// # One endpoint for all revisions
//
// A [Handler] serves all revisions at one URL. The header MCP-Protocol-Version decides how
// a request is served. Without the header, or with a handshake revision, the request
// belongs to a session. A session begins with initialize, and ends with a DELETE request or
// after half an hour without use; its id is in the header Mcp-Session-Id. Requests of
// stateless revisions contain all information about their sender and belong to no session.
//
// The response to a request is JSON if the handler of the request sends nothing else. If it
// first sends other messages, such as progress or a request to the client, the response is
// the last event of a stream.
//
// # Lost connections
//
// A request of a stateless revision is cancelled when its client closes the connection. A
// request of a session is not: its client can resume the stream, or cancel the request with
// a notification. For that, the handler stores the messages of sessions for a while, see
// [EventStore].
//
// # Secure by default
//
// On a loopback address, the handler accepts only requests to loopback names and from pages
// of the same machine. On other addresses, it accepts only requests from pages of the server
// itself. [Options] can allow other names and pages. Options also limit bodies, requests in
// flight, subscriptions, sessions and stored events. A refused request gets an HTTP status
// and a JSON-RPC error. Options.Principal returns the verified caller of a request; by
// default, it is the caller that a guard of package auth has verified. Only the principal
// that began a session can use it.
package streamable
