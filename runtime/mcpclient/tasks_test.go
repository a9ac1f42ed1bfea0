package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// job is a tool that may go on as a task, and what happens in it.
func job(s *mcpserver.Server, name string, support mcp.TaskSupport, h func(context.Context, *mcp.ServerSession) (string, error)) {
	tool := &mcp.Tool{Name: name, Execution: &mcp.ToolExecution{TaskSupport: support}}
	mcpserver.AddTool(s, tool, func(ctx context.Context, session *mcp.ServerSession, _ nothing) (string, error) {
		return h(ctx, session)
	})
}

// soon has every call become a task that does not return at once, and looks often.
var soon = &mcpserver.TaskOptions{After: 5 * time.Millisecond, Poll: time.Millisecond}

// atOnce has every call become a task that waits for one.
var atOnce = &mcpserver.TaskOptions{After: -1, Poll: time.Millisecond}

// seen are the tasks that a client has looked at.
type seen struct {
	mu    sync.Mutex
	tasks []*tasks.Task
	until string
	there bool
	first chan struct{} // closed at the first one whose message is until
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

// question asks for a name, under a key of its own.
func question(ctx context.Context, s *mcp.ServerSession, key string) (string, error) {
	form := &mcp.ElicitRequestFormParams{Message: key, RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "name", Value: &mcp.StringSchema{}}},
	}}
	res, err := s.ElicitForm(ctx, form)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(res.Content["name"]), nil
}

// TestACallIsTheSameWhetherItGoesOnAsATaskOrNot is straight-line code that asks
// before its call becomes a task, and as one.
func TestACallIsTheSameWhetherItGoesOnAsATaskOrNot(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		kit := newKit(&mcpserver.Options{Tasks: soon})
		var begun chan struct{}
		job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			first, err := question(ctx, s, "first")
			if err != nil {
				return "", err
			}
			if err := s.ReportProgress(ctx, peer.Progress{Done: 1, Message: "half way"}); err != nil {
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
			continue // nobody can be asked
		}
		for _, w := range kitWays(t, kit) {
			if w.name == "command" || w.old && !r.Handshake {
				continue
			}
			t.Run(r.Revision.String()+" "+w.name, func(t *testing.T) {
				saw := &seen{until: "half way", first: make(chan struct{})}
				if begun = saw.first; r.Handshake {
					close(begun)
				}
				c := connect(t, w.to, ada(mcpclient.Options{Revision: r.Revision, Tasks: true, OnTask: saw.look}))
				require.Equal(t, "AdaAda", says(t, c, "job"))
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
				require.Contains(t, []int{1, 2}, asked, "a slow machine asks both there")
				require.Equal(t, mcp.TaskStatusCompleted, all[len(all)-1].Status)
			})
		}
	}
}

func TestACallThatReturnsInTimeIsNoTask(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &mcpserver.TaskOptions{After: time.Hour}})
	job(kit, "job", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) { return question(ctx, s, "name") })
	saw := &seen{first: make(chan struct{})}
	c := connect(t, mcpclient.InProcess(kit), ada(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	require.Equal(t, "Ada", says(t, c, "job"))
	require.Empty(t, saw.all())
}

func TestATaskEndsAsItsFunctionDoes(t *testing.T) {
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
		c := connect(t, judgedURL(t, kit.Handler(nil)), ada(mcpclient.Options{Tasks: true, OnTask: saw.look}))
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

func TestATaskThatNobodyWaitsForIsGivenUp(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	ended := make(chan error, 1)
	job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	saw := &seen{first: make(chan struct{})}
	c := connect(t, judgedURL(t, kit.Handler(nil)), ada(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends at the first task
		<-saw.first
		cancel(errors.New("enough"))
	}()
	_, err := mcpclient.CallTool[string](ctx, c, "job", nil)
	require.ErrorContains(t, err, "enough")
	require.ErrorContains(t, <-ended, "cancelled by its client")
	id := saw.all()[0].ID
	task, err := peer.SendRequest(t.Context(), c, &tasks.GetRequest{Of: tasks.Of{ID: id}})
	require.NoError(t, err)
	require.Equal(t, mcp.TaskStatusCancelled, task.Status)
	_, err = peer.SendRequest(t.Context(), c, &tasks.CancelRequest{Of: tasks.Of{ID: id}})
	require.NoError(t, err, "it is over, and that is all that was wanted")
	for _, req := range []peer.Message{&tasks.GetRequest{}, &tasks.UpdateRequest{}, &tasks.CancelRequest{Of: tasks.Of{ID: "x" + id}}} {
		err := c.Call(t.Context(), req, new(tasks.Done))
		require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code, "%T", req)
	}
}

func TestWhoDoesNotKnowTasksHasNone(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: soon})
	quick := func(context.Context, *mcp.ServerSession) (string, error) {
		time.Sleep(20 * time.Millisecond)
		return "done", nil
	}
	job(kit, "optional", mcp.TaskSupportOptional, quick)
	job(kit, "required", mcp.TaskSupportRequired, quick)
	for _, r := range mcp.Revisions {
		c := connect(t, mcpclient.InProcess(kit), ada(mcpclient.Options{Revision: r.Revision}))
		require.Equal(t, "done", says(t, c, "optional"))
		_, err := mcpclient.CallTool[string](t.Context(), c, "required", nil)
		if r.Handshake {
			require.NoError(t, err, r.Revision)
		} else {
			missing, is := errors.AsType[*mcp.MissingRequiredClientCapabilityError](err)
			require.True(t, is, "%v", err)
			require.Contains(t, missing.RequiredCapabilities.Extensions, tasks.Name)
		}
		_, err = peer.SendRequest(t.Context(), c, &tasks.GetRequest{Of: tasks.Of{ID: "1"}})
		require.Error(t, err)
	}
}

func TestMiddlewareSeesEachRunOfATask(t *testing.T) {
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
	h := kit.Handler(nil)
	c := connect(t, judgedURL(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, " of the request")))
	})), ada(mcpclient.Options{Tasks: true}))
	require.Equal(t, "Ada of the request", says(t, c, "job"))
	require.Equal(t, []string{"> tools/call", "< elicitation/create", "> tools/call", "< elicitation/create"}, saw)
}

// noting notes what goes out.
type noting struct {
	peer.Outbound
	note func(string)
}

func (n noting) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	n.note("< " + req.Method())
	return n.Outbound.Call(ctx, req, res, opts...)
}

func TestATaskIsUnknownToOtherCallers(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &mcpserver.TaskOptions{After: -1, Poll: time.Millisecond}})
	release := make(chan struct{})
	job(kit, "job", mcp.TaskSupportOptional, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-release
		return s.Transport().Principal(), nil
	})
	h := kit.Handler(&streamable.Options{Logger: silent, Principal: func(r *http.Request) string { return r.Header.Get("User") }})
	as := func(user string) *mcpclient.URLEndpoint {
		to := judgedURL(t, h)
		to.HTTP.Header = http.Header{"User": {user}}
		return to
	}
	saw := &seen{first: make(chan struct{})}
	ann := connect(t, as("ann"), ada(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	bob := connect(t, as("bob"), ada(mcpclient.Options{Tasks: true}))
	said := make(chan string)
	go func() { said <- says(t, ann, "job") }() // ends with the call
	<-saw.first
	of := tasks.Of{ID: saw.all()[0].ID}
	for _, req := range []peer.Message{&tasks.GetRequest{Of: of}, &tasks.UpdateRequest{Of: of}, &tasks.CancelRequest{Of: of}} {
		err := bob.Call(t.Context(), req, new(tasks.Done))
		require.EqualValues(t, mcp.CodeInvalidParams, peer.AsError(err).Code, "%T", req)
	}
	close(release)
	require.Equal(t, "ann", <-said)
}

func TestAFunctionHasTheMetaOfItsCallWhetherItMayLastOrNot(t *testing.T) {
	leaks.Check(t)
	kit := newKit(&mcpserver.Options{Tasks: &mcpserver.TaskOptions{After: time.Hour}})
	c := connect(t, judgedURL(t, kit.Handler(nil)), ada(mcpclient.Options{Tasks: true}))
	var metas []mcp.RequestMeta
	for _, support := range []mcp.TaskSupport{mcp.TaskSupportForbidden, mcp.TaskSupportOptional} {
		tool := &mcp.Tool{Name: "job", Execution: &mcp.ToolExecution{TaskSupport: support}}
		kit.AddRawTool(tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			metas = append(metas, *req.Meta)
			return mcp.TextResult("done"), nil
		})
		require.Equal(t, "done", says(t, c, "job", peer.OnProgress(func(peer.Progress) {})))
		last := &metas[len(metas)-1].ProgressToken
		require.False(t, last.IsZero(), support)
		*last = mcp.ProgressToken{}
	}
	require.Equal(t, metas[0], metas[1])
}

func TestAnAnswerOfNoKnownTypeIsInvalidWithTasksAndWithout(t *testing.T) {
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
		require.EqualError(t, invalid, `answer to "tools/call": no result of the type "odd" was asked for`)
	}
}

func TestACallThatIsForwardedMayGoOnAsATask(t *testing.T) {
	leaks.Check(t)
	kit, saw := newKit(&mcpserver.Options{Tasks: atOnce}), &seen{first: make(chan struct{})}
	job(kit, "job", mcp.TaskSupportRequired, func(ctx context.Context, s *mcp.ServerSession) (string, error) {
		<-saw.first
		return question(ctx, s, "name")
	})
	c := connect(t, judgedURL(t, kit.Handler(nil)), ada(mcpclient.Options{Tasks: true, OnTask: saw.look}))
	res, err := c.Forward().CallTool(t.Context(), &mcp.CallToolRequest{Name: "job"})
	require.NoError(t, err)
	require.Equal(t, "Ada", mcp.TextOf(res.Content))
}
