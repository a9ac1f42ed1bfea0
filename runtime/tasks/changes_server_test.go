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

// reports are the changes of the tasks of a server, by tool.
type reports struct {
	mu    sync.Mutex
	all   map[string][]string
	ids   map[string]string
	begun map[string]chan struct{} // closed with the first change
}

func newReports() *reports {
	return &reports{all: make(map[string][]string), ids: make(map[string]string), begun: make(map[string]chan struct{})}
}

// first returns a channel that is closed when a tool has a task.
func (r *reports) first(tool string) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun[tool] == nil {
		r.begun[tool] = make(chan struct{})
	}
	return r.begun[tool]
}

func (r *reports) add(ctx context.Context, tool string, t *tasks.Task) {
	first := r.first(tool)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[tool] == "" {
		close(first)
	}
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

// taskServer returns a server with tools that run as tasks. They wait for the channel of their name.
func taskServer(o *tasks.Options, ready func(tool string) chan struct{}) *mcpserver.Server {
	o.StartAfter, o.PollInterval = -1, time.Millisecond
	s := mcpserver.New(mcp.Implementation{Name: "tasks", Version: "1"}, &mcpserver.Options{Tasks: o, Logger: slog.New(slog.DiscardHandler)})
	for name, outcome := range map[string]func(context.Context, *mcp.ServerSession) error{
		"wait":     func(context.Context, *mcp.ServerSession) error { return nil },
		"wait too": func(context.Context, *mcp.ServerSession) error { return nil },
		"fail":     func(context.Context, *mcp.ServerSession) error { return &peer.Error{Code: 1, Message: "it failed"} },
		"ask": func(ctx context.Context, s *mcp.ServerSession) error {
			_, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "?"})
			return err
		},
	} {
		tool := &mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}
		mcpserver.AddTool(s, tool, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
			select {
			case <-ready(name):
				return "done", outcome(ctx, session)
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		})
	}
	return s
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
			seen := newReports()
			s := taskServer(&tasks.Options{OnChange: seen.add}, seen.first)
			c := taskClient(t, s, r)
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

// Shutdown waits for the reports of the last changes.
func TestShutdownReportsChanges(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			seen := newReports()
			s := taskServer(&tasks.Options{OnChange: seen.add}, func(string) chan struct{} { return nil })
			c := taskClient(t, s, r)
			go callTask(context.Background(), c, "wait") // ends with the client
			<-seen.first("wait")
			require.NoError(t, s.Shutdown(t.Context()))
			require.Equal(t, "working cancelled", seen.of("wait"))
		})
	}
}

func TestMaxConcurrent(t *testing.T) {
	seen, release := newReports(), make(chan struct{})
	s := taskServer(&tasks.Options{MaxConcurrent: 1, OnChange: seen.add}, func(string) chan struct{} { return release })
	c := taskClient(t, s, mcp.Revision20251125)
	first := make(chan error, 1)
	go func() { first <- callTask(t.Context(), c, "wait") }() // ends when release is closed
	<-seen.first("wait")
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
