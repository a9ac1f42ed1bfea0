// Package mcpclient connects a program to servers of the Model Context Protocol: over HTTP, over the
// standard input and output of a command, or in the same process. A complete program:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/mcpwright/mcp/runtime/mcpclient"
//	)
//
//	type city struct {
//		Name string `json:"name"`
//	}
//
//	func main() {
//		ctx := context.Background()
//		client, err := mcpclient.Connect(ctx, mcpclient.URL("http://127.0.0.1:8080/mcp"), nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer client.Close()
//		for tool, err := range client.Tools(ctx) {
//			if err != nil {
//				log.Fatal(err)
//			}
//			fmt.Println(tool.Name, tool.Description)
//		}
//		weather, err := mcpclient.CallTool[string](ctx, client, "weather", city{"Bern"})
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(weather)
//	}
//
// [Connect] returns a [Client]. It has a method for each request of the protocol, such as
// client.GetPrompt or client.ReadResource, by [mcp.ServerPeer]. [CallTool] calls a tool with Go values
// instead of JSON. Call options apply to a view of the client: progress, log messages, a timeout.
//
//	client.With(peer.OnProgress(show), mcpclient.OnLog(mcp.LoggingLevelInfo, print)).CallTool(ctx, req)
//
// # Revisions
//
// In the handshake revisions, up to 2025-11-25, a session begins with initialize. In the stateless
// revisions, since 2026-07-28, each request contains the version and the capabilities of the client.
// [Connect] negotiates the newest revision that both sides support. The rest of a program is the same
// for all revisions: handlers receive the input requests of the server whether they come as requests
// or in a result, and [Client.Watch] reports changes of resources in both cases.
//
// # Input requests
//
// While a server handles a request, it may request input from the user, a message from a language
// model, or the roots. The handlers in [Options] declare what the client supports. The client
// completes the content of a form with the form's defaults and validates it before it is sent. It
// never opens a URL: [Options].OnElicit shows the URL to the user.
//
// # Cache
//
// In revisions since 2026-07-28 the server declares how long a list or a resource may be cached. The
// client caches it for that time, removes it when a notification reports a change, and returns copies.
// [Client.Uncached] always sends a request.
//
// # Errors and reconnects
//
// The type of a call's error is *[peer.TimeoutError], *[peer.ClosedError] with the cause of the end,
// or *[peer.Error] of the server. A broken stream, an invalid message or a failed request does not
// affect other calls.
//
// If the server no longer has the session, the client opens a new one. If another server runs at the
// same URL, the client negotiates the revision again. If a child process exits, the client restarts it
// if [Options].Restarts allows. A call is sent again only if the server has certainly not processed
// it. [Client.Done] and [Client.Err] report the end of the connection.
package mcpclient
