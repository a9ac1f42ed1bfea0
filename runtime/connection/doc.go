// Package connection is what one end of a conversation knows about the other,
// and the rules that stand between a program and its channel: who may be asked
// what, in which revision, and in which state.
//
// The kits, mcpserver and mcpclient, stand on this package; most programs are
// written with them. Underneath, a server is a [peer.Mux] with handlers, a [Dispatcher]
// around it, and something that carries messages. Over a pipe it looks like this:
//
//	var mux peer.Mux
//	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
//		session := mcp.SessionFromContext(ctx)
//		answer, err := session.ElicitForm(ctx, &mcp.ElicitRequestFormParams{
//			Message:         "Which table?",
//			RequestedSchema: tables,
//		})
//		if err != nil {
//			return nil, err
//		}
//		if answer.Action != mcp.ElicitActionAccept {
//			return mcp.TextResult("No table, then."), nil
//		}
//		return mcp.TextResult(fmt.Sprint(answer.Content["table"])), nil
//	})
//
//	pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
//		Mux:          &mux,
//		Info:         mcp.Implementation{Name: "waiter", Version: "1.0"},
//		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
//	}), nil)
//	conn := jsonrpc.New(out, &jsonrpc.Options{
//		Handler: pipe, Read: pipe.Read, Arrive: pipe.Arrive, Intercept: pipe.Intercept,
//		Frame: pipe.Frame, Batches: pipe.Batches,
//	})
//	pipe.Attach(conn, conn.InFlight())
//	err := conn.ReadLines(ctx, in, jsonrpc.Source{})
//
// # Connections
//
// A [Connection] is there for every message, also where nothing lasts longer
// than one request: [NewForRequest] makes one of what a request says about its
// sender, [New] one that awaits the handshake. What may change during its
// life is in its [State] and nowhere else, so that two connections of one server
// have nothing in common.
//
// # Checks
//
// Everything that is sent, by a session's helper, by [peer.SendRequest] or raw,
// passes the same checks before a byte is written: whether the revision has the
// message and the way it would go, whether the client declared what the message
// needs, and for sampling and elicitation whether the request makes sense. A
// request that fails comes back as a [*peer.NoBackChannelError], an
// [*UnsupportedError], a [*CapabilityError] or an [*InvalidError]; a notification
// that may not be sent is dropped and logged.
//
// # Eras
//
// A revision either begins with a handshake or has every request carry what the
// handshake would have settled. [ReadMetadata] judges such a request, [Pipe] finds
// out which of the two a pipe speaks, and the kernel serves both.
package connection
