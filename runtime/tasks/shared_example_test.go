package tasks_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// A task has its result in another replica, after the replica that has run it has ended.
func ExampleOptions() {
	ctx := context.Background()
	storage := new(engine.Memory) // of one process; NATS and Redis are in scale/nats and scale/redis
	keys := [][]byte{[]byte("32 bytes that all replicas share")}
	info := mcp.Implementation{Name: "studio", Version: "1"}
	replica := func() *mcpserver.Server {
		server := mcpserver.New(info, &mcpserver.Options{
			Tasks:     &tasks.Options{Table: storage, StartAfter: -1},
			Questions: mcpserver.QuestionOptions{SealKeys: keys},
		})
		tool := &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}
		mcpserver.AddTool(server, tool, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
			time.Sleep(50 * time.Millisecond) // the work
			return "rendered", nil
		})
		return server
	}
	var id string
	first, second := replica(), replica()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(first), &mcpclient.Options{
		Tasks:  true,
		OnTask: func(_ context.Context, t *tasks.Task) { id = t.ID },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = mcpclient.CallTool[string](ctx, client, "render", nil)
	fmt.Println(err, client.Close(), first.Shutdown(ctx))

	client, err = mcpclient.Connect(ctx, mcpclient.InProcess(second), &mcpclient.Options{Tasks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	task, err := peer.SendRequest(ctx, client, &tasks.GetRequest{TaskID: id})
	fmt.Println(task.Status, err)
	// Output:
	// <nil> <nil> <nil>
	// completed <nil>
}
