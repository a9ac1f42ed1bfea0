// Package streamable carries messages over HTTP: the Streamable HTTP transport in
// every revision, and the transport with two endpoints that came before it.
//
// The first program of a server:
//
//	func main() {
//		var mux peer.Mux
//		mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
//			return mcp.TextResult("sunny"), nil
//		})
//		kernel := connection.NewDispatcher(&connection.DispatcherOptions{
//			Mux:          &mux,
//			Info:         mcp.Implementation{Name: "weather", Version: "1.0"},
//			Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
//		})
//		http.Handle("/mcp", streamable.NewHandler(kernel, nil))
//		log.Fatal(streamable.NewHTTPServer("localhost:8080", nil).ListenAndServe())
//	}
//
// And of a client:
//
//	client := streamable.NewClient("http://127.0.0.1:8080/mcp", nil)
//	defer client.Close()
//	res, err := peer.SendRequest(ctx, client, &mcp.InitializeRequest{…})
//	if err != nil {
//		return err
//	}
//	revision, _ := mcp.ParseRevision(res.ProtocolVersion)
//	client.SetRevision(revision)
//	client.Notify(ctx, &mcp.InitializedNotification{})
//	tools, err := peer.SendRequest(ctx, client, &mcp.ListToolsRequest{})
//
// Packages mcpserver and mcpclient make both of them shorter.
//
// # One endpoint
//
// A [Handler] serves all revisions at one URL. The header MCP-Protocol-Version
// alone tells which way a request goes. Without it, or with that of a revision
// that has a handshake, the request belongs to a session: initialize begins one,
// its id travels in the header Mcp-Session-Id, DELETE ends it, and so does half an
// hour without use. With any other, the request says itself who sends it and
// stands alone.
//
// An answer is one JSON document if it is the first thing that the handler of the
// request has to say. If something comes before it, such as a progress report or
// a question to the client, the answer is the last event of a stream.
//
// # Clients that go away
//
// A request that stands alone is cancelled when its client closes the connection.
// One of a session is not: the client cancels it with a notification, and comes
// back for what it has missed. For that the handler keeps what was sent in
// sessions for a while, see [EventStore].
//
// # Safe as it comes
//
// On a loopback address only requests to loopback names are served, and from pages
// of the same machine only; elsewhere only those from pages that the server serves
// itself, unless [Options] list others. Bodies, requests in flight, subscriptions,
// sessions and what is kept of them are bounded, each by an option. What is refused
// gets a status and a JSON-RPC error, never silence. Whoever verifies callers tells
// their names by Options.Principal, unless it is a guard of package auth; then a
// session is no use to anybody but the one who began it.
package streamable
