package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// sessionTasks are options for a client of the revision in which the client decides what becomes a
// task.
func sessionTasks(saw *seen) *mcpclient.Options {
	return handlerOptions(mcpclient.Options{Revision: mcp.Revision20251125, Tasks: true, OnTask: saw.look})
}

// byPrincipal serves a server over HTTP. The header X-User is the principal.
func byPrincipal(s *mcpserver.Server) *streamable.Handler {
	return streamable.NewHandler(s, &streamable.Options{Logger: silent, Principal: func(r *http.Request) string { return r.Header.Get("X-User") }})
}

func TestToolThatRequiresSessionTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	job(kit, "job", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		first, err := question(ctx, s, "first")
		if err != nil {
			return "", err
		}
		second, err := question(ctx, s, "second")
		return first + second, err
	})
	for _, w := range kitEndpoints(t, kit) {
		if w.name == "command" {
			continue // has another server
		}
		t.Run(w.name, func(t *testing.T) {
			saw := &seen{first: make(chan struct{})}
			opts := sessionTasks(saw)
			if w.old {
				opts.Revision = mcp.Revision20251125
			}
			c := connect(t, w.to, opts)
			require.Equal(t, "AdaAda", callText(t, c, "job"))
			all := saw.all()
			require.Equal(t, time.Hour, all[0].TTL)
			require.Equal(t, time.Millisecond, all[0].PollInterval)
			require.WithinDuration(t, time.Now(), all[0].CreatedAt, time.Minute)
			require.Equal(t, mcp.TaskStatusCompleted, all[len(all)-1].Status)
			for _, task := range all {
				require.Equal(t, all[0].ID, task.ID)
			}
		})
	}
}

func TestCallerAsksForSessionTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	job(kit, "job", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { return "done", nil })
	job(kit, "plain", mcp.TaskSupportForbidden, func(context.Context, *mcp.ServerSession) (string, error) { return "done", nil })
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), sessionTasks(saw))
	require.Equal(t, "done", callText(t, c, "job"))
	require.Empty(t, saw.all(), "the server would also run it without a task")
	res, err := peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "job", Task: &mcp.TaskMetadata{TTL: new(int64(60_000))}})
	require.NoError(t, err)
	require.Equal(t, "done", mcp.TextOf(res.Content))
	require.Equal(t, time.Minute, saw.all()[0].TTL)
	_, err = peer.SendRequest(t.Context(), c, &mcp.CallToolRequest{Name: "plain", Task: new(mcp.TaskMetadata)})
	require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
}

func TestProgressOfSessionTaskReachesCaller(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	proceed := make(chan bool, 1)
	job(kit, "steps", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		for i := range 3 {
			if err := s.ReportProgress(ctx, peer.Progress{Progress: float64(i + 1), Message: fmt.Sprint("step ", i+1)}); err != nil {
				return "", err
			}
			<-proceed
		}
		return "done", nil
	})
	for _, w := range kitEndpoints(t, kit) {
		if w.name == "command" || w.old {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			c := connect(t, w.to, sessionTasks(&seen{first: make(chan struct{})}))
			var reports []peer.Progress
			require.Equal(t, "done", callText(t, c, "steps", peer.OnProgress(func(p peer.Progress) {
				reports = append(reports, p)
				proceed <- true
			})))
			require.Len(t, reports, 3)
			require.Equal(t, peer.Progress{Progress: 3, Message: "step 3"}, reports[2])
		})
	}
}

func TestCallerPollsSessionTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	proceed := make(chan string)
	job(kit, "render", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { return <-proceed, nil })
	client := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), sessionTasks(&seen{first: make(chan struct{})}))
	ctx := t.Context()

	created := new(mcp.CreateTaskResult)
	err := client.Call(ctx, &mcp.CallToolRequest{Name: "render", Task: new(mcp.TaskMetadata)}, created)
	require.NoError(t, err)
	id := created.Task.TaskID
	task, err := peer.SendRequest(ctx, client, &mcp.GetTaskRequest{TaskID: id})
	require.NoError(t, err)
	require.Equal(t, mcp.TaskStatusWorking, task.Status)
	proceed <- "done"
	result := new(mcp.CallToolResult)
	err = client.Call(ctx, &mcp.GetTaskPayloadRequest{TaskID: id}, result)
	require.NoError(t, err)
	require.Equal(t, "done", mcp.TextOf(result.Content))
}

// closesResults closes the first requests for the result of a task without a response, as a proxy does
// that limits the time of requests.
func closesResults(h http.Handler, n int32) http.Handler {
	var closed atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(mcp.MethodGetTaskPayload)) && closed.Add(1) <= n {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

func TestRequestsForResultOfSessionTaskAreClosed(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	job(kit, "asks", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		return question(ctx, s, "first")
	})
	c := connect(t, validatedURL(t, closesResults(streamable.NewHandler(kit, nil), 10)), sessionTasks(&seen{first: make(chan struct{})}))
	require.Equal(t, "Ada", callText(t, c, "asks"))

	job(kit, "job", mcp.TaskSupportRequired, func(context.Context, *mcp.ServerSession) (string, error) { return "done", nil })
	c = connect(t, validatedURL(t, closesResults(streamable.NewHandler(kit, nil), 2)), sessionTasks(&seen{first: make(chan struct{})}))
	require.Equal(t, "done", callText(t, c, "job"))
	c = connect(t, validatedURL(t, closesResults(streamable.NewHandler(kit, nil), 10)), sessionTasks(&seen{first: make(chan struct{})}))
	_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
	require.Error(t, err)
}

func TestSessionTaskOfPrincipalWithoutSession(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	job(kit, "job", mcp.TaskSupportRequired, func(context.Context, *mcp.ServerSession) (string, error) { return "done", nil })
	for user, tasks := range map[string]bool{"ann": true, "": false} {
		to := validatedURL(t, streamable.NewHandler(kit, &streamable.Options{
			Logger: silent, Stateless: true, Principal: func(r *http.Request) string { return r.Header.Get("X-User") },
		}))
		to.HTTP.Header = http.Header{"X-User": {user}}
		saw := &seen{first: make(chan struct{})}
		c := connect(t, to, sessionTasks(saw))
		require.Equal(t, tasks, c.ServerCapabilities().Tasks != nil)
		require.Equal(t, "done", callText(t, c, "job"))
		require.Equal(t, tasks, len(saw.all()) > 0)
	}
}

func TestSessionTaskFails(t *testing.T) {
	leaks.Check(t)
	var answer func() (string, error)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	job(kit, "job", mcp.TaskSupportRequired, func(context.Context, *mcp.ServerSession) (string, error) { return answer() })
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedPipe(t, kit), sessionTasks(saw))

	answer = func() (string, error) { return "", mcpserver.Errorf("the disk is full") }
	_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
	failed, is := errors.AsType[*mcpclient.ToolError](err)
	require.True(t, is, "%v", err)
	require.Contains(t, failed.Text(), "the disk is full")

	answer = func() (string, error) { return "", &peer.Error{Code: -32000, Message: "no", Data: []byte(`{"a":1}`)} }
	_, err = mcpclient.CallTool[string](t.Context(), c, "job", nil)
	task, is := errors.AsType[*mcpclient.TaskError](err)
	require.True(t, is, "%v", err)
	require.Equal(t, mcp.TaskStatusFailed, task.Task.Status)
	require.EqualValues(t, -32000, peer.AsError(err).Code)
	require.JSONEq(t, `{"a":1}`, string(peer.AsError(err).Data))

	answer = func() (string, error) { panic("secret") }
	_, err = mcpclient.CallTool[string](t.Context(), c, "job", nil)
	require.EqualValues(t, mcp.CodeInternal, peer.AsError(err).Code)
	require.NotContains(t, err.Error(), "secret")
}

// waits adds a tool that requires a task and waits until its context ends.
func waits(kit *mcpserver.Server) (ended chan error) {
	ended = make(chan error, 1)
	job(kit, "waits", mcp.TaskSupportRequired, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	return ended
}

func TestAbandonedSessionTaskIsCancelled(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	ended := waits(kit)
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), sessionTasks(saw))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends at the first task
		<-saw.first
		cancel(errors.New("enough"))
	}()
	_, err := mcpclient.CallTool[string](ctx, c, "waits", nil)
	require.ErrorContains(t, err, "enough")
	require.ErrorContains(t, <-ended, "cancelled by its requester")
}

func TestSessionTaskEndsWithItsSession(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	ended := waits(kit)
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedPipe(t, kit), sessionTasks(saw))
	go func() { // ends at the first task
		<-saw.first
		c.Close()
	}()
	_, err := mcpclient.CallTool[string](t.Context(), c, "waits", nil)
	var closed *peer.ClosedError
	require.ErrorAs(t, err, &closed)
	require.Error(t, <-ended)
}

func TestExpiredSessionTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{TTL: 50 * time.Millisecond, PollInterval: time.Millisecond}})
	ended := waits(kit)
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedPipe(t, kit), sessionTasks(saw))
	_, err := mcpclient.CallTool[string](t.Context(), c, "waits", nil)
	require.NotNil(t, peer.AsError(err), "%v", err)
	require.ErrorContains(t, <-ended, "expired")
}

func TestSessionTaskOfPrincipalIsInvisibleToOthers(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	ended := waits(kit)
	to := validatedURL(t, byPrincipal(kit))
	saw := &seen{first: make(chan struct{})}
	user := func(name string) *mcpclient.Client {
		to := *to
		to.HTTP.Header = http.Header{"X-User": {name}}
		return connect(t, &to, sessionTasks(saw))
	}
	ann, again, bob := user("ann"), user("ann"), user("bob")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls sync.WaitGroup
	defer calls.Wait()
	calls.Go(func() { // ends with ctx
		_, _ = mcpclient.CallTool[string](ctx, ann, "waits", nil)
	})
	<-saw.first
	id := saw.all()[0].ID
	_, err := peer.SendRequest(t.Context(), again, &mcp.GetTaskRequest{TaskID: id})
	require.NoError(t, err, "a task belongs to its principal, in all sessions")
	for _, req := range []peer.Message{&mcp.GetTaskRequest{TaskID: id}, &mcp.CancelTaskRequest{TaskID: id}, &mcp.GetTaskPayloadRequest{TaskID: id}} {
		err := bob.Call(t.Context(), req, new(mcp.GetTaskPayloadResult))
		require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code, "%T", req)
		require.ErrorContains(t, err, fmt.Sprintf("Unknown task: %q", id))
	}
	list, err := peer.SendRequest(t.Context(), bob, new(mcp.ListTasksRequest))
	require.NoError(t, err)
	require.Empty(t, list.Tasks)
	cancel()
	<-ended
}

func TestStoredResultsOfSessionTasksAreLimitedByPrincipal(t *testing.T) {
	leaks.Check(t)
	var o mcpserver.Options
	o.Tasks = soon
	o.Stdio.JSONRPC.Budget = budget.New(&budget.Options{MaxBytes: 8 << 20})
	kit := newKit(&o)
	big := strings.Repeat("x", 3<<19)
	job(kit, "big", mcp.TaskSupportRequired, func(context.Context, *mcp.ServerSession) (string, error) { return big, nil })
	to := validatedURL(t, byPrincipal(kit))
	call := func(user string) error {
		to := *to
		to.HTTP.Header = http.Header{"X-User": {user}}
		c := connect(t, &to, sessionTasks(&seen{first: make(chan struct{})}))
		_, err := mcpclient.CallTool[string](t.Context(), c, "big", nil)
		return err
	}
	require.NoError(t, call("ann"))
	require.ErrorContains(t, call("ann"), "The result was dropped")
	require.NoError(t, call("bob"))
}

func TestResponsesToQuestionsOfSessionTasksAreRelated(t *testing.T) {
	leaks.Check(t)
	related := make(chan string, 1)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	job(kit, "asks", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Who?", RequestedSchema: mcp.RequestedSchema{
			Properties: []mcp.FormField{{Name: "name", Schema: &mcp.StringSchema{}}},
		}})
		if err != nil {
			return "", err
		}
		if res.Meta == nil {
			return "", errors.New("no metadata")
		}
		related <- string(res.Meta.Extra["io.modelcontextprotocol/related-task"])
		return "done", nil
	})
	for name, to := range map[string]mcpclient.Endpoint{"pipe": validatedPipe(t, kit), "http": validatedURL(t, streamable.NewHandler(kit, nil))} {
		t.Run(name, func(t *testing.T) {
			saw := &seen{first: make(chan struct{})}
			require.Equal(t, "done", callText(t, connect(t, to, sessionTasks(saw)), "asks"))
			require.JSONEq(t, fmt.Sprintf(`{"taskId":%q}`, saw.all()[0].ID), <-related)
		})
	}
}

func TestServerThatIgnoresTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Tasks: &mcp.ServerTasksCapability{Requests: &mcp.ServerTaskRequests{Tools: &mcp.ToolTaskRequests{Call: map[string]json.RawMessage{}}}}},
	})
	job(kit, "job", mcp.TaskSupportRequired, func(context.Context, *mcp.ServerSession) (string, error) { return "done", nil })
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedPipe(t, kit), sessionTasks(saw))
	require.Equal(t, "done", callText(t, c, "job"))
	require.Empty(t, saw.all())
}

// asksAsTask adds a tool that asks the user and the model as tasks.
func asksAsTask(kit *mcpserver.Server) {
	job(kit, "asks", mcp.TaskSupportForbidden, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		form := &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{Message: "Who?", RequestedSchema: mcp.RequestedSchema{
			Properties: []mcp.FormField{{Name: "name", Schema: &mcp.StringSchema{}}}, Required: []string{"name"},
		}}}
		who, err := tasks.Ask(ctx, s, form)
		if err != nil {
			return "", err
		}
		if who.Action != mcp.ElicitActionAccept {
			return string(who.Action), nil
		}
		praise, err := tasks.Ask(ctx, s, &mcp.CreateMessageRequest{MaxTokens: 5, Messages: []mcp.SamplingMessage{{
			Role: mcp.RoleUser, Content: []mcp.SamplingMessageContentBlock{mcp.Text("Praise")},
		}}})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(who.Content["name"], " ", praise.Content[0].(*mcp.TextContent).Text), nil
	})
}

func TestServerAsksAsTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	asksAsTask(kit)
	for _, w := range kitEndpoints(t, kit) {
		if w.name == "command" || w.old {
			continue
		}
		for _, r := range mcp.Revisions {
			if r.Revision.Index() < mcp.Revision20250618.Index() {
				continue
			}
			for _, tasks := range []bool{true, false} {
				t.Run(fmt.Sprint(r.Revision, " ", w.name, " ", tasks), func(t *testing.T) {
					c := connect(t, w.to, handlerOptions(mcpclient.Options{Revision: r.Revision, Tasks: tasks}))
					require.Equal(t, "Ada blue", callText(t, c, "asks"))
				})
			}
		}
	}
}

func TestClientRunsQuestionAsTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	answer := make(chan string)
	job(kit, "asks", mcp.TaskSupportForbidden, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		created := new(mcp.CreateTaskResult)
		req := &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{Message: "Who?", Task: &mcp.TaskMetadata{TTL: new(int64(60_000))}}}
		if err := s.Call(ctx, req, created); err != nil {
			return "", err
		}
		id := created.Task.TaskID
		list, err := peer.SendRequest(ctx, s, new(mcp.ListTasksRequest))
		if err != nil || len(list.Tasks) != 1 || list.Tasks[0].TaskID != id {
			return "", fmt.Errorf("list: %v %w", list, err)
		}
		before, err := peer.SendRequest(ctx, s, &mcp.GetTaskRequest{TaskID: id})
		if err != nil || before.TTL == nil || *before.TTL != 60_000 {
			return "", fmt.Errorf("get: %v %w", before, err)
		}
		answer <- "Ada"
		res := new(mcp.ElicitResult)
		if err := s.Call(ctx, &mcp.GetTaskPayloadRequest{TaskID: id}, res); err != nil {
			return "", err
		}
		after, err := peer.SendRequest(ctx, s, &mcp.GetTaskRequest{TaskID: id})
		if err != nil {
			return "", err
		}
		_, err = peer.SendRequest(ctx, s, &mcp.CancelTaskRequest{TaskID: id})
		return fmt.Sprint(before.Status, " ", res.Content["name"], " ", after.Status, " ", peer.AsError(err).Code), nil
	})
	opts := handlerOptions(mcpclient.Options{Revision: mcp.Revision20251125, Tasks: true})
	opts.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": <-answer}}, nil
	}
	for name, to := range map[string]mcpclient.Endpoint{"pipe": validatedPipe(t, kit), "http": validatedURL(t, streamable.NewHandler(kit, nil))} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, to, opts)
			text, err := mcpclient.CallTool[string](t.Context(), c, "asks", nil)
			require.NoError(t, err)
			require.Equal(t, "working Ada completed -32602", text)
		})
	}
}

// absentUser returns options of a client whose user does not respond. The first channel is closed by the
// question, and the second one receives why the question has ended.
func absentUser() (opts *mcpclient.Options, asked chan bool, ended chan error) {
	opts, asked, ended = handlerOptions(mcpclient.Options{Revision: mcp.Revision20251125, Tasks: true}), make(chan bool), make(chan error, 1)
	opts.OnElicit = func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
	return opts, asked, ended
}

func TestQuestionsOfTaskEndWithClient(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	asksAsTask(kit)
	opts, asked, ended := absentUser()
	c := connect(t, validatedPipe(t, kit), opts)
	go func() { // ends with the client
		<-asked
		c.Close()
	}()
	_, err := mcpclient.CallTool[string](t.Context(), c, "asks", nil)
	require.Error(t, err)
	require.Error(t, <-ended)
}

func TestCancelledHandlerCancelsQuestionAsTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	asksAsTask(kit)
	opts, asked, ended := absentUser()
	c := connect(t, validatedPipe(t, kit), opts)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the question was asked
		<-asked
		cancel()
	}()
	_, err := mcpclient.CallTool[string](ctx, c, "asks", nil)
	require.Error(t, err)
	require.ErrorContains(t, <-ended, "cancelled")
}

// holdingPipe is an end of a pipe that holds lines with a text back until they are released. Each
// write has complete lines.
type holdingPipe struct {
	io.ReadWriteCloser
	text     []byte
	mu       sync.Mutex // guards the fields below, and writes
	held     []byte
	released bool
}

func (p *holdingPipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(b) {
		if !p.released && bytes.Contains(line, p.text) {
			p.held = append(p.held, line...)
		} else if _, err := p.ReadWriteCloser.Write(line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (p *holdingPipe) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = true
	if len(p.held) > 0 {
		_, _ = p.ReadWriteCloser.Write(p.held)
		p.held = nil
	}
}

// lateTasks returns the endpoint of a server, and the ends of the pipe to it, which hold tasks back.
func lateTasks(t *testing.T, s *mcpserver.Server) (to mcpclient.Endpoint, client, server *holdingPipe) {
	ours, theirs := net.Pipe()
	text := []byte(`"taskId"`)
	client, server = &holdingPipe{ReadWriteCloser: ours, text: text}, &holdingPipe{ReadWriteCloser: theirs, text: text}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	serving.Go(func() { _ = s.ServeStreams(context.Background(), server, server) }) // ends with the pipe
	return mcpclient.Dial("late tasks", func(ctx context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
		return mcpclient.NewStreamConn(ctx, client, client, opts), nil
	}), client, server
}

func TestQuestionCancelledBeforeItsTaskIsKnown(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	to, client, server := lateTasks(t, kit)
	server.release()
	job(kit, "asks", mcp.TaskSupportForbidden, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		defer context.AfterFunc(ctx, client.release)()
		_, err := tasks.Ask(ctx, s, &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{Message: "Who?"}})
		return "", err
	})
	opts, asked, ended := absentUser()
	c := connect(t, to, opts)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the question was asked
		<-asked
		cancel()
	}()
	_, err := mcpclient.CallTool[string](ctx, c, "asks", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, <-ended, "cancelled")
}

func TestCallCancelledBeforeItsTaskIsKnown(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	to, client, server := lateTasks(t, kit)
	client.release()
	started, ended := make(chan bool), make(chan error, 1)
	job(kit, "waits", mcp.TaskSupportRequired, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	c := connect(t, to, sessionTasks(new(seen)))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends when the task was started
		<-started
		cancel(errors.New("enough"))
	}()
	_, err := mcpclient.CallTool[string](ctx, c, "waits", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "enough")
	server.release()
	require.ErrorContains(t, <-ended, "cancelled by its requester")
}
