package sessiontasks

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Register registers the task methods of revision 2025-11-25.
func (t *Table) Register(mux *peer.Mux) {
	peer.Handle(mux, t.get)
	peer.Handle(mux, t.list)
	peer.Handle(mux, t.cancelTask)
	mux.Add(peer.Route{
		New: func() peer.Message { return new(mcp.GetTaskPayloadRequest) },
		Serve: func(ctx context.Context, m peer.Message) (wire.Value, error) {
			return t.payload(ctx, m.(*mcp.GetTaskPayloadRequest))
		},
	})
}

// channelKey is the key of the channel of a request for the result of a task.
type channelKey struct{}

// WithChannel returns the context for a message. The handler of tasks/result finds the channel of
// its request there.
func WithChannel(ctx context.Context, in *peer.Inbound) context.Context {
	if in.Method != mcp.MethodGetTaskPayload || in.Back == nil {
		return ctx
	}
	return context.WithValue(ctx, channelKey{}, in.Back)
}

// OwnerOf returns the owner of the tasks of the sender of a message: its principal, or its session.
// It returns nil if the sender has neither, and cannot have tasks.
func OwnerOf(ctx context.Context) any {
	if s := mcp.SessionFromContext(ctx); s != nil {
		if p := s.Transport().Principal(); p != "" {
			return p
		}
	}
	conn := connection.FromContext(ctx)
	if conn.State().InitializeProcessed() {
		return conn
	}
	return nil
}

// Owner returns the owner of the tasks of the sender of a message, or nil if it cannot have tasks.
func (t *Table) Owner(ctx context.Context) any { return t.opts.Owner(ctx) }

// Start runs a request as a task for an owner, which is not nil. The TTL is the one that the
// request asks for, in milliseconds, or nil. The function onChange is called for the new task and for each
// change of its status, one after another. It must not block, and may be nil.
func (t *Table) Start(ctx context.Context, in *peer.Inbound, owner any, ttl *int64, onChange func(*State)) (peer.Reply, error) {
	x := &task{table: t, owner: owner, conn: connection.FromContext(ctx), onChange: onChange}
	x.in = peer.Inbound{Method: in.Method, ID: in.ID, Token: in.Token, Transport: in.Transport, Params: bytes.Clone(in.Params), Back: x}
	if in.Value != nil {
		var err error
		if x.in.Params, err = wire.AppendParams(nil, revisions.Frame(mcp.Revision20251125), in.Value); err != nil {
			return peer.Reply{}, fmt.Errorf("encode the request of a task: %w", err)
		}
	}
	if x.in.Token.IsZero() { // in process, the caller sets the token in the params
		x.in.Token = progress.Token(x.in.Params)
	}
	var err error
	if x.held, err = t.opts.Budget.Reserve(x.principal(), len(x.in.Params)); err != nil {
		return peer.Reply{}, &peer.Error{Code: mcp.CodeInternal, Message: "Too many bytes in flight"}
	}
	x.ctx, x.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	replaced, err := t.add(x, ttl)
	t.deleteRecord(ctx, replaced)
	if err != nil {
		x.held.Release()
		x.cancel(nil)
		return peer.Reply{}, err
	}
	if err := t.share(ctx, x); err != nil {
		t.discard(x)
		t.opts.Logger.WarnContext(ctx, "could not store a task", "error", err)
		return peer.Reply{}, &peer.Error{Code: mcp.CodeInternal, Message: "The task could not be stored. Try again later"}
	}
	t.endWithSession(x)
	created := &mcp.CreateTaskResult{Task: x.state()}
	go x.run() // ends when the handler returns
	return peer.Reply{Result: created}, nil
}

// sessionTasks marks the sessions that have begun tasks. They do not move to another replica, because
// their process sends the status of the tasks.
var sessionTasks = connection.NewKey[bool]("tasks")

// endWithSession ends the tasks of a session when the session closes, if they belong to it.
func (t *Table) endWithSession(x *task) {
	first := false
	sessionTasks.Update(x.conn.State(), func(has bool) bool {
		first = !has
		return true
	})
	if _, ok := x.owner.(string); ok || !first { // the tasks of a principal outlive the session
		return
	}
	x.conn.OnClose(func(ctx context.Context) error {
		if x.stored != "" && connection.HasMoved(ctx) {
			return nil // another replica has the session, and finds its tasks
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endAll(x.owner, errClosed)
		return nil
	})
}

func (t *Table) get(ctx context.Context, req *mcp.GetTaskRequest) (*mcp.GetTaskResult, error) {
	s, err := t.lookUp(ctx, t.opts.Owner(ctx), req.TaskID)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, unknownTask(req.TaskID)
	}
	return &mcp.GetTaskResult{
		TaskID: s.TaskID, Status: s.Status, StatusMessage: s.StatusMessage, CreatedAt: s.CreatedAt,
		LastUpdatedAt: s.LastUpdatedAt, TTL: s.TTL, PollInterval: s.PollInterval,
	}, nil
}

func (t *Table) list(ctx context.Context, req *mcp.ListTasksRequest) (*mcp.ListTasksResult, error) {
	owner, after := t.opts.Owner(ctx), uint64(0)
	if req.Cursor != nil {
		var err error
		if after, err = strconv.ParseUint(*req.Cursor, 36, 64); err != nil {
			return nil, invalid("Invalid cursor")
		}
	}
	var page []mcp.Task
	var last uint64
	if key, ok := t.recordOwner(owner); ok {
		var err error
		if page, last, err = t.sharedPage(ctx, key, after); err != nil {
			return nil, err
		}
	} else {
		page, last = t.page(owner, after)
	}
	res := &mcp.ListTasksResult{Tasks: page}
	if last != 0 {
		res.NextCursor = new(strconv.FormatUint(last, 36))
	}
	return res, nil
}

func (t *Table) cancelTask(ctx context.Context, req *mcp.CancelTaskRequest) (*mcp.CancelTaskResult, error) {
	owner := t.opts.Owner(ctx)
	x := t.find(owner, req.TaskID)
	var s *mcp.Task
	if key, ok := t.recordOwner(owner); ok {
		var err error
		if s, err = t.cancelRecord(ctx, key, req.TaskID); err != nil {
			return nil, err
		}
	}
	if x == nil && s == nil {
		return nil, unknownTask(req.TaskID)
	}
	if x != nil {
		if err := t.cancelLocal(x); err != nil && s == nil {
			return nil, err
		}
		s = x.stateOrNil()
	}
	return &mcp.CancelTaskResult{
		TaskID: s.TaskID, Status: s.Status, StatusMessage: s.StatusMessage, CreatedAt: s.CreatedAt,
		LastUpdatedAt: s.LastUpdatedAt, TTL: s.TTL, PollInterval: s.PollInterval,
	}, nil
}

// cancelLocal cancels a task of this process, unless it has ended.
func (t *Table) cancelLocal(x *task) error {
	t.mu.Lock()
	ended, status := x.finished(), x.status
	x.end(mcp.TaskStatusCancelled, "", errCancelled)
	x.settled = x.settled || !ended
	t.mu.Unlock()
	if ended {
		return errEnded(x.id, status)
	}
	x.notifyStatus()
	return nil
}

func errEnded(id string, status mcp.TaskStatus) error {
	return invalid(fmt.Sprintf("Task %q has ended with status %q", limit.Name(id), status))
}

func unknownTask(id string) error { return invalid(fmt.Sprintf("Unknown task: %q", limit.Name(id))) }

func invalid(message string) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: message}
}
