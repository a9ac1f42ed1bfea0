// Package mcpserver is the kit that servers are built with: it turns Go
// functions into tools, resources and prompts, and serves them to clients of
// every revision of the protocol, over standard input and output, over HTTP and
// in process.
//
// The first program:
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
//		mcpserver.AddTool(server, &mcp.Tool{Name: "forecast", Description: "Tells the weather."}, forecast)
//		if err := server.ServeStdio(context.Background()); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # Registering
//
// Tools, resources, templates and prompts may be added and removed at any time,
// also while the server serves; clients that listen are told. A server that may
// have none of a kind when a client connects declares the kind among the
// Capabilities of its [Options], or that client is not told. Adding a second
// one of the same name replaces the first: callers see the one or the other.
// What makes no sense, such as a tool without a name, panics at once, as it does
// in [net/http.ServeMux]. Lists are in the order of names, so that every replica
// of a server gives the same pages.
//
// What is registered is copied: the caller's value may be changed afterwards.
//
// # Arguments and results
//
// The schema of a tool's arguments is made of the Go type, unless the tool brings
// one of its own, and arguments are judged by it before the handler is called.
// Fields of structs that are absent get their defaults; a map and raw JSON stay as
// they came. Arguments that nobody knows are refused. What is wrong is told to the
// model, which can mend it. In the other direction a result that is a struct
// becomes structured content with a schema, and a string becomes plain text.
//
// # Errors
//
// A tool's error is for the model only if it says so: [Errorf] makes one. A
// [*peer.Error] is an error of the protocol and not of the tool. Of anything else
// the client learns only that something went wrong, and an id under which the
// log has the cause.
//
// # Serving
//
// A server value holds what is registered and the options, nothing of any client:
// [Server.ServeStdio], [Server.ListenAndServe], [Server.Handler] and [Server.InProcess]
// may be used together and several times. [Server.Shutdown] ends them all in order.
package mcpserver
