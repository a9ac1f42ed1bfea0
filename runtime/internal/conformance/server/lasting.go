package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// taskOptions have calls become tasks soon, so that the suite need not wait.
var taskOptions = &mcpserver.TaskOptions{StartAfter: 100 * time.Millisecond, PollInterval: 100 * time.Millisecond}

// long is how long work takes that becomes a task.
const long = 300 * time.Millisecond

// addLasting registers the tools whose calls go on as tasks. What they ask before
// they become one is asked in the answer, and what they ask later in the task.
func addLasting(s *mcpserver.Server) {
	tool(s, "greet", "Greets at once.", func(_ context.Context, _ *mcp.ServerSession, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	lasting(s, "slow_compute", mcp.TaskSupportOptional, func(ctx context.Context, _ *mcp.ServerSession, in struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label,omitempty"`
	}) (string, error) {
		wait(ctx, time.Duration(in.Seconds*float64(time.Second)))
		return "computed " + in.Label, context.Cause(ctx)
	})
	lasting(s, "failing_job", mcp.TaskSupportRequired, func(ctx context.Context, _ *mcp.ServerSession, _ none) (string, error) {
		wait(ctx, time.Second)
		return "", mcpserver.Errorf("this job fails on purpose")
	})
	lasting(s, "protocol_error_job", mcp.TaskSupportOptional, func(ctx context.Context, _ *mcp.ServerSession, _ none) (string, error) {
		wait(ctx, long)
		panic("this job breaks on purpose")
	})
	lasting(s, "confirm_delete", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession, in struct {
		Filename string `json:"filename"`
	}) (string, error) {
		wait(ctx, long)
		return elicit(ctx, s, form("Delete "+in.Filename+"?", field("confirm", &mcp.BooleanSchema{})))
	})
	lasting(s, "multi_input", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		wait(ctx, long)
		first := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: form("One name?", field("name", &mcp.StringSchema{}))})
		second := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: form("Another?", field("name", &mcp.StringSchema{}))})
		if err := mcpserver.Ask(ctx, first, second); err != nil {
			return "", err
		}
		return fmt.Sprintf("%v and %v", first.Answer.Content["name"], second.Answer.Content["name"]), nil
	})
	lasting(s, "test_tool_with_task", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		name, err := askFor(ctx, s, "user_name", "What is your name?", "name")
		if err != nil {
			return "", err
		}
		wait(ctx, long)
		return "Hello, " + name + "!", context.Cause(ctx)
	})
}

// lasting registers a tool whose calls may go on as tasks.
func lasting[In any](s *mcpserver.Server, name string, support mcp.TaskSupport, h func(context.Context, *mcp.ServerSession, In) (string, error)) {
	mcpserver.AddTool(s, &mcp.Tool{Name: name, Description: "Takes its time.", Execution: &mcp.ToolExecution{TaskSupport: support}}, h)
}
