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

// weather is a server with one tool, for one pipe.
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

// A server ends when its client closes the pipe, or when it is interrupted.
func ExampleServe() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := stdio.Serve(ctx, weather(), nil); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// Any two streams do: here those of a client in the same process.
func ExampleServeStreams() {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- stdio.ServeStreams(context.Background(), in, out, weather(), nil) }()

	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	answer, _ := bufio.NewReader(fromServer).ReadString('\n')
	fmt.Print(answer)
	toServer.Close()
	fmt.Println(<-ended)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{}}
	// <nil>
}

// A client starts a server, speaks with it, and ends it. Should the server die
// meanwhile, the error of the call says how, with the server's last words.
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
