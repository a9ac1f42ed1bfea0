package mcpclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sessionTaskCall returns the request to send if a call of revision 2025-11-25 must run as a task, and
// otherwise nil. In that revision the client decides. It asks for a task if the caller does, or if
// the tool requires a task.
func (c *Client) sessionTaskCall(ctx context.Context, req peer.Message) *mcp.CallToolRequest {
	call, ok := req.(*mcp.CallToolRequest)
	if !ok || c.Revision() != mcp.Revision20251125 || !runsTasks(c.ServerCapabilities()) {
		return nil
	}
	if call.Task != nil {
		return call
	}
	if info := c.toolForCall(ctx, call.Name); info == nil || !info.requiresTask {
		return nil
	}
	with := *call
	with.Task = new(mcp.TaskMetadata)
	return &with
}

// runsTasks reports whether a server with these capabilities runs tool calls as tasks.
func runsTasks(caps *mcp.ServerCapabilities) bool {
	return caps != nil && caps.Tasks != nil && caps.Tasks.Requests != nil && caps.Tasks.Requests.Tools != nil && caps.Tasks.Requests.Tools.Call != nil
}

// callSessionTask makes a call that asks for a task of revision 2025-11-25, and waits until the task
// has finished.
func (c *Client) callSessionTask(ctx context.Context, call *mcp.CallToolRequest, res wire.Value, opts []peer.CallOption) error {
	if f := callOptions(opts).OnProgress; f != nil {
		token, end := c.taskReports.add(f)
		defer end()
		call = withToken(call, token)
		opts = append(opts[:len(opts):len(opts)], peer.OnProgress(nil))
	}
	task, err := c.createSessionTask(ctx, call, res, opts)
	if err != nil || task == nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(&peer.ClosedError{Method: mcp.MethodCallTool, Cause: c.Err()}) })()
	w := &sessiontasks.Waiter{Out: c, Task: task}
	if f := c.opts.OnTask; f != nil {
		w.OnState = func(ctx context.Context, t *mcp.Task) { f(ctx, sessionTaskState(t)) }
	}
	if err = w.Await(ctx, res); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		c.cancelSessionTask(ctx, w.Task.TaskID)
		err = context.Cause(ctx)
	}
	return &TaskError{sessionTaskState(w.Task), err}
}

// createSessionTask sends a call that asks for a task. It returns nil if the server has responded with
// the result instead. If ctx ends before the response, the task is cancelled in the background as soon
// as the response contains its id.
func (c *Client) createSessionTask(ctx context.Context, call *mcp.CallToolRequest, res wire.Value, opts []peer.CallOption) (*mcp.Task, error) {
	raw := new(outbound.RawResult) // not res, which belongs to the caller when this function has returned
	r := &sessiontasks.ResultOrTask{Result: raw}
	created := make(chan error, 1)
	send := func() { // ends with the response, at the latest a second after ctx
		create, end := sessiontasks.CreateContext(ctx)
		defer end()
		created <- c.sendWithRetry(create, call, r, opts)
	}
	if !c.spawn(send) {
		return nil, &peer.ClosedError{Method: mcp.MethodCallTool, Cause: c.Err()}
	}
	select {
	case err := <-created:
		if err != nil || r.Task != nil {
			return r.Task, err
		}
		if err = wire.Decode(raw.JSON, &wire.Frame{Revision: mcp.Revision20251125, Checked: true}, res); err != nil {
			err = fmt.Errorf("response to %q: %w", mcp.MethodCallTool, err)
		}
		return nil, err
	case <-ctx.Done():
	}
	c.spawn(func() { // ends soon after send
		if <-created == nil && r.Task != nil {
			c.cancelSessionTask(ctx, r.Task.TaskID)
		}
	})
	return nil, fmt.Errorf("send %q: %w: %w", mcp.MethodCallTool, ctx.Err(), context.Cause(ctx))
}

// withToken returns a copy of a call with a progress token.
func withToken(call *mcp.CallToolRequest, token string) *mcp.CallToolRequest {
	with, meta := *call, mcp.RequestMeta{}
	if call.Meta != nil {
		meta = *call.Meta
	}
	meta.ProgressToken = wire.StringID(token).Token()
	with.Meta = &meta
	return &with
}

// taskReports has the callbacks for progress reports about tasks of 2025-11-25, by progress token. The
// connection does not relate such reports to a call, because the call has its response: the task.
type taskReports struct {
	mu        sync.Mutex // guards callbacks
	callbacks map[string]*reportCallback
}

// reportCallback is a callback for progress reports.
type reportCallback struct {
	mu sync.Mutex          // held while f runs
	f  func(peer.Progress) // nil when the call has returned
}

// add adds a callback and returns its token. After end has returned, the callback is not called.
func (t *taskReports) add(f func(peer.Progress)) (token string, end func()) {
	r := &reportCallback{f: f}
	token = rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.callbacks == nil {
		t.callbacks = make(map[string]*reportCallback)
	}
	t.callbacks[token] = r
	return token, func() {
		t.mu.Lock()
		delete(t.callbacks, token)
		t.mu.Unlock()
		r.mu.Lock()
		r.f = nil
		r.mu.Unlock()
	}
}

// deliver passes a notification to its callback, if it is a report about a task.
func (t *taskReports) deliver(in *peer.Inbound) {
	n, ok := in.Message.(*mcp.ProgressNotification)
	if !ok {
		n = new(mcp.ProgressNotification)
		if in.Decode(&wire.Frame{Revision: mcp.Revision20251125}, n) != nil {
			return // the handler reports the error
		}
	}
	token, _ := n.ProgressToken.Text()
	t.mu.Lock()
	r := t.callbacks[token]
	t.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f != nil {
		r.f(peer.Progress{Progress: n.Progress, Total: n.Total, Message: n.Message})
	}
}

// relateToTasks is a middleware that passes progress reports about tasks to the callers, and adds the
// task of a question to its response.
func (c *Client) relateToTasks(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		if in.Method == mcp.MethodProgress {
			failure.LogPanics(c.opts.Logger, "progress callback", func() { c.taskReports.deliver(in) })
		}
		reply, err := next.Handle(ctx, in)
		if err != nil || sessiontasks.IsRun(in) || in.Method == mcp.MethodGetTaskPayload {
			return reply, err
		}
		return sessiontasks.RelateReply(ctx, in, reply), nil
	})
}

// cancelSessionTask cancels a task in the background.
func (c *Client) cancelSessionTask(ctx context.Context, id string) {
	c.spawn(func() { // ends with the request, which the timeout and the client's end limit
		_, _ = peer.SendRequest(context.WithoutCancel(ctx), c, &mcp.CancelTaskRequest{TaskID: id})
	})
}

// sessionTaskState converts a task of revision 2025-11-25. A time that is no valid time is omitted.
func sessionTaskState(t *mcp.Task) *tasks.Task {
	state := &tasks.Task{ID: t.TaskID, Status: t.Status, StatusMessage: t.StatusMessage, TTL: -1, Extra: t.Extra}
	state.CreatedAt, _ = time.Parse(time.RFC3339, t.CreatedAt)
	state.LastUpdatedAt, _ = time.Parse(time.RFC3339, t.LastUpdatedAt)
	if t.TTL != nil {
		state.TTL = sessiontasks.Milliseconds(*t.TTL)
	}
	if t.PollInterval != nil {
		state.PollInterval = sessiontasks.Milliseconds(*t.PollInterval)
	}
	return state
}

const (
	// maxOwnTasks limits the questions that run as tasks at the client, or whose results are stored.
	maxOwnTasks = 100
	// ownTaskTTL is how long the client stores such a task, unless the server asks for less.
	ownTaskTTL = time.Hour
	// ownTaskPoll is how often a server should poll.
	ownTaskPoll = time.Second
	// endTimeout limits the wait for handlers of such tasks when the client ends.
	endTimeout = 5 * time.Second
)

// ownTasks returns the capability for questions that a server of 2025-11-25 may ask as tasks. It
// returns nil if the client runs no tasks, or if the program declares them and runs them itself.
func (o *Options) ownTasks() *mcp.ClientTasksCapability {
	if !o.Tasks || o.Capabilities.Tasks != nil || o.OnElicit == nil && o.OnCreateMessage == nil {
		return nil
	}
	requests := new(mcp.ClientTaskRequests)
	if o.OnElicit != nil {
		requests.Elicitation = &mcp.ElicitationTaskRequests{Create: map[string]json.RawMessage{}}
	}
	if o.OnCreateMessage != nil {
		requests.Sampling = &mcp.SamplingTaskRequests{CreateMessage: map[string]json.RawMessage{}}
	}
	return &mcp.ClientTasksCapability{List: map[string]json.RawMessage{}, Cancel: map[string]json.RawMessage{}, Requests: requests}
}

// enableOwnTasks makes the client run questions as tasks if a server of 2025-11-25 asks for that. It
// returns the outermost middleware.
func (c *Client) enableOwnTasks() peer.Middleware {
	c.ownTasks = sessiontasks.New(sessiontasks.Options{
		TTL: ownTaskTTL, PollInterval: ownTaskPoll, PageSize: maxOwnTasks, Quota: limit.NewQuota(maxOwnTasks, maxOwnTasks),
		Budget: budget.Default(), Logger: c.opts.Logger,
		Dispatcher: func() *connection.Dispatcher { return c.dispatcher },
		Owner:      ownerOfQuestion,
	})
	c.ownTasks.Register(&c.mux)
	return func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			if in.Method == mcp.MethodGetTaskPayload {
				return next.Handle(sessiontasks.WithChannel(ctx, in), in)
			}
			if task := taskOfQuestion(ctx, in); task != nil {
				return c.ownTasks.Start(ctx, in, ownerOfQuestion(ctx), task.TTL, nil)
			}
			return next.Handle(ctx, in)
		})
	}
}

// endOwnTasks cancels the tasks that the client runs, and waits for their handlers.
func (c *Client) endOwnTasks() {
	if c.ownTasks == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_ = c.ownTasks.Shutdown(ctx) // an error means that a handler has not returned in time
}

// ownerOfQuestion returns the owner of the tasks of a server: its connection.
func ownerOfQuestion(ctx context.Context) any { return connection.FromContext(ctx) }

// taskOfQuestion returns the task that a question of a server asks for, or nil.
func taskOfQuestion(ctx context.Context, in *peer.Inbound) *mcp.TaskMetadata {
	if connection.FromContext(ctx).State().Revision() != mcp.Revision20251125 || in.ID.IsZero() || sessiontasks.IsRun(in) {
		return nil
	}
	switch in.Method {
	case mcp.MethodElicit:
		req := new(mcp.ElicitRequest)
		if m, ok := in.Message.(*mcp.ElicitRequest); ok {
			req = m
		} else if in.Decode(&wire.Frame{Revision: mcp.Revision20251125}, req) != nil {
			return nil // the handler reports the error
		}
		return sessiontasks.TaskOf(req)
	case mcp.MethodCreateMessage:
		req := new(mcp.CreateMessageRequest)
		if m, ok := in.Message.(*mcp.CreateMessageRequest); ok {
			req = m
		} else if in.Decode(&wire.Frame{Revision: mcp.Revision20251125}, req) != nil {
			return nil // the handler reports the error
		}
		return sessiontasks.TaskOf(req)
	}
	return nil
}
