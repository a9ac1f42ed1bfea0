package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// taskOptions make calls tasks early, so that the suite does not wait long.
var taskOptions = &tasks.Options{StartAfter: 100 * time.Millisecond, PollInterval: 100 * time.Millisecond}

// long is the duration of work that becomes a task.
const long = 300 * time.Millisecond

// addTaskTools registers the tools whose calls may become tasks. Before a call is a task,
// it requests input with its result, and afterwards with the task.
func addTaskTools(s *mcpserver.Server) {
	tool(s, "greet", "Greets immediately.", func(_ context.Context, _ *mcp.ServerSession, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	taskTool(s, "slow_compute", mcp.TaskSupportOptional, func(ctx context.Context, _ *mcp.ServerSession, in struct {
		Seconds float64 `json:"seconds"`
		Label   string  `json:"label,omitempty"`
	}) (string, error) {
		wait(ctx, time.Duration(in.Seconds*float64(time.Second)))
		return "computed " + in.Label, context.Cause(ctx)
	})
	taskTool(s, "failing_job", mcp.TaskSupportRequired, func(ctx context.Context, _ *mcp.ServerSession, _ none) (string, error) {
		wait(ctx, time.Second)
		return "", mcpserver.Errorf("this job fails on purpose")
	})
	taskTool(s, "protocol_error_job", mcp.TaskSupportOptional, func(ctx context.Context, _ *mcp.ServerSession, _ none) (string, error) {
		wait(ctx, long)
		panic("this job panics on purpose")
	})
	taskTool(s, "confirm_delete", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession, in struct {
		Filename string `json:"filename"`
	}) (string, error) {
		wait(ctx, long)
		return elicit(ctx, s, form("Delete "+in.Filename+"?", field("confirm", &mcp.BooleanSchema{})))
	})
	taskTool(s, "multi_input", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		wait(ctx, long)
		first := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: form("One name?", field("name", &mcp.StringSchema{}))})
		second := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: form("Another?", field("name", &mcp.StringSchema{}))})
		if err := mcpserver.Ask(ctx, first, second); err != nil {
			return "", err
		}
		return fmt.Sprintf("%v and %v", first.Answer.Content["name"], second.Answer.Content["name"]), nil
	})
	taskTool(s, "test_tool_with_task", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
		name, err := elicitText(ctx, s, "user_name", "What is your name?", "name")
		if err != nil {
			return "", err
		}
		wait(ctx, long)
		return "Hello, " + name + "!", context.Cause(ctx)
	})
}

// taskTool registers a tool whose calls may become tasks.
func taskTool[In any](s *mcpserver.Server, name string, support mcp.TaskSupport, h func(context.Context, *mcp.ServerSession, In) (string, error)) {
	mcpserver.AddTool(s, &mcp.Tool{Name: name, Description: "Takes some time.", Execution: &mcp.ToolExecution{TaskSupport: support}}, h)
}
