package tasks

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// service handles the task methods of a server, and turns calls into tasks.
type service struct {
	server *extension.TaskServer
	after  time.Duration
	store  store
	worker *taskrecords.Worker // nil if tasks are stored in memory
	// changes calls the function of the program. It is nil if there is none.
	changes *changes
	// sessions has the tasks of revision 2025-11-25. It is nil if the program handles them
	// itself.
	sessions *sessiontasks.Table
}

// EnableTasks adds tasks to a server. Package mcpserver calls it. It panics on invalid options. A nil
// pointer adds no tasks.
func (o *Options) EnableTasks(s *extension.TaskServer) *extension.Tasks {
	if o == nil {
		return nil
	}
	k := &service{server: s, after: cmp.Or(o.StartAfter, defaultStartAfter), worker: newWorker(o, s), changes: newChanges(o.OnChange, s.Logger)}
	ttl, poll := cmp.Or(o.TTL, defaultTTL), cmp.Or(o.PollInterval, defaultPollInterval)
	quota := limit.NewQuota(limit.Count(o.MaxTasks, defaultMaxTasks), limit.Count(o.MaxTasksPerPrincipal, defaultMaxTasksPerPrincipal))
	var concurrent *limit.Quota
	if o.MaxConcurrent > 0 {
		concurrent = limit.NewQuota(o.MaxConcurrent, 0)
	}
	k.store = k.newStore(storeOptions{TTL: ttl, PollInterval: poll, Quota: quota, Concurrent: concurrent, Budget: s.Budget, NewID: o.NewID})
	all := &extension.Tasks{Middleware: k.middleware, Stores: []extension.TaskStore{k.reported(k.store)}, IsStateLocal: isStateLocal}
	if !s.OwnSessionTasks {
		k.sessions = sessiontasks.New(sessiontasks.Options{
			TTL: ttl, PollInterval: poll, PageSize: s.PageSize, Quota: quota, Concurrent: concurrent, Budget: s.Budget,
			Dispatcher: s.Dispatcher, Logger: s.Logger, Worker: k.worker,
		})
		k.sessions.Register(s.Mux)
		all.Stores = append(all.Stores, k.reported(k.sessions))
	}
	peer.Handle(s.Mux, k.get)
	peer.Handle(s.Mux, k.update)
	peer.Handle(s.Mux, k.cancel)
	return all
}

// reported returns a store that waits for the reports of its changes when it is shut down.
func (k *service) reported(s extension.TaskStore) extension.TaskStore {
	if k.changes == nil {
		return s
	}
	return reportedStore{s, k.changes}
}

// middleware is the outermost middleware. The other ones are called for each run of a call.
func (k *service) middleware(next peer.Handler) peer.Handler {
	return peer.Observer(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		if in.Method == mcp.MethodGetTaskPayload {
			return next.Handle(sessiontasks.WithChannel(ctx, in), in)
		}
		if _, runs := in.Back.(*backChannel); runs || sessiontasks.IsRun(in) || in.Method != mcp.MethodCallTool || in.ID.IsZero() {
			return next.Handle(ctx, in)
		}
		if k.sessions != nil && revisionOf(ctx) == mcp.Revision20251125 {
			return k.callInSession(ctx, in, next)
		}
		req, err := k.taskRequest(ctx, in)
		switch {
		case err != nil:
			return peer.Reply{}, err
		case req == nil:
			return next.Handle(ctx, in)
		}
		return k.call(ctx, in, req)
	})
}

// taskRequest returns a call that may become a task, and nil for any other message.
func (k *service) taskRequest(ctx context.Context, in *peer.Inbound) (*mcp.CallToolRequest, error) {
	r := connection.FromContext(ctx).State().Revision()
	if revisions.Handshake(r) {
		return nil, nil
	}
	req := decodedCall(in, r)
	if req == nil {
		return nil, nil // the handler reports the error
	}
	support, ok := k.server.TaskSupport(ctx, req.Name)
	if !ok || support != mcp.TaskSupportRequired && support != mcp.TaskSupportOptional {
		return nil, nil // the handler reports an error, if there is one
	}
	if lack := extension.RequireTasks(ctx, in.Method); lack != nil {
		if support == mcp.TaskSupportRequired {
			return nil, lack
		}
		return nil, nil
	}
	if err := k.server.ValidateHeaders(ctx, req); err != nil { // a task may be returned before the handler is picked
		return nil, err
	}
	return req, nil
}

// decodedCall returns the params of a call, or nil if they are invalid.
func decodedCall(in *peer.Inbound, r wire.Revision) *mcp.CallToolRequest {
	if req, ok := in.Message.(*mcp.CallToolRequest); ok {
		return req
	}
	req := new(mcp.CallToolRequest)
	if in.Decode(&wire.Frame{Revision: r}, req) != nil {
		return nil
	}
	return req
}

// callInSession handles a call of revision 2025-11-25, whose sender decides whether it becomes a
// task.
func (k *service) callInSession(ctx context.Context, in *peer.Inbound, next peer.Handler) (peer.Reply, error) {
	owner := k.sessions.Owner(ctx)
	req := decodedCall(in, mcp.Revision20251125)
	if owner == nil || req == nil || !extension.CanHaveSessionTasks(in.Transport) || !k.isOpen(ctx) {
		return next.Handle(ctx, in)
	}
	if !k.server.DeclaresSessionTasks() {
		return next.Handle(ctx, in) // the request for a task is ignored
	}
	support, ok := k.server.TaskSupport(ctx, req.Name)
	if !ok {
		return next.Handle(ctx, in) // the handler reports the error
	}
	switch {
	case req.Task == nil && support == mcp.TaskSupportRequired:
		return peer.Reply{}, taskModeError(fmt.Sprintf("Tool runs only as a task: %q", limit.Name(req.Name)))
	case req.Task == nil:
		return next.Handle(ctx, in)
	case support == mcp.TaskSupportForbidden:
		return peer.Reply{}, taskModeError(fmt.Sprintf("Tool cannot run as a task: %q", limit.Name(req.Name)))
	}
	return k.sessions.Start(ctx, in, owner, req.Task.TTL, k.reporter(ctx, req.Name))
}

// reporter returns the function that reports the changes of a task of a session, or nil.
func (k *service) reporter(ctx context.Context, tool string) func(*sessiontasks.State) {
	if k.changes == nil {
		return nil
	}
	return func(s *sessiontasks.State) {
		k.changes.add(ctx, tool, &Task{
			ID: s.ID, Status: s.Status, StatusMessage: s.Message, CreatedAt: s.Created, LastUpdatedAt: s.Updated, TTL: s.TTL, PollInterval: s.PollInterval,
		})
	}
}

func taskModeError(message string) error {
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: message}
}

// isOpen reports whether the session accepts calls.
func (k *service) isOpen(ctx context.Context) bool {
	conn := connection.FromContext(ctx)
	return conn.InitializeAccepted() && (conn.State().Initialized() || !k.server.RequireInitialized)
}

// call runs a call. If it takes longer than startAfter and the limits allow it, the response
// is a task.
func (k *service) call(ctx context.Context, in *peer.Inbound, req *mcp.CallToolRequest) (peer.Reply, error) {
	r := k.newRun(ctx, in, req)
	long := time.NewTimer(k.after)
	defer long.Stop()
	for {
		select {
		case out := <-r.outcome:
			return r.answer(out)
		case <-ctx.Done():
			return r.abandon(ctx)
		case <-long.C:
			if t := k.store.Add(ctx, principalOf(ctx), r, len(in.Params)); t != nil {
				return peer.Reply{Result: t.CreateResult(), Frame: k.server.Dispatcher().ResultFrame(revisionOf(ctx))}, nil
			}
		}
	}
}

func (k *service) get(ctx context.Context, req *GetRequest) (*GetResult, error) {
	t, err := k.store.Get(ctx, principalOf(ctx), req.TaskID)
	if err != nil || t == nil {
		return nil, k.taskError(ctx, req.TaskID, err)
	}
	return t.GetResult(), nil
}

func (k *service) update(ctx context.Context, req *UpdateRequest) (*UpdateResult, error) {
	if exists, err := k.store.Update(ctx, principalOf(ctx), req.TaskID, req.InputResponses); err != nil || !exists {
		return nil, k.taskError(ctx, req.TaskID, err)
	}
	return new(UpdateResult), nil
}

func (k *service) cancel(ctx context.Context, req *CancelRequest) (*CancelResult, error) {
	if exists, err := k.store.Cancel(ctx, principalOf(ctx), req.TaskID); err != nil || !exists {
		return nil, k.taskError(ctx, req.TaskID, err)
	}
	return new(CancelResult), nil
}

func unknownTask(id string) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: fmt.Sprintf("Unknown task: %q", limit.Name(id))}
}

// principalOf returns the principal that has sent the message being handled.
func principalOf(ctx context.Context) string {
	return mcp.SessionFromContext(ctx).Transport().Principal()
}

// revisionOf returns the revision of the message being handled.
func revisionOf(ctx context.Context) wire.Revision {
	return connection.FromContext(ctx).State().Revision()
}
