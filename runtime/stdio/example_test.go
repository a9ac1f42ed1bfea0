package stdio_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// weather returns a server with one tool, for one connection.
func weather() *connection.Pipe {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "sunny"}}}, nil
	})
	return connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "weather", Version: "1.0"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	}), nil)
}

// The server ends when its client closes the pipe, or when it is interrupted.
func ExampleServe() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := stdio.Serve(ctx, weather(), nil); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// ServeStreams works with any two streams. Here they connect a client in the same
// process.
func ExampleServeStreams() {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- stdio.ServeStreams(context.Background(), in, out, weather(), nil) }()

	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	response, _ := bufio.NewReader(fromServer).ReadString('\n')
	fmt.Print(response)
	toServer.Close()
	fmt.Println(<-ended)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// <nil>
}

// A client starts a server, calls it, and ends it. If the server ends during a call,
// the error of the call contains its exit state and the last lines of its standard
// error.
func ExampleStart() {
	ctx := context.Background()
	server, err := stdio.Start(ctx, stdio.Command{
		Path:    "weather-server",
		Args:    []string{"--units", "metric"},
		Env:     []string{"WEATHER_KEY=12345"},
		Inherit: []string{"HTTPS_PROXY"},
	}, &stdio.StartOptions{
		Stderr: os.Stderr,
		Grace:  5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if _, err := peer.SendRequest(ctx, server, &mcp.PingRequest{}); err != nil {
		log.Print(err)
	}
}
