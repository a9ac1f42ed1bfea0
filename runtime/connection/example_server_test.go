package connection_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

// serve serves one client that writes to in and reads from out.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult("Hello, " + mcp.SessionFromContext(ctx).ClientInfo().Name), nil
	})
	logging := func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if !in.ID.IsZero() { // a request
				log.Printf("%s in revision %s", in.Method, connection.FromContext(ctx).Revision())
			}
			return next.Handle(ctx, in)
		})
	}
	pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Middleware:   []peer.Middleware{logging},
		Info:         mcp.Implementation{Name: "greeter", Version: "1.0.0"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	}), nil)
	conn := jsonrpc.New(jsonrpc.NewLineWriter(out), &jsonrpc.Options{
		Handler: pipe, Read: pipe.Read, Frame: pipe.Frame, Batches: pipe.Batches,
		OnRequest: pipe.OnRequest, InterceptNotification: pipe.InterceptNotification,
	})
	defer conn.Close()
	pipe.Attach(conn, conn.InFlight())
	defer pipe.Close(ctx)
	return conn.ReadLines(ctx, in, jsonrpc.Source{})
}

func Example() {
	log.SetOutput(os.Stdout)
	log.SetFlags(0)
	defer log.SetOutput(os.Stderr)

	ctx := context.Background()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error)
	go func() { served <- serve(ctx, in, out) }() // ends when toServer is closed

	client := jsonrpc.New(jsonrpc.NewLineWriter(toServer), nil)
	go client.ReadLines(ctx, fromServer, jsonrpc.Source{}) // ends when fromServer is closed
	_, err := peer.SendRequest(ctx, client, &mcp.InitializeRequest{
		ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "Ada", Version: "1.0.0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = client.Notify(ctx, &mcp.InitializedNotification{})
	res, err := peer.SendRequest(ctx, client, &mcp.CallToolRequest{Name: "greet"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	client.Close()
	toServer.Close()
	fmt.Println(<-served)
	fromServer.Close()

	// Output:
	// initialize in revision 2025-11-25
	// tools/call in revision 2025-11-25
	// Hello, Ada
	// <nil>
}

// TestPackageCommentContainsTheExample checks that the program in the package comment is the one
// that the example runs.
func TestPackageCommentContainsTheExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	source, err := os.ReadFile("example_server_test.go")
	require.NoError(t, err)
	program := regexp.MustCompile(`(?ms)^func serve\(.*?^}\n`).FindString(string(source))
	comment := "//\t" + strings.ReplaceAll(strings.TrimSuffix(program, "\n"), "\n", "\n//\t") + "\n"
	require.NotEmpty(t, program)
	require.Contains(t, string(doc), comment)
}
