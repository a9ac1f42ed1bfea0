package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/headers"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// store stores the tasks of the extension: a [sharedStore], or a [localTasks].
type store interface {
	// Add stores a task for an active run. It returns nil if the call cannot become a task.
	Add(ctx context.Context, owner string, run activeRun, size int) *Task
	// Get returns a task, or nil if the owner has no such task.
	Get(ctx context.Context, owner, id string) (*Task, error)
	// Update and Cancel report whether the task exists.
	Update(ctx context.Context, owner, id string, answers mcp.InputResponses) (bool, error)
	Cancel(ctx context.Context, owner, id string) (bool, error)
	Len() int
	Shutdown(ctx context.Context) error
}

// localTasks are tasks in the memory of the process.
type localTasks struct{ *localStore }

func (l localTasks) Add(_ context.Context, owner string, run activeRun, size int) *Task {
	return l.localStore.Add(owner, run, size)
}

func (l localTasks) Get(_ context.Context, owner, id string) (*Task, error) {
	return l.localStore.Get(owner, id), nil
}

func (l localTasks) Update(_ context.Context, owner, id string, answers mcp.InputResponses) (bool, error) {
	return l.localStore.Update(owner, id, answers), nil
}

func (l localTasks) Cancel(_ context.Context, owner, id string) (bool, error) {
	return l.localStore.Cancel(owner, id), nil
}

// newStore returns the store of the tasks of the extension.
func (k *service) newStore(o storeOptions) store {
	if k.worker == nil {
		return localTasks{newLocalStore(o)}
	}
	return newSharedStore(sharedOptions{
		storeOptions: o, Worker: k.worker, Restore: k.restoreRun, Logger: k.server.Logger,
	})
}

// newWorker returns the worker of the server, or nil if tasks are stored in memory. It panics on invalid
// options.
func newWorker(o *Options, s *extension.TaskServer) *taskrecords.Worker {
	if o.Table == nil {
		return nil
	}
	lease := cmp.Or(o.Lease, defaultLease)
	if lease < time.Second {
		panic(fmt.Sprintf("tasks: Options.Lease of %v is shorter than a second", lease))
	}
	w, err := taskrecords.NewWorker(taskrecords.Options{Table: o.Table, Keys: s.SealKeys, Lease: lease, Logger: s.Logger})
	if err != nil {
		panic(fmt.Sprintf("tasks: Options.Table requires SealKeys of mcpserver.QuestionOptions: %v", err))
	}
	return w
}

// storedCall is a call of a task in an engine.
type storedCall struct {
	Params json.RawMessage `json:"params"`
	// Headers are the HTTP headers of the call that repeat arguments.
	Headers peer.Header `json:"headers,omitempty"`
}

// Request implements [activeRun].
func (r *taskRun) Request() (json.RawMessage, error) {
	params, err := wire.AppendParams(nil, r.frame, r.req)
	if err != nil {
		return nil, err
	}
	call := storedCall{Params: params}
	for name, values := range mcp.SessionFromContext(r.ctx).Transport().Header() {
		if strings.HasPrefix(name, paramheader.Prefix) {
			if call.Headers == nil {
				call.Headers = make(peer.Header)
			}
			call.Headers[name] = values
		}
	}
	return json.Marshal(&call)
}

// restoreRun returns the run of a stored call. It has the context and the connection of the request that
// continues the task.
func (k *service) restoreRun(ctx context.Context, request json.RawMessage) (activeRun, error) {
	call, req := new(storedCall), new(mcp.CallToolRequest)
	if err := json.Unmarshal(request, call); err != nil {
		return nil, fmt.Errorf("stored request of a task: %w", err)
	}
	if err := wire.DecodeParams(call.Params, &wire.Frame{Revision: revisionOf(ctx)}, req); err != nil {
		return nil, fmt.Errorf("stored request of a task: %w", err)
	}
	transport := restoreTransport(mcp.SessionFromContext(ctx).Transport(), req.Name, call.Headers)
	in := &peer.Inbound{Method: mcp.MethodCallTool, ID: wire.StringID("task"), Transport: transport}
	return k.prepareRun(ctx, in, req), nil
}

// restoredTransport is the transport of a request that continues a task, with the headers of the call.
type restoredTransport struct {
	peer.TransportContext
	header peer.Header
}

// Header implements [peer.TransportContext].
func (t *restoredTransport) Header() peer.Header { return t.header }

// Unwrap returns the transport of the request.
func (t *restoredTransport) Unwrap() peer.TransportContext { return t.TransportContext }

// restoreTransport returns the transport for a call of a tool that another request continues.
func restoreTransport(t peer.TransportContext, tool string, stored peer.Header) peer.TransportContext {
	header := maps.Clone(t.Header())
	if header == nil {
		return t
	}
	maps.Copy(header, stored)
	header[headers.Method] = []string{mcp.MethodCallTool}
	header[headers.Name] = []string{paramheader.Encode(tool)}
	return &restoredTransport{t, header}
}

// taskError returns the error for a request about a task that was not found, or whose record could not be
// read or changed.
func (k *service) taskError(ctx context.Context, id string, err error) error {
	if err == nil {
		return unknownTask(id)
	}
	k.server.Logger.WarnContext(ctx, "could not read or change the record of a task", "error", err)
	return &peer.Error{Code: mcp.CodeInternal, Message: "The task is not available. Try again later"}
}
