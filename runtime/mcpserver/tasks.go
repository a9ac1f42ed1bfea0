package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/tasking"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TaskOptions let calls go on as tasks, the extension [tasks.Name] of revision
// 2026-07-28: a call that takes long is answered with a task, at which its client
// looks until there is a result. It is for tools whose Execution.TaskSupport says
// so, and for clients that declare the extension; [mcp.TaskSupportRequired] refuses
// others of that revision. Functions do not know: questions that come before
// the task does travel in answers, and those that come later with the task.
// What they report as progress is the message of the task.
//
// A task is known to the process that runs it, and to the caller who began it. The
// zero value of a member is its default; a negative one is no limit.
type TaskOptions struct {
	// StartAfter is how long a call may take before it is answered with a task.
	// Default 1 s; negative is at once.
	StartAfter time.Duration
	// TTL is how long a task is kept after it began. The context of a function
	// that still runs then ends. Default 60 min.
	TTL time.Duration
	// PollInterval is how often clients are asked to look. Default 1 s.
	PollInterval time.Duration
	// MaxTasks is how many tasks are kept. A call beyond it takes as long as it takes.
	// Default 1,000.
	MaxTasks int
	// MaxTasksPerPrincipal is the same for those of one principal that has a name. Default 100.
	MaxTasksPerPrincipal int
}

const (
	defaultTaskAfter = time.Second
	defaultTaskKeep  = time.Hour
	defaultTaskPoll  = time.Second
	defaultTasks     = 1000
	defaultTasksEach = 100
)

// taskKit serves the tasks of a server.
type taskKit struct {
	server *Server
	after  time.Duration
	table  *tasking.Table
}

// serveTasks begins to serve tasks, if that is wanted.
func (s *Server) serveTasks() {
	o := s.opts.Tasks
	if o == nil {
		return
	}
	k := &taskKit{server: s, after: cmp.Or(o.StartAfter, defaultTaskAfter)}
	k.table = tasking.New(tasking.Options{
		Keep: cmp.Or(o.TTL, defaultTaskKeep), Poll: cmp.Or(o.PollInterval, defaultTaskPoll),
		Max: limit.Count(o.MaxTasks, defaultTasks), MaxEach: limit.Count(o.MaxTasksPerPrincipal, defaultTasksEach),
	})
	s.hosts.add(k.table)
	peer.Handle(&s.mux, k.get)
	peer.Handle(&s.mux, k.update)
	peer.Handle(&s.mux, k.cancel)
	s.opts.Middleware = append([]peer.Middleware{k.around}, s.opts.Middleware...)
	extensions := map[string]json.RawMessage{tasks.Name: nil}
	maps.Copy(extensions, s.opts.Extensions)
	s.opts.Extensions = extensions
}

// around is the middleware around all others, which see each run of a call.
func (k *taskKit) around(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		if _, runs := in.Back.(*taskBack); runs || in.Method != mcp.MethodCallTool || in.ID.IsZero() {
			return next.Handle(ctx, in)
		}
		req, err := k.candidate(ctx, in)
		switch {
		case err != nil:
			return peer.Reply{}, err
		case req == nil:
			return next.Handle(ctx, in)
		}
		return k.call(ctx, in, req)
	})
}

// candidate returns a call that may become a task, nil for any other.
func (k *taskKit) candidate(ctx context.Context, in *peer.Inbound) (*mcp.CallToolRequest, error) {
	r := connection.FromContext(ctx).State().Revision()
	if eras.Handshake(r) {
		return nil, nil
	}
	req, ok := in.Message.(*mcp.CallToolRequest)
	if !ok {
		req = new(mcp.CallToolRequest)
		if in.Decode(&wire.Frame{Revision: r}, req) != nil {
			return nil, nil // its handling will tell
		}
	}
	t := k.server.catalog.Load().tools.find(req.Name)
	if t == nil || t.Execution == nil || !k.server.visible(ctx, KindTool, req.Name) {
		return nil, nil
	}
	lack := needTasks(ctx, in.Method)
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
	if err := t.checkHeaders(ctx, req); err != nil { // the answer may be a task before the tool is picked
		return nil, err
	}
	return req, nil
}

// needTasks returns an error where the sender of a request has not declared the
// extension.
func needTasks(ctx context.Context, method string) error {
	conn := connection.FromContext(ctx)
	want := &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{tasks.Name: {}}}
	if conn.HasClientCapability(want) {
		return nil
	}
	return &connection.CapabilityError{
		Method: method, Capability: "extensions." + tasks.Name, Required: want, Revision: conn.State().Revision(),
	}
}

// call runs a call, and answers with a task if that takes too long and one more
// fits.
func (k *taskKit) call(ctx context.Context, in *peer.Inbound, req *mcp.CallToolRequest) (peer.Reply, error) {
	r := k.newRun(ctx, in, req)
	long := time.NewTimer(k.after)
	defer long.Stop()
	for {
		select {
		case out := <-r.outcome:
			return r.answer(out)
		case <-ctx.Done():
			return r.giveUp(ctx)
		case <-long.C:
			if t := k.table.Add(principalOf(ctx), r); t != nil {
				return peer.Reply{Result: &tasks.CreateResult{Task: *t}, Frame: k.server.Dispatcher().ResultFrame(revisionOf(ctx))}, nil
			}
		}
	}
}

func (k *taskKit) get(ctx context.Context, req *tasks.GetRequest) (*tasks.Task, error) {
	if t := k.table.Get(principalOf(ctx), req.ID); t != nil {
		return t, nil
	}
	return nil, unknownTask(req.ID)
}

func (k *taskKit) update(ctx context.Context, req *tasks.UpdateRequest) (*tasks.Ack, error) {
	if !k.table.Update(principalOf(ctx), req.ID, req.InputResponses) {
		return nil, unknownTask(req.ID)
	}
	return new(tasks.Ack), nil
}

func (k *taskKit) cancel(ctx context.Context, req *tasks.CancelRequest) (*tasks.Ack, error) {
	if !k.table.Cancel(principalOf(ctx), req.ID) {
		return nil, unknownTask(req.ID)
	}
	return new(tasks.Ack), nil
}

func unknownTask(id string) error {
	return invalid("Unknown task: %q", clip(id))
}

// principalOf returns who sends the message being handled.
func principalOf(ctx context.Context) string {
	return mcp.SessionFromContext(ctx).Transport().Principal()
}
