package docs

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// scene has the arguments of the tool.
type scene struct {
	Frames int `json:"frames"`
}

// draw simulates work.
func draw(ctx context.Context, frame int) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func render(ctx context.Context, s *mcp.ServerSession, in scene) (string, error) {
	for frame := range in.Frames {
		if err := draw(ctx, frame); err != nil {
			return "", err
		}
		s.ReportProgress(ctx, peer.Progress{Progress: float64(frame + 1), Message: fmt.Sprint("frame ", frame+1)})
	}
	return fmt.Sprint(in.Frames, " frames"), nil
}

// studio returns a server whose calls continue as tasks.
func studio(info mcp.Implementation) *mcpserver.Server {
	server := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{StartAfter: 2 * time.Second}})
	tool := &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}
	mcpserver.AddTool(server, tool, render)
	return server
}

// loggedTasks returns the options of a server that logs the changes of its tasks.
func loggedTasks() *mcpserver.Options {
	return &mcpserver.Options{
		Tasks: &tasks.Options{OnChange: func(_ context.Context, tool string, t *tasks.Task) {
			log.Printf("task %s of tool %q: %s", t.ID, tool, t.Status)
		}},
	}
}

// The client waits for the result of the task.
func Example_task() {
	ctx := context.Background()
	at := mcpserver.New(mcp.Implementation{Name: "studio", Version: "1.0.0"}, &mcpserver.Options{
		Tasks: &tasks.Options{StartAfter: -1, PollInterval: 20 * time.Millisecond},
	})
	mcpserver.AddTool(at, &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}}, render)
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(at), &mcpclient.Options{
		Tasks: true,
		OnTask: func(_ context.Context, t *tasks.Task) {
			if t.Finished() {
				fmt.Println("task", t.Status)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	text, err := mcpclient.CallTool[string](ctx, client, "render", scene{Frames: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output:
	// task completed
	// 2 frames
}

// connectWithTasks prints the status of tasks.
func connectWithTasks(ctx context.Context, server mcpclient.Endpoint) (*mcpclient.Client, error) {
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{
		Tasks:  true,
		OnTask: func(_ context.Context, t *tasks.Task) { fmt.Println(t.Status) },
	})
	return client, err
}

// taskStatus returns the status of a task.
func taskStatus(ctx context.Context, client *mcpclient.Client, id string) (mcp.TaskStatus, error) {
	res, err := peer.SendRequest(ctx, client, &tasks.GetRequest{TaskID: id})
	if err != nil {
		return "", err
	}
	task, err := tasks.FromResult(res)
	if err != nil {
		return "", err
	}
	return task.Status, nil
}

var _, _, _ = studio, connectWithTasks, taskStatus
