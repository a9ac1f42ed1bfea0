package server_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestWorkerPoolSize(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	started, finish := make(chan string, 10), make(chan struct{})
	s.AddTool(mcp.NewTool("wait", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- r.GetString("text", "")
		<-finish
		return mcp.NewToolResultText(""), nil
	})
	stdio := server.NewStdioServer(s)
	for _, opt := range []server.StdioOption{server.WithWorkerPoolSize(2), server.WithWorkerPoolSize(0), server.WithQueueSize(1)} {
		opt(stdio)
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go stdio.Listen(t.Context(), serverIn, serverOut) // ends with the test
	c := connect(t, mcpclient.Streams(clientIn, clientOut), mcpclient.Options{Revision: kit.Revision20251125})

	var calls sync.WaitGroup
	begin := func(text string) {
		calls.Go(func() { call(t, c, "wait", `{"text":"`+text+`"}`) })
	}
	begin("first")
	begin("second")
	<-started
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error)
	go func() { // ends with the call
		_, err := c.CallTool(ctx, &kit.CallToolRequest{Name: "wait"})
		canceled <- err
	}()
	_, err := c.ListTools(t.Context(), nil) // other requests do not wait
	check(t, err)
	cancel()
	if err := <-canceled; err == nil {
		t.Fatal("a call that waits cannot be canceled")
	}
	_, err = c.ListTools(t.Context(), nil) // the server has received the cancellation before this request
	check(t, err)
	begin("third")
	equal(t, len(started), 0)
	finish <- struct{}{}
	equal(t, <-started, "third")
	close(finish)
	calls.Wait()
	equal(t, len(started), 0)
}
