package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// taskCalls are the calls of hooks, by tool.
type taskCalls struct {
	mu  sync.Mutex
	all map[string][]string
}

func (c *taskCalls) hook(name string) func(context.Context, server.TaskMetrics) {
	return func(ctx context.Context, m server.TaskMetrics) {
		text := name
		switch {
		case ctx.Err() != nil, m.TaskID == "", m.CreatedAt.IsZero(), m.SessionID != "stdio":
			text = fmt.Sprintf("wrong %s %+v", name, m)
		case m.Status.IsTerminal() != (m.CompletedAt != nil), m.CompletedAt != nil && m.CompletedAt.Sub(m.CreatedAt) != m.Duration:
			text = fmt.Sprintf("wrong times of %s %+v", name, m)
		case name == "changed":
			text += " " + string(m.Status)
		case m.Error != nil:
			text += " " + m.Error.Error() + " " + m.StatusMessage
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all[m.ToolName] = append(c.all[m.ToolName], text)
	}
}

func (c *taskCalls) of(tool string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.all[tool], ", ")
}

func TestTaskHooks(t *testing.T) {
	calls := &taskCalls{all: make(map[string][]string)}
	hooks, created := new(server.TaskHooks), make(chan struct{}, 10)
	hooks.AddOnTaskCreated(calls.hook("created"))
	hooks.AddOnTaskCompleted(calls.hook("completed"))
	hooks.AddOnTaskFailed(calls.hook("failed"))
	hooks.AddOnTaskCancelled(calls.hook("cancelled"))
	hooks.AddOnTaskStatusChanged(calls.hook("changed"))
	hooks.AddOnTaskCreated(func(context.Context, server.TaskMetrics) { created <- struct{}{} })
	s := server.NewMCPServer("test", "1.0.0", server.WithTaskHooks(hooks), server.WithTaskCapabilities(true, true, true), server.WithMaxConcurrentTasks(1))
	support := mcp.WithTaskSupport(mcp.TaskSupportOptional)
	s.AddTool(mcp.NewTool("echo", support), echo)
	s.AddTool(mcp.NewTool("fail", support), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("it failed")
	})
	s.AddTool(mcp.NewTool("wait", support), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20251125, Tasks: true})
	call := func(ctx context.Context, tool string) error {
		_, err := c.CallTool(ctx, &kit.CallToolRequest{Name: tool, Arguments: []byte(`{"text":"a"}`), Task: new(kit.TaskMetadata)})
		return err
	}
	check(t, call(t.Context(), "echo"))
	call(t.Context(), "fail")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() { // ends when the call is canceled
		call(ctx, "wait")
		close(done)
	}()
	for range 3 {
		<-created
	}
	err := call(t.Context(), "echo")
	equal(t, err != nil && strings.Contains(err.Error(), "Too many tasks are running"), true)
	cancel() // the client cancels the task
	<-done
	check(t, s.Kit().Shutdown(t.Context()))
	equal(t, calls.of("echo"), "created, changed working, completed, changed completed")
	equal(t, calls.of("fail"), "created, changed working, failed it failed it failed, changed failed")
	equal(t, calls.of("wait"), "created, changed working, cancelled, changed cancelled")
}

// In the newest revision, the server decides which calls become tasks.
func TestTaskHooksOfNewestRevision(t *testing.T) {
	calls := &taskCalls{all: make(map[string][]string)}
	hooks, created := new(server.TaskHooks), make(chan struct{}, 1)
	hooks.AddOnTaskStatusChanged(calls.hook("changed"))
	hooks.AddOnTaskCreated(func(context.Context, server.TaskMetrics) { created <- struct{}{} })
	s := server.NewMCPServer("test", "1.0.0", server.WithTaskCapabilities(true, true, true), server.WithTaskHooks(hooks))
	s.AddTool(mcp.NewTool("slow", mcp.WithTaskSupport(mcp.TaskSupportOptional)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-created:
		case <-time.After(time.Minute):
		}
		return mcp.NewToolResultText("done"), nil
	})
	c := connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20260728, Tasks: true})
	equal(t, call(t, c, "slow", "{}"), "done")
	check(t, s.Kit().Shutdown(t.Context()))
	equal(t, calls.of("slow"), "changed working, changed completed")

	without := server.NewMCPServer("test", "1.0.0", server.WithTaskHooks(hooks), server.WithTaskHooks(nil), server.WithMaxConcurrentTasks(2))
	equal(t, without.Kit() != nil, true) // options without tasks do nothing
}
