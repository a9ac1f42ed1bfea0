// Package tasking keeps the tasks of a server: calls that go on after they were
// answered, and what came of them.
package tasking

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// Options of a table. There are no defaults.
type Options struct {
	// Keep is how long a task is kept after its creation; negative is without
	// end. Poll is how often its client may look.
	Keep, Poll time.Duration
	// Max bounds the tasks, MaxEach those of one owner that has a name.
	Max, MaxEach int
}

var (
	// ErrGone is why a task ends that is not kept any longer.
	ErrGone = errors.New("the task has not ended in time")
	// ErrCancelled is why one ends that its client has given up.
	ErrCancelled = errors.New("the task was cancelled by its client")
	// ErrShutdown is why all of them end at last.
	ErrShutdown = errors.New("the server is shutting down")
)

// Table has tasks by their ids. It is safe for concurrent use.
type Table struct {
	opts Options
	runs sync.WaitGroup // the runs that go on

	mu     sync.Mutex // no other lock is taken under it
	tasks  map[string]*task
	each   map[string]int // how many tasks an owner has
	closed bool
}

// New returns a table without tasks.
func New(o Options) *Table {
	return &Table{opts: o, tasks: make(map[string]*task), each: make(map[string]int)}
}

// Add makes a task of a run that goes on, and returns how far it is, nil where no
// more fit. It then owns the run, which it ends with the task.
func (t *Table) Add(owner string, run Run) *tasks.Task {
	now := time.Now()
	x := &task{owner: owner, run: run, Task: tasks.Task{
		ID: rand.Text(), Status: mcp.TaskStatusWorking, CreatedAt: now, LastUpdatedAt: now,
		TTL: t.opts.Keep, PollInterval: t.opts.Poll,
	}}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.tasks) >= t.opts.Max || owner != "" && t.each[owner] >= t.opts.MaxEach {
		return nil
	}
	t.tasks[x.ID] = x
	t.each[owner]++
	if t.opts.Keep >= 0 {
		x.expiry = time.AfterFunc(t.opts.Keep, func() { t.forget(x) })
	}
	t.follow(x)
	return x.brief()
}

// follow waits for the end of a run, and has its outcome count. The lock is held.
func (t *Table) follow(x *task) {
	run := x.run
	t.runs.Go(func() { // ends with the run
		out := run.Wait()
		t.mu.Lock()
		defer t.mu.Unlock()
		if x.settle(out) {
			t.again(x)
		}
	})
}

// find returns a task of the owner, nil where there is none. The lock is held.
func (t *Table) find(owner, id string) *task {
	if x := t.tasks[id]; x != nil && x.owner == owner {
		return x
	}
	return nil
}

// Get returns all there is to say about a task of the owner, nil where there is
// none.
func (t *Table) Get(owner, id string) *tasks.Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.find(owner, id); x != nil {
		return x.whole()
	}
	return nil
}

// Update answers questions of a task, which goes on when none is left. It tells
// whether there is such a task.
func (t *Table) Update(owner, id string, answers mcp.InputResponses) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(owner, id)
	if x == nil {
		return false
	}
	if x.answer(answers) {
		t.again(x)
	}
	return true
}

// again runs a task again with the answers that it has waited for. The lock is
// held.
func (t *Table) again(x *task) {
	x.run.Again(x.answers, x.state)
	x.answers, x.state = nil, nil
	t.follow(x)
}

// Cancel gives a task up, unless it is over. It tells whether there is such a
// task.
func (t *Table) Cancel(owner, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(owner, id)
	if x != nil && !x.Finished() {
		x.end(mcp.TaskStatusCancelled, ErrCancelled)
	}
	return x != nil
}

// forget removes a task.
func (t *Table) forget(x *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tasks[x.ID] != x {
		return
	}
	if !x.Finished() {
		x.end(mcp.TaskStatusCancelled, ErrGone)
	}
	delete(t.tasks, x.ID)
	if t.each[x.owner]--; t.each[x.owner] == 0 {
		delete(t.each, x.owner)
	}
}

// Shutdown ends all tasks, and waits for their runs until ctx ends. No task can be
// added any more.
func (t *Table) Shutdown(ctx context.Context) error {
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
