package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sharedStore stores tasks in an engine, so that each replica of a server finds them. The record of a task is
// its state: a replica that changes it does so by compare-and-set. A task that waits for responses has
// no process, and continues at the replica that receives the last of them. It is safe for concurrent use.
type sharedStore struct {
	opts    sharedOptions
	records *taskrecords.Records
	life    context.Context // ends when Shutdown does not wait any longer
	end     context.CancelFunc
	runs    sync.WaitGroup // the active runs

	mu     sync.Mutex // no engine is used while it is held
	local  map[string]*localTask
	closed bool
}

// sharedOptions configure a [sharedStore] store. There are no defaults.
type sharedOptions struct {
	storeOptions
	Worker *taskrecords.Worker
	// Restore returns the run of a request that has asked for input, maybe in another process. The
	// caller resumes the run.
	Restore func(ctx context.Context, request json.RawMessage) (activeRun, error)
	// Logger receives errors of the engine that no caller gets.
	Logger *slog.Logger
}

// localTask is a task that this process has created or runs. The store's lock guards it.
type localTask struct {
	owner, id string
	ends      time.Time
	expiry    *time.Timer // at ends
	counted   bool        // in the quota, because this process has created the task
	starting  int         // goroutines that may begin a run

	run     activeRun // nil unless active
	began   time.Time
	working *Task  // the state at the beginning of the run
	message string // the last stored message
	cause   error  // why the run was ended; nil if it was not
}

// endless is how long a task is stored that has no TTL.
const endless = 365 * 24 * time.Hour

// newSharedStore returns a store that uses an engine.
func newSharedStore(o sharedOptions) *sharedStore {
	if o.TTL < 0 {
		o.TTL = endless
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	t := &sharedStore{opts: o, records: taskrecords.NewRecords(o.Worker, "extension"), local: make(map[string]*localTask)}
	t.life, t.end = context.WithCancel(context.Background())
	o.Worker.OnRenewal(t.check)
	return t
}

// Add stores a task for an active run and returns it. It returns nil if a limit is reached, or if the
// engine does not store the task. The request has size bytes.
func (t *sharedStore) Add(ctx context.Context, owner string, run activeRun, size int) *Task {
	x := newTask(&t.opts.storeOptions, owner, run)
	held, err := t.opts.Budget.Reserve(owner, size)
	if err != nil {
		return nil
	}
	if !t.count(x) {
		held.Release()
		return nil
	}
	ends := x.CreatedAt.Add(x.TTL)
	if err := t.create(ctx, x, ends); err != nil {
		t.opts.Logger.WarnContext(ctx, "could not store a task; its call has no task", "error", err)
		held.Release()
		t.opts.Concurrent.Release(nil)
		t.forget(x.ID)
		return nil
	}
	t.start(owner, x.brief(), 0, run, ends, runCounts{held, true})
	return x.brief()
}

// count counts a new task in the quota. It returns false if a limit is reached.
func (t *sharedStore) count(x *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || !t.opts.acquire(x.owner) {
		return false
	}
	local := t.entry(x.owner, x.ID)
	local.counted = true
	t.setEnd(local, x.CreatedAt.Add(x.TTL))
	return true
}

// create writes the record of a new task that this process runs.
func (t *sharedStore) create(ctx context.Context, x *task, ends time.Time) (err error) {
	rec := &record{Worker: t.opts.Worker.Tag(), Ends: ends}
	if err := rec.State.set(x); err != nil {
		return err
	}
	if rec.State.Request, err = x.run.Request(); err != nil {
		return err
	}
	if err := t.opts.Worker.Begin(ctx); err != nil {
		return err
	}
	if err := taskrecords.Create(ctx, t.records, x.owner, x.ID, rec); err != nil {
		t.opts.Worker.End()
		return err
	}
	return nil
}

// entry returns the entry of a task, and adds it if there is none. The caller holds t.mu.
func (t *sharedStore) entry(owner, id string) *localTask {
	x := t.local[id]
	if x == nil {
		x = &localTask{owner: owner, id: id}
		t.local[id] = x
	}
	return x
}

// setEnd sets when the time of a task has passed. The caller holds t.mu.
func (t *sharedStore) setEnd(x *localTask, ends time.Time) {
	if x.expiry == nil {
		x.ends, x.expiry = ends, time.AfterFunc(time.Until(ends), func() { t.expire(x) })
	}
}

// runCounts are the counts of an active run.
type runCounts struct {
	held       *budget.Reservation // of the request
	concurrent bool                // counted in Concurrent
}

func (t *sharedStore) release(c runCounts) {
	c.held.Release()
	if c.concurrent {
		t.opts.Concurrent.Release(nil)
	}
}

// start stores an active run that the worker has begun, and waits for its end in a goroutine.
func (t *sharedStore) start(owner string, working *Task, rounds int, run activeRun, ends time.Time, counts runCounts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.entry(owner, working.ID)
	t.setEnd(x, ends)
	x.run, x.began, x.working, x.message, x.cause = run, time.Now(), working, "", nil
	run.Changed(working)
	if t.closed {
		x.cancel(errShutdown)
	}
	t.runs.Go(func() { // ends with the run
		defer t.release(counts)
		t.wait(x, rounds, run)
	})
}

// cancel ends an active run. The caller holds the lock of the store.
func (x *localTask) cancel(cause error) {
	if x.run != nil && x.cause == nil {
		x.cause = cause
		x.run.End(cause)
	}
}

// wait waits for the outcome of a run and stores it.
func (t *sharedStore) wait(x *localTask, rounds int, run activeRun) {
	defer t.opts.Worker.End()
	out := run.Wait()
	for out.Ask != nil && len(out.Ask.InputRequests) == 0 && t.causeOf(x) == nil {
		run.Resume(nil, out.Ask.RequestState)
		out = run.Wait()
	}
	if t.causeOf(x) == errShutdown && (out.Error != nil || out.Ask != nil && len(out.Ask.InputRequests) == 0) {
		out = runOutcome{Error: errStopped}
	}
	ended := t.save(x, rounds, out)
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.run != run { // the next run has begun, because the reply of the engine was lost
		run.End(nil)
		return
	}
	if ended != nil {
		run.Changed(ended)
	}
	if x.cause == nil {
		run.End(nil)
	}
	x.run, x.working = nil, nil
	t.drop(x)
}

func (t *sharedStore) causeOf(x *localTask) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return x.cause
}

// drop removes an entry that is not needed any more. The caller holds t.mu.
func (t *sharedStore) drop(x *localTask) {
	if x.counted || x.run != nil || x.starting > 0 || t.local[x.id] != x {
		return
	}
	if x.expiry != nil {
		x.expiry.Stop()
	}
	delete(t.local, x.id)
}

// forget removes the entry of a task that was not created.
func (t *sharedStore) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.local[id]
	t.uncount(x)
	t.drop(x)
}

// uncount ends the count of a task in the quota. The caller holds t.mu.
func (t *sharedStore) uncount(x *localTask) {
	if x.counted {
		x.counted = false
		t.opts.Quota.Release(quotaOwner(x.owner))
	}
}

// expire ends a task whose time has passed. The engine ends its record.
func (t *sharedStore) expire(x *localTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.cancel(errExpired)
	t.uncount(x)
	t.drop(x)
}

const (
	firstDelay = 10 * time.Millisecond // before an outcome is stored again; doubled each time
	maxDelay   = 2 * time.Second
)

// save stores the outcome of a run that began after a number of rounds. It returns the task that is stored, which
// another replica may have ended before, or nil if the task is unknown, given up or continues. While the engine cannot be reached, it tries
// again: the outcome must not be lost, and clients do not see it before it is stored. If the questions of the run are
// stored, but the response of the engine was lost, this process may already run the task again.
func (t *sharedStore) save(x *localTask, rounds int, out runOutcome) *Task {
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		rec, err := taskrecords.Change(t.life, t.records, x.owner, x.id, func(rec *record) error {
			if rec.Worker != t.opts.Worker.Tag() || rec.State.Rounds != rounds {
				return taskrecords.ErrUnchanged // it was cancelled or given up by another replica, or is stored
			}
			return finish(rec, out)
		})
		switch {
		case err == nil && (rec.Worker != "" || rec.State.isLost()): // the process that has given it up reports that
			return nil
		case err == nil:
			return rec.State.brief()
		case errors.Is(err, engine.ErrNone):
			return t.expired(x)
		case errors.Is(err, taskrecords.ErrTooLarge):
			out = runOutcome{Error: &wire.ErrorObject{Code: mcp.CodeInternal, Message: "The outcome was dropped: " + err.Error()}}
			continue
		}
		isUnreadable := errors.Is(err, sealed.ErrForged) || errors.Is(err, sealed.ErrUnknownKey)
		if isUnreadable || time.Now().After(x.ends) || !sealed.Sleep(t.life, delay) {
			t.opts.Logger.Warn("could not store the outcome of a task", "error", err)
			return nil
		}
	}
}

// expired returns a task that this process runs and whose record has ended.
func (t *sharedStore) expired(x *localTask) *Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.working == nil {
		return nil
	}
	ended := *x.working
	ended.Status, ended.LastUpdatedAt = mcp.TaskStatusCancelled, time.Now()
	return &ended
}

// report reports a change of a task that no process runs. The request is the request in its record before the change.
func (t *sharedStore) report(ctx context.Context, request json.RawMessage, rec *record) {
	x := rec.State.brief()
	if request == nil || x == nil {
		return
	}
	if run, err := t.opts.Restore(ctx, request); err == nil { // as in another process, a change is not reported without it
		run.Changed(x)
		run.End(nil)
	}
}

// Get returns a task of the owner, or nil if there is none. If its worker is gone, the task has failed.
func (t *sharedStore) Get(ctx context.Context, owner, id string) (*Task, error) {
	rec, err := taskrecords.Get[stored](ctx, t.records, owner, id)
	if errors.Is(err, engine.ErrNone) {
		return nil, nil
	}
	if err != nil {
		if working := t.running(owner, id); working != nil {
			return working, nil // this process runs it, so its state is known without the engine
		}
		return nil, err
	}
	if gone, err := t.isLost(ctx, id, rec.Worker); err != nil {
		return nil, err
	} else if gone {
		if rec, err = t.fail(ctx, owner, id, rec.Worker); err != nil {
			return nil, err
		}
	}
	x, err := rec.State.task()
	if err != nil {
		return nil, err
	}
	if working := t.running(owner, id); working != nil && !x.Finished() {
		x.StatusMessage = working.StatusMessage
	}
	return &x.Task, nil
}

// fail ends a task whose worker is gone.
func (t *sharedStore) fail(ctx context.Context, owner, id, worker string) (*record, error) {
	var request json.RawMessage
	rec, err := taskrecords.Change(ctx, t.records, owner, id, func(rec *record) error {
		if request = nil; rec.Worker != worker {
			return taskrecords.ErrUnchanged
		}
		request = rec.State.Request
		return finish(rec, runOutcome{Error: errLost})
	})
	if err == nil {
		t.report(ctx, request, rec)
	}
	return rec, err
}

// running returns the state of a task that this process runs, or nil.
func (t *sharedStore) running(owner, id string) *Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.local[id]
	if x == nil || x.owner != owner || x.run == nil || x.cause != nil {
		return nil
	}
	working := *x.working
	working.StatusMessage = x.run.Message()
	return &working
}

// isLost reports whether no process runs a task that has a worker.
func (t *sharedStore) isLost(ctx context.Context, id, worker string) (bool, error) {
	if worker == t.opts.Worker.Tag() {
		t.mu.Lock()
		defer t.mu.Unlock()
		x := t.local[id]
		return x == nil || x.run == nil && x.starting == 0, nil
	}
	if worker == "" {
		return false, nil
	}
	return t.opts.Worker.Gone(ctx, worker)
}

// Update passes responses to the questions of a task. If none is left, the task continues in this process.
// Update reports whether the task exists.
func (t *sharedStore) Update(ctx context.Context, owner, id string, answers mcp.InputResponses) (bool, error) {
	if err := t.opts.Worker.Begin(ctx); err != nil {
		return false, err
	}
	x, open := t.beginStart(owner, id)
	defer t.endStart(x)
	if !open {
		t.opts.Worker.End()
		return false, errShutdown
	}
	var next *task
	rec, err := taskrecords.Change(ctx, t.records, owner, id, func(rec *record) (err error) {
		next, err = answer(rec, owner, answers, t.opts.Worker.Tag())
		return err
	})
	if err != nil || next == nil {
		t.opts.Worker.End()
		if errors.Is(err, engine.ErrNone) {
			return false, nil
		}
		return err == nil, err
	}
	t.resume(ctx, x, next, rec)
	return true, nil
}

// beginStart returns the entry of a task that may begin to run. It returns false if the store is closed.
func (t *sharedStore) beginStart(owner, id string) (*localTask, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.entry(owner, id)
	x.starting++
	return x, !t.closed
}

func (t *sharedStore) endStart(x *localTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.starting--
	t.drop(x)
}

// resume continues a task with the responses that it has waited for. The worker has begun it.
func (t *sharedStore) resume(ctx context.Context, local *localTask, x *task, rec *record) {
	held, err := t.opts.Budget.Reserve(x.owner, len(rec.State.Request))
	counts := runCounts{held, t.opts.Concurrent.Acquire(nil)} // it continues even if the limit is reached
	if err == nil {
		x.run, err = t.opts.Restore(ctx, rec.State.Request)
	}
	if err != nil {
		t.opts.Logger.WarnContext(ctx, "could not continue a task", "error", err)
		t.release(counts)
		t.save(local, x.rounds, runOutcome{Error: errNotContinued})
		t.opts.Worker.End()
		return
	}
	x.run.Resume(x.answers, x.state)
	t.start(x.owner, x.brief(), x.rounds, x.run, rec.Ends, counts)
}

// Cancel cancels a task, unless it has ended. It reports whether the task exists.
func (t *sharedStore) Cancel(ctx context.Context, owner, id string) (bool, error) {
	var idle json.RawMessage // the request, if no process runs the task
	rec, err := taskrecords.Change(ctx, t.records, owner, id, func(rec *record) error {
		if idle = nil; rec.Worker == "" {
			idle = rec.State.Request
		}
		return cancel(rec)
	})
	switch {
	case errors.Is(err, engine.ErrNone):
		return false, nil
	case err != nil:
		return false, err
	}
	t.report(ctx, idle, rec)
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.local[id]; x != nil && x.owner == owner {
		x.cancel(errCancelled)
	}
	return true, nil
}

// check looks for tasks of this process that another replica has cancelled or given up, and stores progress
// messages.
func (t *sharedStore) check(ctx context.Context) {
	t.mu.Lock()
	var active []*localTask
	for _, x := range t.local {
		if x.run != nil && x.cause == nil && time.Since(x.began) >= time.Second { // a younger record may not be seen yet
			active = append(active, x)
		}
	}
	t.mu.Unlock()
	for _, x := range active {
		if ctx.Err() == nil {
			t.checkTask(ctx, x)
		}
	}
}

func (t *sharedStore) checkTask(ctx context.Context, x *localTask) {
	rec, err := taskrecords.Get[stored](ctx, t.records, x.owner, x.id)
	if err != nil && !errors.Is(err, engine.ErrNone) {
		return
	}
	t.mu.Lock()
	if x.run == nil {
		t.mu.Unlock()
		return
	}
	if err != nil || rec.Worker != t.opts.Worker.Tag() {
		cause := errCancelled
		if err != nil {
			cause = errExpired
		}
		x.cancel(cause)
		t.mu.Unlock()
		return
	}
	message := x.run.Message()
	changed := message != x.message
	x.message = message
	t.mu.Unlock()
	if changed {
		_, _ = taskrecords.Change(ctx, t.records, x.owner, x.id, func(rec *record) error {
			if rec.Worker != t.opts.Worker.Tag() {
				return taskrecords.ErrUnchanged
			}
			return setMessage(rec, message)
		}) // after an error, clients see an older message
	}
}

// Len returns the number of tasks that count in the quota of this process, and of those that it runs.
func (t *sharedStore) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.local)
}

// Shutdown ends the runs of this process, and waits until their outcomes are stored or ctx ends. Tasks
// that wait for responses remain, and continue at other replicas.
func (t *sharedStore) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, x := range t.local {
		x.cancel(errShutdown)
		t.uncount(x)
		t.drop(x)
	}
	t.mu.Unlock()
	over := make(chan struct{})
	go func() { // ends with the runs
		t.runs.Wait()
		t.end()
		t.opts.Worker.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		t.end()
		return context.Cause(ctx)
	}
}
