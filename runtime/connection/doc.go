// Package connection contains the state of one end of an MCP connection, checks the messages that
// are sent, and dispatches the messages that are received.
//
// Authors of servers and clients use the packages mcpserver and mcpclient, which are built on this
// package. Authors of middleware use it in handlers: [FromContext] returns the [Connection], and
// a [Key] stores a value in its [State]. Authors of transports use a [Dispatcher], which handles
// messages, and a [Pipe] or a Connection for each client.
//
// This function is a complete server for one client, with a middleware. Its transport is two
// streams of bytes:
//
//	func serve(ctx context.Context, in io.Reader, out io.Writer) error {
//		var mux peer.Mux
//		mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
//			return mcp.TextResult("Hello, " + mcp.SessionFromContext(ctx).ClientInfo().Name), nil
//		})
//		logging := func(next peer.Handler) peer.Handler {
//			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
//				if !in.ID.IsZero() { // a request
//					log.Printf("%s in revision %s", in.Method, connection.FromContext(ctx).Revision())
//				}
//				return next.Handle(ctx, in)
//			})
//		}
//		pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
//			Mux:          &mux,
//			Middleware:   []peer.Middleware{logging},
//			Info:         mcp.Implementation{Name: "greeter", Version: "1.0.0"},
//			Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
//		}), nil)
//		conn := jsonrpc.New(jsonrpc.NewLineWriter(out), &jsonrpc.Options{
//			Handler: pipe, Read: pipe.Read, Frame: pipe.Frame, Batches: pipe.Batches,
//			OnRequest: pipe.OnRequest, InterceptNotification: pipe.InterceptNotification,
//		})
//		defer conn.Close()
//		pipe.Attach(conn, conn.InFlight())
//		defer pipe.Close(ctx)
//		return conn.ReadLines(ctx, in, jsonrpc.Source{})
//	}
//
// # Connections
//
// Each message has a Connection. In a handshake revision it lasts as long as the session, and
// [New] makes it. In a stateless revision it lasts for one request, and [NewForRequest] or
// [Dispatcher.ServeStateless] makes it from the message metadata of the request. Everything that
// may change during its life is in its State. Connections of one server share no state.
//
// # Sessions
//
// A handler calls its peer with a session: a server's handler gets it with
// [mcp.SessionFromContext], and a client's handler with [ClientSessionFromContext]. A session
// sends messages that are related to the message being handled. The Connection sends messages
// that are not related to a request.
//
// # Checks
//
// All messages pass the same checks before they are sent, even raw ones: the revision must have
// the message in this direction, and the peer must have declared the capability that the message
// requires. The params of requests for sampling and elicitation are validated. If a check
// fails, a request returns a [*peer.NoBackChannelError], an [*UnsupportedError], a
// [*CapabilityError] or an [*InvalidError]. A notification is dropped and logged.
//
// # Revisions
//
// A handshake revision (2024-11-05 to 2025-11-25) begins with initialize. In a stateless revision
// (2026-07-28 and later), each request contains its sender's name and capabilities in its
// metadata, which [ReadMetadata] validates. A Dispatcher serves both kinds. A Pipe finds out from
// the first request which kind its client uses.
package connection
