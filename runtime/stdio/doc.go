// Package stdio sends and receives messages over the standard input and output of
// a process, one message per line. A server serves the program that started it. A
// client starts the server as a child process.
//
// Most programs use the higher-level packages instead: Server.ServeStdio of
// mcpserver and Command of mcpclient do all of the following, and more. Without
// them, the smallest server is:
//
//	func main() {
//		var mux peer.Mux
//		mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
//			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "sunny"}}}, nil
//		})
//		server := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
//			Mux:          &mux,
//			Info:         mcp.Implementation{Name: "weather", Version: "1.0"},
//			Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
//		}), nil)
//		if err := stdio.Serve(context.Background(), server, nil); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// A client starts that server, completes the handshake and calls the tool:
//
//	server, err := stdio.Start(ctx, stdio.Command{Path: "weather"}, &stdio.StartOptions{Stderr: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	hello := &mcp.InitializeRequest{
//		ProtocolVersion: mcp.LatestHandshakeRevision.String(),
//		ClientInfo:      mcp.Implementation{Name: "umbrella", Version: "1.0"},
//	}
//	if _, err := peer.SendRequest(ctx, server, hello); err != nil {
//		return err
//	}
//	if err := peer.SendNotification(ctx, server, &mcp.InitializedNotification{}); err != nil {
//		return err
//	}
//	res, err := peer.SendRequest(ctx, server, &mcp.CallToolRequest{Name: "forecast"})
//
// # Lines
//
// A line ends with a line feed, which a carriage return may precede. Blank lines
// are ignored. A line that is not a message, or that is longer than
// [jsonrpc.Options] allows, does not end the connection. A server responds with a
// parse error and a client calls OnError; both then read the next line.
//
// # The server process
//
// While [Serve] runs, the standard output of the process carries only messages.
// All other writes to standard output, for example by fmt.Println in a library or
// by a child process, go to standard error instead.
//
// # The child process of a client
//
// A child runs without a shell, inherits few environment variables, and has a
// process group of its own. [Process.Close] ends the child in steps: it closes the
// standard input of the child and waits, then asks the child to terminate and waits
// again, and finally kills it. The signals are sent to the whole process group, so
// that they reach the descendants of the child as well.
//
// Systems other than Unix have no process groups. There the child cannot be asked
// to terminate, and its descendants are not ended.
package stdio
