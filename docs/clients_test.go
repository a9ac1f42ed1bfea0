package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// builder returns a server with a tool that reports progress and logs.
func builder() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "builder", Version: "1.0.0"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "build"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: 1, Message: "compiled"}); err != nil {
			return "", err
		}
		err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelWarning, Data: json.RawMessage(`"no tests"`)})
		return "built", err
	})
	return server
}

// endpoints returns endpoints with an environment, a header, and a writer for logs.
func endpoints(key string) []mcpclient.Endpoint {
	local := mcpclient.Command("./builder", "-v")
	local.Env = []string{"API_KEY=" + key}
	local.Start.Stderr = os.Stderr

	remote := mcpclient.URL("https://mcp.example.com/mcp")
	remote.HTTP.Header = http.Header{"X-Api-Key": {key}}

	return []mcpclient.Endpoint{local, remote}
}

// The methods of the view use the options of the call.
func Example_callOptions() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(builder()), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	watched := client.With(
		peer.WithTimeout(5*time.Minute),
		peer.OnProgress(func(p peer.Progress) { fmt.Println("done:", p.Progress, p.Message) }),
		mcpclient.OnLog(mcp.LoggingLevelInfo, func(n *mcp.LoggingMessageNotification) { fmt.Println(n.Level, string(n.Data)) }),
	)
	res, err := watched.CallTool(ctx, &mcp.CallToolRequest{Name: "build"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mcp.TextOf(res.Content))
	// Unordered output:
	// done: 1 compiled
	// warning "no tests"
	// built
}

// diagnose distinguishes errors by their types.
func diagnose(err error) string {
	if failed, ok := errors.AsType[*mcpclient.ToolError](err); ok {
		return "the tool failed: " + failed.Text()
	}
	if closed, ok := errors.AsType[*peer.ClosedError](err); ok && closed.Unsent {
		return "the connection is closed, and the request was not sent"
	}
	if _, ok := errors.AsType[*peer.TimeoutError](err); ok {
		return "no response in time"
	}
	if protocol := peer.AsError(err); protocol != nil {
		return "error response: " + protocol.Message
	}
	return "other error: " + err.Error()
}

// An unknown tool is an error of the protocol.
func Example_diagnose() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(builder()), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = mcpclient.CallTool[string](ctx, client, "destroy", nil)
	fmt.Println(diagnose(err))
	// Output: error response: Unknown tool: "destroy"
}

// connectWithRestarts restarts the server whenever it ends.
func connectWithRestarts(ctx context.Context) (*mcpclient.Client, error) {
	return mcpclient.Connect(ctx, mcpclient.Command("./builder"), &mcpclient.Options{Restarts: -1})
}
