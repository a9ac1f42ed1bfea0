package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/wire"
)

// storeOptions configure a store. There are no defaults.
type storeOptions struct {
	// TTL is how long a task is stored after its creation; negative means forever.
	// PollInterval is sent to clients.
	TTL, PollInterval time.Duration
	// Quota limits the tasks. The empty owner has no limit of its own.
	Quota *limit.Quota
	// Concurrent limits the tasks that have not finished, and the handlers that run. Nil means no limit.
	Concurrent *limit.Quota
	// Budget limits the bytes of requests and results.
	Budget *budget.Budget
	// NewID returns the id of a new task. Nil means [rand.Text].
	NewID func() string
}

var (
	// errExpired is the cause of the end of a task whose TTL has passed.
	errExpired = errors.New("task has expired")
	// errCancelled is the cause of the end of a task that its client has cancelled.
	errCancelled = errors.New("task was cancelled by its client")
	// errShutdown is the cause of the end of all tasks when the store is shut down.
	errShutdown = errors.New("server is shutting down")
)

// localStore contains tasks by id. It is safe for concurrent use.
type localStore struct {
	opts storeOptions
	runs sync.WaitGroup // the active runs

	mu     sync.Mutex // no other lock is taken while it is held, except for the lock of the quota
	tasks  map[string]*task
	closed bool
}

// newLocalStore returns an empty store.
func newLocalStore(o storeOptions) *localStore {
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	return &localStore{opts: o, tasks: make(map[string]*task)}
}

// Add stores a task for an active run and returns it, or nil if a limit is reached. The request has
// size bytes. The store then owns the run, and ends it with the task.
func (t *localStore) Add(owner string, run activeRun, size int) *Task {
	x := newTask(&t.opts, owner, run)
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if x.held, err = t.opts.Budget.Reserve(owner, size); err != nil {
		return nil
	}
	if t.closed || !t.opts.acquire(owner) {
		x.held.Release()
		return nil
	}
	x.counts = true
	t.tasks[x.ID] = x
	if t.opts.TTL >= 0 {
		x.expiry = time.AfterFunc(t.opts.TTL, func() { t.remove(x) })
	}
	run.Changed(x.brief())
	t.waitForRun(x)
	return x.brief()
}

// acquire counts a new task of an owner. It returns false if a limit is reached.
func (o *storeOptions) acquire(owner string) bool {
	if !o.Concurrent.Acquire(nil) {
		return false
	}
	if !o.Quota.Acquire(quotaOwner(owner)) {
		o.Concurrent.Release(nil)
		return false
	}
	return true
}

// newTask returns a task for an active run.
func newTask(o *storeOptions, owner string, run activeRun) *task {
	now := time.Now()
	return &task{owner: owner, run: run, Task: Task{
		ID: o.NewID(), Status: mcp.TaskStatusWorking, CreatedAt: now, LastUpdatedAt: now,
		TTL: o.TTL, PollInterval: o.PollInterval,
	}}
}

// quotaOwner returns the owner of a task in the quota.
func quotaOwner(owner string) any {
	if owner == "" {
		return nil
	}
	return owner
}

// waitForRun starts a goroutine that waits for the end of a run and updates its task. The
// caller holds t.mu.
func (t *localStore) waitForRun(x *task) {
	run := x.run
	x.waited = true
	t.runs.Go(func() { // ends with the run
		out := run.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		x.waited = false
		if x.finish(t.keep(x, out)) {
			t.resume(x)
		}
		t.settle(x)
	})
}

// settle ends the count of a task that has finished and whose handler does not run. The caller holds t.mu.
func (t *localStore) settle(x *task) {
	if x.counts && x.Finished() && !x.waited {
		x.counts = false
		t.opts.Concurrent.Release(nil)
	}
}

// cancel cancels a task unless it has ended. The caller holds t.mu.
func (t *localStore) cancel(x *task, cause error) {
	if !x.Finished() {
		x.end(mcp.TaskStatusCancelled, "", cause)
		t.settle(x)
	}
}

// errTooLarge is the outcome of a task whose result exceeds the budget.
var errTooLarge = &wire.ErrorObject{Code: mcp.CodeInternal, Message: "The result was dropped: too many bytes are stored for clients"}

// keep counts the result of a task in the budget in place of its request. If that fails, it returns
// an error as the outcome. The caller holds t.mu.
func (t *localStore) keep(x *task, out runOutcome) runOutcome {
	switch {
	case x.Finished():
		x.held.Release()
		return out
	case out.Ask != nil:
		return out
	}
	var err error
	if x.held, err = t.opts.Budget.Resize(x.held, x.owner, len(out.Result)); err != nil {
		return runOutcome{Error: errTooLarge}
	}
	return out
}

// Len returns the number of stored tasks.
func (t *localStore) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tasks)
}

// find returns a task of the owner, or nil. The caller holds t.mu.
func (t *localStore) find(owner, id string) *task {
	if x := t.tasks[id]; x != nil && x.owner == owner {
		return x
	}
	return nil
}

// Get returns a copy of a task of the owner, or nil if there is none.
func (t *localStore) Get(owner, id string) *Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.find(owner, id); x != nil {
		return x.full()
	}
	return nil
}

// Update passes responses to the questions of a task. The task continues when none is left.
// Update reports whether the task exists.
func (t *localStore) Update(owner, id string, answers mcp.InputResponses) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(owner, id)
	if x == nil {
		return false
	}
	if x.answer(answers) {
		t.resume(x)
	}
	return true
}

// resume continues a task with the responses that it has waited for. The caller holds t.mu.
func (t *localStore) resume(x *task) {
	x.run.Resume(x.answers, x.state)
	x.answers, x.state = nil, nil
	t.waitForRun(x)
}

// Cancel cancels a task, unless it has ended. It reports whether the task exists.
func (t *localStore) Cancel(owner, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(owner, id)
	if x != nil {
		t.cancel(x, errCancelled)
	}
	return x != nil
}

// remove removes a task, and cancels it unless it has ended.
func (t *localStore) remove(x *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tasks[x.ID] != x {
		return
	}
	t.cancel(x, errExpired)
	delete(t.tasks, x.ID)
	t.release(x)
}

// release ends the counts of a task that was removed.
func (t *localStore) release(x *task) {
	x.held.Release()
	t.opts.Quota.Release(quotaOwner(x.owner))
}

// Shutdown cancels all tasks, and waits until their runs have ended or ctx ends. No task can
// be added afterwards.
func (t *localStore) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, x := range t.tasks {
		if x.expiry != nil {
			x.expiry.Stop()
		}
		t.cancel(x, errShutdown)
	}
	for _, x := range t.tasks {
		t.release(x)
	}
	clear(t.tasks)
	t.mu.Unlock()
	over := make(chan struct{})
	go func() { // ends with the runs
		t.runs.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
