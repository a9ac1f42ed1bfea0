// Package sessiontasks runs requests as tasks of revision 2025-11-25. In that revision the sender
// of a request decides whether it becomes a task, and both ends of a session can run tasks.
package sessiontasks

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Options configure a table. There are no defaults.
type Options struct {
	// TTL is how long a task is stored after its creation. A request may ask for less time.
	// Negative means forever, unless the request asks for a time.
	TTL time.Duration
	// PollInterval is sent to the peer.
	PollInterval time.Duration
	// PageSize limits the tasks in one page of a list.
	PageSize int
	// Quota limits the tasks.
	Quota *limit.Quota
	// Concurrent limits the tasks whose handlers have not returned. Nil means no limit.
	Concurrent *limit.Quota
	// Budget limits the bytes of requests and results.
	Budget *budget.Budget
	// Dispatcher returns the dispatcher that handles the requests.
	Dispatcher func() *connection.Dispatcher
	// Owner returns the owner of the tasks of a message's sender, or nil if it cannot have tasks.
	// Nil is OwnerOf.
	Owner func(ctx context.Context) any
	// Logger receives errors of handlers, and of the engine.
	Logger *slog.Logger
	// Worker, if not nil, stores the tasks in an engine, so that they outlive the process. Owner is
	// then ignored. Tasks that no other process can find are stored in memory.
	Worker *taskrecords.Worker
}

var (
	errExpired   = errors.New("task has expired")
	errCancelled = errors.New("task was cancelled by its requester")
	errShutdown  = errors.New("tasks are shut down")
	errClosed    = errors.New("session of the task has ended")
	errReplaced  = errors.New("task was replaced by a later one")
)

// Errors that clients receive.
var (
	errTooMany        = &peer.Error{Code: mcp.CodeInternal, Message: "Too many tasks"}
	errTooManyRunning = &peer.Error{Code: mcp.CodeInternal, Message: "Too many tasks are running. Try again when one has finished"}
)

// minTTL is the shortest time that a request can ask for.
const minTTL = time.Second

// Table contains the tasks that one program runs for its peers. It is safe for concurrent use.
type Table struct {
	opts   Options
	shared *shared        // nil if the tasks are only in memory
	runs   sync.WaitGroup // the active runs

	mu      sync.Mutex // no other lock is taken while it is held, except for the lock of the quota
	tasks   map[string]*task
	owners  map[any]*owned
	running map[string]bool // tasks whose runs have not ended
	closed  bool
}

// owned has the tasks of one owner, in the order of their creation.
type owned struct {
	tasks []*task
	last  uint64 // number of the last task that was created
}

// New returns an empty table.
func New(o Options) *Table {
	if o.Owner == nil {
		o.Owner = OwnerOf
	}
	t := &Table{opts: o, tasks: make(map[string]*task), owners: make(map[any]*owned), running: make(map[string]bool)}
	if o.Worker != nil {
		t.opts.Owner, t.shared = sharedOwnerOf, newShared(o.Worker)
		o.Worker.OnRenewal(t.check)
	}
	return t
}

// ttl returns how long a task is stored whose request asks for a number of milliseconds, or nil.
func (t *Table) ttl(want *int64) time.Duration {
	if want == nil {
		return t.opts.TTL
	}
	const most = int64(1<<63-1) / int64(time.Millisecond)
	ttl := max(time.Duration(min(*want, most))*time.Millisecond, minTTL)
	if *want < 0 {
		ttl = minTTL
	}
	if t.opts.TTL >= 0 {
		ttl = min(ttl, t.opts.TTL)
	}
	return ttl
}

// add stores a new task, and returns the task that it replaces, or nil. It returns an error if a limit is
// reached.
func (t *Table) add(x *task, ttl *int64) (replaced *task, err error) {
	now := time.Now()
	x.id, x.ttl, x.created, x.updated = rand.Text(), t.ttl(ttl), now, now
	x.status, x.done = mcp.TaskStatusWorking, make(chan struct{})
	x.questions = make(chan *question)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errTooMany
	}
	if !t.opts.Concurrent.Acquire(nil) {
		return nil, errTooManyRunning
	}
	replaced, ok := t.acquire(x.owner)
	if !ok {
		t.opts.Concurrent.Release(nil)
		return replaced, errTooMany
	}
	o := t.owners[x.owner]
	if o == nil {
		o = new(owned)
		t.owners[x.owner] = o
	}
	o.last++
	x.number = o.last
	o.tasks = append(o.tasks, x)
	t.tasks[x.id] = x
	if x.ttl >= 0 {
		x.expiry = time.AfterFunc(x.ttl, func() { t.expire(x) })
	}
	t.running[x.id] = true
	t.runs.Add(1)
	x.changed()
	return replaced, nil
}

// endRun ends the count of a task whose handler has returned, or was not called. The caller holds t.mu.
func (t *Table) endRun(x *task) {
	delete(t.running, x.id)
	t.opts.Concurrent.Release(nil)
}

// acquire counts one more task of an owner. If a limit is reached, it removes the oldest task whose
// owner needs it no longer, and returns it. It returns false if there is none. The caller holds t.mu.
func (t *Table) acquire(owner any) (replaced *task, ok bool) {
	if t.opts.Quota.Acquire(owner) {
		return nil, true
	}
	o := t.owners[owner]
	if o == nil {
		return nil, false
	}
	i := slices.IndexFunc(o.tasks, func(x *task) bool { return x.settled && x.returned })
	if i < 0 {
		return nil, false
	}
	replaced = o.tasks[i]
	t.remove(replaced, errReplaced)
	return replaced, t.opts.Quota.Acquire(owner)
}

// discard removes a task whose handler was not called, because the engine has not stored the task.
func (t *Table) discard(x *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endRun(x)
	if x.returned = true; t.tasks[x.id] == x {
		t.remove(x, errClosed)
	} else {
		t.release(x)
	}
	t.runs.Done()
}

// Len returns the number of stored tasks.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tasks)
}

// find returns a task of an owner, or nil.
func (t *Table) find(owner any, id string) *task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.tasks[id]; x != nil && x.owner == owner {
		return x
	}
	return nil
}

// expire removes a task whose time has passed.
func (t *Table) expire(x *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tasks[x.id] == x {
		t.remove(x, errExpired)
	}
}

// remove removes a stored task, and cancels it unless it has ended. The caller holds t.mu.
func (t *Table) remove(x *task, cause error) {
	o := t.owners[x.owner]
	if i := slices.Index(o.tasks, x); i >= 0 {
		o.tasks = slices.Delete(o.tasks, i, i+1)
	}
	if len(o.tasks) == 0 {
		delete(t.owners, x.owner)
	}
	t.forget(x, cause)
}

// forget removes a task from the table of all tasks, and cancels it unless it has ended. The caller
// holds t.mu.
func (t *Table) forget(x *task, cause error) {
	if x.expiry != nil {
		x.expiry.Stop()
	}
	x.end(mcp.TaskStatusCancelled, "", cause)
	x.removed = true
	delete(t.tasks, x.id)
	t.release(x)
}

// release ends the counts of a task that was removed and whose handler has returned. A handler that
// ignores its context counts until it returns. The caller holds t.mu.
func (t *Table) release(x *task) {
	if x.removed && x.returned {
		x.held.Release()
		t.opts.Quota.Release(x.owner)
	}
}

// endAll removes all tasks of an owner, and cancels the active ones. The caller holds t.mu.
func (t *Table) endAll(owner any, cause error) {
	o := t.owners[owner]
	if o == nil {
		return
	}
	for _, x := range o.tasks {
		t.forget(x, cause)
	}
	delete(t.owners, owner)
}

// page returns the tasks of an owner after a number, and the number of the last one, or 0 if there are
// no more.
func (t *Table) page(owner any, after uint64) (page []mcp.Task, next uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owners[owner]
	if o == nil {
		return []mcp.Task{}, 0
	}
	i, _ := slices.BinarySearchFunc(o.tasks, after+1, func(x *task, n uint64) int {
		if x.number < n {
			return -1
		}
		return 1
	})
	rest := o.tasks[i:]
	if len(rest) > t.opts.PageSize {
		rest = rest[:t.opts.PageSize]
		next = rest[len(rest)-1].number
	}
	page = make([]mcp.Task, len(rest))
	for i, x := range rest {
		page[i] = x.message(t.opts.PollInterval)
	}
	return page, next
}

// Shutdown cancels all tasks, and waits until their handlers have returned or ctx ends. No task
// can be added afterwards.
func (t *Table) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for owner := range t.owners {
		t.endAll(owner, errShutdown)
	}
	t.mu.Unlock()
	over := make(chan struct{})
	go func() { // ends with the runs
		t.runs.Wait()
		if t.shared != nil {
			t.shared.end()
			t.shared.worker.Wait()
		}
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		if t.shared != nil {
			t.shared.end()
		}
		return context.Cause(ctx)
	}
}
