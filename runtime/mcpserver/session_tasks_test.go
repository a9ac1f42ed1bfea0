package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// withTasks is the revision in which the sender of a call decides whether it becomes a task.
const withTasks = "2025-11-25"

// taskServer returns a server whose tool "wait" returns when a value is sent, and whose context
// ends with the cause that is received.
func taskServer(o *tasks.Options) (s *mcpserver.Server, proceed chan string, ended chan error) {
	s = mcpserver.New(info, &mcpserver.Options{Tasks: o, PageSize: 2})
	proceed, ended = make(chan string), make(chan error, 1)
	addTask(s, "wait", mcp.TaskSupportOptional, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		select {
		case text := <-proceed:
			return text, nil
		case <-ctx.Done():
			select {
			case ended <- context.Cause(ctx):
			default: // the test is interested in the first task
			}
			return "", context.Cause(ctx)
		}
	})
	return s, proceed, ended
}

func addTask(s *mcpserver.Server, name string, support mcp.TaskSupport, h func(context.Context, *mcp.ServerSession) (string, error)) {
	tool := &mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: support}}
	mcpserver.AddTool(s, tool, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		return h(ctx, session)
	})
}

// begin calls a tool as a task and returns the task.
func (c *client) begin(tool, task string) map[string]any {
	c.t.Helper()
	return c.call("tools/call", fmt.Sprintf(`{"name":%q,"task":%s}`, tool, task))["task"].(map[string]any)
}

// of returns the params of a request about a task.
func of(task map[string]any) string { return fmt.Sprintf(`{"taskId":%q}`, task["taskId"]) }

func relatedTask(of map[string]any) any {
	meta, _ := of["_meta"].(map[string]any)
	related, _ := meta["io.modelcontextprotocol/related-task"].(map[string]any)
	return related["taskId"]
}

func TestSessionTasksAreDeclaredInTheirRevision(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		s, _, _ := taskServer(&tasks.Options{})
		c := dial(t, s, revision)
		var caps map[string]any
		if handshakes(revision) {
			res := c.call("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, revision))
			caps = res["capabilities"].(map[string]any)
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		} else {
			caps = c.call("server/discover", `{}`)["capabilities"].(map[string]any)
		}
		tool := c.call("tools/list", `{}`)["tools"].([]any)[0].(map[string]any)
		if revision != withTasks {
			require.NotContains(t, caps, "tasks")
			require.NotContains(t, tool, "execution")
			return
		}
		require.Equal(t, map[string]any{
			"list": map[string]any{}, "cancel": map[string]any{},
			"requests": map[string]any{"tools": map[string]any{"call": map[string]any{}}},
		}, caps["tasks"])
		require.Equal(t, map[string]any{"taskSupport": "optional"}, tool["execution"])
	})
}

func TestSessionTasksAreNotDeclaredWithoutTools(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{}})
	addTask(s, "plain", mcp.TaskSupportForbidden, nilTool)
	c := dial(t, s, withTasks)
	res := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	require.NotContains(t, res["capabilities"], "tasks")
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Contains(t, c.call("tools/call", `{"name":"plain","task":{}}`), "content", "undeclared tasks are ignored")
}

func nilTool(context.Context, *mcp.ServerSession) (string, error) { return "", nil }

func TestSessionTask(t *testing.T) {
	s, proceed, _ := taskServer(&tasks.Options{PollInterval: 30 * time.Millisecond})
	c := connect(t, s, withTasks)
	task := c.begin("wait", `{"ttl":60000}`)
	require.Equal(t, "working", task["status"])
	require.EqualValues(t, 60000, task["ttl"])
	require.EqualValues(t, 30, task["pollInterval"])
	got := c.call("tasks/get", of(task))
	require.Equal(t, "working", got["status"])
	require.NotContains(t, got, "_meta")
	require.Equal(t, task["createdAt"], got["createdAt"])

	id := c.start("tasks/result", of(task))
	proceed <- "done"
	var notified string
	for {
		m := c.receive()
		if m.Method == "notifications/tasks/status" {
			var n struct{ Status, TaskID string }
			require.NoError(t, json.Unmarshal(m.Params, &n))
			require.Equal(t, task["taskId"], n.TaskID)
			notified = n.Status
		}
		if string(m.ID) == fmt.Sprint(id) {
			var res map[string]any
			require.NoError(t, json.Unmarshal(m.Result, &res))
			require.Equal(t, "done", text(t, res))
			require.Equal(t, task["taskId"], relatedTask(res))
			break
		}
	}
	if notified == "" {
		require.Equal(t, "notifications/tasks/status", c.receive().Method)
	}
	require.Equal(t, "completed", c.call("tasks/get", of(task))["status"])
	require.Equal(t, "done", text(t, c.call("tasks/result", of(task))), "the result is kept")
	c.refused("tasks/cancel", of(task), mcp.CodeInvalidParams)
	require.Equal(t, "completed", c.call("tasks/get", of(task))["status"])
}

func TestSessionTaskTTLIsBounded(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{TTL: time.Minute})
	c := connect(t, s, withTasks)
	for ttl, want := range map[string]any{
		`{}`: 60000., `{"ttl":5000}`: 5000., `{"ttl":9223372036854775807}`: 60000., `{"ttl":0}`: 1000., `{"ttl":-5}`: 1000.,
	} {
		require.Equal(t, want, c.begin("wait", ttl)["ttl"], ttl)
	}
	unlimited, _, _ := taskServer(&tasks.Options{TTL: -1})
	c = connect(t, unlimited, withTasks)
	require.Nil(t, c.begin("wait", `{}`)["ttl"])
	require.EqualValues(t, 5000, c.begin("wait", `{"ttl":5000}`)["ttl"])
}

func TestSessionTaskSupport(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{})
	addTask(s, "required", mcp.TaskSupportRequired, nilTool)
	addTask(s, "forbidden", mcp.TaskSupportForbidden, nilTool)
	addTask(s, "optional", mcp.TaskSupportOptional, nilTool)
	c := connect(t, s, withTasks)
	c.refused("tools/call", `{"name":"required"}`, mcp.CodeMethodNotFound)
	c.refused("tools/call", `{"name":"forbidden","task":{}}`, mcp.CodeMethodNotFound)
	c.refused("tools/call", `{"name":"unknown","task":{}}`, mcp.CodeInvalidParams)
	c.call("tools/call", `{"name":"optional"}`)
	c.call("tools/call", `{"name":"forbidden"}`)
	require.Contains(t, c.call("tools/call", `{"name":"required","task":{}}`), "task")

	older := connect(t, s, "2025-06-18")
	older.call("tools/call", `{"name":"required"}`)
	older.call("tools/call", `{"name":"optional","task":{}}`)
}

func TestFailedSessionTasks(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{})
	addTask(s, "error", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) {
		return "", mcpserver.Errorf("no paper")
	})
	addTask(s, "protocol", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) {
		return "", &peer.Error{Code: 7, Message: "seven"}
	})
	addTask(s, "panic", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { panic("oh") })
	c := connect(t, s, withTasks)

	task := c.begin("error", `{}`)
	res := c.call("tasks/result", of(task))
	require.Equal(t, true, res["isError"])
	require.Equal(t, "no paper", text(t, res))
	got := c.call("tasks/get", of(task))
	require.Equal(t, "failed", got["status"])
	require.Equal(t, "no paper", got["statusMessage"])

	task = c.begin("protocol", `{}`)
	require.Equal(t, "seven", c.refused("tasks/result", of(task), 7).Error.Message)
	require.Equal(t, "failed", c.call("tasks/get", of(task))["status"])

	task = c.begin("panic", `{}`)
	require.NotContains(t, c.refused("tasks/result", of(task), mcp.CodeInternal).Error.Message, "oh")
}

func TestCancelledSessionTask(t *testing.T) {
	s, _, ended := taskServer(&tasks.Options{})
	c := connect(t, s, withTasks)
	task := c.begin("wait", `{}`)
	id := c.start("tasks/result", of(task))
	require.Equal(t, "cancelled", c.call("tasks/cancel", of(task))["status"])
	require.ErrorContains(t, <-ended, "cancelled by its requester")
	_ = id
	c.refused("tasks/result", of(task), mcp.CodeInvalidParams)
	c.refused("tasks/cancel", of(task), mcp.CodeInvalidParams)
	require.Equal(t, "cancelled", c.call("tasks/get", of(task))["status"])
}

func TestSessionTasksAreListedInOrder(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{})
	c := connect(t, s, withTasks)
	require.Equal(t, []any{}, c.call("tasks/list", `{}`)["tasks"])
	var want, have []any
	for range 5 {
		want = append(want, c.begin("wait", `{}`)["taskId"])
	}
	params, pages := `{}`, 0
	for {
		res := c.call("tasks/list", params)
		pages++
		for _, task := range res["tasks"].([]any) {
			have = append(have, task.(map[string]any)["taskId"])
		}
		if res["nextCursor"] == nil {
			break
		}
		params = fmt.Sprintf(`{"cursor":%q}`, res["nextCursor"])
	}
	require.Equal(t, want, have)
	require.Equal(t, 3, pages)
	c.refused("tasks/list", `{"cursor":"?"}`, mcp.CodeInvalidParams)
}

func TestSessionTasksBelongToTheirSession(t *testing.T) {
	s, _, ended := taskServer(&tasks.Options{})
	c, other := connect(t, s, withTasks), connect(t, s, withTasks)
	task := c.begin("wait", `{}`)
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		other.refused(method, of(task), mcp.CodeInvalidParams)
	}
	require.Empty(t, other.call("tasks/list", `{}`)["tasks"])
	require.Equal(t, "working", c.call("tasks/get", of(task))["status"])
	require.NoError(t, c.conn.Close())
	require.ErrorContains(t, <-ended, "session of the task has ended")
}

func TestExpiredSessionTask(t *testing.T) {
	s, _, ended := taskServer(&tasks.Options{TTL: 20 * time.Millisecond})
	c := connect(t, s, withTasks)
	task := c.begin("wait", `{}`)
	c.refused("tasks/result", of(task), mcp.CodeInvalidParams)
	require.ErrorContains(t, <-ended, "expired")
	c.refused("tasks/get", of(task), mcp.CodeInvalidParams)
}

func TestSessionTasksAreLimited(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{MaxTasksPerPrincipal: 2})
	c := connect(t, s, withTasks)
	c.begin("wait", `{}`)
	c.begin("wait", `{}`)
	c.refused("tools/call", `{"name":"wait","task":{}}`, mcp.CodeInternal)
	connect(t, s, withTasks).begin("wait", `{}`)
}

// stuckServer returns a server with a tool whose handler ignores its context.
func stuckServer(t *testing.T, o *tasks.Options) (s *mcpserver.Server, proceed chan string) {
	s, proceed = mcpserver.New(info, &mcpserver.Options{Tasks: o}), make(chan string)
	addTask(s, "stuck", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { return <-proceed, nil })
	t.Cleanup(func() { close(proceed) })
	return s, proceed
}

func TestStuckHandlersOfSessionTasksAreCounted(t *testing.T) {
	const stuck = `{"name":"stuck","task":{}}`
	t.Run("cancelled", func(t *testing.T) {
		s, proceed := stuckServer(t, &tasks.Options{MaxTasksPerPrincipal: 1})
		c := connect(t, s, withTasks)
		first := c.begin("stuck", `{}`)
		c.call("tasks/cancel", of(first))
		c.refused("tools/call", stuck, mcp.CodeInternal)
		require.Equal(t, "cancelled", c.call("tasks/get", of(first))["status"])
		proceed <- "late"
		c.untilAccepted(stuck)
		c.refused("tasks/get", of(first), mcp.CodeInvalidParams)
	})
	t.Run("expired", func(t *testing.T) {
		s, proceed := stuckServer(t, &tasks.Options{MaxTasksPerPrincipal: 1, TTL: time.Millisecond})
		c := connect(t, s, withTasks)
		c.refused("tasks/result", of(c.begin("stuck", `{}`)), mcp.CodeInvalidParams) // when it has expired
		c.refused("tools/call", stuck, mcp.CodeInternal)
		proceed <- "late"
		c.untilAccepted(stuck)
	})
}

// untilAccepted repeats a call as a task until the server accepts it.
func (c *client) untilAccepted(params string) {
	c.t.Helper()
	for {
		id := c.start("tools/call", params)
		m := c.receive()
		for string(m.ID) != fmt.Sprint(id) {
			m = c.receive()
		}
		if m.Error == nil {
			return
		}
	}
}

func TestDeliveredSessionTasksMakeRoom(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{Tasks: &tasks.Options{MaxTasksPerPrincipal: 2}})
	addTask(s, "quick", mcp.TaskSupportRequired, nilTool)
	c := connect(t, s, withTasks)
	unread := c.begin("quick", `{}`)
	var last map[string]any
	for range 10 {
		last = c.begin("quick", `{}`)
		c.call("tasks/result", of(last))
	}
	c.call("tasks/get", of(last))
	require.Len(t, c.call("tasks/list", `{}`)["tasks"], 2)
	c.call("tasks/result", of(unread))
}

func TestTenThousandSessionTasks(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{MaxTasks: -1, MaxTasksPerPrincipal: -1})
	c := connect(t, s, withTasks)
	const n = 10_000
	for range n {
		c.begin("wait", `{}`)
	}
	require.NotNil(t, c.call("tasks/list", `{}`)["nextCursor"])
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, s.Shutdown(ctx))
}

// answer responds to the next request of the server, which is related to a task.
func (c *client) answer(task map[string]any, result string) {
	c.t.Helper()
	for {
		m := c.receive()
		if m.ID == nil {
			continue
		}
		require.Equal(c.t, "elicitation/create", m.Method)
		var params map[string]any
		require.NoError(c.t, json.Unmarshal(m.Params, &params))
		require.Equal(c.t, task["taskId"], relatedTask(params))
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
		return
	}
}

func askName(ctx context.Context, s *mcp.ServerSession) (string, error) {
	res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "name?", RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "name", Schema: &mcp.StringSchema{}}},
	}})
	if err != nil {
		return "", err
	}
	return fmt.Sprint("hello ", res.Content["name"]), nil
}

func TestSessionTaskAsksQuestions(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{})
	addTask(s, "ask", mcp.TaskSupportRequired, askName)
	c := dial(t, s, withTasks)
	c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	task := c.begin("ask", `{}`)
	for c.call("tasks/get", of(task))["status"] != "input_required" {
	}
	lost := c.start("tasks/result", of(task))
	c.question()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, lost))
	id := c.start("tasks/result", of(task))
	c.answer(task, `{"action":"accept","content":{"name":"Ada"}}`)
	for {
		if m := c.receive(); string(m.ID) == fmt.Sprint(id) {
			var res map[string]any
			require.NoError(t, json.Unmarshal(m.Result, &res))
			require.Equal(t, "hello Ada", text(t, res))
			break
		}
	}
	require.Equal(t, "completed", c.call("tasks/get", of(task))["status"])
}

func TestLatestRequestForResultReceivesQuestions(t *testing.T) {
	s, _, _ := taskServer(&tasks.Options{})
	addTask(s, "ask", mcp.TaskSupportRequired, askName)
	c := dial(t, s, withTasks)
	c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	task := c.begin("ask", `{}`)
	first := c.start("tasks/result", of(task))
	asked := c.question()
	second := c.start("tasks/result", of(task))
	c.cancelled(asked)
	asked = c.question()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, second))
	c.cancelled(asked)
	asked = c.question() // of the first request
	third := c.start("tasks/result", of(task))
	c.cancelled(asked)
	c.answer(task, `{"action":"accept","content":{"name":"Ada"}}`)
	for got := map[string]bool{}; !got[fmt.Sprint(first)] || !got[fmt.Sprint(third)]; {
		m := c.receive()
		if m.Result != nil {
			require.Contains(t, string(m.Result), "hello Ada")
			got[string(m.ID)] = true
		}
	}
}

// question returns the id of the next question of the server.
func (c *client) question() string {
	c.t.Helper()
	m := c.receive()
	for m.Method != "elicitation/create" {
		m = c.receive()
	}
	return string(m.ID)
}

// cancelled receives messages until the server has cancelled a question.
func (c *client) cancelled(id string) {
	c.t.Helper()
	m := c.receive()
	for m.Method != "notifications/cancelled" {
		m = c.receive()
	}
	require.Contains(c.t, string(m.Params), fmt.Sprintf(`"requestId":%s`, id))
}

func TestProgressOfSessionTask(t *testing.T) {
	s, proceed, _ := taskServer(&tasks.Options{})
	reported := make(chan error, 2)
	addTask(s, "steps", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-proceed // the response with the task has been received
		reported <- s.ReportProgress(ctx, peer.Progress{Progress: 1, Message: "half way"})
		return <-proceed, nil
	})
	c := connect(t, s, withTasks)
	task := c.call("tools/call", `{"name":"steps","task":{},"_meta":{"progressToken":"p"}}`)["task"].(map[string]any)
	proceed <- ""
	m := c.receive()
	for m.Method != "notifications/progress" {
		m = c.receive()
	}
	var params map[string]any
	require.NoError(t, json.Unmarshal(m.Params, &params))
	require.Equal(t, "p", params["progressToken"])
	require.Equal(t, task["taskId"], relatedTask(params))
	require.NoError(t, <-reported)
	require.Equal(t, "half way", c.call("tasks/get", of(task))["statusMessage"])
	proceed <- "done"
	require.Equal(t, "done", text(t, c.call("tasks/result", of(task))))
}

func TestProgramHandlesTasksItself(t *testing.T) {
	s := mcpserver.New(info, &mcpserver.Options{
		Tasks: &tasks.Options{}, Capabilities: mcp.ServerCapabilities{Tasks: &mcp.ServerTasksCapability{}},
	})
	mcpserver.Handle(s, func(context.Context, *mcp.GetTaskRequest) (*mcp.GetTaskResult, error) {
		return nil, errors.New("own handler")
	})
	connect(t, s, withTasks).refused("tasks/get", `{"taskId":"x"}`, mcp.CodeInternal)
}

func TestSessionTasksKeepToBudget(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: 4 << 20})
	var o mcpserver.Options
	o.Tasks = &tasks.Options{}
	o.Stdio.JSONRPC.Budget = b
	s := mcpserver.New(info, &o)
	addTask(s, "big", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { return strings.Repeat("x", 4<<20), nil })
	addTask(s, "small", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { return strings.Repeat("x", 1<<20), nil })
	c := connect(t, s, withTasks)
	small := c.begin("small", `{}`)
	require.Contains(t, fmt.Sprint(c.call("tasks/result", of(small))["content"]), "xxx")
	require.Greater(t, b.Held(), 1<<20)
	big := c.begin("big", `{}`)
	require.Contains(t, c.refused("tasks/result", of(big), mcp.CodeInternal).Error.Message, "too many bytes are stored")
	require.NoError(t, s.Shutdown(t.Context()))
	// The bytes of the last response are released after the client has read it.
	require.Eventually(t, func() bool { return b.Held() == 0 }, 10*time.Second, time.Millisecond)
}
