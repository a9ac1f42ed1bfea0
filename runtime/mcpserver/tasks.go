package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/sessiontasks"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/taskstore"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// taskService handles the task methods of a server, and turns calls into tasks.
type taskService struct {
	server *Server
	after  time.Duration
	store  taskStore
	worker *taskrecords.Worker // nil if tasks are stored in memory
	// sessions has the tasks of revision 2025-11-25. It is nil if the program handles them
	// itself.
	sessions *sessiontasks.Table
}

// enableTasks registers the task methods if [Options].Tasks is set.
func (s *Server) enableTasks() {
	o := s.opts.Tasks
	if o == nil {
		return
	}
	k := &taskService{server: s, after: cmp.Or(o.StartAfter, defaultTaskStartAfter)}
	ttl, poll := cmp.Or(o.TTL, defaultTaskTTL), cmp.Or(o.PollInterval, defaultTaskPollInterval)
	quota := limit.NewQuota(limit.Count(o.MaxTasks, defaultMaxTasks), limit.Count(o.MaxTasksPerPrincipal, defaultMaxTasksPerPrincipal))
	held := s.budget()
	k.worker = k.newWorker()
	k.store = k.newStore(taskstore.Options{TTL: ttl, PollInterval: poll, Quota: quota, Budget: held, NewID: o.NewID})
	s.shutdowners.add(k.store)
	if s.runsSessionTasks() {
		k.sessions = sessiontasks.New(sessiontasks.Options{
			TTL: ttl, PollInterval: poll, PageSize: s.opts.PageSize, Quota: quota, Budget: held, Dispatcher: s.Dispatcher, Logger: s.opts.Logger,
			Worker: k.worker,
		})
		k.sessions.Register(&s.mux)
		s.shutdowners.add(k.sessions)
	}
	peer.Handle(&s.mux, k.get)
	peer.Handle(&s.mux, k.update)
	peer.Handle(&s.mux, k.cancel)
	s.opts.Middleware = append([]peer.Middleware{k.middleware}, s.opts.Middleware...)
	extensions := map[string]json.RawMessage{tasks.Name: nil}
	maps.Copy(extensions, s.opts.Extensions)
	s.opts.Extensions = extensions
}

// middleware is the outermost middleware. The other ones are called for each run of a call.
func (k *taskService) middleware(next peer.Handler) peer.Handler {
	return peer.Observer(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		if in.Method == mcp.MethodGetTaskPayload {
			return next.Handle(sessiontasks.WithChannel(ctx, in), in)
		}
		if _, runs := in.Back.(*taskBackChannel); runs || sessiontasks.IsRun(in) || in.Method != mcp.MethodCallTool || in.ID.IsZero() {
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
func (k *taskService) taskRequest(ctx context.Context, in *peer.Inbound) (*mcp.CallToolRequest, error) {
	r := connection.FromContext(ctx).State().Revision()
	if revisions.Handshake(r) {
		return nil, nil
	}
	req := decodedCall(in, r)
	if req == nil {
		return nil, nil // the handler reports the error
	}
	t := findTool(ctx, k.server.catalog.Load(), req.Name)
	if t == nil || t.Execution == nil || !k.server.visible(ctx, KindTool, req.Name) {
		return nil, nil
	}
	lack := requireTaskExtension(ctx, in.Method)
	switch t.Execution.TaskSupport {
	case mcp.TaskSupportRequired:
		if lack != nil {
			return nil, lack
		}
	case mcp.TaskSupportOptional:
	default:
		return nil, nil
	}
	if lack != nil {
		return nil, nil
	}
	if k.server.requireScopes(ctx, req.Name) != nil {
		return nil, nil // the handler reports the error, with status 403
	}
	if err := t.validateHeaders(ctx, req); err != nil { // a task may be returned before the handler is picked
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

// requireTaskExtension returns an error if the sender of a request has not declared the task
// extension.
func requireTaskExtension(ctx context.Context, method string) error {
	conn := connection.FromContext(ctx)
	want := &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{tasks.Name: {}}}
	if conn.HasClientCapability(want) {
		return nil
	}
	return &connection.CapabilityError{
		Method: method, Capability: "extensions." + tasks.Name, Required: want, Revision: conn.State().Revision(),
	}
}

// call runs a call. If it takes longer than startAfter and the limits allow it, the response
// is a task.
func (k *taskService) call(ctx context.Context, in *peer.Inbound, req *mcp.CallToolRequest) (peer.Reply, error) {
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

func (k *taskService) get(ctx context.Context, req *tasks.GetRequest) (*tasks.GetResult, error) {
	t, err := k.store.Get(ctx, principalOf(ctx), req.TaskID)
	if err != nil || t == nil {
		return nil, k.taskError(ctx, req.TaskID, err)
	}
	return t.GetResult(), nil
}

func (k *taskService) update(ctx context.Context, req *tasks.UpdateRequest) (*tasks.UpdateResult, error) {
	if exists, err := k.store.Update(ctx, principalOf(ctx), req.TaskID, req.InputResponses); err != nil || !exists {
		return nil, k.taskError(ctx, req.TaskID, err)
	}
	return new(tasks.UpdateResult), nil
}

func (k *taskService) cancel(ctx context.Context, req *tasks.CancelRequest) (*tasks.CancelResult, error) {
	if exists, err := k.store.Cancel(ctx, principalOf(ctx), req.TaskID); err != nil || !exists {
		return nil, k.taskError(ctx, req.TaskID, err)
	}
	return new(tasks.CancelResult), nil
}

func unknownTask(id string) error {
	return invalid("Unknown task: %q", limit.Name(id))
}

// principalOf returns the principal that has sent the message being handled.
func principalOf(ctx context.Context) string {
	return mcp.SessionFromContext(ctx).Transport().Principal()
}
