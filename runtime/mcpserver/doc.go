// Package mcpserver implements MCP servers. It turns Go functions into tools, resources and
// prompts, and serves them to clients of every protocol revision, over standard input and
// output, over HTTP, over transports of the program, and in process.
//
// A complete server:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		"github.com/mcpwright/mcp/runtime/mcpserver"
//	)
//
//	type Input struct {
//		City string `json:"city" jsonschema:"the name of the city"`
//		Days int    `json:"days,omitempty" minimum:"1" maximum:"7" default:"1"`
//	}
//
//	func forecast(ctx context.Context, s *mcp.ServerSession, in Input) (string, error) {
//		return fmt.Sprintf("%d sunny days in %s", in.Days, in.City), nil
//	}
//
//	func main() {
//		server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
//		mcpserver.AddTool(server, &mcp.Tool{Name: "forecast", Description: "Forecasts the weather."}, forecast)
//		if err := server.ServeStdio(context.Background()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Registering
//
// [AddTool] and [AddPrompt] register Go functions, and [Server.AddResource] and
// [Server.AddResourceTemplate] register resources. Items may be added and removed at any
// time, also while the server serves; subscribed clients are notified. Adding an item
// replaces the item of the same name. Definitions are copied, so the caller may change its
// value afterwards. Lists are sorted by name, so all replicas of a server return equal pages.
//
// The capabilities of a server follow from the registered items. If a server may have no
// item of a kind when a client connects, declare the capability in [Options].Capabilities;
// otherwise that client is not notified of later additions.
//
// Registration panics with a [*RegistrationError] if a definition is invalid, like
// [net/http.ServeMux]. Methods such as [Server.TryAddRawTool] return the error instead, for
// definitions that come from elsewhere.
//
// # Arguments and results
//
// The schema of a tool's arguments is inferred from the Go type unless the tool has an
// InputSchema. Arguments are validated before the handler is called. Unknown arguments are
// rejected; see [Options].AllowUnknownArguments. The errors are returned to the model, which
// can correct the call. Absent struct fields get their defaults; maps and raw JSON are
// unchanged.
//
// A result of type string is sent as text. A struct is sent as structured content, with a
// schema in the tool's definition.
//
// # Errors
//
// The same rule holds for tools, prompts, resources and completion:
//
//   - The text of an error is sent if [Errorf] has made it, or if it has a method ModelText:
//     as a result with IsError for the model that called a tool, otherwise as the message of
//     an error response.
//   - A [*peer.Error] is sent as an error response.
//   - Of any other error, and of a panic, the client receives "Internal error" and an id. The
//     log has the error with that id. [Options].ExposeErrors sends the texts of errors instead,
//     but not of panics; they are still logged.
//
// Errors of the first two kinds are logged with the level debug, which most programs discard,
// because the client has the whole text. All others are logged with the level error.
//
// # Serving
//
// A [Server] has no state of any client, so it can serve several transports at the same
// time:
//
//   - [Server.ServeStdio] serves the client that started the process;
//   - ListenAndServe of package streamable serves HTTP at an address, and NewHandler of that
//     package returns an [net/http.Handler]. Servers on pipes do not link the packages of HTTP;
//   - [Server.ServeStreams] and [Server.Serve] serve one client over streams of bytes, or
//     over a transport that carries messages, such as a WebSocket;
//   - [Server.InProcess] returns a connection within the process.
//
// [Server.Shutdown] stops all of them gracefully.
//
// # Limits
//
// Every resource that a client can use up is limited by default: the size of a message, the
// requests in flight, subscriptions, queued events, rounds of questions, and tasks. See
// [Options], [QuestionOptions], and the options of packages stdio, jsonrpc and
// streamable. Exceeding a limit is an error, or is logged if no caller waits.
package mcpserver
