package tasks_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// A tool asks the user as a task, so that no request stays open meanwhile.
func ExampleAsk() {
	server := mcpserver.New(mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "book"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		form := &mcp.ElicitRequestFormParams{Message: "Where to?", RequestedSchema: mcp.RequestedSchema{
			Properties: []mcp.FormField{{Name: "city", Schema: &mcp.StringSchema{}}},
		}}
		res, err := tasks.Ask(ctx, session, &mcp.ElicitRequest{Params: form})
		if err != nil {
			return "", err
		}
		return fmt.Sprint("a flight to ", res.Content["city"]), nil
	})
	client, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(server), &mcpclient.Options{
		Revision: mcp.Revision20251125, Tasks: true, Logger: slog.New(slog.DiscardHandler),
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"city": "Ulm"}}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(mcpclient.CallTool[string](context.Background(), client, "book", nil))
	// Output: a flight to Ulm <nil>
}
