// Package tasks tests the tasks of revision 2025-11-25 with the TypeScript SDK 1.x.
package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/tasks"
)

var silent = slog.New(slog.DiscardHandler)

// statuses records the states of tasks.
type statuses struct {
	mu   sync.Mutex
	list []mcp.TaskStatus
}

func (s *statuses) add(_ context.Context, t *tasks.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, t.Status)
}

func (s *statuses) all() []mcp.TaskStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// connect connects a client that answers questions and runs tasks.
func connect(t *testing.T, to mcpclient.Endpoint, content map[string]any) (*mcpclient.Client, *statuses) {
	saw := new(statuses)
	c, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{
		Revision: mcp.Revision20251125, Tasks: true, OnTask: saw.add, Logger: silent,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}, nil
		},
		OnCreateMessage: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: []mcp.SamplingMessageContentBlock{mcp.Text("an old silent pond")}}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, saw
}

func call(t *testing.T, c *mcpclient.Client, tool string, arguments map[string]any) string {
	text, err := mcpclient.CallTool[string](t.Context(), c, tool, arguments)
	require.NoError(t, err)
	return text
}

// TestOurClientWithTaskServer calls the tools of an example server of the SDK, which asks questions in
// its tasks.
func TestOurClientWithTaskServer(t *testing.T) {
	server := filepath.Join(npm.Install(t, "sdk", "client.mjs"), "node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleTaskInteractive.js")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, listener.Close())
	cmd := exec.Command("node", server)
	cmd.Env = append(cmd.Environ(), "PORT="+port)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond, "the server does not listen")
	c, saw := connect(t, mcpclient.URL("http://localhost:"+port+"/mcp"), map[string]any{"confirm": true})
	require.Contains(t, call(t, c, "confirm_delete", map[string]any{"filename": "old.txt"}), "Deleted 'old.txt'")
	require.Contains(t, call(t, c, "write_haiku", map[string]any{"topic": "ponds"}), "an old silent pond")
	require.Contains(t, saw.all(), mcp.TaskStatusCompleted)
}

// TestOurClientWithEverythingServer runs the task of server-everything, and the questions that it asks
// the client as tasks.
func TestOurClientWithEverythingServer(t *testing.T) {
	server := filepath.Join(npm.Install(t, "sdk", "client.mjs"), "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	c, saw := connect(t, mcpclient.Command("node", server, "stdio"), map[string]any{"name": "Ada", "interpretation": "technical"})
	require.Contains(t, call(t, c, "simulate-research-query", map[string]any{"topic": "go", "ambiguous": true}), "Research Report: go (technical)")
	require.Contains(t, saw.all(), mcp.TaskStatusInputRequired)
	require.Equal(t, mcp.TaskStatusCompleted, saw.all()[len(saw.all())-1])
	text := call(t, c, "trigger-elicitation-request-async", nil)
	require.Contains(t, text, "[COMPLETED]")
	require.Contains(t, text, "Ada")
	text = call(t, c, "trigger-sampling-request-async", map[string]any{"prompt": "ponds"})
	require.Contains(t, text, "[COMPLETED]")
	require.Contains(t, text, "an old silent pond")
}

// ourServer returns the URL of a server whose tools run as tasks.
func ourServer(t *testing.T) string {
	s := mcpserver.New(mcp.Implementation{Name: "tasks", Version: "1"}, &mcpserver.Options{
		Logger: silent, Tasks: &tasks.Options{PollInterval: 20 * time.Millisecond},
	})
	ask := &mcp.ElicitRequestFormParams{Message: "Who?", RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "name", Schema: &mcp.StringSchema{}}},
	}}
	add := func(name string, support mcp.TaskSupport, h func(context.Context, *mcp.ServerSession) (string, error)) {
		tool := &mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: support}}
		mcpserver.AddTool(s, tool, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) { return h(ctx, s) })
	}
	add("greet", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		res, err := s.ElicitForm(ctx, ask)
		if err != nil {
			return "", err
		}
		return fmt.Sprint("Hello, ", res.Content["name"]), nil
	})
	add("ask", mcp.TaskSupportForbidden, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		res, err := tasks.Ask(ctx, s, &mcp.ElicitRequest{Params: ask})
		if err != nil {
			return "", err
		}
		return fmt.Sprint("Good evening, ", res.Content["name"]), nil
	})
	add("fail", mcp.TaskSupportRequired, func(context.Context, *mcp.ServerSession) (string, error) {
		return "", mcpserver.Errorf("the disk is full")
	})
	add("wait", mcp.TaskSupportRequired, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	h := streamable.NewHandler(s, nil)
	listener := httptest.NewServer(mcptest.TapHandler(mcptest.Fail(t), h))
	t.Cleanup(func() {
		require.NoError(t, h.Close())
		listener.Close()
	})
	return listener.URL
}

// report is what the client of the SDK prints.
type report struct {
	Declared  json.RawMessage
	Asked     string
	About     string
	Answering *mcp.Task
	Created   *mcp.Task
	Cancelled string
	Result    *mcp.CallToolResult
	Error     string
	State     *mcp.Task
	Listed    []string
}

// theirClient calls a tool with the client of the SDK.
func theirClient(t *testing.T, url string, arguments ...string) (all report) {
	dir := npm.Install(t, "sdk", "client.mjs")
	cmd := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(dir, "client.mjs"), url}, arguments...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, &log)
	for line := range strings.Lines(string(out)) {
		require.NoError(t, json.Unmarshal([]byte(line), &all), line)
	}
	return all
}

func TestTheirClientWithOurTasks(t *testing.T) {
	url := ourServer(t)
	r := theirClient(t, url, "greet")
	require.JSONEq(t, `{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`, string(r.Declared))
	require.EqualValues(t, 60_000, *r.Created.TTL)
	require.EqualValues(t, 20, *r.Created.PollInterval)
	require.Equal(t, "Who?", r.Asked)
	require.Equal(t, r.Created.TaskID, r.About)
	require.Equal(t, "Hello, Ada", mcp.TextOf(r.Result.Content))
	require.Empty(t, r.Error)
	require.Equal(t, mcp.TaskStatusCompleted, r.State.Status)
	require.Equal(t, []string{r.Created.TaskID}, r.Listed)

	r = theirClient(t, url, "fail")
	require.Equal(t, mcp.TaskStatusFailed, r.State.Status)
	require.Contains(t, r.State.StatusMessage, "the disk is full")

	r = theirClient(t, url, "wait", "cancel")
	require.Equal(t, "cancelled", r.Cancelled)
	require.Nil(t, r.Result)
	require.Contains(t, r.Error, "cancelled")
	require.Equal(t, mcp.TaskStatusCancelled, r.State.Status)
}

// TestTheirClientAnswersAsTask asks the client of the SDK a question that it answers as a task.
func TestTheirClientAnswersAsTask(t *testing.T) {
	r := theirClient(t, ourServer(t), "ask", "plain")
	require.Equal(t, "Who?", r.Asked)
	require.NotNil(t, r.Answering)
	require.Equal(t, "Good evening, Ada", mcp.TextOf(r.Result.Content))
}
