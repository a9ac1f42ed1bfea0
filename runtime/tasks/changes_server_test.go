package tasks_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// reports are the changes of the tasks of a server.
type reports struct {
	mu  sync.Mutex
	all map[string][]string // by tool
	ids map[string]string
}

func (r *reports) add(ctx context.Context, tool string, t *tasks.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := string(t.Status)
	switch {
	case ctx.Err() != nil, connection.FromContext(ctx) == nil, r.ids[tool] != "" && r.ids[tool] != t.ID:
		text = fmt.Sprintf("wrong context, or another task: %v", t)
	case t.CreatedAt.IsZero(), t.LastUpdatedAt.Before(t.CreatedAt), t.TTL <= 0, t.PollInterval <= 0, t.Result != nil, t.Error != nil:
		text = fmt.Sprintf("wrong fields: %+v", t)
	}
	r.all[tool] = append(r.all[tool], text)
	r.ids[tool] = t.ID
}

func (r *reports) of(tool string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.all[tool], " ")
}

// taskServer returns a server with tools that run as tasks. The tool "wait" runs until release is closed or
// its context ends.
func taskServer(o *tasks.Options) (s *mcpserver.Server, release chan struct{}) {
	release = make(chan struct{})
	o.StartAfter, o.PollInterval = -1, time.Millisecond
	s = mcpserver.New(mcp.Implementation{Name: "tasks", Version: "1"}, &mcpserver.Options{Tasks: o, Logger: slog.New(slog.DiscardHandler)})
	add := func(name string, f func(context.Context, *mcp.ServerSession, struct{}) (string, error)) {
		mcpserver.AddTool(s, &mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}, f)
	}
	wait := func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		select {
		case <-release:
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	add("wait", wait)
	add("wait too", wait)
	add("fail", func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "", &peer.Error{Code: 1, Message: "it failed"}
	})
	add("ask", func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		_, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "?"})
		return "asked", err
	})
	return s, release
}

func taskClient(t *testing.T, s *mcpserver.Server, r wire.Revision) *mcpclient.Client {
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{
		Revision: r, Logger: slog.New(slog.DiscardHandler), Tasks: true,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// callTask calls a tool as a task, and waits for its result.
func callTask(ctx context.Context, c *mcpclient.Client, tool string) error {
	req := &mcp.CallToolRequest{Name: tool}
	if c.Revision() == mcp.Revision20251125 {
		req.Task = new(mcp.TaskMetadata)
	}
	_, err := c.CallTool(ctx, req)
	return err
}

func TestOnChange(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			seen := &reports{all: make(map[string][]string), ids: make(map[string]string)}
			s, release := taskServer(&tasks.Options{OnChange: seen.add})
			c := taskClient(t, s, r)
			close(release)
			require.NoError(t, callTask(t.Context(), c, "wait"))
			require.NoError(t, callTask(t.Context(), c, "ask"))
			require.Error(t, callTask(t.Context(), c, "fail"))
			require.NoError(t, s.Shutdown(t.Context()))
			require.Equal(t, "working completed", seen.of("wait"))
			require.Equal(t, "working input_required working completed", seen.of("ask"))
			require.Equal(t, "working failed", seen.of("fail"))
		})
	}
}

// The reports of the last changes do not miss when the server has been shut down.
func TestShutdownReportsChanges(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			seen, began := &reports{all: make(map[string][]string), ids: make(map[string]string)}, make(chan struct{}, 2)
			s, _ := taskServer(&tasks.Options{OnChange: func(ctx context.Context, tool string, task *tasks.Task) {
				seen.add(ctx, tool, task)
				began <- struct{}{}
			}})
			c := taskClient(t, s, r)
			go callTask(context.Background(), c, "wait") // ends with the client
			<-began
			require.NoError(t, s.Shutdown(t.Context()))
			require.Equal(t, "working cancelled", seen.of("wait"))
		})
	}
}

func TestMaxConcurrent(t *testing.T) {
	began := make(chan struct{}, 10)
	s, release := taskServer(&tasks.Options{MaxConcurrent: 1, OnChange: func(_ context.Context, _ string, task *tasks.Task) {
		if task.Status == mcp.TaskStatusWorking {
			began <- struct{}{}
		}
	}})
	c := taskClient(t, s, mcp.Revision20251125)
	first := make(chan error, 1)
	go func() { first <- callTask(t.Context(), c, "wait") }() // ends when release is closed
	<-began
	err := callTask(t.Context(), c, "wait too")
	require.Equal(t, "Too many tasks are running. Try again when one has finished", peer.AsError(err).Message)

	// In the newest revision, the call waits for its result.
	second := make(chan error, 1)
	newest := taskClient(t, s, mcp.Revision20260728)
	go func() { second <- callTask(t.Context(), newest, "wait too") }() // ends when release is closed
	close(release)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.NoError(t, callTask(t.Context(), c, "wait too"))
	require.NoError(t, s.Shutdown(t.Context()))
}
