// Package stdio carries messages over the standard input and output of a
// process: one message a line. A server serves the program that started it, and
// a client starts the program that serves it.
//
// Most programs are written with the kits: mcpserver's Server.ServeStdio and
// mcpclient's Command do all of the following, and more. Without a kit, the first
// program of a server is this:
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
// And the first one of a client, which shakes hands and calls the tool:
//
//	server, err := stdio.Start(ctx, stdio.Command{Path: "weather"}, &stdio.StartOptions{Stderr: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	hello := &mcp.InitializeRequest{
//		ProtocolVersion: mcp.LatestHandshakeRevision,
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
// A line ends with a line feed, with or without a carriage return before it,
// and blank lines mean nothing. A line that is no message, or that is longer
// than [jsonrpc.Options] allows, costs only itself: a server answers it with a
// parse error, a client tells OnError of it, and the next line is read.
//
// # The process of a server
//
// While [Serve] runs, only messages travel on the process's standard output.
// Whatever else prints there, be it fmt.Println in a library or a child process,
// prints to standard error, which is free for text.
//
// # The process of a client
//
// A child gets no shell, little of our environment, and a process group of its
// own. [Process.Close] ends it in order: the end of its input, a while to finish,
// a request to terminate, another while, and the end by force, all of it for its
// descendants, too. On systems other than Unix there are no process groups:
// descendants are left alone, and there is no request to terminate.
package stdio
