package tasks

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

// Ask sends a question to the client, like [peer.SendRequest], and lets the client answer it as a
// task: no request stays open while the user thinks. The request is an [mcp.ElicitRequest] or an
// [mcp.CreateMessageRequest]. Its member Task may ask for a time. In other revisions than 2025-11-25,
// and if the client cannot answer such a question as a task, the question is sent without a task. If
// ctx ends, the task is cancelled.
func Ask[R wire.Value](ctx context.Context, s *mcp.ServerSession, req peer.Request[R], opts ...peer.CallOption) (R, error) {
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
