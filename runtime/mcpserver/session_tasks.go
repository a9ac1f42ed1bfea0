package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// runsSessionTasks reports whether the server runs the tasks of revision 2025-11-25. A program
// that declares them runs them itself.
func (s *Server) runsSessionTasks() bool {
	return s.opts.Tasks != nil && s.opts.Capabilities.Tasks == nil
}

// callInSession handles a call of revision 2025-11-25, whose sender decides whether it becomes a
// task.
func (k *taskService) callInSession(ctx context.Context, in *peer.Inbound, next peer.Handler) (peer.Reply, error) {
	s, owner := k.server, k.sessions.Owner(ctx)
	req := decodedCall(in, mcp.Revision20251125)
	if owner == nil || req == nil || !canHaveTasks(in.Transport) || !k.isOpen(ctx) {
		return next.Handle(ctx, in)
	}
	c := s.catalog.Load()
	if c.withTasks == nil {
		return next.Handle(ctx, in) // tasks are not declared, so the request for one is ignored
	}
	t := findTool(ctx, c, req.Name)
	if t == nil || !s.visible(ctx, KindTool, req.Name) || s.requireScopes(ctx, req.Name) != nil {
		return next.Handle(ctx, in) // the handler reports the error
	}
	support := mcp.TaskSupportForbidden
	if t.Execution != nil && t.Execution.TaskSupport != "" {
		support = t.Execution.TaskSupport
	}
	switch {
	case req.Task == nil && support == mcp.TaskSupportRequired:
		return peer.Reply{}, taskModeError(fmt.Sprintf("Tool runs only as a task: %q", limit.Name(req.Name)))
	case req.Task == nil:
		return next.Handle(ctx, in)
	case support == mcp.TaskSupportForbidden:
		return peer.Reply{}, taskModeError(fmt.Sprintf("Tool cannot run as a task: %q", limit.Name(req.Name)))
	}
	return k.sessions.Start(ctx, in, owner, req.Task.TTL)
}

func taskModeError(message string) error {
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: message}
}

// isOpen reports whether the session accepts calls.
func (k *taskService) isOpen(ctx context.Context) bool {
	conn := connection.FromContext(ctx)
	return conn.InitializeAccepted() && (conn.State().Initialized() || !k.server.opts.RequireInitialized)
}

// canHaveTasks reports whether the sender of a message can have tasks of revision 2025-11-25: a
// later request must be related to it, by a session or a principal. A handler that cannot send
// requests may have no session.
func canHaveTasks(t peer.TransportContext) bool {
	return t == nil || t.CanSendRequest() || t.Principal() != ""
}

// capabilitiesFor returns the capabilities for the sender of a message.
func (s *Server) capabilitiesFor(t peer.TransportContext) *mcp.ServerCapabilities {
	c := s.catalog.Load()
	if c.withTasks != nil && canHaveTasks(t) {
		return c.withTasks
	}
	return c.capabilities
}

// declareTasks returns capabilities with the tasks of revision 2025-11-25, or nil if no tool can
// run as a task.
func (s *Server) declareTasks(c *catalog, caps *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	if !s.runsSessionTasks() || c.withTasks == nil && !c.hasTaskTools() {
		return nil
	}
	with := *caps
	with.Tasks = &mcp.ServerTasksCapability{
		List: map[string]json.RawMessage{}, Cancel: map[string]json.RawMessage{},
		Requests: &mcp.ServerTaskRequests{Tools: &mcp.ToolTaskRequests{Call: map[string]json.RawMessage{}}},
	}
	return &with
}

func (c *catalog) hasTaskTools() bool {
	for _, x := range c.tools {
		if e := x.item.(*tool).Execution; e != nil && (e.TaskSupport == mcp.TaskSupportOptional || e.TaskSupport == mcp.TaskSupportRequired) {
			return true
		}
	}
	return false
}

// AskAsTask sends a question to the client, like [peer.SendRequest], and lets the client answer it as a
// task: no request stays open while the user thinks. The request is an [mcp.ElicitRequest] or an
// [mcp.CreateMessageRequest]. Its member Task may ask for a time. In other revisions than 2025-11-25,
// and if the client cannot answer such a question as a task, the question is sent without a task. If
// ctx ends, the task is cancelled.
func AskAsTask[R wire.Value](ctx context.Context, s *mcp.ServerSession, req peer.Request[R], opts ...peer.CallOption) (R, error) {
	res := req.NewResult()
	conn := connection.FromContext(ctx)
	if conn == nil || !canAnswerAsTask(conn, req) {
		err := s.Call(ctx, sessiontasks.WithTask(req, nil), res, opts...)
		return res, err
	}
	with := peer.Message(req)
	if sessiontasks.TaskOf(req) == nil {
		with = sessiontasks.WithTask(req, new(mcp.TaskMetadata))
	}
	r := &sessiontasks.ResultOrTask{Result: res}
	create, end := sessiontasks.CreateContext(ctx)
	defer end()
	if err := s.Call(create, with, r, opts...); err != nil || r.Task == nil {
		return res, err
	}
	w := &sessiontasks.Waiter{Out: s, Task: r.Task}
	err := w.Await(ctx, res)
	if err != nil && ctx.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
		defer cancel()
		_, _ = peer.SendRequest(last, conn, &mcp.CancelTaskRequest{TaskID: r.Task.TaskID}) // the channel of s may be closed
	}
	if err != nil {
		return res, fmt.Errorf("task %q of the client: %w", limit.Name(r.Task.TaskID), err)
	}
	return res, checkAnswer(req, res)
}

// cancelTimeout limits the time to cancel a task of the client when a handler ends.
const cancelTimeout = time.Second

// canAnswerAsTask reports whether a client can answer a question as a task.
func canAnswerAsTask(conn *connection.Connection, req peer.Message) bool {
	if conn.State().Revision() != mcp.Revision20251125 {
		return false
	}
	declared := new(mcp.ClientTaskRequests)
	switch req.Method() {
	case mcp.MethodElicit:
		declared.Elicitation = &mcp.ElicitationTaskRequests{Create: map[string]json.RawMessage{}}
	case mcp.MethodCreateMessage:
		declared.Sampling = &mcp.SamplingTaskRequests{CreateMessage: map[string]json.RawMessage{}}
	default:
		return false
	}
	return conn.HasClientCapability(&mcp.ClientCapabilities{Tasks: &mcp.ClientTasksCapability{Requests: declared}})
}

// checkAnswer returns an error if the content of an accepted form does not match the form.
func checkAnswer(req peer.Message, res wire.Value) error {
	question, ok := req.(*mcp.ElicitRequest)
	answer, is := res.(*mcp.ElicitResult)
	if !ok || !is || answer.Action != mcp.ElicitActionAccept {
		return nil
	}
	if form, ok := question.Params.(*mcp.ElicitRequestFormParams); ok {
		if err := connection.CheckContent(&form.RequestedSchema, answer.Content); err != nil {
			return &connection.InvalidError{Method: mcp.MethodElicit, Answer: true, Err: err}
		}
	}
	return nil
}
