package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/internal/pipes"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// job adds a tool that may run as a task.
func job(s *mcpserver.Server, name string, support mcp.TaskSupport, h func(context.Context, *mcp.ServerSession) (string, error)) {
	tool := &mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: support}}
	mcpserver.AddTool(s, tool, func(ctx context.Context, session *mcp.ServerSession, _ nothing) (string, error) {
		return h(ctx, session)
	})
}

// soon makes each call a task that does not return at once, and polls often.
var soon = &tasks.Options{StartAfter: 5 * time.Millisecond, PollInterval: time.Millisecond}

// atOnce makes each call that waits a task.
var atOnce = &tasks.Options{StartAfter: -1, PollInterval: time.Millisecond}

// seen records the states of tasks that a client receives.
type seen struct {
	mu    sync.Mutex
	tasks []*tasks.Task
	until string
	there bool
	first chan struct{} // closed at the first state with the message until
}

func (s *seen) look(_ context.Context, t *tasks.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks = append(s.tasks, t); t.StatusMessage == s.until && !s.there {
		s.there = true
		close(s.first)
	}
}

func (s *seen) all() []*tasks.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks
}

// question requests a name with its own key.
func question(ctx context.Context, s *mcp.ServerSession, key string) (string, error) {
	form := &mcp.ElicitRequestFormParams{Message: key, RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "name", Schema: &mcp.StringSchema{}}},
	}}
	res, err := s.ElicitForm(ctx, form)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(res.Content["name"]), nil
}

// TestCallWithAndWithoutTask runs the same code, which requests input, before its call becomes a task
// and as a task.
func TestCallWithAndWithoutTask(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		kit := newKit(&mcpserver.Options{Tasks: soon})
		var begun chan struct{}
		job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			first, err := question(ctx, s, "first")
			if err != nil {
				return "", err
			}
			if err := s.ReportProgress(ctx, peer.Progress{Progress: 1, Message: "half way"}); err != nil {
				return "", err
			}
			select {
			case <-begun:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			second, err := question(ctx, s, "second")
			return first + second, err
		})
		if r.Revision.Index() < mcp.Revision20250618.Index() {
			continue // the revision has no elicitation
		}
		for _, w := range kitEndpoints(t, kit) {
			if w.name == "command" || w.old && !r.Handshake {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				saw := &seen{until: "half way", first: make(chan struct{})}
				if begun = saw.first; r.Handshake {
					close(begun)
				}
				c := connect(t, w.to, handlerOptions(mcpclient.Options{Revision: r.Revision, Tasks: true, OnTask: saw.look}))
				require.Equal(t, "AdaAda", callText(t, c, "job"))
				all := saw.all()
				if r.Handshake {
					require.Empty(t, all)
					return
				}
				require.Equal(t, mcp.TaskStatusWorking, all[0].Status)
				require.True(t, saw.there)
				require.Equal(t, time.Hour, all[0].TTL)
				require.WithinDuration(t, time.Now(), all[0].CreatedAt, time.Minute)
				asked := 0
				for _, task := range all {
					if task.Status == mcp.TaskStatusInputRequired {
						asked++
						require.Len(t, task.InputRequests, 1)
					}
				}
				require.Contains(t, []int{1, 2}, asked, "a slow machine sends both requests there")
				require.Equal(t, mcp.TaskStatusCompleted, all[len(all)-1].Status)
			})
		}
	}
}

func TestFastCallIsNoTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: time.Hour}})
	job(kit, "job", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) { return question(ctx, s, "name") })
	saw := &seen{first: make(chan struct{})}
	c := connect(t, mcpclient.InProcess(kit), handlerOptions(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	require.Equal(t, "Ada", callText(t, c, "job"))
	require.Empty(t, saw.all())
}

func TestTaskResults(t *testing.T) {
	leaks.Check(t)
	empty := false
	kit := newKit(&mcpserver.Options{Tasks: atOnce, Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			reply, err := next.Handle(ctx, in)
			if empty && in.Method == mcp.MethodCallTool {
				return peer.Reply{}, nil
			}
			return reply, err
		})
	}}})
	outcome := func(h func() (*mcp.CallToolResult, error)) (*tasks.Task, error) {
		saw := &seen{first: make(chan struct{})}
		tool := &mcp.Tool{Name: "job", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}}
		kit.AddRawTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-saw.first
			return h()
		})
		c := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), handlerOptions(mcpclient.Options{Tasks: true, OnTask: saw.look}))
		_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
		all := saw.all()
		return all[len(all)-1], err
	}
	task, err := outcome(func() (*mcp.CallToolResult, error) { return nil, mcpserver.Errorf("the disk is full") })
	require.Equal(t, mcp.TaskStatusCompleted, task.Status)
	toolFailed, is := errors.AsType[*mcpclient.ToolError](err)
	require.True(t, is, "%v", err)
	require.Contains(t, toolFailed.Text(), "the disk is full")

	task, err = outcome(func() (*mcp.CallToolResult, error) {
		return nil, &peer.Error{Code: -32000, Message: "no", Data: []byte(`{"a":1}`)}
	})
	failed, is := errors.AsType[*mcpclient.TaskError](err)
	require.True(t, is, "%v", err)
	require.Equal(t, task, failed.Task)
	require.EqualError(t, failed, fmt.Sprintf("task %q failed: no (code -32000)", task.ID))
	require.EqualValues(t, -32000, peer.AsError(err).Code)
	require.JSONEq(t, `{"a":1}`, string(peer.AsError(err).Data))

	for i, h := range []func() (*mcp.CallToolResult, error){
		func() (*mcp.CallToolResult, error) { panic("secret") },
		func() (*mcp.CallToolResult, error) { goruntime.Goexit(); return nil, nil },
		func() (*mcp.CallToolResult, error) { empty = true; return mcp.TextResult(""), nil },
	} {
		task, err := outcome(h)
		require.Equal(t, mcp.TaskStatusFailed, task.Status, i)
		require.EqualValues(t, mcp.CodeInternal, peer.AsError(err).Code, i)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAbandonedTaskIsCancelled(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	ended := make(chan error, 1)
	job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	saw := &seen{first: make(chan struct{})}
	c := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), handlerOptions(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends at the first task
		<-saw.first
		cancel(errors.New("enough"))
	}()
	_, err := mcpclient.CallTool[string](ctx, c, "job", nil)
	require.ErrorContains(t, err, "enough")
	require.ErrorContains(t, <-ended, "cancelled by its client")
	id := saw.all()[0].ID
	task, err := peer.SendRequest(t.Context(), c, &tasks.GetRequest{TaskID: id})
	require.NoError(t, err)
	require.EqualValues(t, mcp.TaskStatusCancelled, task.Status)
	_, err = peer.SendRequest(t.Context(), c, &tasks.CancelRequest{TaskID: id})
	require.NoError(t, err, "cancelling a finished task is no error")
	for _, req := range []peer.Message{&tasks.GetRequest{}, &tasks.UpdateRequest{}, &tasks.CancelRequest{TaskID: "x" + id}} {
		err := c.Call(t.Context(), req, new(tasks.UpdateResult))
		require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code, "%T", req)
	}
}

func TestNoTasksWithoutExtension(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	quick := func(context.Context, *mcp.ServerSession) (string, error) {
		time.Sleep(20 * time.Millisecond)
		return "done", nil
	}
	job(kit, "optional", mcp.TaskSupportOptional, quick)
	job(kit, "required", mcp.TaskSupportRequired, quick)
	for _, r := range mcp.Revisions {
		c := connect(t, mcpclient.InProcess(kit), handlerOptions(mcpclient.Options{Revision: r.Revision}))
		require.Equal(t, "done", callText(t, c, "optional"))
		_, err := mcpclient.CallTool[string](t.Context(), c, "required", nil)
		switch {
		case r.Revision == mcp.Revision20251125:
			require.NotNil(t, peer.AsError(err))
			require.EqualValues(t, mcp.CodeMethodNotFound, peer.AsError(err).Code)
		case r.Handshake:
			require.NoError(t, err, r.Revision)
		default:
			missing, is := errors.AsType[*mcp.MissingRequiredClientCapabilityError](err)
			require.True(t, is, "%v", err)
			require.Contains(t, missing.RequiredCapabilities.Extensions, tasks.Name)
		}
		_, err = peer.SendRequest(t.Context(), c, &tasks.GetRequest{TaskID: "1"})
		require.Error(t, err)
	}
}

func TestInvisibleToolIsNoTask(t *testing.T) {
	leaks.Check(t)
	slow := func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			time.Sleep(20 * time.Millisecond)
			return next.Handle(ctx, in)
		})
	}
	kit := newKit(&mcpserver.Options{
		Tasks: soon, Middleware: []peer.Middleware{slow},
		Filter: func(_ context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool { return item.Name != "secret" },
	})
	job(kit, "secret", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) { return "done", nil })
	look := new(seen)
	c := connect(t, mcpclient.InProcess(kit), handlerOptions(mcpclient.Options{Tasks: true, OnTask: look.look}))
	for _, name := range []string{"secret", "nobody's"} {
		_, err := mcpclient.CallTool[string](t.Context(), c, name, nil)
		require.ErrorContains(t, err, fmt.Sprintf("Unknown tool: %q", name))
		require.Empty(t, look.all(), "tool %s is visible", name)
	}
}

func TestMiddlewareOfTasks(t *testing.T) {
	leaks.Check(t)
	var mu sync.Mutex
	var saw []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		saw = append(saw, what)
	}
	kit := newKit(&mcpserver.Options{
		Tasks: soon,
		Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.Method == mcp.MethodCallTool {
					note("> " + in.Method)
				}
				return next.Handle(ctx, in)
			})
		}},
		Outgoing: []func(peer.Outbound) peer.Outbound{func(out peer.Outbound) peer.Outbound { return noting{out, note} }},
	})
	type key struct{}
	job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		time.Sleep(20 * time.Millisecond)
		name, err := question(ctx, s, "name")
		return fmt.Sprint(name, ctx.Value(key{})), err
	})
	h := streamable.NewHandler(kit, nil)
	c := connect(t, validatedURL(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, " of the request")))
	})), handlerOptions(mcpclient.Options{Tasks: true}))
	require.Equal(t, "Ada of the request", callText(t, c, "job"))
	require.Equal(t, []string{"> tools/call", "< elicitation/create", "> tools/call", "< elicitation/create"}, saw)
}

// noting records sent messages.
type noting struct {
	peer.Outbound
	note func(string)
}

func (n noting) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	n.note("< " + req.Method())
	return n.Outbound.Call(ctx, req, res, opts...)
}

func TestTaskIsInvisibleToOtherCallers(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: -1, PollInterval: time.Millisecond}})
	release := make(chan struct{})
	job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-release
		return s.Transport().Principal(), nil
	})
	h := streamable.NewHandler(kit, &streamable.Options{Logger: silent, Principal: func(r *http.Request) string { return r.Header.Get("User") }})
	as := func(user string) *mcpclient.URLEndpoint {
		to := validatedURL(t, h)
		to.HTTP.Header = http.Header{"User": {user}}
		return to
	}
	saw := &seen{first: make(chan struct{})}
	ann := connect(t, as("ann"), handlerOptions(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	bob := connect(t, as("bob"), handlerOptions(mcpclient.Options{Tasks: true}))
	said := make(chan string)
	go func() { said <- callText(t, ann, "job") }() // ends with the call
	<-saw.first
	id := saw.all()[0].ID
	for _, req := range []peer.Message{&tasks.GetRequest{TaskID: id}, &tasks.UpdateRequest{TaskID: id}, &tasks.CancelRequest{TaskID: id}} {
		err := bob.Call(t.Context(), req, new(tasks.UpdateResult))
		require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code, "%T", req)
	}
	close(release)
	require.Equal(t, "ann", <-said)
}

func TestTaskHasMetadataOfCall(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: time.Hour}})
	c := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), handlerOptions(mcpclient.Options{Tasks: true}))
	var metas []mcp.RequestMeta
	for _, support := range []mcp.TaskSupport{mcp.TaskSupportForbidden, mcp.TaskSupportOptional} {
		tool := &mcp.Tool{Name: "job", Execution: &mcp.ToolExecution{TaskSupport: support}}
		kit.AddRawTool(tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			metas = append(metas, *req.Meta)
			return mcp.TextResult("done"), nil
		})
		require.Equal(t, "done", callText(t, c, "job", peer.OnProgress(func(peer.Progress) {})))
		last := &metas[len(metas)-1].ProgressToken
		require.False(t, last.IsZero(), support)
		*last = mcp.ProgressToken{}
	}
	require.Equal(t, metas[0], metas[1])
}

func TestUnknownResultTypeWithAndWithoutTasks(t *testing.T) {
	leaks.Check(t)
	kit := newKit(nil)
	kit.AddRawTool(&mcp.Tool{Name: "odd"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{ResultType: "odd"}, nil
	})
	for _, with := range []bool{false, true} {
		c := connect(t, mcpclient.InProcess(kit), &mcpclient.Options{Tasks: with})
		_, err := mcpclient.CallTool[string](t.Context(), c, "odd", nil)
		invalid, is := errors.AsType[*connection.InvalidError](err)
		require.True(t, is, "%v", err)
		require.True(t, invalid.Answer)
		require.ErrorContains(t, invalid, `type "odd"`)
	}
}

func TestUnexpectedResultType(t *testing.T) {
	for _, c := range []struct {
		answer  string
		tasks   bool
		problem string
	}{
		{`{"resultType":"task","taskId":"1","status":"working"}`, false, `type "task"`},
		{`{"resultType":"task","taskId":"1","status":"working"}`, true, `missing member`},
		{`{"resultType":"odd"}`, false, `type "odd"`},
		{`{"resultType":"odd"}`, true, `type "odd"`},
		{`{"resultType":"complete"}`, false, `missing member "content"`},
		{`{"resultType":"complete"}`, true, `missing member "content"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answer: func(m message) string {
				switch m.Method {
				case mcp.MethodDiscover:
					return ok(discovered)
				case mcp.MethodCallTool:
					return ok(c.answer)
				}
				return ""
			}}
			client := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: c.tasks})
			_, err := mcpclient.CallTool[string](t.Context(), client, "job", nil)
			require.ErrorContains(t, err, c.problem, c.answer)
			require.NoError(t, client.Close())
		})
	}
}

func TestForwardedCallAsTask(t *testing.T) {
	leaks.Check(t)
	kit, saw := newKit(&mcpserver.Options{Tasks: atOnce}), &seen{first: make(chan struct{})}
	job(kit, "job", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-saw.first
		return question(ctx, s, "name")
	})
	c := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), handlerOptions(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	res, err := c.Forward().CallTool(t.Context(), &mcp.CallToolRequest{Name: "job"})
	require.NoError(t, err)
	require.Equal(t, "Ada", mcp.TextOf(res.Content))
}

// unwritable is a result that panics when it is encoded.
type unwritable struct{}

func (*unwritable) AppendJSON([]byte, *wire.Encoder) []byte { panic("secret") }
func (*unwritable) DecodeJSON(d *wire.Decoder)              { d.Skip() }

func TestResultThatCannotBeEncodedFailsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, result := range []wire.Value{&unwritable{}, nil} {
			spoil := func(next peer.Handler) peer.Handler {
				return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
					reply, err := next.Handle(ctx, in)
					if in.Method == mcp.MethodCallTool {
						reply.Result = result
					}
					return reply, err
				})
			}
			kit := newKit(&mcpserver.Options{Tasks: soon, Middleware: []peer.Middleware{spoil}})
			job(kit, "job", mcp.TaskSupportOptional, func(context.Context, *mcp.ServerSession) (string, error) {
				time.Sleep(time.Second)
				return "", nil
			})
			c := connect(t, mcpclient.InProcess(kit), handlerOptions(mcpclient.Options{Tasks: true}))
			_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
			require.ErrorAs(t, err, new(*mcpclient.TaskError))
			require.EqualValues(t, mcp.CodeInternal, peer.AsError(err).Code)
			require.NoError(t, c.Close())
		}
	})
}

// counted counts sent messages by method.
type counted struct {
	peer.Outbound
	mu  *sync.Mutex
	all map[string]int
}

func (c counted) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	c.mu.Lock()
	c.all[n.Method()]++
	c.mu.Unlock()
	return c.Outbound.Notify(ctx, n, opts...)
}

func TestMessagesOfTaskPassOutgoing(t *testing.T) {
	leaks.Check(t)
	way := counted{mu: new(sync.Mutex), all: make(map[string]int)}
	outgoing := func(out peer.Outbound) peer.Outbound { return counted{out, way.mu, way.all} }
	kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: time.Hour}, Outgoing: []func(peer.Outbound) peer.Outbound{outgoing}})
	job(kit, "job", mcp.TaskSupportOptional, reports)
	hear := func(context.Context, *mcp.LoggingMessageNotification) error { return nil }
	for _, to := range []mcpclient.Endpoint{mcpclient.InProcess(kit), validatedURL(t, streamable.NewHandler(kit, nil))} {
		c := connect(t, to, handlerOptions(mcpclient.Options{Tasks: true, OnLog: hear}))
		for _, tool := range []string{"report", "job"} {
			clear(way.all)
			require.Equal(t, "reported", callText(t, c, tool, peer.OnProgress(func(peer.Progress) {})))
			require.Equal(t, map[string]int{mcp.MethodProgress: 3, mcp.MethodLoggingMessage: 1}, way.all, tool)
		}
	}
}

func TestInputRequestsOfTaskStayOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kit := newKit(&mcpserver.Options{Tasks: soon})
		job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			size, err := mcpserver.Once(ctx, "size", func(context.Context, string) (int, error) {
				time.Sleep(time.Second)
				return 7, nil
			})
			if err != nil {
				return "", err
			}
			name, err := question(ctx, s, "name")
			return fmt.Sprint(name, size), err
		})
		opts := handlerOptions(mcpclient.Options{Tasks: true})
		opts.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			time.Sleep(50 * time.Minute)
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"name": "Ada"}}, nil
		}
		c := connect(t, mcpclient.InProcess(kit), opts)
		require.Equal(t, "Ada7", callText(t, c, "job"))
		require.NoError(t, c.Close())
		require.NoError(t, kit.Shutdown(t.Context()))
	})
}

func TestCallCancelledBeforeItIsATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: time.Hour}})
		over := false
		job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // cleans up
			over = true
			return "", context.Cause(ctx)
		})
		c := connect(t, mcpclient.InProcess(kit), handlerOptions(mcpclient.Options{Tasks: true}))
		_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil, peer.WithTimeout(time.Second))
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		require.NoError(t, kit.Shutdown(t.Context()))
		require.True(t, over)
		require.NoError(t, c.Close())
	})
}

func TestForwardWaitsForTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: -1, PollInterval: time.Millisecond}})
	saw := &seen{until: "begun", first: make(chan struct{})}
	job(kit, "job", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		err := s.ReportProgress(ctx, peer.Progress{Progress: 1, Message: "begun"})
		<-saw.first
		return "done", err
	})
	upstream := connect(t, validatedURL(t, streamable.NewHandler(kit, nil)), &mcpclient.Options{Tasks: true, OnTask: saw.look})
	c := connect(t, validatedURL(t, gateway(upstream)), nil)
	require.Equal(t, "done", callText(t, c, "job"))
}

// lasting returns a server that responds to a call with a task. Polls return the given states in
// order.
func lasting(created string, looks ...string) *script {
	const meant = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`
	task := func(kind, members string) string {
		return ok(`{"resultType":"` + kind + `","taskId":"1","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z",` + members + `}`)
	}
	return &script{answer: func(m message) string {
		switch m.Method {
		case mcp.MethodDiscover:
			return ok(meant)
		case mcp.MethodCallTool:
			return task("task", created)
		case tasks.MethodGet:
			look := looks[0]
			if len(looks) > 1 {
				looks = looks[1:]
			}
			return task("complete", look)
		}
		return ok(`{"resultType":"complete"}`)
	}}
}

const done = `"status":"completed","ttlMs":null,"result":{"content":[{"type":"text","text":"done"}]}`

func TestInputRequestOfTaskIsHandledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const open = `"status":"input_required","ttlMs":null,"inputRequests":{"a":{"method":"roots/list"}}`
		const more = `"status":"input_required","ttlMs":null,"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}`
		s := lasting(`"status":"working","ttlMs":null`, open, open, open, more, more, done)
		asked := 0
		c := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: true, OnListRoots: func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
			asked++
			return &mcp.ListRootsResult{Roots: []mcp.Root{}}, nil
		}})
		require.Equal(t, "done", callText(t, c, "job"))
		require.Equal(t, 2, asked)
		var answers []string
		for _, m := range s.messages() {
			if m.Method == tasks.MethodUpdate {
				answers = append(answers, string(m.Params["inputResponses"]))
			}
		}
		require.Equal(t, []string{`{"a":{"roots":[]}}`, `{"b":{"roots":[]}}`}, answers)
		require.NoError(t, c.Close())
	})
}

func TestLostInputResponseIsSentAgain(t *testing.T) {
	for _, lost := range []int{1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			const open = `"status":"input_required","ttlMs":null,"inputRequests":{"a":{"method":"roots/list"}}`
			s := lasting(`"status":"working","ttlMs":null`, open, done)
			answer, updates, asked := s.answer, 0, 0
			s.answer = func(m message) string {
				if m.Method == tasks.MethodUpdate {
					if updates++; updates <= lost {
						return ""
					}
				}
				return answer(m)
			}
			c := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: true, OnListRoots: func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
				asked++
				return &mcp.ListRootsResult{Roots: []mcp.Root{}}, nil
			}})
			text, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
			require.Equal(t, 1, asked)
			if lost > 3 {
				require.ErrorAs(t, err, new(*peer.TimeoutError))
				synctest.Wait()
				require.Contains(t, s.methods(), tasks.MethodCancel)
			} else {
				require.NoError(t, err)
				require.Equal(t, "done", text)
			}
			require.NoError(t, c.Close())
		})
	}
}

func TestCloseEndsTaskCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lasting(`"status":"working","ttlMs":null,"pollIntervalMs":60000`, `"status":"working","ttlMs":null`)
		saw := make(chan struct{}, 9)
		c := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: true, OnTask: func(context.Context, *tasks.Task) { saw <- struct{}{} }})
		go func() { // ends with the client
			<-saw
			_ = c.Close()
		}()
		begun := time.Now()
		_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.Zero(t, time.Since(begun))
	})
}

func TestTaskFinishedAtCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lasting(`"status":"completed","ttlMs":null`, done)
		c := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: true})
		require.Equal(t, "done", callText(t, c, "job"))
		require.NoError(t, c.Close())
	})
}

func TestInvalidTaskResult(t *testing.T) {
	for result, problem := range map[string]string{
		`"result":{"resultType":"input_required","inputRequests":{},"content":[]}`: `type "input_required"`,
		`"result":{"resultType":"news","content":[]}`:                              `type "news"`,
		`"result":{"content":[]},"taskId":"2"`:                                     `about task "2", not "1"`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := lasting(`"status":"working","ttlMs":null`, `"status":"completed","ttlMs":null,`+result)
			answer := s.answer
			s.answer = func(m message) string {
				text := answer(m)
				if strings.Contains(text, `"taskId":"2"`) {
					text = strings.Replace(text, `"taskId":"1",`, "", 1)
				}
				return text
			}
			c := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: true})
			_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
			require.ErrorAs(t, err, new(*mcpclient.TaskError))
			require.ErrorContains(t, err, problem)
			require.NoError(t, c.Close())
		})
	}
}

func TestTaskWithUnusualTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const longest = 9223372036854 * time.Millisecond
		for members, want := range map[string]tasks.Task{
			`"ttlMs":9007199254740991`:                     {TTL: longest},
			`"ttlMs":1e30`:                                 {TTL: -1},
			`"ttlMs":0.5`:                                  {TTL: -1},
			`"ttlMs":null,"pollIntervalMs":null`:           {TTL: -1},
			`"pollIntervalMs":1500.0`:                      {TTL: -1, PollInterval: 1500 * time.Millisecond},
			`"ttlMs":5,"pollIntervalMs":-5`:                {TTL: 5 * time.Millisecond},
			`"ttlMs":5,"pollIntervalMs":99999999999999999`: {TTL: 5 * time.Millisecond, PollInterval: longest},
		} {
			var first *tasks.Task
			s := lasting(`"status":"cancelled",`+members, `"status":"cancelled",`+members)
			c := connect(t, s.endpoint(t), &mcpclient.Options{Tasks: true, OnTask: func(_ context.Context, t *tasks.Task) { first = t }})
			_, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
			require.ErrorAs(t, err, new(*mcpclient.TaskError), members)
			require.Equal(t, want.TTL, first.TTL, members)
			require.Equal(t, want.PollInterval, first.PollInterval, members)
			require.NoError(t, c.Close())
		}
	})
}

// outage is a handler that responds with an error to requests for tasks, as a proxy does whose server is
// being replaced.
type outage struct {
	http.Handler
	status int
	until  time.Time // zero if it does not end
	after  time.Time // when it begins
	failed atomic.Int64
}

// ServeHTTP implements [http.Handler].
func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	now := time.Now()
	if !bytes.Contains(body, []byte(`"method":"tasks/`)) || now.Before(o.after) || !o.until.IsZero() && now.After(o.until) {
		o.Handler.ServeHTTP(w, r)
		return
	}
	o.failed.Add(1)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(o.status)
	fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"The server is gone."}}`)
}

func TestTaskOutlivesAnOutage(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		for _, row := range []struct {
			status   int
			length   time.Duration // of the outage; 0 if it does not end
			succeeds bool
		}{
			{http.StatusBadGateway, time.Minute, true},
			{http.StatusServiceUnavailable, time.Minute, true},
			{http.StatusGatewayTimeout, time.Minute, true},
			{http.StatusBadGateway, 0, false},
			{http.StatusBadRequest, time.Minute, false},
		} {
			synctest.Test(t, func(t *testing.T) {
				s := newKit(&mcpserver.Options{Tasks: &tasks.Options{StartAfter: -1, PollInterval: time.Second}})
				job(s, "job", mcp.TaskSupportRequired, func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
					return "done", sleepFor(ctx, 20*time.Second)
				})
				begins := time.Now().Add(10 * time.Second)
				o := &outage{Handler: streamable.NewHandler(s, &streamable.Options{Hosts: []string{"*"}}), status: row.status, after: begins}
				if row.length > 0 {
					o.until = begins.Add(row.length)
				}
				network := pipes.New()
				web := &http.Server{Handler: o}
				go web.Serve(network) // ends with Close
				transport := &http.Transport{DialContext: network.Dial}
				to := mcpclient.URL("http://server/mcp")
				to.HTTP.HTTPClient = &http.Client{Transport: transport}
				c := connect(t, to, &mcpclient.Options{Tasks: true, Revision: r})
				text, err := mcpclient.CallTool[string](t.Context(), c, "job", nil)
				if row.succeeds {
					require.NoError(t, err)
					require.Equal(t, "done", text)
					require.Less(t, o.failed.Load(), int64(20), "the delay grows")
				} else {
					require.ErrorAs(t, err, new(*mcpclient.TaskError))
					require.Less(t, time.Since(begins), 3*time.Minute)
				}
				require.NoError(t, c.Close())
				transport.CloseIdleConnections()
				require.NoError(t, s.Shutdown(t.Context()))
				require.NoError(t, web.Close())
			})
		}
	}
}

// sleepFor waits for a time, or until ctx ends.
func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
