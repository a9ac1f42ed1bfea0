// Package taskstore stores the tasks of a server: calls that continue after their request was
// answered, and their results.
package taskstore

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Options configure a store. There are no defaults.
type Options struct {
	// TTL is how long a task is stored after its creation; negative means forever.
	// PollInterval is sent to clients.
	TTL, PollInterval time.Duration
	// Quota limits the tasks. The empty owner has no limit of its own.
	Quota *limit.Quota
	// Budget limits the bytes of requests and results.
	Budget *budget.Budget
	// NewID returns the id of a new task. Nil means [rand.Text].
	NewID func() string
}

var (
	// ErrExpired is the cause of the end of a task whose TTL has passed.
	ErrExpired = errors.New("task has expired")
	// ErrCancelled is the cause of the end of a task that its client has cancelled.
	ErrCancelled = errors.New("task was cancelled by its client")
	// ErrShutdown is the cause of the end of all tasks when the store is shut down.
	ErrShutdown = errors.New("server is shutting down")
)

// Store contains tasks by id. It is safe for concurrent use.
type Store struct {
	opts Options
	runs sync.WaitGroup // the active runs

	mu     sync.Mutex // no other lock is taken while it is held, except for the lock of the quota
	tasks  map[string]*task
	closed bool
}

// New returns an empty store.
func New(o Options) *Store {
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	return &Store{opts: o, tasks: make(map[string]*task)}
}

// Add stores a task for an active run and returns it, or nil if a limit is reached. The request has
// size bytes. The store then owns the run, and ends it with the task.
func (t *Store) Add(owner string, run Run, size int) *tasks.Task {
	x := newTask(&t.opts, owner, run)
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if x.held, err = t.opts.Budget.Reserve(owner, size); err != nil {
		return nil
	}
	if t.closed || !t.opts.Quota.Acquire(quotaOwner(owner)) {
		x.held.Release()
		return nil
	}
	t.tasks[x.ID] = x
	if t.opts.TTL >= 0 {
		x.expiry = time.AfterFunc(t.opts.TTL, func() { t.remove(x) })
	}
	t.waitForRun(x)
	return x.brief()
}

// newTask returns a task for an active run.
func newTask(o *Options, owner string, run Run) *task {
	now := time.Now()
	return &task{owner: owner, run: run, Task: tasks.Task{
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
func (t *Store) waitForRun(x *task) {
	run := x.run
	t.runs.Go(func() { // ends with the run
		out := run.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		if x.finish(t.keep(x, out)) {
			t.resume(x)
		}
	})
}

// errTooLarge is the outcome of a task whose result exceeds the budget.
var errTooLarge = &wire.ErrorObject{Code: mcp.CodeInternal, Message: "The result was dropped: too many bytes are stored for clients"}

// keep counts the result of a task in the budget in place of its request. If that fails, it returns
// an error as the outcome. The caller holds t.mu.
func (t *Store) keep(x *task, out Outcome) Outcome {
	switch {
	case x.Finished():
		x.held.Release()
		return out
	case out.Ask != nil:
		return out
	}
	var err error
	if x.held, err = t.opts.Budget.Resize(x.held, x.owner, len(out.Result)); err != nil {
		return Outcome{Error: errTooLarge}
	}
	return out
}

// Len returns the number of stored tasks.
func (t *Store) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.tasks)
}

// find returns a task of the owner, or nil. The caller holds t.mu.
func (t *Store) find(owner, id string) *task {
	if x := t.tasks[id]; x != nil && x.owner == owner {
		return x
	}
	return nil
}

// Get returns a copy of a task of the owner, or nil if there is none.
func (t *Store) Get(owner, id string) *tasks.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.find(owner, id); x != nil {
		return x.full()
	}
	return nil
}

// Update passes responses to the questions of a task. The task continues when none is left.
// Update reports whether the task exists.
func (t *Store) Update(owner, id string, answers mcp.InputResponses) bool {
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
func (t *Store) resume(x *task) {
	x.run.Resume(x.answers, x.state)
	x.answers, x.state = nil, nil
	t.waitForRun(x)
}

// Cancel cancels a task, unless it has ended. It reports whether the task exists.
func (t *Store) Cancel(owner, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(owner, id)
	if x != nil && !x.Finished() {
		x.end(mcp.TaskStatusCancelled, ErrCancelled)
	}
	return x != nil
}

// remove removes a task, and cancels it unless it has ended.
func (t *Store) remove(x *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tasks[x.ID] != x {
		return
	}
	if !x.Finished() {
		x.end(mcp.TaskStatusCancelled, ErrExpired)
	}
	delete(t.tasks, x.ID)
	t.release(x)
}

// release ends the counts of a task that was removed.
func (t *Store) release(x *task) {
	x.held.Release()
	t.opts.Quota.Release(quotaOwner(x.owner))
}

// Shutdown cancels all tasks, and waits until their runs have ended or ctx ends. No task can
// be added afterwards.
func (t *Store) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, x := range t.tasks {
		if x.expiry != nil {
			x.expiry.Stop()
		}
		if !x.Finished() {
			x.end(mcp.TaskStatusCancelled, ErrShutdown)
		}
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
