package sessiontasks

import (
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// TaskOf returns the task that a question of a server asks for, or nil.
func TaskOf(req peer.Message) *mcp.TaskMetadata {
	switch req := req.(type) {
	case *mcp.CreateMessageRequest:
		return req.Task
	case *mcp.ElicitRequest:
		switch p := req.Params.(type) {
		case *mcp.ElicitRequestFormParams:
			return p.Task
		case *mcp.ElicitRequestURLParams:
			return p.Task
		}
	}
	return nil
}

// WithTask returns a copy of a question of a server that asks for a task, or that asks for none if
// the task is nil. It returns other requests unchanged.
func WithTask(req peer.Message, task *mcp.TaskMetadata) peer.Message {
	switch req := req.(type) {
	case *mcp.CreateMessageRequest:
		with := *req
		with.Task = task
		return &with
	case *mcp.ElicitRequest:
		switch p := req.Params.(type) {
		case *mcp.ElicitRequestFormParams:
			with := *p
			with.Task = task
			return &mcp.ElicitRequest{Params: &with}
		case *mcp.ElicitRequestURLParams:
			with := *p
			with.Task = task
			return &mcp.ElicitRequest{Params: &with}
		}
	}
	return req
}
